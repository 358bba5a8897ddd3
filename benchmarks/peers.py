"""`make bench-peers`: evenhand beside loops by hand and other libraries, its growth and the floors of its kernels.

All figures are seconds of a core, by turns in one run, with the median and the quartiles of their repeats.
"""

from __future__ import annotations

import argparse
import importlib.util
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
    found: dict[str, Any] = {"machine": peers_machine.stand()}
    print(peers_machine.text(found["machine"]), flush=True)
    for part in asked.parts:
        found |= measured(part, TINY if asked.tiny else FULL)
        found["machine"]["load_at_end"] = [round(z, 2) for z in os.getloadavg()]
        asked.out.write_text(json.dumps(found, indent=1) + "\n")
        print(f"\n{title(part, found)}\n\n{tables(part, found)}", flush=True)
    print(f"\nload at the end {found['machine']['load_at_end']}; written to {asked.out}")
    if {"rounds", "batches"} <= set(found) and importlib.util.find_spec("matplotlib"):
        from benchmarks import peers_picture

        print(f"drawn to {peers_picture.save_beside(asked.out)}")


def measured(part: str, size: Size) -> dict[str, Any]:
    """Measure a part, and return its figures by name."""
    if part == "rounds":
        rows, absent = peers_rounds.measured(size.rounds, size.times, size.cases)
        return {"rounds": rows, "absent": absent}
    if part == "batches":
        return {"batches": peers_batches.measured(size.effort, size.times, size.replicas)}
    if part == "growth":
        return {"growth": peers_growth.measured(min(size.times, 3), size.axes)}
    if part == "late":
        return {"late": peers_late.measured(size.horizon, size.late_times)}
    return {"floors": peers_floors.measured(max(size.replicas) // 10 or 1, size.times)}


def title(part: str, found: dict[str, Any]) -> str:
    if part == "rounds":
        return "one decision and one update: median, and quartiles in brackets, as everywhere"
    if part == "batches":
        return "replica-rounds per second of a core, with world and trace"
    if part == "growth":
        return "growth: slopes of logarithms between the two largest sizes; ordinary loop, all replicas together"
    if part == "late":
        row = found["late"][0]
        return f"the last tenth over the second one of {row['horizon']:,} rounds, {row['replicas']} replicas"
    replicas = found["floors"][0]["replicas"]
    return f"kernels that take a twentieth or more of a round of {replicas} replicas, beside a copy of their bytes"


def tables(part: str, found: dict[str, Any]) -> str:
    """Return the table of a part, as it was measured."""
    if part == "rounds":
        left_out = [f"{package} is not installed, and was left out" for package in found["absent"]]
        return "\n".join([peers_rounds.text(found["rounds"]), *left_out])
    texts = {
        "batches": peers_batches.text,
        "growth": peers_growth.text,
        "late": peers_late.text,
        "floors": peers_floors.text,
    }
    return texts[part](found[part])


if __name__ == "__main__":
    main()
