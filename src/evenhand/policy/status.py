"""The status of a policy: rounds, averages, constraints, budgets and prices, by name; and the facts of its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.choices.base import Choice
from evenhand.core import texts
from evenhand.core.errors import MissingExtra
from evenhand.core.texts import amount, clip, count, kinds, settings
from evenhand.goals.base import Accounts, Credits, Goal, Spanned
from evenhand.models.base import Model, Note
from evenhand.planning.profile import ProfileState
from evenhand.policy.books import ReplicaSums
from evenhand.policy.queries import Abilities, pace_books
from evenhand.policy.standings import Comparison, Standing, compare_holdout, credits_left, standings
from evenhand.policy.state import PolicyState
from evenhand.policy.units import UnitBooks, UnitUse
from evenhand.problem.constraints import Constraint, Statement
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

_TINY = 1e-9  # of a total: rounding
_ERRORS, _PART = 3.0, 0.2  # standard errors, and the part of a forecast, by which it is off
_PERIODS = 14  # of a forecast that are shown
_PAST, _NOW = 53, 7  # spans of an account that are over, and that contain the latest decision


@dataclass(frozen=True, kw_only=True)
class Use:
    """A span of time with the amount that decisions in it used or may use."""

    start: str
    end: str
    allowance: float
    used: float  # what is held included
    held: float  # for decisions in it whose outcomes are still to come
    over: bool  # whether the latest decision came after it


@dataclass(frozen=True, kw_only=True)
class CasePeriod:
    """A period of the forecast of cases.

    >>> CasePeriod(start="2026-12-14", end="2026-12-15", expected=100.0, came=131.0, over=True).off
    1
    """

    start: str
    end: str
    expected: float  # at the stated level, divided as was learned
    came: float
    over: bool  # whether the latest case came after it

    @property
    def off(self) -> int:
        """1 or -1 if cases are more or fewer than expected, by more than 20 % and 3 standard errors; 0 otherwise."""
        apart = self.came - self.expected
        beyond = abs(apart) > max(_PART * self.expected, _ERRORS * math.sqrt(self.expected))
        return int(math.copysign(beyond, apart))


@dataclass(frozen=True, kw_only=True)
class Account:
    """A constraint that spends, over the whole horizon, in units of its outcome."""

    name: str
    total: float
    spent: float  # what arrived, and what was due for certain when it was decided
    held: float  # for decisions whose outcomes are still to come, at their worst; 0 unless the budget is hard
    left: float  # that can still be used; what past spans of time left is lost
    pace: float  # spent per decided round (if it is soft: per round that arrived), as a part of total / horizon
    hard: bool  # whether it is never exceeded, so that what is known to be used is spent when it is decided
    left_now: float | None = None  # of the spans of time that contain the latest decision, None if there are none
    tightest: Use | None = None  # of these spans, the one that leaves the least
    lost: float = 0.0  # what past spans left
    spans: tuple[
        Use, ...
    ] = ()  # the latest spans that are over, and the first ones that contain the latest decision, at most 60


@dataclass(frozen=True, kw_only=True)
class Status:
    """The status of one replica of a policy.

    Averages are per round over the plays whose outcomes were observed, learned ones times their factors; constraints
    compare what arrived with their limits. `print` shows it as text, and `to_frame` gives a data frame.
    """

    rounds: int  # that were decided and count
    horizon: int
    waiting: int  # decisions whose outcomes are still to come
    objective: float | None  # at the averages so far; None where it is not defined there
    averages: Mapping[str, float]  # by outcome, NaN where none was observed
    accounts: Mapping[str, Account]  # by what is spent
    standings: Mapping[str, Standing]  # by constraint that spends nothing
    prices: Mapping[str, float]  # what one more unit of an outcome, or of a row, is worth at present
    held_out: Mapping[str, Comparison] = field(
        default_factory=dict
    )  # the rounds that were held out beside the others, by outcome
    credits: Mapping[str, float] = field(default_factory=dict)  # what is left of them, by constraint with one
    traffic: tuple[CasePeriod, ...] = ()  # the latest periods of a stated forecast, at most 14
    profile: ProfileState | None = field(default=None, compare=False)  # how cases divide over time, where it is learned
    unit: UnitUse | None = None  # of a problem with units: its caps and the actions that it keeps
    notes: tuple[Note, ...] = ()  # what the model says of itself
    life: str = ""  # of a campaign that does not decide: who paused or ended it, when and why

    def __str__(self) -> str:
        rows = [(what, texts.clip(name), said) for what, name, said in self._rows()]
        width = max([len(name) for _, name, _ in rows], default=0)
        return "\n".join([self._title(), *(f"  {what:<9}  {name:<{width}}  {said}" for what, name, said in rows)])

    def __repr__(self) -> str:
        return texts.first(str(self), rest=": `print` shows all")

    def _repr_html_(self) -> str:
        return texts.table(*self.shown())

    def shown(self) -> tuple[str, list[tuple[str, str, str]]]:
        """Return what `print` shows: a title, and lines of a kind, a name and a text."""
        return self._title(), self._rows()

    def _title(self) -> str:
        waiting = f", {texts.count(self.waiting, 'outcome')} to come" if self.waiting else ""
        return f"{self.rounds:,} of {self.horizon:,} rounds decided{waiting}"

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = [("campaign", "", self.life)] if self.life else []
        rows += [] if self.objective is None else [("objective", "", amount(self.objective))]
        rows += [("average", name, "-" if math.isnan(x) else amount(x)) for name, x in self.averages.items()]
        for name, a in self.accounts.items():
            held = f", {amount(a.held)} held" if a.held else ""
            pace = "" if math.isnan(a.pace) else f"; pace {a.pace:.0%}"
            now = "" if a.left_now is None else f"; {amount(a.left_now)} left now"
            now += f", of {amount(a.tightest.allowance)} until {a.tightest.end}" if a.tightest else ""
            lost = f", {amount(a.lost)} lost" if a.lost > _TINY * a.total else ""
            said = f"{amount(a.spent)} of {amount(a.total)} spent{held}{lost}, {amount(a.left)} left{pace}{now}"
            rows.append(("budget", name, said))
        for name, s in self.standings.items():
            missed = "" if s.kept or self.rounds <= self.waiting else f", {s.text}"  # unless nothing arrived
            rows.append(("limit", name, f"{s.shown} ({s.side} {amount(s.limit)}){missed}"))
        rows += [("traffic", z.start, f"{z.came:,.0f} cases of {z.expected:,.0f} expected") for z in self.traffic[-2:]]
        rows += [("credit", name, f"{amount(left)} left") for name, left in self.credits.items()]
        rows += [] if self.unit is None else [("unit", name, said) for name, said in self.unit.lines]
        rows += [("holdout", c.name, c.text) for c in self.held_out.values()]
        rows += [("price", name, f"{x:+.4g}") for name, x in self.prices.items() if x != 0.0]
        return rows + [("alarm" if note.alarm else "model", "", note.text) for note in self.notes]

    def to_frame(self) -> pd.DataFrame:
        """One line per average, account, standing and price.

        Raises:
            MissingExtra: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("data frames", "data") from error
        lines: list[dict[str, Any]] = [{"what": "average", "name": n, "value": x} for n, x in self.averages.items()]
        for n, a in self.accounts.items():
            numbers = {"value": a.spent, "limit": a.total, "held": a.held, "left": a.left, "pace": a.pace}
            lines.append({"what": "budget", "name": n, **numbers})
        for n, s in self.standings.items():
            lines.append({"what": "constraint", "name": n, "value": s.value, "limit": s.limit})
        lines += [{"what": "traffic", "name": z.start, "value": z.came, "expected": z.expected} for z in self.traffic]
        lines += [{"what": "credit", "name": n, "left": x} for n, x in self.credits.items()]
        if self.unit is not None:
            lines.append({"what": "unit", "name": self.unit.name, "value": self.unit.known})
            lines += [
                {"what": "cap", "name": c.outcome, "value": c.reached, "limit": c.at_most} for c in self.unit.caps
            ]
            lines += [{"what": "kept", "name": self.unit.name, "value": self.unit.kept}] if self.unit.sticky else []
        lines += [{"what": "holdout", "name": c.name, "value": c.difference} for c in self.held_out.values()]
        lines += [{"what": "price", "name": n, "value": x} for n, x in self.prices.items()]
        return pd.DataFrame(lines)


