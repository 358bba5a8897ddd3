"""Assertions for contract checks, each a promise in one sentence, and contexts and decisions for parts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from evenhand.choices.base import Offer, Pick
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.signatures import narrower
from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy.saving import flatten
from evenhand.problem.problem import Problem

IDS = np.array([0, 3, 8])  # replicas whose numbers differ from their places in the batch


def complete(part: object, contract: type) -> None:
    """Require that a part has every member of its contract."""
    if isinstance(part, type):
        raise AssertionError(f"{part.__name__} is a class: check what {part.__name__}(...) makes")
    members = {name: z for base in contract.__mro__ for name, z in vars(base).items()}
    missing = [n for n in members if not n.startswith("_") and not hasattr(part, n)]
    require(not missing, f"{type(part).__name__} has all members of `{contract.__name__}`, unlike {', '.join(missing)}")
    kind: Any = type(part)
    asked, made = narrower(kind, contract) or ("", "")
    require(not asked, f"{kind.__name__} has {asked} as `{contract.__name__}` does, not {made}")


def record(value: object, kind: type[Any], what: str) -> None:
    """Require that a value is a record whose fields without defaults are arrays."""
    require(isinstance(value, kind), f"{what} is of type {kind.__name__}, not {type(value).__name__}")
    for name, z in zip(kind._fields, value, strict=True):  # type: ignore[call-overload]
        optional = name in kind._field_defaults
        require(optional or isinstance(z, np.ndarray), f"`{name}` of {what} is an array, not {type(z).__name__}")


def number(z: object, what: str) -> None:
    """Require a whole number of at least 0."""
    require(isinstance(z, int | np.integer) and bool(z >= 0), f"{what} is a whole number of at least 0, not {z!r}")


def snapshot(state: object) -> dict[str, tuple[tuple[int, ...], bytes]]:
    """Copy all arrays of a state: shapes and bytes, which are compared faster than arrays."""
    arrays = flatten(state)
    for path, z in arrays:
        require(z.dtype != object, f"a state holds arrays and numbers, unlike {path}")
    return {path: (z.shape, z.tobytes()) for path, z in arrays}


def check_unchanged(before: dict[str, tuple[tuple[int, ...], bytes]], state: object, promise: str) -> None:
    """Require that a state has not changed since a snapshot."""
    after = snapshot(state)
    require(before.keys() == after.keys(), promise)
    changed = [path for path, z in before.items() if z != after[path]] if before != after else ()
    require(not changed, f"{promise}: {', '.join(changed)}")


def select_replica(record: Any, i: int) -> Any:
    """Select the part of a record that belongs to one replica; arrays whose first axis is 1 belong to all."""

    def cut(z: Any) -> Any:
        if isinstance(z, tuple):
            return tuple(cut(part) for part in z)
        return z[i : i + 1] if isinstance(z, np.ndarray) and len(z) > 1 else z

    return type(record)(*(cut(z) for z in record))


def same_records(a: Any, b: Any, promise: str) -> None:
    """Require that two records are equal, except in the receipt's number, which belongs to the batch."""
    for name, left, right in zip(a._fields, a, b, strict=True):
        if name == "id":
            continue
        if name == "names" or left is None or right is None:
            require(left == right, f"{promise}: {name}")
            continue
        for z, other in zip(*((p if isinstance(p, tuple) else (p,)) for p in (left, right)), strict=True):
            same(z, other, f"{promise}: {name}")


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], promise: str) -> None:
    """Require that two arrays are exactly equal, NaN included."""
    if a.shape == b.shape and (a == b).all():  # as most are, without a NaN
        return
    require(a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all()), promise)


def require(holds: bool, promise: str) -> None:
    """Raise an error that states the promise if it does not hold."""
    if not holds:
        raise AssertionError(promise)


def sound_plays(plays: Ints, propensities: Floats, count: int) -> None:
    """Require distinct plays, empty places last, and propensities that are probabilities, `(count),(count)`."""
    for name, z in (("plays", plays), ("propensities", propensities)):
        require(z.ndim == 2 and z.shape[1] == count, f"{name} have shape (R, {count}), not {z.shape}")
    made = plays >= 0
    require(not (made[:, 1:] & ~made[:, :-1]).any(), "empty places come after the plays that are made")
    for chosen in plays:
        real = chosen[chosen >= 0]
        require(len(set(real.tolist())) == len(real), "no candidate is played twice in a round")
    sure = propensities[~np.isnan(propensities)]
    require(bool((sure > 0.0).all() and (sure <= 1.0 + 1e-9).all()), "propensities are above 0 and at most 1, or NaN")
    require(not (propensities[~made] < 1.0).any(), "where nothing can be played, that is certain: a propensity of 1")


def sound_pick(pick: Pick, offer: Offer, count: int) -> None:
    """Require that a pick is playable and fits together, and that its lottery is over playable candidates."""
    plays, playable, lottery = pick.plays, offer.playable, pick.lottery
    sound_plays(plays, pick.propensities, count)
    require(bool((plays < playable.shape[1]).all()), "plays are candidates")
    require(bool(np.isin(pick.forced, (0.0, 1.0)).all()), "`forced` is 0 or 1")
    require(lottery.shape == playable.shape, f"the lottery has shape (R, A) = {playable.shape}, not {lottery.shape}")
    require(bool((lottery >= 0.0).all()), "chances are never negative")
    require(bool((lottery[~playable] == 0.0).all()), "what is not playable has no chance")
    some = playable.any(1)
    require(bool((np.abs(lottery.sum(1) - some) <= 1e-9).all()), "chances sum to 1 where anything is playable")
    require(bool(((plays[:, 0] >= 0) == some).all()), "the first play is made wherever anything is playable")
    stated = pick.propensities[some, 0]
    chance = lottery[some, plays[some, 0]]
    require(not (np.abs(stated - chance) > 1e-9).any(), "the propensity of the first play is its chance")
    for r in range(len(plays)):
        _check_fit(plays[r], playable[r], offer.worst[r if len(offer.worst) > 1 else 0], offer.left[r])


