"""Labels that the rest of the table does not believe."""

from __future__ import annotations

import importlib.util
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import LeaveOneOut

from lazyforest.cross_validation import check_call, check_ours
from lazyforest.held_out import HeldOut

BACKENDS = ("pandas", "polars", "pyarrow")


def label_audit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    row_ids: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    """How probable each row's own label is when the row is left out: all rows, the most suspicious first.

    Parameters
    ----------
    estimator : LazyForestClassifier
        Fitted or not; it is not changed.
    X, y, sample_weight, row_ids : as in ``fit``
    n_jobs, verbose : as in ``leave_one_out``

    Returns
    -------
    A data frame of the library that X comes from (pandas, if installed, for arrays) with the columns ``row``, the
    position in X; ``label``; ``p_label``, its probability in the forest of all other rows; ``prediction``, the class
    which that forest prefers; ``p_prediction``. In pandas, its index has the labels of X's. Rows are in ascending order
    of ``p_label``, then in descending order of ``p_prediction``, then in the order of X.
    """
    check_ours(estimator)
    if not is_classifier(estimator):
        raise TypeError(
            f"label_audit needs classes: estimator must be a LazyForestClassifier. Got {type(estimator).__name__}. Use "
            f"leave_one_out and compare its predictions with y."
        )
    check_call(n_jobs, verbose)
    backend = find_backend(X)
    table = HeldOut(estimator, X, y, sample_weight, row_ids)
    explored = table.predict(table.split(LeaveOneOut(), {}), "explore", n_jobs, verbose)
    code, rows = table.forest.target.y, np.arange(table.n_rows)
    p_label, p_prediction = explored.proba[rows, code], explored.proba.max(axis=1)
    order = np.lexsort((rows, -p_prediction, p_label))
    columns = {
        "row": rows[order].tolist(),
        "label": table.whole.classes_[code[order]].tolist(),
        "p_label": p_label[order].tolist(),
        "prediction": explored.prediction[order].tolist(),
        "p_prediction": p_prediction[order].tolist(),
    }
    frame = nw.from_dict(columns, backend=backend).to_native()
    if nw.dependencies.is_pandas_dataframe(X):
        frame.index = X.index[order]
    return frame


def find_backend(X: Any) -> Any:
    """The library of X, or one that is installed."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame.implementation
    installed = [name for name in BACKENDS if importlib.util.find_spec(name) is not None]
    if not installed:
        raise ImportError(
            "label_audit returns a data frame, and none of pandas, polars and pyarrow is installed. Use "
            "'pip install pandas', or leave_one_out for the probabilities alone."
        )
    return installed[0]
