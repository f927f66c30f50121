"""Predict with a bagged decision forest without ever building one."""

from lazyforest.estimators import LazyForestClassifier, bootstrap_counts
from lazyforest.exploration import Exploration

__version__ = "0.1.0"
__all__ = ["Exploration", "LazyForestClassifier", "bootstrap_counts"]
