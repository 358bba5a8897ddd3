"""Holdouts and floors in a shop by day: shares of the optimum, rounds below a floor, and a rule's value by the log.

`python -m tests.holdouts [SEED ...]` prints the table of docs/holdout.md.
"""

import argparse
import math
from typing import Any, NamedTuple

import numpy as np

import evenhand as eh
from evenhand.core.records import Context
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models import BayesianRidge
from evenhand.planning.program import Sample, solve
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from tests.day_worlds import OFFERS, Days
from tests.tables import decimal, head, row

T, REPLICAS, FLOOR = 3000, 12, 0.02
RULE = OFFERS.index("large")  # "always offer large"
POLICIES: dict[str, dict[str, Any]] = {
    "neither": {},
    "holdout=0.08": {"holdout": 0.08},
    "explore=0.02": {"explore": 0.02},
    "holdout=0.04, explore=0.01": {"holdout": 0.04, "explore": 0.01},
}


class Noon(Days):
    """The shop without a clock: all customers come by day, and contexts have no time."""

    def context(self, step: int) -> Context:
        return super().context(step)._replace(time=None)


def shop(rounds: int = T, rate: float = 0.12) -> Noon:
    budget = eh.Budget("money", total=rate * rounds)
    return Noon(times=np.full(rounds, 0.5), subject_to=(budget,), horizon=rounds)


def policy(world: Noon, **options: Any) -> Policy:
    return eh.resolving(world.problem, BayesianRidge(n_features=9, n_outcomes=2), **options)


class Log(NamedTuple):
    """A run, with the round first."""

    chances: Floats  # (T, R, A)
    plays: Ints  # (T, R)
    propensities: Floats  # (T, R)
    forced: Bools  # (T, R)
    y: Floats  # (T, R, M)
    mean: Floats  # (T, R, A, M) true means
    state: PolicyState

    @property
    def gained(self) -> Floats:
        """Sums of true means of the sales, `->(R)`."""
        return np.asarray(np.take_along_axis(self.mean[..., 0], self.plays[:, :, None], 2).sum((0, 2)))

    @property
    def error(self) -> Floats:
        """By how much the log errs on the value of the rule, by inverse propensities, `->(R)`."""
        weighted = np.where(self.plays == RULE, self.y[:, :, 0] / self.propensities, 0.0)
        return np.asarray(weighted.mean(0) - self.mean[:, :, RULE, 0].mean(0))


def log(policy: Policy, world: Noon, replicas: int = REPLICAS, seed: int = 0) -> Log:
    """Run a policy, and keep everything."""
    state = policy.start(seed=seed, replicas=replicas)
    w, found = world.start(seed, state.replicas), []
    for step in range(world.steps):
        context = w.context(step)
        decision = policy.decide(state, context)
        chances = state.recent.chances.copy()
        taken, (arrival,) = w.respond(step, context, decision)
        policy.commit(state, context, taken)
        policy.learn(state, arrival.decision, arrival.y)
        plays = taken.plays[:, 0], taken.propensities[:, 0], taken.forced == 1.0
        found.append((chances, *plays, arrival.y[:, 0], w.means(context)))
    return Log(*(np.array(z) for z in zip(*found, strict=True)), state)


def best(mean: Floats, total: float) -> float:
    """The most sales within a total in stated cases, `(T,A,M)->`; `eh.opt` has it of the cases of a run."""
    steps, actions = mean.shape[:2]
    sample = Sample(mean[:, :, 0], mean[:, :, 1:2], np.ones((steps, actions)))
    return steps * solve(sample, np.array([total / steps])).value


def optima(world: Noon, seeds: list[int], explore: float = 0.0, replicas: int = REPLICAS) -> Floats:
    """Sums of sales of the best policies, in the cases of the runs, with every chance at least so high."""
    ran = {"contexts": world.steps, "replicas": replicas, "explore": explore, "progress": False}
    return world.steps * np.concatenate([eh.opt(world, seed=seed, **ran).values for seed in seeds])


def said(x: Floats) -> str:
    """A mean and its standard error."""
    return f"{decimal(x.mean(), 4)} ({decimal(x.std(ddof=1) / math.sqrt(len(x)), 4)})"


def main(seeds: list[int], rounds: int) -> None:
    """Print a line per policy."""
    world = shop(rounds)
    total = world.problem.subject_to[0].total_over(rounds)
    head("", "of the optimum", "of the one with floors", "its worst replica", "rounds below", "error by the log")
    for name, options in POLICIES.items():
        made, logs = policy(world, **options), []
        logs = [log(made, world, seed=seed) for seed in seeds]
        top, kept = (optima(world, seeds, explore) for explore in (0.0, FLOOR))
        gained = np.concatenate([run.gained for run in logs])
        below = np.mean([(run.chances.min(2) < FLOOR - 1e-12).mean() for run in logs])
        error = np.concatenate([run.error for run in logs])
        assert all((run.y[:, :, 1].sum(0) <= total + 1e-9).all() for run in logs)
        of, floored = gained / top, gained / kept
        shares = said(of), decimal(floored.mean(), 4), decimal(floored.min(), 4)
        row(f"`{name}`" if options else name, *shares, f"{100 * below:.2f} %", said(error))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--rounds", type=int, default=T)
    main(**vars(parser.parse_args()))
