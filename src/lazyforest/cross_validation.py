"""Cross-validation with scikit-learn's signatures: every row answered by the forest that does not know it.

A row's bootstrap counts depend on its own id alone, so the forests of all splits are one forest in which each row may
not look at its own fold. Splits into folds are answered together, others one by one, all on one encoding of the table.
Either way the answer is, bit for bit, that of a refit per split that is given the same ``row_ids`` and frame
(``fixed_point=tuple(forest.fit(X, y).frame_)``; whole weights and classes need no frame).
"""

from __future__ import annotations

import time
import warnings
from numbers import Number
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import LeaveOneOut
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from lazyforest.engine.layout import Array
from lazyforest.estimators import LazyForest
from lazyforest.held_out import HeldOut
from lazyforest.parameters import check_value
from lazyforest.progress import Progress
from lazyforest.splits import check_partition
from lazyforest.table import take_rows

METHODS = ("predict", "predict_proba", "predict_log_proba", "explore")
REGRESSOR_METHODS = ("predict", "explore")
FIT_PARAMS = ("sample_weight", "row_ids")
PRE_DISPATCH = "2*n_jobs"


# What users call ---------------------------------------------------------------------------------------


def leave_one_out(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    row_ids: Any = None,
    method: str = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    """Every row predicted by the forest that is fitted on all others, exactly.

    Parameters
    ----------
    estimator : LazyForestClassifier or LazyForestRegressor
        Fitted or not; it is not changed.
    X, y, sample_weight, row_ids : as in ``fit``
    method : {"auto", "predict", "predict_proba", "predict_log_proba", "explore"}, default="auto"
        What to ask of the forest; "auto" is "predict_proba" for a classifier, "predict" for a regressor. "explore"
        gives an ``Exploration``: prediction, probabilities, what it cost, and the paths of a row.
    n_jobs : int or None, default=None
        Threads; None for the estimator's.
    verbose : int, default=0
        Above 0, a progress bar.

    Returns
    -------
    What ``method`` says of each row of X. The probability of a class that only the row itself has is 0.
    """
    check_ours(estimator)
    if isinstance(method, str) and method == "auto":
        method = "predict_proba" if is_classifier(estimator) else "predict"
    check_method(estimator, method)
    check_call(n_jobs, verbose)
    table = HeldOut(estimator, X, y, sample_weight, row_ids)
    return table.predict(table.split(LeaveOneOut(), {}), method, n_jobs, verbose)


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = PRE_DISPATCH,
    method: str = "predict",
) -> Any:
    """Every row predicted by the forest of its split, as ``sklearn.model_selection.cross_val_predict`` does by refits.

    Parameters are scikit-learn's, but for these:

    estimator : LazyForestClassifier or LazyForestRegressor
    n_jobs : threads; None for the estimator's
    params : may hold ``sample_weight`` and ``row_ids`` (default: 0, 1, 2..., so that a row has the same bootstrap
        counts in all splits); with metadata routing also what the splitter asks for
    pre_dispatch : has no meaning here, for threads share one table; must be left as it is
    method : "predict", "predict_proba", "predict_log_proba", or "explore" for an ``Exploration``

    A class that is not in the training side of a split has probability 0 there, without a warning.
    """
    check_ours(estimator)
    check_method(estimator, method)
    check_call(n_jobs, verbose, pre_dispatch)
    routed = route(estimator, cv, None, groups, params)
    table = HeldOut(estimator, X, y, **check_params(routed.estimator.fit))
    splits = table.split(cv, routed.splitter.split)
    check_partition(splits, table.n_rows)
    return table.predict(splits, method, n_jobs, verbose)


