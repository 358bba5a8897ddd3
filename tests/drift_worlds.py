"""A shop whose customers change, and shares of what an oracle that knows all changes would sell.

`python -m tests.drift_worlds` prints the first table of docs/drift.md, without a budget, and
`... budget` the others, under one; names of worlds, a number of replicas and one of cases may follow.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import evenhand as eh
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.environments import Arrival
from evenhand.environments._cases import blocks, no_groups
from evenhand.models import BayesianRidge, Memories, Restarting
from evenhand.run.simulation import play
from tests.day_worlds import _program
from tests.sales import bought
from tests.tables import head, mean, row

# By offer and outcome (sale, dollars): the mean for a customer, of a constant and two traits in [0, 1].
EFFECTS = np.array(
    [[[0.10, 0.80, 0.00], [0.20, 0.10, 0.00]], [[0.10, 0.00, 0.80], [0.20, 0.00, 0.10]], [[0.30, 0, 0], [0.10, 0, 0]]]
)
ROTATED = EFFECTS.copy()
ROTATED[:2, 0] = EFFECTS[[1, 0], 0]  # customers change places, costs stay
BETTER = EFFECTS.copy()
BETTER[2, 0] = 0.85, 0.0, 0.0  # the third offer, which is seldom made, becomes the best

WORLDS = {  # what effects are at a part of the horizon
    "nothing drifts": lambda part: EFFECTS,
    "abrupt, twice": lambda part: EFFECTS if int(3 * part) % 2 == 0 else ROTATED,
    "slow": lambda part: EFFECTS + (ROTATED - EFFECTS) * part,
    "seasons of T/2": lambda part: EFFECTS + (ROTATED - EFFECTS) * 0.5 * (1.0 - np.cos(4.0 * np.pi * part)),
    "an idle offer improves": lambda part: EFFECTS if part < 0.5 else BETTER,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Drifting:
    """Three offers, of which the best for a customer depends on two traits, and on the time."""

    effects: Callable = WORLDS["nothing drifts"]
    rate: float | None = None  # of dollars per round, which are then a hard budget
    horizon: int = 8000
    luck: Luck | None = None

    counts_idle_steps = True
    n_features = 9

    @property
    def problem(self):
        return eh.Problem(
            actions=("nothing", "offer 1", "offer 2", "offer 3"),
            outcomes=(eh.Outcome("sale", free=("nothing",)), eh.Outcome("dollars", free=("nothing",))),
            maximize="sale",
            subject_to=() if self.rate is None else (eh.Budget("dollars", total=self.rate * self.horizon),),
            horizon=self.horizon,
        )

    @property
    def steps(self):
        return self.horizon

    def start(self, seed, replicas):
        return replace(self, luck=Luck(seed=seed, replicas=replicas))

    def context(self, step):
        x = blocks(self.luck.uniform(Stream.CONTEXT, np.array([step]), 2), 3)
        return Context(x, np.zeros((1, 4, 0)), no_groups(self.luck.replicas), OFFERED)

    def means(self, step, context):
        """Means of every candidate, `->(A,M)`."""
        x = context.features.reshape(-1, 4, 3, 3)
        return np.einsum("rakn,kmn->ram", x, self.effects(step / self.horizon))

    def expected_at(self, step, context, plays):
        mean = np.take_along_axis(self.means(step, context), np.maximum(plays, 0)[:, :, None], 1)
        return np.where(plays[:, :, None] >= 0, mean, 0.0)

    def respond(self, step, context, decision):
        mean = self.expected_at(step, context, decision.plays)
        return decision, [Arrival(step, decision, bought(self.luck, step, mean))]

    def best(self, replicas, seed=0):
        """The most sales that are possible with all means and cases known, `->()`."""
        world = self.start(seed, np.arange(replicas))
        mean = np.stack([world.means(t, world.context(t)) for t in range(self.horizon)], 1)
        if self.rate is None:
            return mean[:, :, :, 0].max(2).sum(1)
        spans = eh.Budget("dollars", total=self.rate * self.horizon, per=self.horizon).spans(self.problem)
        return np.array([_program(z, np.zeros(self.horizon, int), spans) for z in mean])


OFFERED = np.ones((1, 4), bool)


def share(world, model, replicas, seed=0, best=None):
    """Shares of the oracle's sales, of the budget that was used, and the state after a run, `->(),()`."""
    policy = eh.resolving(world.problem, model)
    state = policy.start(seed=seed, replicas=replicas)
    run, total = world.start(seed, state.replicas), np.zeros((replicas, 2))
    used = np.zeros(replicas)
    for step, context, _, taken, arrivals in play(policy, state, run, range(world.horizon)):
        total += run.expected_at(step, context, taken.plays).sum(1)
        used += sum(arrival.y[:, :, 1].sum(1) for arrival in arrivals)
    best = world.best(replicas, seed) if best is None else best
    return total[:, 0] / best, used / world.horizon, state


def models():
    inner = BayesianRidge(n_features=9, n_outcomes=2)
    return {
        "forgets nothing": inner,
        "one half-life of 1,500": Memories(inner=inner, half_lives=(1500,), keeps_all=False),
        "`Memories`": Memories(inner=inner),
        "`Restarting`": Restarting(inner=inner),
        "`Restarting(Memories)`": Restarting(inner=Memories(inner=inner)),
    }


def main(rate, replicas=6, horizon=8000, names=None):
    head("no budget" if rate is None else "hard budget", *models())
    differences = []
    for name in names or WORLDS:
        world = Drifting(effects=WORLDS[name], rate=rate, horizon=horizon)
        best, cells, shares = world.best(replicas), [], []
        for model in models().values():
            got, used, state = share(world, model, replicas, best=best)
            assert rate is None or used.max() <= rate + 1e-9
            began = getattr(state.model, "restarts", None)
            shares.append(got)
            cells.append(mean(got, 4) + ("" if began is None else f"; {began.mean():.1f}"))
        row(name, *cells)
        differences.append([name, *(mean(100.0 * (z / shares[0] - 1.0), 2) for z in shares[1:])])
    print()
    head("against forgetting nothing, %", *list(models())[1:])
    for cells in differences:
        row(*cells)


if __name__ == "__main__":
    sizes = dict(zip(("replicas", "horizon"), (int(a) for a in sys.argv[1:] if a.isdigit()), strict=False))
    main(0.12 if "budget" in sys.argv else None, names=[a for a in sys.argv[1:] if a in WORLDS], **sizes)
