"""Teaching a model from plays that others made, such as those of a log."""

from __future__ import annotations

import numpy as np

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.validate import as_weight
from evenhand.models.base import ROUND, weighs
from evenhand.policy import checks, entries, named
from evenhand.policy.questions import Questions
from evenhand.policy.state import PolicyState
from evenhand.policy.wrong_outcome import wrong_lesson
from evenhand.policy.zeros import Zeros


def teach(
    ask: Questions,
    zeros: Zeros,
    state: PolicyState,
    context: Context,
    action: str,
    outcomes: named.Named,
    weight: float,
) -> None:
    """Teach the model the play of an action; see `Policy.teach`."""
    problem, model = ask.problem, ask.model
    if action not in problem.actions:
        raise InvalidInput("action", f"one of {problem.actions}", shown(action))
    as_weight("weight", weight)
    y, observed, _ = named.outcomes(problem, 1, outcomes)
    context, place = checks.context(context, len(state.t), model.n_features, problem), problem.actions.index(action)
    wrong = wrong_lesson(y[0, 0], observed[0, 0], place, problem)
    if wrong is not None:
        raise wrong
    w, *_ = ask.prices(state, context, ask.believed(state, context))
    play, learned = np.array([[place]]), len(problem.learned)
    prices = w if w.shape[2] == 1 else entries.take_prices(w, play)
    x = np.ascontiguousarray(context.features[:, place : place + 1])
    seen = np.ascontiguousarray(observed[:, :, :learned])
    if weight != 1.0 and not weighs(model):
        expected = "a model that weighs what it learns, such as BayesianRidge or BayesianLogistic, for a weight but 1"
        raise InvalidInput("model", expected, shown(model))
    zeros.tell(state.model, play, seen, weight)
    lesson = ROUND._replace(weight=float(weight), taught=True)
    model.update(state.model, x, np.where(seen, y[:, :, :learned], 0.0), seen, prices, lesson)
