"""Plain NumPy twins of the kernels, written from the equations in the docstrings: slow, and easy to check by eye."""

import itertools
import math

import numpy as np


def per_replica(z, r):
    """What leads with 1 is the same for every replica."""
    return z[r if len(z) > 1 else 0]


def optimism(mean, half, low, high, price):
    end = mean + half * np.sign(price)
    return price * (np.clip(end, low, high) - mean)


def values(center, half, low, high, w):
    """Predictions (R, M, A) with half-widths (R, 1 or M, A) at prices (R, K, M) -> mean and bonus, each (R, K, A)."""
    mean = (w[:, :, :, None] * center[:, None]).sum(2)
    ends = optimism(center[:, None], half[:, None], low[:, None], high[:, None], w[:, :, :, None])
    return mean, ends.sum(2)


def norms(x, inverse):
    return np.sqrt(np.maximum(np.einsum("ran,rnm,ram->ra", x, inverse, x), 0.0))


def factors(rows, groups, shares):
    """What each row is multiplied by for every candidate, or for the case, (R, 1 or A, d)."""
    out = np.empty((*groups.shape[:2], len(rows)))
    for r in range(groups.shape[0]):
        for a in range(groups.shape[1]):
            for j in range(len(rows)):
                g, column = rows.grouping[j], rows.column[j]
                member = g >= 0 and groups[r, a, g] == column
                share = per_replica(shares, r)[column] if member and rows.by_share[j] else 1.0
                out[r, a, j] = rows.always[j] + (rows.inside[j] / share if member else 0.0)
    return out


def post(rows, groups, shares, y, z):
    return (factors(rows, groups, shares) * (y @ rows.learned.T + z @ rows.known.T)).sum(1)


def pull(rows, groups, shares, known, q):
    """Prices (R, K, 1 or A, M) and offsets (R, K, A)."""
    f = factors(rows, groups, shares)
    priced = q[:, :, None, :] * f[:, None]
    known = np.broadcast_to(known, (len(q), *known.shape[1:]))
    return priced @ rows.learned, ((priced @ rows.known) * known[:, None]).sum(3)


def tied(worth, free):
    """Which free candidates are the best up to rounding."""
    best = np.where(free, worth, -np.inf).max()
    return free & (worth >= best - 1e-9 * abs(best))


def in_order(key, playable, k, u):
    """The best by `key` of a replica and what is free; one number draws all ties, each from what the last one left."""
    plays, propensities, first = np.full((len(playable), k), -1), np.ones((len(playable), k)), np.zeros(playable.shape)
    for r in range(len(playable)):
        free, luck = playable[r].copy(), u[r, 0]
        for i in range(min(k, free.sum())):
            best = np.flatnonzero(tied(key(r, free), free))
            luck, place = np.modf(luck * len(best))
            plays[r, i], propensities[r, i] = best[int(place)], 1 / len(best)
            first[r, best] = 1 / len(best) if i == 0 else first[r, best]
            free[plays[r, i]] = False
    return plays, propensities, first


def top_k(mean, bonus, playable, k, u):
    worth = (mean + bonus).sum(1)
    return in_order(lambda r, free: worth[r], playable, k, u)


def fair_learn(mean, bonus, owed, tolerance, playable, k, u):
    """As `top_k`, but the most deprived comes first as long as one is owed more than the tolerance."""
    worth = (mean + bonus).sum(1)
    return in_order(lambda r, free: owed[r] if owed[r, free].max() > tolerance else worth[r], playable, k, u)


def unbiased(mean, bonus, exposures, playable, k, u):
    """`top_k`, with the bonus of a candidate times 1 - k N_i / sum_j N_j."""
    total = np.maximum(exposures.sum(1), 1.0)
    return top_k(mean, bonus * (1.0 - k * exposures / total[:, None])[:, None], playable, k, u)


def lottery(weights, playable):
    w = np.where(playable, weights, 0.0)
    blind = w.sum(1) == 0.0
    w = np.where(blind[:, None], playable, w)
    total = w.sum(1, keepdims=True)
    return np.divide(w, total, out=np.zeros(w.shape), where=total > 0)


