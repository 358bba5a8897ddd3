"""Machine code on disk is used as long as the text of all kernels that it was made of is the same."""

import errno
import os
import subprocess
import sys
import time

import pytest

from evenhand.core import machine_code
from evenhand.core.kernel import code_of, kernel

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
    print(float(twice({{"int": 1, "float": 1.0, "complex": 1j}}[kind]).real), twice.misses)
"""


def write(folder, *, number=1, step=0.0, doc="Add.", call="add"):
    (folder / "inner.py").write_text(INNER.format(number=number, step=step, doc=doc))
    (folder / "outer.py").write_text(OUTER.format(call=call))


def apart(folder):
    """The environment of processes that compile, keep kernels in a folder, and no bytecode, which can hide an edit."""
    own = {"EVENHAND_KERNELS": "compiled", "NUMBA_CACHE_DIR": str(folder / "kernels"), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **own}


def start(folder, *kinds):
    environment = apart(folder)
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


@pytest.mark.parametrize("data", [None, b"cevenhand.moved\nkernel\n.", b"cevenhand.core.kernel\nmoved\n."])
def test_a_damaged_file_or_one_of_a_version_with_other_names_is_compiled_anew(data, tmp_path):
    write(tmp_path)
    run(tmp_path, "float")
    files = list((tmp_path / "kernels").rglob("*.nbc"))
    assert files
    for file in files:
        file.write_bytes(data or file.read_bytes()[:100])
    assert run(tmp_path, "float") == [(4.0, 1)]


@pytest.mark.slow
def test_of_processes_that_need_a_kernel_at_once_one_compiles_it(tmp_path):
    write(tmp_path)
    at_once = [start(tmp_path, "float") for _ in range(3)]
    said = sorted(process.communicate()[0] for process in at_once)
    assert said == ["4.0 0\n", "4.0 0\n", "4.0 1\n"]


BOTH = """
import sys
from inner import add
from outer_of import twice

for name in sys.argv[1:]:
    kernel = {"add": add, "twice": twice}[name]
    print(float(kernel(1.0)), kernel.misses)
"""
OUTER_OF = """
from evenhand.core.kernel import kernel
from inner import add

@kernel
def twice(x):
    return add(x) + add(x)
"""


def orders(folder, *names):
    (folder / "outer_of.py").write_text(OUTER_OF)
    (folder / "both.py").write_text(BOTH)
    environment = apart(folder)
    command = [sys.executable, "both.py", *names]
    out = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [tuple(float(z) for z in line.split()) for line in out.splitlines()]


def test_a_part_of_a_kernel_is_compiled_for_python_when_python_calls_it(tmp_path):
    write(tmp_path)
    assert orders(tmp_path, "twice", "add") == [(4.0, 1), (2.0, 2)]  # as a part, and for Python
    assert orders(tmp_path, "add", "twice") == [(2.0, 0), (4.0, 0)]


def test_a_kernel_on_disk_becomes_a_part_and_is_called_by_python_too(tmp_path):
    write(tmp_path)
    assert orders(tmp_path, "add") == [(2.0, 1)]
    assert orders(tmp_path, "twice", "add", "twice") == [(4.0, 1), (2.0, 0), (4.0, 1)]


def test_errors_within_parts_reach_python(tmp_path):
    write(tmp_path)
    (tmp_path / "inner.py").write_text(
        "from evenhand.core.kernel import kernel\n\n@kernel\ndef add(x):\n"
        "    if x > 0:\n        raise ValueError('too large')\n    return x\n"
    )
    (tmp_path / "outer_of.py").write_text(OUTER_OF)
    code = "from outer_of import twice\ntry:\n    twice(1.0)\nexcept ValueError as error:\n    print(error)"
    environment = apart(tmp_path)
    for _ in range(2):  # compiled, and from disk
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == "too large\n"


STRANGE = """
import numba
from evenhand.core.kernel import kernel

@numba.njit
def helper(x):
    return x + 1.0

@kernel
def of_others(x):
    return helper(x) + 1.0

@kernel
def even(n):
    return True if n == 0 else odd(n - 1)

@kernel
def odd(n):
    return False if n == 0 else even(n - 1)

@kernel
def power(x, n):
    return x * 1.0 if n == 0 else x * power(x * 1.0, n - 1)

@kernel
def refuse(n):
    if n > 1:
        raise ValueError(n)
    return n

@kernel
def asks(n):
    return refuse(n) + refuse(n)

print(of_others(1.0), helper(1.0), even(10), odd(3), power(2, 2))
for _ in range(2):
    try:
        asks(3)
    except ValueError as error:
        print(error)
"""


def test_kernels_that_call_functions_of_others_or_themselves_are_left_to_numba(tmp_path):
    (tmp_path / "strange.py").write_text(STRANGE)
    environment = apart(tmp_path)
    for _ in range(2):  # compiled, and from disk
        command = [sys.executable, "strange.py"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == ["3.0 2.0 True True 8.0", "3", "3"]


@pytest.fixture
def refuses(monkeypatch, tmp_path):
    """A kernel that was never compiled before."""

    @kernel
    def part(n):
        if n > 1:
            raise ValueError(n)
        return n

    @kernel
    def whole(n):
        return part(n) + 1

    whole = code_of(whole)
    monkeypatch.setattr(whole._cache._cache_file, "folder", tmp_path)
    return whole


def test_a_full_disk_fails_no_call(refuses, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(machine_code._Entries, "save", full)
    assert refuses(1) == 2
    with pytest.raises(ValueError, match=r"^5$"):
        refuses(5)


def test_nobody_waits_for_a_lock_where_there_are_none(refuses, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    def never(_):
        raise AssertionError("waits")

    monkeypatch.setattr(machine_code.fcntl, "lockf", none)
    monkeypatch.setattr(time, "sleep", never)
    assert refuses(1) == 2
