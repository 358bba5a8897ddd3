"""Reads the problem file of a replay from TOML into a `Spec`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from evenhand.core.arguments import KIND, arguments, build, read
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import exported
from evenhand.objectives import Linear, Objective
from evenhand.problem.between import Between
from evenhand.problem.clock import Time
from evenhand.problem.constraints import Constraint, groupings
from evenhand.problem.outcome import Outcome
from evenhand.problem.traffic import Traffic
from evenhand.replay.files import read_text
from evenhand.replay.lines import locate_errors
from evenhand.replay.settings import Settings
from evenhand.replay.spec import Grouping, Spec
from evenhand.replay.toml import Table, load

T = TypeVar("T")
FEATURES = ("numeric", "categorical", "ranges", "levels")
_PLAIN = ("maximize", "horizon", "since", "until", "time", "withdrawn", "allow_bad", "log_weight", "after")
_TABLES = ("features", "interactions", "action", "propensity", "outcomes", "groups", "policy", "traffic")


def constraint_kinds() -> dict[str, Any]:
    """Return every constraint that `evenhand.problem` exports, by the name of its tables.

    >>> {"budget", "floor", "parity", "within"} <= set(constraint_kinds())
    True
    """
    return exported("evenhand.problem.constraints")


def read_spec(path: Path) -> Spec:
    """Read and check a problem file.

    Raises:
        InvalidInput: the file is missing or not TOML; or a key is unknown, missing or wrong, with its line.
        InfeasibleProblem: no mixture of the actions keeps to the constraints.
    """
    return parse(read_text(path, "a TOML file"), path.name)


def parse(text: str, file: str) -> Spec:
    """Read and check the text of a problem file; see `read_spec`.

    Args:
        text: the text of the file.
        file: the name of the file, for messages.
    """
    with locate_errors(text, file):
        return _parse(text, file)


def _parse(text: str, file: str) -> Spec:
    root = load(text, file, (*_PLAIN, *_TABLES, *constraint_kinds()))
    features, action = root.table("features", FEATURES), root.table("action", ("column", "values"))
    interactions = root.table("interactions", None)
    outcomes = list(_outcomes(root.table("outcomes", None)))
    constraints = tuple(_constraints(root))
    return Spec(
        actions=action.names("values"),
        action=action.text("column"),
        propensity=_propensity(root.table("propensity", ("column", "constant"))),
        numeric=features.texts("numeric", ()),
        categorical=features.texts("categorical", ()),
        ranges=_each(features.table("ranges", None), Table.pair),
        levels=_each(features.table("levels", None), Table.texts),
        interactions={a: interactions.texts(a) for a in interactions.keys} if "interactions" in root else None,
        outcomes=tuple(o for o, _ in outcomes),
        columns={o.name: column for o, column in outcomes if isinstance(column, str)},
        by_case={o.name: columns for o, columns in outcomes if isinstance(columns, dict) and columns},
        maximize=_objective(root),
        subject_to=constraints,
        groups=_groups(root.table("groups", None), constraints),
        horizon=_horizon(root),
        since=_optional(root, "since", Time),
        until=_optional(root, "until", Time),
        traffic=_optional(root, "traffic", Traffic),
        withdrawn=root.texts("withdrawn", ()),
        time=root.text("time", None),
        allow_bad=root.number("allow_bad", 0.01),
        log_weight=root.number("log_weight", 1.0),
        after=root.text("after", None),
        settings=Settings.of(root.table("policy", None).values),
    )


def _each(table: Table, read: Callable[[Table, str], T]) -> dict[str, T]:
    return {key: read(table, key) for key in table.keys}


def _horizon(root: Table) -> int:
    """Read a number of rounds, or the earliest and the latest of an end that is not known; 0 with a forecast."""
    value = root.value("horizon")
    if isinstance(value, list):
        ends = read("horizon", value, tuple[int, int], {})
        try:
            return Between(*ends)
        except InvalidInput as error:
            raise InvalidInput("horizon", f"{error.expected} (of {error.field})", error.got) from error
    return root.whole("horizon", 0) if "traffic" in root else root.whole("horizon")


def _optional(root: Table, key: str, hint: Any) -> Any:
    return read(key, root.value(key), hint, {}) if key in root else None


def _propensity(table: Table) -> str | float | None:
    column, constant = table.text("column", None), table.number("constant", None)
    if column is not None and constant is not None:
        raise InvalidInput("propensity", "either a column or a constant", "both")
    return column if constant is None else constant


def _outcomes(table: Table) -> Iterator[tuple[Outcome, str | dict[str, str]]]:
    """Yield outcomes, each with its column; known ones with the columns of actions whose values differ by case."""
    for name in table.keys:
        known = "known" in table.table(name, None)
        t = table.table(name, ("known", "column") if known else ("column", "range", "mean", "free", "times"))
        if known:
            values = t.numbers("known")
            yield Outcome(name, known=values), _by_case(t, values)
        else:
            low, high = t.pair("range", (0.0, 1.0))
            mean, free, times = t.numbers("mean", None), t.texts("free", ()), t.text("times", None)
            yield Outcome(name, low, high, mean=mean, free=free, times=times), t.text("column", name)


def _by_case(t: Table, values: dict[str, float]) -> dict[str, str]:
    """Return the columns of a known outcome by action: one for all that `known` names, or one for each."""
    if "column" not in t:
        return {}
    return dict.fromkeys(values, t.text("column")) if isinstance(t.value("column"), str) else t.names("column")


def _objective(root: Table) -> str | Objective:
    """Read the objective: a name, weights, or a table that names its kind."""
    value = root.value("maximize")
    if isinstance(value, dict) and isinstance(value.get(KIND), str):
        found: Objective = read("maximize", value, Objective, {})
        return found
    plain = root.text_or_numbers("maximize")
    return plain if isinstance(plain, str) else Linear(plain)


def _constraints(root: Table) -> Iterator[Constraint]:
    """Build one constraint per table; the name of the table is the kind, and its keys are the fields."""
    for kind, part in constraint_kinds().items():
        for i, t in enumerate(root.tables(kind, tuple(arguments(part)))):
            yield build(part, f"{kind}[{i}]", t.values, {})


def _groups(table: Table, constraints: Sequence[Constraint]) -> dict[str, Grouping]:
    found = {by: Grouping(column=by) for by in groupings(constraints)}
    for name in table.keys:
        t = table.table(name, ("column", "shares"))
        found[name] = Grouping(column=t.text("column", name), shares=t.text_or_numbers("shares", "log"))
    return found
