"""The columns of values, declared once: data frames, `results.json`, tables and pages follow from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, nan
from typing import NamedTuple

from evenhand.offline.estimators.base import Estimator, all_estimators
from evenhand.offline.policies import Valued
from evenhand.offline.results import ends_of, told
from evenhand.offline.scores import Estimate
from evenhand.report.results import Measurement
from evenhand.report.tables import Table

CAVEAT = (
    "Those without an error follow the model to some part, and nothing says how wrong that is. Where estimators are "
    "further apart than their errors explain, check the propensities and the overlap."
)


class Column(NamedTuple):
    """A number that every policy has, with its error and the ends of its interval if it has names for them."""

    names: tuple[str, ...]  # in data frames: of the number; or with its error; or with both and the two ends
    text: str  # in `results.json`
    of: Callable[[Valued], Estimate | float | None]  # None where it is not known

    def cells(self, p: Valued) -> list[float]:
        """Return the numbers of a policy by name."""
        found = self.of(p)
        if isinstance(found, Estimate):
            return [*found.pair, *found.interval][: len(self.names)]
        return [nan if found is None else found]


def columns(objective: str, estimators: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns of a table of values, of which those of estimators have their names.

    >>> [column.names for column in columns("sale", ["ips", "switch"])][2:4]
    [('ips', 'se ips'), ('switch',)]
    """
    by = all_estimators()
    return (
        Column(("value", "se", "low", "high"), objective, lambda p: p.value),
        Column(
            ("beyond logged", "se beyond", "low beyond", "high beyond"),
            f"{objective} beyond what was logged",
            lambda p: p.beyond,
        ),
        *(_column(objective, name, by[name]) for name in estimators),
        Column(("effective cases",), "effective cases", lambda p: p.doubt.cases),
        Column(("never logged",), "part of its plays that was never logged", lambda p: p.doubt.missing),
        Column(
            ("effective events",), "effective events", lambda p: p.doubt.events if isfinite(p.doubt.events) else None
        ),
        Column(("least",), f"{objective}, least", lambda p: None if p.bounds is None else p.bounds[0]),
        Column(("most",), f"{objective}, most", lambda p: None if p.bounds is None else p.bounds[1]),
    )


def _column(objective: str, name: str, estimator: Estimator) -> Column:
    head = _head(estimator).lower()
    names = (head, f"se {head}") if estimator.unbiased else (head,)
    return Column(names, f"{objective} by {estimator.label}", lambda p: p.by[name])


def _head(estimator: Estimator) -> str:
    return estimator.label.removeprefix("the ")


def measurements(p: Valued, each: Sequence[Column]) -> list[Measurement]:
    """Return the rows of `results.json` of a policy: numbers with errors, the ends of intervals, and plain numbers."""
    pairs = [(column, column.cells(p)) for column in each if column.of(p) is not None]
    found = [Measurement(p.policy, {}, c.text, *cells[:2]) for c, cells in pairs if len(c.names) > 1]
    for c, _ in pairs:
        if len(c.names) > 2 and isinstance(estimate := c.of(p), Estimate):
            found.extend(ends_of(p.policy, {}, c.text, estimate))
    return found + [Measurement(p.policy, {}, c.text, *cells) for c, cells in pairs if len(c.names) == 1]


def table_of(policies: Sequence[Valued], estimators: Sequence[str]) -> Table:
    """Return the table of what other estimators say."""
    each = [(name, all_estimators()[name]) for name in estimators]
    heads = [_head(one) + " ± se" * one.unbiased for _, one in each]
    rows = [
        [p.policy, *(told(p.by[n]) if one.unbiased else f"{p.by[n].value:.4f}" for n, one in each)] for p in policies
    ]
    return Table(["by other estimators", *heads], rows)


def reading(estimators: Sequence[str]) -> str:
    """Say what each estimator is, and how to read them beside each other."""
    return " ".join([*(all_estimators()[name].meaning for name in estimators), CAVEAT])
