"""The rounds of a ranking in one compiled loop for this one problem, with the kernels that the library uses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from evenhand.choices.top_k import top
from evenhand.core.kernel import kernel
from evenhand.core.luck import Stream, uniform_within
from evenhand.core.types import Floats
from evenhand.environments import Listeners, Ranking
from evenhand.environments.ranking import _answer, _meet
from evenhand.models import Bilinear, SelfNormalised
from evenhand.models.ridge import bilinear_worth
from evenhand.numerics.bilinear import absorb_runs
from evenhand.numerics.isotonic import gini_gradient
from evenhand.objectives import GeneralizedGini, Linear, Moreau, WeightedSum
from evenhand.policy.policy import Policy
from evenhand.recipes import fw_linucb_rank

WIDTH = SelfNormalised(delta=0.1 / 3)
BETA = 1.0  # of the smoothing


def ranking(items: int, factors: int, horizon: int) -> Ranking:
    """50 listeners, 10 places and equation 2 of Do et al. 2023."""
    world = Ranking(audience=Listeners(users=50, items=items, factors=factors).audience, horizon=horizon)
    spread = GeneralizedGini.difference(world.exposures)
    return replace(world, maximize=WeightedSum(((1.0, Linear({"click": 1.0})), (1.0, spread))))


def policy(world: Ranking) -> Policy:
    """What the compiled loop is beside."""
    users, items = world.audience.users.shape[1], world.audience.items.shape[1]
    model = Bilinear(n_user_features=users, n_item_features=items, ridge=0.1, width=WIDTH)
    return fw_linucb_rank(world.problem, model, smoothing=Moreau(BETA))


@kernel
def _rounds(
    rounds: int,
    choice: np.uint64,
    start_at: Floats,
    users: Floats,
    items: Floats,
    reached: Floats,
    chances: Floats,
    looks: Floats,
    ranked: Floats,
    theta: Floats,
    inverse: Floats,
    log_det: Floats,
    width: tuple[float, float, float],
    total: Floats,
) -> Floats:
    """Books of `rounds` rounds, clicks first, then the exposures of every item; returns the expected clicks."""
    (m, r), slots, seed, replicas = items.shape, len(looks), np.uint64(0), np.zeros(1, np.int64)
    count, low, high, truth = np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1)
    radius, beta, places, tilt = np.zeros(1), np.zeros(1), np.arange(1, m + 1), np.zeros(m + 1)
    z, w, order = start_at.reshape(1, m + 1).copy(), np.ones((1, 1, 1, 1)), np.zeros((1, 0), np.int64)
    x_plays, seen = np.zeros((1, slots, 2 * r)), np.zeros((1, slots, 1), np.bool_)
    offered, worst, left = np.ones((1, m), np.bool_), np.zeros((1, m, 0)), np.zeros((1, 0))
    unmixed = np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0)
    tilt[0] = 1.0
    for t in range(rounds):
        who, x = _meet(seed, replicas, t, users, items, reached, False)
        if t > 0:
            for i in range(m + 1):
                z[0, i] = total[i] / t
        beta[0] = BETA / math.sqrt(t + 1.0)
        if m > 64:
            order = np.argsort(z[0, 1:]).reshape(1, m)
        slope = gini_gradient(z, tilt, places, order, ranked, 1.0, beta)
        radius[0] = width[0] * math.sqrt(log_det[0] - width[1]) + width[2]
        w[0, 0, 0, 0] = slope[0, 0]
        mean, bonus = bilinear_worth(theta, inverse, radius, (low, high), True, x, w, r)
        for i in range(m):
            mean[0, 0, i] += slope[0, i + 1]
        luck = uniform_within(seed, choice, replicas, np.full(1, t), 1)
        plays, _, _ = top(mean, bonus, unmixed, offered, worst, left, slots, luck)
        y, exposed, chance = _answer(seed, replicas, t, chances, looks, who, plays)
        for p in range(slots):
            x_plays[0, p] = x[0, plays[0, p]]
            seen[0, p, 0] = exposed[0, p]
            truth[0] += chance[0, p, 0]
            if exposed[0, p]:
                total[0] += y[0, p, 0]
                total[1 + plays[0, p]] += 1.0
        absorb_runs(theta, inverse, log_det, count, x_plays, y, seen, r)
    return truth


def run(world: Ranking, rounds: int) -> Floats:
    """Sums of clicks and of the exposures of every item after some rounds of replica 0 under seed 0, `->(1+m)`."""
    plays, audience = policy(world), world.audience
    state = plays.start().model
    parts = WIDTH.noise, 2.0 * math.log(WIDTH.delta), math.sqrt(plays.model.ridge) * WIDTH.norm_bound
    total, spread = np.zeros(1 + len(audience.items)), world.problem.objective.terms[1][1]
    start_at, reached = np.array(plays.goals[0].start_at), world.shares_of_users.cumsum()
    shown = audience.users, audience.items, reached, audience.chances, world.looked
    arrays = state.theta, state.inverse, state.log_det
    _rounds(rounds, np.uint64(Stream.CHOICE), start_at, *shown, spread.ranked, *arrays, parts, total)
    return total
