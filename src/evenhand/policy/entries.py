"""The entries of a round into books: the plays of a decision, and the outcomes that count."""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import in_python, inlined, kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import LARGEST


@kernel
def take(
    features: Floats,
    known: Floats,
    groups: Ints,
    plays: Ints,
    offered: Bools,
    playable: Bools,
    t: Floats,
    horizon: float,
) -> tuple[Floats, Floats, Ints, Floats, Floats, bool]:
    """Gather the plays of a decision, `(A,n),(A,L),(1|A,G),(P),(A),(A),(),()->(P,n),(P,L),(1|P,G),(),()`.

    Their features, known outcomes and groups, whether anything is played, and whether a limit masked something that was
    offered before the horizon; then whether anything is played in any replica. A place where nothing is played has
    groups, but no outcomes.
    """
    each = groups.shape[1] > 1
    g = np.empty((len(plays), plays.shape[1] if each else 1, groups.shape[2]), np.int64)
    x = np.zeros((len(plays), plays.shape[1], features.shape[2]))
    z = np.zeros((len(plays), plays.shape[1], known.shape[2]))
    counted, restricted, some = np.zeros(len(plays)), np.zeros(len(plays)), False
    for r in range(len(plays)):
        if plays[r, 0] >= 0:
            counted[r], some = 1.0, True
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                for i in range(x.shape[2]):
                    x[r, p, i] = features[r if len(features) > 1 else 0, plays[r, p], i]
                for i in range(z.shape[2]):
                    z[r, p, i] = known[r if len(known) > 1 else 0, plays[r, p], i]
        for p in range(g.shape[1]):
            for i in range(g.shape[2]):
                g[r, p, i] = groups[r, max(plays[r, p], 0) if each else 0, i]
        if t[r] < horizon:
            for a in range(playable.shape[1]):
                if offered[r if len(offered) > 1 else 0, a] and not playable[r, a]:
                    restricted[r] = 1.0
                    break
    return x, z, g, counted, restricted, some


@kernel
def take_prices(prices: Floats, plays: Ints) -> Floats:
    """Prices of the plays, `(K,A,M),(P)->(K,P,M)`."""
    w = np.zeros((len(plays), prices.shape[1], plays.shape[1], prices.shape[3]))
    for r in range(len(plays)):
        for k in range(prices.shape[1]):
            for p in range(plays.shape[1]):
                if plays[r, p] >= 0:
                    for m in range(w.shape[3]):
                        w[r, k, p, m] = prices[r, k, plays[r, p], m]
    return w


@kernel
def fits_alone(offered: Bools, worst: Floats, left: Floats, t: Floats, horizon: float) -> Bools:
    """Candidates that are offered before the horizon and fit every limit if played alone, `(A),(A,d),(d),()->(A)`."""
    playable = np.empty((len(t), offered.shape[1]), np.bool_)
    for r in range(len(t)):
        for a in range(offered.shape[1]):
            fits = offered[r if len(offered) > 1 else 0, a] and t[r] < horizon
            if fits:
                for j in range(left.shape[1]):
                    if worst[r if len(worst) > 1 else 0, a, j] > left[r, j]:
                        fits = False
            playable[r, a] = fits
    return playable


@kernel
def _clip_column(column: int, seen: Floats) -> int:
    """Clip a column to the array, in case the context was changed after it was checked."""
    return int(min(max(column, 0), seen.shape[1] - 1))


@kernel
def believe(groups: Ints, offered: Bools, weight: Floats, seen: Floats) -> None:
    """Count a round for the groups of its candidates, in equal parts of the offered ones, `(1|A,G),(A),(),(C)`."""
    for r in range(len(groups)):
        if weight[r] == 0.0:
            continue
        if groups.shape[1] == 1:
            for g in range(groups.shape[2]):
                seen[r, _clip_column(groups[r, 0, g], seen)] += weight[r]
            continue
        may = offered[r if len(offered) > 1 else 0]
        count = np.count_nonzero(may)
        for a in range(groups.shape[1]):
            if may[a]:
                for g in range(groups.shape[2]):
                    seen[r, _clip_column(groups[r, a, g], seen)] += weight[r] / count


