"""The states at which decisions of a log were made that were made together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from evenhand.core.records import Context, Decision
from evenhand.live.cases import context_of
from evenhand.live.events import Conflict, Damaged, Event, is_erased, read
from evenhand.live.fold import Fold
from evenhand.policy.ahead import frozen, pass_on
from evenhand.policy.state import PolicyState


class AsOf:
    """Follows a log, and keeps the state at which the decisions that come next may have been made.

    Args:
        first: the events before those that are followed.
    """

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._seq: int | None = None  # the last event of the state that is kept
        self._fold: Fold | None = None
        self._state: PolicyState | None = None

    def state(self, fold: Fold, body: Mapping[str, Any]) -> PolicyState | None:
        """Return the state at which the decision was made that follows the events of a fold, None if it is not known.

        It is that of the fold, or the kept one, where the body says that others were made at it before.

        Raises:
            Damaged: it is a state before those that are followed.
        """
        as_of = body.get("as_of")
        if as_of is None:
            return fold.state
        if isinstance(as_of, int) and 0 <= as_of < self._first:
            raise Damaged(f"event {fold.seq + 1} was decided at event {as_of}, before event {self._first}")
        if as_of == fold.seq:
            self._seq, self._fold, self._state = as_of, fold, frozen(fold.policy, deepcopy(fold.state))
        return self._state if as_of == self._seq and fold is self._fold else None

    def pass_on(self, fold: Fold, body: dict[str, Any], context: Context, again: Decision | None) -> None:
        """Let the state that is kept advance by a decision of the log, which is decoded if it was not made again."""
        if body.get("as_of") is not None and self._state is not None:
            pass_on(fold.policy, self._state, context, again or fold.made(body, context).decision)


def advance(fold: Fold, events: Iterable[Event]) -> None:
    """Let a fold have the state at which the next decision was made, after decisions that were made at its state.

    Raises:
        Conflict: one of them was erased.
    """
    fold.state = frozen(fold.policy, fold.state)
    for event in events:
        if is_erased(event):
            raise Conflict(f"decision {event.seq} was erased, after which this one was made")
        body = read(event)
        context = context_of(fold.encoder, fold.policy.problem.clock, body, event.at)
        pass_on(fold.policy, fold.state, context, fold.made(body, context).decision)