class Limit(NamedTuple):
    """The account of a constraint that is kept hard, by its limit."""

    constraint: Constraint
    left: float
    held: float
    now: Now | None


class Now(NamedTuple):
    """The spans of time of a hard constraint, at the latest decision."""

    left: float  # of those that contain it
    tightest: Use | None  # of those
    to_come: float  # that can still be used
    spans: tuple[Use, ...]


def _now(problem: Problem, limits: Spanned, state: Any, replica: int) -> Now:
    spans, used, period = limits.spans, limits.used(state)[replica], int(limits.period(state)[replica])
    sums, held = (spans.sums(z[None])[0] for z in (used, limits.held(state)[replica]))
    written = problem.clock.format

    def use(s: int) -> Use:
        return Use(
            start=written(float(spans.edges[spans.first[s]])),
            end=written(min(float(spans.ends[s]), problem.clock.last)),
            allowance=float(spans.allowance[s]),
            used=float(sums[s]),
            held=float(held[s]),
            over=bool(spans.last[s] < period),
        )

    begun = np.flatnonzero(spans.first <= period)
    begun, over = begun[np.lexsort((spans.first[begun], spans.last[begun]))], int((spans.last[begun] < period).sum())
    rest = spans.rest(used[None], np.array([period]))[0]
    least = int(rest.argmin())
    left, tightest = float(rest[least]), use(least) if np.isfinite(rest[least]) else None
    uses = tuple(use(s) for s in begun[max(over - _PAST, 0) : over + _NOW])
    return Now(left, tightest, spans.most_from(period, spans.allowance - sums), uses)


