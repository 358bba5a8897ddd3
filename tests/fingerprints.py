"""Print a digest of what every recipe, a campaign and a replay do, in the way of running kernels that is asked for."""

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.live_worlds import case, opened
from evenhand.core import kernel
from evenhand.live.worker.batches import Deciding
from evenhand.replay import replay_log
from evenhand.run import simulate
from tests.examples.recipes import RECIPES
from tests.replay import shop


def digest(value):
    """A hash of all arrays in a value, bit for bit."""
    found = hashlib.sha256()

    def add(z):
        if isinstance(z, np.ndarray):
            found.update(repr((z.dtype.str, z.shape)).encode() + z.tobytes())
        elif isinstance(z, tuple | list):
            for inner in z:
                add(inner)
        elif isinstance(z, dict):
            for key in sorted(z):
                found.update(str(key).encode())
                add(z[key])
        elif hasattr(z, "__dataclass_fields__"):
            for name in z.__dataclass_fields__:
                found.update(name.encode())
                add(getattr(z, name))
        elif isinstance(z, bool | int | float | str | np.generic):
            found.update(repr(float(z) if isinstance(z, float) else z).encode())

    add(value)
    return found.hexdigest()[:16]


def campaign(folder, rounds=40):
    """What a campaign decides that starts anew after every ten cases, with late outcomes and a batch at one state."""
    said, path = [], folder / "campaign.db"
    place = opened(path)
    for i in range(rounds):
        if i % 10 == 0:
            place = opened(path)
        said.append(place.decide(case(i), key=f"{i}"))
        if i >= 7:
            place.observe(said[i - 7].id, {"answer": i % 3 == 0})
    said += place.many([Deciding(case(i), f"{i}", frozen=True) for i in range(rounds, 2 * rounds)])
    return [(reply.actions, reply.probabilities, reply.explanation) for reply in said]


def replay(folder):
    """What a policy gains in a replay of a log."""
    return replay_log(*shop.write(folder, shop.rows(400)), replicas=2, bootstrap=2, progress=False).results().rows


OTHERS = {"campaign": campaign, "replay": replay}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[*RECIPES, *OTHERS])
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--price", type=float, help="what a byte of code costs, for kernels that change in the middle")
    parser.add_argument("--blocks", action="store_true")
    given = parser.parse_args()
    if given.price is not None:
        kernel.PRICE, kernel.READ, kernel.LOAD = given.price, 0.0, 0.0
    for name in given.names:
        if name in OTHERS:
            with tempfile.TemporaryDirectory() as folder:
                print(name, digest(OTHERS[name](Path(folder))), flush=True)
            continue
        for i, (policy, world) in enumerate(RECIPES[name]):
            trace = simulate(
                policy, world, replicas=given.replicas, seed=5, record="all", progress=False, compiled=given.blocks
            )
            print(name, i, digest(trace), flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
