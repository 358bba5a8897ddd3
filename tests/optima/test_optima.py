"""Every recipe reaches its stated share of the optimum, keeps hard budgets, or says what it needs."""

import pytest

from evenhand import environments, recipes
from tests.optima.__main__ import PAGE
from tests.optima.calls import CALLS
from tests.optima.page import HEAD
from tests.optima.stated import CALIBRATED_ON, CHECKED_ON, STATED
from tests.optima.table import Refused, made, measure, pairs
from tests.optima.worlds import WORLDS, world

QUICK = {("resolving", "FixedContexts"), ("pgd", "MixedArms"), ("fw_linucb", "MultiObjective")}
ACCEPTED = [pair for pair in pairs() if not isinstance(STATED[pair[0]][pair[1]], str)]
REFUSED = [pair for pair in pairs() if pair not in ACCEPTED]


# Their optimum is one over lists; `tests/recipes/test_rankings_near_optimum.py` holds them against it.
LISTS = {"fairlearn_rank", "fw_linucb_rank", "fw_rank", "linucb_rank", "unbiased_linucb_rank", "Ranking"}
# Theirs is one over allocations: `tests/experiments/test_allocation.py` holds them against a bound of each round.
ALLOCATIONS = {"cab_ofu", "cab_ts", "cab_ts_parameter", "cab_ucb", "fairx", "max_match", "random_allocation"}
ALLOCATIONS |= {"pgd_allocation", "resolving_allocation", "AudienceMatching", "Matching"}
# They ignore the objective, so that their share of the optimum says nothing: `tests/recipes/test_bwcr_sets.py` and
# `test_bwcr_duals.py` hold them to the theorems.
CONSTRAINTS_ALONE = {"dual_bwc", "primal_bwc"}
# The objective of `Sensors` is a cost, so that less of it is better; edges of `Requests` are kept on average alone. On
# `PayPerClick` a plan of `resolving` takes three milliseconds, too long for the table.
# `tests/environments/test_instances.py` holds recipes against all these optima.
INSTANCES = {"PayPerClick", "Requests", "Sensors"}
# Cases of `Hours` are not drawn alike in all rounds, so that none of them are a sample of the rest, and floors of
# `PackingCovering` are kept on average alone. `tests/goals/test_lyapunov.py` holds recipes against the best in
# hindsight, `tests/recipes/test_lagrange_cbw.py` against the optimum.
ELSEWHERE = {"Hours", "PackingCovering"}
OTHERS = LISTS | ALLOCATIONS | CONSTRAINTS_ALONE | INSTANCES | ELSEWHERE


def test_every_recipe_and_every_simulated_environment_is_in_the_table():
    assert list(CALLS) == sorted({*recipes.__all__} - OTHERS) == list(STATED)
    assert all(list(row) == list(WORLDS) for row in STATED.values())
    text = " ".join(repr(world(name).environment) for name in WORLDS)
    logged = {"Logged"}  # it replays what somebody else did, and has no truth
    kinds = {n for n in environments.__all__ if hasattr(getattr(environments, n), "start")}
    kinds = {n for n in kinds if not getattr(getattr(environments, n), "_is_protocol", False)}
    assert {n for n in kinds if f"{n}(" not in text} == logged | (OTHERS & kinds)


def test_shares_are_checked_on_another_seed_than_they_were_stated_on():
    assert CALIBRATED_ON != CHECKED_ON


@pytest.mark.parametrize(
    ("recipe", "name"),
    [pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow, id="-".join(pair)) for pair in ACCEPTED],
)
def test_the_stated_share_is_reached(recipe, name):
    row = measure(recipe, name, CHECKED_ON)
    assert not isinstance(row, Refused), row
    assert row.share + 3 * row.se >= STATED[recipe][name]
    if row.hard:
        assert row.overspent.max() <= 1e-12
    if row.overspent.max() <= 0.0 and row.missed == 0.0:  # who keeps to everything cannot exceed the optimum
        assert row.share - 3 * row.se <= 1.0


@pytest.mark.parametrize(("recipe", "name"), REFUSED, ids=["-".join(pair) for pair in REFUSED])
def test_a_recipe_that_refuses_says_what_it_needs(recipe, name):
    """Anything but an `InvalidInput` or an `InfeasibleProblem` is raised by `made`."""
    assert made(recipe, name) == Refused(STATED[recipe][name])


def test_the_page_shows_this_table():
    shown = [[z.strip() for z in line.strip("|").split("|")] for line in PAGE.read_text(encoding="utf-8").splitlines()]
    shown = [cells for cells in shown if len(cells) == len(HEAD) and not cells[0].startswith("---")]
    assert tuple(shown[0]) == HEAD
    assert {(cells[1].strip("`"), cells[0]) for cells in shown[1:]} == set(ACCEPTED)
    assert len(shown) - 1 == len(ACCEPTED)