@kernel
def frequencies(seen: Floats, rounds: Floats, declared: Floats) -> Floats:
    """Shares of groups, declared or where those are NaN estimated from cases of some rounds, `(C),(),(C)->(C)`."""
    shares = np.empty(seen.shape)
    for r in range(len(seen)):
        for g in range(seen.shape[1]):
            shares[r, g] = seen[r, g] / max(rounds[r], 1.0) if np.isnan(declared[g]) else declared[g]
    return shares


@kernel
def belief(groups: Ints, offered: Bools, seen: Floats, t: Floats, declared: Floats) -> Floats:
    """Shares of groups, those that are estimated from all cases so far and this one, `(1|A,G),(A),(C),(),(C)->(C)`."""
    now = seen.copy()
    believe(groups, offered, np.ones(len(seen)), now)
    return frequencies(now, t + 1.0, declared)


@inlined
def _fold(checksum: int, value: int) -> int:
    return (checksum ^ value) * 1099511628211  # the step of FNV-1a hashing, which wraps around


@in_python(_fold)
def _fold_whole(checksum: int, value: int) -> int:
    """Compute `_fold` with integers of Python, which do not wrap around."""
    number = (int(checksum) ^ int(value)) * 1099511628211 & 2**64 - 1
    return number - 2**64 if number >= 2**63 else number


@kernel
def checksum(plays: Ints, counted: Floats, time: Floats, groups: Ints, known: Floats) -> int:
    """A checksum of everything in a decision that the books record, `(P),(),(),(1|P,G),(P,L)->()`.

    A limit must get back what it held, and kernels do not check groups.
    """
    number, box = 1469598103934665603, np.empty(1)
    bits = box.view(np.int64)
    for r in range(len(plays)):
        number = _fold(number, 1 if counted[r] != 0.0 else 0)
        box[0] = time[r]
        number = _fold(number, bits[0])
        for p in range(plays.shape[1]):
            number = _fold(number, plays[r, p])
            for i in range(known.shape[2]):
                box[0] = known[r, p, i]
                number = _fold(number, bits[0])
        for p in range(groups.shape[1]):
            for g in range(groups.shape[2]):
                number = _fold(number, groups[r, p, g])
    return number


@kernel
def check_commit(
    plays: Ints,
    counted: Floats,
    time: Floats,
    groups: Ints,
    known: Floats,
    candidates: int,
    columns: int,
    t: Floats,
    horizon: float,
) -> tuple[int, int, bool, bool, int]:
    """Check a decision that is about to be committed, `(P),(),(),(1|P,G),(P,L),(),(),(),()->(),(),(),(),()`.

    Returns the first replica with a wrong field, or -1, and the field: 0 `counted`, 1 `plays`, 2 `groups`; then whether
    the decision counts in any replica, whether one of these is past the horizon, and the checksum.
    """
    counts, late = False, False
    for r in range(len(counted)):
        if not (counted[r] == 0.0 or (counted[r] == 1.0 and plays[r, 0] >= 0)):
            return r, 0, counts, late, 0
        for p in range(plays.shape[1]):
            if not -1 <= plays[r, p] < candidates:
                return r, 1, counts, late, 0
            for other in range(p):
                if plays[r, p] == plays[r, other] >= 0:
                    return r, 1, counts, late, 0
        for p in range(groups.shape[1]):
            for g in range(groups.shape[2]):
                if not 0 <= groups[r, p, g] < columns:
                    return r, 2, counts, late, 0
        if counted[r] > 0.0:
            counts = True
            late = late or t[r] >= horizon
    return -1, 0, counts, late, checksum(plays, counted, time, groups, known)


