"""The rounds of a ranking in one compiled loop for this one problem, with the kernels that the library uses."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.ranking import SLOTS, Songs, answers, features, true_means
from evenhand.choices.top_k import top
from evenhand.core.kernel import kernel
from evenhand.core.luck import Stream, philox
from evenhand.core.types import Floats
from evenhand.models.bilinear import bilinear_worth
from evenhand.numerics.bilinear import absorb_runs
from evenhand.numerics.isotonic import gini_gradient


@kernel
def _draw(stream: int, step: int, size: int) -> Floats:
    """Uniform numbers of replica 0 under seed 0, `->(1,size)`."""
    out = np.empty((1, size))
    for block in range((size + 3) // 4):
        key = np.uint64(block), np.uint64(step), np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(stream)
        words = philox(*key)
        for i in range(min(4, size - 4 * block)):
            out[0, 4 * block + i] = np.float64(words[i] >> np.uint64(11)) * 2.0**-53
    return out


@kernel
def _rounds(
    rounds: int,
    streams: tuple[int, int, int],
    start_at: Floats,
    users: Floats,
    items: Floats,
    looks: Floats,
    ranked: Floats,
    theta: Floats,
    inverse: Floats,
    log_det: Floats,
    width: tuple[float, float, float],
    total: Floats,
) -> Floats:
    """Books of `rounds` rounds, clicks first, then the exposures of every item; returns the expected clicks."""
    m, r = items.shape
    count, low, high, truth = np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1)
    radius, beta, places, tilt = np.zeros(1), np.zeros(1), np.arange(1, m + 1), np.zeros(m + 1)
    z, w, order = start_at.reshape(1, m + 1).copy(), np.ones((1, 1, 1, 1)), np.zeros((1, 0), np.int64)
    x_plays, seen = np.zeros((1, SLOTS, 2 * r)), np.zeros((1, SLOTS, 1), np.bool_)
    offered, worst, left = np.ones((1, m), np.bool_), np.zeros((1, m, 0)), np.zeros((1, 0))
    tilt[0] = 1.0
    for t in range(rounds):
        x = features(users, items, _draw(streams[0], t, 1))
        if t > 0:
            for i in range(m + 1):
                z[0, i] = total[i] / t
        beta[0] = 1.0 / math.sqrt(t + 1.0)
        if m > 64:
            order = np.argsort(z[0, 1:]).reshape(1, m)
        slope = gini_gradient(z, tilt, places, order, ranked, 1.0, beta)
        radius[0] = width[0] * math.sqrt(log_det[0] - width[1]) + width[2]
        w[0, 0, 0, 0] = slope[0, 0]
        mean, bonus = bilinear_worth(theta, inverse, radius, low, high, x, w, r)
        for i in range(m):
            mean[0, 0, i] += slope[0, i + 1]
        plays, _, _ = top(mean, bonus, offered, worst, left, SLOTS, _draw(streams[2], t, 1))
        y, exposed = answers(x, plays, r, looks, _draw(streams[1], t, 2 * SLOTS))
        for p in range(SLOTS):
            x_plays[0, p] = x[0, plays[0, p]]
            seen[0, p, 0] = exposed[0, p]
            if exposed[0, p]:
                total[0] += y[0, p, 0]
                total[1 + plays[0, p]] += 1.0
        truth[0] += true_means(x, plays, r, looks).sum()
        absorb_runs(theta, inverse, log_det, count, x_plays, y, seen, r)
    return truth


def run(songs: Songs, rounds: int) -> Floats:
    """Sums of clicks and of the exposures of every item after some rounds of replica 0 under seed 0, `->(1+m)`."""
    world, model = songs.start(0, np.arange(1)), songs.policy.model
    state = model.start(1, np.zeros(1), np.ones(1), rounds)
    width = songs.width
    parts = width.noise, 2.0 * math.log(width.delta), math.sqrt(model.ridge) * width.norm
    total, spread = np.zeros(1 + songs.n_items), songs.problem.objective.terms[1][1]
    streams = int(Stream.CONTEXT), int(Stream.OUTCOME), int(Stream.CHOICE)
    start_at = np.array(songs.policy.goals[0].start_at)
    arrays = state.theta, state.inverse, state.log_det
    _rounds(rounds, streams, start_at, *songs.blocks, world.looks, spread.ranked, *arrays, parts, total)
    return total
