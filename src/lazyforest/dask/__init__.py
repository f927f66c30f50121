"""Forests over Dask data frames and arrays: the answer of one machine, bit for bit, from a table that none can hold."""

from __future__ import annotations

try:
    import dask.array
    import dask.dataframe
    import distributed
except ImportError as error:
    raise ImportError(
        f"lazyforest.dask needs Dask, of which {error.name or 'a part'!r} is missing. Install it with "
        f"pip install 'lazyforest[dask]'."
    ) from error

from lazyforest.dask.estimators import DaskLazyForestClassifier, DaskLazyForestRegressor

__all__ = ["DaskLazyForestClassifier", "DaskLazyForestRegressor"]
