"""What is installed for `make test` is enough for it, and nothing is skipped where everything is installed."""

import ast
import re
import runpy
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = {"evenhand", "tests", "benchmarks", "examples"}
BROUGHT = {"llvmlite", "markupsafe"}  # by Numba and Jinja


def packages(extra):
    """The packages of an extra, and of those that it includes."""
    found = set()
    for line in PROJECT["optional-dependencies"][extra]:
        name, _, more = re.match(r"([\w.-]+)(\[([\w,]+)\])?", line).groups()
        found |= {p for part in more.split(",") for p in packages(part)} if name == "evenhand" else {name}
    return found


def of_head(path):
    """The packages that a file imports as soon as it is imported."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]


def seem(path):
    """The same by the beginnings of lines, which takes no time, and finds words of texts as well."""
    return set(re.findall(r"^(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_files_import_at_their_head_only_what_make_test_installs():
    """A test of another package gets it by `pytest.importorskip`: CI, which has all, would not notice."""
    core = {re.match(r"[\w-]+", line).group() for line in PROJECT["dependencies"]}
    there = core | packages("test")
    found = {module: {z.lower().replace("_", "-") for z in names} for module, names in packages_distributions().items()}
    known = {module for module, names in found.items() if there & names}
    known |= OURS | BROUGHT | sys.stdlib_module_names
    paths = [p for folder in ("src", "tests") for p in (ROOT / folder).rglob("*.py") if p.name != "__main__.py"]
    heads = {str(path.relative_to(ROOT)): set(of_head(path)) - known for path in paths if seem(path) - known}
    assert {path: names for path, names in heads.items() if names} == {}


def test_the_sets_contain_each_other():
    assert packages("plot") < packages("test") < packages("dev")
    assert packages("all") | packages("docs") < packages("ci") < packages("dev")


def test_a_package_that_is_missing_is_an_error_where_everything_is_installed(monkeypatch):
    monkeypatch.setattr(pytest, "importorskip", None)
    monkeypatch.delenv("EVENHAND_EXTRAS", raising=False)
    runpy.run_path(str(ROOT / "tests" / "conftest.py"))
    assert pytest.importorskip is None
    monkeypatch.setenv("EVENHAND_EXTRAS", "all")
    runpy.run_path(str(ROOT / "tests" / "conftest.py"))
    assert pytest.importorskip("json.decoder", reason="needs it") is sys.modules["json.decoder"]
    with pytest.raises(ModuleNotFoundError):
        pytest.importorskip("no_such_package", reason="needs it")


def test_make_check_and_ci_have_everything():
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert (
        "\ncheck: $(VENV)/.dev\n\tEVENHAND_EXTRAS=all $(BIN)/python $(PYTEST) -n 3 --durations 40 --durations-min 5\n"
        in rules
    )
    assert "\nmake -j 2 packages check\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
