"""The table of CONTRIBUTING.md is true: it says all that a newcomer has to touch, for every kind of part."""

import ast
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.newcomers import NEWCOMERS

ROOT = Path(__file__).parents[2]
PACKAGE, NEW = Path("src/evenhand"), Path("tests/newcomers")
MOST = (3, 5)  # files and places
CONTRACTS = {  # by kind: the test of its contract, and how it names a part if not by its class
    "model": ("test_models_keep_their_contract", ""),
    "goal": ("test_goals_keep_their_contract", ""),
    "choice": ("test_choices_keep_their_contract", ""),
    "environment": ("test_environments_keep_their_contract", ""),
    "objective": ("test_objectives_keep_their_contract", ""),
    "constraint": ("test_constraints_keep_their_contract", ""),
    "set": ("test_sets_keep_their_contract", ""),
    "recipe": ("test_recipes_keep_the_contract_of_a_policy", ""),
    "oracle": ("test_capacities_and_holes_are_kept", "first_fit"),
    "curve": ("test_guarantees_hold", "square_root"),
    "store": ("test_every_kind_of_store_keeps_to_the_contract", ""),
    "estimator": ("test_estimators_keep_their_contract", ""),
    "section of the page": ("test_sections_keep_their_contract", ""),
}
TESTS = [
    "src/evenhand/offline/estimators/base.py",
    "tests/live/dashboard/test_sections.py",
    "tests/live/stores/test_stores.py",
    "tests/optima/test_optima.py",
    "tests/problem/test_constraints.py",
    "tests/recipes/test_names.py",
    "tests/core/test_catalogue.py",
    "tests/contracts/test_discovery.py",
    "tests/test_layers.py",
    "tests/core/test_registry.py",
    "tests/welfare/test_oracles.py",
]
# tests of all parts of a kind, or of all files
WHOLE = "every or kinds or rows_are or folders or import_each_other or all_estimators"
DEAR = "postgresql or no_code_asks or every_recipe_keeps"  # a server, every file several times, every recipe


BY_NAME = """
from evenhand.choices.base import Choice
from evenhand.core.arguments import kinds
from evenhand.core.registry import exports
from evenhand.live.stores import opening
from evenhand.models.base import Model
from evenhand.objectives import Objective
from evenhand.logs.problem_file import constraint_kinds
from evenhand.sets import ConvexSet

files = {hint.__name__: kinds(hint) for hint in (Choice, Model, Objective, ConvexSet)}
files |= {"constraint": constraint_kinds(), "recipe": exports("evenhand.recipes"), "store": opening.kinds()}
wanted = "play_last", "same_for_all", "on_target", "orthant", "at_most", "in_turn", "process"
for (kind, names), name in zip(files.items(), wanted, strict=True):
    assert name in names, (kind, name)
"""


class Line(NamedTuple):
    """One line of the table, with paths from the root of the repository."""

    folder: Path
    export: tuple[str, Path | None]  # the list of exports, if an import is not enough, and its file
    example: tuple[str, Path]
    count: tuple[int, int]


def list_and_file(cell, home=PACKAGE):
    """The name, if there is one, and the file that a cell states as code."""
    words = re.findall(r"`([^`]+)`", cell)
    names, paths = [w for w in words if "/" not in w], [home / w for w in words if "/" in w]
    return (names or [""])[0], paths[0] if paths else None


def table():
    """The lines of the table by kind of part."""
    found = {}
    for text in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if len(cells) == 5 and re.fullmatch(r"\d+ / \d+", cells[4]):
            kind, folder, export, example, count = cells
            files, places = map(int, count.split("/"))
            where = list_and_file(folder)[1], list_and_file(export), list_and_file(example, Path())
            found[kind] = Line(*where, (files, places))
    return found


TABLE = table()


def assignments(text):
    """The names and values that a module assigns, where a value is written as a list, a tuple or a mapping."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List | ast.Tuple | ast.Dict):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield getattr(target, "id", ""), node.value


def insert(path, name, entry):
    """Put an entry into the list, tuple or mapping of this name."""
    text = path.read_text(encoding="utf-8")
    at = next(value for assigned, value in assignments(text) if assigned == name)
    lines = text.splitlines(keepends=True)
    row, column = at.lineno - 1, at.col_offset + 1
    lines[row] = f"{lines[row][:column]}{entry}, {lines[row][column:]}"
    path.write_text("".join(lines), encoding="utf-8")


def insert_import(path, imported):
    """Put an import before the first one of the package."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith("from evenhand"))
    lines.insert(first, f"{imported}\n")
    path.write_text("".join(lines), encoding="utf-8")


