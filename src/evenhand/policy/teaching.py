"""Teaching a model from plays that others made, such as those of a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.registry import meant
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import as_weight
from evenhand.models.base import ROUND, Model, weighs
from evenhand.policy import checks, entries, named
from evenhand.policy.assembly import Assembly
from evenhand.policy.encode import Table, rows_of
from evenhand.policy.fields import StatedCase, value_of
from evenhand.policy.questions import Questions
from evenhand.policy.state import PolicyState
from evenhand.policy.wrong_outcome import wrong_lesson
from evenhand.policy.zeros import Zeros


class _Lesson(NamedTuple):
    """A play that others made."""

    context: Context
    place: int  # of the action
    y: Floats  # (1, 1, M+B)
    observed: Bools  # (1, 1, M+B)


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
    lesson = _checked(ask, context, len(state.t), action, outcomes)
    refuse_weight(ask.model, weight)
    _take(ask, zeros, state, lesson, weight)


def learn_from(parts: Assembly, state: PolicyState, frame: Table, weight: float, action: str) -> None:
    """Teach the model all rows of a data frame, or none of them if any row is invalid; see `Policy.learn_from`."""
    ask, encoder = parts.questions, parts.encoder
    problem = ask.problem
    refuse_weight(ask.model, weight)
    if len(state.t) != 1:
        raise InvalidInput("state", "one replica", f"{len(state.t)}")
    names = (*encoder.names, action, *problem.observed)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        expected = "columns of different names for the case, the action and the outcomes"
        raise InvalidInput("frame", expected, f"{twice[0]!r} for two of them")
    lessons = []
    for i, row in enumerate(rows_of(frame, names)):
        try:
            if not isinstance(row, Mapping):
                raise InvalidInput("a row", f"a mapping from {list(names)} to values", shown(row))
            context = encoder.entered(StatedCase({name: value_of(row, name) for name in encoder.names}))
            outcomes = {name: _seen(value_of(row, name)) for name in problem.observed}
            lessons.append(_checked(ask, context, 1, value_of(row, action), outcomes))
        except InvalidInput as error:
            raise error.at(f"row {i}") from None
    for lesson in lessons:
        _take(ask, parts.zeros, state, lesson, weight)


def _seen(value: object) -> float | None:
    """Return an outcome of a data frame, None if it has no number there, as it was not observed."""
    same = value == value  # neither NaN is, nor what pandas has in place of a value
    missing = value is None or (np.ndim(same) == 0 and not (isinstance(same, bool | np.bool_) and same))
    return None if missing else value  # type: ignore[return-value]  # `named.outcomes` checks it


def refuse_weight(model: Model, weight: float) -> None:
    """Refuse an invalid weight, or one that a model does not use."""
    as_weight("weight", weight)
    if weight != 1.0 and not weighs(model):
        expected = (
            "a model that weighs what it learns, such as BayesianRidge or BayesianLogistic, for a weight other than 1"
        )
        raise InvalidInput("model", expected, shown(model))


def _checked(ask: Questions, context: Context, n_replicas: int, action: object, outcomes: named.Named) -> _Lesson:
    problem, model = ask.problem, ask.model
    if not isinstance(action, str) or action not in problem.actions:
        raise InvalidInput(
            "action", f"one of {problem.actions}", f"{shown(action)}{meant(str(action), problem.actions)}"
        )
    y, observed, _ = named.outcomes(problem, 1, outcomes)
    if context.time is None and problem.until is not None:  # models do not read it, and a log is older than the start
        context = context._replace(time=np.zeros(1))
    context, place = checks.context(context, n_replicas, model.n_features, problem), problem.actions.index(action)
    wrong = wrong_lesson(y[0, 0], observed[0, 0], place, problem)
    if wrong is not None:
        raise wrong
    return _Lesson(context, place, y, observed)


def _take(ask: Questions, zeros: Zeros, state: PolicyState, lesson: _Lesson, weight: float) -> None:
    """Let the model learn a play that was checked."""
    model, context, place = ask.model, lesson.context, lesson.place
    w, *_ = ask.prices(state, context, ask.believed(state, context))
    play, learned = np.array([[place]]), len(ask.problem.learned)
    prices = w if w.shape[2] == 1 else entries.take_prices(w, play)
    x = np.ascontiguousarray(context.features[:, place : place + 1])
    seen = np.ascontiguousarray(lesson.observed[:, :, :learned])
    zeros.tell(state.model, play, seen, weight)
    told = ROUND._replace(weight=float(weight), taught=True)
    model.update(state.model, x, np.where(seen, lesson.y[:, :, :learned], 0.0), seen, prices, told)
