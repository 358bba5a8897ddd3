"""The comparison with other libraries, in a size that shows that it works; peers may be absent."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks import (
    peers,
    peers_evenhand,
    peers_floors,
    peers_growth,
    peers_late,
    peers_loops,
    peers_others,
    peers_recipes,
    peers_rounds,
)
from benchmarks.peers_case import Case
from benchmarks.peers_turns import Spread, by_turns, ratios
from evenhand.core.catalogue import catalogue
from evenhand.core.kernel import Kernel
from evenhand.models import ridge


@pytest.fixture
def alone(monkeypatch):
    for package in peers_others.PEERS:
        monkeypatch.setitem(sys.modules, package, None)
        for name in [n for n in sys.modules if n.startswith(f"{package}.")]:
            monkeypatch.delitem(sys.modules, name)


@pytest.mark.slow
def test_a_tiny_run_without_peers(alone, tmp_path, capsys):
    out = tmp_path / "deep" / "peers.json"
    peers.main(["rounds", "batches", "growth", "--tiny", "--out", str(out)])
    found, said = json.loads(out.read_text()), capsys.readouterr().out
    assert found["absent"] == sorted(peers_others.PEERS)
    assert all(f"{package} is not installed" in said for package in peers_others.PEERS)
    assert {r["way"] for r in found["rounds"]} == set(peers_rounds.OURS)
    assert all(r["microseconds"]["quartile_1"] > 0.0 for r in found["rounds"])
    assert {(r["replicas"], r["rounds"]) for r in found["batches"]} == {(1, 100), (2, 100)}
    assert [r["recipe"] for r in found["growth"]] == ["resolving", "fw_linucb"]
    assert found["machine"]["cores"] >= 1
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_parts_that_are_not_known_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        peers.main(["wrong", "--out", str(tmp_path / "x.json")])
    assert "got wrong" in capsys.readouterr().err


def test_loops_and_evenhand_play_the_same_bandit():
    """After the first rounds, in which evenhand draws among arms that tie, mean outcomes are close."""
    gains: dict[str, float] = {}
    case = Case(3, 5, 1500)
    by_turns(peers_loops.ways(case, gains) | peers_evenhand.ways(case, gains), 1, warm=False)
    assert gains[peers_loops.NUMPY] == gains[peers_loops.CALLS] == gains[peers_loops.LOOP]
    assert gains[peers_evenhand.ARRAYS] == gains[peers_evenhand.BLOCKS]
    assert abs(gains[peers_evenhand.ARRAYS] - gains[peers_loops.NUMPY]) < 0.05
    assert gains[peers_loops.NUMPY] > case.y.mean() + 0.1


def test_turns_alternate_and_the_first_is_not_counted():
    played: list[str] = []

    def way(name):
        return lambda: lambda: played.append(name)

    seconds = by_turns({"a": way("a"), "b": way("b")}, 2)
    assert played == ["a", "b"] * 3
    assert [len(s) for s in seconds.values()] == [2, 2]


def test_spreads_are_quartiles_and_ratios_are_turn_by_turn():
    assert Spread.of([4.0, 1.0, 2.0, 3.0, 5.0]) == (2.0, 3.0, 4.0)
    assert ratios([2.0, 20.0], [1.0, 10.0]) == (2.0, 2.0, 2.0)
    assert Spread.of([1.0]).times(1e3).text(0) == "1,000 (1,000-1,000)"


@pytest.mark.parametrize("package", peers_others.PEERS)
def test_a_peer_that_is_here_learns(package):
    if find_spec(package) is None:
        pytest.skip("`make bench-peers` installs it in an environment of its own")
    of, _ = peers_others.PEERS[package]
    gains, case = dict[str, float](), Case(3, 5, 300)
    by_turns(of(case, gains), 1, warm=False)
    assert all(np.isfinite(g) and g > case.y.mean() for g in gains.values())


def test_every_recipe_has_an_example():
    assert set(peers_recipes.every(100)) == {s.name for s in catalogue() if s.kind == "recipe"}


def test_late_and_early_tenths():
    pair = peers_recipes.every(100)["uniform"]
    (row,) = peers_late.measured(100, 2, lambda _: {"uniform": pair})
    assert row["recipe"] == "uniform"
    assert 0.0 < row["late_over_early"]["quartile_1"] <= row["late_over_early"]["quartile_3"]
    assert "uniform" in peers_late.text([row])


def test_growth_is_the_slope_between_the_two_largest_sizes():
    (row,) = peers_growth.measured(2, (peers_growth.TINY[1],))
    assert row["values"] == [2, 4]
    assert row["slope_of_memory"] == pytest.approx(np.log2(row["kilobytes"][1] / row["kilobytes"][0]), abs=0.01)
    assert np.isfinite(list(row["slope_of_time"].values())).all()


def test_kernels_beside_copies_of_their_bytes():
    case = Case(3, 4, 40)
    rows = peers_floors.measured(2, 2, 1, {"LinUCB": (peers_evenhand.linucb(case), case.world, 2)})
    found = {r["kernel"]: r for r in rows}
    # In: coefficients, inverses, radii, ranges, features and prices; out: means and bonuses.
    numbers = 2 * 3 * 4 + 2 * 3 * 16 + 2 * 3 + 2 + 2 * 3 * 5 + 2 + 2 * 2 * 3
    assert found["models.ridge._value"]["bytes"] == 8 * numbers
    assert all(r["times_copy"]["quartile_1"] > 0.0 for r in rows)
    assert isinstance(ridge._value, Kernel)  # what stood in its place is gone


DOCS = Path(__file__).parents[1] / "docs"
FOUND = json.loads((DOCS / "performance.json").read_text())


@pytest.mark.parametrize("part", ["rounds", "batches", "growth"])  # the page states the others in a sentence
def test_the_tables_of_the_page_are_parts_of_those_that_were_measured(part):
    head, rule, *measured = peers.tables(part, FOUND).splitlines()
    _, _, below = (DOCS / "performance.md").read_text(encoding="utf-8").partition(f"```\n{head}\n{rule}\n")
    shown = below.partition("```")[0].splitlines()
    assert shown
    assert [line for line in shown if line not in measured] == []


def test_the_page_names_the_machine():
    machine = FOUND["machine"]
    page = (DOCS / "performance.md").read_text(encoding="utf-8")
    for said in (machine["date"], machine["processor"], f"Python {machine['python']}", machine["versions"]["numpy"]):
        assert said in page
