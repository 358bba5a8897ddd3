"""The checks of a log that replays and estimates have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evenhand.core.types import Bools
from evenhand.logs.checks.balance import balance
from evenhand.logs.checks.overlap import groupings, holes, overlap, rectangles
from evenhand.logs.checks.propensities import propensities
from evenhand.logs.checks.rows import Drawn

Checks = Mapping[str, str | None]  # by check, a sentence; None where nothing was found
_SAMPLE = 10_000  # rows
_GUESS = "values of one column or two tell apart: what it would bring there is a guess by a model that has not seen it"
_OF_ALL = ("propensities", "features", "clusters", "calibration")  # checks of a log that doubt every estimate from it
_OF_SOME = {"dropped": "Of the rows that were kept", "clipped": "With outcomes clipped to their range"}


def of_log(log: Drawn) -> dict[str, str | None]:
    """Check a log before anything is computed from it.

    Probabilities and columns are compared among the rows whose action was not sure: what they would say of the
    others follows from `overlap`, which is told first then. Each action is compared where it could be drawn.
    """
    unsure, found = log.unsure, overlap(log)
    compared, never = _compared(unsure) if len(unsure.actions) else ({"propensities": None, "features": None}, {})
    if found is None and never and not any(compared.values()):
        found = f"{log.names[min(never)]!r} was never drawn in {never[min(never)].sum():,} rows, which {_GUESS}"
    kept = {"overlap": found}
    return {**(compared | kept if unsure is log else kept | compared), "groups": groupings(log)}


def _compared(log: Drawn) -> tuple[dict[str, str | None], dict[int, Bools]]:
    """Compare probabilities and columns where each action could be drawn; with the rows in which it could not.

    Holes of one column are looked for first, among some of the rows where nothing is found without them. Those of two
    columns are looked for where something is found, and count if nothing is found beside them.
    """
    whole = {"propensities": propensities(log), "features": balance(log)}
    some = log.of(slice(None, None, max(1, len(log.actions) // _SAMPLE)))
    never = holes(log) if any(whole.values()) or holes(some) else {}
    found = _outside(log, whole, never)
    if any(found.values()) and (more := rectangles(log, never)):
        every = {**never, **{a: hole | never[a] if a in never else hole for a, hole in more.items()}}
        outside = _outside(log, whole, every)
        if not any(outside.values()):
            return outside, every
    return found, never


def _outside(log: Drawn, whole: Mapping[str, str | None], never: Mapping[int, Bools]) -> dict[str, str | None]:
    """Compare probabilities and columns outside holes, given what is found without them.

    A column that follows from the action leaves holes as well, in which the propensities are wrong. So a log passes if
    nothing is found beside its holes, and else what is found in both ways is told, or in one of them.
    """
    if not never:
        return dict(whole)
    log = replace(log, holes=never)
    outside = {"propensities": propensities(log), "features": balance(log)}
    both = {check: said if whole[check] is not None else None for check, said in outside.items()}
    if not any(outside.values()) or any(both.values()):
        return both
    return dict(whole) if any(whole.values()) else outside


def scope(checks: Checks) -> str:
    """Return words that say which rows numbers are of, if rows were dropped or clipped; else an empty text.

    >>> scope({"dropped": "9 rows were dropped", "clipped": None}), scope({})
    ('Of the rows that were kept: ', '')
    """
    return "".join(f"{of}: " for name, of in _OF_SOME.items() if checks.get(name) is not None)


def fault_of(checks: Checks) -> str | None:
    """Say which checks of a log forbid to recommend any policy; None if none does."""
    names = [name for name in _OF_ALL if checks.get(name) is not None]
    if not names:
        return None
    alike = checks.get("overlap") is not None and names != ["clusters"]
    same = ", and a rule of several columns by which actions are never drawn looks the same" if alike else ""
    return f"the log fails the check of its {' and '.join(names)}{same}"


def refusal(checks: Checks) -> str | None:
    """Say that nothing is recommended from a log whose checks forbid it; None if none does.

    >>> refusal({"features": "'age' differs between actions"})
    'No policy can be recommended, as the log fails the check of its features'
    """
    fault = fault_of(checks)
    return None if fault is None else f"No policy can be recommended, as {fault}"
