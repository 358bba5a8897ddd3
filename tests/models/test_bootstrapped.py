import math
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDRegressor
from sklearn.tree import DecisionTreeRegressor

from evenhand.choices import Staged, TopK
from evenhand.core.errors import CannotSave
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Worth
from evenhand.goals.linear_reward import reward
from evenhand.models import Bootstrapped, Fixed, Logistic, Ridge, Sampled, Sklearn, Stacked
from evenhand.models.sampling import _times
from evenhand.policy import Policy
from evenhand.testing import check_policy
from tests.calls import tell
from tests.examples.problems import COURT, EVERYTHING
from tests.worlds import Market


def poisson(k):
    return math.exp(-1) / math.factorial(k)


def test_an_observation_enters_each_member_a_poisson_number_of_times():
    """100,000 pairs of an observation and a member; five standard errors, and pairs of members are uncorrelated."""
    times = _times(np.arange(20_000)[None], 5)[0]
    assert times.shape == (20_000, 5)
    for k in range(6):
        error = math.sqrt(poisson(k) * (1 - poisson(k)) / times.size)
        assert abs((times == k).mean() - poisson(k)) <= 5 * error
    covariance = np.cov(times.T) - np.eye(5)
    assert (np.abs(covariance) <= 5 * np.sqrt((1 + 2 * np.eye(5)) / len(times))).all()


def test_how_often_depends_on_the_observation_and_the_member_only():
    many, few = _times(np.array([[7, 8], [9, 7]]), 6), _times(np.array([[7]]), 2)
    np.testing.assert_array_equal(many[0, 0], many[1, 1])
    np.testing.assert_array_equal(many[0, 0, :2], few[0, 0])


def fed(model, rounds=60, seed=0, binary=False, n=2):
    rng = np.random.default_rng(seed)
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    x, noise = rng.random((rounds, n)), rng.random(rounds)
    y = (noise < x[:, 0]).astype(float) if binary else 0.8 * x[:, 0] + 0.2 * noise
    for t in range(rounds):
        tell(model, state, x[t][None, None], y[t].reshape(1, 1, 1), np.ones(1), np.ones((1, 1, 1)))
    return state, x, y


def members(model, state, x):
    """What each member says, by the luck that draws it, (B, A)."""
    u = (np.arange(model.members) + 0.5) / model.members
    worth = [model.value(state, x[None], np.ones((1, 1, 1, 1)), np.array([[z]])) for z in u]
    return np.array([(w.mean + w.bonus)[0, 0] for w in worth])


ESTIMATORS = [LinearRegression(), DecisionTreeRegressor(min_samples_leaf=4, random_state=0), LogisticRegression()]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_members_are_the_estimator_fitted_by_hand_to_the_observations_as_often_as_they_drew_them(estimator):
    binary = isinstance(estimator, LogisticRegression)
    model = Bootstrapped(inner=Sklearn(estimator=estimator, n_features=2, growth=1.0), members=4)
    state, x, y = fed(model, binary=binary)
    query = np.random.default_rng(9).random((5, 2))
    times = _times(np.arange(60)[None], 4)[0]
    expected = []
    for b in range(4):
        fit = estimator.fit(np.repeat(x, times[:, b], 0), np.repeat(y, times[:, b]))
        expected.append(fit.predict_proba(query)[:, 1] if binary else fit.predict(query))
    np.testing.assert_allclose(members(model, state, query), np.clip(expected, 0, 1), rtol=1e-9)
    calm = model.value(state, query[None], np.ones((1, 1, 1, 1)), np.zeros((1, 0)))
    np.testing.assert_allclose(calm.mean[0, 0], np.clip(expected, 0, 1).mean(0), rtol=1e-9)


def test_members_spread_like_the_posterior_of_a_least_squares_fit():
    """sigma^2 (X^T X)^-1, sigma^2 from the residuals: the spread of 200 members, over 40 sets of data of 200 rows.

    Five standard errors of the ratio, over the sets of data, and 5 % for what a bootstrap of 200 rows is off by itself.
    """
    model, rng = Bootstrapped(inner=Ridge(n_features=2, ridge=1e-6), members=200), np.random.default_rng(1)
    x = rng.random((40, 200, 2))
    y = 0.8 * x[:, :, :1] + 0.2 * (rng.random((40, 200, 1)) - 0.5)
    state = model.start(40, np.zeros(1), np.ones(1), 100)
    model.update(state, x, y, np.ones(y.shape, bool), np.ones((40, 1, 1, 1)))
    found = np.array([member.theta[:, 0, 0] for member in state.members]).var(0, ddof=1)
    fits = [np.linalg.lstsq(x[r], y[r], rcond=None)[0] for r in range(40)]
    noise = np.array([((y[r] - x[r] @ fits[r]) ** 2).sum() / 198 for r in range(40)])
    ratios = found / (noise * np.array([np.linalg.inv(x[r].T @ x[r])[0, 0] for r in range(40)]))
    assert abs(ratios.mean() - 1) <= 0.05 + 5 * ratios.std() / math.sqrt(40)


