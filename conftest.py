"""Every worker of a parallel test run compiles into a folder of its own.

Two processes that compile one kernel for different arguments at once can mix up their files in a shared cache, and the
next call then runs the wrong machine code.
"""

import os
from pathlib import Path

worker = os.environ.get("PYTEST_XDIST_WORKER")
if worker:  # before anything imports numba
    os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parent / ".pytest_cache" / f"numba-{worker}")
