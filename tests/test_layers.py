"""Which folder may know which: reports draw whatever has averages, and runs know reports only when asked for one."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import evenhand
from tests.rows import for_each

HOME = Path(evenhand.__file__).parent
MODULES = {
    ".".join(path.relative_to(HOME.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(HOME.rglob("*.py"))
}


@cache
def nodes(path):
    """Everything that a file states."""
    return list(ast.walk(ast.parse(path.read_text())))


def imported(path):
    """Every module that a file imports, wherever in the file."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def modules(path):
    """What a file imports of the package, wherever in the file; a name of a package is in its `__init__`."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from inner & set(MODULES) or {node.module} & set(MODULES)


def test_no_modules_import_each_other():
    """Neither at once, nor inside of a function, nor for types alone: a circle cannot be read from its start."""
    TopologicalSorter({name: set(modules(path)) - {name} for name, path in MODULES.items()}).prepare()


def test_folders_import_those_above_them_in_the_layout():
    """The page on the architecture lists the folders in the order of their floors."""
    layout = (HOME.parent.parent / "docs" / "architecture.md").read_text().partition("## Layout")[2].split("```")[1]
    floors = re.findall(r"(\w+)/", "\n".join(line.partition("  ")[0] for line in layout.splitlines()))
    folders = {path.name for path in HOME.iterdir() if (path / "__init__.py").exists()}
    assert set(floors) == folders
    for name, path in MODULES.items():
        here = name.split(".")[1:2]
        for other in modules(path):
            there = other.split(".")[1:2]
            if here and there and here[0] in floors and there[0] in floors:
                assert floors.index(there[0]) <= floors.index(here[0]), f"{name} imports {other}"


def test_rooms_of_campaigns_import_those_before_them():
    rooms = ["log", "stores", "fold", "worker", "dashboard", "campaigns", "leases", "http"]
    assert {path.name for path in (HOME / "live").iterdir() if (path / "__init__.py").exists()} == set(rooms)
    for name, path in MODULES.items():
        for other in modules(path):
            here, there = (z.split(".")[2] for z in (f"{name}..", f"{other}.."))
            if name.startswith("evenhand.live.") and other.startswith("evenhand.live.") and here and there:
                assert rooms.index(there) <= rooms.index(here), f"{name} imports {other}"


def test_no_file_is_longer_than_500_lines():
    assert not {name for name, path in MODULES.items() if len(path.read_text().splitlines()) > 500}


# What other packages keep for themselves, though its name does not say so.
INTERNAL = ("numba.core", "numba.np", "uvicorn.protocols", "uvicorn.server", "starlette._")
# The files that rely on it, and why they have to.
RELIES = {
    "evenhand.core.machine_code": "nothing public compiles a kernel with its parts, or names its entry in the cache",
    "evenhand.core.pointers": "nothing public finds a method of a view by its type, or reads a view by a pointer",
}


def private(path):
    """What a file uses of other packages that is not public: modules, names that it imports, names of modules."""
    outside = {}  # what a name stands for
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            outside |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            outside |= {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
    strange = (sys.stdlib_module_names - {"__future__"}) | {"evenhand"}
    outside = {name: of for name, of in outside.items() if of.partition(".")[0] not in strange}
    yield from (of for of in outside.values() if of.startswith(INTERNAL) or re.search(r"(^|\.)_(?!_)", of))
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and re.match("_(?!_)", node.attr):
            module = outside.get(getattr(node.value, "id", ""))
            yield from () if module is None else (f"{module}.{node.attr}",)


def test_private_parts_of_other_packages_are_used_in_files_that_say_so():
    """A subclass of such a part has to import it; what a subclass of a public one overrides is not looked at."""
    found = {name: sorted(set(private(path))) for name, path in MODULES.items()}
    assert {name for name, each in found.items() if each} == set(RELIES), {n: e for n, e in found.items() if e}


def test_private_parts_are_found(tmp_path):
    path = tmp_path / "one.py"
    lines = ["from uvicorn.protocols.http.flow_control import FlowControl", "import numba as nb, numpy as np"]
    lines += ["from numba import _dynfunc", "x = nb._lib, np.__version__, np.linalg, self._own"]
    path.write_text("\n".join(lines))
    assert set(private(path)) == {
        "uvicorn.protocols.http.flow_control.FlowControl",
        "numba._dynfunc",
        "numba._lib",
    }


KERNELS = "kernel", "inlined"


def functions(path):
    """The functions of a file, wherever in it, and the names of their decorators."""
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, {getattr(d, "id", "") for d in node.decorator_list}


def arguments(node):
    """The names of all arguments, with a place or by name, but for that of the object or class."""
    listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [a.arg for a in listed if a.arg not in ("self", "cls")]


def test_no_list_of_arguments_is_longer_than_eight():
    """Apart from kernels that Python and views enter, as Python hands over arrays one by one sooner than in a record.

    The `name` that all recipes take is not counted, nor are `progress` and `out`, which change no result.
    """
    calls = {True: set(), False: set()}  # by kernels, and by Python
    for name, path in MODULES.items():
        home = {a.name: node.module for node in nodes(path) if isinstance(node, ast.ImportFrom) for a in node.names}
        for node, decorators in functions(path):
            called = {getattr(n.func, "id", "") for n in ast.walk(node) if isinstance(n, ast.Call)}
            inner = bool(decorators & set(KERNELS) and node.args.args[:1] and node.args.args[0].arg != "self")
            calls[inner] |= {(home.get(z, name), z) for z in called}
    inside = calls[True] - calls[False]
    for name, path in MODULES.items():
        for node, decorators in functions(path):
            entered = decorators & set(KERNELS) and (name, node.name) not in inside
            own = [a for a in arguments(node) if a != "name" or not name.startswith("evenhand.recipes.")]
            own = [a for a in own if a not in ("progress", "out", "baseline")]  # how results are shown
            assert len(own) <= 8 or entered, f"{name}.{node.name} has {len(arguments(node))}"


SAME = {
    "abs",
    "floor",
    "isnan",
    "isinf",
    "isfinite",
    "sqrt",
    "sort",
    "argmax",
    "searchsorted",
    "count_nonzero",
}  # exact
MADE = {"empty", "zeros", "ones", "full", "empty_like", "zeros_like", "arange", "array", "inf", "nan"}
TYPES = {"int64", "uint64", "float64", "bool_", "floating"}


def test_kernels_do_arithmetic_that_python_and_machine_code_do_alike():
    """NumPy adds in an order of its own and has its own exp; a constant whole power is a product in machine code."""
    for name, path in MODULES.items():
        for node, decorators in functions(path):
            for z in ast.walk(node) if decorators & set(KERNELS) else ():
                where = f"{name}.{node.name}: {ast.unparse(z)}" if isinstance(z, ast.expr) else ""
                if isinstance(z, ast.BinOp) and isinstance(z.op, ast.Pow):
                    whole = any(isinstance(n, ast.Constant) and isinstance(n.value, int) for n in ast.walk(z.right))
                    assert not whole or isinstance(z.left, ast.Constant), f"{where}: write a product, or a real power"
                elif isinstance(z, ast.Attribute) and getattr(z.value, "id", "") == "np":
                    assert z.attr in SAME | MADE | TYPES | {"argsort"}, f"{where}: use math, or a loop"
                elif isinstance(z, ast.Call):
                    called = getattr(z.func, "attr", "")
                    assert called not in {"sum", "dot", "mean", "prod", "cumsum"}, f"{where}: use total or dot"
                    stable = [ast.unparse(k.value) for k in z.keywords] == ["'mergesort'"]
                    assert stable or called != "argsort", f"{where}: ties may differ"


def test_kernels_write_no_array_to_a_slice():
    """It would compile Numba's message about shapes, which takes almost two seconds of a process; a number does not."""
    for name, path in MODULES.items():
        for node, decorators in functions(path):
            for z in ast.walk(node) if decorators & set(KERNELS) else ():
                targets = z.targets if isinstance(z, ast.Assign) else [getattr(z, "target", None)]
                whole = [t for t in targets if isinstance(t, ast.Subscript) and isinstance(t.slice, ast.Slice)]
                where = f"{name}.{node.name}: {ast.unparse(z)}: write a loop"
                assert not whole or not any(isinstance(n, ast.Name) and n.id != "np" for n in ast.walk(z.value)), where


