"""A model's predictions for all candidates of the contexts so far: the data of a plan."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models.base import Ask
from evenhand.planning.history import HistoryState
from evenhand.problem.rows import Cases, Rows


class Forecast(NamedTuple):
    """The present predictions for every candidate of the kept contexts of the replicas that are due."""

    weight: Floats  # (R, S) of the contexts
    gain: Floats  # (R, S, A) optimistic worth, -inf where not offered
    bonus: Floats  # (R, S, A) what of it is optimism
    use: Floats  # (R, S, k, A) rows, at the means
    hope: Floats  # (R, S, k, A) rows, each read where it is asked for; the same array if that is at the means
    kept: Ints  # (R,) contexts; 0 for a replica that is not due


@kernel
def _add_learned(
    price: Floats, side: Ints, mean: Floats, above: Floats, below: Floats, plain: Floats, hope: Floats
) -> None:
    """Add learned outcomes to rows, at the means and at their sides; see `forecast` for sides.

    `(S,k,1|A,M),(k),(M,S*A),(M|0,S*A),(M|0,S*A),(S,k,A),(S,k,A)`; nothing is added to `hope` if no row has a side.
    """
    actions, sides = plain.shape[3], side.any()
    for r in range(len(plain)):
        for s in range(plain.shape[1]):
            for i in range(plain.shape[2]):
                for m in range(price.shape[4]):
                    for a in range(actions):
                        p = price[r, s, i, a if price.shape[3] > 1 else 0, m]
                        if p != 0.0:
                            at = mean[r, m, s * actions + a]
                            plain[r, s, i, a] += p * at
                            if not sides:
                                continue
                            if side[i] * p > 0.0:
                                at -= below[r, m, s * actions + a]
                            elif side[i] * p < 0.0:
                                at += above[r, m, s * actions + a]
                            hope[r, s, i, a] += p * at


def _due(due: Bools, z: Any) -> Any:
    """The rows of the replicas that are due."""
    return z if due.all() else z[due]


def _of_all(due: Bools, z: Floats) -> Floats:
    """Rows of the replicas that are due among those of all, which are 0 elsewhere: memory that costs little."""
    if len(z) == len(due):
        return z
    found = np.zeros((len(due), *z.shape[1:]))
    found[due] = z
    return found


def forecast(
    state: HistoryState,
    ask: Ask,
    shares: Floats,
    worth: tuple[Rows, Floats],
    rows: Rows,
    side: Ints,
    due: Bools,
    present: Bools | None = None,
) -> Forecast:
    """Ask the model about every candidate of the kept contexts of the replicas that are due.

    Replicas that are out of step plan one after the other, so that most of them read nothing here. The model is asked
    about blank candidates in their place, which it passes over.

    Args:
        state: with at least one context.
        ask: the model.
        shares: the present shares of the groups, `(R or 1, C)`.
        worth: the rows of the objective, and their prices by reading, `(R, K, d)`; each is read optimistically.
        rows: forecast one by one.
        side: where each of `rows` is read, `(k)`: 1 at the ends of the outcomes' intervals that make it least, -1 at
            those that make it greatest, 0 at the means.
        due: the replicas that read the forecast, `(R)`, at least one; others have no contexts in it.
        present: the candidates that will be offered, `(A)`; None for those that were offered in each context.
    """
    kept = np.where(due, state.kept, 0)
    used = int(kept.max())
    x, known, groups, offered = (
        _due(due, z[:, :used]) for z in (state.features, state.known, state.groups, state.offered)
    )
    count, _, actions, n = x.shape
    cases = Cases(
        np.ascontiguousarray(known).reshape(count * used, actions, known.shape[3]),
        np.ascontiguousarray(groups).reshape(count * used, *groups.shape[2:]),
    )
    shares = shares if len(shares) == 1 else np.repeat(_due(due, shares), used, 0)
    prices, use = rows.pull(cases, shares, np.tile(np.eye(len(rows)), (count * used, 1, 1)))
    use = use.reshape(count, used, len(rows), actions)
    m = rows.learned.shape[1]
    gains, offset = worth[0].pull(cases, shares, np.repeat(_due(due, worth[1]), used, 0))
    ends = 2 if side.any() else 1
    asked, reads = _prices(gains, count, used, actions, ends if rows.reads_learned else 0)
    said = ask(_of_all(due, x.reshape(count, used * actions, n)), _of_all(due, asked))
    mean, bonus = _due(due, said.mean), _due(due, said.bonus)
    priced = worth[1].shape[1]
    optimism = bonus[:, :priced].sum(1).reshape(count, used, actions) * reads
    gain = mean[:, :priced].sum(1).reshape(count, used, actions) * reads + optimism
    gain += offset.sum(1).reshape(count, used, actions)
    hope = use
    if rows.reads_learned:
        price = prices.reshape(count, used, len(rows), -1, m)
        each, below = slice(priced, priced + m), slice(priced + (ends - 1) * m, priced + ends * m)
        hope = use.copy() if side.any() else use
        _add_learned(price, side, mean[:, each].copy(), bonus[:, each].copy(), bonus[:, below].copy(), use, hope)
    gain = np.where(offered if present is None else offered & present, gain, -np.inf)
    weight = np.ascontiguousarray(state.weight[:, :used])  # in one order, for which kernels are compiled once
    plain = _of_all(due, use)
    hopeful = plain if hope is use else _of_all(due, hope)
    return Forecast(weight, _of_all(due, gain), _of_all(due, optimism), plain, hopeful, kept)


@kernel
def _in_common(gains: Floats) -> tuple[bool, Floats, Floats]:
    """Whether all prices of a replica other than 0 are equal, these prices, and a mask of where they are.

    `(S,A,M)->(),(M),(S,A)`
    """
    common, reads = np.zeros((len(gains), gains.shape[3])), np.zeros(gains.shape[:3])
    for r in range(len(gains)):
        found = False
        for s in range(gains.shape[1]):
            for a in range(gains.shape[2]):
                some, same = False, True
                for m in range(gains.shape[3]):
                    some |= gains[r, s, a, m] != 0.0
                    same &= gains[r, s, a, m] == common[r, m]
                if not some:
                    continue
                reads[r, s, a] = 1.0
                if not found:
                    found = True
                    for m in range(gains.shape[3]):
                        common[r, m] = gains[r, s, a, m]
                elif not same:
                    return False, common, reads
    return True, common, reads


def _prices(gains: Floats, count: int, used: int, actions: int, ends: int) -> tuple[Floats, Floats]:
    """The prices of the objective by reading, then of 1 for every outcome by itself, then of -1.

    `(R*S,k,1|A,M)->(R,K,1|S*A,M),(S,1|A)`. The last ones are for two ends alone. All are stated once for all candidates
    if these have the same prices, apart from those for which every price is 0, such as an idle action: of these, the
    second array says that nothing is read.
    """
    k, m = gains.shape[1], gains.shape[3]
    by_candidate = np.ascontiguousarray(gains.reshape(count, used, k, -1, m).transpose(0, 1, 3, 2, 4))
    alike, common, reads = _in_common(by_candidate.reshape(count, used, -1, k * m))
    if alike:
        gains = common.reshape(count, k, 1, m)
    else:
        reads = np.ones((1, 1, 1))
        each = by_candidate if by_candidate.shape[2] > 1 else np.repeat(by_candidate, actions, 2)  # of groups of cases
        gains = each.reshape(count, -1, k, m).transpose(0, 2, 1, 3)
    units = np.concatenate([np.eye(m), -np.eye(m)])[None, : ends * m, None, :]
    return np.concatenate([gains, np.broadcast_to(units, (count, ends * m, gains.shape[2], m))], 1), reads
