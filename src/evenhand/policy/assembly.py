"""The assembly of a policy from its parts, checks that the parts fit each other, and the state that it starts with."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from evenhand.choices.base import Choice
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Ints
from evenhand.goals.base import Goal
from evenhand.models.base import Model
from evenhand.policy import books
from evenhand.policy.books import ByPeriod
from evenhand.policy.cases import Encoder
from evenhand.policy.delay import Delay
from evenhand.policy.loop import Loop
from evenhand.policy.marks import Payable, Zeros
from evenhand.policy.questions import Abilities, Questions, abilities
from evenhand.policy.saving import flatten
from evenhand.policy.settlement import Settlement
from evenhand.policy.shares import Restating
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem

MANY = 10_000  # replicas, from which on their memory is reckoned up before they start


class Assembly(NamedTuple):
    """The workings of one policy."""

    can: Abilities
    encoder: Encoder
    questions: Questions
    payable: Payable
    zeros: Zeros
    delay: Delay
    restating: Restating
    settlement: Settlement
    loop: Loop


def assemble(problem: Problem, model: Model, goals: tuple[Goal, ...], choice: Choice) -> Assembly:
    """Assemble the workings of a policy from its parts."""
    can = abilities(problem, goals, choice)
    payable, delay = Payable(problem), Delay(model, problem.n_plays)
    questions = Questions(problem, model, can, delay)
    restating, zeros = Restating(problem, can.restating), Zeros(problem.free[:, : len(problem.learned)])
    settlement = Settlement(problem, model, can, restating, payable, zeros, ByPeriod(problem), delay)
    loop = Loop(problem, model, choice, can, questions, restating, settlement, payable, delay)
    encoder = Encoder(problem=problem, model=model)
    return Assembly(can, encoder, questions, payable, zeros, delay, restating, settlement, loop)


def refuse_misfits(problem: Problem, model: Model, goals: tuple[Goal, ...], choice: Choice, can: Abilities) -> None:
    """Refuse parts made for other outcomes or plays, or that no choice can follow; see `Policy`."""
    if model.n_outcomes != len(problem.learned):
        mend = f"give it n_outcomes={len(problem.learned)}, or leave the model out"
        raise InvalidInput("model", f"one of {problem.learned}", f"one of {model.n_outcomes} outcomes: {mend}")
    if choice.n_plays != problem.n_plays:
        expected = f"one that plays {problem.n_plays} candidates, as problem.n_plays says"
        raise InvalidInput("choice", expected, f"{type(choice).__name__}, which plays {choice.n_plays}")
    for _, planner in can.planning:
        if planner.one_play and choice.n_plays > 1:
            expected = f"one that plays one candidate, as {type(planner).__name__} plans for one"
            raise InvalidInput("choice", expected, choice)
    if not can.priced:
        raise InvalidInput("goals", "at least one that prices outcomes", goals)
    if model.draws(1) and not choice.reads_bonus:
        expected = f"one that reads bonuses, as {type(model).__name__} explores by drawing them"
        raise InvalidInput("choice", expected, type(choice).__name__)


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
