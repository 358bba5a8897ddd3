"""A model's predictions for all candidates of the contexts so far: the data of a plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.models.base import Ask
from evenhand.planning.history import HistoryState
from evenhand.problem.rows import Cases, Rows


class Forecast(NamedTuple):
    """The present predictions for every candidate of the kept contexts."""

    weight: Floats  # (R, S) of the contexts
    gain: Floats  # (R, S, A) optimistic worth, -inf where not offered
    bonus: Floats  # (R, S, A) what of it is optimism
    use: Floats  # (R, S, k, A) rows
    kept: Ints  # (R,)


@kernel
def _add_learned(price: Floats, low: Floats, high: Floats, use: Floats) -> None:
    """Add learned outcomes to rows, each at the end that makes the row least, `(S,k,1|A,M),(M,S*A),(M,S*A),(S,k,A)`."""
    actions = use.shape[3]
    for r in range(len(use)):
        for s in range(use.shape[1]):
            for i in range(use.shape[2]):
                for m in range(price.shape[4]):
                    for a in range(actions):
                        p = price[r, s, i, a if price.shape[3] > 1 else 0, m]
                        if p != 0.0:
                            end = low[r, m, s * actions + a] if p > 0.0 else high[r, m, s * actions + a]
                            use[r, s, i, a] += p * end


def forecast(
    state: HistoryState, ask: Ask, shares: Floats, worth: tuple[Rows, Floats], rows: Rows, *, optimistic: bool
) -> Forecast:
    """Ask the model about every candidate of the kept contexts.

    Args:
        state: with at least one context.
        ask: the model.
        shares: the present shares of the groups, `(R or 1, C)`.
        worth: the rows of the objective, and the price of each, `(R, m)`; read optimistically.
        rows: forecast one by one.
        optimistic: read `rows` at the ends of the outcomes' intervals that make them least, else at the means.
    """
    count, used, n = len(state.kept), int(state.kept.max()), state.features.shape[3]
    x = state.features[:, :used]
    actions = x.shape[2]
    cases = Cases(
        state.known[:, :used].reshape(count * used, actions, state.known.shape[3]),
        state.groups[:, :used].reshape(count * used, *state.groups.shape[2:]),
    )
    shares = shares if len(shares) == 1 else np.repeat(shares, used, 0)
    prices, use = rows.pull(cases, shares, np.tile(np.eye(len(rows)), (count * used, 1, 1)))
    use = use.reshape(count, used, len(rows), actions)
    m = rows.learned.shape[1]
    gains, offset = worth[0].pull(cases, shares, np.repeat(worth[1], used, 0)[:, None, :])
    said = ask(x.reshape(count, used * actions, n), _prices(gains, count, used, actions, rows.reads_learned))
    mean, bonus = said.mean, said.bonus
    hope = np.ascontiguousarray(bonus[:, 0]).reshape(count, used, actions)
    gain = mean[:, 0].reshape(count, used, actions) + hope + offset.reshape(count, used, actions)
    if rows.reads_learned:
        high, low = mean[:, 1 : m + 1], -mean[:, m + 1 :]
        if optimistic:
            high, low = high + bonus[:, 1 : m + 1], low - bonus[:, m + 1 :]
        price = prices.reshape(count, used, len(rows), -1, m)
        _add_learned(price, np.ascontiguousarray(low), np.ascontiguousarray(high), use)
    gain = np.where(state.offered[:, :used], gain, -np.inf)
    return Forecast(state.weight[:, :used], gain, hope, use, state.kept)


def _prices(gains: Floats, count: int, used: int, actions: int, each: bool) -> Floats:
    """The prices of the objective, then, if `each`, prices of 1 and then of -1 for every outcome by itself.

    They are stated once for all candidates if all contexts have the same, `(R*S,1,1|A,M)->(R,K,1|S*A,M)`.
    """
    m = gains.shape[3]
    gains = gains.reshape(count, used, -1, m)
    if (gains == gains[:, :1, :1]).all():
        gains = gains[:, :1, :1]
    elif gains.shape[2] == 1:  # those of the groups of cases
        gains = np.repeat(gains, actions, 2)
    gains = gains.reshape(count, 1, -1, m)
    if not each:
        return np.ascontiguousarray(gains)
    units = np.concatenate([np.eye(m), -np.eye(m)])[None, :, None, :]
    return np.concatenate([gains, np.broadcast_to(units, (count, 2 * m, gains.shape[2], m))], 1)
