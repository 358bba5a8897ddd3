"""The table of six worlds: no cell without a word, intervals that hold, and both packages on the same logs."""

import pytest

from tests.offline.six_worlds import KINDS, OTHER, SAME, VALUE, holds, main


@pytest.fixture(scope="module")
def rare():
    return [KINDS["rare"].draw(seed)[-1].estimates for seed in range(200)]


@pytest.mark.parametrize("name", [VALUE, "ips", "snips", "sndr", "mrdr"])
def test_intervals_of_rare_clicks_hold_by_every_estimator_that_states_an_error(rare, name):
    right = KINDS["rare"].truth()
    assert sum(holds(each[name].interval, right) for each in rare) >= 182  # 3 in 1,000 fall below; 150 by normal errors


def test_no_cell_of_the_table_is_empty(capsys):
    main("3")
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert all(cell.strip() for line in shown for cell in line.strip("|").split("|"))
    assert [kind for kind in KINDS if not any(line.startswith(f"| {kind}: ") for line in shown)] == []


def test_estimates_of_the_other_package_are_the_same():
    assert {*OTHER["worlds"]} == {*KINDS}
    assert all(z["off"] < SAME and z["logs"] == 100 for world in OTHER["worlds"].values() for z in world.values())
