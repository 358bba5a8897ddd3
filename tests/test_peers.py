"""The comparison with other libraries, in a size that shows that it works; peers may be absent."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from benchmarks import peers, peers_evenhand, peers_loops, peers_others, peers_rounds
from benchmarks.peers_case import Case
from benchmarks.peers_turns import Spread, by_turns, ratios


@pytest.fixture
def alone(monkeypatch):
    for package in peers_others.PEERS:
        monkeypatch.setitem(sys.modules, package, None)
        for name in [n for n in sys.modules if n.startswith(f"{package}.")]:
            monkeypatch.delitem(sys.modules, name)


@pytest.mark.slow
def test_a_tiny_run_without_peers(alone, tmp_path, capsys):
    out = tmp_path / "deep" / "peers.json"
    peers.main(["rounds", "batches", "--tiny", "--out", str(out)])
    found, said = json.loads(out.read_text()), capsys.readouterr().out
    assert found["absent"] == sorted(peers_others.PEERS)
    assert all(f"{package} is not installed" in said for package in peers_others.PEERS)
    assert {r["way"] for r in found["rounds"]} == set(peers_rounds.OURS)
    assert all(r["microseconds"]["quartile_1"] > 0.0 for r in found["rounds"])
    assert {(r["replicas"], r["rounds"]) for r in found["batches"]} == {(1, 100), (2, 100)}
    assert found["machine"]["cores"] >= 1


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
    pytest.importorskip(package)
    of, _ = peers_others.PEERS[package]
    gains, case = dict[str, float](), Case(3, 5, 300)
    by_turns(of(case, gains), 1, warm=False)
    assert all(np.isfinite(g) and g > case.y.mean() for g in gains.values())
