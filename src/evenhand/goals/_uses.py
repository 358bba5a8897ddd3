"""What candidates use of the rows of a plan, and how it is read while outcomes wait.

A row of known and learned outcomes, such as a cost per sale, is kept by what is learned. While outcomes wait, a plan at
the means counts on sales that nobody has seen, for every play that is on its way and for all that follow until one of
them is heard of. It therefore reads such rows at those ends of the intervals that are worst for them, with what has
arrived alone. Before anything has arrived, such a plan would play hardly anything but what costs least, and nothing
would be known of the rest in the end. Until then the row has a price that is not solved for, and that is low enough
for every candidate to be tried before any of them is tried often.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.goals._directions import Directions
from evenhand.goals._resolving_state import Left, ResolvingState
from evenhand.planning.forecast import Forecast
from evenhand.planning.plain_first import largest

_UNKNOWN = 0.1  # times the largest gain over the largest use is the price of a row of which nothing is known


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


def guarded(sample: Forecast, ends: Forecast, of: Directions, waits: Bools, priced: Floats) -> Forecast:
    """Read mixed directions at the worst ends of what has arrived, in the replicas in which outcomes wait, `()->.`.

    Those of which nothing is known use nothing in a plan, and their prices are in its gains, `(k)`.
    """
    k = len(of.first)
    at, price = ends.hope[:, :, :k], np.nan_to_num(priced[:, :k])
    paid = np.add.reduce(price[:, None, :, None] * at, 2)
    at = np.where((price != 0.0)[:, None, :, None], 0.0, at)
    where = (waits[:, None] & of.mixed)[:, None, :, None]
    use = sample.use.copy()
    use[:, :, :k] = np.where(where, at, use[:, :, :k])
    if sample.hope is sample.use:
        return sample._replace(gain=sample.gain - paid, use=use, hope=use)
    hope = sample.hope.copy()
    hope[:, :, :k] = np.where(where, at, hope[:, :, :k])
    return sample._replace(gain=sample.gain - paid, use=use, hope=hope)


def blank_prices(mu: Floats, ends: Forecast, of: Directions, blank: Bools) -> Floats:
    """Return the prices of directions of which nothing is known, NaN elsewhere, `(k),.,.,(k)->(k)`.

    Equation: +-.1 max |gain| / max |use|, with what has arrived alone, `max` over contexts and candidates.
    """
    found, k = np.full(mu.shape, np.nan), len(of.first)
    gain = largest(np.where(np.isfinite(ends.gain), ends.gain, 0.0)[:, :, None], ends.kept)
    size = largest(ends.hope[:, :, :k], ends.kept)
    price = np.sign(-of.worst[:k]) * _UNKNOWN * gain / np.where(size > 0.0, size, np.inf)
    found[:, :k][blank] = price[blank]
    return found
