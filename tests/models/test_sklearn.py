import math
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from evenhand.choices import InverseGap, Rate
from evenhand.core.errors import CannotSave, InvalidInput
from evenhand.goals.hard_limits import hard_budget
from evenhand.goals.linear_reward import reward
from evenhand.models import Glmtron, Sklearn, Stacked
from evenhand.policy import Policy
from evenhand.policy.saving import fingerprint
from evenhand.run import play
from evenhand.testing import check_policy
from tests.calls import ask, tell
from tests.examples.problems import COURT, EVERYTHING
from tests.worlds import Market

FOREST = RandomForestRegressor(n_estimators=5, max_depth=3)


class Bad(RegressorMixin, BaseEstimator):
    """Predicts what it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, x, y):
        return self

    def predict(self, x):
        return self.answer(len(x))


def learn(model, x, y, low=-10.0, high=10.0):
    """One replica, one play per round."""
    state = model.start(1, np.full(model.n_outcomes, low), np.full(model.n_outcomes, high), 100)
    for xs, ys in zip(x, y, strict=True):
        tell(model, state, xs[None, None], np.atleast_1d(ys)[None, None], np.ones(1), np.ones((1, 1, model.n_outcomes)))
    return state


def predict(model, state, x):
    """Predictions of every outcome, (A, M)."""
    return ask(model, state, x[None], np.eye(model.n_outcomes)[None])[0][0].T


def line(count=40, n=3, m=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, n))
    return x, x @ rng.normal(size=(n, m)) + 0.1 * rng.normal(size=(count, m)), rng.normal(size=(5, n))


@pytest.mark.parametrize("per_outcome", [True, False])
@pytest.mark.parametrize("estimator", [LinearRegression(), RandomForestRegressor(5, random_state=3)], ids=repr)
def test_predictions_are_those_of_the_estimator_fitted_by_hand(estimator, per_outcome):
    x, y, query = line()
    model = Sklearn(estimator=estimator, n_features=3, n_outcomes=2, growth=1.0, per_outcome=per_outcome)
    got = predict(model, learn(model, x, y), query)
    part, exponent = np.frexp(y / 20.0)  # in units of the range, to 40 bits, as forests are not continuous
    told = np.ldexp(np.round(np.ldexp(part, 40)), exponent - 40)
    targets = (told[:, 0], told[:, 1]) if per_outcome else (told,)
    by_hand = np.column_stack([estimator.fit(x, z).predict(query) for z in targets])
    np.testing.assert_allclose(got, 20.0 * by_hand, rtol=1e-9)


def test_one_plain_linear_regression_is_newton_steps_with_next_to_no_ridge():
    """A ridge of 1e-9 moves the estimate by 1e-9 / (least eigenvalue), here below 1e-10."""
    x, y, query = line()
    model = Sklearn(estimator=LinearRegression(fit_intercept=False), n_features=3, n_outcomes=2, growth=1.0)
    ours = Glmtron(n_features=3, n_outcomes=2, ridge=1e-9)
    np.testing.assert_allclose(
        predict(model, learn(model, x, y), query), predict(ours, learn(ours, x, y), query), atol=1e-6
    )


@pytest.mark.parametrize("estimator", [LogisticRegression(), RandomForestClassifier(5, random_state=1)], ids=repr)
def test_a_classifier_predicts_the_chance_of_1(estimator):
    x, y, query = line(m=1)
    z = (y > 0).astype(float)
    model = Sklearn(estimator=estimator, n_features=3, growth=1.0)
    got = predict(model, learn(model, x, z, 0.0, 1.0), query)
    np.testing.assert_allclose(got[:, 0], estimator.fit(x, z[:, 0]).predict_proba(query)[:, 1], rtol=1e-12)


def test_one_classifier_of_several_outcomes_predicts_their_chances_even_of_what_it_has_not_seen():
    x, y, query = line()
    z = np.column_stack([y[:, 0] > 0, np.zeros(len(y))]).astype(float)
    forest = RandomForestClassifier(5, random_state=1)
    model = Sklearn(estimator=forest, n_features=3, n_outcomes=2, growth=1.0, per_outcome=False)
    got = predict(model, learn(model, x, z, 0.0, 1.0), query)
    np.testing.assert_allclose(got[:, 0], forest.fit(x, z).predict_proba(query)[0][:, 1])
    np.testing.assert_array_equal(got[:, 1], 0.0)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_classifier_that_has_seen_one_value_predicts_it(value):
    x, _, query = line()
    model = Sklearn(estimator=LogisticRegression(), n_features=3)
    np.testing.assert_array_equal(predict(model, learn(model, x, np.full(40, value), 0.0, 1.0), query), value)


@pytest.mark.parametrize(
    ("estimator", "y"), [(SGDRegressor(random_state=2), None), (SGDClassifier(loss="log_loss", random_state=2), 0.0)]
)
def test_partial_fits_are_those_made_by_hand(estimator, y):
    x, truth, query = line(m=1)
    z = truth[:, 0] if y is None else (truth[:, 0] > y).astype(float)
    unit = 20.0 if y is None else 1.0
    model = Sklearn(estimator=estimator, n_features=3, mode="partial_fit")
    ends = (-10.0, 10.0) if y is None else (0.0, 1.0)
    got = predict(model, learn(model, x, z, *ends), query)[:, 0]
    for xs, zs in zip(x, z, strict=True):
        estimator.partial_fit(xs[None], [zs / unit], **({} if y is None else {"classes": [0.0, 1.0]}))
    expected = estimator.predict(query) if y is None else estimator.predict_proba(query)[:, 1]
    np.testing.assert_allclose(got, unit * expected, rtol=1e-9)


class Counting(RegressorMixin, BaseEstimator):
    """Predicts how many rows it was fitted to, and the sum of their outcomes."""

    def fit(self, x, y):
        self.seen_ = np.array([len(y), y[:, 0].sum()])
        return self

    def predict(self, x):
        return np.tile(self.seen_, (len(x), 1))


@pytest.mark.parametrize(("growth", "buffer", "least"), [(1.5, 8, 3), (1.0, 5, 1), (4.0, 6, 2), (2.0, 1000, 10)])
def test_fits_follow_the_geometric_schedule_over_the_latest_observations(growth, buffer, least):
    """By a plain list: fitted at `min_observations`, then at growth times the last fit, or with `buffer` new ones."""
    model = Sklearn(
        estimator=Counting(),
        n_features=1,
        n_outcomes=2,
        growth=growth,
        buffer=buffer,
        min_observations=least,
        per_outcome=False,
    )
    state = model.start(1, np.full(2, -np.inf), np.full(2, np.inf), 100)
    fitted, expected = 0, [0.0, 0.0]
    for t in range(1, 700):
        y = np.array([[[float(t), 0.0]]])
        tell(model, state, np.ones((1, 1, 1)), y, np.ones(1), np.ones((1, 1, 2)))
        if t >= least and (t >= growth * fitted or t - fitted >= buffer):
            fitted, latest = t, range(max(1, t - buffer + 1), t + 1)
            expected = [len(latest), sum(latest)]
        if t % 7 in (0, 3):  # asked now and then: a fit that nobody asks for is not made
            np.testing.assert_array_equal(predict(model, state, np.ones((1, 1)))[0], expected)
    assert state.x.shape[1] <= max(2 * buffer, 256)


def test_before_any_fit_the_prediction_is_0_or_the_nearest_end_of_the_range():
    model = Sklearn(estimator=LinearRegression(), n_features=1, n_outcomes=3)
    state = model.start(1, np.array([-1.0, 0.2, -5.0]), np.array([1.0, 0.9, -3.0]), 100)
    np.testing.assert_array_equal(predict(model, state, np.ones((2, 1))), [[0.0, 0.2, -3.0]] * 2)


def test_predictions_are_clipped_to_the_declared_range():
    model = Sklearn(estimator=LinearRegression(), n_features=1)
    x = np.linspace(0, 1, 20)[:, None]
    state = learn(model, x, x[:, 0], 0.0, 1.0)
    np.testing.assert_allclose(
        predict(model, state, np.array([[-3.0], [0.5], [4.0]]))[:, 0], [0.0, 0.5, 1.0], atol=1e-12
    )


BAD = {
    "nan": (lambda a: np.full(a, math.nan), "finite predictions"),
    "infinite": (lambda a: np.full(a, math.inf), "finite predictions"),
    "far above": (lambda a: np.full(a, 11.1), "at most 10 ranges outside"),
    "far below": (lambda a: np.full(a, -10.1), "at most 10 ranges outside"),
    "too few": (lambda a: np.zeros(a - 1), r"predictions of shape \(2, 1\), got \(1,\)"),
    "a matrix": (lambda a: np.zeros((a, 3)), r"predictions of shape \(2, 1\), got \(2, 3\)"),
    "one number": (lambda a: 0.0, r"predictions of shape \(2, 1\), got \(\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_predictions_name_the_oracle_and_the_round(name):
    answer, message = BAD[name]
    model = Sklearn(estimator=Bad(answer), n_features=1, min_observations=3, growth=2.0)
    state = learn(model, np.ones((7, 1)), np.ones(7), 0.0, 1.0)
    before = {k: z.copy() for k, z in vars(state).items() if isinstance(z, np.ndarray)}
    with pytest.raises(InvalidInput, match=r"^Sklearn\(Bad\) after 6 observations: expected .*" + message):
        ask(model, state, np.ones((1, 2, 1)), np.ones((1, 1, 1)))
    for k, z in before.items():
        np.testing.assert_array_equal(getattr(state, k), z)


def test_an_estimator_that_diverges_is_found_out():
    model = Sklearn(estimator=SGDRegressor(eta0=1.0, learning_rate="constant"), n_features=1, mode="partial_fit")
    state = learn(model, np.full((20, 1), 3.0), np.ones(20), 0.0, 1.0)
    with pytest.raises(InvalidInput, match=r"^Sklearn\(SGDRegressor\) after 20 observations: expected finite"):
        ask(model, state, np.ones((1, 2, 1)), np.ones((1, 1, 1)))


def test_a_classifier_refuses_outcomes_that_are_not_binary():
    model = Sklearn(estimator=LogisticRegression(), n_features=1)
    with pytest.raises(InvalidInput, match=r"^Sklearn\(LogisticRegression\): expected outcomes of 0 or 1"):
        learn(model, np.ones((1, 1)), [0.5], 0.0, 1.0)
    with pytest.raises(InvalidInput, match=r"^Sklearn\(LogisticRegression\): expected outcomes with a range within"):
        model.start(1, np.zeros(1), np.full(1, 2.0), 100)


def test_the_estimator_that_was_handed_in_is_not_changed():
    forest = RandomForestRegressor(3)
    model = Sklearn(estimator=forest, n_features=3, n_outcomes=2)
    x, y, query = line()
    a, b = (predict(model, learn(model, x, y), query) for _ in range(2))
    np.testing.assert_array_equal(a, b)  # random_state None is 0
    assert forest.random_state is None
    assert not hasattr(forest, "estimators_")


def policy(model, problem=COURT.problem):
    goals = (reward(problem), hard_budget(problem))
    return Policy(problem=problem, model=model, goals=goals, choice=InverseGap(Rate(30.0)))


def test_a_refitted_model_acts_alike_in_a_batch_alone_and_after_it_was_saved():
    check_policy(
        policy(Sklearn(estimator=LogisticRegression(), n_features=5, buffer=20, min_observations=5)), COURT, rounds=60
    )


def test_so_does_a_forest_of_several_outcomes():
    model = Sklearn(estimator=FOREST, n_features=3, n_outcomes=2, per_outcome=False, growth=2.0)
    check_policy(policy(model, EVERYTHING), Market(problem=EVERYTHING, offered=0.8), rounds=40)


@pytest.mark.parametrize("beside", [False, True])
def test_partial_fits_refuse_to_be_saved_with_a_sentence(beside, tmp_path):
    model = Sklearn(estimator=SGDClassifier(loss="log_loss"), n_features=5, mode="partial_fit")
    p = policy(Stacked((model,)) if beside else model)
    state = p.start(seed=1, replicas=2)
    list(play(p, state, COURT.start(1, state.replicas), range(10)))
    sentence = r"Sklearn(SGDClassifier) learns by partial_fit and cannot be saved: use mode='refit'"
    with pytest.raises(CannotSave, match=re.escape(sentence)):
        p.save(state, tmp_path / "s.npz")
    assert list(tmp_path.iterdir()) == []


def test_the_fingerprint_reads_the_estimator():
    def of(estimator):
        return fingerprint(Sklearn(estimator=estimator, n_features=2))

    pipelines = [make_pipeline(StandardScaler(with_mean=z), Ridge(alpha=a)) for z in (True, False) for a in (1.0, 2.0)]
    others = [LinearRegression(), LinearRegression(fit_intercept=False), Ridge(), Ridge(2.0), FOREST]
    encoders = [make_pipeline(OneHotEncoder(dtype=z), Ridge()) for z in (np.float64, np.float32)]
    assert len({of(e) for e in (*pipelines, *others, *encoders)}) == 11
    assert of(Ridge(alpha=2)) == of(Ridge(2.0))
    assert of(make_pipeline(StandardScaler(), Ridge())) == of(pipelines[0])
    with pytest.raises(InvalidInput, match=r"^configuration: expected dataclasses, arrays, numbers and names"):
        of(make_pipeline(FunctionTransformer(lambda x: x), Ridge()))


def test_noise_raises_nothing():
    rng = np.random.default_rng(1)
    model = Sklearn(estimator=DummyClassifier(strategy="prior"), n_features=2, n_outcomes=2)
    got = predict(
        model, learn(model, rng.normal(size=(100, 2)), rng.choice([0.0, 1.0], (100, 2)), 0.0, 1.0), np.ones((3, 2))
    )
    assert ((got > 0.3) & (got < 0.7)).all()