def objective(problem: Problem, run: ReplicaSums) -> float | None:
    """Return the objective at the averages so far, None if it is not defined there."""
    run, rounds = run.fill(), float(run.elapsed[0, 0])
    if rounds == 0.0:
        return None
    z = []
    for name in problem.objective.outcomes:
        i, _, column = problem.row(name)
        z.append(run.group_totals[0, 0, column, i] if column >= 0 else run.totals[0, 0, i])
    with np.errstate(all="ignore"):
        value = float(problem.objective.value(np.array([[z]]) / rounds)[0, 0])
    return value if np.isfinite(value) else None


def averages(run: ReplicaSums) -> dict[str, float]:
    """Return averages per round of the outcomes, NaN if none was observed."""
    rounds = float(run.elapsed[0, 0])
    sums = run.fill().totals[0, 0] / (rounds if rounds > 0.0 else 1.0)
    return dict(zip(run.problem.names, np.where(run.observed > 0.0, sums, np.nan).tolist(), strict=True))


def accounts(run: ReplicaSums, hard: list[Limit]) -> dict[str, Account]:
    """Return the accounts of the constraints that spend; `hard` has those that are kept hard."""
    spending = [s for s in run.problem.stated if s.spends]
    kept = [next((row for row in hard if row.constraint is s.constraint), None) for s in spending]
    return {s.rows.names[0]: _account(s, run, row) for s, row in zip(spending, kept, strict=True)}


def _account(stated: Statement, run: ReplicaSums, kept: Limit | None) -> Account:
    horizon, arrived, total = run.problem.horizon, float(run.elapsed[0, 0]), stated.total
    if kept is None:  # of what arrived
        spent = float(stated.constraint.measure(run)[0, 0] * max(arrived, 1.0))
        left, held, rounds = total - spent, 0.0, arrived
    else:
        left, held, rounds = kept.left, kept.held, run.rounds
        spent = math.fsum((total, -left, -held))
    pace = spent / total / (rounds / horizon) if rounds else math.nan
    account = Account(
        name=stated.rows.names[0], total=total, spent=spent, held=held, left=left, pace=pace, hard=kept is not None
    )
    if kept is None or kept.now is None:
        return account
    still = min(kept.now.to_come, left)
    now = kept.now
    lost = left - still
    return replace(account, left=still, lost=lost, left_now=now.left, tightest=now.tightest, spans=now.spans)


