"""Predict with a bagged decision forest without ever building one."""

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
