"""The estimators, through scikit-learn's own checks and tools."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers import LISTINGS
from lazyforest import LazyForestClassifier, LazyForestRegressor, bootstrap_counts, reference
from lazyforest.validation import find_classes

ALGORITHMS = ("batched", "lazy", "eager")
WEIGHTS_ARE_COPIES = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def forest(**given):
    return LazyForestClassifier(**{"n_estimators": 10, "random_state": 0, **given})


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# scikit-learn's checks ---------------------------------------------------------------------------------


def expected_failures(estimator):
    """A bootstrap draws a repeated row anew: scikit-learn's forests are excused from these as well."""
    return {} if estimator.bootstrap is False else dict.fromkeys(WEIGHTS_ARE_COPIES, "copies are drawn one by one")


@parametrize_with_checks(
    [
        kind(algorithm=a, bootstrap=b, n_estimators=20)
        for kind in (LazyForestClassifier, LazyForestRegressor)
        for a in ALGORITHMS
        for b in (False, "poisson")
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator, check):
    check(estimator)


# One answer --------------------------------------------------------------------------------------------


def sample(datasets, name):
    """All rows (of Adult 3,000) but 200 queries, numeric columns."""
    X, y = datasets(name)
    shuffled = np.random.default_rng(0).permutation(len(X))
    X = X.select_dtypes("number").to_numpy(dtype=float)
    queries = shuffled[-200:]
    training = shuffled[:3000] if name == "adult" else shuffled[:-200]
    return X[training], y[training], X[queries]


@pytest.mark.parametrize("name", ["breast", "gamma", "adult"])
@pytest.mark.parametrize("max_features", [None, "sqrt"])
def test_algorithms_threads_and_batches_agree(datasets, name, max_features):
    X, y, queries = sample(datasets, name)
    given = {"n_estimators": 12, "max_features": max_features, "voting": "soft"}
    batched = forest(**given).fit(X, y)
    votes = batched.explore(queries).votes
    assert (forest(**given, algorithm="eager").fit(X, y).explore(queries).votes == votes).all()
    assert (forest(**given, algorithm="lazy").fit(X, y).explore(queries[:40]).votes == votes[:40]).all()
    for algorithm in ALGORITHMS:
        threaded = forest(**given, algorithm=algorithm, n_jobs=2).fit(X, y)
        assert (threaded.explore(queries[:40]).votes == votes[:40]).all()
    shuffled = np.random.default_rng(1).permutation(len(queries))
    assert (batched.explore(queries[shuffled]).votes == votes[shuffled]).all()
    parts = np.split(np.arange(len(queries)), [1, 2, 70])
    assert (np.vstack([batched.explore(queries[part]).votes for part in parts]) == votes).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_exploration_is_the_reference(iris, algorithm):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    explored = forest(algorithm=algorithm, n_estimators=3, n_jobs=2).fit(X, y, sample_weight=weight).explore(X[::10])
    T = reference.table(X, y, 3, weight=weight)
    expected = LISTINGS[algorithm](T, X[::10], reference.Settings(n_estimators=3))
    assert explored.votes.tolist() == expected.votes.tolist()
    assert explored.proba.tolist() == (expected.votes / 3).tolist()
    assert explored.prediction.tolist() == expected.votes.argmax(axis=1).tolist()
    assert explored.nodes_explored == len(expected.nodes)
    assert explored.rows_scanned == expected.rows_scanned
    assert explored.stack_words == expected.stack_words
    assert explored.model_words == expected.model_words
    assert explored.bytes > 0
    assert explored.cpu_seconds >= 0


def test_order_of_training_rows_changes_nothing_if_their_ids_stay(iris):
    X, y = iris
    shuffled = np.random.default_rng(0).permutation(len(X))
    votes = forest().fit(X, y).explore(X).votes
    assert (forest().fit(X[shuffled], y[shuffled], row_ids=shuffled).explore(X).votes == votes).all()


def test_whole_weights_are_copies_without_a_bootstrap(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = forest(bootstrap=False).fit(X, y, sample_weight=weight)
    copied = forest(bootstrap=False).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert (weighted.explore(X).votes == copied.explore(X).votes).all()


def test_class_weight_is_a_factor_on_weights(iris):
    X, y = iris
    by_class = forest(class_weight={0: 1, 1: 3, 2: 2}).fit(X, y)
    by_row = forest().fit(X, y, sample_weight=np.array([1, 3, 2])[y])
    assert (by_class.explore(X).votes == by_row.explore(X).votes).all()


def test_fit_grows_nothing_but_for_eager(iris):
    """An eager forest opens its nodes in fit, the others as rows ask for them."""
    explored = {a: forest(algorithm=a).fit(*iris).explore(iris[0][:1]) for a in ALGORITHMS}
    assert explored["batched"].nodes_explored == explored["lazy"].nodes_explored < explored["eager"].nodes_explored
    assert explored["batched"].model_words == explored["lazy"].model_words == 0
    assert explored["eager"].model_words == 4 * explored["eager"].nodes_explored


def test_an_empty_bootstrap_leaves_all_classes_equally_probable():
    """One row, and a seed whose only tree does not draw it; two classes need a second row, of weight 0."""
    seed = next(s for s in range(100) if bootstrap_counts(s, 0, [0])[0] == 0)
    fitted = forest(n_estimators=1, random_state=seed).fit([[0.0], [1.0]], ["a", "b"], sample_weight=[1, 0])
    assert fitted.predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]


# scikit-learn's tools ----------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_pickle(iris, algorithm):
    X, y = iris
    fitted = forest(algorithm=algorithm).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(X) == fitted.predict_proba(X)).all()


