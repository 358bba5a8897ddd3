"""The state of a goal that solves again: books, prices and contexts, and the use of a plan's rows by candidates.

A row of known and learned outcomes, such as a cost per sale, is kept by what is learned. While outcomes wait, a plan at
the means counts on sales that nobody has seen, for every play that is on its way and for all that follow until one of
them is heard of. If what has arrived misses such a row, it is therefore read at those ends of the intervals that are
worst for it, with what has arrived alone; if not, between the means and these ends, the nearer to the means the more
rounds are left to make up for those that wait. Before anything has arrived, such a plan would play hardly anything but
what costs least, and nothing would be known of the rest in the end. Until then the row has a price that is not solved
for, and that is low enough for every candidate to be tried before any of them is tried often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals._directions import Directions
from evenhand.goals.base import Past
from evenhand.planning import history
from evenhand.planning.fluid import largest
from evenhand.planning.forecast import Forecast
from evenhand.planning.history import HistoryState
from evenhand.planning.pace import Pace, PaceState, Reserve, ReserveState
from evenhand.planning.tangents import Tangents

_UNKNOWN = 0.15  # times the largest gain over the reach is the price of a row of which nothing is known


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
    """The averages at which rows end, if all rounds to come in a run of given length use a rate, `(d),(1)->(d)`."""
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


def uses(
    state: ResolvingState, of: Directions, left: Left, sample: Forecast
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Uses of directions and tangents, plain and hopeful, their bounds, and the factors of uses in a round.

    `->(S,k,A),(S,k,A),(k),(k),(k)`. A tangent reads the rows of its set in units of a round of those that are left.
    """
    if not of.regions:
        return sample.use, sample.hope, left.low, left.high, left.placed
    k, m, rest = len(of.first), len(of.shaped), left.rest[:, of.shaped]
    most, row = rest.max(1, keepdims=True), of.merged.of[of.shaped]
    each = (left.placed[:, row] * rest / most)[:, None, :, None]
    plain = sample.use[:, :, row] * (of.merged.multiple[of.shaped][:, None] * each)
    use = np.concatenate([sample.use[:, :, :k], state.tangents.use(plain, plain, plain)], 2)
    hope = use
    if sample.hope is not sample.use:
        ends = [plain, plain]
        if sample.hope.shape[2] > k:
            ends = np.split(sample.hope[:, :, k:] * np.tile(each, (1, 1, 2, 1)), 2, 2)
        hope = np.concatenate([sample.hope[:, :, :k], state.tangents.use(plain, *ends)], 2)
    over = (left.length[:, None] * state.tangents.bound - state.tangents.of(left.so_far[:, -m:])) / most
    low, high = np.concatenate([left.low, np.full_like(over, -np.inf)], 1), np.concatenate([left.high, over], 1)
    return use, hope, low, high, np.concatenate([left.placed, np.ones_like(over)], 1)


def caution(state: ResolvingState, of: Directions, left: Left, due: Bools, t: Floats) -> tuple[Floats, Bools]:
    """How far from the means a plan reads its mixed directions, and those of which nothing is known, `()->(k),(k)`.

    Equation: 1 where nothing has arrived, or what has arrived leaves less for a round to come than is allowed on
    average, and min(1, rounds that wait / rounds to come) elsewhere; 0 where no more than one round waits.
    """
    waits, rest = t - state.arrived - state.cancelled, np.maximum(left.length - t, 1.0)
    where = (due & (waits > 1.0))[:, None] & of.mixed & ~left.still
    low, high = of.merged.bounds(of.bounds[None])
    blank, missed = state.counted[:, of.first] == 0.0, (left.high < high) | (left.low > low)
    weight = np.where(blank | missed, 1.0, np.minimum(waits / rest, 1.0)[:, None])
    return np.where(where, weight, 0.0), where & blank


def guard(sample: Forecast, ends: Forecast, weight: Floats, priced: Floats) -> Forecast:
    """Read directions between the means and the worst ends of what has arrived, at weights of the latter, `(k)->.`.

    Those of which nothing is known use nothing in a plan, and their prices are in its gains, `(k)`.
    """
    k = weight.shape[1]
    at, price, share = ends.hope[:, :, :k], np.nan_to_num(priced[:, :k]), weight[:, None, :, None]
    paid = np.add.reduce(price[:, None, :, None] * at, 2)
    at = np.where((price != 0.0)[:, None, :, None], 0.0, at)
    use = _interpolate(sample.use, at, share)
    hope = use if sample.hope is sample.use else _interpolate(sample.hope, at, share)
    return sample._replace(gain=sample.gain - paid, use=use, hope=hope)


def _interpolate(use: Floats, at: Floats, share: Floats) -> Floats:
    """Move the uses of directions to other numbers by a share of the way, exactly where it is 0 or 1."""
    found, here = use.copy(), use[:, :, : at.shape[2]]
    found[:, :, : at.shape[2]] = np.where(share == 1.0, at, np.where(share > 0.0, here + share * (at - here), here))
    return found


def blank_prices(mu: Floats, ends: Forecast, of: Directions, blank: Bools) -> Floats:
    """Return the prices of directions of which nothing is known, NaN elsewhere, `(k),.,.,(k)->(k)`.

    Equation: +-.15 max |gain| / reach, with what has arrived alone, `max` over contexts and candidates, and the most
    that what is learned can change a play's use, as declared: a target that little is enough for costs little. Where
    no range is declared, the reach is the largest use.
    """
    found, k = np.full(mu.shape, np.nan), len(of.first)
    gain = largest(np.where(np.isfinite(ends.gain), ends.gain, 0.0)[:, :, None], ends.kept)
    reach = np.where(np.isfinite(of.reach), of.reach, largest(ends.hope[:, :, :k], ends.kept))
    price = np.sign(-of.worst[:k]) * _UNKNOWN * gain / np.where(reach > 0.0, reach, np.inf)
    found[:, :k][blank] = price[blank]
    return found
