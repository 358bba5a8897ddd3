"""Which folder may know which: reports draw whatever has averages, and runs know reports only when asked for one."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import evenhand

HOME = Path(evenhand.__file__).parent
MODULES = {
    ".".join(path.relative_to(HOME.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(HOME.rglob("*.py"))
}


def imported(path):
    """Every module that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def modules(path):
    """What a file imports of the package, wherever in the file; a name of a package is in its `__init__`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from inner & set(MODULES) or {node.module} & set(MODULES)


def test_no_modules_import_each_other():
    """Neither at once, nor inside of a function, nor for types alone: a circle cannot be read from its start."""
    TopologicalSorter({name: set(modules(path)) - {name} for name, path in MODULES.items()}).prepare()


@pytest.mark.parametrize("path", sorted((HOME / "report").glob("*.py")), ids=lambda p: p.name)
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
for module in ("curves", "planes", "plots", "scales", "style"):
    try:
        import_module(f"evenhand.report.{module}")
    except eh.core.errors.MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["plots need an optional dependency: pip install 'evenhand[plot]'"] * 5
