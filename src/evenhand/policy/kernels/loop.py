"""The loop body of policies whose parts all have views (`core.views`): decide, commit and learn as kernels.

They call the kernels of the ordinary loop in its order on the same arrays, so that actions, books and states are the
same, bit for bit. They raise nothing. A check that fails is stated before anything has changed; the ordinary loop then
does the round, and raises what it always raised.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.luck import Stream, uniform_within
from evenhand.core.records import Context, Decision, Offer, Worth
from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy import books, checks, entries

_CHOICE = np.uint64(Stream.CHOICE)


class Facts(NamedTuple):
    """The loop's own data: arrays of `PolicyState`, and facts of the problem."""

    seed: Any
    replicas: Ints
    t: Floats
    seen: Floats
    books: Floats
    last_round: float
    shares: Floats  # NaN where they are estimated
    estimates_shares: bool
    bounds: Ints
    reach: Floats
    sure: Bools
    certain: Bools
    span: Floats
    n_noisy: int
    n_groups: int  # columns of groups
    draws: int  # of the choice
    netted_from: int  # how many readings are summed to one, 0 where none are
    everywhere: Bools  # masks without entries: of outcomes, and of plays
    unnumbered: Ints  # the receipt of a decision before it is committed


class CompiledPolicy(NamedTuple):
    """A policy in a state: a held view of each part."""

    facts: Any
    rows: Any  # of all priced goals
    model: Any
    prices: Any  # the priced goals, as one
    limits: Any
    goals: Any  # all, as one
    restated: Any  # those with rows by estimated shares
    choice: Any
    mixture: Any  # of a plan
    ahead: Any  # what the model is told of remaining rounds
    zeros: Any  # and of declared zeros


class Answer(NamedTuple):
    """Outcomes of a decision that passed all checks."""

    learned: Floats
    known: Floats
    seen: Bools
    exposed: Bools


@kernel
def can_decide(p: CompiledPolicy, c: Context) -> bool:
    """Whether a context passes all checks, and no part pauses."""
    f = p.facts.part
    candidates = c.features.shape[1]
    if p.model.part.pauses(f.t, candidates) or p.goals.part.pauses(f.t, candidates):
        return False
    if p.choice.part.pauses(f.t, candidates):
        return False
    return bool(checks.sound(c.features, c.known, c.groups, f.bounds))


@inlined
def choose(p: CompiledPolicy, c: Context) -> tuple[bool, Decision, Floats]:
    """As `decide`, with the chances of every candidate at the first place, `->(),Decision,(A)`."""
    f = p.facts.part
    shares = f.shares
    if f.estimates_shares:
        shares = entries.belief(c.groups, c.offered, f.seen, f.t, f.shares[0])
    worst, left = p.limits.part.room(c)
    playable = entries.fits_alone(c.offered, worst, left, f.t, f.last_round)
    q, o = p.prices.part.price()
    if q.shape[1] == f.netted_from:
        q, o = entries.net_price(q, o)
    w, offset, row_prices = p.rows.part.pull(c.groups, shares, c.known, q, o)
    mean, bonus = p.model.part.value(c.features, w)
    sound = checks.bad_worth(mean, bonus, w, f.reach)[0] < 0
    for r in range(mean.shape[0]):
        for k in range(mean.shape[1]):
            for a in range(mean.shape[2]):
                mean[r, k, a] += offset[r, k, a]
    luck = uniform_within(f.seed, _CHOICE, f.replicas, f.t, f.draws)
    mixed, mix = p.mixture.part.mix(c, shares, p.model.part, mean, bonus)
    pick = p.choice.part.pick(Worth(mean, bonus, False, o, mix), Offer(playable, worst, left), f.t, luck)
    x, z, groups, counted, restricted, _ = entries.take(
        c.features, c.known, c.groups, pick.plays, c.offered, playable, f.t, f.last_round
    )
    prices = w if w.shape[2] == 1 else entries.take_prices(w, pick.plays)
    made = f.unnumbered, pick.plays, pick.propensities, counted, pick.forced, restricted, f.t.copy()
    d = Decision(*made, x, z, groups, shares, prices, row_prices, np.zeros((len(f.t), 0)), ())
    return sound and mixed, d, pick.lottery


@kernel
def decide(p: CompiledPolicy, c: Context) -> tuple[bool, Decision]:
    """Whether predictions passed all checks, and the decision; as `Loop.decide`."""
    sound, decision, _ = choose(p, c)
    return sound, decision


@kernel
def may_commit(p: CompiledPolicy, c: Context, d: Decision) -> tuple[bool, bool]:
    """Whether kernels may commit a decision, and whether it counts in any replica; as the checks of `Loop.commit`."""
    f, candidates = p.facts.part, c.features.shape[1]
    r, _, counts, late, _ = entries.check_commit(
        d.plays, d.counted, d.time, d.groups, d.known, candidates, f.n_groups, f.t, f.last_round
    )
    if r >= 0 or late or not p.limits.part.fits(d):
        return False, counts
    coming = p.restated.part.next_shares(c, d, f.seen, f.t)
    return not (p.model.part.grows(coming) or p.goals.part.defers(c, coming, f.t)), counts


@kernel
def commit(p: CompiledPolicy, c: Context, d: Decision) -> None:
    """Count the round and tell the goals; as `Loop.commit` after its checks."""
    now = count(p, c, d)
    p.goals.part.on_context(c, now, p.facts.part.t)


@kernel
def count(p: Any, c: Context, d: Decision) -> Decision:
    """Count the round, and tell the goals of the decision but not of its context; it is returned at present shares."""
    f = p.facts.part
    before = p.restated.part.shares_now(f.seen, f.t)
    for r in range(len(f.t)):
        f.t[r] += d.counted[r]
    books.commit(d.plays, d.counted, d.groups, d.known, f.certain, 1.0, f.books)
    p.ahead.part.tell_ahead(f.t, f.books)
    if c.groups.shape[2] > 0:
        entries.believe(c.groups, c.offered, d.counted, f.seen)
    now = p.restated.part.restate(d, before, p.restated.part.shares_now(f.seen, f.t))
    p.goals.part.on_decision(now)
    return now  # type: ignore[no-any-return]


@kernel
def check_arrival(p: Any, d: Decision, y: Floats, exposed: Bools) -> tuple[bool, Answer]:
    """Whether outcomes passed all checks, and which of them count; as the checks of `Settlement.learn`."""
    f = p.facts.part
    _, _, r, _, learned, known, seen = entries.at_arrival(
        *(d.plays, d.counted, d.time, d.groups, d.known, y, f.everywhere, exposed),
        *(f.sure, f.n_noisy, f.span, f.everywhere),
    )
    return r < 0, Answer(learned, known, seen, exposed)


@kernel
def learn(p: Any, d: Decision, a: Answer) -> None:
    """Pass outcomes to books, goals and model; as `Settlement.learn` after its checks."""
    f = p.facts.part
    nothing = f.everywhere
    books.arrive(d.plays, d.counted, d.groups, a.learned, a.known, nothing, a.exposed, 1.0, f.books)
    p.ahead.part.tell_ahead(f.t, f.books)
    now = p.restated.part.reenter(d, a.learned, a.known, p.restated.part.shares_now(f.seen, f.t))
    p.goals.part.on_outcome(now, a.learned, a.known)
    p.goals.part.on_exposure(d, a.exposed)
    p.zeros.part.tell_zeros(d.plays, a.seen)
    p.model.part.update(d.features, a.learned, a.seen, d.prices)
