"""Many described actions: what is learned beside a model with all covariances and beside names alone, and what it costs.

`python -m tests.many_worlds [REPLICAS [ROUNDS [ACTIONS]]]` prints the tables of docs/described.md.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import numpy as np

import evenhand as eh
from evenhand.models.base import Model
from evenhand.models.own_parts import OwnParts
from evenhand.problem.descriptions import Actions
from tests.described_worlds import TRAITS, Run, World, catalogue, context, problem
from tests.tables import decimal, head, row

FEATURES = (*(eh.Numeric(name, 0, 1) for name in "abc"), eh.Categorical("kind", ("w", "x", "y", "z")))
SIZES = 100, 1_000, 10_000


def world(actions: int) -> World:
    """A made-up world whose shared part is drawn at random: d = 6 and n = 5."""
    shared = 0.08 * np.random.default_rng(3).standard_normal((7, 1 + TRAITS))
    shared[0, 0] = 0.4
    return catalogue(actions - 1, FEATURES, shared)


def reward(run: Run, stated: eh.Problem, model: Model) -> list[float]:
    """The mean true worth of plays in all rounds, and in the last half of them, each over that of the best ones."""
    policy, worth = eh.ucb(stated, model), np.zeros((2, run.rounds))
    luck = [np.random.default_rng((18, r)) for r in range(run.replicas)]
    cases = np.array([rng.uniform(-1.0, 1.0, (run.rounds, TRAITS)) for rng in luck])
    means = np.array([run.means(r, z) for r, z in enumerate(cases)])
    u, state = np.array([rng.random(run.rounds) for rng in luck]), policy.start(replicas=run.replicas)
    numbered = replace(stated, described=None) if isinstance(model, OwnParts) else stated
    for t in range(run.rounds):
        decision = policy.act(state, context(numbered, cases[:, t]))
        mine = means[np.arange(run.replicas), t, decision.plays[:, 0]]
        policy.learn(state, decision, (u[:, t] < mine).astype(float)[:, None, None])
        worth[:, t] = mine.mean(), means[:, t].max(1).mean()
    return [float(z[0] / z[1]) for z in (worth.mean(1), worth[:, run.rounds // 2 :].mean(1))]


def cost(actions: int, rounds: int = 300) -> list[float]:
    """Milliseconds of the processor for a decision by name and its outcome, half of them take less, and megabytes."""
    of, spent = world(actions), []
    policy = eh.ucb(stated := problem(of, of.names, True, 10_000), eh.models.advised(stated))
    state, rng = policy.start(), np.random.default_rng(0)
    for t in range(rounds):
        case, before = {f"x{i}": float(z) for i, z in enumerate(rng.uniform(-1, 1, TRAITS))}, time.thread_time()
        policy.observe(state, policy.act(state, policy.encode(case)), {"good": float(t % 2)})
        spent.append(time.thread_time() - before)
    return [1e3 * float(np.median(spent)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0]


def main(replicas: int = 20, rounds: int = 1000, actions: int = 200) -> None:
    of = world(actions)
    described, named = (problem(of, of.names, z, rounds) for z in (True, False))
    table, run = Actions(of.rows, FEATURES), Run(of, replicas, rounds)
    models = {
        "own parts apart": (described, OwnParts.of(table, 1 + TRAITS)),
        "all covariances": (described, eh.BayesianRidge(n_features=described.n_described)),
        "names alone": (named, eh.PerAction.of(named)),
    }
    head("model", "worth of the best plays", "last half")
    for name, (stated, model) in models.items():
        row(name, *(decimal(z) for z in reward(run, stated, model)))
    print()
    head("actions", "ms", "MB")
    for size in SIZES:
        ms, memory = cost(size)
        row(f"{size:,}", f"{ms:.1f}", f"{memory:.0f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
