"""B1: cutting planes against a conic solver, against enumeration, and where nothing is feasible."""

import itertools

import cvxpy as cp
import numpy as np
import pytest

from evenhand.choices import LinearProgram, OptimisticProgram
from evenhand.choices.optimistic_program import Intervals, optimistic_lottery
from evenhand.core.errors import InvalidInput
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear
from tests.choices import plain
from tests.rows import for_each

NAMES = ("a", "b", "c")


class Ball:
    """Points within a distance, known to plans by their projection only."""

    def __init__(self, center, radius):
        self.center, self.radius, self.dim = np.array(center, float), radius, len(center)

    def project(self, z):
        off = z - self.center
        far = np.linalg.norm(off, axis=-1, keepdims=True)
        return self.center + off * np.minimum(1.0, self.radius / np.maximum(far, 1e-300))

    def halfspaces(self):
        return None


class Planes:
    def __init__(self, a, b):
        self.a, self.b, self.dim = np.array(a, float), np.array(b, float), np.shape(a)[1]

    def halfspaces(self):
        return self.a, self.b

    def project(self, z):
        raise AssertionError("half-spaces are all there is to know")


def instance(seed, m, budgets, d, replicas=1):
    """Intervals and bounds of a random instance with 2 to 8 arms."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(2, 9)
    low, under = 0.7 * rng.random((replicas, m, arms)), 0.7 * rng.random((replicas, d, arms))
    high, over = (z + 0.3 * rng.random(z.shape) for z in (low, under))
    known = Intervals((low, high), rng.random((replicas, budgets, arms)), (under, over))
    return rng, known, 0.3 + 0.6 * rng.random(budgets), np.ones((replicas, arms), bool)


def of_each(known, change):
    return Intervals(*(tuple(map(change, z)) if isinstance(z, tuple) else change(z) for z in known))


def planned(f, known, bound, regions, allowed, tolerance=1e-7):
    m, d = known.wanted[0].shape[1], known.placed[0].shape[1]
    warm = np.full((len(allowed), m), 0.5), np.zeros((len(allowed), d))
    return optimistic_lottery(f, np.full(m, 0.5), known, bound, regions, allowed, warm, tolerance)


def objectives(rng, m):
    weights = np.sort(rng.random(m))[::-1]
    gini = GeneralizedGini(NAMES[:m], tuple(weights / weights[0]))
    steps = np.append(gini.weights[:-1] - np.array(gini.weights[1:]), gini.weights[-1])
    linear = Linear(dict(zip(NAMES, rng.normal(size=m), strict=False)))
    return [
        (gini, lambda u: sum(w * cp.sum_smallest(u, k + 1) for k, w in enumerate(steps))),
        (AlphaFair(NAMES[:m], alpha=1.0), lambda u: cp.sum(cp.log(u))),
        (linear, lambda u: np.array(list(linear.weights.values())) @ u),
    ]


@for_each("seed", range(40))
def test_it_is_the_program_that_a_conic_solver_solves(seed):
    m, budgets, d = 1 + seed % 3, seed % 4, (0, 2, 3)[seed % 3]
    rng, known, bound, allowed = instance(seed, m, budgets, d)
    ball = Ball(rng.random(d), 0.2 + 0.4 * rng.random()) if d else None
    for f, written in objectives(rng, m):
        plan = planned(f, known, bound, (ball,) if d else (), allowed)
        p, u, v = plan.lottery[0], plan.wanted[0], plan.placed[0]
        low, high, under, over = (z[0] for z in (*known.wanted, *known.placed))
        q, x = cp.Variable(allowed.shape[1], nonneg=True), cp.Variable(m)
        limits = [cp.sum(q) == 1, low @ q <= x, x <= high @ q]
        if budgets:
            limits.append(known.use[0] @ q <= bound)
        if d:
            y = cp.Variable(d)
            limits += [under @ q <= y, y <= over @ q, cp.norm(y - ball.center) <= ball.radius]
        best = cp.Problem(cp.Maximize(written(x)), limits)
        best.solve(solver=cp.CLARABEL)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        assert (low @ p <= u + 1e-9).all()
        assert (u <= high @ p + 1e-9).all()
        assert (under @ p <= v + 1e-9).all()
        assert (v <= over @ p + 1e-9).all()
        if best.status != "optimal":
            continue
        assert float(f.value(u)) == pytest.approx(best.value, abs=2e-5)
        assert (known.use[0] @ p <= bound + 1e-8).all()
        if d:
            assert np.linalg.norm(v - ball.center) <= ball.radius + 1e-6


@for_each("seed", range(10))
def test_no_lottery_on_a_grid_is_better(seed):
    """Three arms, all lotteries in steps of 1/40, all corners of what is hoped for: a linear f is largest on one."""
    rng, known, bound, _ = instance(seed, 2, 2, 2)
    known = of_each(known, lambda z: z[..., :3].copy())
    if known.use.shape[2] < 3:
        pytest.skip("fewer arms")
    f, planes = Linear({"a": rng.normal(), "b": rng.normal()}), Planes(rng.normal(size=(2, 2)), rng.random(2))
    plan = planned(f, known, bound, (planes,), np.ones((1, 3), bool))
    best, found = -np.inf, False
    for i, j in itertools.product(range(41), range(41)):
        if i + j > 40:
            continue
        p = np.array([i, j, 40 - i - j]) / 40.0
        low, high, under, over = (z[0] @ p for z in (*known.wanted, *known.placed))
        reach = sum(np.minimum(planes.a[:, k] * under[k], planes.a[:, k] * over[k]) for k in range(2))
        one_v = [(a, b) for a in np.linspace(under[0], over[0], 9) for b in np.linspace(under[1], over[1], 9)]
        inside = (reach <= planes.b).all() and any((planes.a @ v <= planes.b).all() for v in one_v)
        if inside and (known.use[0] @ p <= bound).all():
            found = True
            corners = itertools.product(*zip(low, high, strict=True))
            best = max(best, *(float(f.value(np.array(u))) for u in corners))
    if found:
        assert float(f.value(plan.wanted[0])) >= best - 1e-6
        assert (known.use[0] @ plan.lottery[0] <= bound + 1e-8).all()
        assert (planes.a @ plan.placed[0] <= planes.b + 1e-8).all()


@for_each("seed", range(12))
def test_where_nothing_is_feasible_the_largest_excess_is_as_small_as_can_be(seed):
    """Each budget as a part of the largest number in its row, the distance as one of the largest outcome."""
    _, known, _, allowed = instance(seed, 1, 2, 2)
    ball, bound = Ball((2.0, 2.0), 0.1), np.full(2, 0.1)
    plan = planned(Linear({"a": 1.0}), known, bound, (ball,), allowed)
    q, y, e = cp.Variable(allowed.shape[1], nonneg=True), cp.Variable(2), cp.Variable()
    under, over = (z[0] for z in known.placed)
    largest, size = over.max(), known.use[0].max(1)
    limits = [cp.sum(q) == 1, under @ q <= y, y <= over @ q, cp.norm(y - ball.center) <= 0.1 + largest * e]
    cp.Problem(cp.Minimize(e), [*limits, known.use[0] @ q <= bound + cp.multiply(size, e)]).solve(solver=cp.CLARABEL)
    far = (np.linalg.norm(plan.placed[0] - ball.center) - 0.1) / largest
    over_budget = ((known.use[0] @ plan.lottery[0] - bound) / size).max()
    assert max(far, over_budget) == pytest.approx(float(e.value), abs=1e-4)


@for_each("unit", [2.0**-30, 2.0**30])
@for_each("seed", range(20))
def test_units_of_budgets_and_sets_do_not_matter(seed, unit):
    """Also where nothing is feasible, as in about a third of these."""
    rng, known, bound, allowed = instance(seed, 1, 2, 4, replicas=4)
    rows, height, c, radius = rng.normal(size=(3, 2)), 0.5 * rng.normal(size=3), rng.random(2), 0.02
    each, apart = np.array([1.0, 1.0, unit, 1.0 / unit]), np.array([1.0, unit])

    def regions(one, several):
        return Ball(one * c, one * radius), Planes(rows / several, height)

    f = Linear({"a": 1.0})
    plan = planned(f, known, bound, regions(1.0, np.ones(2)), allowed)
    for placed, sets in (
        (unit * np.ones(4), regions(unit, unit * np.ones(2))),
        (each, (regions(1.0, 1.0)[0], regions(1.0, each[2:])[1])),
    ):
        ends = tuple(placed[:, None] * z for z in known.placed)
        stated = known._replace(use=apart[:, None] * known.use, placed=ends)
        other = planned(f, stated, apart * bound, sets, allowed)
        np.testing.assert_allclose(other.lottery, plan.lottery, atol=1e-6)
        np.testing.assert_allclose(other.placed / placed, plan.placed, atol=1e-6)


def test_rows_of_zeros_say_nothing():
    _, known, bound, allowed = instance(1, 1, 1, 2)
    rows, height = np.array([[1.0, 0.5]]), np.array([0.6])
    more = Planes(np.concatenate([np.zeros((1, 2)), rows]), np.append(0.5, height))
    one, two = (planned(Linear({"a": 1.0}), known, bound, (s,), allowed) for s in (Planes(rows, height), more))
    np.testing.assert_array_equal(one.lottery, two.lottery)


def test_a_replica_of_a_batch_is_solved_as_it_is_alone_and_stops_when_it_is_done():
    rng, known, bound, allowed = instance(3, 3, 2, 2, replicas=20)
    f, ball = GeneralizedGini(NAMES), Ball((0.5, 0.5), 0.1)
    allowed = allowed & (rng.random(allowed.shape) < 0.9) | (np.arange(allowed.shape[1]) == 0)
    plan = planned(f, known, bound, (ball,), allowed, 1e-4)
    for r in range(20):
        one = slice(r, r + 1)
        alone = planned(f, of_each(known, lambda z, one=one: z[one]), bound, (ball,), allowed[one], 1e-4)
        for whole, part in zip(plan, alone, strict=True):
            np.testing.assert_array_equal(whole[one], part)


def test_the_order_of_arms_does_not_matter_and_those_that_are_alike_share():
    _, known, bound, allowed = instance(8, 2, 1, 0)
    twice = Intervals(
        *(tuple(np.repeat(e, 2, 2) for e in z) if isinstance(z, tuple) else np.repeat(z, 2, 2) for z in known)
    )
    f = AlphaFair(NAMES[:2], alpha=1.0)
    once, both = (planned(f, k, bound, (), np.repeat(allowed, n, 1)).lottery[0] for k, n in ((known, 1), (twice, 2)))
    np.testing.assert_array_equal(both[::2], both[1::2])
    np.testing.assert_allclose(both[::2] + both[1::2], once, atol=1e-4)


class TestChoice:
    GINI = GeneralizedGini(("a", "b"), (1.0, 0.0))

    def readings(self, seed=0, candidates=4):
        rng = np.random.default_rng(seed)
        low = 0.7 * rng.random((3, 2, candidates))
        return plain.worth(np.concatenate([low + 0.2, -low], 1))

    def test_a_lottery_serves_as_many_rounds_as_asked_for(self):
        choice = OptimisticProgram(objective=self.GINI, start_at=(0.5, 0.5), candidates=4, every=3)
        state, offer = choice.start(3), plain.offer(np.ones((3, 4), bool))
        first = plain.pick(choice, self.readings(0), offer, state=state)
        state.lottery[:] = first.carried[:, :4]
        again = plain.pick(choice, self.readings(1), offer, t=2.0, state=state)
        np.testing.assert_array_equal(again.lottery, first.lottery)
        later = plain.pick(choice, self.readings(1), offer, t=3.0, state=state)
        assert (np.abs(later.lottery - first.lottery).max(1) > 1e-3).all()

    def test_what_does_nothing_brings_nothing(self):
        choice = OptimisticProgram(objective=Linear({"a": 1.0}), start_at=(0.5,), candidates=2, nothing=0)
        said = plain.worth(np.array([[[0.9, 0.3], [-0.8, -0.2]]]))
        np.testing.assert_allclose(plain.pick(choice, said, plain.offer([True, True])).lottery, [[0.0, 1.0]])

    @for_each("seed", range(5))
    def test_a_linear_goal_under_budgets_is_the_linear_program(self, seed):
        """B2 is a case of B1."""
        rng = np.random.default_rng(seed)
        reward, use, bound = rng.random((4, 1, 6)), 0.9 * rng.random((4, 3, 6)), (0.5, 0.6, 0.5)
        use[:, :, 0] = 0.1
        program = OptimisticProgram(objective=Linear({"a": 2.0}), start_at=(0.5,), candidates=6, bound=bound)
        offer, low = plain.offer(np.ones((4, 6), bool)), 0.5 * reward
        hoped = plain.pick(program, plain.worth(np.concatenate([reward, -low, -use], 1)), offer).lottery
        worth = plain.worth(np.concatenate([2.0 * reward, -use], 1))
        np.testing.assert_allclose(hoped, plain.pick(LinearProgram(1, bound), worth, offer).lottery, atol=1e-7)

    def test_bad_arguments_are_refused(self):
        for bad in ({"candidates": 0}, {"every": 0}, {"tolerance": 0.0}, {"bound": (np.nan,)}):
            with pytest.raises(InvalidInput, match=rf"^OptimisticProgram\.{next(iter(bad))}"):
                OptimisticProgram(**{"objective": self.GINI, "start_at": (0.5, 0.5), "candidates": 2, **bad})
        choice = OptimisticProgram(objective=self.GINI, start_at=(0.5, 0.5), candidates=4, bound=(1.0,))
        with pytest.raises(InvalidInput, match=r"^readings: expected 2 \(2 \+ 0\) \+ 1, both ends"):
            plain.pick(choice, self.readings(), plain.offer(np.ones((3, 4), bool)))
