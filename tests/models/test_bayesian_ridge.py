import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.models import BayesianLogistic, BayesianRidge, Bootstrapped, Stacked
from evenhand.policy.saving import flatten
from tests.calls import ask, tell
from tests.numerics.test_evidence import twin
from tests.rows import for_each


def history(rng, replicas, rounds, plays, n, m):
    """Features, some of them 0 altogether, and outcomes, some of them not seen."""
    x = rng.normal(size=(rounds, replicas, plays, n)) * (rng.random((rounds, replicas, plays, n)) < 0.7)
    y = 0.5 + 0.2 * x.sum(3, keepdims=True) + 0.2 * rng.normal(size=(rounds, replicas, plays, m))
    y[rng.random((rounds, replicas, plays)) < 0.2] = np.nan  # not observed at all
    y[rng.random(y.shape) < 0.05] = np.nan  # one outcome not observed
    return x, y, (rng.random((rounds, replicas)) < 0.8).astype(float)


def run(model, x, y, rounds, low, high, horizon=100):
    """The state after all rounds, `(T,R,P,n),(T,R,P,M),(T,R),(M),(M)`."""
    state = model.start(x.shape[1], low, high, horizon)
    for t in range(len(x)):
        tell(model, state, x[t], y[t], rounds[t], np.zeros((x.shape[1], 1, y.shape[3])))
    return state


def schedule(model, x, y, rounds, r, units):
    """What plain NumPy makes of one replica: its posterior and counts, with fits at the same rounds."""
    rho, fit_at, seen_rounds, past_x, past_y, posterior = 0.0, 0, 0, [], [], None
    for t in range(len(x)):
        seen = (rounds[t, r] > 0) & ~np.isnan(y[t, r]).any(1)
        seen_rounds += seen.any()
        learned = seen & x[t, r].any(1)
        past_x.extend(x[t, r][learned])
        past_y.extend(y[t, r][learned] / units)
        if learned.any() and len(past_x) >= model.growth * fit_at:
            posterior, fit_at = twin(np.array(past_x), np.array(past_y), rho), len(past_x)
            rho = posterior[0]
    return posterior, np.array(past_x), np.array(past_y), seen_rounds


sizes = {"replicas": st.integers(1, 3), "plays": st.integers(1, 3), "n": st.integers(1, 5), "m": st.integers(1, 3)}


@settings(max_examples=40)
@given(**sizes, growth=st.sampled_from([1.01, 1.3, 4.0]), seed=st.integers(0, 10_000))
def test_the_state_is_the_posterior_of_all_plays_at_the_penalty_of_the_last_fit(replicas, plays, n, m, growth, seed):
    rng = np.random.default_rng(seed)
    x, y, rounds = history(rng, replicas, 20, plays, n, m)
    model, low, high = BayesianRidge(n_features=n, n_outcomes=m, growth=growth), np.full(m, -3.0), np.full(m, 5.0)
    state = run(model, x, y, rounds, low, high)
    for r in range(replicas):
        posterior, past_x, past_y, seen_rounds = schedule(model, x, y, rounds, r, high - low)
        assert state.count[r] == len(past_x)
        assert state.rounds[r] == seen_rounds
        if posterior is None:
            assert state.ridge[r] == 0.0
            continue
        assert state.ridge[r] == pytest.approx(posterior[0], rel=1e-6)
        np.testing.assert_allclose(state.sigma[r], posterior[3], rtol=1e-6, atol=1e-10)
        v = past_x.T @ past_x + state.ridge[r] * np.eye(n)  # and between fits, at its own penalty, to rounding error
        inverse = np.linalg.inv(v)
        np.testing.assert_allclose(state.inverse[r], inverse, rtol=1e-8, atol=1e-10 * inverse.max())
        theta = np.linalg.solve(v, past_x.T @ past_y).T
        np.testing.assert_allclose(state.theta[r], theta, rtol=1e-8, atol=1e-9 * np.abs(theta).max())


