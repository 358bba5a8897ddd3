"""B6, B7 and B9: averages in convex sets beside budgets, by primal and dual updates."""

from dataclasses import dataclass, replace
from functools import cached_property

import cvxpy as cp
import numpy as np
import pytest

from evenhand.choices import LinearProgram, Lottery
from evenhand.core.errors import InvalidInput
from evenhand.environments import MixedArms
from evenhand.environments.mixture import ARMS
from evenhand.models import Fixed, Ridge, Tabular
from evenhand.objectives import GeneralizedGini
from evenhand.problem import Budget, Floor, Within
from evenhand.recipes import bwcr, dual_bwc, primal_bwc
from evenhand.run import simulate
from evenhand.sets import Ball, Box, Halfspaces

COSTS = ("cost 1", "cost 2")
BALL = Within(("reward", "cost 1"), Ball((0.45, 0.2), 0.1))
SLANT = Within(COSTS, Halfspaces(((1.0, -1.0), (1.0, 1.0)), (-0.1, 0.6)))
COMBINATIONS = [(a, b) for a in ("primal", "dual") for b in ("primal", "dual")]
PROGRAMS = [(a, b) for a in ("primal", "dual", "ucb") for b in ("primal", "dual", "ucb") if "ucb" in (a, b)]


@dataclass(frozen=True)
class Bounded:
    """`MixedArms` under other constraints."""

    subject_to: tuple
    horizon: int = 3000
    maximize: object = "reward"

    @cached_property
    def problem(self):
        stated = MixedArms(horizon=self.horizon).problem
        return replace(stated, subject_to=self.subject_to, maximize=self.maximize)

    @property
    def n_features(self):
        return 4

    def start(self, seed, replicas):
        return MixedArms(horizon=self.horizon).start(seed, replicas)


def table(confidence=0.5):
    return Tabular(arms=4, n_outcomes=3, confidence=confidence)


def best(subject_to):
    """The most reward of any fixed lottery, by cvxpy."""
    p = cp.Variable(5, nonneg=True)
    z = np.vstack([np.zeros(3), ARMS]).T @ p
    place, limits = {"reward": 0, "cost 1": 1, "cost 2": 2}, [cp.sum(p) == 1]
    for c in subject_to:
        if isinstance(c, Within):
            y = cp.vstack([z[place[name]] for name in c.outcomes])[:, 0]
            s = c.within
            a, b = (None, None) if isinstance(s, Ball) else s.halfspaces()
            limits.append(cp.norm(y - np.array(s.centre)) <= s.radius if a is None else a @ y <= b)
        else:
            limits.append(
                z[place[c.outcome]] * (-1 if isinstance(c, Floor) else 1) <= c.bound(Bounded((c,)).problem)[0]
            )
    return float(cp.Problem(cp.Maximize(z[0]), limits).solve())


def far(trace, constraint):
    """The distance of the averages of a run from the set, of every replica."""
    return trace.measure(constraint)[-1]


def bound(trace, names, horizon):
    """Theorem 5.1 with its constants: intervals are 4 rad wide, and vectors have a regret of sqrt(m T).

    The sum of 4 sqrt(gamma v / N) over plays of A arms is at most 4 sqrt(gamma A T v) on average.
    """
    v = sum(trace.average(name)[-1] for name in names)
    return 4.0 * np.sqrt(0.5 * 4 * v / horizon) + np.sqrt(len(names) / horizon)


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "constraints"), COMBINATIONS)
@pytest.mark.parametrize("subject_to", [(BALL,), (SLANT, BALL), (Budget("cost 2", rate=0.3), BALL)], ids=len)
def test_averages_approach_the_set_and_the_best_lottery_in_it(subject_to, objective, constraints):
    """Theorem 6.1, for the reward with a third of its constant."""
    world = Bounded(subject_to)
    policy = bwcr(world.problem, table(), objective_by=objective, constraints_by=constraints, hard=False, margin=0.0)
    assert isinstance(policy.choice, Lottery if len(subject_to) == 1 else LinearProgram)
    trace = simulate(policy, world, replicas=6, progress=False)
    reward = trace.objective()[-1]
    spread = 3 * reward.std(ddof=1) / np.sqrt(6)
    assert reward.mean() >= best(subject_to) - bound(trace, ("reward",), 3000).mean() / 3 - spread
    for c in subject_to:
        if isinstance(c, Within):
            assert (far(trace, c) <= bound(trace, c.outcomes, 3000)).all()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [dual_bwc, primal_bwc])
def test_a_set_alone_is_approached_from_outside(recipe):
    """Theorems 5.1 and 5.4 at two horizons, with half of their constants; uniform play is 0.17 out of the ball."""
    names = ("reward", "cost 1")
    c, uniform = Within(names, Ball((0.3, 0.1), 0.02)), ARMS[:, :2].sum(0) / 5
    assert c.within.distance(uniform) > 0.17
    for horizon in (1000, 4000):
        world = Bounded((c,), horizon=horizon)
        trace = simulate(recipe(world.problem, table()), world, replicas=5, progress=False)
        assert (far(trace, c) <= 0.5 * bound(trace, names, horizon)).all()