@kernel
def first_misfit(counted: Floats, fits: Bools) -> int:
    """Return the first replica in which a decision counts and does not fit, `(),()->()`; -1 where there is none."""
    for r in range(len(counted)):
        if counted[r] > 0.0 and not fits[r]:
            return r
    return -1


@kernel
def below(q: Floats, o: Floats, part: Floats, constant: Floats) -> tuple[Floats, Floats]:
    """Append the readings of one more goal, which has rows of its own, `(K,D),(i),(k,d),()->(K+k,D+d),(K+1)`."""
    k, d = q.shape[1:]
    both = np.zeros((len(q), k + part.shape[1], d + part.shape[2]))
    offsets = np.zeros((len(q), k + 1))
    for r in range(len(q)):
        for i in range(o.shape[1]):
            offsets[r, i] = o[r, i]
        offsets[r, k] = constant[r]
        for i in range(k):
            for j in range(d):
                both[r, i, j] = q[r, i, j]
        for i in range(part.shape[1]):
            for j in range(part.shape[2]):
                both[r, k + i, d + j] = part[r, i, j]
    return both, offsets


@kernel
def net_price(q: Floats, o: Floats) -> tuple[Floats, Floats]:
    """Sum the prices and the constants of all readings to those of one, `(k,d),(k)->(1,d),(1)`."""
    price, constant = np.zeros((len(q), 1, q.shape[2])), np.zeros((len(o), 1))
    for r in range(len(q)):
        for k in range(q.shape[1]):
            for j in range(q.shape[2]):
                price[r, 0, j] += q[r, k, j]
        for k in range(o.shape[1]):
            constant[r, 0] += o[r, k]
    return price, constant


@kernel
def net(mean: Floats, bonus: Floats) -> Floats:
    """Mean and bonus, summed over readings, `(K,A),(K,A)->(A)`."""
    total = np.zeros((len(mean), mean.shape[2]))
    for r in range(len(mean)):
        for k in range(mean.shape[1]):
            for a in range(mean.shape[2]):
                total[r, a] += mean[r, k, a] + bonus[r, k, a]
    return total


@kernel
def one_by_one(sign: Floats) -> Floats:
    """Prices that read every row by itself, at its sign, `(d)->(d,d)`."""
    q = np.zeros((*sign.shape, sign.shape[1]))
    for r in range(len(sign)):
        for j in range(sign.shape[1]):
            q[r, j, j] = sign[r, j]
    return q


@kernel
def at_ends(sign: Floats, mean: Floats, bonus: Floats, offset: Floats, plays: Ints, counted: Floats) -> Floats:
    """The ends of rows that were read at their signs, over plays that count, `(d),(d,P),(d,P),(d,P),(P),()->(d)`."""
    end = np.zeros(sign.shape)
    for r in range(len(sign)):
        if counted[r] > 0.0:
            for j in range(sign.shape[1]):
                for p in range(plays.shape[1]):
                    if plays[r, p] >= 0:
                        end[r, j] += mean[r, j, p] + bonus[r, j, p] + offset[r, j, p]
                end[r, j] *= sign[r, j]
    return end


@inlined
def _any(counted: Floats) -> bool:
    """Whether a decision counts in any replica, `()->`."""
    for r in range(len(counted)):  # noqa: SIM110, a loop compiles to less code than a generator
        if counted[r] > 0.0:
            return True
    return False


