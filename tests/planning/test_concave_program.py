"""The concave program against cvxpy, which sees all contexts and candidates at once."""

import cvxpy as cp
import numpy as np
import pytest

import evenhand.planning.mixing as module
from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.objectives import AlphaFair, EqualExposure, GeneralizedGini, Linear, WeightedSum
from evenhand.planning.mixing import Truth, maximize
from tests.objectives.twins import expression
from tests.rows import for_each

NAMES = ("a", "b", "c")
LEVEL = Linear(dict.fromkeys(NAMES, 0.2))
OBJECTIVES = [
    LEVEL,
    GeneralizedGini(NAMES),
    GeneralizedGini(NAMES, (1.0, 0.0, 0.0)),
    AlphaFair(NAMES, alpha=1.0),
    AlphaFair(NAMES, alpha=2.0, offset=0.05),
    WeightedSum(((1.0, LEVEL), (0.5, EqualExposure(NAMES)))),
    EqualExposure(NAMES),  # flat at the start
]


def sample(seed, rows=2):
    rng = np.random.default_rng(seed)
    costs, offered = rng.uniform(-0.2, 1, (30, 4, rows)), np.ones((30, 4))
    costs[:, 0], offered[::3, 3] = 0.0, 0.0
    return Truth(rng.random((30, 4, 3)) * (rng.random(3) + 0.1), costs, offered)


def direct(objective, truth, limit):
    pi, count = cp.Variable(truth.offered.shape, nonneg=True), len(truth.offered)
    z = cp.hstack([cp.sum(cp.multiply(pi, truth.outcomes[:, :, i])) / count for i in range(3)])
    uses = [cp.sum(cp.multiply(pi, truth.rows[:, :, j])) / count for j in range(len(limit))]
    within = [cp.sum(pi, 1) == 1, pi <= truth.offered, *(u <= b for u, b in zip(uses, limit, strict=True))]
    problem = cp.Problem(cp.Maximize(expression(objective, z)), within)
    problem.solve(solver="CLARABEL")
    return problem.value, np.array([c.dual_value for c in within[2:]]), z.value


@for_each("seed", range(3))
@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda f: type(f).__name__)
def test_it_agrees_with_cvxpy_and_knows_how_far_off_it_is(objective, seed):
    """Values to twice the tolerance of 1e-6 (1 + |f*|); prices to 1e-3, as they are slopes of that."""
    truth, limit = sample(seed), np.array([0.2, 0.3])
    found = maximize(objective, truth, limit, np.full(3, 0.5))
    value, prices, end = direct(objective, truth, limit)
    within = 2e-6 * (1 + abs(value))
    assert found.value == pytest.approx(value, abs=within)
    assert found.value <= value + 1e-7 * (1 + abs(value))
    assert 0 <= found.gap <= within
    assert found.value == pytest.approx(objective.value(found.end))
    if not isinstance(objective, AlphaFair):  # flat where it is curved, so that ends and prices are known less well
        assert found.prices == pytest.approx(prices, abs=1e-3)
    assert objective.value(end) == pytest.approx(found.value, abs=1e-5)


@for_each("unit", [1e-9, 1e-6, 1e-5, 1e-4, 1e6])
@pytest.mark.parametrize("objective", [f for f in OBJECTIVES if not isinstance(f, AlphaFair)], ids=repr)
def test_units_of_outcomes_and_rows_change_no_digit_that_counts(objective, unit):
    """Functions of degree 1; rows in the inverse unit. The solver's tolerances, and those of the gap, are absolute."""
    truth, limit = sample(1), np.array([0.2, 0.3])
    plain = maximize(objective, truth, limit, np.full(3, 0.5))
    scaled = truth._replace(outcomes=unit * truth.outcomes, rows=truth.rows / unit)
    found = maximize(objective, scaled, limit / unit, np.full(3, 0.5 * unit))
    assert found.value / unit == pytest.approx(plain.value, abs=2e-6)
    assert found.gap / unit <= 2e-6
    if not isinstance(objective, EqualExposure):
        assert found.prices / unit**2 == pytest.approx(plain.prices, abs=1e-3)


def test_without_rows_it_is_the_best_mixture_of_policies():
    truth = sample(4, rows=0)
    found = maximize(GeneralizedGini(NAMES), truth, np.zeros(0), np.zeros(3))
    assert found.value == pytest.approx(direct(GeneralizedGini(NAMES), truth, np.zeros(0))[0], abs=1e-5)
    one = Truth(truth.outcomes[:1, :1], truth.rows[:1, :1], truth.offered[:1, :1])
    alone = maximize(GeneralizedGini(NAMES), one, np.zeros(0), np.zeros(3))
    assert alone.end == pytest.approx(one.outcomes[0, 0])


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_an_edge_where_the_goal_is_minus_infinity_is_left(alpha):
    """Two candidates that serve one outcome each: by symmetry half of each is best."""
    truth = Truth(np.eye(2)[None], np.zeros((1, 2, 0)), np.ones((1, 2)))
    found = maximize(AlphaFair(("a", "b"), alpha=alpha), truth, np.zeros(0), np.full(2, 0.5))
    assert found.end == pytest.approx([0.5, 0.5], abs=2e-3)
    assert found.value == pytest.approx(2 * np.log(0.5) if alpha == 1.0 else -4.0, abs=1e-5)
    assert found.gap <= 1e-5


def test_what_cannot_be_is_named(monkeypatch):
    truth = sample(5)
    costly = truth._replace(rows=np.ones_like(truth.rows))
    with pytest.raises(InfeasibleProblem, match="30 sampled contexts"):
        maximize(GeneralizedGini(NAMES), costly, np.array([0.2, 2.0]), np.zeros(3))
    with pytest.raises(InvalidInput, match="offset"):
        maximize(AlphaFair(NAMES, alpha=1.0), truth, np.ones(2), np.zeros(3))
    monkeypatch.setattr(module, "ROUNDS", 5)
    with pytest.raises(InvalidInput, match="5 tangents"):
        maximize(AlphaFair(NAMES, alpha=1.0), truth, np.array([0.2, 0.3]), np.ones(3), tolerance=-1.0)
