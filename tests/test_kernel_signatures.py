"""Every kernel is compiled for one order and one type of arrays: each further one would cost users its compilation."""

import subprocess
import sys
from pathlib import Path

import pytest

COUNTED = {
    "evenhand.core.luck.uniform_within",
    "evenhand.core.luck.normal_within",
}  # of whole and real rounds
CODE = """
import gc
from evenhand.core.kernel import kernels
from evenhand.core.machine_code import Code
from evenhand.run import simulate
from tests.examples.recipes import RECIPES
for pairs in RECIPES.values():
    for policy, world in pairs:
        with kernels("compiled"):
            simulate(policy, world, replicas=2, seed=5)
for k in [k for k in gc.get_objects() if isinstance(k, Code)]:
    if k.signatures:
        print(f"{k.__module__}.{k.__name__}", len(k.signatures))
"""


@pytest.mark.slow
def test_all_recipes_compile_every_kernel_once():
    command, folder = [sys.executable, "-c", CODE], Path(__file__).parent.parent
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    found = {name: int(count) for name, count in (line.split() for line in out.splitlines())}
    assert len(found) > 80
    assert {name for name, count in found.items() if count > 1} <= COUNTED