@settings(max_examples=40)
@given(
    **sizes,
    k=st.integers(1, 3),
    each=st.booleans(),
    told=st.booleans(),
    t=st.integers(0, 12),
    seed=st.integers(0, 10_000),
)
def test_value_is_its_twin(replicas, plays, n, m, k, each, told, t, seed):
    rng = np.random.default_rng(seed)
    x, y, rounds = history(rng, replicas, t, plays, n, m)
    low = rng.uniform(-1.0, 0.0, m)
    high = low + rng.uniform(0.1, 4.0, m)
    model = BayesianRidge(n_features=n, n_outcomes=m, scale=0.6)
    state = run(model, x, y, rounds, low, high)
    query = rng.normal(size=(replicas, 4, n))
    query[:, 2] = 0.0
    w = rng.normal(size=(replicas, k, 4 if each else 1, m)).round(1)
    limit = rng.uniform(0.0, 30.0, (replicas, 4)) if told else np.full((replicas, 4), math.inf)
    state.affordable = limit if told else state.affordable
    mean, bonus, *_ = model.value(state, query, w, np.zeros((replicas, 0)))
    units = high - low
    for r in range(replicas):
        ahead = max(100 - state.rounds[r], 0) * (1 + state.count[r]) / (1 + state.rounds[r])
        for a in range(4):
            center = units * (state.theta[r] @ query[r, a])
            square = query[r, a] @ state.inverse[r] @ query[r, a] if state.count[r] else 1.0
            for j in range(k):
                p = w[r, j, a if each else 0]
                noise = math.sqrt((p * units) @ state.sigma[r] @ (p * units))
                half = 0.6 * noise * math.sqrt(square * math.log(1 + (min(ahead / n, limit[r, a]) * square) ** 2))
                far = (p * (np.where(p > 0, high, low) - center)).sum()
                assert mean[r, j, a] == pytest.approx(p @ center, rel=1e-9, abs=1e-12)
                assert bonus[r, j, a] == pytest.approx(min(half, far) if a != 2 else 0.0, rel=1e-9, abs=1e-12)


def played(model, x, y, w, factors=1.0, units=1.0, order=None, columns=None):
    """Means and bonuses of the last of 30 rounds, after features, outcomes, ranges and prices are restated."""
    order = np.arange(len(x)) if order is None else order
    columns = np.arange(x.shape[2]) if columns is None else columns
    own = np.ascontiguousarray(x[..., columns] * factors)
    m = y.shape[2]
    state = model.start(x.shape[1], np.zeros(m), np.ones(m) * units, 60)
    for t in order:
        model.update(state, own[t, :, None], y[t, :, None] * units, np.ones((x.shape[1], 1, m), bool), w)
    return model.value(state, own[-4:].swapaxes(0, 1).copy(), w / units, np.zeros((x.shape[1], 0)))


