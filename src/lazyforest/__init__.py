"""Predict with a bagged decision forest without ever building one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lazyforest.estimators import LazyForestClassifier, LazyForestRegressor, bootstrap_counts
    from lazyforest.exploration import Exploration, Path, Step

__version__ = "0.1.0"
__all__ = ["Exploration", "LazyForestClassifier", "LazyForestRegressor", "Path", "Step", "bootstrap_counts"]

# Imported when first asked for: scikit-learn and numba take a second, which `lazyforest --help` should not.
HOME = {
    "Exploration": "lazyforest.exploration",
    "LazyForestClassifier": "lazyforest.estimators",
    "LazyForestRegressor": "lazyforest.estimators",
    "Path": "lazyforest.exploration",
    "Step": "lazyforest.exploration",
    "bootstrap_counts": "lazyforest.estimators",
}


def __getattr__(name: str) -> Any:
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