def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = PRE_DISPATCH,
    error_score: Any = np.nan,
) -> Array:
    """The score of each split, as ``sklearn.model_selection.cross_val_score`` has it; see ``cross_validate``."""
    check_ours(estimator)
    scores = cross_validate(
        estimator,
        X,
        y,
        groups=groups,
        scoring={"score": check_scoring(estimator, scoring)},
        cv=cv,
        n_jobs=n_jobs,
        verbose=verbose,
        params=params,
        pre_dispatch=pre_dispatch,
        error_score=error_score,
    )
    return np.asarray(scores["test_score"])


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = PRE_DISPATCH,
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
) -> dict[str, Any]:
    """Scores of each split, as ``sklearn.model_selection.cross_validate`` has them by refits.

    Parameters are scikit-learn's; see ``cross_val_predict`` for those that differ. ``return_train_score`` explores the
    training rows split by split, which takes as long as refits do. ``error_score`` is the score of a split that cannot
    be scored; a training side without any weight is always an error. In what is returned, ``fit_time`` is the time of
    the exploration that all splits share, in equal parts, and ``score_time`` that of the scorers.
    """
    check_ours(estimator)
    check_call(n_jobs, verbose, pre_dispatch)
    judge = Judge(estimator, scoring, error_score)
    routed = route(estimator, cv, judge.scorer, groups, params)
    started = time.perf_counter()
    table = HeldOut(estimator, X, y, **check_params(routed.estimator.fit))
    splits = table.split(cv, routed.splitter.split)
    found = table.answer(splits, n_jobs, verbose)
    shared = (time.perf_counter() - started) / len(splits)

    scores: dict[str, list[Any]] = {"test": [], "train": []}
    out: dict[str, Any] = {"fit_time": np.full(len(splits), shared), "score_time": np.empty(len(splits))}
    with Progress(len(splits), "splits scored", bool(verbose or estimator.verbose)) as progress:
        for number, (split, forest) in enumerate(zip(splits, table.forests(splits, found), strict=True)):
            started = time.perf_counter()
            tested = take_rows(X, split.test)
            forest._given = tested if judge.leaves_rows_alone else None
            scores["test"].append(judge.score(forest, tested, y, split.test, routed.scorer.score))
            out["score_time"][number] = time.perf_counter() - started
            if return_train_score:
                rows = split.training_rows(table.n_rows)
                scores["train"].append(judge.score(forest, take_rows(X, rows), y, rows, routed.scorer.score))
            progress.advance(1)
    if return_estimator:
        out["estimator"] = [table.fitted_on(split) for split in splits]
    if return_indices:
        train = tuple(split.training_rows(table.n_rows) for split in splits)
        out["indices"] = {"train": train, "test": tuple(split.test for split in splits)}
    return out | by_name(scores, error_score)


# What scikit-learn's signatures mean here --------------------------------------------------------------


def check_ours(estimator: Any) -> None:
    if not isinstance(estimator, LazyForest):
        what = f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(
            f"estimator must be a LazyForestClassifier or a LazyForestRegressor, fitted or not. Got {what}. Use the "
            f"function of the same name in sklearn.model_selection for other estimators and for pipelines."
        )


def check_call(n_jobs: Any, verbose: Any, pre_dispatch: Any = PRE_DISPATCH) -> None:
    check_value("n_jobs", n_jobs, "cross-validation")
    check_value("verbose", verbose, "cross-validation")
    if pre_dispatch != PRE_DISPATCH:
        raise ValueError(
            f"The 'pre_dispatch' parameter must stay {PRE_DISPATCH!r}: threads share one table, so that no job waits "
            f"with a copy. Got {pre_dispatch!r} instead. Leave it out."
        )


def check_method(estimator: Any, method: Any) -> None:
    known = METHODS if is_classifier(estimator) else REGRESSOR_METHODS
    if method not in known:
        raise ValueError(
            f"The 'method' parameter must be one of {', '.join(map(repr, known))} for {type(estimator).__name__}. "
            f"Got {method!r} instead. Use 'predict' for predictions."
        )


def check_params(params: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in params if name not in FIT_PARAMS]
    if unknown:
        raise TypeError(f"params may hold sample_weight and row_ids. Got {unknown[0]!r}. Leave it out.")
    return params