def add(root, kind):
    """Add a part of a kind to a copy of the repository, as its line of the table says."""
    line, (module, name, entry) = TABLE[kind], NEWCOMERS[kind]
    shutil.copy(ROOT / NEW / f"{module}.py", root / line.folder)
    listed, file = line.export
    if file is not None:
        place = ".".join((line.folder.relative_to("src") / module).parts)
        if listed:
            insert(root / file, listed, f'"{name}"' if listed == "__all__" else name)
        insert_import(root / file, f"from {place} import {name} as {name}")
    insert(root / line.example[1], line.example[0], entry)


def touched(before, after):
    """How many files two trees differ in, and in how many places; a new file is one."""
    assert not set(before) - set(after)
    changed = [path for path in after if before.get(path) != after[path]]
    places = 0
    for path in changed:
        lines = before.get(path, "").splitlines(), after[path].splitlines()
        places += sum(
            step[0] != "equal" for step in difflib.SequenceMatcher(None, *lines, autojunk=False).get_opcodes()
        )
    return len(changed), places


def texts(root):
    """All text of the package and its tests by path."""
    paths = [*(root / "src").rglob("*.py"), *(root / "tests").rglob("*.py")]
    return {path.relative_to(root): path.read_text(encoding="utf-8") for path in paths}


def run(root, *arguments):
    """Python with a copy, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A copy of the repository, with machine code, and what each kind of part touched as it was added to it."""
    root = tmp_path_factory.mktemp("newcomer")
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("*.pyc", "newcomers", "*.png", "*.csv"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, root)
    counts, before = {}, texts(root)
    for kind in TABLE:
        add(root, kind)
        after = texts(root)
        counts[kind], before = touched(before, after), after
    return root, counts


def test_every_kind_of_the_table_is_tried():
    assert list(TABLE) == list(NEWCOMERS) == list(CONTRACTS)


@pytest.mark.slow
def test_the_table_counts_what_is_touched(added):
    _, counts = added
    assert {kind: line.count for kind, line in TABLE.items()} == counts
    assert all(files <= MOST[0] and places <= MOST[1] for files, places in counts.values())


@pytest.mark.slow
def test_new_parts_are_found_and_keep_the_contract_of_their_kind(added):
    names = {kind: CONTRACTS[kind][1] or name for kind, (_, name, _) in NEWCOMERS.items()}
    wanted = " or ".join([*names.values(), WHOLE])
    options = ("-rA", "-m", "not slow", "-k", f"({wanted}) and not ({DEAR})")
    done = run(added[0], "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", *options, *TESTS)
    assert done.returncode == 0, done.stdout[-4000:]
    passed = [line.partition("[") for line in done.stdout.splitlines() if line.startswith("PASSED")]
    for kind, name in names.items():
        assert [case for test, _, case in passed if test.endswith(CONTRACTS[kind][0]) and name in case], name


@pytest.mark.slow
def test_new_parts_are_listed(added):
    done = run(added[0], "-m", "evenhand", "systems", "--json")
    listed = {(part["kind"], part["name"]) for part in json.loads(done.stdout)}
    kinds = "choice", "model", "goal", "objective", "constraint", "set", "environment", "recipe", "oracle", "estimator"
    for kind in kinds:
        assert ({"oracle": "welfare"}.get(kind, kind), NEWCOMERS[kind][1]) in listed


@pytest.mark.slow
def test_files_can_name_new_parts(added):
    done = run(added[0], "-c", BY_NAME)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_an_export_without_an_example_is_named(added):
    root = added[0].parent / f"{added[0].name}-without"
    shutil.copytree(added[0], root)
    for path in {line.example[1] for line in TABLE.values()}:
        shutil.copy(ROOT / path, root / path)
    done = run(
        root,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "-k",
        "has_an_example",
        "tests/contracts/test_discovery.py",
    )
    assert done.returncode == 1
    for _, name, _ in NEWCOMERS.values():
        assert re.search(rf"^E .*'{name}'", done.stdout, re.MULTILINE), name
