"""A new action is appended to some that were learned: how soon it brings its worth, and how soon a bad one is dropped.

`python -m tests.described_worlds [REPLICAS [ROUNDS]]` prints the table of docs/described.md; ROUNDS before and after.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import evenhand as eh
from evenhand.core.records import Context
from evenhand.core.types import Floats, Ints
from evenhand.models.base import by_action
from evenhand.models.own_parts import OwnParts
from evenhand.policy.policy import Policy
from evenhand.problem.descriptions import Actions, crossed
from tests.tables import head, row

ROUNDS, WINDOW, TRAITS = 3000, 200, 4
NEVER = 10**9
SPREAD = 0.04  # of what is the own part of an action in its mean, and half of it by each trait
Features = tuple[eh.Numeric | eh.Categorical, ...]


class World(NamedTuple):
    """Actions with rows, of which the last comes late; true means are linear in the case times the profile, and own."""

    features: Features  # of actions
    rows: dict[str, dict[str, Any]]
    shared: Floats  # (1+d, 1+k) of the mean, by the profile of an action and the numbers of a case

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.rows)


def catalogue(size: int, features: Features, shared: Floats) -> World:
    """Draw rows at random; the last one is the best of 300 by the shared part, as who adds it expects."""
    rng = np.random.default_rng(size)
    drawn = {f"a{i}": {f.name: _drawn(f, rng) for f in features} for i in range(size + 300)}
    units = np.hstack([np.ones((500, 1)), rng.uniform(-1.0, 1.0, (500, TRAITS))])
    means = units @ (Actions(drawn, features).shared @ shared).T
    new = size + int((means[:, size:] - means[:, :size].max(1, keepdims=True)).clip(0.0).mean(0).argmax())
    return World(features, {f"a{i}": drawn[f"a{i}"] for i in (*range(size), new)}, shared)


def _drawn(feature: eh.Numeric | eh.Categorical, rng: np.random.Generator) -> float | str:
    if isinstance(feature, eh.Categorical):
        return str(rng.choice(feature.levels))
    return float(rng.uniform(feature.low, feature.high))


MODELS = catalogue(  # requests by difficulty, length, haste and code: large models do better what is difficult
    12,
    (eh.Numeric("size", 0, 2), eh.Numeric("seconds", 0, 2), eh.Categorical("code", ("no", "yes"))),
    np.array([
        [0.45, -0.10, 0.00, 0.00, 0.00], [0.20, 0.20, 0.00, 0.00, 0.00], [-0.20, 0.00, -0.15, -0.15, 0.00],
        [0.10, 0.00, 0.00, 0.00, 0.20],
    ]),
)  # fmt: skip
OFFERS = catalogue(  # customers by age, income, visits and region: discounts draw who earns less, kinds other ages
    16,
    (eh.Numeric("discount", 0, 40), eh.Categorical("kind", ("home", "travel", "sport"))),
    np.array([
        [0.35, 0.00, 0.00, 0.05, 0.00], [0.25, 0.00, -0.10, 0.00, 0.05], [0.10, 0.20, 0.10, 0.00, 0.00],
        [0.00, -0.20, 0.05, 0.00, 0.00],
    ]),
)  # fmt: skip
ARTICLES = catalogue(  # readers by their time and by how much they like three of four topics
    24,
    (eh.Numeric("words", 0, 2000), eh.Categorical("topic", ("world", "sports", "arts", "money"))),
    np.array([
        [0.40, 0.00, 0.00, 0.00, 0.00], [0.25, 0.10, 0.00, 0.00, 0.00], [0.00, 0.00, 0.15, 0.00, 0.00],
        [0.15, 0.00, 0.00, 0.15, 0.00], [0.00, 0.00, 0.00, 0.00, 0.15],
    ]),
)  # fmt: skip
WORLDS = {"models": MODELS, "offers": OFFERS, "articles": ARTICLES}


def problem(world: World, names: tuple[str, ...], described: bool, rounds: int) -> eh.Problem:
    """The problem of some of the actions."""
    table = Actions({name: world.rows[name] for name in names}, world.features)
    return eh.Problem(
        actions=names,
        outcomes=(eh.Outcome("good"),),
        features=tuple(eh.Numeric(f"x{i}", -1, 1) for i in range(TRAITS)),
        maximize="good",
        horizon=rounds,
        described=table if described else None,
    )


@dataclass(frozen=True, eq=False)
class Run:
    """Replicas of a world in lock step, whose luck does not depend on the policy."""

    world: World
    replicas: int
    rounds: int = ROUNDS  # before the last action comes, and after it
    harm: float = 0.0  # by which the last action is worse than its row says, in all cases

    def means(self, replica: int, cases: Floats) -> Floats:
        """True means, `(T,k)->(T,A)`."""
        rng = np.random.default_rng((17, replica))
        profiles = Actions(self.world.rows, self.world.features).shared
        theta = profiles @ self.world.shared
        theta[:, 0] += SPREAD * rng.standard_normal(len(theta))
        theta[:, 1:] += 0.5 * SPREAD * rng.standard_normal(theta[:, 1:].shape)
        theta[-1, 0] -= self.harm
        return np.clip(np.hstack([np.ones((len(cases), 1)), cases]) @ theta.T, 0.02, 0.98)

    def play(self, described: bool, apart: bool = False) -> tuple[Ints, Floats]:
        """The plays after the last action came, and all true means, `->(T,R),(T,R,A)`; `apart` as for `policy`."""
        rounds, names = 2 * self.rounds, self.world.names
        luck = [np.random.default_rng((18, r)) for r in range(self.replicas)]
        cases = np.array([rng.uniform(-1.0, 1.0, (rounds, TRAITS)) for rng in luck])
        means = np.array([self.means(r, z) for r, z in enumerate(cases)])
        u = np.array([rng.random((rounds, len(names))) for rng in luck])
        old, new = (policy(problem(self.world, z, described, rounds), apart) for z in (names[:-1], names))
        now, state, plays = old, old.start(replicas=self.replicas), []
        for t in range(rounds):
            if t == self.rounds:
                now, state = new, new.adopt(state, of=old)
            decision = now.act(state, context(now, cases[:, t]))
            chosen = decision.plays[:, 0]
            here = np.arange(self.replicas), t, chosen
            now.learn(state, decision, (u[here] < means[here]).astype(float)[:, None, None])
            plays.append(chosen)
        return np.array(plays[self.rounds :]), means[:, self.rounds :].transpose(1, 0, 2)


def policy(stated: eh.Problem, apart: bool) -> Policy:
    """The policy of a problem, with names alone, all covariances, or those of shared coefficients alone."""
    if stated.described is None:
        return eh.ucb(stated, eh.PerAction.of(stated))
    if apart:
        return eh.ucb(stated, OwnParts.of(stated.described, stated.n_features))
    return eh.ucb(stated, eh.BayesianRidge(n_features=stated.n_described))


def context(of: Policy, cases: Floats) -> Context:
    """The contexts of a case of each replica, `(R,k)->`."""
    stated = of.problem
    units, actions = np.hstack([np.ones((len(cases), 1)), cases]), len(stated.actions)
    if stated.described is not None and by_action(of.model) is None:
        x = crossed(stated.described.profiles, units)
    else:
        x = np.empty((len(cases), actions, 1 + units.shape[1]))
        x[:, :, 0], x[:, :, 1:] = np.arange(actions), units[:, None]
    none = np.zeros((1, actions, 0))
    return Context(x, none, np.zeros((len(cases), 1, 0), np.int64), np.ones((1, actions), bool))


def windows(z: Floats) -> Floats:
    """Sums over the replicas and the next cases of each, `(T,R)->(T)`."""
    total = np.concatenate([[0.0], z.sum(1).cumsum()])
    return total[WINDOW:] - total[:-WINDOW]


def first(holds: np.ndarray[Any, np.dtype[np.bool_]]) -> int:
    """The cases after which something holds over the next `WINDOW` of them; `NEVER` if it never does."""
    return int(holds.argmax()) if holds.any() else NEVER


def until_worth(plays: Ints, means: Floats) -> int:
    """Cases until the last action brings 90 % of its worth: what it adds to the best of the others in each case."""
    added = means[..., -1] - means[..., :-1].max(2)
    last = means.shape[2] - 1
    return first(windows(added * (plays == last)) >= 0.9 * windows(np.maximum(added, 0.0)))


def until_dropped(plays: Ints, means: Floats) -> int:
    """Cases until the last action is played in at most 5 % of cases."""
    return first(windows((plays == means.shape[2] - 1).astype(float)) <= 0.05 * WINDOW * plays.shape[1])


def main(replicas: int = 40, rounds: int = ROUNDS) -> None:
    head("world", "new action, by names alone", "described", "worse than described, by names alone", "described")
    for name, world in WORLDS.items():
        found = []
        for harm, until in ((0.0, until_worth), (0.4, until_dropped)):
            run = Run(world, replicas, rounds, harm)
            found += [until(*run.play(described)) for described in (False, True)]
        row(name, *(f"> {rounds:,}" if cases == NEVER else f"{cases:,}" for cases in found))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