def route(estimator: Any, cv: Any, scorer: Any, groups: Any, params: dict[str, Any] | None) -> Any:
    """Who gets which of ``params``: ``fit``, or with metadata routing whoever requests it."""
    given = {} if params is None else params
    if not get_config()["enable_metadata_routing"]:
        return Bunch(splitter=Bunch(split={"groups": groups}), estimator=Bunch(fit=given), scorer=Bunch(score={}))
    if groups is not None:
        raise ValueError("groups must be in params when metadata routing is enabled. Pass params={'groups': groups}.")
    router = MetadataRouter(owner="lazyforest")
    router.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    router.add(estimator=estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    if scorer is not None:
        router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
    return process_routing(router, "fit", **given)


class Judge:
    """scikit-learn's scorers, and what it does when one fails."""

    def __init__(self, estimator: Any, scoring: Any, error_score: Any) -> None:
        if error_score != "raise" and not isinstance(error_score, Number):
            raise ValueError(
                f"The 'error_score' parameter must be 'raise' or a number. Got {error_score!r} instead. Use 'raise' to "
                f"see what failed."
            )
        self.error_score = error_score
        self.scorer = check_scoring(estimator, scoring, raise_exc=error_score == "raise")
        self.several = isinstance(scoring, list | tuple | set | dict)
        self.leaves_rows_alone = is_scikit_learns(scoring)

    def score(self, forest: LazyForest, X: Any, y: Any, rows: Array, params: dict[str, Any]) -> Any:
        """A number, or a dict of them, for these rows: X has them alone, y and params have all."""
        given = {name: take_if_per_row(value, rows, y) for name, value in params.items()}
        try:
            scores = self.scorer(forest, X, take_rows(y, rows), **given)
        except Exception:
            if self.several or self.error_score == "raise":  # several scorers fail one by one, unless told to raise
                raise
            return self.failed(format_exc())
        if not isinstance(scores, dict):
            return as_number(scores, self.scorer)
        failures = {name: self.failed(s) for name, s in scores.items() if self.several and isinstance(s, str)}
        return {name: as_number(s, name) for name, s in (scores | failures).items()}

    def failed(self, details: str) -> Any:
        warnings.warn(
            f"Scoring failed. The score on this train-test partition for these parameters will be set to "
            f"{self.error_score}. Details: \n{details}",
            stacklevel=4,
        )
        return self.error_score


def is_scikit_learns(scoring: Any) -> bool:
    """Names and scorers of scikit-learn's hand on the rows as they are; a function of the user's may change them."""
    if isinstance(scoring, list | tuple | set | dict):
        return all(map(is_scikit_learns, scoring.values() if isinstance(scoring, dict) else scoring))
    return scoring is None or isinstance(scoring, str) or type(scoring).__module__.startswith("sklearn.")


def as_number(score: Any, scorer: Any) -> Any:
    number = score.item() if getattr(score, "size", 0) == 1 else score
    if not isinstance(number, Number):
        raise ValueError(
            f"scoring must return a number, got {score} ({type(score)}) instead. (scorer={scorer}) Return a float."
        )
    return number


def take_if_per_row(value: Any, rows: Array, y: Any) -> Any:
    return take_rows(value, rows) if np.ndim(value) > 0 and len(value) == len(y) else value


def by_name(scores: dict[str, list[Any]], error_score: Any) -> dict[str, Array]:
    """Arrays named as scikit-learn names them."""
    out = {}
    for side, found in scores.items():
        names = next((list(s) for s in found if isinstance(s, dict)), None)
        if names is None and found:
            out[f"{side}_score"] = np.array(found)
        for name in names or []:  # a scorer that returns a dict has none for a split on which it failed
            out[f"{side}_{name}"] = np.array([s[name] if isinstance(s, dict) else error_score for s in found])
    return out
