import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
# Other packages that are slow to import.
SLOW = ("numba", "llvmlite", "scipy", "joblib", "tqdm", "multiprocessing", "asyncio", "matplotlib", "pandas", "cvxpy",
        "sklearn")  # fmt: skip
CODE = """
import sys
import evenhand, evenhand.policy.policy, evenhand.recipes, evenhand.environments
import evenhand.goals, evenhand.objectives, evenhand.testing
assert evenhand.objectives.Concave.__module__ == "evenhand.objectives.convex"  # which needs cvxpy
from evenhand.core.kernel import Kernel
print([(m, n) for m, k in list(sys.modules.items()) if m.startswith("evenhand")
       for n, f in vars(k).items() if isinstance(f, Kernel) and f.calls_code])
"""
ALL = "import evenhand.live, evenhand.offline, evenhand.replay, evenhand.run, evenhand.testing"


def printed(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    return done.stdout.splitlines()


def imported(code: str, among: tuple[str, ...]) -> list[str]:
    """Which of some modules are there after some code."""
    *_, found = printed(f"{code}\nimport sys\nprint(*sys.modules)")
    return [name for name in among if name in found.split()]


def test_importing_compiles_nothing():
    """Kernels are compiled when they are first used."""
    assert printed(CODE) == ["[]"]


def test_importing_everything_brings_nothing_that_only_some_calls_use():
    assert imported(ALL, SLOW) == []


def test_the_script_of_readme_imports_only_what_it_uses():
    """A first decision waits for no module of simulations, pictures or campaigns, and for none of other packages."""
    script, few = re.subn(r"range\(600\)", "range(2)", README.partition("```python\n")[2].partition("```")[0])
    assert few == 1
    assert imported(script, (*SLOW, "evenhand.run", "evenhand.report", "evenhand.live")) == []
