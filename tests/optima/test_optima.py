"""Every recipe reaches its stated share of the optimum, keeps hard budgets, or says what it needs."""

import pytest

from evenhand import environments, recipes
from tests.optima.__main__ import PAGE
from tests.optima.calls import CALLS, OTHERS
from tests.optima.page import page
from tests.optima.table import REPLICAS, Refused, made, measure, nothing_or_uniform, pairs
from tests.optima.targets import CALIBRATED_ON, CHECKED_ON, STATED
from tests.optima.worlds import WORLDS, world
from tests.rows import for_each

QUICK = {("resolving", "FixedContexts"), ("pgd", "MixedArms"), ("fw_linucb", "MultiObjective")}
KNOWN = [pair for pair in pairs() if pair[1] in STATED.get(pair[0], {})]
ACCEPTED = [pair for pair in KNOWN if not isinstance(STATED[pair[0]][pair[1]], str)]
REFUSED = [pair for pair in KNOWN if pair not in ACCEPTED]


def test_rows_are_whole_and_of_recipes_that_there_are():
    assert set(STATED) <= set(CALLS)
    assert list(STATED) == sorted(STATED)
    assert all(list(row) == list(WORLDS) for row in STATED.values()), "run python -m tests.optima calibrate"


def test_what_other_tests_hold_against_an_optimum_is_not_in_the_table():
    text = " ".join(repr(world(name).environment) for name in WORLDS)
    kinds = OTHERS & set(environments.__all__)
    assert OTHERS - kinds <= set(recipes.__all__)
    assert not [name for name in kinds if f"{name}(" in text]


def test_shares_are_checked_on_another_seed_than_they_were_stated_on():
    assert CALIBRATED_ON != CHECKED_ON


def keeps_limits(row):
    """Hard budgets, and the optimum where all constraints are kept, are not exceeded."""
    assert not isinstance(row, Refused), row
    if row.hard:
        assert row.overspent.max() <= 1e-12
    if row.overspent.max() <= 0.0 and row.missed == 0.0:
        assert row.share - 3 * row.se <= 1.0


@pytest.mark.parametrize(
    ("recipe", "name"),
    [pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow, id="-".join(pair)) for pair in ACCEPTED],
)
def test_the_stated_share_is_reached(recipe, name):
    row = measure(recipe, name, CHECKED_ON)
    keeps_limits(row)
    assert row.share + 3 * row.se >= STATED[recipe][name]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [recipe for recipe in CALLS if recipe not in STATED])
def test_a_recipe_without_a_row_is_no_worse_than_uniform_draws(recipe):
    for name in WORLDS:
        row = measure(recipe, name, CHECKED_ON)
        if not isinstance(row, Refused):
            keeps_limits(row)
            assert row.share + 3 * row.se >= nothing_or_uniform(name, CHECKED_ON, REPLICAS), name


@for_each(("recipe", "name"), REFUSED, ids=["-".join(pair) for pair in REFUSED])
def test_a_recipe_that_refuses_says_what_it_needs(recipe, name):
    """Anything but an `InvalidInput` or an `InfeasibleProblem` is raised by `made`."""
    assert made(recipe, name) == Refused(STATED[recipe][name])


def test_the_page_has_the_text_that_is_written():
    shown, written = (
        [line for line in text.splitlines() if not line.startswith("|")]
        for text in (PAGE.read_text(encoding="utf-8"), page({}))
    )
    assert shown == written


def test_the_page_shows_a_share_where_a_recipe_accepts_a_world():
    lines = PAGE.read_text(encoding="utf-8").partition("## Shares\n\n")[2].split("\n\n")[0].splitlines()
    head, _, *shown = [[z.strip() for z in line.strip("|").split("|")] for line in lines]
    assert head == ["recipe", *WORLDS]
    found = {(cells[0].strip("`"), name) for cells in shown for name, z in zip(WORLDS, cells[1:], strict=True) if z}
    assert found == set(ACCEPTED)
