"""Predict with a bagged decision forest without ever building one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lazyforest.audit import label_audit
    from lazyforest.cross_validation import cross_val_predict, cross_val_score, cross_validate, leave_one_out
    from lazyforest.estimators import LazyForestClassifier, LazyForestRegressor, bootstrap_counts
    from lazyforest.exploration import Exploration, Path, Step

__version__ = "0.1.0"
__all__ = [
    "Exploration",
    "LazyForestClassifier",
    "LazyForestRegressor",
    "Path",
    "Step",
    "bootstrap_counts",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "label_audit",
    "leave_one_out",
]

# Imported when a name is first asked for: scikit-learn and numba take a second, which `lazyforest --help` should not.
MODULES = ("estimators", "exploration", "cross_validation", "audit")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in MODULES:
            found = vars(importlib.import_module(f"lazyforest.{module}")).get(name)
            if found is not None:
                globals()[name] = found
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
