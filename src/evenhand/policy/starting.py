"""The state of a policy before its first round."""

from __future__ import annotations

import os

import numpy as np

from evenhand.choices.base import Choice
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Ints
from evenhand.goals.base import Goal
from evenhand.models.base import Model
from evenhand.policy import books
from evenhand.policy.assembly import Assembly
from evenhand.policy.by_period import ByPeriod
from evenhand.policy.saving import flatten
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem

MANY = 10_000  # replicas, from which on their memory is reckoned up before they start


def fresh(
    problem: Problem, model: Model, goals: tuple[Goal, ...], choice: Choice, assembly: Assembly, seed: int, ids: Ints
) -> PolicyState:
    """Return a state before any round, of the replicas with these numbers."""
    count = len(ids)
    state = PolicyState(
        seed=seed,
        replicas=ids,
        t=np.zeros(count),
        seen=np.zeros((count, len(problem.columns))),
        inside=assembly.restating.start(count),
        books=books.start(problem, count),
        model=model.start(count, problem.low, problem.high, problem.horizon),
        goals=[goal.start(count) for goal in goals],
        choice=choice.start(count),
        periods=ByPeriod(problem).start(count),
    )
    assembly.payable.begin(state)
    assembly.delay.begin(state)
    return state


def refuse_too_many(one: PolicyState, replicas: int) -> None:
    """Refuse more replicas than fit into the memory of this machine, estimated from the state of one."""
    pages = {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} & set(getattr(os, "sysconf_names", ()))
    if len(pages) == 2:  # known on most systems
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (2 * sum(z.nbytes for _, z in flatten(one)))
        if replicas > most:
            raise InvalidInput("replicas", f"at most about {most:,}, given the memory of this machine", f"{replicas:,}")
