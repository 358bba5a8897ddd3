"""Print a digest of what every recipe does, in the way of running kernels that the environment asks for."""

import argparse
import hashlib
import sys

import numpy as np

from evenhand.core import kernel
from evenhand.run import simulate
from tests.examples.recipes import RECIPES


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[*RECIPES])
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--price", type=float, help="what a byte of code costs, for kernels that change in the middle")
    parser.add_argument("--blocks", action="store_true")
    given = parser.parse_args()
    if given.price is not None:
        kernel.PRICE, kernel.READ, kernel.LOAD = given.price, 0.0, 0.0
    for name in given.names:
        for i, (policy, world) in enumerate(RECIPES[name]):
            trace = simulate(
                policy, world, replicas=given.replicas, seed=5, record="all", progress=False, compiled=given.blocks
            )
            print(name, i, digest(trace), flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
