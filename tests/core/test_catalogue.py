import ast
import inspect
import re
from pathlib import Path

from evenhand import recipes
from evenhand.core.catalogue import KINDS, catalogue
from tests.rows import for_each

ROOT = Path(__file__).parents[2]
ROWS = {"C": 9, "K": 8, "B": 11, "A": 8, "S": 5, "X": 6}  # of the five papers, and evenhand's own
ID = re.compile(r"(?<![\w-])(?:[ABCKS]\d{1,2}|X\d{1,2})(?![\w-])")
LOOKS = re.compile(r"C\d-*")  # of matplotlib


@for_each("row", [f"{paper}{i}" for paper, last in ROWS.items() for i in range(1, last + 1)])
def test_every_row_is_listed(row):
    assert row in {s.id for s in catalogue()}


def test_every_named_system_is_listed():
    """A system that no package of a kind exports would be missing."""
    marked = {
        (call.args[0].value, thing.name)
        for path in (ROOT / "src" / "evenhand").rglob("*.py")
        for thing in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(thing, ast.ClassDef | ast.FunctionDef)
        for call in thing.decorator_list
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "named"
    }
    missing = sorted(marked - {(s.id, s.name) for s in catalogue()})
    assert not missing, f"export {missing} where CONTRIBUTING.md says"
    assert marked == {(s.id, s.name) for s in catalogue()}


STATED = [s for s in catalogue() if s.kind == "recipe"]


def test_every_recipe_is_listed():
    assert sorted(s.name for s in STATED) == sorted(recipes.__all__)


@for_each("system", STATED, ids=lambda s: s.name)
def test_every_recipe_states_its_guarantee_with_the_conditions_or_says_that_there_is_none(system):
    """A number of a theorem is not enough: a bound as a formula, after what it takes for granted."""
    _, found, text = inspect.getdoc(getattr(recipes, system.name)).partition("Guarantee: ")
    assert found, "no line `Guarantee:`"
    text = " ".join(text.partition("\nArgs:")[0].split())
    bound = text.find("<=") if "<=" in text else text.find("of order")
    assert text.startswith("none") or (text.startswith(("for ", "as for ", "without contexts, for ")) and bound > 0)


def told(path):
    """What a file says to its readers: its strings, without the ids of `@named` and the looks of pictures."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    marks = {
        id(call.args[0])
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "named" and call.args
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in marks else None
        if isinstance(text, str) and not LOOKS.fullmatch(text):
            yield text


def test_no_text_speaks_of_rows_or_papers_by_numbers_that_no_reader_has():
    """A source is named by its authors, its year, and its theorem or section; ids only sort the catalogue."""
    of_ids = {"core/catalogue.py", "report/style.py", "report/plots.py"}
    found = []
    for path in sorted((ROOT / "src" / "evenhand").rglob("*.py")):
        name = str(path.relative_to(ROOT / "src" / "evenhand"))
        for text in told(path):
            if name not in of_ids:
                text = re.sub(r"'C\d-*'", "", text)
                found += [(name, hit) for hit in ID.findall(text)]
            found += [(name, hit) for hit in re.findall(r"\b(?:rows? [ABCKSX]\d+|paper [1-5])\b", text)]
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found += [(page.name, hit) for hit in re.findall(r"\b(?:rows? [ABCKSX]\d+|paper [1-5])\b", text)]
        found += [
            (page.name, hit) for hit in re.findall(r"[|(;] ?([ABCKSX]\d{1,2})(?=[ |),])", re.sub("`.*?`", "", text))
        ]
    assert found == []


def test_systems_are_found_in_the_code():
    systems = catalogue()
    found = {(s.id, s.name): s for s in systems}
    for identifier, name, kind, module in (
        ("K1", "pgd", "recipe", "evenhand.recipes.pgd"),
        ("K2", "pgd_adaptive", "recipe", "evenhand.recipes.pgd"),
        ("K4", "mixed_oracle", "recipe", "evenhand.recipes.pgd"),
        ("K5", "Parity", "constraint", "evenhand.problem.constraints.parity"),
        ("K6", "Logistic", "model", "evenhand.models.generalized_linear"),
        ("K6", "Ridge", "model", "evenhand.models.ridge"),
        ("K8", "Court", "environment", "evenhand.environments.court"),
        ("X3", "HardBudget", "goal", "evenhand.goals.hard_budget"),
        ("C7", "Linear", "objective", "evenhand.objectives.linear"),
    ):
        s = found[identifier, name]
        assert (s.kind, s.module) == (kind, module)


def test_every_system_has_a_source_a_kind_and_a_place_in_the_order():
    systems = catalogue()
    assert all(s.source and s.kind in KINDS.values() for s in systems)
    assert [(s.id[:1], int(s.id[1:])) for s in systems] == sorted((s.id[:1], int(s.id[1:])) for s in systems)
    assert len({(s.id, s.kind, s.name, s.module) for s in systems}) == len(systems)
