"""Reads the problem file of a replay from TOML into a `Spec`."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evenhand.core.arguments import KIND, build, read
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import closest
from evenhand.core.validate import file
from evenhand.logs.columns import POINT, as_number
from evenhand.logs.files import read_text
from evenhand.logs.keys import KNOWN, LEARNED, constraint_kinds, keys
from evenhand.logs.reading import Form
from evenhand.logs.settings import Settings
from evenhand.logs.spec import CROSSED, Grouping, Spec
from evenhand.logs.toml import Origin, Table, key, load, locate_errors, value
from evenhand.objectives import Linear, Objective
from evenhand.problem.clock import Between
from evenhand.problem.constraints import Constraint, groupings
from evenhand.problem.descriptions import NAME, Actions
from evenhand.problem.features import Categorical, Numeric
from evenhand.problem.hashes import Hashed
from evenhand.problem.outcome import Outcome
from evenhand.problem.unit import Unit

Stated = str | Path | Mapping[str, object]  # a problem file, or what `tomllib` reads of one
UNNAMED = "the problem"  # the name of one that is no file


def read_spec(stated: Stated) -> Spec:
    """Read and check a problem file, or its contents as `tomllib` reads them.

    Raises:
        InvalidInput: the file is missing or not TOML; or a key is unknown, missing or wrong, with its line.
        InfeasibleProblem: no mixture of the actions keeps to the constraints.
    """
    if isinstance(stated, Mapping):
        return _spec(Table(stated, "", keys()), None)
    path = file("problem", stated)
    return parse(text_of(path), path.name)


def text_of(path: Path) -> str:
    """Return the text of a problem file; the rows of a table of actions beside it follow, so that it needs no other.

    Raises:
        InvalidInput: one of the two cannot be read.
    """
    text = read_text(path, "a TOML file")
    found = re.search(r"^\[actions\][^\[]*?^table\s*=\s*[\"'](.+?)[\"']", text, re.MULTILINE)
    return text if found is None else text + rows_text(path.parent / found[1])


def stated_name(stated: Stated) -> str:
    """Return the name of a problem file in reports and messages."""
    return UNNAMED if isinstance(stated, Mapping) else file("problem", stated).name


def parse(text: str, name: str) -> Spec:
    """Read and check the text of a problem file; see `read_spec`.

    Args:
        text: the text of the file.
        name: that of the file, for messages.
    """
    with locate_errors(text, name):
        return _spec(load(text, name, keys()), Origin(name, text))


def _spec(root: Table, origin: Origin | None) -> Spec:
    features, action, log = root.table("features"), root.table("action"), root.table("log")
    described = _described(root.table("actions")) if "actions" in root else None
    outcomes = [_outcome(root.table("outcomes"), name, described) for name in root.table("outcomes")]
    constraints = tuple(_constraints(root))
    unit: Unit | None = root.get("unit")
    return Spec(
        actions=_actions(action, described),
        action=action.get("column"),
        propensity=_propensity(root.table("propensity")),
        estimated=root.table("propensity").get("estimated"),
        unchecked=root.table("propensity").get("unchecked"),
        numeric=(*features.get("numeric"), *features.get("dates")),
        categorical=_names(features),
        dates=features.get("dates"),
        ranges=features.table("ranges").each(),
        levels=features.table("levels").each(),
        hashed=features.table("hashed").each(),
        texts=_texts(features.table("texts")),
        missing=features.table("missing").each(),
        interactions=root.table("interactions").each() if "interactions" in root else None,
        described=described,
        outcomes=tuple(o.outcome for o in outcomes),
        columns={o.outcome.name: o.column for o in outcomes if o.column is not None},
        values={o.outcome.name: o.values for o in outcomes if o.values is not None},
        by_case={o.outcome.name: o.by_case for o in outcomes if o.by_case},
        units={o.outcome.name: o.unit for o in outcomes if o.unit is not None},
        maximize=_objective(root, {o.outcome.name: o for o in outcomes}),
        subject_to=constraints,
        groups=_groups(root.table("groups"), constraints),
        horizon=_horizon(root),
        since=root.get("since"),
        until=root.get("until"),
        zone=root.get("zone"),
        traffic=root.get("traffic"),
        withdrawn=root.get("withdrawn"),
        time=root.get("time"),
        cluster=root.get("cluster") or (None if unit is None else unit.name),
        unit=unit,
        weight=root.get("weight"),
        outside=root.table("outside").each(),
        allow_bad=root.get("allow_bad"),
        log_weight=root.get("log_weight"),
        after=root.get("after"),
        settings=Settings.of(root.get("policy") or {}),
        form=_form(log),
        origin=origin,
    )


def _form(log: Table) -> Form:
    """Read how a log is written. Where nothing is stated, fields may have decimal commas in quotes between commas."""
    found = Form(**{key: log.get(key) for key in log})
    if found.separator == found.point:
        raise InvalidInput("log.separator", "a character other than that of decimals", repr(found.separator))
    return found


def _names(features: Table) -> tuple[str, ...]:
    """Read the columns of names: categorical ones, those that are hashed, and texts."""
    hashed = (name for name in features.table("hashed") if CROSSED not in name)
    return tuple(dict.fromkeys([*features.get("categorical"), *hashed, *features.table("texts")]))


def _texts(table: Table) -> dict[str, Hashed]:
    found = {}
    for column in table:
        t = table.table(column)
        found[column] = Hashed(column, hashed=t.get("hashed"), words=t.get("words"), at_most=t.get("at_most"))
    return found


def _described(table: Table) -> Actions:
    """Read the rows of actions, and the columns by which they are alike."""
    if "table" in table and "rows" not in table:
        raise InvalidInput("actions.table", "a CSV file beside the problem file, or rows", table.get("table"))
    rows = {name: table.table("rows").get(name) for name in table.table("rows")}
    numeric = [Numeric(name, *ends) for name, ends in table.table("numeric").each().items()]
    categorical = [Categorical(name, levels) for name, levels in table.table("categorical").each().items()]
    return Actions(rows, (*numeric, *categorical), table.get("own"))


def _actions(table: Table, described: Actions | None) -> dict[str, str]:
    """Read the names of actions by logged value; a list has those that are logged by their names, as rows are."""
    if described is not None and "values" not in table:
        return {name: name for name in described.names}
    found: dict[str, str] | tuple[str, ...] = table.get("values")
    return found if isinstance(found, dict) else {name: name for name in found}


def _horizon(root: Table) -> int | str:
    """Read a number of rounds, or the earliest and the latest of an end that is not known; 0 with a forecast."""
    if "traffic" in root and "horizon" not in root:
        return 0
    value: int | str | tuple[int, int] = root.get("horizon")
    if not isinstance(value, tuple):
        return value
    try:
        return Between(*value)
    except InvalidInput as error:
        raise InvalidInput("horizon", f"{error.expected} (of {error.field})", error.got) from error


def _propensity(table: Table) -> str | float | dict[str, float] | None:
    column: str | None = table.get("column")
    constant: float | dict[str, float] | None = table.get("constant")
    if column is not None and constant is not None:
        raise InvalidInput("propensity", "either a column or a constant", "both")
    return column if constant is None else constant


def rows_text(path: Path) -> str:
    """Return the rows of a CSV file of actions as tables of a problem file.

    Raises:
        InvalidInput: the file cannot be read, or has no column "action".
    """
    rows = list(csv.DictReader(read_text(path, "a CSV file").splitlines()))
    lines = [""]
    for row in rows:
        if NAME not in row or None in row or None in row.values():
            raise InvalidInput(path.name, f"a header with {NAME!r}, and as many values in each row", list(row))
        lines.append(f"[actions.rows.{key(row.pop(NAME))}]")
        lines += [f"{key(name)} = {value(_number(text))}" for name, text in row.items()]
    return "\n".join([*lines, ""])


def _number(text: str) -> str | float:
    number = as_number(text, POINT)
    return number if math.isfinite(number) else text


class _Read(NamedTuple):
    """An outcome, and where its values are."""

    outcome: Outcome
    column: str | None = None
    values: dict[str, float] | None = None
    by_case: dict[str, str] | None = None
    unit: str | None = None


def _outcome(table: Table, name: str, described: Actions | None) -> _Read:
    """Read an outcome: one that is known, perhaps with the columns of actions whose values differ by case."""
    raw = table.raw(name)
    if isinstance(raw, dict) and "known" in raw:
        t = table.table(name, KNOWN)
        stated_known: dict[str, float] | str = t.get("known")
        if isinstance(stated_known, str):  # a column of the rows of actions
            if described is None:
                expected = "a table of numbers by action, or a column of [actions]"
                raise InvalidInput(t.field("known"), expected, f"{stated_known!r}, and no rows of actions")
            stated_known = described.column(stated_known)
        known = stated_known
        column: str | dict[str, str] | None = t.get("column")
        by_case = dict.fromkeys(known, column) if isinstance(column, str) else column
        ends: tuple[float, float] | None = t.get("range")
        if ends is None:
            return _Read(Outcome(name, known=known), by_case=by_case, unit=t.get("unit"))
        low, high = ends
        for action, value in known.items():
            if not low <= value <= high:
                raise InvalidInput(
                    t.field(f"known.{action}"), f"a number from {low:g} to {high:g}, as its range says", value
                )
        return _Read(Outcome(name, low, high, known=known), by_case=by_case, unit=t.get("unit"))
    t = table.table(name, LEARNED)
    stated: tuple[float, float] | dict[str, tuple[float, float]] = t.get("range")
    lows, highs = stated if isinstance(stated, tuple) else ({a: z[i] for a, z in stated.items()} for i in range(2))
    made = Outcome(
        name, lows, highs, mean=t.get("mean"), free=t.get("free"), fallback=t.get("fallback"), times=t.get("times")
    )
    return _Read(made, t.get("column") or name, t.get("values"), unit=t.get("unit"))


def _objective(root: Table, outcomes: Mapping[str, object]) -> str | Objective:
    """Read the objective: a name, weights, or a table that names its kind; what is minimised has the other sign."""
    value = root.raw("maximize")
    aims = [key for key in ("maximize", "minimize", "minimise") if key in root]
    if len(aims) > 1:
        raise InvalidInput(aims[1], "either maximize or minimize", "both")
    if aims not in ([], ["maximize"]):
        less: str | dict[str, float] = root.get(aims[0])
        weights = {less: 1.0} if isinstance(less, str) else less
        for name in weights:
            closest(aims[0], outcomes, name)
        return Linear({name: -weight for name, weight in weights.items()})
    if isinstance(value, dict) and isinstance(value.get(KIND), str):
        found: Objective = read("maximize", value, Objective, {})
        return found
    plain: str | dict[str, float] = root.get("maximize")
    return plain if isinstance(plain, str) else Linear(plain)


def _constraints(root: Table) -> Iterator[Constraint]:
    """Build one constraint per table; the name of the table is the kind, and its keys are the fields."""
    for kind, part in constraint_kinds().items():
        for i, values in enumerate(root.tables(kind)):
            yield build(part, f"{kind}[{i}]", values, {})


def _groups(table: Table, constraints: Sequence[Constraint]) -> dict[str, Grouping]:
    found = {by: Grouping(column=by) for by in groupings(constraints)}
    for name in table:
        t = table.table(name)
        found[name] = Grouping(column=t.get("column") or name, shares=t.get("shares"))
    return found
