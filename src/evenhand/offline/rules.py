"""Rules in words, such as "mens where recency < 4; else none"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.core.types import Bools, Floats
from evenhand.offline.evidence import Evidence
from evenhand.replay.columns import POINT, as_numbers
from evenhand.replay.dates import days
from evenhand.replay.files import misread
from evenhand.replay.units import MISSING

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_CONDITION = re.compile(r"\s*(?P<column>.+?)\s*(?P<sign><=|>=|!=|<|>|==?)\s*(?P<value>.+?)\s*")
_OR = re.compile(r"\s(or|\|\|?)\s", re.IGNORECASE)
FORM = '"ACTION where COLUMN < NUMBER and COLUMN = TEXT; ...; else ACTION"'


def policy_of(rule: str, evidence: Evidence) -> Floats:
    """Return the action of a rule in every row, `->(N,A)` with a 1 per row.

    The first part whose conditions all hold decides. Numbers and dates are compared as they are in the log, before
    they are encoded. A missing one satisfies `= missing` alone. Numbers have a decimal point, or the log's mark.
    "else ACTION" is what the other rows get. Names with a semicolon, a sign or " and " are quoted.

    Raises:
        InvalidInput: the rule has another form, or names an action, a column or a level that does not exist.
    """
    hidden: list[str] = []

    def hide(found: re.Match[str]) -> str:
        hidden.append(found[0][1:-1])
        return f"\0{len(hidden) - 1}\0"

    def shown(text: str) -> str:
        return re.sub("\0(\\d+)\0", lambda found: hidden[int(found[1])], text).strip()

    parts = [part.strip() for part in re.sub(r"\"[^\"]*\"|'[^']*'", hide, rule).split(";") if part.strip()]
    last = re.fullmatch(r"else\s+(.+)", parts[-1]) if parts else None
    if last is None:
        raise InvalidInput("rule", FORM, repr(rule))
    chosen = np.full(evidence.rows, _action(shown(last[1]), evidence))
    for part in reversed(parts[:-1]):
        action, where, conditions = part.partition(" where ")
        if not where:
            raise InvalidInput("rule", FORM, repr(part))
        holds = np.ones(evidence.rows, bool)
        for condition in conditions.split(" and "):
            try:
                holds &= _holds(condition, shown, evidence)
            except InvalidInput as error:
                if not _OR.search(condition):
                    raise
                twice = f'"{shown(action)} where ...; {shown(action)} where ...; else ..."'
                expected = f"conditions that are joined by and, as there is no or: write two parts, such as {twice}"
                raise InvalidInput("rule", expected, repr(shown(condition))) from error
        chosen[holds] = _action(shown(action), evidence)
    return np.asarray(np.eye(len(evidence.names))[chosen])


def _action(name: str, evidence: Evidence) -> int:
    if name not in evidence.names:
        logged = {} if evidence.spec is None else evidence.spec.actions
        hint = f" (did you mean {logged[name]}?)" if name in logged else meant(name, evidence.names)
        raise InvalidInput("rule", f"one of the actions {list(evidence.names)}", name + hint)
    return evidence.names.index(name)


def _holds(condition: str, shown: Callable[[str], str], evidence: Evidence) -> Bools:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise InvalidInput("rule", "a condition such as recency < 4", repr(shown(condition)))
    column, sign, text = shown(found["column"]), found["sign"].replace("==", "="), shown(found["value"])
    if column not in evidence.columns:
        raise InvalidInput(
            "rule", f"one of the features {list(evidence.columns)}", column + meant(column, evidence.columns)
        )
    values = evidence.columns[column]
    if values.dtype.kind == "f":
        gaps = np.isnan(values)
        if text == MISSING and sign in ("=", "!=") and gaps.any():
            return gaps if sign == "=" else ~gaps
        dated = evidence.spec is not None and column in evidence.spec.dates
        number = _day(text, evidence) if dated else _number(text, evidence)
        if not np.isfinite(number):
            kind = "a date, such as 2026-11-23," if dated else "a number"
            raise InvalidInput("rule", f"{kind} to compare {column} with", repr(text))
        return np.asarray(_COMPARE[sign](values, number) & ~gaps)
    if sign not in ("=", "!="):
        raise InvalidInput("rule", f"= or != for {column}, which has names", sign)
    levels = np.unique(values).tolist()
    if text not in levels:
        hint = misread(text, levels) or meant(text, levels)
        raise InvalidInput("rule", f"one of the values of {column}, {levels[:10]}", text + hint)
    return np.asarray(_COMPARE[sign](values, text))


def _number(text: str, evidence: Evidence) -> float:
    """Read a number with a decimal point, or else as the log writes it."""
    decimals = (POINT,) if evidence.spec is None else (POINT, evidence.spec.form.point)
    found = [as_numbers([text], decimal)[0] for decimal in decimals]
    return next((z for z in found if not np.isnan(z)), np.nan)


def _day(text: str, evidence: Evidence) -> float:
    """Read a date as the log writes it."""
    return days(text, None if evidence.spec is None else evidence.spec.form.dates)
