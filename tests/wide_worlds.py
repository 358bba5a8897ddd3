"""Models without covariances: how often their intervals hold, and what they bring beside dense ones.

`python -m tests.wide_worlds` prints the tables of docs/wide.md. Levels of each column of levels are equally likely;
numbers are normal, with a correlation between each two of them.
"""

import math
import sys

import numpy as np
from scipy.special import expit

from evenhand.core.records import Context
from evenhand.models import BayesianLogistic, BayesianRidge, DiagonalLogistic, DiagonalRidge, PerAction, Prior
from evenhand.models.base import ROUND
from evenhand.models.diagonal import posterior
from evenhand.models.diagonal.prediction import predict
from evenhand.problem import Outcome, Problem
from evenhand.recipes import ucb
from tests.tables import decimal, head, row

DIAGONAL = (DiagonalRidge, DiagonalLogistic)
MODELS = (BayesianRidge, DiagonalRidge, BayesianLogistic, DiagonalLogistic)
LEVELS = {
    "one of 50 levels": [50],
    "an intercept and one of 50 levels": [50],
    "an intercept and one of 30 levels": [30],
}
LEVELS["an intercept, and one of 10, of 30 and of 60 levels"] = [10, 30, 60]
NUMBERS = {"an intercept and 20 independent numbers": 0.0, "20 numbers of correlation .5": 0.5}
NUMBERS["20 numbers of correlation .9"] = 0.9
WORDS = "20 of 200 words, by 5 topics"
INTERVALS = [name for name in (*LEVELS, *NUMBERS) if "30 levels" not in name]
REWARDS = ["an intercept and one of 30 levels", *NUMBERS]
_ONE = np.ones((1, 1, 1, 1))


def cases(name, rng, count):
    """Features of cases, `->(N,n)`."""
    one = np.ones((count, 0 if name == "one of 50 levels" else 1))
    if name in LEVELS:
        return np.concatenate([one, *(np.eye(size)[rng.integers(size, size=count)] for size in LEVELS[name])], 1)
    if name == WORDS:
        liked = 2.0 * np.random.default_rng(0).normal(size=(5, 200))[rng.integers(5, size=count)]
        first = np.argsort(-liked - rng.gumbel(size=liked.shape), 1)[:, :20]
        x = np.zeros((count, 200))
        np.put_along_axis(x, first, 1.0 / math.sqrt(20.0), 1)
        return np.concatenate([one, x], 1)
    shared, own = rng.normal(size=(count, 1)), rng.normal(size=(count, 20))
    part = NUMBERS[name]
    return np.concatenate([one, math.sqrt(part) * shared + math.sqrt(1.0 - part) * own], 1)


def covered(kind, name, seed, count=1000, **block):
    """The share of 400 new cases whose truth is within two standard deviations, after some observations."""
    rng = np.random.default_rng(seed)
    x = cases(name, rng, count + 400)
    theta = rng.normal(size=x.shape[1]) / math.sqrt((x**2).sum(1).mean())
    if kind is DiagonalRidge:
        level = np.full(len(theta), 0.5) if name == "one of 50 levels" else np.eye(1, len(theta))[0] / 2.0
        theta, prior = level + 0.25 * theta, Prior(mean=level)
        truth = x @ theta
        y = truth + 0.25 * rng.normal(size=len(x))
    else:
        truth, prior = x @ theta, Prior(mean=np.zeros(len(theta)))
        y = (rng.random(len(x)) < expit(truth)).astype(float)
    model = kind(n_features=x.shape[1], prior=prior, **block)
    state = model.start(1, np.zeros(1), np.ones(1), 10_000)
    for t in range(count):
        model.update(state, x[None, t : t + 1], y[None, t : t + 1, None], np.ones((1, 1, 1), bool), _ONE, ROUND)
    cells, center = posterior.read(state, x[None, count:], x.shape[1], None), np.empty(1)
    rooms, rho = (np.empty(cells.z.shape[2]), center, np.empty(cells.inner.z.shape[2])), state.chosen[0]
    rho, hits = rho * state.size[0] / state.count[0], 0
    noise = state.sigma[0, 0, 0] if kind is DiagonalRidge else 1.0
    for t, own in enumerate(truth[count:]):
        square, _ = predict(state.factor[0], cells, (0, t), rho, *rooms, -1)
        hits += abs(center[0] - own) <= 2.0 * math.sqrt(noise * square)
    return hits / (len(x) - count)


def brought(kind, name, replicas=20, rounds=4000, actions=5):
    """The part of the way from uniform draws to the best action that `ucb` goes, `->(R)`."""
    rng, names = np.random.default_rng(1), tuple("abcde"[:actions])
    n = cases(name, rng, 1).shape[1]
    problem = Problem(actions=names, outcomes=(Outcome("won"),), maximize="won", horizon=rounds)
    policy = ucb(problem, PerAction(inner=kind(n_features=n), actions=actions))
    theta = (1.0 if name in LEVELS else 0.3 if NUMBERS[name] == 0.0 else 0.2) * rng.normal(size=(replicas, actions, n))
    theta[:, :, 0] -= 1.0
    state, sums = policy.start(replicas=replicas), np.zeros((3, replicas))
    number = np.broadcast_to(np.arange(actions, dtype=float)[None, :, None], (replicas, actions, 1))
    nothing = np.zeros((1, actions, 0)), np.zeros((replicas, 1, 0), int), np.ones((1, actions), bool)
    for _ in range(rounds):
        x = cases(name, rng, replicas)
        chance = expit(np.einsum("ran,rn->ra", theta, x))
        each = np.broadcast_to(x[:, None], (replicas, actions, n))
        decision = policy.act(state, Context(np.concatenate([number, each], 2), *nothing))
        own = chance[np.arange(replicas), decision.plays[:, 0]]
        policy.learn(state, decision, (rng.random(replicas) < own).astype(float)[:, None, None])
        sums += own, chance.mean(1), chance.max(1)
    return (sums[0] - sums[1]) / (sums[2] - sums[1])


def main(worlds=20, rounds=4000):
    head("truth within two standard deviations", *(f"`{kind.__name__}`" for kind in DIAGONAL))
    for name in INTERVALS:
        each = [(name, {})] + [(f"{name}, in a block", {"block": 21})] * ("correlation" in name)
        for own, block in each:
            found = [np.mean([covered(kind, name, seed, **block) for seed in range(worlds)]) for kind in DIAGONAL]
            row(own, *(decimal(z, 3) for z in found))
    print()
    head("part of the best", *(f"`{kind.__name__}`" for kind in MODELS))
    for name in REWARDS:
        found = [brought(kind, name, worlds, rounds) for kind in MODELS]
        row(name, *(f"{decimal(z.mean(), 2)} ± {decimal(z.std() / math.sqrt(len(z)), 2)}" for z in found))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