@for_each("path", sorted((HOME / "report").glob("*.py")), ids=lambda p: p.name)
def test_reports_know_nothing_of_runs(path):
    assert not [m for m in imported(path) if m.startswith(("evenhand.run", "evenhand.experiments", "evenhand.replay"))]


def test_a_trace_brings_no_report():
    code = "import evenhand.run.trace, sys; print([m for m in sys.modules if m.startswith('evenhand.report.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['evenhand.report.summary']")  # `run.optimum` needs a standard error


@pytest.mark.parametrize("path", sorted((HOME / "experiments").glob("*/__init__.py")), ids=lambda p: p.parent.name)
def test_what_an_experiment_is_needs_nothing_heavy(path):
    light = ("__future__", "collections", "dataclasses", "typing", "evenhand.core", "evenhand.experiments")
    assert all(m.startswith(light) for m in imported(path))


def test_without_matplotlib_pictures_say_what_to_install():
    """Whatever module of the pictures is the first to be imported."""
    code = """
import sys
sys.modules["matplotlib"] = None
import evenhand as eh
from importlib import import_module
for module in ("planes", "plots", "scales", "style"):
    try:
        import_module(f"evenhand.report.{module}")
    except eh.core.errors.MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["plots need an optional dependency: pip install 'evenhand[plot]'"] * 4
