"""One table, fitted once on all rows, and the forests of its splits: each answers for rows that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from lazyforest.engine.layout import BATCHED, CLASS, MULTINOMIAL, Array
from lazyforest.estimators import (
    LazyForest,
    LazyForestClassifier,
    LazyForestRegressor,
    explain_row,
    new_target,
    report,
)
from lazyforest.exploration import Path
from lazyforest.frame import Frame
from lazyforest.parameters import check_parameters
from lazyforest.runner import Answer, Costs, Forest, explore_folds, explore_split_by_split, take
from lazyforest.splits import Split, find_splits, folds_of
from lazyforest.validation import check_weights, weigh_classes


class HeldOut:
    """A clone of the estimator that knows all rows, the same rows as queries, and what its splits have in common."""

    def __init__(self, estimator: LazyForest, X: Any, y: Any, sample_weight: Any = None, row_ids: Any = None) -> None:
        self.whole: Any = clone(estimator)
        check_parameters(self.whole, self.whole._criteria)
        self.whole._learn(X, y, sample_weight, row_ids)
        self.forest: Forest = self.whole._forest
        self.queries: Array = self.whole._queries(X)
        self.n_rows = len(self.queries)
        self.weight = check_weights(sample_weight, self.n_rows)  # before class weights
        self.X, self.y = X, np.asarray(y).ravel()
        self.balanced = isinstance(getattr(self.whole, "class_weight", None), str)

    def split(self, cv: Any, given: dict[str, Any]) -> list[Split]:
        """The splits of ``cv``, each with something to learn from."""
        splits = find_splits(cv, self.X, self.y, is_classifier(self.whole), given)
        weight = self.forest.target.weight
        for number, left in enumerate(self.left_over(splits, lambda rows: weight[rows].sum())):
            if left <= 0:
                raise ValueError(
                    f"The training side of split {number} must have a positive total of sample_weight. Got 0. Give "
                    f"one of its rows a positive weight, or use another cv."
                )
        return splits

    def left_over(self, splits: list[Split], sum_of: Callable[[Array], Any]) -> Iterator[Any]:
        """For each split, a sum over its training side: the total without the test rows, where these are all else."""
        total = sum_of(np.arange(self.n_rows))
        for test, train, _ in splits:
            if train is not None:
                yield sum_of(train)
            else:  # np.unique is most of the time that leave-one-out spends here
                yield total - sum_of(test if len(test) == 1 else np.unique(test))

    # Answers -------------------------------------------------------------------------------------------

    def answer(self, splits: list[Split], n_jobs: int | None, verbose: int) -> Answer:
        """Votes for the test rows of the first split, below them those of the second, and so on."""
        n_jobs, shown = self.whole.n_jobs if n_jobs is None else n_jobs, bool(verbose or self.whole.verbose)
        tested = np.concatenate([split.test for split in splits])
        folds = folds_of(splits, self.n_rows)
        reason = self.why_one_by_one(folds)
        if reason is None:
            assert folds is not None  # or there is a reason
            rules = self.forest.rules._replace(algorithm=BATCHED)  # all answer alike
            forest = self.forest._replace(rules=rules, reduced=False)  # no query misses a value, or there is a reason
            return explore_folds(forest, self.queries[tested], folds[tested], folds, n_jobs, shown)
        sides = ((self.side(split)[0], self.queries[split.test]) for split in splits)
        return explore_split_by_split(sides, len(splits), f"splits, one by one because {reason}", n_jobs, shown)

    def why_one_by_one(self, folds: Array | None) -> str | None:
        """None if all splits can share one exploration."""
        if folds is None:
            return "test sets overlap or training sides are not all other rows"
        if self.forest.rules.bootstrap == MULTINOMIAL:
            return "the counts of bootstrap='multinomial' depend on all training rows"
        if self.balanced:
            return "the weights of class_weight='balanced' depend on all training rows"
        if self.forest.reduced and np.isnan(self.queries).any():
            return "missing='reduced' has a forest for each set of columns"
        return None

    def predict(self, splits: list[Split], method: str, n_jobs: int | None, verbose: int) -> Any:
        """What ``method`` says of each row; every row is in one test set."""
        found = self.answer(splits, n_jobs, verbose)
        tested = np.concatenate([split.test for split in splits])
        own = np.repeat(np.arange(len(splits)), [len(split.test) for split in splits])
        row_order = np.argsort(tested)
        found, own = found._replace(votes=found.votes[row_order]), own[row_order]
        if not is_classifier(self.whole):
            decided: Any = self.whole._decide(found.votes)
        else:
            among = self.classes_of(splits)[own]
            decided = self.whole._decide(found.votes, among)
        if method == "explore":
            return report(found, decided, 0, partial(self.explain, splits, own))
        if method == "predict_log_proba":
            with np.errstate(divide="ignore"):
                return np.where(among, np.log(decided[1]), np.finfo(np.float64).min)  # as scikit-learn has it
        return decided[0] if method == "predict" else decided[1]

    def explain(self, splits: list[Split], own: Array, row: int) -> list[Path]:
        """The paths of a row through the forest of its split."""
        forest, _ = self.side(splits[own[row]])
        return explain_row(forest, self.whole._columns, self.queries, self.whole._say_vote, row)

    # Forests of one split ------------------------------------------------------------------------------

    def side(self, split: Split) -> tuple[Forest, Frame]:
        """The forest of a training side, with the codes and classes of all rows, and its frame."""
        train = split.training_rows(self.n_rows)
        forest, frame = take(self.forest, train), self.whole.frame_
        if self.balanced:  # as a refit would weigh it
            target = forest.target
            weight = self.weight[train] * weigh_classes("balanced", target.y)
            frame = self.whole._frame(weight)
            forest = forest._replace(target=new_target(target.y, target.n_classes, target.row_ids, weight, frame))
        return forest, frame

    def classes_of(self, splits: list[Split]) -> Array:
        """For each split, which classes its training side has."""
        y, n_classes = self.forest.target.y, self.forest.target.n_classes
        counts = self.left_over(splits, lambda rows: np.bincount(y[rows], minlength=n_classes))
        return np.array([held > 0 for held in counts])

    def fitted_on(self, split: Split) -> Any:
        """The estimator as if fitted on a training side."""
        fitted = copy(self.whole)
        fitted._forest, fitted.frame_ = self.side(split)
        target = fitted._forest.target
        if target.n_classes:
            present, codes = np.unique(target.y, return_inverse=True)
            renumbered = target._replace(y=codes.astype(CLASS), n_classes=len(present))
            fitted._forest, fitted.classes_ = fitted._forest._replace(target=renumbered), self.whole.classes_[present]
        fitted._grow()
        return fitted

    def forests(self, splits: list[Split], found: Answer) -> Iterator[Any]:
        """A fitted estimator per split, which knows the answer for its test rows."""
        kind = ClassifierOfASplit if is_classifier(self.whole) else RegressorOfASplit
        present = self.classes_of(splits) if is_classifier(self.whole) else None
        first = 0
        for number, split in enumerate(splits):
            forest: Any = kind.__new__(kind)
            vars(forest).update(vars(self.whole))
            del forest._forest
            votes = found.votes[first : first + len(split.test)]
            first += len(split.test)
            if present is not None:
                votes, forest.classes_ = votes[:, present[number]], self.whole.classes_[present[number]]
            forest._known = Answer(votes, Costs(), [])
            forest._tested, forest._refit = self.queries[split.test], (self, split)
            yield forest


class OfASplit(LazyForest):
    """What scorers ask: knows the answer for its test rows, and becomes a forest when asked about any others."""

    _known: Answer | None = None
    _tested: Array
    _given: Any = None  # the test rows before they were encoded, if nobody changes them
    _refit: tuple[HeldOut, Split]

    def _keep(self, *given: Any) -> None:
        self._known = None  # a scorer has fitted it anew
        super()._keep(*given)

    @cached_property
    def _fitted(self) -> Any:
        table, split = self._refit
        return table.fitted_on(split)

    def _queries(self, X: Any) -> Array:
        return self._tested if X is self._given else super()._queries(X)

    def _answer(self, queries: Array) -> Answer:
        if self._known is None:
            return super()._answer(queries)
        if np.array_equal(queries, self._tested, equal_nan=True):
            return self._known
        answer: Answer = self._fitted._answer(queries)
        return answer

    def _explain(self, queries: Array) -> Callable[[int], list[Path]]:
        if self._known is None:
            return super()._explain(queries)
        return lambda row: list(self._fitted._explain(queries)(row))


class ClassifierOfASplit(OfASplit, LazyForestClassifier):
    """For scorers of classes."""


class RegressorOfASplit(OfASplit, LazyForestRegressor):
    """For scorers of numbers."""
