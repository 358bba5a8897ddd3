"""Models of outcomes: regressors by what they predict, classifiers by their probabilities, and what is neither."""

import numpy as np
import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.offline import Logistic, RidgeByErrors
from evenhand.offline.outcome_models import predicted
from tests.offline.logs import draw
from tests.offline.test_commands import files as files

X = np.column_stack([np.ones(400), np.linspace(-2.0, 2.0, 400)])
RNG = np.random.default_rng(4)
ANSWERS = (RNG.random(400) < 1.0 / (1.0 + np.exp(-X[:, 1]))).astype(float)
STARS = 1.0 + RNG.binomial(4, 1.0 / (1.0 + np.exp(-X[:, 1]))).astype(float)


class Stated:
    """A classifier that states what it is told to."""

    def __init__(self, classes=(0.0, 1.0), shares=(0.25, 0.75), rows=None):
        self.classes_, self.shares, self.rows = np.array(classes), shares, rows

    def fit(self, x, y):
        return self

    def predict(self, x):
        return np.ones(len(x))

    def predict_proba(self, x):
        return np.tile(self.shares, (len(x) if self.rows is None else self.rows, 1))


def test_classifiers_predict_the_mean_of_their_probabilities():
    linear = pytest.importorskip("sklearn.linear_model")
    fitted = linear.LogisticRegression().fit(X, ANSWERS)
    found = predicted(linear.LogisticRegression, X, ANSWERS, X)
    assert np.allclose(found, fitted.predict_proba(X)[:, 1], rtol=0, atol=1e-12)
    assert 0.05 < found.min() < 0.3 < 0.7 < found.max() < 0.95  # labels would be 0 and 1
    fitted = linear.LogisticRegression(max_iter=1000).fit(X, STARS)
    found = predicted(lambda: linear.LogisticRegression(max_iter=1000), X, STARS, X)
    assert np.allclose(found, fitted.predict_proba(X) @ np.arange(1.0, 6.0), rtol=0, atol=1e-12)


def test_the_order_of_classes_is_that_of_the_classifier():
    assert predicted(lambda: Stated((1.0, 0.0)), X, ANSWERS, X[:3]).tolist() == [0.25] * 3
    assert predicted(Stated, X, ANSWERS, X[:3]).tolist() == [0.75] * 3


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_kinds_are_those_of_scikit_learn(kind):
    """As libraries have it whose regressors share methods and attributes with their classifiers."""
    base = pytest.importorskip("sklearn.base")
    mixin = base.RegressorMixin if kind == "regressor" else base.ClassifierMixin

    class Shared(mixin, base.BaseEstimator):
        classes_ = np.array([0.0, 1.0])

        def fit(self, x, y):
            return self

        def predict(self, x):
            return np.full(len(x), 0.4)

        def predict_proba(self, x):
            return np.tile([0.3, 0.7], (len(x), 1))

    mean = 0.4 if kind == "regressor" else 0.7
    assert predicted(Shared, X, ANSWERS, X[:2]).tolist() == [mean] * 2


def test_pipelines_and_searches_of_classifiers():
    linear, pipeline = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.pipeline")
    search, scale = pytest.importorskip("sklearn.model_selection"), pytest.importorskip("sklearn.preprocessing")

    def model():
        logistic = pipeline.make_pipeline(scale.StandardScaler(), linear.LogisticRegression())
        return search.GridSearchCV(logistic, {"logisticregression__C": [0.1, 1.0]})

    assert np.allclose(predicted(model, X, ANSWERS, X), model().fit(X, ANSWERS).predict_proba(X)[:, 1])


def test_one_class_alone_is_what_is_predicted():
    """Logistic regressions refuse to be fitted to one class; no row says anything else, though."""
    linear = pytest.importorskip("sklearn.linear_model")
    for level in (0.0, 1.0):
        found = predicted(linear.LogisticRegression, X, np.full(400, level), X[:7])
        assert found.tolist() == [level] * 7


def test_regressors_predict_as_before():
    linear, tree = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.tree")
    for model in (linear.LinearRegression, lambda: tree.DecisionTreeRegressor(max_depth=3, random_state=0)):
        assert np.array_equal(predicted(model, X, STARS, X), model().fit(X, STARS).predict(X))


def test_classifiers_without_probabilities_are_refused():
    svm = pytest.importorskip("sklearn.svm")
    with pytest.raises(InvalidInput, match=r"model: expected a regressor, or a classifier with predict_proba"):
        predicted(svm.LinearSVC, X, ANSWERS, X)


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (Stated(("no", "yes")), ANSWERS, r"classes that are the values of the outcome, got \['no', 'yes'\]"),
        (Stated((0.0, 2.0)), ANSWERS, r"classes that are the values of the outcome, got \[0.0, 2.0\]"),
        (Stated((0.0,)), ANSWERS, r"classes that are the values of the outcome, got \[0.0\]"),
        (Stated(shares=(0.5, 0.25, 0.25)), ANSWERS, r"probabilities of shape \(3, 2\), got shape \(3, 3\)"),
        (Stated(rows=2), ANSWERS, r"probabilities of shape \(3, 2\), got shape \(2, 2\)"),
        (Stated(shares=(0.5, 0.75)), ANSWERS, "probabilities of at least 0 that add up to 1, got others"),
        (Stated(shares=(-0.5, 1.5)), ANSWERS, "probabilities of at least 0 that add up to 1, got others"),
        (Stated(shares=(np.nan, 1.0)), ANSWERS, "probabilities of at least 0 that add up to 1, got others"),
        (Stated(), X[:, 1], "a regressor, as the outcome is not always a whole number, got -1.98"),
    ],
)
def test_what_classifiers_may_not_state(model, y, message):
    with pytest.raises(InvalidInput, match=f"model: expected {message}"):
        predicted(lambda: model, X, y, X[:3])


def test_logistic_predicts_zeros_and_ones_by_probabilities_and_the_rest_by_ridges():
    linear = pytest.importorskip("sklearn.linear_model")
    fitted = linear.LogisticRegression(max_iter=1000).fit(X[:, 1:], ANSWERS)
    found = predicted(Logistic, X, ANSWERS, X)
    assert np.allclose(found, fitted.predict_proba(X[:, 1:])[:, 1], rtol=0, atol=1e-12)
    assert np.array_equal(predicted(Logistic, X, STARS, X), RidgeByErrors().fit(X, STARS).predict(X))
    assert predicted(Logistic, X, np.zeros(400), X[:3]).tolist() == [0.0] * 3
    alone = predicted(Logistic, X[:, :1], ANSWERS, X[:3, :1])  # without features
    assert alone.tolist() == pytest.approx([ANSWERS.mean()] * 3)


def test_logistic_models_are_nearer_to_the_truth_where_means_are_logistic():
    """In a log without a bend, over ten draws; ridge predicts below 0 and above 1."""
    off = []
    for seed in range(10):
        log, means = draw(3000, seed, bent=0.0)
        each = [log.tables(model=model)["sale"].predicted for model in (Logistic, RidgeByErrors)]
        off.append([float(((q - means) ** 2).mean()) for q in each])
    logistic, ridge = np.mean(off, 0)
    assert logistic < 0.6 * ridge


def test_commands_take_a_model(files, tmp_path, capsys):
    said = []
    for model in ("ridge", "logistic"):
        assert main(["value", *files, "--model", model]) == 0
        said.append(capsys.readouterr().out)
        assert main(["curve", *files, "--at", "0.25", "--model", model]) == 0
    assert said[0] != said[1]
