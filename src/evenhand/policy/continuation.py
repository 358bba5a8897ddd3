"""Continuation of the books of another policy's state, with other parts and a model of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Decision
from evenhand.core.signatures import has
from evenhand.core.types import Floats
from evenhand.goals.base import Continues, Keeps, Learns, Limits, Past, Replans
from evenhand.models.base import ROUND
from evenhand.policy import books, checks, entries, outcome_names, saving
from evenhand.policy.adoption import refuse_other_books
from evenhand.policy.books import ARRIVED, DECIDED
from evenhand.policy.outcome_names import wrong_outcome
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.problem.rows import Rows, stack

_HISTORY = ".history."  # the contexts that a goal keeps, which are of the features of its model


def refuse_books(new: Policy, old: Policy) -> None:
    """Refuse a policy that cannot go on with the books of another one.

    Raises:
        InvalidInput: its sums are of other outcomes, groups or spans of time, or it has a limit that cannot begin with
            what is in the books; it names which.
    """
    refuse_other_books(new, old)
    for _, goal, place in _pairs(new, old):
        if place is None and isinstance(goal, Limits) and not has(goal, Continues):
            raise InvalidInput(f"adopt: {type(goal).__name__}", "a limit that was kept before", "a new one")


def learn(policy: Policy, state: PolicyState, context: Context, d: Decision, outcomes: outcome_names.Named) -> None:
    """Let the model learn a decision of another policy, and plans keep its context; books stay as they are.

    Raises:
        InvalidInput: outcomes that cannot be of this decision.
    """
    with policy._guard_of(state):
        parts, problem = policy._assembly, policy.problem
        y, observed, exposed = outcome_names.outcomes(problem, d.plays.shape[1], outcomes)
        checks.decision(d, 1, problem.n_plays, policy.model.n_features, problem)
        y, missing = (
            checks.outcomes(y, observed, exposed, d, problem),
            np.zeros((*y.shape[:2], len(problem.names)), bool),
        )
        said = d.plays, d.counted, d.time, d.groups, d.known, y, observed, exposed
        of_problem = problem.sure, len(problem.noisy), problem.span_by_action
        _, _, r, m, learned, _, seen = entries.at_arrival(*said, *of_problem, missing)
        if r >= 0:
            raise wrong_outcome(r, m, y, observed, exposed, d, d.plays, problem)
        w, *_ = parts.questions.prices(state, context, parts.questions.group_shares(state, context))
        prices = w if w.shape[2] == 1 else entries.take_prices(w, d.plays)
        parts.zeros.tell(state.model, d.plays, seen)
        policy.model.update(state.model, d.features, learned, seen, prices, ROUND)
        for goal, sums in zip(policy.goals, state.goals, strict=True):
            if has(goal, Keeps):
                goal.keep(sums, context, d.counted)


def continue_state(
    new: Policy,
    old: Policy,
    state: PolicyState,
    learned: PolicyState,
    waiting: Callable[[PolicyState], Sequence[Decision]],
    *,
    alike: bool,
) -> PolicyState:
    """Return a state of a policy with the books of another one's state, and a model that learned from a log.

    Sums, receipts, what limits used and hold, and the state of every goal that both have are those of the old state.
    Other goals begin with the sums of their rows in the table of outcomes, and at their first prices.

    Args:
        new, old, state: the policies, and a state of the second one, which stays as it is.
        learned: a state of the first one, which learned and decided nothing; it is used up.
        waiting: returns the decisions that wait, as the first policy makes them in a state, with their receipts.
        alike: whether features are the same, so that contexts that goals keep are still of use.

    Raises:
        InvalidInput: as for `refuse_books`.
    """
    refuse_books(new, old)
    fresh, own = learned, deepcopy(state)
    for field in ("t", "seen", "books", "periods", "units", "receipts"):
        setattr(fresh, field, getattr(own, field))
    assembly, made = new._assembly, waiting(fresh)
    shares = assembly.restating.shares(fresh)
    fresh.inside = _inside(new, fresh)
    taken = _use(old, own)
    for i, goal, place in _pairs(new, old):
        here = fresh.goals[i]
        blank = not alike and has(goal, Keeps) and not here.history.kept.any()  # a plan needs contexts
        if place is not None and not blank and _fits(here, own.goals[place]):
            sums, kept = dict(saving.flatten(here)), dict(saving.flatten(own.goals[place]))
            sums |= {path: z for path, z in kept.items() if alike or not path.startswith(_HISTORY)}
            saving.fill(here, sums)
        elif has(goal, Continues):
            goal.go_on(here, _past(new, fresh, goal.rows, shares, taken, made))
        if isinstance(goal, Replans):
            goal.replan(here)
    if saving.fingerprint(new.choice) == saving.fingerprint(old.choice) and _fits(fresh.choice, own.choice):
        fresh.choice = own.choice
    for decision in made if assembly.delay.counts else ():
        assembly.delay.commit(fresh, decision)
    assembly.loop.go_on(fresh, old.problem)
    return fresh


def _pairs(new: Policy, old: Policy) -> Iterator[tuple[int, object, int | None]]:
    """Yield every goal and its place among those of another policy, None if it has no such goal of these rows."""
    free = list(range(len(old.goals)))
    for i, goal in enumerate(new.goals):
        place = next((j for j in free if _is_same(goal, old.goals[j]) and isinstance(goal, Learns)), None)
        if place is not None:
            free.remove(place)
        yield i, goal, place


def _is_same(goal: object, other: object) -> bool:
    rows = [z.rows.names if hasattr(z, "rows") else () for z in (goal, other)]
    return type(goal) is type(other) and rows[0] == rows[1]


def _fits(fresh: object, kept: object) -> bool:
    """Return whether a state has the arrays of another one, contexts aside."""
    shapes = [{p: z.shape for p, z in saving.flatten(s) if not p.startswith(_HISTORY)} for s in (fresh, kept)]
    return shapes[0] == shapes[1]


def _use(old: Policy, state: PolicyState) -> dict[str, Floats]:
    """Return the amounts that hard limits used and hold, by the names of their rows, `(4,R)` each."""
    found = dict[str, Floats]()
    for goal, sums in zip(old.goals, state.goals, strict=True):
        taken = getattr(sums, "taken", None)
        if isinstance(goal, Limits) and taken is not None:
            each = taken.sum(3) if taken.ndim > 3 else taken
            found |= {name: each[:, :, j] for j, name in enumerate(goal.rows.names)}
    return found


def _past(
    new: Policy,
    state: PolicyState,
    rows: Rows,
    shares: Floats,
    taken: Mapping[str, Floats],
    waiting: Sequence[Decision],
) -> Past:
    """Return the sums of some rows in the table of outcomes."""
    sums, seen = books.rows(new.problem, state.books, rows, shares)
    first, periods = state.books[:, 0], list[tuple[float, Floats, Floats, Floats]]()
    for p in range(0 if state.periods is None else state.periods.shape[1]):
        table = state.periods[:, p]  # type: ignore[index]
        counts = table[:, 0, DECIDED], table[:, 0, ARRIVED]
        periods.append(
            (new._assembly.settlement.by_period.edges[p], *counts, books.rows(new.problem, table, rows, shares)[0])
        )
    return Past(first[:, DECIDED], state.t - first[:, DECIDED], first[:, ARRIVED], sums, seen, taken, waiting, periods)


def _inside(new: Policy, state: PolicyState) -> Floats:
    """Return the sums inside groups of the rows that are divided by estimated shares, `->(D)`."""
    goals = [goal.rows for _, goal in new._assembly.can.restating]
    if not goals:
        return state.inside
    return books.rows(
        new.problem, state.books, stack(goals).insides, np.ones((len(state.t), len(new.problem.columns)))
    )[0]
