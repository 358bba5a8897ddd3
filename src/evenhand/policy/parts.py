"""Outcomes of one decision that arrive at different times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import inlined, kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy import checks

_STEPS = 2.0**20  # shares of a round are multiples of 1 / _STEPS, so that those of all its parts add up to exactly 1


class Part(NamedTuple):
    """The plays of a decision whose outcomes arrive now."""

    decision: Decision  # with only these plays: the places of all others are empty
    share: Floats  # (R,) of the plays of the round
    waits: Bools  # (R, P) plays whose outcomes had not arrived before
    rest: Bools  # (R, P) plays whose outcomes are still to come


@inlined
def _grid(part: int, whole: int) -> float:
    return float(np.floor(part / whole * _STEPS + 0.5) / _STEPS)


@kernel
def _split(plays: Ints, counted: Floats, waits: Bools, pending: Bools) -> tuple[Ints, Floats, Bools, int, int, bool]:
    """Plays that arrive, their share of the round, and those to come, `(P),(),(P),(P)->(P),(),(P),(),(),()`.

    Then replica and place of the first play that is pending and settled, -1 where there is none; and whether anything
    arrives. An empty `pending` is false everywhere.
    """
    here, share, rest, some = np.full(plays.shape, -1), np.zeros(len(plays)), np.zeros(plays.shape, np.bool_), False
    for r in range(len(plays)):
        made, before, after = 0, 0, 0
        for p in range(plays.shape[1]):
            if counted[r] == 0.0 or plays[r, p] < 0:
                continue
            made += 1
            late = len(pending) > 0 and pending[r, p]
            if not waits[r, p]:
                if late:
                    return here, share, rest, r, p, some
                before += 1
            elif late:
                rest[r, p] = True
            else:
                here[r, p] = plays[r, p]
                after += 1
        if after > 0:
            share[r] = _grid(before + after, made) - _grid(before, made)
            some = True
    return here, share, rest, -1, -1, some


def counted_plays(decision: Decision) -> Bools:
    """Mark the plays of the rounds that count, `->(P)`."""
    return np.asarray((decision.plays >= 0) & (decision.counted > 0.0)[:, None])


def arriving_part(decision: Decision, waits: Bools, pending: Bools | None) -> Part:
    """Return the part of a decision that arrives now: all plays that wait, except `pending` ones, `(P),(P)`.

    Raises:
        InvalidInput: a play that is pending although its outcome arrived before, or nothing that arrives.
    """
    mask = checks.EVERY_PLAY if pending is None else pending
    here, share, rest, r, p, some = _split(decision.plays, decision.counted, waits, mask)
    if r >= 0:
        raise InvalidInput(f"pending[{r}, {p}]", "a play whose outcome is still to come", "one that was settled before")
    if not some:
        raise InvalidInput("pending", "at least one play whose outcome arrives", "none")
    return Part(decision._replace(plays=here), share, waits, rest)