def test_a_member_is_drawn_uniformly():
    model = Bootstrapped(inner=Ridge(n_features=2), members=4)
    state, _, _ = fed(model, rounds=20)
    query = np.array([[0.3, 0.7]])
    each = members(model, state, query)[:, 0]
    u = Luck(seed=1, replicas=np.arange(4000)).uniform(Stream.MODEL, np.zeros(1, np.int64), 1)
    drawn = []
    for z in u:
        worth = model.value(state, query[None], np.ones((1, 1, 1, 1)), z[None])
        assert worth.random
        drawn.append((worth.mean + worth.bonus).item())
    for value in each:
        assert abs(np.isclose(drawn, value, rtol=1e-12).mean() - 0.25) <= 5 * math.sqrt(0.25 * 0.75 / 4000)


@dataclass
class Diary:
    told: list


@dataclass(frozen=True)
class Listener:
    """Notes every play that it is told of."""

    n_features: int = 1
    n_outcomes: int = 1

    def draws(self, candidates):
        return 0

    def start(self, replicas, low, high, horizon):
        return Diary([[] for _ in range(replicas)])

    def value(self, state, x, w, u):
        return Worth(np.zeros((len(x), w.shape[1], x.shape[1])), np.zeros((len(x), w.shape[1], x.shape[1])))

    def update(self, state, x, y, seen, w, lesson=None):
        for r, p, _ in np.argwhere(seen):
            state.told[r].append((x[r, p, 0], y[r, p, 0], w[r, 0, p if w.shape[2] > 1 else 0, 0]))


@pytest.mark.parametrize("own", [False, True])
def test_only_observations_that_were_seen_are_counted_and_each_keeps_its_own_price(own):
    rng = np.random.default_rng(2)
    model = Bootstrapped(inner=Listener(), members=3)
    state = model.start(2, np.zeros(1), np.ones(1), 100)
    expected, count = [[[], []] for _ in range(3)], [0, 0]
    for _ in range(40):
        x, y, seen = rng.random((2, 3, 1)), rng.random((2, 3, 1)), rng.random((2, 3, 1)) < 0.6
        w = rng.random((2, 1, 3 if own else 1, 1))
        model.update(state, x, np.where(seen, y, 0.0), seen, w)
        for r in range(2):
            for p in np.flatnonzero(seen[r, :, 0]):
                times = _times(np.array([[count[r]]]), 3)[0, 0]
                count[r] += 1
                for b in range(3):
                    price = w[r, 0, p if own else 0, 0]
                    expected[b][r] += [(x[r, p, 0], y[r, p, 0], price)] * int(times[b])
    assert [s.told for s in state.members] == expected
    assert state.count.tolist() == count


def test_a_lone_optimist_is_asked_for_its_mean_only():
    plain, wide = (Bootstrapped(inner=Ridge(n_features=2, width=Fixed(w)), members=3) for w in (0.0, 5.0))
    query = np.array([[0.3, 0.7]])
    np.testing.assert_array_equal(members(plain, fed(plain)[0], query), members(wide, fed(wide)[0], query))


def policy(model, problem):
    return Policy(problem=problem, model=model, goals=(reward(problem),), choice=Staged(10, TopK(1)))


@pytest.mark.parametrize(
    "model",
    [
        Bootstrapped(inner=Ridge(n_features=3, n_outcomes=2), members=3),
        Sampled(inner=Ridge(n_features=3, n_outcomes=2)),
        Stacked((Sampled(inner=Logistic(n_features=3)), Bootstrapped(inner=Ridge(n_features=3)))),
    ],
    ids=repr,
)
def test_a_policy_that_draws_acts_alike_in_a_batch_alone_and_after_it_was_saved(model):
    check_policy(policy(model, EVERYTHING), Market(problem=EVERYTHING, offered=0.8), rounds=40)


def test_members_that_cannot_be_saved_say_so(tmp_path):
    inner = Sklearn(estimator=SGDRegressor(), n_features=5, mode="partial_fit")
    p = policy(Bootstrapped(inner=inner), COURT.problem)
    with pytest.raises(CannotSave, match=r"^Sklearn\(SGDRegressor\) learns by partial_fit"):
        p.save(p.start(), tmp_path / "s.npz")
