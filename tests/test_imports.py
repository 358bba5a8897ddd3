import subprocess
import sys

import pytest

PARTS = ["", ".policy.policy", ".recipes", ".environments", ".goals", ".objectives", ".testing"]


@pytest.mark.parametrize("part", PARTS)
def test_importing_brings_neither_scipy_optimize_nor_matplotlib(part):
    """Both cost more than everything else together, and most runs need neither."""
    heavy = "'scipy.optimize', 'matplotlib', 'pandas', 'cvxpy', 'sklearn'"
    code = f"import sys, evenhand{part}; print([m for m in ({heavy}) if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_compiles_nothing():
    """Kernels are compiled when first used, also where nothing is cached yet."""
    code = (
        "import evenhand.policy.policy, evenhand.recipes, evenhand.environments, evenhand.testing, sys\n"
        "from numba.core.registry import CPUDispatcher\n"
        "found = [(m, n) for m, k in list(sys.modules.items()) if m.startswith('evenhand')\n"
        "         for n, f in vars(k).items() if isinstance(f, CPUDispatcher) and f.signatures]\n"
        "print(found)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
