"""``python -m lazyforest`` is ``lazyforest``."""

import sys

from lazyforest.cli import main

sys.exit(main())
