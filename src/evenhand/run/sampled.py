"""Samples of an environment: contexts of one replica, with the truth about every candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.environments.base import Environment
from evenhand.policy.entries import believe
from evenhand.problem.rows import Cases, Rows
from evenhand.problem.withdrawn import present


class Sampled(NamedTuple):
    """Contexts of one replica and their truth."""

    cases: Cases
    offered: Floats  # (S, A)
    truth: Floats  # (S, A, M)
    shares: Floats  # (1, C) of groups: declared, or their frequencies where not declared
    frequencies: Floats  # (C,) of groups in the sample
    time: Floats  # (S,) by the clock of the problem; the number of the round where cases have none


def sampled(environment: Environment, contexts: int, seed: int, replica: int) -> Sampled:
    """Draw the first contexts of a replica, up to the end of the run.

    Raises:
        InvalidInput: the environment has no truth, or no case comes before the end of the run.
    """
    problem = environment.problem
    world = environment.start(seed, np.array([replica]))
    known, groups, offered, truths, times, rounds = [], [], [], [], [], 0.0
    came, may = np.zeros((1, len(problem.columns))), present(problem)
    for step in range(contexts):
        context = world.context(step)
        time = rounds if context.time is None else float(context.time[0])
        if problem.until is not None and time >= problem.clock.last:
            continue
        truth = world.expected(context, np.arange(context.features.shape[1])[None])
        if truth is None:
            expected = "one with a known truth, which its world states in a method `expected`"
            raise InvalidInput("environment", expected, f"{type(environment).__name__} without it")
        here = context.offered if may is None else context.offered & may
        believe(context.groups, context.offered, np.ones(1), came)
        times.append(time)
        rounds += float(here.any())  # a round in which nothing is offered is none
        known.append(context.known)
        groups.append(context.groups)
        offered.append(here)
        truths.append(truth[:, :, : len(problem.learned)])  # the means of noisy outcomes are known
    if not known:
        raise InvalidInput("environment", f"a case before {problem.until}, the end of the run", "none")
    cases = Cases(np.concatenate(known), np.concatenate(groups))
    came = came[0] / len(known)
    shares = np.where(np.isnan(problem.shares), came, problem.shares)[None]
    return Sampled(cases, np.concatenate(offered).astype(float), np.concatenate(truths), shares, came, np.array(times))


def expected_rows(rows: Rows, frame: Cases, shares: Floats, truth: Floats) -> Floats:
    """Compute the expected rows of every candidate, `(A,M)->(A,d)`."""
    prices, offset = rows.pull(frame, shares, np.tile(np.eye(len(rows)), (len(truth), 1, 1)))
    return np.swapaxes((prices * truth[:, None]).sum(3) + offset, 1, 2)