@pytest.mark.parametrize("factor", [1e-6, 1e6, 1e-60])
@pytest.mark.parametrize("units", [(1.0, 1.0), (1e-8, 1e8), (1e8, 3.0)])
def test_units_of_features_and_outcomes_do_not_matter(factor, units):
    rng = np.random.default_rng(1)
    model, x, y = BayesianRidge(n_features=3, n_outcomes=2), rng.normal(size=(30, 2, 3)), rng.random((30, 2, 2))
    w = rng.normal(size=(2, 2, 1, 2))
    plain, restated = played(model, x, y, w), played(model, x, y, w, factor, np.array(units))
    np.testing.assert_allclose(restated.mean, plain.mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(restated.bonus, plain.bonus, rtol=1e-9, atol=1e-11)


def test_orders_of_features_and_within_fits_of_outcomes_do_not_matter():
    """The last four observations come after the last fit, which begins at the penalty of the fit before."""
    rng = np.random.default_rng(2)
    model, x, y = BayesianRidge(n_features=4, n_outcomes=2), rng.normal(size=(30, 2, 4)), rng.random((30, 2, 2))
    w = rng.normal(size=(2, 2, 1, 2))
    plain = played(model, x, y, w)
    order = np.concatenate([np.arange(28), [29, 28]])
    for other in (played(model, x, y, w, columns=[2, 0, 3, 1]), played(model, x, y, w, order=order)):
        np.testing.assert_allclose(other.mean, plain.mean, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(other.bonus, plain.bonus, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("kind", "end"), [(BayesianRidge, 9.0), (BayesianLogistic, 0.0)])
def test_a_bonus_shrinks_to_0_as_the_horizon_ends_and_scale_0_is_greedy(kind, end):
    """At one posterior, because only the number of rounds to come moves; and at the horizon and past it, it is 0."""
    rng = np.random.default_rng(3)
    x, y, bonuses = rng.normal(size=(20, 1, 1, 3)), (rng.random((20, 1, 1, 1)) < 0.5).astype(float), []
    low, high, near, one = np.full(1, -end), np.full(1, end or 1.0), 0.2 * np.ones((1, 1, 3)), np.ones((1, 1, 1))
    for horizon in (10, 20, 21, 25, 100, 10**9):
        state = run(kind(n_features=3), x, y, np.ones((20, 1)), low, high, horizon)
        bonuses.append(ask(kind(n_features=3), state, near, one)[1].item())
    assert bonuses[:2] == [0.0, 0.0]
    assert (np.diff(bonuses[1:]) > 0.0).all()
    greedy = kind(n_features=3, scale=0.0)
    for t in (0, 20):
        state = run(greedy, x[:t], y[:t], np.ones((t, 1)), low, high)
        np.testing.assert_array_equal(ask(greedy, state, x[:, 0, 0][None], one)[1], np.zeros((1, 1, 20)))


@pytest.mark.parametrize(("kind", "middle"), [(BayesianRidge, 0.0), (BayesianLogistic, 0.5)])
def test_rounds_that_show_nothing_do_not_end_exploration(kind, middle):
    """Nothing is learned from doing nothing, so what was not tried is still worth trying."""
    model, one = kind(n_features=2), np.ones((1, 1, 1))
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    for _ in range(10):
        tell(model, state, np.zeros((1, 1, 2)), np.ceil(middle) * one, np.ones(1), one)
    mean, bonus = ask(model, state, np.array([[[0.0, 0.0], [1.0, 0.0]]]), one)
    np.testing.assert_array_equal(mean, [[[0.0, middle]]])
    assert bonus[0, 0, 0] == 0.0
    assert bonus[0, 0, 1] > 0.1


def test_a_candidate_without_features_has_no_bonus_in_any_range():
    model = BayesianRidge(n_features=2)
    state = model.start(1, np.full(1, 0.2), np.ones(1), 100)
    mean, bonus = ask(model, state, np.zeros((1, 1, 2)), np.array([[[1.0], [-1.0]]]))
    np.testing.assert_array_equal((mean, bonus), np.zeros((2, 1, 2, 1)))


def test_a_bonus_is_at_most_what_the_range_allows_also_after_predictions_beyond_it():
    model = BayesianRidge(n_features=1)
    state = model.start(1, np.zeros(1), np.ones(1), 1000)
    for _ in range(20):
        tell(model, state, np.ones((1, 1, 1)), np.full((1, 1, 1), 0.9), np.ones(1), np.ones((1, 1, 1)))
    mean, bonus = ask(model, state, np.array([[[1.0], [50.0], [-50.0], [1e90]]]), np.ones((1, 1, 1)))
    assert (mean + bonus <= 1.0 + 1e-9 * np.abs(mean)).all()
    mean, bonus = ask(model, state, np.array([[[1.0], [50.0], [-50.0], [1e90]]]), -np.ones((1, 1, 1)))
    assert (mean + bonus <= 1e-9 * np.abs(mean)).all()


def finite(model, x, y, low, high):
    """Run one replica on `(T,n),(T)`; the state and all answers must be finite. Returns the last state."""
    m, nothing = model.n_outcomes, np.zeros((1, 0))
    state = model.start(1, np.full(m, low), np.full(m, high), 500)
    for t in range(len(x)):
        own = np.ascontiguousarray(x[None, t : t + 1])
        model.update(state, own, np.full((1, 1, m), y[t]), np.ones((1, 1, m), bool), np.ones((1, 1, 1, m)))
        for query in (own, 1e3 * own / max(np.abs(own).max() / 1e90, 1.0)):
            worth = model.value(state, query, np.array([1.0, -1.0])[None, :, None, None] * np.ones(m), nothing)
            assert np.isfinite(worth.mean).all()
            assert np.isfinite(worth.bonus).all()
        assert all(np.isfinite(z).all() for path, z in flatten(state) if path != ".ends")
    return state


SIZES = [1e-200, 1e-170, 1e-150, 1e-99, 1e-6, 1.0, 1e6, 1e100]


@for_each("n", [1, 3])
@for_each("size", [*SIZES, "mixed", "mixed columns", "zero"])
@pytest.mark.parametrize("kind", ["independent", "equal", "duplicated rows"])
def test_features_of_any_size_keep_everything_finite(n, size, kind):
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.0, 1.0, size=(40, n))
    if kind == "equal":
        x[:] = x[:, :1]
    if kind == "duplicated rows":
        x[:] = x[0]
    exponents = {"mixed": rng.integers(-100, 101, (40, 1)), "mixed columns": rng.integers(-100, 101, n)}
    x *= 10.0 ** exponents[size] if size in exponents else 0.0 if size == "zero" else size
    finite(BayesianRidge(n_features=n), x, (rng.random(40) < 0.5).astype(float), 0.0, 1.0)


@for_each("size", [1e-100, 1e-8, 1e8, 1e100])
@for_each("kind", ["noise", "exact", "equal", "zero"])
def test_outcomes_of_any_size_without_a_range_keep_everything_finite(size, kind):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(60, 3))
    y = {"noise": rng.normal(size=60), "exact": x[:, 0], "equal": np.ones(60), "zero": np.zeros(60)}[kind] * size
    for scale in (1.0, 1e100 / np.abs(x).max()):
        state = finite(BayesianRidge(n_features=3, n_outcomes=2), x * scale, y, -math.inf, math.inf)
    if kind == "exact":
        np.testing.assert_allclose(state.theta[0] @ (x * scale).T, [y, y], atol=0.1 * size)


