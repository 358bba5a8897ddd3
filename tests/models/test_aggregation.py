import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.models import Aggregation, Cover, Experts
from evenhand.models.aggregation import cell_of
from tests.calls import ask, tell


def by_hand(losses, opinions, low, high):
    """Vovk's substitution from every expert's loss so far and its opinion now, `(J),(J),(),()->()`."""
    rate = 2 / (high - low) ** 2

    def g(y):
        z = -rate * (losses + (y - opinions) ** 2)
        return -(z.max() + np.log(np.exp(z - z.max()).sum())) / rate

    return (low + high) / 2 - (g(high) - g(low)) / (2 * (high - low))


def history(rng, n, m, low, high, rounds=25):
    x = rng.normal(size=(rounds, 2, 1, n))
    y = rng.uniform(low, high, size=(rounds, 2, 1, m))
    y[rng.random((rounds, 2, 1)) < 0.2] = np.nan
    return x, y, (rng.random((rounds, 2)) < 0.8).astype(float)


def watch(model, x, y, rounds, low, high):
    """Predictions of every outcome before each round, (T, R, M)."""
    state = model.start(2, low, high, 100)
    prices = np.tile(np.eye(model.n_outcomes), (2, 1, 1))
    for t in range(len(x)):
        yield ask(model, state, x[t], prices)[0][:, :, 0]
        tell(model, state, x[t], y[t], rounds[t], prices)


@given(n=st.integers(1, 4), m=st.integers(1, 3), count=st.integers(1, 6), seed=st.integers(0, 10_000))
def test_linear_experts_are_their_twin(n, m, count, seed):
    rng = np.random.default_rng(seed)
    low = rng.uniform(-2, 0, m)
    high = low + rng.uniform(0.5, 3, m)
    matrix = rng.normal(size=(count, n))
    x, y, rounds = history(rng, n, m, low, high)
    losses = np.zeros((2, m, count))
    for t, got in enumerate(watch(Aggregation(experts=Experts(matrix), n_outcomes=m), x, y, rounds, low, high)):
        for r, k in itertools.product(range(2), range(m)):
            opinions = np.clip(matrix @ x[t, r, 0], low[k], high[k])
            assert got[r, k] == pytest.approx(by_hand(losses[r, k], opinions, low[k], high[k]), abs=1e-9)
            assert low[k] <= got[r, k] <= high[k]
            if rounds[t, r] and not np.isnan(y[t, r, 0, k]):
                losses[r, k] += (y[t, r, 0, k] - opinions) ** 2


@given(seed=st.integers(0, 10_000))
def test_a_cover_is_the_aggregation_of_all_its_functions_one_by_one(seed):
    """3^4 functions on 2 x 2 cells: 81 experts by brute force, against 3 weights in each of 4 cells."""
    rng = np.random.default_rng(seed)
    low, high = np.array([-1.0]), np.array([2.0])
    x, y, rounds = history(rng, 2, 1, low, high)
    x = 0.5 + 0.4 * x  # some of them outside of the unit square
    functions = np.array(list(itertools.product([-0.5, 0.5, 1.5], repeat=4)))
    losses = np.zeros((2, len(functions)))
    for t, got in enumerate(watch(Aggregation(experts=Cover(cuts=(2, 2), levels=3)), x, y, rounds, low, high)):
        for r in range(2):
            cell = 2 * int(x[t, r, 0, 0] >= 0.5) + int(x[t, r, 0, 1] >= 0.5)
            assert got[r, 0] == pytest.approx(by_hand(losses[r], functions[:, cell], -1.0, 2.0), abs=1e-9)
            if rounds[t, r] and not np.isnan(y[t, r, 0, 0]):
                losses[r] += (y[t, r, 0, 0] - functions[:, cell]) ** 2


@pytest.mark.parametrize("sequence", ["random", "drifting", "against"])
@pytest.mark.parametrize("count", [2, 20])
def test_the_loss_is_that_of_the_best_expert_plus_a_constant_for_every_sequence(sequence, count):
    """Theorem: (high - low)^2 ln(J) / 2, without any allowance but rounding; "against" is as far off as it can be."""
    rng = np.random.default_rng(7)
    low, high = -1.0, 2.0
    experts = rng.normal(size=(count, 3))
    model = Aggregation(experts=Experts(experts))
    state, one = model.start(1, np.array([low]), np.array([high]), 100), np.ones((1, 1, 1))
    ours, theirs = 0.0, np.zeros(count)
    for t in range(1500):
        x = rng.normal(size=3)
        guess = ask(model, state, x[None, None], one)[0].item()
        y = {
            "random": rng.uniform(low, high),
            "drifting": 0.5 + 1.5 * math.sin(t / 100),
            "against": high if guess < 0.5 else low,
        }[sequence]
        ours += (guess - y) ** 2
        theirs += (np.clip(experts @ x, low, high) - y) ** 2
        tell(model, state, x[None, None], np.full((1, 1, 1), y), np.ones(1), one)
        assert ours <= theirs.min() + 9.0 * math.log(count) / 2 + 1e-9 * (t + 1)


