"""A problem restated in other units takes the same actions, where no number is given in these units."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from evenhand.models import BayesianRidge, Fixed, Ridge, Sampled
from evenhand.objectives import GeneralizedGini
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem
from evenhand.recipes import fw_dual, pgd, primal_lp, resolving, ucb
from evenhand.run import play
from tests.worlds import Market

ROUNDS = 150
SIDES = Groups("side", {"left": 0.5, "right": 0.5})


def shop(reward, cost, fee, plays=1):
    """A learned cost and a known fee under budgets per play, and parity of the cost; each outcome in its own unit."""
    return Problem(
        actions=("a", "b", "c"),
        outcomes=(
            Outcome("gain", high=reward),
            Outcome("cost", high=cost),
            Outcome("fee", known={"b": 0.5 * fee, "c": fee}),
        ),
        maximize="gain",
        subject_to=(
            Budget("cost", rate=0.35 * cost * plays),
            Budget("fee", rate=0.3 * fee * plays),
            Parity("cost", by="side", tolerance=0.05 * cost * plays),
        ),
        groups=(SIDES,),
        horizon=ROUNDS,
        n_plays=plays,
    )


def school(reward, cost, fee, plays=1):
    """Two outcomes in one unit that a generalised Gini weighs, and a budget in another, per play."""
    return Problem(
        actions=("a", "b", "c"),
        outcomes=(
            Outcome("reading", high=reward),
            Outcome("maths", high=reward),
            Outcome("fee", known={"b": 0.5 * fee, "c": fee}),
        ),
        maximize=GeneralizedGini(("reading", "maths"), (1.0, 0.3)),
        subject_to=(Budget("fee", rate=0.3 * fee * plays),),
        horizon=ROUNDS,
        n_plays=plays,
    )


RIDGE = Ridge(n_features=3, n_outcomes=2, width=Fixed(0.2))
BAYESIAN = BayesianRidge(n_features=3, n_outcomes=2)
POLICIES = {  # plans, and models that estimate; every recipe is in `test_units_of_kinds`
    "pgd, sampled": lambda unit: pgd(shop(*unit), Sampled(inner=RIDGE, scale=0.3)),
    "resolving": lambda unit: resolving(shop(*unit), RIDGE),
    "primal_lp": lambda unit: primal_lp(shop(*unit), RIDGE),
    "fw_dual": lambda unit: fw_dual(shop(*unit), RIDGE),
    "resolving, concave": lambda unit: resolving(school(*unit), RIDGE),
    "resolving, lists": lambda unit: resolving(shop(*unit, plays=2), RIDGE),
    "ucb, Bayesian": lambda unit: ucb(shop(*unit), BAYESIAN),
    "resolving, Bayesian": lambda unit: resolving(shop(*unit), BAYESIAN),
    "resolving, concave, Bayesian": lambda unit: resolving(school(*unit), BAYESIAN),
    "primal_lp, Bayesian": lambda unit: primal_lp(shop(*unit), BAYESIAN),
    "fw_dual, Bayesian": lambda unit: fw_dual(shop(*unit), BAYESIAN),
    "fw_dual, concave, Bayesian": lambda unit: fw_dual(school(*unit), BAYESIAN),
}
PLAIN = {}


@dataclass(frozen=True)
class Restated:
    """A world whose features are in another unit."""

    market: Market
    factor: float

    def start(self, seed, replicas):
        return _RestatedWorld(self.market.start(seed, replicas), self.factor)


class _RestatedWorld:
    def __init__(self, world, factor):
        self._world, self._factor, self.steps, self.counts_idle_steps = world, factor, world.steps, True

    def context(self, step):
        context = self._world.context(step)
        return context._replace(features=context.features * self._factor)

    def respond(self, step, context, decision):
        plain = decision._replace(features=decision.features / self._factor)
        return decision, [a._replace(decision=decision) for a in self._world.respond(step, context, plain)[1]]


def plays(name, unit, factor=1.0):
    policy = POLICIES[name](unit)
    state, world = (
        policy.start(seed=3, replicas=2),
        Restated(Market(problem=policy.problem), factor).start(3, np.arange(2)),
    )
    return np.array([r.decision.plays for r in play(policy, state, world, range(ROUNDS))])


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=2, deadline=None)
@given(exponents=st.tuples(*[st.integers(-8, 8)] * 3))
@example(exponents=(2, 0, 0))  # dollars or cents
@example(exponents=(-8, 8, 0))
@example(exponents=(0, 4, -4))
def test_a_problem_in_other_units_takes_the_same_actions(name, exponents):
    """Rewards, costs and fees, each times a power of 10. Contexts are continuous, so that rounding decides no tie."""
    if name not in PLAIN:
        PLAIN[name] = plays(name, (1.0, 1.0, 1.0))
        assert min(np.bincount(PLAIN[name].ravel() + 1)[1:]) > 10  # every action is played
    np.testing.assert_array_equal(plays(name, tuple(10.0**e for e in exponents)), PLAIN[name])


@pytest.mark.parametrize("name", [name for name in POLICIES if "Bayesian" in name])
@settings(max_examples=2, deadline=None)
@given(exponent=st.integers(-6, 6))
@example(exponent=-6)
@example(exponent=6)
def test_features_in_other_units_take_the_same_actions(name, exponent):
    """Under a model that estimates its penalty."""
    if name not in PLAIN:
        PLAIN[name] = plays(name, (1.0, 1.0, 1.0))
    np.testing.assert_array_equal(plays(name, (1.0, 1.0, 1.0), 10.0**exponent), PLAIN[name])