def _check_fit(plays: Ints, playable: Bools, worst: Floats, left: Floats) -> None:
    """Require plays that are playable and fit together, and no empty place if one more fits, `(P),(A),(A,d),(d)`."""
    rest, slack = playable.copy(), 1e-9 * np.abs(left)
    for a in plays:
        if a < 0:
            fits = (worst <= left - slack).all(1)
            require(not (rest & fits).any(), "a place stays empty only where nothing fits that is left")
            return
        require(bool(rest[a]), "what is played is playable")
        require(bool((worst[a] <= left + slack).all()), "plays fit together into what is left")
        rest[a], left = False, left - worst[a]


def sound_allocation(pick: Pick, offer: Offer, users: int, capacity: Ints, may_stay: bool) -> None:
    """Require for every user an arm that is playable, has room and fits, or none if there is no such arm, `(A)`."""
    plays, arms = pick.plays, len(capacity)
    sound_plays(plays, pick.propensities, users)
    require(bool((plays < users * arms).all()), "plays are pairs of a user and an arm")
    require(bool(np.isin(pick.forced, (0.0, 1.0)).all()), "`forced` is 0 or 1")
    shape = offer.playable.shape
    require(pick.lottery.shape == shape, f"the lottery has shape (R, NA) = {shape}, not {pick.lottery.shape}")
    for r in range(len(plays)):
        made = plays[r, plays[r] >= 0]
        worst = offer.worst[r if len(offer.worst) > 1 else 0]
        slack = 1e-9 * np.abs(offer.left[r])
        left, room = offer.left[r] - worst[made].sum(0), capacity - np.bincount(made % arms, minlength=arms)
        require(len(set((made // arms).tolist())) == len(made), "no user has two arms")
        require(bool(offer.playable[r, made].all()), "what is played is playable")
        require(bool((room >= 0).all()), "arms hold no more users than they have room for")
        require(bool((left >= -slack).all()), "plays fit together into what is left")
        more = offer.playable[r] & (worst <= left - slack).all(1) & np.tile(room > 0, users)
        without = ~np.isin(np.arange(users), made // arms)
        stays = may_stay or not (more.reshape(users, arms).any(1) & without).any()
        require(stays, "a user stays without an arm only where no playable arm has room and fits")


class Draw(NamedTuple):
    """Draws numbers in [0, 1) that depend only on the replica, the round and their purpose."""

    ids: Ints
    t: int

    def __call__(self, what: int, *shape: int) -> Floats:
        """Draw uniform numbers for a purpose, for every replica."""
        numbers = Luck(seed=what, replicas=self.ids).uniform(Stream.SAMPLE, np.array([self.t]), math.prod(shape))
        return numbers.reshape(len(self.ids), *shape)


def context_of(problem: Problem, draw: Draw, candidates: int, *, each: bool = False) -> Context:
    """Make a context whose candidates are random actions; each has its own groups, or all have the same.

    If an outcome has another range under an action, such as 0 to 0, the candidates are all actions in order.
    """
    which = (draw(11, candidates) * len(problem.actions)).astype(np.int64)
    if problem.free.any() or problem.span_by_action.shape[1] > 1:
        which = np.tile(np.arange(len(problem.actions)), (len(which), 1))
        candidates = which.shape[1]
    sizes = np.array([len(g.names) for g in problem.groups], np.int64)
    groups = np.cumsum(sizes) - sizes + (draw(12, candidates if each else 1, len(sizes)) * sizes).astype(np.int64)
    features = np.zeros((len(which), candidates, 1))
    return Context(features, problem.declared[which], groups, np.ones((1, candidates), bool))


def shares_of(problem: Problem, draw: Draw) -> Floats:
    """Return the shares as declared; random ones if the problem leaves them to be estimated."""
    believed = 0.1 + 0.8 * draw(13, len(problem.shares))
    return np.asarray(np.where(np.isnan(problem.shares), believed, problem.shares))


def decision_of(context: Context, shares: Floats, n_plays: int, counted: Floats) -> Decision:
    """Make a decision in which each replica plays the first candidates."""
    count = len(context.known)
    return Decision(
        id=np.full(2, -1),
        plays=np.tile(np.arange(n_plays), (count, 1)),
        propensities=np.ones((count, n_plays)),
        counted=counted,
        forced=np.zeros(count),
        restricted=np.zeros(count),
        time=np.zeros(count),
        features=context.features[:, :n_plays],
        known=np.ascontiguousarray(context.known[:, :n_plays]),
        groups=np.ascontiguousarray(context.groups[:, :n_plays]) if context.groups.shape[1] > 1 else context.groups,
        shares=shares,
        prices=np.zeros((count, 0, 1, 0)),
        row_prices=np.zeros((count, 0)),
        carried=np.zeros((count, 0)),
    )
