"""`make bench-peers`: evenhand beside loops by hand and other libraries, its growth and the floors of its kernels.

All figures are seconds of a core, by turns in one run, with the median and the quartiles of their repeats.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import peers_batches, peers_floors, peers_growth, peers_late, peers_machine, peers_rounds

PARTS = ("rounds", "batches", "growth", "late", "floors")


class Size(NamedTuple):
    """How much is measured: rounds of a turn, replica-rounds of a turn, turns, and what is varied."""

    rounds: int
    effort: int
    times: int
    cases: tuple[tuple[int, int], ...]
    replicas: tuple[int, ...]
    axes: tuple[peers_growth.Axis, ...]
    horizon: int
    late_times: int


FULL = Size(2000, 4000, 9, peers_rounds.SIZES, peers_batches.REPLICAS, peers_growth.AXES, 4000, 3)
TINY = Size(40, 100, 2, ((3, 4),), (1, 2), peers_growth.TINY, 100, 1)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--tiny", action="store_true", help="a run that shows that everything works")
    parser.add_argument("--out", type=Path, default=Path("out/bench/peers.json"), help="where the figures are written")
    asked = parser.parse_args(arguments)
    unknown = sorted(set(asked.parts) - set(PARTS))
    if unknown:
        parser.error(f"parts: expected some of {', '.join(PARTS)}, got {', '.join(unknown)}")
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    found = run(TINY if asked.tiny else FULL, tuple(asked.parts))
    asked.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"\nwritten to {asked.out}")


def run(size: Size, parts: tuple[str, ...]) -> dict[str, Any]:
    """Measure some parts, print their tables and return the figures."""
    found: dict[str, Any] = {"machine": peers_machine.stand()}
    stand = found["machine"]
    print(f"{stand['date']}, {stand['processor']}, {stand['cores']} cores, load {stand['load_at_start']}")
    if "rounds" in parts:
        found["rounds"], found["absent"] = peers_rounds.measured(size.rounds, size.times, size.cases)
        print("\none decision and one update; median and quartiles\n")
        print(peers_rounds.text(found["rounds"]))
        for package in found["absent"]:
            print(f"{package} is not installed, and was left out")
        print("Open Bandit Pipeline was left out, as it does not install beside this NumPy")
    if "batches" in parts:
        found["batches"] = peers_batches.measured(size.effort, size.times, size.replicas)
        print("\nruns with world and trace\n")
        print(peers_batches.text(found["batches"]))
        print("no peer runs several replicas at once")
    if "growth" in parts:
        found["growth"] = peers_growth.measured(min(size.times, 3), size.axes)
        print("\ngrowth: slopes of logarithms between the two largest sizes; ordinary loop\n")
        print(peers_growth.text(found["growth"]))
    if "late" in parts:
        found["late"] = peers_late.measured(size.horizon, size.late_times)
        print(f"\ncost of a round in the last tenth over the second tenth of {size.horizon:,} rounds, 4 replicas\n")
        print(peers_late.text(found["late"]))
    if "floors" in parts:
        found["floors"] = peers_floors.measured(max(size.replicas) // 10 or 1, size.times)
        print("\nkernels of a round beside a copy of the bytes that go in and come out\n")
        print(peers_floors.text(found["floors"]))
    stand["load_at_end"] = [round(z, 2) for z in os.getloadavg()]
    return found


if __name__ == "__main__":
    main()