def prices(can: Abilities, goals: list[Any], replica: int) -> dict[str, float]:
    """Return the worth of one more unit of every row, summed over goals that read rows of the same name."""
    found: dict[str, float] = {}
    for i, goal in can.priced:
        q, _ = goal.price(goals[i])
        for name, price in zip(goal.rows.names, q[min(replica, len(q) - 1)].sum(0).tolist(), strict=True):
            found[name] = found.get(name, 0.0) + price
    return found


def outlook(can: Abilities, state: PolicyState, replica: int) -> dict[str, float]:
    """Return the averages over the run at which rows end by a plan, by name."""
    found: dict[str, float] = {}
    for i, goal in can.foreseeing:
        found |= zip(goal.rows.names, goal.outlook(state.goals[i], state.t)[replica].tolist(), strict=True)
    return found


def case_periods(problem: Problem, can: Abilities, state: PolicyState, replica: int) -> tuple[CasePeriod, ...]:
    """Return the latest periods of the forecast of cases, from the first one that was seen from its start."""
    books = pace_books(can, state)
    counts = None if books is None else books[0].case_counts(books[1])
    if counts is None:
        return ()
    came, last, written = counts.came[replica], int(counts.present[replica]), problem.clock.format
    begun = int((came > 0.0).argmax())
    first = min(max(begun + (begun > 0), last + 1 - _PERIODS), last)
    return tuple(
        CasePeriod(
            start=written(float(counts.ends[i])),
            end=written(float(counts.ends[i + 1])),
            expected=float(counts.expected[replica, i]),
            came=float(came[i]),
            over=i < last,
        )
        for i in range(first, last + 1)
    )


def status(problem: Problem, can: Abilities, state: PolicyState, replica: int, said: tuple[Note, ...] = ()) -> Status:
    """Return the status of a replica, with the notes of its model."""
    books, rounds = state.books[replica], float(state.t[replica])
    run = ReplicaSums(problem=problem, books=books, cases=state.seen[replica], rounds=rounds)
    waiting, hard = len(state.receipts.waiting()), list[Limit]()
    for i, limits in can.limits:
        if isinstance(limits, Accounts):
            left, held = limits.account(state.goals[i])
            numbers = zip(left[replica].tolist(), held[replica].tolist(), strict=True)
            now = _now(problem, limits, state.goals[i], replica) if isinstance(limits, Spanned) else None
            hard += [Limit(c, *row, now) for c, row in zip(limits.constraints, numbers, strict=False)]  # if of any
    credit, books = credits_left(problem, can.limits, state.goals), pace_books(can, state)
    return Status(
        rounds=int(rounds),
        horizon=problem.horizon,
        waiting=waiting,
        objective=objective(problem, run),
        averages=averages(run),
        accounts=accounts(run, hard),
        standings=standings(
            run,
            waiting > 0,
            None if state.periods is None else state.periods[replica],
            None if credit is None else credit[replica],
            outlook(can, state, replica),
        ),
        prices=prices(can, state.goals, replica),
        held_out=compare_holdout(can.compares, state.goals, replica),
        credits={g.label: float(g.left(state.goals[i])[replica]) for i, g in can.limits if isinstance(g, Credits)},
        traffic=case_periods(problem, can, state, replica),
        profile=None if books is None or books[1].profile is None else books[1].profile.of(replica),
        unit=UnitBooks(problem).use(state.units, replica),
        notes=said,
    )


def facts(problem: Problem, model: Model, goals: tuple[Goal, ...], choice: Choice) -> list[tuple[str, str]]:
    """Return the parts, and the facts of the problem that bear on them."""
    sizes = f"{count(model.n_features, 'feature')}, {count(model.n_outcomes, 'learned outcome')}"
    width = getattr(model, "width", None) or getattr(getattr(model, "inner", None), "width", None)
    sizes += f", width {settings(width)}" if width is not None else ""
    each = [settings(goal) for goal in goals]
    return [
        ("model", f"{kinds(model)} ({sizes})"),
        *zip(("goals", *("",) * len(each)), each, strict=False),
        ("choice", clip(repr(choice))),
        ("problem", problem.size),
        *(fact for fact in problem.facts if fact[0] in ("maximize", "subject to")),
    ]
