"""Machine code on disk is used as long as the text of all kernels that it was made of is the same."""

import os
import subprocess
import sys

import pytest

INNER = """
from evenhand.core.kernel import kernel

STEP = {step}

@kernel
def add(x):
    "{doc}"
    return x + {number} + STEP
"""
OUTER = """
import sys
from evenhand.core.kernel import kernel
import inner
from inner import add

@kernel
def twice(x):
    return add(x) + {call}(x)

for kind in sys.argv[1:]:
    print(float(twice({{"int": 1, "float": 1.0, "complex": 1j}}[kind]).real), sum(twice.stats.cache_misses.values()))
"""


def write(folder, *, number=1, step=0.0, doc="Add.", call="add"):
    (folder / "inner.py").write_text(INNER.format(number=number, step=step, doc=doc))
    (folder / "outer.py").write_text(OUTER.format(call=call))


def start(folder, *kinds):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kernels")}
    command = [sys.executable, "outer.py", *kinds]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def run(folder, *kinds):
    out, _ = start(folder, *kinds).communicate()
    return [tuple(float(z) for z in line.split()) for line in out.splitlines()]


@pytest.mark.slow
def test_an_edit_of_a_kernel_elsewhere_is_seen(tmp_path):
    write(tmp_path)
    assert run(tmp_path, "float") == [(4.0, 1)]
    assert run(tmp_path, "float") == [(4.0, 0)]
    write(tmp_path, number=2)
    assert run(tmp_path, "float") == [(6.0, 1)]
    write(tmp_path, number=2, step=0.5)  # a constant that a kernel of another file reads
    assert run(tmp_path, "float") == [(7.0, 1)]
    write(tmp_path)  # as it was
    assert run(tmp_path, "float") == [(4.0, 0)]


def test_a_kernel_that_is_named_by_its_module_is_reached(tmp_path):
    write(tmp_path, call="inner.add")
    assert run(tmp_path, "float") == [(4.0, 1)]
    write(tmp_path, number=3, call="inner.add")
    assert run(tmp_path, "float") == [(8.0, 1)]


def test_docstrings_comments_and_dates_change_nothing(tmp_path):
    write(tmp_path)
    run(tmp_path, "float")
    write(tmp_path, doc="Add to x.")
    path = tmp_path / "inner.py"
    path.write_text("# a comment\n\n" + path.read_text())
    os.utime(path, (1, 1))
    assert run(tmp_path, "float") == [(4.0, 0)]


@pytest.mark.slow
def test_processes_that_compile_at_once_do_not_take_each_others_code(tmp_path):
    write(tmp_path)
    kinds = ("int", "float", "complex")
    at_once = [start(tmp_path, kind) for kind in kinds]
    for process in at_once:
        process.communicate()
    assert run(tmp_path, *kinds) == [(4.0, 0), (4.0, 0), (2.0, 0)]


def test_a_damaged_file_is_compiled_anew(tmp_path):
    write(tmp_path)
    run(tmp_path, "float")
    files = list((tmp_path / "kernels").rglob("*.nbc"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:100])
    assert run(tmp_path, "float") == [(4.0, 1)]