@pytest.mark.slow
def test_a_margin_shrinks_every_set():
    world = Bounded((Budget("cost 2", rate=0.3), BALL, SLANT))
    for updates in ("primal", "dual"):
        policy = bwcr(world.problem, table(), constraints_by=updates, margin=0.02)
        spent, ball, slant = policy.goals[1:4]
        within = [g.objective.within if updates == "primal" else g.conjugate.within for g in (spent, ball, slant)]
        assert within[0] == Box.below((0.3 - 0.02,))
        assert within[1] == BALL.within.shrunk(0.02)
        assert within[2] == SLANT.within.shrunk(0.02)
    program = bwcr(world.problem, table(), objective_by="ucb", constraints_by="ucb", margin=0.02).choice
    assert program.regions == (BALL.within.shrunk(0.02), SLANT.within.shrunk(0.02))
    straight = Bounded((Budget("cost 2", rate=0.3), SLANT)).problem
    each = [bwcr(straight, table(), constraints_by="ucb", margin=z).choice.bound for z in (0.0, 0.02)]
    np.testing.assert_allclose(np.subtract(*each), [0.02, *[0.02 / np.sqrt(2.0)] * 2])
    inside = simulate(bwcr(world.problem, table(), margin=0.04, hard=False), world, replicas=5, progress=False)
    outside = simulate(bwcr(world.problem, table(), margin=0.0, hard=False), world, replicas=5, progress=False)
    assert far(inside, BALL).mean() < far(outside, BALL).mean()
    with pytest.raises(InvalidInput, match="a margin that leaves some of the set"):
        bwcr(world.problem, table(), margin=0.2)


@pytest.mark.slow
def test_floors_of_everybody_are_kept_like_budgets():
    floor, budget = Floor("cost 2", rate=0.25), Budget("cost 1", rate=0.35)
    world = Bounded((budget, floor))
    for updates in ("primal", "dual"):
        policy = bwcr(world.problem, table(), constraints_by=updates, hard=False, margin=0.0)
        assert len(policy.goals) == 2
        trace = simulate(policy, world, replicas=5, progress=False)
        used = trace.average("cost 2")[-1]
        assert (used >= 0.25 - 0.03).all()
        assert trace.objective()[-1].mean() >= best(world.subject_to) - 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "constraints"), COMBINATIONS)
def test_features_of_arms_serve_as_well_as_a_table(objective, constraints):
    """B10: one linear model per outcome on one-hot features."""
    gini = GeneralizedGini(("reward", "cost 2"), (1.0, 0.2))
    world = Bounded((Budget("cost 1", rate=0.35), SLANT), maximize=gini)
    run = bwcr(
        world.problem,
        Ridge(n_features=4, n_outcomes=3, width=Fixed(0.5)),
        objective_by=objective,
        constraints_by=constraints,
    )
    trace = simulate(run, world, replicas=5, progress=False)
    assert (far(trace, SLANT) <= 0.06).all()
    assert (trace.total("cost 1") <= 0.35 * 3000 + 1e-6).all()
    by_table = simulate(
        bwcr(world.problem, table(), objective_by=objective, constraints_by=constraints),
        world,
        replicas=5,
        progress=False,
    )
    assert trace.objective()[-1].mean() >= by_table.objective()[-1].mean() - 0.03


@pytest.mark.parametrize(("objective", "constraints"), PROGRAMS)
def test_an_optimistic_program_may_take_either_side(objective, constraints):
    """Section 6: the expression of eq. 9 in place of the objective or of the constraints."""
    stated = (Budget("cost 2", rate=0.3), SLANT)
    world = Bounded(stated, horizon=600)
    policy = bwcr(world.problem, table(), objective_by=objective, constraints_by=constraints, hard=False, margin=0.0)
    assert policy.name == f"bwcr, {objective}-{constraints}"
    trace = simulate(policy, world, replicas=4, progress=False)
    assert (far(trace, SLANT) <= bound(trace, COSTS, 600)).all()
    assert trace.objective()[-1].mean() >= best(stated) - bound(trace, ("reward",), 600).mean() / 3


def test_a_program_for_the_constraints_alone_takes_straight_ones():
    with pytest.raises(InvalidInput, match=r"^problem\.subject_to: expected constraints with straight sides"):
        bwcr(Bounded((BALL,)).problem, table(), constraints_by="ucb")
    policy = bwcr(Bounded((BALL,)).problem, table(), objective_by="ucb", constraints_by="ucb")
    assert policy.choice.regions == (BALL.within,)
    free = bwcr(Bounded(()).problem, table(), constraints_by="ucb")
    assert isinstance(free.choice, Lottery)
