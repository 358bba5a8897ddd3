"""One decision and one update: evenhand beside loops by hand and other libraries, by turns in one run."""

from __future__ import annotations

from typing import Any

from benchmarks import peers_evenhand, peers_loops
from benchmarks.peers_case import Case
from benchmarks.peers_loops import NUMPY
from benchmarks.peers_others import DIFFERENCES, PEERS
from benchmarks.peers_turns import Spread, Way, by_turns, ratios, spread
from evenhand.report.summary import table

SIZES = ((3, 10), (3, 50), (10, 10), (10, 50))  # actions, features
OURS = {
    NUMPY: "LinUCB, inverses updated; no checks, books or ties",
    peers_loops.CALLS: "the same, compiled; Python calls act and learn",
    peers_loops.LOOP: "the same, compiled with the loop over rounds",
    peers_evenhand.ARRAYS: "LinUCB; checks, receipts, books, propensities and ties drawn by a seed",
    peers_evenhand.NAMES: "the same, cases and outcomes by name; encodes, with an intercept",
    peers_evenhand.PLANNER: "`resolving` with its default model by names: fits and estimates its penalty",
    peers_evenhand.BLOCKS: "the same in compiled blocks of rounds, with its world and its trace",
}


def measured(
    rounds: int, times: int, sizes: tuple[tuple[int, int], ...] = SIZES
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a row per size and way, and the packages that are absent."""
    rows: list[dict[str, Any]] = []
    absent: set[str] = set()
    for actions, features in sizes:
        case, gains = Case(actions, features, rounds), dict[str, float]()
        ways: dict[str, Way] = peers_loops.ways(case, gains) | peers_evenhand.ways(case, gains)
        played = dict.fromkeys(ways, rounds)
        for package, (of, fewer) in PEERS.items():
            short = Case(actions, features, max(rounds // fewer, 20))
            try:
                theirs = of(short, gains)
            except ImportError:
                absent.add(package)
                continue
            ways |= theirs
            played |= dict.fromkeys(theirs, short.rounds)
        seconds = {k: [1e6 * s / played[k] for s in each] for k, each in by_turns(ways, times).items()}
        rows += [
            {
                "actions": actions,
                "features": features,
                "way": name,
                "does": (OURS | DIFFERENCES)[name],
                "rounds": played[name],
                "microseconds": spread(Spread.of(each)),
                "times_numpy": spread(ratios(each, seconds[NUMPY])),
                "mean_outcome": round(gains[name], 4),
            }
            for name, each in seconds.items()
        ]
    return rows, sorted(absent)


def text(rows: list[dict[str, Any]]) -> str:
    head = ["", "A", "n", "microseconds a round", "times the NumPy loop", "outcome"]
    cells = [
        [
            r["way"],
            str(r["actions"]),
            str(r["features"]),
            Spread(*r["microseconds"].values()).text(),
            Spread(*r["times_numpy"].values()).text(2),
            f"{r['mean_outcome']:.3f}",
        ]
        for r in rows
    ]
    return table(head, cells)
