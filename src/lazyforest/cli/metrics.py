"""How good predictions are, with intervals; plain NumPy over out-of-sample predictions.

Each metric is a mean of terms, one per row, or behaves like one for many rows: its influence function. The interval is
the metric plus and minus 1.96 standard errors of that mean. Rows of one group count as one observation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import r2_score, roc_auc_score

from lazyforest.engine.layout import Array

Z = 1.959963984540054  # 95%
BINS = 10


class Estimate(NamedTuple):
    value: float
    low: float
    high: float


def standard_error(influence: Array, groups: Array | None) -> float:
    """Of a mean of these terms about their own mean; terms of one group are added up first."""
    sums = influence if groups is None else np.bincount(groups, influence)
    k = len(sums)
    return float(np.sqrt((sums**2).sum() * (k / max(k - 1, 1))) / len(influence))


def about(value: float, influence: Array, groups: Array | None, lowest: float, highest: float) -> Estimate:
    reach = Z * standard_error(influence, groups)
    return Estimate(float(value), float(max(value - reach, lowest)), float(min(value + reach, highest)))


def accuracy(right: Array, groups: Array | None) -> Estimate:
    """Wilson's interval, which has a width even if all are right; groups shrink the number of rows that count."""
    share = float(right.mean())
    rows = float(len(right))
    if groups is not None:
        error = standard_error(right - share, groups)
        rows = min(share * (1 - share) / error**2 if error > 0 else float(groups.max() + 1), rows)
    centre = (share + Z**2 / (2 * rows)) / (1 + Z**2 / rows)
    reach = Z / (1 + Z**2 / rows) * np.sqrt(share * (1 - share) / rows + Z**2 / (4 * rows**2))
    return Estimate(share, float(max(centre - reach, 0.0)), float(min(centre + reach, 1.0)))


def log_loss(proba: Array, codes: Array, floor: float, groups: Array | None) -> Estimate:
    """In nats. A share of the votes below ``floor`` counts as that: trees that all err would cost infinity."""
    losses = -np.log(np.maximum(proba[np.arange(len(codes)), codes], floor))
    return about(losses.mean(), losses - losses.mean(), groups, 0.0, np.inf)


def auc(proba: Array, codes: Array, groups: Array | None) -> Estimate:
    """Two classes: of the second; more: the mean over classes, each against all others. DeLong's interval."""
    classes = [1] if proba.shape[1] == 2 else range(proba.shape[1])
    parts = [auc_terms(proba[:, c], codes == c) for c in classes if 0 < (codes == c).sum() < len(codes)]
    values, influences = zip(*parts, strict=True)
    return about(float(np.mean(values)), np.mean(influences, axis=0), groups, 0.0, 1.0)


def auc_terms(score: Array, positive: Array) -> tuple[float, Array]:
    value = float(roc_auc_score(positive, score))
    n, p = len(score), int(positive.sum())
    among_all, within = rankdata(score), np.empty(n)
    within[positive], within[~positive] = rankdata(score[positive]), rankdata(score[~positive])
    below = (among_all - within) / np.where(positive, n - p, p)  # share of the other side that is ranked lower
    placed = np.where(positive, below, 1.0 - below)
    return value, (placed - value) / np.where(positive, p / n, 1 - p / n)


def r2(y: Array, prediction: Array, groups: Array | None) -> Estimate:
    squared, spread = (y - prediction) ** 2, (y - y.mean()) ** 2
    value = float(r2_score(y, prediction))
    influence = (-squared + (1 - value) * spread) / spread.mean()
    return about(value, influence, groups, -np.inf, 1.0)


def mean_absolute_error(y: Array, prediction: Array, groups: Array | None) -> Estimate:
    errors = np.abs(y - prediction)
    return about(errors.mean(), errors - errors.mean(), groups, 0.0, np.inf)


def root_mean_squared_error(y: Array, prediction: Array, groups: Array | None) -> Estimate:
    squared = (y - prediction) ** 2
    value = float(np.sqrt(squared.mean()))
    return about(value, (squared - squared.mean()) / (2 * value) if value else 0 * squared, groups, 0.0, np.inf)


def confusion(codes: Array, predicted: Array, n_classes: int) -> Array:
    """Rows: the target; columns: the prediction."""
    return np.bincount(codes * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)


def reliability_of_shares(share: Array, happened: Array) -> list[dict[str, Any]]:
    """Rows whose class got a share of the votes between two tenths: how often were they of that class?"""
    tenth = np.minimum((share * BINS).astype(int), BINS - 1)
    return [
        {
            "from": k / BINS,
            "to": (k + 1) / BINS,
            "rows": int((tenth == k).sum()),
            "predicted": float(share[tenth == k].mean()),
            "observed": float(happened[tenth == k].mean()),
        }
        for k in range(BINS)
        if (tenth == k).any()
    ]


def reliability_of_numbers(prediction: Array, y: Array) -> list[dict[str, Any]]:
    """Tenths of the rows, by prediction: what was predicted and what was there, on average."""
    order = np.argsort(prediction, kind="stable")
    return [
        {
            "from": float(prediction[rows[0]]),
            "to": float(prediction[rows[-1]]),
            "rows": len(rows),
            "predicted": float(prediction[rows].mean()),
            "observed": float(y[rows].mean()),
        }
        for rows in np.array_split(order, min(BINS, len(y)))
    ]
