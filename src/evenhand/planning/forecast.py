"""What a model expects of all candidates in the contexts that came: the data of a plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.goals.base import Ask
from evenhand.planning.history import HistoryState
from evenhand.problem.rows import Cases, Rows


class Forecast(NamedTuple):
    """What every candidate of the kept contexts is expected to bring, at present."""

    weight: Floats  # (R, S) of the contexts
    gain: Floats  # (R, S, A) optimistic worth, -inf where not offered
    use: Floats  # (R, S, k, A) rows
    kept: Ints  # (R,)


@kernel
def _add_learned(price: Floats, low: Floats, high: Floats, use: Floats) -> None:
    """Add learned outcomes to rows, each at the end that makes the row least, `(S,k,M),(M,S*A),(M,S*A),(S,k,A)`."""
    actions = use.shape[3]
    for r in range(len(use)):
        for s in range(use.shape[1]):
            for i in range(use.shape[2]):
                for m in range(price.shape[3]):
                    p = price[r, s, i, m]
                    if p != 0.0:
                        for a in range(actions):
                            end = low[r, m, s * actions + a] if p > 0.0 else high[r, m, s * actions + a]
                            use[r, s, i, a] += p * end


def forecast(
    state: HistoryState, ask: Ask, shares: Floats, worth: tuple[Rows, Floats], rows: Rows, *, optimistic: bool
) -> Forecast:
    """Ask about every candidate of the kept contexts.

    Args:
        state: with at least one context.
        ask: the model.
        shares: of the groups, as they are believed now, `(R or 1, C)`.
        worth: rows of what is to be gained, and what each is worth, `(R, m)`; read optimistically.
        rows: to be read one by one.
        optimistic: read `rows` at the ends of the outcomes' intervals that make them least, or as they are expected.
    """
    count, used, n = len(state.kept), int(state.kept.max()), state.features.shape[3]
    x = state.features[:, :used]
    actions = x.shape[2]
    cases = Cases(
        state.known[:, :used].reshape(count * used, actions, state.known.shape[3]),
        state.groups[:, :used].reshape(count * used, state.groups.shape[2]),
    )
    shares = shares if len(shares) == 1 else np.repeat(shares, used, 0)
    prices, use = rows.pull(cases, shares, np.tile(np.eye(len(rows)), (count * used, 1, 1)))
    use = use.reshape(count, used, len(rows), actions)
    m = rows.learned.shape[1]
    w = np.zeros((count, 1 + 2 * m if rows.reads_learned else 1, m))
    for i in range(len(worth[0])):
        w[:, 0] += worth[1][:, i, None] * worth[0].learned[i]
    if rows.reads_learned:
        w[:, 1 : m + 1], w[:, m + 1 :] = np.eye(m), -np.eye(m)
    mean, bonus = ask(x.reshape(count, used * actions, n), w)
    gain = (mean[:, 0] + bonus[:, 0]).reshape(count, used, actions)
    if worth[0].known.any():
        _, offset = worth[0].pull(cases, shares, np.repeat(worth[1], used, 0)[:, None, :])
        gain += offset.reshape(gain.shape)
    if rows.reads_learned:
        high, low = mean[:, 1 : m + 1], -mean[:, m + 1 :]
        if optimistic:
            high, low = high + bonus[:, 1 : m + 1], low - bonus[:, m + 1 :]
        price = prices.reshape(count, used, len(rows), m)
        _add_learned(price, np.ascontiguousarray(low), np.ascontiguousarray(high), use)
    gain = np.where(state.offered[:, :used], gain, -np.inf)
    return Forecast(state.weight[:, :used], gain, use, state.kept)