def drawn(probabilities, u):
    """The candidate on whose part of the unit interval u falls."""
    upper = np.cumsum(probabilities, 1)
    plays = (u[:, None] >= upper).sum(1)
    last = probabilities.shape[1] - 1 - np.argmax(probabilities[:, ::-1] > 0, 1)
    return np.where(probabilities.sum(1) > 0, np.minimum(plays, last), -1)[:, None]


def dual_step(price, size, bound, rounds, v):
    return np.maximum(0.0, price + size[:, None] * (v - rounds[:, None] * bound))


def dual_advance(price, excess, regime, limits, reset, bound, rounds, v):
    excess = excess + v - rounds[:, None] * bound
    over = np.linalg.norm(np.maximum(excess, 0.0), axis=1) > limits[regime.astype(int)]
    price = np.where((over & reset)[:, None], 0.0, price)
    return price, np.where(over[:, None], 0.0, excess), regime + over


def worst_case(rows, known, low, high):
    """The most that each row can be for every candidate, (R, A, d).

    By trying every corner of the box of outcomes, and 0, which an unexposed play has.
    """
    corners = np.array([*itertools.product(*zip(low, high, strict=True)), np.zeros(len(low))], float)
    most = (corners @ rows.learned.T).max(0)
    uses = known[:, :, None, :] * rows.known
    return most + np.where(rows.sure, uses, np.maximum(uses, 0.0)).sum(3)


LINKS = {
    "identity": lambda u: u,
    "logistic": lambda u: 1.0 / (1.0 + np.exp(-u)),
    "probit": lambda u: np.vectorize(math.erf)(u / math.sqrt(2.0)) / 2.0 + 0.5,
    "exponential": np.exp,
}


def projected(theta, radius, projection):
    """Parameters (M, n), each back in its ball; or all at once, and without signs."""
    if projection == "whole":
        return np.abs(theta) * min(1.0, radius / max(np.linalg.norm(theta), 1e-300))
    length = np.linalg.norm(theta, axis=1, keepdims=True)
    return theta * np.minimum(1.0, radius / np.maximum(length, 1e-300))


def newton_oracle(model, x, y):
    """Parameters (M, n) after plays (s, n), (s, M), with the metric itself, and solved with afresh each time."""
    theta = np.full((model.n_outcomes, model.n_features), model.start_at)
    metric = model.ridge * np.eye(model.n_features)
    for xs, ys in zip(x, y, strict=True):
        metric = metric + np.outer(xs, xs)
        miss = LINKS[model.link](theta @ xs) - ys
        theta = theta - model.step * np.outer(miss, np.linalg.solve(metric, xs))
        theta = projected(theta, model.radius, model.projection)
    return theta


def gradient_oracle(model, x, y):
    theta = np.full((model.n_outcomes, model.n_features), model.start_at)
    for t, (xs, ys) in enumerate(zip(x, y, strict=True), 1):
        size = model.first_step if t == 1 and model.first_step > 0 else model.step / t**model.power
        theta = theta - size * np.outer(LINKS[model.link](theta @ xs) - ys, xs)
        theta = projected(theta, model.radius, model.projection)
    return theta


def inverse_gap(mean, playable, gamma):
    """Probabilities (R, A), from the formula."""
    worth, out = mean.sum(1), np.zeros(playable.shape)
    for r in range(len(out)):
        free = np.flatnonzero(playable[r])
        if len(free):
            top = worth[r, free].max()
            out[r, free] = 1.0 / (len(free) + gamma[r] * (top - worth[r, free]))
            best = tied(worth[r], playable[r])
            out[r, best] = (1.0 - out[r, ~best].sum()) / best.sum()
    return out


def hedge(weight, step, bound, rounds, v):
    """Weights (R, d + 1) after an entry, in logarithms."""
    gain = step * (v - rounds[:, None] * bound)
    logs = np.log(weight) + np.concatenate([gain, np.zeros((len(v), 1))], 1)
    powers = np.exp(logs - logs.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)
