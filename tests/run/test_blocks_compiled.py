"""Blocks in machine code: policies that have all kinds of views, as each takes ten seconds and more."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import plain_ranking
from evenhand.choices import EpsilonGreedy
from evenhand.core.views import view_of
from evenhand.environments import MixedContexts
from evenhand.models import (
    Fixed,
    GeneralizedLinear,
    Logarithmic,
    Logistic,
    PerAction,
    Ridge,
    Stacked,
    WorstCase,
)
from evenhand.policy.kernels.views import views
from evenhand.recipes import pgd, resolving, square_cbwk, ucb
from evenhand.testing import check_compiled
from tests.examples.recipes import RECIPES
from tests.run.interpreter import kinds
from tests.run.test_blocks import LINUCB, PLACES, SEEN, places
from tests.run.test_blocks_of_plans import COURT, RIDGE

MIXED = MixedContexts(horizon=300)
RANKING = plain_ranking.ranking(50, 3, 300)
STACKED = Stacked(
    (
        Ridge(n_features=9, width=WorstCase(n_parameters=9, delta=0.1)),
        GeneralizedLinear(n_features=9, link="identity"),
        Logistic(n_features=9),
    )
)
ALONE = PerAction(inner=Ridge(n_features=4, width=Logarithmic(0.5)), actions=5)
# By name: policy, environment, and the least rounds in blocks.
COMPILED = {
    "rankings": (plain_ranking.policy(RANKING), RANKING, 299),
    "estimated shares": (
        pgd(PLACES, Ridge(n_features=4, width=Fixed(0.2)), warmup=20, hard=True),
        places(),
        290,
    ),
    "plan": (resolving(COURT.problem, RIDGE), COURT, 200),
    "stacked, inverse gap": (square_cbwk(MIXED.problem, STACKED, rate=9.0), MIXED, 280),
    "epsilon-greedy": (replace(ucb(LINUCB.problem, ALONE, warmup=0), choice=EpsilonGreedy(0.2)), LINUCB, 190),
    "examples of lin_cbwk": (*RECIPES["lin_cbwk"][1], 10),
    "examples of resolving": (*RECIPES["resolving"][9], 10),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_rounds_are_those_of_the_ordinary_loop(name):
    policy, world, least = COMPILED[name]
    assert check_compiled(policy, world, rounds=300) >= least


@pytest.mark.slow
@pytest.mark.parametrize(("items", "replicas"), [(50, 1), (80, 1)])  # more than 64 are sorted
def test_rankings(items, replicas):
    world = plain_ranking.ranking(items, 3, 300)
    assert check_compiled(plain_ranking.policy(world), world, rounds=300, replicas=replicas) == 299


def found(policy, world):
    """The kinds of all views of a policy and of its world."""
    seen = kinds(views(policy, policy.start(replicas=2)))
    return seen | kinds(view_of(world.start(5, np.arange(2))))


def test_every_kind_of_view_of_an_example_is_compiled():
    compiled = set().union(*(found(policy, world) for policy, world, _ in COMPILED.values()))
    for name, places_of in SEEN.items():
        for i in places_of:
            missing = found(*RECIPES[name][i]) - compiled
            assert not missing, f"{name} {i}"
