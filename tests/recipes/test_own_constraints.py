"""A constraint of one's own that is a convex set: kept as `Within` is, or refused with a sentence."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import MixedArms, WithoutContexts
from evenhand.models import Tabular
from evenhand.problem import Budget, Within
from evenhand.recipes import bwcr, dual_bwc, primal_bwc, ucb_bwcr
from evenhand.run import play
from evenhand.sets import Ball, Box, Halfspaces


@dataclass(frozen=True)
class Own:
    """What a `Within` says, by a class that is none."""

    inner: Within

    def __getattr__(self, name):
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def tightened(self, margin):
        return Own(self.inner.tightened(margin))


COSTS = ("cost 1", "cost 2")
SETS = {
    "ball": Within(COSTS, Ball((0.03, 0.03), 0.02)),
    "box": Within(COSTS, Box((0.0, 0.0), (0.05, 0.05))),
    "half-space": Within(COSTS, Halfspaces(((1.0, 1.0),), (0.05,))),
}
RECIPES = {
    "bwcr": lambda p, m: bwcr(p, m),
    "bwcr, dual": lambda p, m: bwcr(p, m, objective_by="dual", constraints_by="dual"),
    "bwcr, margin": lambda p, m: bwcr(p, m, margin=0.001),
    "dual_bwc": dual_bwc,
    "primal_bwc": primal_bwc,
    "ucb_bwcr": ucb_bwcr,
}


def mixed(*constraints):
    world = WithoutContexts(MixedArms(horizon=150))
    return world, replace(world.problem, subject_to=constraints)


@pytest.mark.parametrize("beside", [(), (Budget("cost 1", rate=0.9),)], ids=["alone", "beside a budget"])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_set_of_ones_own_is_kept_as_within_is(recipe, name, beside):
    runs = []
    for c in (SETS[name], Own(SETS[name])):
        world, problem = mixed(*beside, c)
        policy = RECIPES[recipe](problem, Tabular(arms=5, n_outcomes=3, confidence=0.5))
        state = policy.start(replicas=2)
        rounds = play(policy, state, world.start(0, state.replicas), range(150))
        runs.append(np.array([r.decision.plays for r in rounds]))
    np.testing.assert_array_equal(*runs)


@dataclass(frozen=True)
class Half:
    """Says that a set is meant, but not which."""

    inner: Within
    label, hard, spends, worst = "half", None, False, "high"

    def __getattr__(self, name):
        if name in ("inner", "within", "tightened"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def test_half_a_set_is_refused_with_what_it_lacks():
    with pytest.raises(
        InvalidInput, match=r"^Half: expected all members of `Curved`, as it has `curved`, got none nam"
    ):
        mixed(Half(SETS["ball"]))


def test_rows_of_one_name_that_differ_all_count():
    """A set may name its rows as it likes; of rows that are equal the tightest counts."""

    @dataclass(frozen=True)
    class Named:
        inner: Budget

        def __getattr__(self, name):
            if name == "inner":
                raise AttributeError(name)
            return getattr(self.inner, name)

        def rows(self, problem):
            return replace(self.inner.rows(problem), names=("use",))

    _, problem = mixed(*(Named(Budget(c, rate=0.3)) for c in COSTS), Budget("cost 1", rate=0.2))
    goals = bwcr(problem, Tabular(arms=5, n_outcomes=3, confidence=0.5), margin=0.0, hard=False).goals
    assert len(goals[1].rows) == 2
    assert sorted(goals[1].objective.within.high) == [0.2, 0.3]
