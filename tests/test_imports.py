import subprocess
import sys

CODE = """
import sys
import evenhand, evenhand.policy.policy, evenhand.recipes, evenhand.environments
import evenhand.goals, evenhand.objectives, evenhand.testing
assert evenhand.Concave.__module__ == "evenhand.objectives.convex"  # which needs cvxpy
from evenhand.core.kernel import Kernel
print([m for m in ("scipy.optimize", "matplotlib", "pandas", "cvxpy", "sklearn") if m in sys.modules])
print([(m, n) for m, k in list(sys.modules.items()) if m.startswith("evenhand")
       for n, f in vars(k).items() if isinstance(f, Kernel) and f.calls_code])
"""


def test_importing_brings_neither_scipy_optimize_nor_matplotlib_and_compiles_nothing():
    """Both cost more than all the rest, and most runs need neither; kernels are compiled when they are first used."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]
