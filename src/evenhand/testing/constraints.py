"""The contract of constraints, and recipes that drop one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.types import Floats
from evenhand.policy.policy import Policy
from evenhand.problem.constraints.base import Constraint, Curved, parts_in, spans_in
from evenhand.problem.constraints.statements import state
from evenhand.problem.constraints.sums import Sums
from evenhand.problem.declarations import Declarations
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select
from evenhand.run.simulation import play
from evenhand.testing.promises import Draw, complete, require, same
from evenhand.testing.recipes import Bazaar, Call, calls


@dataclass(frozen=True)
class _PlainRows:
    """A constraint that consists of given rows and bounds."""

    given: Rows
    bounds: tuple[float, ...]
    label: str = "rows"
    hard: bool | None = None
    spends: bool = False
    worst: Literal["low", "high"] = "high"

    def rows(self, problem: Declarations) -> Rows:
        return self.given

    def bound(self, problem: Declarations) -> Floats:
        return np.array(self.bounds, float)

    def limit(self, horizon: int) -> float:
        return 0.0

    def total_over(self, horizon: int) -> float:
        return 0.0

    def measure(self, run: Sums) -> Floats:
        return np.zeros(run.elapsed.shape)


class _Reads(NamedTuple):
    """The rows that the goals of a policy read, by value, and the sets of its goals and its choice."""

    rows: tuple[tuple[str, bytes], ...]
    sets: tuple[str, ...]


def check_recipes(constraint: Constraint, problem: Problem, rounds: int) -> None:
    """Check every recipe with a problem under this constraint alone.

    Raises:
        AssertionError: a recipe drops the constraint, or fails with an error other than evenhand's; names the recipe.
    """
    under = replace(problem, subject_to=(constraint,))
    (stated,) = under.stated
    rows, bound, curved = stated.rows, tuple(stated.bound.tolist()), stated.region is not None
    if not len(rows) and not curved:
        return
    less: list[tuple[Constraint, ...]] = [()] if len(rows) else []
    if curved:
        less.append((_PlainRows(rows, bound),))
    name = under.objective.outcomes[0]
    lenient = _PlainRows(select(under, (name,)), (1e12,))
    for call in calls():
        policy = _policy(call, under)
        if policy is None:
            continue
        for subject_to in less:
            without = _policy(call, replace(problem, subject_to=subject_to))
            dropped = without is not None and _reads(policy) == _reads(without)
            if dropped:
                none = _policy(call, replace(problem, subject_to=()))
                any_other = _policy(call, replace(problem, subject_to=(lenient,)))
                blind = none is not None and any_other is not None and _reads(none) == _reads(any_other)
                what = "a set" if subject_to else "rows"
                require(blind, f"{call.name} keeps a constraint or refuses it, but drops {what} of {constraint.label}")
        _plays(call, policy, rounds)


def _policy(call: Call, problem: Problem) -> Policy | None:
    """Make the policy; None if the recipe refuses the problem with an error of evenhand."""
    try:
        return call.make(problem)
    except EvenhandError:
        return None
    except Exception as error:
        raise AssertionError(f"{call.name} refuses with a sentence, not by {type(error).__name__}: {error}") from error


def _plays(call: Call, policy: Policy, rounds: int) -> None:
    state = policy.start(seed=3)
    try:
        for _ in play(policy, state, Bazaar(policy.problem).start(3, state.replicas), range(rounds)):
            pass
    except Exception as error:
        raise AssertionError(f"{call.name} plays what it took, without {type(error).__name__}: {error}") from error


def _reads(policy: Policy) -> _Reads:
    rows = []
    for goal in policy.goals:
        weights = np.column_stack([goal.rows.weights, goal.rows.always, goal.rows.inside, goal.rows.column])
        rows.append((type(goal).__name__, weights.tobytes()))
    sets = [getattr(part, "regions", ()) for part in (*policy.goals, policy.choice)]
    return _Reads(tuple(rows), tuple(map(repr, sets)))


_POINTS, _REPLICAS, _ROUNDS = 6, 64, 100


def check_constraint(constraint: Constraint, problem: Problem, *, rounds: int = 5) -> None:
    """Check that a constraint's rows and measure agree, in a batch and alone, and that no recipe drops it silently.

    Over sums of made-up runs, averages of the rows are within their bounds exactly where the measure is within its
    limit; where a constraint is `Curved` as well, its rows need not say all. A run without rounds is measured, too.
    Then every exported recipe gets the problem under this constraint alone. It refuses it by an error that names a
    field, or plays, with goals that read the constraint: its rows, and the set that these do not say. A recipe that
    would not read the rows of any other constraint either, such as `ucb`, need not read these. A constraint that
    stands for several is checked by these.

    Args:
        constraint: any of `evenhand.problem`, or your own.
        problem: the problem whose outcomes and groups it refers to.
        rounds: the number of rounds that each recipe plays; 0 skips recipes.

    >>> from evenhand.environments import Court
    >>> from evenhand.problem import Budget
    >>> check_constraint(Budget("ride", total=50), Court().problem)
    """
    complete(constraint, Constraint)
    parts = parts_in((constraint,), problem)
    if parts != (constraint,):
        for part in parts:
            check_constraint(part, problem, rounds=rounds)
        return
    if hasattr(constraint, "curved"):
        complete(constraint, Curved)
    require(isinstance(constraint.label, str) and constraint.label != "", "the label is a text")
    require(constraint.worst in ("low", "high"), f"`worst` is 'low' or 'high', not {constraint.worst!r}")
    require(constraint.hard in (None, True, False), f"`hard` is True, False or None, not {constraint.hard!r}")
    require(bool(constraint.spends) or not constraint.hard, "what is hard spends, so that a limit can keep it")
    if spans_in(constraint, problem) is None:
        limit, total = constraint.limit(problem.horizon), constraint.total_over(problem.horizon)
        finite = all(isinstance(z, Real) and math.isfinite(z) for z in (limit, total))
        require(finite, f"the limit and the total are finite numbers, not {limit!r} and {total!r}")
    stated = state(problem, constraint)
    limit, total = stated.limit, stated.total
    rows, bound = stated.rows, stated.bound
    require(isinstance(rows, Rows), f"`rows` returns Rows, not {type(rows).__name__}")
    for name, z, outcomes in (("learned", rows.learned, problem.learned), ("known", rows.known, problem.known)):
        shape = len(rows), len(outcomes)
        require(z.shape == shape, f"weights of {name} outcomes have shape {shape}, not {z.shape}")
    one_each = np.shape(bound) == (len(rows),) and bool(np.isfinite(bound).all())
    require(one_each, f"the bound is a finite number for each of {len(rows)} rows, not {bound}")
    close = abs(total - limit * problem.horizon) <= 1e-9 * abs(total)
    require(close or not constraint.spends, "the total of what is spent is the limit times the horizon")
    run = _draw_run(problem)
    measured = constraint.measure(run)
    require(np.shape(measured) == run.elapsed.shape, f"measures have shape (G, R), not {np.shape(measured)}")
    per = stated.per(run)
    undivided = np.zeros(run.elapsed.shape, bool) if per is None else per == 0.0
    finite = bool((np.isfinite(measured) | undivided).all())
    require(finite, "measures are finite, also before the first round, except per unit of a sum that is 0")
    same(constraint.measure(run), measured, "to measure changes nothing")
    for i in range(_REPLICAS):
        alone = constraint.measure(run.of(slice(i, i + 1)))
        same(alone, measured[:, i : i + 1], "a replica is measured alike in a batch and alone")
    over = (_averages(rows, run) - bound).max(-1, initial=-np.inf)[1:]
    past = (measured - limit if constraint.worst == "high" else limit - measured)[1:]
    require(not ((over > 1e-6) & ~(past > 0.0)).any(), "where a row is over its bound, the measure is past its limit")
    if stated.region is None:
        wrong = (over < -1e-9) & (past > 1e-9)
        require(not bool(wrong.any()), "where all rows are within their bounds, the measure is within its limit")
    if rounds:
        check_recipes(constraint, problem, rounds)


class _Run(NamedTuple):
    """The sums of synthetic runs."""

    problem: Problem
    elapsed: Floats
    totals: Floats
    group_totals: Floats
    group_rounds: Floats

    def of(self, which: slice) -> _Run:
        return _Run(self.problem, *(z[:, which].copy() for z in self[1:]))


def _draw_run(problem: Problem) -> _Run:
    """Generate averages over the whole ranges of outcomes, with differences between groups from none to large."""
    ids, m = np.arange(_REPLICAS), len(problem.learned)
    found: list[tuple[Floats, ...]] = []
    low, high = (np.clip(z[:m], -1e3, 1e3) for z in problem.amount_span)
    sizes = [len(g.names) for g in problem.groups]
    for point in range(_POINTS):
        draw = Draw(ids, point)
        lottery = draw(1, len(problem.actions)) ** 4  # sometimes concentrated on one action
        lottery /= lottery.sum(1, keepdims=True)
        mean = np.column_stack([low + (high - low) * draw(2, m), lottery @ problem.declared])
        rounds = np.full(_REPLICAS, float(_ROUNDS * point))
        cases, inside = [np.zeros((_REPLICAS, 0))], [np.zeros((_REPLICAS, 0, mean.shape[1]))]
        for i, (size, shares) in enumerate(zip(sizes, _shares(problem), strict=True)):
            count = rounds[:, None] * shares
            apart = (draw(10 + i, size, 1) - 0.5) * mean[:, None] * draw(30 + i, 1, 1) ** 4
            apart -= (apart * shares[:, None]).sum(1, keepdims=True)  # the groups' weighted deviations cancel
            cases.append(np.broadcast_to(count, (_REPLICAS, size)))
            inside.append((mean[:, None] + apart) * count[:, :, None])

        found.append((rounds, mean * rounds[:, None], np.concatenate(inside, 1), np.concatenate(cases, 1)))
    return _Run(problem, *(np.stack(z) for z in zip(*found, strict=True)))


def _shares(problem: Problem) -> list[Floats]:
    """Return the shares of each grouping, as declared or equal."""
    parts = [problem.shares[a:b] for a, b in pairwise(problem.ends.tolist())]
    return [np.where(np.isnan(s), 1.0 / len(s), s) for s in parts]


def _averages(rows: Rows, run: _Run) -> Floats:
    """Compute the average of every row per round, `->(G,R,d)`, from the definition of rows."""
    rounds = np.maximum(run.elapsed, 1.0)[:, :, None]
    average = rows.always * (run.totals @ rows.weights.T) / rounds
    shares = np.concatenate([np.zeros(0), *_shares(run.problem)])
    for j, c in enumerate(rows.column.tolist()):
        if c >= 0:
            inside = run.group_totals[:, :, c] @ rows.weights[j] / (shares[c] if rows.by_share[j] else 1.0)
            average[:, :, j] += rows.inside[j] * inside / rounds[:, :, 0]
    return average
