"""The assembly of a policy from its parts, and checks that the parts fit each other."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.choices.base import Choice
from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Goal
from evenhand.models.base import Model
from evenhand.policy.abilities import Abilities, abilities
from evenhand.policy.by_period import ByPeriod
from evenhand.policy.delay import Delay
from evenhand.policy.encode import Encoder
from evenhand.policy.loop import Loop
from evenhand.policy.payable import Payable
from evenhand.policy.questions import Questions
from evenhand.policy.restating import Restating
from evenhand.policy.settlement import Settlement
from evenhand.policy.zeros import Zeros
from evenhand.problem.problem import Problem


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
