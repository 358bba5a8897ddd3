import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.models import BayesianLogistic, PerAction
from tests.calls import ask, tell
from tests.models.test_bayesian_ridge import SIZES, finite, history, run
from tests.rows import for_each

ONE, LOW, HIGH = np.ones((1, 1, 1)), np.zeros(1), np.ones(1)


def odds(x, theta):
    return 1.0 / (1.0 + np.exp(-(x @ theta)))


def answers(rng, replicas, rounds, plays, n):
    x, y, counted = history(rng, replicas, rounds, plays, n, 1)
    return x, np.where(np.isnan(y), np.nan, (y > 0.5).astype(float)), counted


def maximum(x, y, rho):
    """The penalised maximum of the likelihood by Newton steps, and the Hessian, `(N,n),(N),()->(n),(n,n)`."""
    theta, n = np.zeros(x.shape[1]), x.shape[1]
    for step in range(200):
        p = odds(x, theta)
        hessian = (x.T * (p * (1.0 - p))) @ x + rho * np.eye(n)
        theta = theta - min(1.0, 0.1 * (step + 1)) * np.linalg.solve(hessian, x.T @ (p - y) + rho * theta)
    return theta, hessian


def twin(x, y, rho):
    """The two passes of a fit."""
    count, n = x.shape
    scale = (x**2).sum() / count
    rho = rho or scale / 4.0
    theta, hessian = maximum(x, y, rho)
    free = n - rho * np.trace(np.linalg.inv(hessian))
    rho = scale * (1.0 + free) / (4.0 + scale * theta @ theta)
    return rho, *maximum(x, y, rho)


