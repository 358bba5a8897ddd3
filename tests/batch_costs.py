"""What rows that are decided at one state cost, and what it would change if their plays counted each other in bonuses.

`python -m tests.batch_costs REPLICAS [ROUNDS]` prints a table with a line for each length of rows and way to count.
"""

import sys
import warnings
from copy import deepcopy

import numpy as np

from evenhand.core.errors import EvenhandWarning
from evenhand.models import BayesianRidge, PerAction
from evenhand.policy.batch import freeze, most, pass_on
from evenhand.recipes import pgd, resolving
from evenhand.report.summary import standard_error
from tests.ignorance import Letters
from tests.tables import head, row

SEED, FEW = 0, 0.01  # of all plays, below which an action is left out
LENGTHS = (1, None, 0.3, 0.5)  # of a row: None as live campaigns have them, else a part of all rounds
RECIPES = {"resolving": resolving, "pgd": lambda problem, model: pgd(problem, model, warmup=0, hard=True)}


def counting(policy, state):
    """A frozen state whose model counts the plays of its row, once they are given to `count`."""
    at = freeze(policy, state)
    at.model, at.waiting = state.model, deepcopy(state.waiting)
    return at


def count(policy, at, number, decision):
    """Let bonuses of a frozen state count a play as one whose outcome waits."""
    policy._assembly.delay.commit(at, decision._replace(id=np.array([number, 0, 0])))


def run(policy, world, replica, length, together):
    """The share of each action in the plays of one replica, and the reward per round."""
    state = policy.start(replicas=[replica], seed=SEED)
    place, step, plays, reward = world.start(SEED, np.array([replica])), 0, np.zeros(3), 0.0
    while step < world.horizon:
        n = most(policy, state) if length is None else length if length == 1 else int(length * world.horizon)
        decided, at = [], (counting if together else freeze)(policy, state)
        for j in range(step, min(step + max(n, 1), world.horizon)):
            context = place.context(j)
            decision = policy.decide(at, context)
            pass_on(policy, at, context, decision)
            if together:
                count(policy, at, world.horizon + j, decision)
            decided.append((j, context, decision))
        for j, context, decision in decided:
            policy.enter(state, context, decision)
            played = decision.plays[0, 0]
            plays[played] += played >= 0
            reward += float(place.expected(context, decision.plays)[0, 0, 0])
            for arrival in place.respond(j, context, decision)[1]:
                policy.learn(state, arrival.decision, arrival.y)
        step += len(decided)
    return plays / world.horizon, reward / world.horizon


def table(replicas, horizon=1000):
    """Yield a line for each recipe, length of rows and way to count."""
    world = Letters(horizon=horizon, delay=0)
    model = PerAction(inner=BayesianRidge(n_features=2, n_outcomes=2), actions=3)
    for name, recipe in RECIPES.items():
        policy = recipe(world.problem, model)
        for length in LENGTHS:
            for together in (False, True)[: 1 if length == 1 else 2]:
                found = [run(policy, world, replica, length, together) for replica in range(replicas)]
                shares, rewards = (np.array(z) for z in zip(*found, strict=True))
                yield name, length, together, int((shares < FEW).any(1).sum()), rewards


def main(replicas, horizon=1000):
    words = {1: "one by one", None: "a twentieth, as campaigns have them"}
    head(
        "policy",
        "rows",
        "plays of a row count each other",
        "replicas that leave an action out",
        "reward per round",
        "worst",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvenhandWarning)
        for name, length, together, left_out, rewards in table(replicas, horizon):
            rows = words.get(length) or f"{length * horizon:.0f}"
            reward = f"{rewards.mean():.4f} ± {standard_error(rewards):.4f}"
            row(
                f"`{name}`",
                rows,
                "yes" if together else "no",
                f"{left_out} of {replicas}",
                reward,
                f"{rewards.min():.4f}",
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