@kernel
def at_arrival(
    plays: Ints,
    counted: Floats,
    time: Floats,
    groups: Ints,
    known: Floats,
    y: Floats,
    observed: Bools,
    exposed: Bools,
    sure: Bools,
    n_noisy: int,
    ranges: Floats,
    missing: Bools,
) -> tuple[int, bool, int, int, Floats, Floats, Bools]:
    """Return the outcomes that count, `(P),(),(),(1|P,G),(P,L),(P,M+B),...,(2,A|1,M+B)->(P,M),(P,L),(P,M)`.

    First the checksum and whether any round counts; then the replica and the outcome of the first number that is not
    finite or not within the range of its play, or that nothing can have brought about, -1 where there is none. Learned
    and known outcomes are 0 wherever a play was not made, not exposed or not observed; noisy ones, the first B known
    outcomes, are as observed. The mask says what teaches the model. In `missing`, `(P,M+L)`, outcomes of exposed plays,
    and sure ones, are marked that were not observed. A mask that is empty is true everywhere, and then nothing is
    missing.
    """
    n_learned = y.shape[2] - n_noisy
    learned, z = np.zeros((len(y), y.shape[1], n_learned)), np.zeros(known.shape)
    seen = np.zeros(learned.shape, np.bool_)
    number = checksum(plays, counted, time, groups, known)
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if counted[r] == 0.0:
                continue
            played = plays[r, p] >= 0
            shown = played and (len(exposed) == 0 or exposed[r, p])
            if played:
                for i in range(n_noisy, len(sure)):
                    if shown or sure[i]:
                        z[r, p, i] = known[r, p, i]
            for m in range(y.shape[2]):
                unseen = len(observed) > 0 and not observed[r, p, m]
                if not (shown or (played and m >= n_learned and sure[m - n_learned])):
                    if not unseen and abs(y[r, p, m]) > 0.0:
                        return number, True, r, m, learned, z, seen
                    continue
                if unseen:
                    missing[r, p, m] = True
                    continue
                if m < n_learned:
                    learned[r, p, m] = y[r, p, m]
                    seen[r, p, m] = True
                else:
                    z[r, p, m - n_learned] = y[r, p, m]
                a = plays[r, p] if ranges.shape[1] > 1 else 0
                if not (ranges[0, a, m] <= y[r, p, m] <= ranges[1, a, m] and abs(y[r, p, m]) <= LARGEST):
                    return number, True, r, m, learned, z, seen
    return number, _any(counted), -1, -1, learned, z, seen


@kernel
def at_expiry(
    plays: Ints, counted: Floats, known: Floats, sure: Bools, n_noisy: int, fallback: Floats, free: Bools
) -> tuple[bool, Floats, Floats, Bools]:
    """Return the entry of a decision without outcomes, `(P),(),(P,L),(L),(),(M+B),(A,M+B)->(),(P,M),(P,L),(P,M+L)`.

    First whether any round counts; then fallbacks of learned and noisy outcomes, known outcomes that are sure, and a
    mask of the unknown: observed outcomes without a fallback, and known ones that depend on exposure.
    """
    n_learned = len(fallback) - n_noisy
    learned, z = np.zeros((len(plays), plays.shape[1], n_learned)), np.zeros(known.shape)
    missing = np.zeros((len(plays), plays.shape[1], n_learned + known.shape[2]), np.bool_)
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if counted[r] == 0.0 or plays[r, p] < 0:
                continue
            for i in range(n_noisy, len(sure)):
                if sure[i]:
                    z[r, p, i] = known[r, p, i]
                elif known[r, p, i] != 0.0:
                    missing[r, p, n_learned + i] = True
            for m in range(len(fallback)):
                if plays[r, p] < len(free) and free[plays[r, p], m]:
                    continue  # it is 0
                if np.isnan(fallback[m]):
                    missing[r, p, m] = True
                elif m < n_learned:
                    learned[r, p, m] = fallback[m]
                else:
                    z[r, p, m - n_learned] = fallback[m]
    return _any(counted), learned, z, missing


def fallbacks(own: Floats, then: Floats | None) -> Floats:
    """Return the fallbacks of an expiry, `(M+B)`: those of its time, or where none was stated a policy's own."""
    return own if then is None else np.where(np.isnan(then), own, then)


def widen(decision: Decision, features: int) -> Decision:
    """Return a decision with the features of actions that were appended since it was made, which are 0."""
    if not isinstance(decision, Decision) or decision.features.shape[-1] >= features:
        return decision  # what is no decision is named by whoever checks it
    here = decision.features.shape[-1]
    return decision._replace(features=np.pad(decision.features, ((0, 0), (0, 0), (0, features - here))))
