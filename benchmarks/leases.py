"""What eight regions lose against one campaign: with a part of each budget for good, or with leases from a pool.

    python -m benchmarks.leases [ROUNDS [REPLICAS]]

Each region decides on the court for itself and learns alone. In the second world an outcome in half of the regions is
worth 0.3 of one in the others, which one campaign for all of them is not told.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.environments import Court
from evenhand.live.fold.lease import Lease
from evenhand.live.leases.ledger import Ledger, Report
from evenhand.live.leases.settlement import later
from evenhand.models import BayesianLogistic
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.problem import Problem
from evenhand.problem.constraints import Budget
from evenhand.recipes import resolving
from evenhand.report.summary import standard_error
from tests.tables import head, row

REGIONS = 8
EVERY = 50  # rounds of a region from one settlement to the next
WAYS = {"one": "one campaign", "parts": "a fixed eighth of each", "leases": "leases"}
WORLDS = {"alike": (1.0,) * 8, "worth less in half of them": (1.0,) * 4 + (0.3,) * 4}


def policy_of(problem: Problem, horizon: int, totals: dict[str, float]) -> Policy:
    """The recipe on the court with other totals."""
    own = [replace(c, total=totals[c.outcome], rate=None) if isinstance(c, Budget) else c for c in problem.subject_to]
    return resolving(replace(problem, horizon=horizon, subject_to=tuple(own)), BayesianLogistic(n_features=5))


@dataclass
class Region:
    """A campaign without a log."""

    problem: Problem
    horizon: int
    totals: dict[str, float]
    seed: int
    lease: Lease | None = None
    moves: int = 0
    policy: Policy = field(init=False)
    state: PolicyState = field(init=False)

    def __post_init__(self) -> None:
        self.policy = policy_of(self.problem, self.horizon, self.totals)
        self.state = self.policy.start(seed=self.seed)

    @property
    def rounds(self) -> int:
        return int(self.state.t[0])

    @property
    def left(self) -> dict[str, float]:
        return {name: z.left for name, z in self.policy.status(self.state).accounts.items()}

    def report(self) -> Report:
        assert self.lease is not None
        used = {name: z.total - z.left for name, z in self.policy.status(self.state).accounts.items()}
        left = self.horizon - self.rounds
        return Report(seq=self.rounds, lease=self.lease, used=used, rounds=self.rounds, left=left, horizon=self.horizon)

    def settle(self, name: str, ledger: Ledger) -> Ledger:
        """Settle twice, as a return is collected at the second time."""
        for _ in range(2):
            report = self.report()
            ledger = ledger.with_line(name, ledger.settle(name, report))
            lease = later(name, report, ledger)
            if lease != self.lease:
                policy = policy_of(self.problem, self.horizon, lease.totals)
                self.state = policy.adopt(self.state, of=self.policy)
                self.policy, self.lease, self.moves = policy, lease, self.moves + 1
        return ledger


def run(rounds: int, seed: int, mode: str, worth: tuple[float, ...]) -> tuple[float, float, float]:
    """The reward per round, the part of budgets that is left, and the changes of leases per region."""
    court = Court(tolerance=0.025, horizon=rounds)
    world, problem = court.start(seed, np.arange(1)), court.problem
    totals = {c.outcome: c.total_over(rounds) for c in problem.subject_to if isinstance(c, Budget)}
    luck, count = np.random.default_rng(seed + 1), 1 if mode == "one" else REGIONS
    route = luck.permutation(np.repeat(np.arange(REGIONS), rounds // REGIONS))
    counts = luck.random(rounds) < np.array(worth)[route]
    ledger = Ledger(name="all", id="a0", totals=totals, rounds=rounds)
    regions = []
    for k in range(count):
        lease = ledger.lease(str(k)) if mode == "leases" else None
        own = {name: total / count for name, total in totals.items()} if lease is None else lease.totals
        regions.append(Region(problem, rounds // count, own, seed * 100 + k, lease))
    for k, region in enumerate(regions if mode == "leases" else ()):
        ledger = region.settle(str(k), ledger)
    reward = 0.0
    for step, k in enumerate(route.tolist()):
        region, context = regions[k % count], world.context(step)
        decision = region.policy.decide(region.state, context)
        taken, arrivals = world.respond(step, context, decision)
        region.policy.commit(region.state, context, taken)
        for arrival in arrivals:
            y = arrival.y.copy()
            y[..., 0] *= counts[step]  # what is maximised
            region.policy.learn(region.state, arrival.decision, y)
        reward += float(world.expected(context, decision.plays).ravel()[0]) * worth[k]
        if mode == "leases" and region.rounds % EVERY == 0:
            ledger = region.settle(str(k), ledger)
    free = [ledger.free(name) if mode == "leases" else 0.0 for name in totals]
    rest = [sum(z.left[name] for z in regions) + f for name, f in zip(totals, free, strict=True)]
    return reward / rounds, max(np.array(rest) / list(totals.values())), sum(z.moves for z in regions) / count


def main(rounds: int = 20_000, replicas: int = 3) -> None:
    """Print a row per world and way."""
    head(
        "regions", "budgets", "reward per round", "standard error", "left of the budget with most", "changes of a lease"
    )
    for name, worth in WORLDS.items():
        for mode, words in WAYS.items():
            found = np.array([run(rounds, 7 + i, mode, worth) for i in range(replicas)])
            reward, left, moves = found.mean(0)
            error = float(standard_error(found[:, 0]))
            row(name, words, f"{reward:.4f}", f"{error:.4f}", f"{left:.1%}", f"{moves:.0f}" if mode == "leases" else "")


if __name__ == "__main__":
    main(*(int(z) for z in sys.argv[1:]))
