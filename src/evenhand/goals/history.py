"""A bounded sample of the contexts that came: what a goal plans on when nobody knows who will come next.

A context that comes again only adds weight, so finite sets of contexts are kept exactly; of others every stride-th is
kept, the stride doubling when there is no more room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.goals.base import Ask
from evenhand.numerics.kernel import kernel
from evenhand.records import Context
from evenhand.rows import Rows
from evenhand.types import Bools, Floats, Ints

_FIRST = 16  # contexts for which there is room at first; the room doubles up to its bound


@dataclass
class HistoryState:
    """The sample; S and A grow as needed."""

    new: Ints  # (R,) contexts that came for the first time, as far as is remembered
    stride: Ints  # (R,) every how many of them is kept
    kept: Ints  # (R,)
    weight: Floats  # (R, S) rounds that each kept context stands for
    key: Floats  # (R, S) equal for equal features
    features: Floats  # (R, S, A, n)
    known: Floats  # (R, S, A, L)
    groups: Ints  # (R, S, G)
    offered: Bools  # (R, S, A)


class Sample(NamedTuple):
    """What every candidate of the kept contexts is expected to bring, at present."""

    weight: Floats  # (R, S)
    gain: Floats  # (R, S, A) optimistic worth, -inf where not offered
    use: Floats  # (R, S, k, A) rows
    kept: Ints  # (R,)


class _Frame(NamedTuple):
    known: Floats
    groups: Ints


def start(replicas: int) -> HistoryState:
    """Nothing kept yet."""
    count = np.zeros(replicas, np.int64)
    return HistoryState(
        new=count,
        stride=np.ones(replicas, np.int64),
        kept=count.copy(),
        weight=np.zeros((replicas, 0)),
        key=np.zeros((replicas, 0)),
        features=np.zeros((replicas, 0, 0, 0)),
        known=np.zeros((replicas, 0, 0, 0)),
        groups=np.zeros((replicas, 0, 0), np.int64),
        offered=np.zeros((replicas, 0, 0), bool),
    )


def keep(state: HistoryState, context: Context, rounds: Floats, room: int) -> None:
    """Enter the contexts of decided rounds, of which at most `room` are kept."""
    used = int(state.kept.max())
    if used == state.weight.shape[1] < room:
        _grow(state, context, min(room, max(2 * used, _FIRST)))
    _keep(rounds, room, context.features, context.known, context.groups, context.offered, *_arrays(state))


def sample(
    state: HistoryState, ask: Ask, shares: Floats, rows: Rows, worth: tuple[Rows, Floats], *, optimistic: bool
) -> Sample:
    """Ask about every candidate of the kept contexts.

    Args:
        state: with at least one context.
        ask: the model.
        shares: of the groups, as they are believed now, `(R or 1, C)`.
        rows: to be read as they are expected, one by one.
        worth: rows and weights of what is to be gained, read optimistically.
        optimistic: read `rows` at the lower ends of their outcomes' intervals, too.
    """
    count, used = len(state.kept), int(state.kept.max())
    x = state.features[:, :used]
    _, _, actions, n = x.shape
    frame = _Frame(
        state.known[:, :used].reshape(count * used, actions, state.known.shape[3]),
        state.groups[:, :used].reshape(count * used, state.groups.shape[2]),
    )
    shares = shares if len(shares) == 1 else np.repeat(shares, used, 0)
    prices, use = rows.pull(frame, shares, np.tile(np.eye(len(rows)), (count * used, 1, 1)))
    asked = worth[1][None, :] @ worth[0].learned
    if rows.reads_learned:
        asked = np.concatenate([asked, -np.eye(rows.learned.shape[1])])
    mean, bonus = ask(x.reshape(count, used * actions, n), np.tile(asked, (count, 1, 1)))
    gain = (mean[:, 0] + bonus[:, 0]).reshape(count, used, actions)
    if worth[0].known.any():
        _, offset = worth[0].pull(frame, shares, np.tile(worth[1], (count * used, 1, 1)))
        gain += offset.reshape(gain.shape)
    gain = np.where(state.offered[:, :used], gain, -np.inf)
    use = use.reshape(count, used, len(rows), actions)
    if rows.reads_learned:
        price = prices.reshape(count, used, len(rows), prices.shape[2])
        _add_learned(price, mean[:, 1:], bonus[:, 1:], 1.0 if optimistic else 0.0, use)
    return Sample(state.weight[:, :used], gain, use, state.kept)


def _arrays(s: HistoryState) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats, Ints, Bools]:
    return s.new, s.stride, s.kept, s.weight, s.key, s.features, s.known, s.groups, s.offered


def _grow(state: HistoryState, context: Context, size: int) -> None:
    count, actions, n = context.features.shape
    more = size - state.weight.shape[1]
    state.weight = np.concatenate([state.weight, np.zeros((count, more))], 1)
    state.key = np.concatenate([state.key, np.zeros((count, more))], 1)
    if more == size:
        state.features = np.zeros((count, size, actions, n))
        state.known = np.zeros((count, size, *context.known.shape[1:]))
        state.groups = np.zeros((count, size, context.groups.shape[1]), np.int64)
        state.offered = np.zeros((count, size, actions), bool)
        return
    state.features = np.concatenate([state.features, np.zeros((count, more, actions, n))], 1)
    state.known = np.concatenate([state.known, np.zeros((count, more, *context.known.shape[1:]))], 1)
    state.groups = np.concatenate([state.groups, np.zeros((count, more, context.groups.shape[1]), np.int64)], 1)
    state.offered = np.concatenate([state.offered, np.zeros((count, more, actions), bool)], 1)


@kernel
def _mark(x: Floats) -> float:
    """A sum with fixed odd weights, which differs for different features unless by a rare accident."""
    total, weight = 0.0, 1.0
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            weight = (weight * 0.7548776662466927) % 1.0 + 0.5698402909980532
            total += weight * x[a, i]
    return total


@kernel
def _same(
    x: Floats, known: Floats, groups: Ints, offered: Bools, x2: Floats, known2: Floats, groups2: Ints, offered2: Bools
) -> bool:
    for g in range(len(groups)):
        if groups[g] != groups2[g]:
            return False
    for a in range(x.shape[0]):
        if offered[a] != offered2[a]:
            return False
        for i in range(x.shape[1]):
            if x[a, i] != x2[a, i]:
                return False
        for i in range(known.shape[1]):
            if known[a, i] != known2[a, i]:
                return False
    return True


@kernel
def _keep(
    rounds: Floats,
    room: int,
    x: Floats,
    known: Floats,
    groups: Ints,
    offered: Bools,
    new: Ints,
    stride: Ints,
    kept: Ints,
    weight: Floats,
    key: Floats,
    store_x: Floats,
    store_known: Floats,
    store_groups: Ints,
    store_offered: Bools,
) -> None:
    for r in range(len(rounds)):
        if rounds[r] == 0.0:
            continue
        z = known[r if len(known) > 1 else 0]
        may = offered[r if len(offered) > 1 else 0]
        mark, found = _mark(x[r]), False
        for s in range(kept[r]):
            if key[r, s] == mark and _same(
                x[r], z, groups[r], may, store_x[r, s], store_known[r, s], store_groups[r, s], store_offered[r, s]
            ):
                weight[r, s] += 1.0
                found = True
                break
        if found:
            continue
        if new[r] % stride[r] == 0:
            if kept[r] == room:
                for s in range((room + 1) // 2):
                    key[r, s] = key[r, 2 * s]
                    weight[r, s] = 2.0 * weight[r, 2 * s]
                    store_x[r, s] = store_x[r, 2 * s]
                    store_known[r, s] = store_known[r, 2 * s]
                    store_groups[r, s] = store_groups[r, 2 * s]
                    store_offered[r, s] = store_offered[r, 2 * s]
                kept[r] = (room + 1) // 2
                stride[r] *= 2
            if new[r] % stride[r] == 0:
                s = kept[r]
                key[r, s] = mark
                weight[r, s] = stride[r]
                store_x[r, s] = x[r]
                store_known[r, s] = z
                store_groups[r, s] = groups[r]
                store_offered[r, s] = may
                kept[r] += 1
        new[r] += 1


@kernel
def _add_learned(price: Floats, mean: Floats, bonus: Floats, optimism: float, use: Floats) -> None:
    """Add learned outcomes, asked about at price -1, to rows, `(S,k,M),(M,S*A),(M,S*A),(),(S,k,A)`, in place."""
    actions = use.shape[3]
    for r in range(len(use)):
        for s in range(use.shape[1]):
            for i in range(use.shape[2]):
                for m in range(price.shape[3]):
                    p = price[r, s, i, m]
                    if p != 0.0:
                        for a in range(actions):
                            at = s * actions + a
                            use[r, s, i, a] -= p * mean[r, m, at] + abs(p) * optimism * bonus[r, m, at]
