"""The state of a goal that solves again: books, prices and contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals._directions import Directions
from evenhand.goals.base import Past
from evenhand.planning import history
from evenhand.planning.history import HistoryState
from evenhand.planning.pace import Pace, PaceState
from evenhand.planning.reserve import Reserve, ReserveState
from evenhand.planning.tangents import Tangents


@dataclass
class ResolvingState:
    """Books, prices, and the contexts so far."""

    # k counts the directions of rows, then the tangents of convex sets
    mu: Floats  # (R, k) signed prices of the directions
    matches: Floats  # (R, A) prices of the matches of arms, if the users of a round share them
    plan: Floats  # (R, k) planned consumption per round at these prices
    noise: Floats  # (R, k) planned mean square of the consumption per round
    heat: Floats  # (R,) temperature of the plan's lottery among equal gains, 0 where there are none
    spent: Floats  # (R, d) sums of the rows so far: known rows from commit on, others once the outcome arrives
    counted: Floats  # (R, d) rounds in these sums
    seen: Floats  # (R, m) rounds in which each row was observed that the slope of the objective or a set depends on
    pull: Floats  # (R, k) what a price moves by per unit of the gap
    made: Floats  # (R, P) plays at each place whose outcome arrived
    looked: Floats  # (R, P) how many of them were exposed
    gap: Floats  # (R, k) consumption minus plan, plus what new shares added to earlier rounds, less what was drift
    since: Floats  # (R, k) rounds since the last solve that were compared with the plan
    jump: Floats  # (R, k) largest absolute consumption in one round so far
    most: Floats  # (R, k) the same, or as large as a round of the last plan can have it
    arrived: Floats  # (R,) rounds whose outcomes arrived
    cancelled: Floats  # (R,) rounds that were taken back
    due: Floats  # (R,) number of decided rounds at which to solve next
    news: Floats  # (R,) number of rounds whose outcomes arrived at which to solve next
    solved: Ints  # (R,) number of solves
    end: Floats  # (R, m) where the averages of the objective's rows are planned to end, if its slope moves
    tangents: Tangents
    history: HistoryState
    pace: PaceState
    reserve: ReserveState


class Left(NamedTuple):
    """The bounds and rounds that are left, and the units in which a plan states them."""

    length: Floats  # (R,) rounds of the whole run, as expected now
    so_far: Floats  # (R, m) sums of the rows that are followed; where some were not observed, as if they had been
    rest: Floats  # (R, d) remaining rounds of every row
    low: Floats  # (R, k) bounds of the directions in a round to come
    high: Floats
    placed: Floats  # (R, k) what a plan multiplies uses with: they are per exposure, and some are due for a placement
    still: Bools  # (R, k) directions that nothing can move out of their bounds
    position: Floats  # (R, P) how likely each place of a case is exposed


def start(
    rows: int,
    directions: int,
    followed: int,
    plays: int,
    arms: Floats,
    end: Floats,
    cuts: Tangents,
    books: tuple[PaceState, ReserveState],
) -> ResolvingState:
    """Return a state without contexts, at prices of 0; `arms` are first prices of matches, `end` is the planned end."""
    n_replicas = len(arms)
    k = directions + cuts.bound.shape[1]
    return ResolvingState(
        mu=np.zeros((n_replicas, k)),
        matches=arms,
        plan=np.zeros((n_replicas, k)),
        noise=np.zeros((n_replicas, k)),
        heat=np.zeros(n_replicas),
        spent=np.zeros((n_replicas, rows)),
        counted=np.zeros((n_replicas, rows)),
        seen=np.zeros((n_replicas, followed)),
        pull=np.zeros((n_replicas, k)),
        made=np.zeros((n_replicas, plays)),
        looked=np.zeros((n_replicas, plays)),
        gap=np.zeros((n_replicas, k)),
        since=np.zeros((n_replicas, k)),
        jump=np.zeros((n_replicas, k)),
        most=np.zeros((n_replicas, k)),
        arrived=np.zeros(n_replicas),
        cancelled=np.zeros(n_replicas),
        due=np.ones(n_replicas),
        news=np.full(n_replicas, np.inf),
        solved=np.zeros(n_replicas, np.int64),
        end=end,
        tangents=cuts,
        history=history.start(n_replicas),
        pace=books[0],
        reserve=books[1],
    )


def go_on(state: ResolvingState, past: Past, known: Bools, of: Directions, pace: Pace) -> None:
    """Enter the sums so far; a constraint row that was not observed counts as its bound, as where outcomes arrive."""
    counts = np.where(known, past.decided[:, None], past.arrived[:, None])
    state.spent += past.sums + (counts - past.seen) * of.finite
    state.counted += counts
    state.seen += past.seen[:, of.followed]
    state.arrived += past.arrived
    state.cancelled += past.cancelled
    pace.go_on(state.pace, past.periods, known)


def rate_of_plan(state: ResolvingState, directions: Directions, reserve: Reserve) -> Floats:
    """The use of a round to come by the latest plan, `->(d)`."""
    rows = directions.merged.rows(state.plan[:, : len(directions.first)])
    return reserve.of_all(state.reserve, rows)


def end_of_run(state: ResolvingState, rate: Floats, length: Floats) -> Floats:
    """The averages at which rows end, if all rounds to come of a run of so many use a rate, `(d),(1)->(d)`."""
    return np.asarray((state.spent + np.maximum(length - state.counted, 0.0) * rate) / length)


@kernel
def look(counted: Floats, plays: Ints, exposed: Bools, made: Floats, looked: Floats) -> None:
    """Count plays and exposed plays, `(),(P),(P)->(P),(P)`; a single `exposed` is that of all plays."""
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                made[r, p] += counted[r]
                if exposed[r if len(exposed) > 1 else 0, p if exposed.shape[1] > 1 else 0]:
                    looked[r, p] += counted[r]
