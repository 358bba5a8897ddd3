"""B1, B2, B8 and PD-BwK whole: budgets, regret, ties, convex sets, and linear features of arms."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck
from evenhand.core.records import Context
from evenhand.environments import MixedArms, WithoutContexts
from evenhand.environments._cases import Cases, means, no_groups
from evenhand.goals import HardBudget
from evenhand.models import Fixed, Ridge, Stacked, Tabular
from evenhand.problem import Budget, Outcome, Problem, Within
from evenhand.recipes import bwcr, greedy_bwk, pd_bwk, ucb_bwcr, ucb_bwk
from evenhand.run import opt, play, simulate
from evenhand.sets import Ball, Box
from tests.ads import CLICKS, Ads
from tests.rows import for_each

RECIPES = {"ucb_bwk": ucb_bwk, "ucb_bwcr": ucb_bwcr, "greedy_bwk": greedy_bwk, "pd_bwk": pd_bwk}


@dataclass(frozen=True)
class LinearArms:
    """Coins whose means are linear in features of arms that never change; the first arm does nothing.

    With `own` every outcome has features of its own, side by side.
    """

    arms: int = 12
    costs: int = 2
    seed: int = 0
    horizon: int = 1000
    own: bool = False

    @cached_property
    def problem(self):
        names = [f"cost {i}" for i in range(self.costs)]
        return Problem(
            actions=tuple(f"arm {a}" for a in range(self.arms)),
            outcomes=tuple(Outcome(name, free=("arm 0",)) for name in ["reward", *names]),
            maximize="reward",
            subject_to=tuple(Budget(name, rate=0.25) for name in names),
            horizon=self.horizon,
        )

    @property
    def n_features(self):
        return 3 * (self.costs + 1 if self.own else 1)

    @cached_property
    def truth(self):
        """Features of the arms and their weights for every outcome."""
        rng, m = np.random.default_rng(self.seed), self.costs + 1
        x, w = rng.dirichlet(np.ones(3), (self.arms, m)), rng.random((m, 3))
        x[0] = 0.0
        if not self.own:
            return x[:, 0], w
        blocks = np.zeros((m, 3 * m))
        for j in range(m):
            blocks[j, 3 * j : 3 * j + 3] = w[j]
        return x.reshape(self.arms, -1), blocks

    def start(self, seed, replicas):
        luck, (x, w) = Luck(seed=seed, replicas=replicas), self.truth
        features, offered = np.tile(x, (len(replicas), 1, 1)), np.ones((1, self.arms), bool)
        context = Context(features, np.zeros((1, self.arms, 0)), no_groups(replicas), offered)
        return Cases(self.horizon, luck, lambda step: context, lambda x, plays: means(x, w, plays))


def tabular(problem, confidence=0.5):
    return Tabular(arms=len(problem.actions), n_outcomes=len(problem.learned), confidence=confidence)


def shares(policy, world, replicas=10, seed=0):
    """Expected rewards of every replica over the optimum, and the largest part used of a budget, `->(R),()`."""
    trace = simulate(policy, world, replicas=replicas, seed=seed, progress=False)
    problem = policy.problem
    used = max((trace.total(b.outcome) / b.total_over(problem.horizon)).max() for b in problem.spending)
    return trace.in_expectation().total("reward") / problem.horizon / opt(world, contexts=5, replicas=1).value, used


@pytest.mark.parametrize("name", RECIPES)
@for_each("seed", range(5))
def test_hard_budgets_are_never_exceeded_on_any_instance(name, seed):
    world = WithoutContexts(LinearArms(seed=seed, horizon=400))
    policy = RECIPES[name](world.problem, tabular(world.problem, 0.1))
    assert any(isinstance(goal, HardBudget) for goal in policy.goals)
    assert shares(policy, world, seed=seed)[1] <= 1.0 + 1e-12
    soft = RECIPES[name](world.problem, tabular(world.problem), hard=False)
    assert not any(isinstance(goal, HardBudget) for goal in soft.goals)


@pytest.mark.parametrize("name", RECIPES)
def test_at_first_all_arms_tie_and_share(name):
    world = WithoutContexts(MixedArms(horizon=100))
    policy = RECIPES[name](world.problem, tabular(world.problem))
    state = policy.start(replicas=200)
    decision = policy.decide(state, world.start(0, state.replicas).context(0))
    assert (decision.propensities == 0.25).all()
    assert set(decision.plays[:, 0]) == {1, 2, 3, 4}  # 0 does nothing, which is known


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ucb_bwk", "ucb_bwcr", "pd_bwk"])
def test_regret_grows_slower_than_time(name):
    """Theorem 4.2 says sqrt(T), up to logarithms: four times the rounds, twice the regret; three times are allowed."""
    regret, spread = [], []
    for horizon in (1000, 4000):
        world = WithoutContexts(MixedArms(horizon=horizon))
        share, used = shares(RECIPES[name](world.problem, tabular(world.problem, 0.25)), world)
        regret.append(horizon * (1.0 - share.mean()))
        spread.append(horizon * share.std(ddof=1) / np.sqrt(len(share)))
        assert used <= 1.0 + 1e-12
    assert regret[1] - 3.0 * spread[1] <= 3.0 * (regret[0] + 3.0 * spread[0])
    assert regret[1] <= 0.1 * 4000


def test_the_greedy_ratio_leaves_budgets_unused_where_the_program_does_not():
    world = WithoutContexts(MixedArms(horizon=1500))
    model = tabular(world.problem)
    greedy, used = shares(greedy_bwk(world.problem, model), world)
    best, _ = shares(ucb_bwk(world.problem, model), world)
    assert greedy.mean() < 0.7
    assert used < 0.7
    assert best.mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("recipe", [ucb_bwk, ucb_bwcr, pd_bwk, greedy_bwk, bwcr])
def test_features_of_arms_are_worth_something(recipe, own):
    """B10: 3 numbers per outcome to learn instead of 199; with one vector per outcome and arm, by blocks.

    Greedy ratios are wrong either way, and need not gain.
    """
    world = LinearArms(own=own, arms=200, horizon=600)
    one = Ridge(n_features=3, width=Fixed(0.3))
    model = Stacked((one, one, one), shared=False) if own else Ridge(n_features=3, n_outcomes=3, width=Fixed(0.3))
    share, used = shares(recipe(world.problem, model), world)
    blind, _ = shares(recipe(world.problem, tabular(world.problem)), WithoutContexts(world))
    assert used <= 1.0 + 1e-12
    if recipe is not greedy_bwk:
        spread = np.hypot(share.std(ddof=1), blind.std(ddof=1)) / np.sqrt(len(share))
        assert share.mean() - blind.mean() >= 3.0 * spread


def test_averages_move_into_a_ball_beside_budgets():
    world = MixedArms(horizon=1500)
    ball = Within(("cost 1", "cost 2"), Ball((0.2, 0.2), 0.06))
    problem = replace(world.problem, subject_to=(*world.problem.subject_to, ball))
    policy = ucb_bwcr(problem, tabular(problem, 0.1), every=5)
    state, blind = policy.start(replicas=8), WithoutContexts(world)
    total, seen = np.zeros((8, 3)), blind.start(0, state.replicas)
    for r in play(policy, state, seen, range(1500)):
        total += seen.expected(r.context, r.taken.plays)[:, 0]
    average = total / 1500
    far = np.linalg.norm(average[:, 1:] - [0.2, 0.2], axis=1) - 0.06
    assert far.max() <= 3.0 * np.sqrt(0.1 * 5 / 1500)  # Theorem 4.1, with 8 for 3; it is 0.03 after 6,000 rounds
    assert average[:, 0].mean() >= 0.4


def test_sets_of_sums_over_groups_are_refused_as_no_round_concerns_all_groups():
    ball = Within(CLICKS, Ball((0.16, 0.12, 0.1), 0.04))
    for within in (ball, Within(CLICKS[:1], Box((0.1,), (0.2,)))):
        problem = Ads(extra=(within,)).problem
        with pytest.raises(InvalidInput, match=r"^problem\.subject_to: expected budgets, floors and convex sets"):
            ucb_bwcr(problem, Ridge(n_features=25, width=Fixed(0.1)))
