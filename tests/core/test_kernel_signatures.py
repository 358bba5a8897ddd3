"""Every kernel is compiled for one order and one type of arrays: each further one would cost users its compilation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MOST = {
    "evenhand.core.luck.uniform_within": 2,  # of whole and of real rounds
    "evenhand.core.luck.normal_within": 2,
    "evenhand.planning.fluid.solve_fluid": 3,  # without what most users do not need, which is None, and with it
    "evenhand.planning.fluid._mark_violations": 2,
}
CODE = """
import gc
from evenhand.core.kernel import kernels
from evenhand.core.machine_code import is_part
from evenhand.core.machine_code import Code
from evenhand.run import simulate
from tests.examples.recipes import RECIPES
for pairs in RECIPES.values():
    for policy, world in pairs:
        with kernels("compiled"):
            simulate(policy, world, replicas=2, seed=5)
for k in [k for k in gc.get_objects() if isinstance(k, Code)]:
    if entered := [z for z in k.overloads.values() if not is_part(z)]:
        print(f"{k.__module__}.{k.__name__}", len(entered))
"""


@pytest.mark.slow
def test_all_recipes_compile_every_kernel_once():
    command, folder = [sys.executable, "-c", CODE], Path(__file__).parents[2]
    compiled = {**os.environ, "EVENHAND_KERNELS": "compiled"}
    out = subprocess.run(command, cwd=folder, env=compiled, capture_output=True, text=True, check=True).stdout
    found = {name: int(count) for name, count in (line.split() for line in out.splitlines())}
    assert len(found) > 80
    assert {name: count for name, count in found.items() if count > MOST.get(name, 1)} == {}
