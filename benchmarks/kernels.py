"""What kernels cost to compile and to read: the constants of `evenhand.core.kernel`.

`python -m benchmarks.kernels` compiles what common policies need, for some two minutes of one core.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np

from evenhand.core import kernel
from evenhand.core.kernel import kernels
from evenhand.run.ahead_of_time import common

READ = """
import time
from evenhand.core import machine_code
from evenhand.core.kernel import kernels
from evenhand.run.ahead_of_time import common
took, compile = [], machine_code.Code.compile
def timed(self, sig):
    began = time.thread_time()
    found = compile(self, sig)
    took.append(time.thread_time() - began)
    return found
machine_code.Code.compile = timed
with kernels("compiled"):
    for job in common().values():
        job()
print(sorted(took)[len(took) // 2])
"""
LOAD = """
import time, numpy
began = time.process_time()
import numba.core.registry, numba.np.linalg, numba.experimental.structref
print(time.process_time() - began)
"""


def main() -> None:
    """Print each constant as it is and as it is measured."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        measure()


def measure() -> None:
    """Compile, and read what was compiled, where nothing is yet."""
    from evenhand.core import machine_code  # imports Numba, which reads the environment then

    bytes_, took = list[float](), list[float]()

    def measured(price: float, seconds: float) -> None:
        bytes_.append(price / kernel.PRICE)
        took.append(seconds)

    machine_code.record_time = measured
    with kernels("compiled"):
        for job in common().values():
            job()
    x, y = np.array(bytes_), np.array(took)
    found = y.sum() / x.sum()
    print(f"compiled {len(x)} kernels in {y.sum():.1f} CPU s; price over what it took, by kernel, in tenths:")
    print(np.quantile(kernel.PRICE * x / y, np.linspace(0.1, 0.9, 9)).round(2))
    print(f"PRICE {kernel.PRICE:.2g}, measured {found:.2g} (a second per byte)")
    for name, code in (("READ", READ), ("LOAD", LOAD)):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        print(f"{name} {getattr(kernel, name):.2g}, measured {float(done.stdout):.2g}")


if __name__ == "__main__":
    main()