def test_clone_and_repr():
    given = forest(max_depth=3, bootstrap=False)
    assert clone(given).get_params() == given.get_params()
    shown = " ".join(repr(given).split())
    assert shown == "LazyForestClassifier(bootstrap=False, max_depth=3, n_estimators=10, random_state=0)"


def test_pipeline(iris):
    X, y = iris
    assert make_pipeline(StandardScaler(), forest()).fit(X, y).score(X, y) > 0.95


def test_grid_search(iris):
    X, y = iris
    search = GridSearchCV(forest(), {"max_depth": [0, 3], "algorithm": ["batched", "eager"]}, cv=3).fit(X, y)
    assert search.best_params_["max_depth"] == 3
    scores = search.cv_results_["mean_test_score"]
    assert scores[:2].tolist() == scores[2:].tolist()  # the algorithms answer alike


def by_hand(X, y, row_ids):
    predicted = np.empty_like(y)
    for train, test in KFold(5).split(X):
        predicted[test] = forest().fit(X[train], y[train], row_ids=row_ids[train]).predict(X[test])
    return predicted


def test_row_ids_through_cross_validation(iris):
    X, y = iris
    shuffled = np.random.default_rng(0).permutation(len(X))
    X, y, row_ids = X[shuffled], y[shuffled], shuffled + 1000
    expected = by_hand(X, y, row_ids)
    given = {"cv": KFold(5), "params": {"row_ids": row_ids}}
    assert (cross_val_predict(forest(), X, y, **given) == expected).all()
    with sklearn.config_context(enable_metadata_routing=True):
        routed = forest().set_fit_request(row_ids=True)
        assert (cross_val_predict(routed, X, y, **given) == expected).all()
        assert cross_val_score(routed, X, y, **given).mean() == pytest.approx((expected == y).mean())


# Random states, threads, messages ----------------------------------------------------------------------


def test_random_state(iris):
    X, y = iris

    def votes(random_state, seed=None):
        fitted = forest(random_state=random_state).fit(X, y)
        assert seed is None or fitted.seed_ == seed
        return fitted.explore(X).votes.tolist()

    assert votes(7, seed=7) == votes(np.int64(7), seed=7)
    assert votes(7) != votes(8)
    assert votes(2**64 - 1, seed=2**64 - 1)
    for generator in (np.random.default_rng, np.random.RandomState):
        assert votes(generator(3)) == votes(generator(3))
        shared = generator(3)
        assert votes(shared) != votes(shared)  # every fit draws anew
    assert votes(None) != votes(None)


def test_predictions_of_one_fit_do_not_change_without_a_random_state(iris):
    X, y = iris
    fitted = forest(random_state=None).fit(X, y)
    assert (fitted.predict_proba(X) == fitted.predict_proba(X)).all()
    again = forest(random_state=fitted.seed_).fit(X, y)
    assert (again.predict_proba(X) == fitted.predict_proba(X)).all()


def test_verbose_goes_to_stderr(iris, capsys):
    X, y = iris
    forest(verbose=0).fit(X, y).predict(X)
    assert capsys.readouterr() == ("", "")
    forest(verbose=1).fit(X, y).predict(X)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "10 of 10 trees" in printed.err


def test_not_fitted():
    with pytest.raises(NotFittedError, match="LazyForestClassifier"):
        forest().predict([[0.0]])


@pytest.mark.parametrize("fixed_point", [None, (3, 0), (20, 0)])
def test_fixed_point(iris, fixed_point):
    """Weights that are eighths are exact with three bits or more: the frame changes nothing."""
    X, y = iris
    weight = np.random.default_rng(0).integers(1, 17, len(X)) / 8
    fitted = forest(fixed_point=fixed_point, voting="soft").fit(X, y, sample_weight=weight)
    assert fixed_point is None or fitted.frame_ == (*fixed_point, 0.0)
    expected = forest(fixed_point=(10, 0), voting="soft").fit(X, y, sample_weight=weight)
    assert (fitted.explore(X).votes == expected.explore(X).votes).all()


def test_classes_of_any_kind():
    """Told apart as NumPy does, also where float64 does not; in their own type."""
    rng = np.random.default_rng(0)
    many = rng.integers(0, 300, 500)
    for y in (
        many,
        many.astype(np.uint8),
        many % 2 == 0,
        many - 9.0,
        many.astype(np.float32),
        many + 2**62,
        many.astype(np.uint64) + np.uint64(2**63),
        many.astype(str),
    ):
        classes, codes = find_classes(y)
        expected, indices = np.unique(y, return_inverse=True)
        assert classes.dtype == expected.dtype
        assert classes.tolist() == expected.tolist()
        assert codes.tolist() == indices.tolist()