def test_outcomes_without_noise_are_learned_exactly_in_the_end():
    """The estimated noise is what one observation was believed to have, shared among all."""
    x = np.random.default_rng(7).normal(size=(2000, 1, 1, 2))
    state = run(BayesianRidge(n_features=2), x, 0.5 * x[..., :1], np.ones((2000, 1)), np.full(1, -9.0), np.full(1, 9.0))
    np.testing.assert_allclose(18.0 * state.theta[0, 0], [0.5, 0.0], atol=1e-5)
    assert state.sigma[0, 0, 0] == pytest.approx(0.0625 / (state.fitted[0] - 1), rel=1e-2)


def test_a_replica_that_stops_stays_as_it_is():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(40, 2, 2, 3)), rng.random((40, 2, 2, 1))
    rounds = np.ones((40, 2))
    rounds[10:, 0] = 0.0
    model = BayesianRidge(n_features=3)
    both = run(model, x, y, rounds, np.zeros(1), np.ones(1))
    short = run(model, x[:10], y[:10], rounds[:10], np.zeros(1), np.ones(1))
    for name in ("theta", "inverse", "sigma", "ridge", "count", "rounds", "fitted", "gram"):
        np.testing.assert_array_equal(getattr(both, name)[0], getattr(short, name)[0])
        assert (getattr(both, name)[1] != getattr(short, name)[1]).any()


def test_stacked_parts_learn_as_alone_and_each_from_its_own_outcomes():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(30, 1, 1, 3)), rng.random((30, 1, 1, 2))
    y[::3, ..., 1] = np.nan
    part = BayesianRidge(n_features=3)
    both = run(Stacked((part, part)), x, y, np.ones((30, 1)), np.zeros(2), np.ones(2))
    for i, own in enumerate(both.parts):
        alone = run(part, x, y[..., i : i + 1], np.ones((30, 1)), np.zeros(1), np.ones(1))
        np.testing.assert_array_equal(own.theta, alone.theta)
    assert [own.count.item() for own in both.parts] == [30.0, 20.0]


def test_bootstrapped_copies_learn_the_truth():
    rng = np.random.default_rng(10)
    model = Bootstrapped(inner=BayesianRidge(n_features=2), members=5)
    x = rng.normal(size=(400, 1, 1, 2))
    y = x @ np.array([[0.3], [-0.2]]) + 0.05 * rng.normal(size=(400, 1, 1, 1))
    state = run(model, x, y, np.ones((400, 1)), np.full(1, -2.0), np.full(1, 2.0))
    mean, _ = ask(model, state, np.eye(2)[None], np.ones((1, 1, 1)))
    np.testing.assert_allclose(mean[0, 0], [0.3, -0.2], atol=4 * 0.05 / 20)
