"""The contract of choices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.choices.base import Choice, Pick
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Offer, Worth
from evenhand.core.types import Bools, Floats
from evenhand.testing.promises import (
    Draw,
    check_unchanged,
    complete,
    number,
    record,
    require,
    same,
    snapshot,
    sound_allocation,
    sound_pick,
)


def check_choice(choice: Choice, *, candidates: int = 4) -> None:
    """Check that a choice keeps to its offer and its stated probabilities, and acts the same in a batch and alone.

    Plays are playable, fit together into what is left, and leave no place empty where one more candidate fits. Over
    4,000 draws of fixed luck, each candidate comes first, and each list of plays begins, as often as stated, within
    five standard errors.

    Args:
        choice: any of `evenhand.choices`, or your own.
        candidates: the number of candidates on offer.

    Raises:
        AssertionError: a promise is broken; the message names it, and the offer on which the choice raised an error.
        InvalidInput: the choice refuses this number of candidates.

    >>> from evenhand.choices import Random, Staged, TopK
    >>> check_choice(Staged(5, TopK(2), warmup=Random(n_plays=2)))
    """
    complete(choice, Choice)
    number(choice.n_plays, "n_plays")
    number(choice.draws(candidates), "draws")
    _check(choice, candidates, lambda pick, offer: sound_pick(pick, offer, choice.n_plays))


def check_allocation(
    choice: Choice, *, arms: int, capacity: tuple[int, ...] | None = None, may_stay: bool = False
) -> None:
    """Check that an allocating choice keeps to its offer, and acts the same in a batch and alone.

    Each play is a playable pair, candidate = user * arms + arm, of another user; plays fit together into what is left,
    and arms hold no more users than they have room for. A user stays without an arm only where no playable arm has
    room and fits. Its lottery may be NaN, not computed. Over 4,000 draws of fixed luck, each list of plays begins as
    often as stated, within five standard errors, unless its chance is NaN.

    Args:
        choice: such as `choices.Allocate`, or your own; its number of plays is that of the users.
        arms: the number of arms.
        capacity: the most users of each arm; by default there is no limit.
        may_stay: whether a user may stay without an arm for other reasons.

    >>> from evenhand.choices import Allocate
    >>> from evenhand.welfare import Capped
    >>> check_allocation(Allocate(users=3, arms=2, curve=Capped(1.0), capacity=(2, 2)), arms=2, capacity=(2, 2))
    """
    users = choice.n_plays
    room = np.array(capacity or (users,) * arms)
    _check(choice, users * arms, lambda pick, offer: sound_allocation(pick, offer, users, room, may_stay))


def _check(choice: Choice, candidates: int, sound: Callable[[Pick, Offer], None]) -> None:
    ids = np.arange(64)
    draw = Draw(ids, 0)
    worth = Worth(draw(1, 2, candidates) - 0.5, draw(2, 2, candidates) * 0.1, random=False)
    playable = draw(3, candidates) < draw(4, 1)  # from all to none
    t = np.floor(20.0 * draw(5, 1)[:, 0])
    u = Luck(seed=1, replicas=ids).uniform(Stream.CHOICE, t.astype(np.int64), choice.draws(candidates))
    without = Offer(playable, np.zeros((1, candidates, 0)), np.zeros((len(ids), 0)))
    costs, left = draw(6, candidates, 2), 2.0 * draw(7, 2)
    for offer in (without, _offer_under_limits(playable, costs, left), _offer_under_limits(playable, costs[:1], left)):
        pick = _pick(choice, worth, offer, t, u, sound)
        for i in ids:
            one = slice(i, i + 1)
            worst = offer.worst[one] if len(offer.worst) > 1 else offer.worst
            lone = Offer(offer.playable[one], worst, offer.left[one])
            said = Worth(worth.mean[one], worth.bonus[one], random=False)
            alone = _pick(choice, said, lone, t[one], u[one], sound)
            for name, z, solo in zip(Pick._fields, pick, alone, strict=True):
                if z is not None and solo is not None:
                    same(z[one], solo, f"a replica has the same {name} in a batch and alone")
    if not choice.reads_bonus:
        later, other = np.full(len(ids), 1e6), worth._replace(bonus=draw(8, 2, candidates))
        for name, z, unread in zip(
            Pick._fields, *(_pick(choice, w, without, later, u, sound) for w in (worth, other)), strict=True
        ):
            if z is not None and unread is not None:
                same(z, unread, f"a choice that reads no bonus has the same {name} whatever the bonus")
    free = np.arange(candidates) != 1
    for now in (0.0, 1e6):
        for limits in (0, 2):
            _check_frequencies(choice, worth, Offer(free[None], costs[:1, :, :limits], np.ones((1, limits))), now)


def _offer_under_limits(playable: Bools, worst: Floats, left: Floats) -> Offer:
    """Make an offer under limits; only candidates that fit alone are playable."""
    return Offer(playable & (worst <= left[:, None]).all(2), worst, left)


def _pick(
    choice: Choice, worth: Worth, offer: Offer, t: Floats, u: Floats, sound: Callable[[Pick, Offer], None]
) -> Pick:
    state = choice.start(len(t))
    handed = (worth.mean, worth.bonus, *offer, t, u)
    given = [z.copy() for z in handed]
    before = snapshot(state)
    pick = _answer(choice, state, worth, offer, t, u)
    record(pick, Pick, "what `pick` returns")
    require(pick.plays.dtype.kind == "i", f"plays are whole numbers, not {pick.plays.dtype}")
    check_unchanged(before, state, "`pick` leaves the state as it is")
    for z, then in zip(handed, given, strict=True):
        same(z, then, "`pick` leaves what it is handed as it is")
    sound(pick, offer)
    return pick


def _answer(choice: Choice, state: Any, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
    """Let a choice pick; its own exceptions become broken promises that name the offer."""
    try:
        return choice.pick(state, worth, offer, t, u)
    except (AssertionError, InvalidInput):  # a choice may refuse unsuitable input
        raise
    except Exception as error:
        for i in range(len(t) if len(t) > 1 else 0):  # the first round that fails alone is more informative
            one = slice(i, i + 1)
            lone = Offer(
                offer.playable[one], offer.worst[one] if len(offer.worst) > 1 else offer.worst, offer.left[one]
            )
            alone = Worth(worth.mean[one], worth.bonus[one], random=False)
            _answer(choice, choice.start(1), alone, lone, t[one], u[one])
        promise = f"`pick` answers where {_describe(offer)}, and raises no {type(error).__name__}: {error}"
        raise AssertionError(promise) from error


def _describe(offer: Offer) -> str:
    """Describe an offer in words."""
    if len(offer.playable) > 1:
        return f"{len(offer.playable)} rounds come in a batch"
    candidates, limits = offer.playable.shape[1], offer.worst.shape[2]
    free = np.flatnonzero(offer.playable[0]).tolist()
    which = (
        f"candidates {free} of {candidates} are playable" if free else f"none of {candidates} candidates is playable"
    )
    return which + (f" under {limits} limits" if limits else "")


def _check_frequencies(choice: Choice, worth: Worth, offer: Offer, now: float) -> None:
    """Pick many times for the first replica, and compare frequencies with the stated probabilities."""
    draws, candidates = 4000, offer.playable.shape[1]
    mean, bonus = (np.repeat(z[:1], draws, 0) for z in (worth.mean, worth.bonus))
    many = Offer(np.repeat(offer.playable, draws, 0), offer.worst, np.repeat(offer.left, draws, 0))
    u = Luck(seed=2, replicas=np.arange(draws)).uniform(Stream.CHOICE, np.zeros(1, np.int64), choice.draws(candidates))
    pick = _answer(choice, choice.start(draws), Worth(mean, bonus, random=False), many, np.full(draws, now), u)
    for a, p in enumerate(pick.lottery[0]):
        if not np.isnan(p):
            _check_frequency((pick.plays[:, 0] == a).mean(), p, draws, f"candidate {a} comes first")
    for i in range(1, choice.n_plays + 1):
        lists, where, count = np.unique(pick.plays[:, :i], axis=0, return_index=True, return_counts=True)
        stated = pick.propensities[where, :i].prod(1)
        for plays, p, times in zip(lists, stated, count, strict=True):
            if not np.isnan(p):
                _check_frequency(times / draws, p, draws, f"a list of plays begins with {plays.tolist()}")


def _check_frequency(often: float, p: float, draws: int, what: str) -> None:
    """Require a frequency within five standard errors, plus five draws for probabilities below 0.01."""
    error = 5.0 * math.sqrt(p * max(1.0 - p, 0.0) / draws) + (5.0 / draws if 0.0 < p < 0.01 else 1e-12)
    require(bool(abs(often - p) <= error), f"{what} with the stated {p:.4f}, not {often:.4f}")
