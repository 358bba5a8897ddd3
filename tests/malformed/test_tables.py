"""What cannot be meant is refused where it is stated, by the name of the field, in one line."""

from evenhand.core.errors import (
    EvenhandError,
    InfeasibleProblem,
    InvalidInput,
    MissingExtra,
    MissingFile,
    StateMismatch,
)
from tests.malformed import cases, choices, environments, goals, models, objectives, problems, recipes, runs, sets
from tests.malformed.tables import check, name
from tests.rows import for_each

TABLES = [problems, sets, objectives, models, choices, goals, recipes, environments, cases, runs]


@for_each("row", [row for table in TABLES for row in table.ROWS], ids=name)
def test_the_field_is_named(row):
    assert isinstance(check(*row), ValueError)


def test_errors_are_evenhands_own_and_python_kinds_too():
    for kind in (InvalidInput, InfeasibleProblem, StateMismatch, MissingExtra):
        assert issubclass(kind, EvenhandError)
        assert issubclass(kind, ImportError if kind is MissingExtra else ValueError)
    assert issubclass(MissingFile, FileNotFoundError)
    error = InvalidInput("field", "something", 3)
    assert (error.field, error.expected, error.got) == ("field", "something", 3)