@pytest.mark.slow
@settings(max_examples=25)
@given(replicas=st.integers(1, 3), plays=st.integers(1, 3), n=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_the_posterior_is_its_twin(replicas, plays, n, seed):
    """The last Newton step of a fit is at most 0.01 deviations of the posterior long, and the Hessian is of before it.

    What came after the fit adds one Newton step from there.
    """
    rng = np.random.default_rng(seed)
    x, y, rounds = answers(rng, replicas, 15, plays, n)
    model = BayesianLogistic(n_features=n, growth=1.3)
    state = run(model, x, y, rounds, LOW, HIGH)
    for r in range(replicas):
        rho, fitted, past_x, past_y, seen_rounds, posterior = 0.0, 0, [], [], 0, None
        for t in range(15):
            seen = (rounds[t, r] > 0) & ~np.isnan(y[t, r, :, 0])
            seen_rounds += seen.any()
            learned = seen & x[t, r].any(1)
            past_x.extend(x[t, r][learned])
            past_y.extend(y[t, r, learned, 0])
            if learned.any() and len(past_x) >= 1.3 * fitted:
                posterior, fitted = twin(np.array(past_x), np.array(past_y), rho), len(past_x)
                rho = posterior[0]
        assert (state.count[r], state.fitted[r], state.rounds[r]) == (len(past_x), fitted, seen_rounds)
        if posterior is None:
            assert state.ridge[r] == 0.0
            continue
        assert state.ridge[r] == pytest.approx(posterior[0], rel=0.02)
        deviations = np.sqrt(np.diag(np.linalg.inv(posterior[2])))
        assert (np.abs(state.base[r] - posterior[1]) <= 0.01 * deviations).all()
        past, new = np.array(past_x), slice(fitted, None)
        p = odds(past, state.base[r])
        step = state.inverse[r] @ (past[new].T @ (np.array(past_y)[new] - p[new]))
        np.testing.assert_allclose(state.theta[r], state.base[r] + step, rtol=1e-9, atol=1e-12)
        precision = (past.T * (p * (1.0 - p))) @ past + state.ridge[r] * np.eye(n)  # also of what came after the fit
        np.testing.assert_allclose(state.inverse[r] @ precision, np.eye(n), atol=0.03)


@settings(max_examples=25)
@given(
    n=st.integers(1, 4),
    t=st.integers(0, 12),
    k=st.integers(1, 3),
    each=st.booleans(),
    told=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_value_is_its_twin(n, t, k, each, told, seed):
    rng = np.random.default_rng(seed)
    x, y, rounds = answers(rng, 2, t, 2, n)
    model = BayesianLogistic(n_features=n, scale=0.6)
    state = run(model, x, y, rounds, LOW, HIGH)
    query, w = rng.normal(size=(2, 4, n)), rng.normal(size=(2, k, 4 if each else 1, 1)).round(1)
    query[:, 2] = 0.0
    plays = rng.uniform(0.0, 30.0, (2, 4)) if told else np.full((2, 4), math.inf)
    state.affordable = plays if told else state.affordable
    mean, bonus, *_ = model.value(state, query, w, np.zeros((2, 0)))
    for r in range(2):
        ahead = max(100 - state.rounds[r], 0) * (1 + state.count[r]) / (1 + state.rounds[r])
        for a in range(4):
            p = odds(query[r, a], state.theta[r]) if a != 2 else 0.0  # without features there is no outcome
            square = p * (1 - p) * (query[r, a] @ state.inverse[r] @ query[r, a]) if state.count[r] else 1.0
            each_way = min(ahead / n, plays[r, a])
            half = 0.6 * math.sqrt(p * (1 - p) * square * math.log(1 + (each_way * square) ** 2))
            for j in range(k):
                price = w[r, j, a if each else 0, 0]
                far = np.clip(p + np.sign(price) * half, 0.0, 1.0) - p
                assert mean[r, j, a] == pytest.approx(price * p, rel=1e-9, abs=1e-12)
                assert bonus[r, j, a] == pytest.approx(price * far, rel=1e-9, abs=1e-12)


def test_the_estimated_penalty_is_right_on_data_from_the_prior():
    """rho = 1 / the variance of theta; over 60 data sets, to five standard errors and the believed observation."""
    n, logs, rng = 20, [], np.random.default_rng(1)
    model = BayesianLogistic(n_features=n, growth=1.5)
    for _ in range(60):
        x = rng.normal(size=(500, n))
        theta = rng.normal(size=n) * math.sqrt(4.0 / n)  # |x|^2 = n on average: log-odds have variance 4
        y = (rng.random(500) < odds(x, theta)).astype(float)
        state = run(model, x[:, None, None], y[:, None, None, None], np.ones((500, 1)), LOW, HIGH)
        logs.append(math.log(state.ridge.item()))
    assert abs(np.mean(logs) - math.log(n / 4.0)) < 5.0 * np.std(logs) / math.sqrt(60) + 1.0 / n


def test_intervals_of_the_posterior_cover_the_truth():
    """95 % of truths within 1.96 posterior standard deviations, to four standard errors; the last fit is at 200."""
    n, covered, rng = 3, [], np.random.default_rng(2)
    model = BayesianLogistic(n_features=n)
    for _ in range(300):
        x, theta = rng.normal(size=(200, n)), rng.normal(size=n) * math.sqrt(4.0 / n)
        y = (rng.random(200) < odds(x, theta)).astype(float)
        state = run(model, x.reshape(4, 1, 50, n), y.reshape(4, 1, 50, 1), np.ones((4, 1)), LOW, HIGH)
        covered.append(np.abs(state.theta[0] - theta) <= 1.96 * np.sqrt(np.diag(state.inverse[0])))
    assert abs(np.mean(covered) - 0.95) < 4.0 * math.sqrt(0.95 * 0.05 / 300)


def played(model, x, y, factor=1.0, order=None, columns=None):
    order, columns = np.arange(len(x)) if order is None else order, np.arange(3) if columns is None else columns
    own = np.ascontiguousarray(x[..., columns] * factor)
    state = model.start(1, LOW, HIGH, 60)
    for t in order:
        tell(model, state, own[t, None, None], y[t, None, None, None], np.ones(1), ONE)
    return ask(model, state, own[None, :5].copy(), np.array([[[1.0], [-2.0]]]))


@pytest.mark.parametrize("factor", [1e-6, 1e6, 1e-60])
@pytest.mark.parametrize("columns", [[0, 1, 2], [2, 0, 1]])
def test_units_and_order_of_features_do_not_matter(factor, columns):
    rng = np.random.default_rng(3)
    model, x, y = BayesianLogistic(n_features=3), rng.normal(size=(30, 3)), (rng.random(30) < 0.5).astype(float)
    restated = played(model, x, y, factor, columns=columns)
    np.testing.assert_allclose(restated, played(model, x, y), rtol=1e-9, atol=1e-11)


def test_the_order_of_observations_between_fits_does_not_matter():
    rng = np.random.default_rng(4)
    model, x, y = BayesianLogistic(n_features=3, growth=2.0), rng.normal(size=(30, 3)), np.arange(30) % 2.0
    order = np.concatenate([np.arange(17), np.arange(29, 16, -1)])  # fits at 1, 2, 4, 8 and 16
    np.testing.assert_allclose(played(model, x, y, order=order), played(model, x, y), rtol=1e-9, atol=1e-12)


@for_each("n", [1, 3])
@for_each("size", [*SIZES, "mixed", "mixed columns", "zero"])
@pytest.mark.parametrize("kind", ["random", "equal", "separable", "all 0", "all 1"])
@for_each("buffer", [8, 2000])
def test_features_of_any_size_keep_everything_finite(n, size, kind, buffer):
    rng = np.random.default_rng(6)
    x = rng.uniform(-1.0, 1.0, size=(40, n))
    if kind == "equal":
        x[:] = x[:, :1]
    y = {"separable": x[:, 0] > 0.0, "all 0": np.zeros(40), "all 1": np.ones(40)}.get(kind, rng.random(40) < 0.5)
    exponents = {"mixed": rng.integers(-100, 101, (40, 1)), "mixed columns": rng.integers(-100, 101, n)}
    x *= 10.0 ** exponents[size] if size in exponents else 0.0 if size == "zero" else size
    finite(BayesianLogistic(n_features=n, buffer=buffer), x, y.astype(float), 0.0, 1.0)


def test_an_appended_action_is_known_by_its_own_outcomes_before_the_next_fit():
    """Twenty outcomes of an action, after 500 of another one, against the fit of its twenty alone at that penalty."""
    model = PerAction(inner=BayesianLogistic(n_features=1), actions=2)
    state = model.start(1, LOW, HIGH, 1000)
    for action, outcomes in ((0.0, np.arange(500) % 2.0), (1.0, np.zeros(20))):
        for y in outcomes:
            tell(model, state, np.array([[[action, 1.0]]]), np.array([[[y]]]), np.ones(1), ONE)
    assert state.fitted[0] < 501
    mean, *_ = ask(model, state, np.array([[[0.0, 1.0], [1.0, 1.0]]]), ONE)
    exact = maximum(np.ones((20, 1)), np.zeros(20), state.ridge[0])[0].item()
    assert mean[0, 0, 0] == pytest.approx(0.5, abs=0.01)
    assert 1.0 / (1.0 + math.exp(-exact)) - 0.02 < mean[0, 0, 1] < 0.15


def test_a_history_longer_than_its_first_room_is_kept():
    rng = np.random.default_rng(7)
    x, theta = rng.normal(size=(700, 1, 1, 2)), np.array([1.0, -2.0])
    y = (rng.random((700, 1, 1)) < odds(x, theta)).astype(float)[..., None]
    state = run(BayesianLogistic(n_features=2), x, y, np.ones((700, 1)), LOW, HIGH)
    assert state.past.x.shape[1] == 1024
    error = np.sqrt(np.diag(state.inverse[0]))
    assert (np.abs(state.theta[0] - theta) < 4.0 * error).all()
    assert (error < 0.25).all()


def test_levels_are_explored_as_if_each_were_alone():
    """Cases have one of three levels: of each, the bonus is that of a model of its cases alone at the same penalty."""
    model, one = (PerAction(inner=BayesianLogistic(n_features=n), actions=2) for n in (3, 1))
    many, alone = (z.start(1, LOW, HIGH, 1000) for z in (model, one))
    for t in range(120):
        action, level, y = float(t // 3 % 2), np.eye(3)[t % 3], np.array([[[t // 6 % 2.0]]])
        tell(model, many, np.append(action, level)[None, None], y, np.ones(1), ONE)
        if t % 3 == 0:
            tell(one, alone, np.array([[[action, 1.0]]]), y, np.ones(1), ONE)
    alone.inverse[:, 0, 0] = many.inverse[:, 0, 0]
    alone.theta[:, 0], alone.count[:], alone.rounds[:] = many.theta[:, 0], many.count, many.rounds
    alone.horizon[:] = 120 + 880 / 3  # as many cases to come of this level
    mean, bonus, *_ = ask(model, many, np.array([[[1.0, 1.0, 0.0, 0.0]]]), ONE)
    own, width, *_ = ask(one, alone, np.array([[[1.0, 1.0]]]), ONE)
    assert mean.item() == pytest.approx(own.item(), rel=1e-12)
    assert bonus.item() == pytest.approx(width.item(), rel=1e-9)
