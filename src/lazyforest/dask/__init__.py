"""Forests over Dask data frames and arrays: the answer of one machine, bit for bit, from a table that none can hold."""

from __future__ import annotations

try:
    from lazyforest.dask.estimators import DaskLazyForestClassifier, DaskLazyForestRegressor
except ImportError as error:
    if (error.name or "").partition(".")[0] not in ("dask", "distributed", "pandas", "pyarrow"):
        raise
    raise ImportError(
        f"lazyforest.dask needs Dask, of which {error.name!r} is missing. Install it with "
        f"pip install 'lazyforest[dask]'."
    ) from error

__all__ = ["DaskLazyForestClassifier", "DaskLazyForestRegressor"]
