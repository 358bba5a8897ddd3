"""The problem file of a replay: TOML into a `Spec`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from evenhand.core.errors import InvalidInput
from evenhand.objectives import Linear
from evenhand.problem.constraints import Budget, Constraint, Parity, by_group
from evenhand.problem.problem import Outcome
from evenhand.replay.spec import Grouping, Settings, Spec
from evenhand.replay.toml import Table, load

_NUMBERS = ("maximize", "horizon", "allow_bad")
_TABLES = ("features", "interactions", "action", "propensity", "outcomes", "groups", "budget", "parity", "policy")


def read_spec(path: Path) -> Spec:
    """Read and check a problem file.

    Raises:
        InvalidInput: the file is missing or no TOML, or names the key that is unknown, missing or wrong.
    """
    root = load(path, (*_NUMBERS, *_TABLES))
    features, action = root.table("features", ("numeric", "categorical")), root.table("action", ("column", "values"))
    interactions, maximize = root.table("interactions", None), root.text_or_numbers("maximize")
    outcomes = list(_outcomes(root.table("outcomes", None)))
    constraints: tuple[Constraint, ...] = (*_budgets(root), *_parities(root))
    return Spec(
        actions=action.names("values"),
        action=action.text("column"),
        propensity=_propensity(root.table("propensity", ("column", "constant"))),
        numeric=features.texts("numeric", ()),
        categorical=features.texts("categorical", ()),
        interactions={a: interactions.texts(a) for a in interactions.keys} if "interactions" in root else None,
        outcomes=tuple(o for o, _ in outcomes),
        columns={o.name: column for o, column in outcomes if column is not None},
        maximize=maximize if isinstance(maximize, str) else Linear(maximize),
        subject_to=constraints,
        groups=_groups(root.table("groups", None), constraints),
        horizon=root.whole("horizon"),
        allow_bad=root.number("allow_bad", 0.01),
        settings=_settings(root.table("policy", tuple(f.name for f in fields(Settings)))),
    )


def _propensity(table: Table) -> str | float:
    column, constant = table.text("column", None), table.number("constant", None)
    if (column is None) == (constant is None):
        raise InvalidInput("propensity", "either a column or a constant", "both" if column else "neither")
    return column if constant is None else constant  # type: ignore[return-value]  # one of them is there


def _outcomes(table: Table) -> Iterator[tuple[Outcome, str | None]]:
    for name in table.keys:
        known = "known" in table.table(name, None)
        t = table.table(name, ("known",) if known else ("column", "range"))
        if known:
            yield Outcome(name, known=t.numbers("known")), None
        else:
            yield Outcome(name, *t.pair("range", (0.0, 1.0))), t.text("column", name)


def _budgets(root: Table) -> Iterator[Budget]:
    for t in root.tables("budget", ("outcome", "total", "rate")):
        yield Budget(t.text("outcome"), total=t.number("total", None), rate=t.number("rate", None))


def _parities(root: Table) -> Iterator[Parity]:
    for t in root.tables("parity", ("outcome", "by", "tolerance")):
        yield Parity(t.text("outcome"), by=t.text("by"), tolerance=t.number("tolerance"))


def _groups(table: Table, constraints: Sequence[Constraint]) -> dict[str, Grouping]:
    found = {by: Grouping(column=by) for _, by in by_group(constraints)}
    for name in table.keys:
        t = table.table(name, ("column", "shares"))
        found[name] = Grouping(column=t.text("column", name), shares=t.text_or_numbers("shares", "log"))
    return found


def _settings(t: Table) -> Settings:
    default = Settings()
    return Settings(
        name=t.text("name", default.name),
        model=t.text("model", default.model),
        ridge=t.number("ridge", default.ridge),
        width=t.number("width", default.width),
        warmup=t.whole("warmup", default.warmup),
        gamma=t.number("gamma", None),
        margin=t.number("margin", None),
    )