def test_the_same_bound_holds_for_a_cover_with_the_number_of_its_functions():
    rng = np.random.default_rng(8)
    model = Aggregation(experts=Cover(cuts=(4,), levels=5))
    state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    ours, theirs = 0.0, np.zeros((4, 5))
    for _ in range(1500):
        x = rng.random()
        guess = ask(model, state, np.full((1, 1, 1), x), one)[0].item()
        y = 1.0 if guess < 0.5 else 0.0
        ours += (guess - y) ** 2
        theirs[int(4 * x)] += (np.arange(0.1, 1.0, 0.2) - y) ** 2
        tell(model, state, np.full((1, 1, 1), x), np.full((1, 1, 1), y), np.ones(1), one)
    assert ours <= theirs.min(1).sum() + 4 * math.log(5) / 2 + 1e-6


@pytest.mark.parametrize("smoothness", [1.0, 0.5])
def test_the_regret_on_a_smooth_function_grows_like_the_rate_of_its_class(smoothness):
    """n = 1: T^(1 / (1 + 2p)) up to a logarithm, with a cover for each T, for f(x) = x^p and outcomes of 0 and 1.

    The theorem's bound holds for each T: cells ln(levels) / 2, and T times the square of the cover's distance. The
    exponent is held against that of cells ln(T / cells), a parameter's regret in each cell, which is the rate with its
    logarithm, fitted over the same T. Allowed: five standard errors over 8 groups of 10 runs.
    """
    horizons, totals, rate = 2 ** np.arange(8, 14), [], []
    rng = np.random.default_rng(9)
    for horizon in horizons.tolist():
        cover = Cover.hoelder(n_features=1, horizon=horizon, smoothness=smoothness)
        model, cells = Aggregation(experts=cover), cover.cuts[0]
        state, one, total = model.start(80, np.zeros(1), np.ones(1), 100), np.ones((80, 1, 1)), np.zeros(80)
        for _ in range(horizon):
            x = rng.random((80, 1, 1))
            total += (ask(model, state, x, one)[0] - x**smoothness)[:, 0, 0] ** 2
            tell(model, state, x, (rng.random(x.shape) < x**smoothness).astype(float), np.ones(80), one)
        within = (0.5 / cells) ** smoothness + 0.5 / cover.levels
        assert total.mean() <= cells * math.log(cover.levels) / 2 + horizon * within**2
        totals.append(total.reshape(8, 10).mean(1))
        rate.append(cells * math.log(horizon / cells))
    z = np.log(horizons) - np.log(horizons).mean()
    slopes = z @ np.log(totals) / (z @ z)
    error = slopes.std(ddof=1) / math.sqrt(8)
    assert error < 0.02
    assert slopes.mean() <= z @ np.log(rate) / (z @ z) + 5 * error


def test_outcomes_have_weights_of_their_own():
    model = Aggregation(experts=Experts(np.array([[0.0], [1.0]])), n_outcomes=2)
    state, one = model.start(1, np.zeros(2), np.ones(2), 100), np.ones((1, 1, 1))
    for _ in range(20):
        tell(model, state, one, np.array([[[0.0, 1.0]]]), np.ones(1), np.ones((1, 1, 2)))
    np.testing.assert_allclose(ask(model, state, one, np.eye(2)[None])[0][0, :, 0], [0.0, 1.0], atol=1e-9)


def test_every_arm_of_a_cover_has_a_function_of_its_own():
    experts = Cover.hoelder(n_features=1, horizon=1000, arms=4)
    assert experts.cuts == (4, 7)  # (1000 / 4)^(1/3) = 6.3
    model = Aggregation(experts=experts)
    state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    x = np.array([[[(a + 0.5) / 4, 0.3] for a in range(4)]])
    for _ in range(200):
        tell(model, state, x[:, [2]], one, np.ones(1), one)
    mean = ask(model, state, x, one)[0][0, 0]
    np.testing.assert_allclose(mean[[0, 1, 3]], 0.5)
    assert mean[2] == pytest.approx(1 - 0.5 / experts.levels, abs=0.01)  # the uppermost level


def test_cells_are_half_open_and_what_lies_outside_counts_as_the_ends():
    cuts = np.array([2, 3])
    points = {(0.0, 0.0): 0, (0.49, 0.34): 1, (0.5, 0.99): 5, (1.0, 1.0): 5, (-9.0, 0.5): 1, (9.0, -1e300): 3}
    for point, cell in points.items():
        assert cell_of(cuts, np.array(point)) == cell


@pytest.mark.parametrize(
    ("smoothness", "constant", "n"), [(1.0, 1.0, 1), (1.0, 2.0, 2), (0.5, 1.0, 1), (0.3, 0.5, 3)], ids=str
)
def test_a_cover_comes_as_near_to_its_class_as_it_says(smoothness, constant, n):
    """f = C |x - z|^p / 2 for random z, against the nearest level in every cell's middle."""
    cover = Cover.hoelder(n_features=n, horizon=500, smoothness=smoothness, constant=constant)
    rng, count = np.random.default_rng(2), cover.cuts[0]
    levels = cover.levels_in(np.zeros(1), np.ones(1))[0]
    within = constant * (math.sqrt(n) / (2 * count)) ** smoothness + 1 / (2 * cover.levels)
    for _ in range(20):
        z, x = rng.random(n), rng.random((200, n))

        def f(x, z=z):
            return np.minimum(1.0, constant * np.linalg.norm(x - z, axis=1) ** smoothness)

        middle = (np.floor(x * count) + 0.5) / count
        nearest = levels[np.abs(f(middle)[:, None] - levels).argmin(1)]
        assert np.abs(nearest - f(x)).max() <= within + 1e-12
