"""Allowances of budgets, and what policies gain within them, in the user's units: in all, and per case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NamedTuple

from evenhand.core.texts import amount
from evenhand.objectives import Linear
from evenhand.problem.constraints import tightest
from evenhand.problem.problem import Problem
from evenhand.report.intervals import Interval
from evenhand.report.quantities import objective_name

_SHOWN = 6  # policies in a sentence


class Allowance(NamedTuple):
    """The allowance of a budget.

    >>> str(Allowance("cost", 2 / 3, 30_000, "cases of the log"))
    '20,000 cost for the 30,000 cases of the log, 0.6667 per case'
    """

    outcome: str
    rate: float  # per case
    number: int
    cases: str  # what is counted, as a plural
    one: str = "case"
    unit: str = ""  # what the outcome is counted in

    @property
    def what(self) -> str:
        """The outcome, with its unit in front."""
        return f"{self.unit} of {self.outcome}" if self.unit else self.outcome

    @property
    def total(self) -> float:
        """The allowance in all."""
        return self.rate * self.number

    def __str__(self) -> str:
        whole = f"{amount(self.total, 6)} {self.what} for the {self.number:,} {self.cases}"
        return f"{whole}, {amount(self.rate)} per {self.one}"


def allowances(
    rates: Mapping[str, float], number: int, cases: str, one: str = "case", units: Mapping[str, str] | None = None
) -> tuple[Allowance, ...]:
    """Return the allowances of budgets, by their amounts per case."""
    units = units or {}
    return tuple(Allowance(o, rate, number, cases, one, units.get(o, "")) for o, rate in rates.items())


def of_rounds(problem: Problem) -> tuple[Allowance, ...]:
    """Return the allowances of a problem's budgets over its horizon, the least one of each outcome."""
    rates = {outcome: s.total / problem.horizon for outcome, s in tightest(problem.stated).items()}
    return allowances(rates, problem.horizon, "accepted rounds", "round")


def over_horizon(
    problem: Problem, means: Mapping[str, float], beyond: Interval | None, other: str, scope: str = ""
) -> Iterator[str]:
    """Say what a policy brings over the horizon, by averages per round; nothing of an objective that is no sum.

    Args:
        problem: with the objective and the horizon.
        means: of the objective, by policy.
        beyond: by how much one of them exceeds another one per round, None if that is not known.
        other: the name of that one.
        scope: what the averages are of, in front of the sentence.
    """
    if not isinstance(problem.objective, Linear) or not means or not all(map(isfinite, means.values())):
        return
    name, rounds = objective_name(problem), problem.horizon
    each = {policy: f"{amount(rounds * mean)} by {policy}" for policy, mean in means.items()}
    if len(each) > _SHOWN:
        last = [each.pop(other)] if other in each else []
        first = list(each.values())[: _SHOWN - len(last)]
        shown = [*first, f"{len(each) - len(first)} more", *last]
    else:
        shown = list(each.values())
    text = f"{scope}{'over' if scope else 'Over'} {rounds:,} accepted rounds that is {name} in all: {'; '.join(shown)}"
    if beyond is not None and beyond.low is not None and beyond.high is not None:
        mean, low, high = (f"{'+' * (z > 0.0)}{amount(rounds * z, 3)}" for z in (beyond.mean, beyond.low, beyond.high))
        text += f"; {beyond.name} beyond {other} {mean} (95 %: {low} to {high})"
    yield text


def lines(each: tuple[Allowance, ...]) -> Iterator[str]:
    """Yield a line per budget for the head of a text."""
    yield from (f"budget: {a}" for a in each)


def sentences(each: tuple[Allowance, ...]) -> Iterator[str]:
    """Yield a sentence per budget for a summary or a page."""
    yield from (f"The budget is {a}." for a in each)


def budget_setting(each: tuple[Allowance, ...]) -> dict[str, object]:
    """Return the setting of `results.json` that states budgets; nothing without one."""
    stated = [
        {"outcome": a.outcome, **({"unit": a.unit} if a.unit else {})}
        | {f"per {a.one}": a.rate, "in all": a.total, a.cases: a.number}
        for a in each
    ]
    return {"budgets": stated} if stated else {}
