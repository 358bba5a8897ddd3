"""What is listed as run by `make check` alone exists, and nothing else is left out of `make test`."""

import ast
from pathlib import Path

from tests.rows import for_each
from tests.thorough import ONLY_CHECK, is_only_checked

HERE = Path(__file__).parent


@for_each("place", sorted(ONLY_CHECK))
def test_what_is_listed_exists(place):
    path, _, name = place.partition("::")
    tree = ast.parse((HERE / path).read_text())
    assert not name or any(isinstance(z, ast.FunctionDef) and z.name == name for z in tree.body)


@for_each(
    ("nodeid", "needs", "left"),
    [
        ("tests/live/http/test_attacks.py::test_many_names_cost_little[900]", [], True),
        ("tests/choices/test_allocate.py::test_ten_rounds_by_hand[beside]", [], False),
        ("tests/choices/test_allocate.py::test_prices_go_on_only_by_decisions_that_count", [], True),
        ("tests/live/stores/test_stores.py::test_one", ["place", "postgresql"], True),
        ("tests/live/stores/test_stores.py::test_one", ["place", "memory"], False),
        ("src/evenhand/live/test_doors.py", [], False),
    ],
)
def test_a_test_is_left_out_by_its_file_its_name_or_what_it_needs(nodeid, needs, left):
    assert is_only_checked(nodeid, needs) is left


def test_every_folder_has_tests_that_are_not_left_out():
    for folder in {path.parent for path in HERE.rglob("test_*.py")} - {HERE / "optima", HERE / "notebooks"}:
        files = {str(path.relative_to(HERE)) for path in folder.glob("test_*.py")}
        assert files - ONLY_CHECK, folder
