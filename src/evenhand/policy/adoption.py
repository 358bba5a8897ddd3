"""Adoption of the state of another policy of the same parts, and lessons from plays that others made."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from evenhand.choices.base import Choice
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.registry import suggestion
from evenhand.core.signatures import value_text
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import as_weight
from evenhand.goals.base import Compares, Goal, Learns, Remembers, Replans
from evenhand.models.base import ROUND, Model, by_action, weighs
from evenhand.models.per_action import narrow, resize, take_over
from evenhand.planning.growth import Appended
from evenhand.policy import checks, entries, outcome_names, saving
from evenhand.policy.cases import StatedCase, Table, profiles_of, rows_of, value_of
from evenhand.policy.loop import Assembly
from evenhand.policy.marked_arrays import Zeros
from evenhand.policy.outcome_names import wrong_lesson
from evenhand.policy.queries import Questions
from evenhand.policy.state import PolicyState
from evenhand.problem.actions import refuse_other_actions, refuse_other_amounts, refuse_other_meanings, refuse_return
from evenhand.problem.constraints import Credit
from evenhand.problem.descriptions import refuse_other_descriptions
from evenhand.problem.problem import Problem

_SAME = ("columns", "n_plays", "since")


class PolicyInterface(Protocol):
    """A policy."""

    @property
    def problem(self) -> Problem: ...

    @property
    def model(self) -> Model: ...

    @property
    def goals(self) -> tuple[Goal, ...]: ...


def appends(new: PolicyInterface, old: PolicyInterface) -> bool:
    """Return whether a policy has more actions than another one."""
    return len(new.problem.actions) > len(old.problem.actions)


def refuse_other_models(new: PolicyInterface, old: PolicyInterface) -> None:
    """Refuse a model that does not fit a state, or whose actions are not the state's followed by appended ones."""
    model = new.model
    if appends(new, old):
        model = resize(model, len(old.problem.actions))
        if widens(new, old):
            model = narrow(model, old.model.n_features)
    if saving.fingerprint(old.model) != saving.fingerprint(model):
        expected = f"{old.model!r}, of which the state is"
        raise InvalidInput("adopt: model", expected + ", for more actions" * appends(new, old), repr(new.model))


def carries(new: PolicyInterface, old: PolicyInterface) -> bool:
    """Return whether decisions that wait have the features that the model of an adopted state reads."""
    return new.model.n_features == old.model.n_features


def widens(new: PolicyInterface, old: PolicyInterface) -> bool:
    """Return whether appended actions have features of their own, such as a block each, which others have as 0."""
    more = appends(new, old) and new.model.n_features > old.model.n_features
    return more and resize(new.model, len(old.problem.actions)).n_features > old.model.n_features


def refuse_waiting(new: PolicyInterface, old: PolicyInterface, state: PolicyState) -> None:
    """Refuse an appended action if features of waiting decisions cannot be read by a model of more actions."""
    waiting = state.receipts.waiting()
    if not carries(new, old) and not widens(new, old) and len(waiting):
        expected = "no decision that waits for its outcome, as the model has a feature per action"
        raise InvalidInput("adopt: state", expected, f"{len(waiting)} of them")


def grow(new: PolicyInterface, old: PolicyInterface, fresh: PolicyState, state: PolicyState) -> None:
    """Copy the model from a state of fewer actions, and append the new actions to the contexts that goals keep."""
    features = old.model.n_features if widens(new, old) else None
    take_over(fresh.model, copy.deepcopy(state.model), len(state.t), features)
    for sums, of_fewer in zip(fresh.waiting.sums, state.waiting.sums, strict=True):
        take_over(sums, of_fewer, len(state.t))
    if features is not None:
        more, here = new.model.n_features - features, copy.deepcopy(state.waiting)
        here.sums, here.features = fresh.waiting.sums, np.pad(here.features, ((0, 0), (0, 0), (0, more)))
        fresh.waiting = here
    before, problem = len(old.problem.actions), new.problem
    appended = Appended(
        before=before,
        numbered=by_action(new.model) is not None,
        blocks=new.model.n_features != old.model.n_features,
        profiles=profiles_of(problem, new.model),
        reads=new.model.n_features > 0,
        known=problem.declared[before:],
        divided=problem.by_action if problem.groups else np.zeros(0, bool),
        groups=problem.action_groups[before:],
    )
    for goal, sums in zip(new.goals, fresh.goals, strict=True):
        if isinstance(goal, Remembers):
            goal.append(sums, appended)


class Parts(Protocol):
    """A policy."""

    @property
    def problem(self) -> Problem: ...

    @property
    def model(self) -> Model: ...

    @property
    def goals(self) -> tuple[Goal, ...]: ...

    @property
    def choice(self) -> Choice: ...

    def start(self, *, seed: int, replicas: int | Sequence[int]) -> PolicyState: ...


def adopt(new: Parts, old: Parts, state: PolicyState) -> PolicyState:
    """Return a state of a policy with the sums, the model, the contexts and the receipts of another one's state.

    Settings such as totals are those of the new policy, and plans are made anew at the next commit.
    """
    _refuse_others(new, old)
    refuse_waiting(new, old, state)
    if (reason := next(saving.refusals(state), None)) is not None:
        raise InvalidInput("adopt: state", "one of arrays alone, which are copied", reason)
    fresh, shaped = (p.start(seed=state.seed, replicas=state.replicas.tolist()) for p in (new, old))
    mine, theirs = (dict(saving.flatten(z)) for z in (fresh, shaped))
    own = tuple(f".goals.{i}." for i, g in enumerate(new.goals) if not isinstance(g, Learns))  # weights, and no sums
    own += (".model", ".waiting.sums" if carries(new, old) else ".waiting") if appends(new, old) else ()
    for path in (z for z in {**mine, **theirs} if not z.startswith(own)):
        if path not in mine or path not in theirs or mine[path].shape != theirs[path].shape:
            expected = "as many rows, spans of time and candidates as in the state"
            raise InvalidInput("adopt", expected, f"another size of {path.lstrip('.')}")
    copied = {path: np.array(z) for path, z in saving.flatten(state) if not path.startswith(own)}
    saving.fill(fresh, {**mine, **copied})
    if appends(new, old):
        grow(new, old, fresh, state)
    for goal, sums in zip(new.goals, fresh.goals, strict=True):
        if isinstance(goal, Replans):
            goal.replan(sums)
    return fresh


def refuse_other_books(new: Parts, old: Parts) -> None:
    """Refuse a policy to which the sums in a state mean something else: other outcomes, groups or spans of time."""
    refuse_other_actions(old.problem, new.problem, "adopt")
    for field in _SAME:
        before, now = getattr(old.problem, field), getattr(new.problem, field)
        if before != now:
            raise InvalidInput(f"adopt: problem.{field}", f"{before}, as in the state", now)
    refuse_other_meanings(old.problem, new.problem, "adopt")
    refuse_other_descriptions(old.problem, new.problem, "adopt")
    refuse_return(old.problem, new.problem, "adopt")
    if _periods(old.problem) != _periods(new.problem):
        expected = "the same spans of time, start, end and forecast's periods, as sums in the state are of these"
        raise InvalidInput("adopt: problem.subject_to, until, traffic, since, zone", expected, "others")
    if (was := _memory(old.problem)) != (now := _memory(new.problem)):
        raise InvalidInput("adopt: problem.unit", f"{was}, whose windows the state remembers", now)
    if (was_owed := _credits(old.problem)) != (owed := _credits(new.problem)):
        raise InvalidInput("adopt: NeverWorse", f"{was_owed}, as the credit in the state is of this", owed)


def _refuse_others(new: Parts, old: Parts) -> None:
    """Refuse a policy to which the state means something else: other sums, another model, goals of other rows."""
    if old.problem.features != new.problem.features:
        expected = f"{old.problem.features}, as in the state"
        raise InvalidInput("adopt: problem.features", expected, new.problem.features)
    refuse_other_books(new, old)
    refuse_other_amounts(old.problem, new.problem, "adopt")  # as contexts that goals keep have them
    refuse_other_models(new, old)
    before, now = ([type(g).__name__ for g in p.goals] for p in (old, new))
    if before != now:
        raise InvalidInput("adopt: goals", f"{before}, as in the state", now)
    held_out = any(isinstance(g, Compares) for g in new.goals)
    if held_out and saving.fingerprint(old.choice) != saving.fingerprint(new.choice):
        raise InvalidInput("adopt: choice", f"{old.choice!r}, whose rounds are compared in the state", repr(new.choice))
    for was, goal in zip(old.goals, new.goals, strict=True):
        if isinstance(was, Learns) and was.rows.names != goal.rows.names:
            expected = f"{was.rows.names}, as the sums in the state are of these"
            raise InvalidInput(f"adopt: rows of {type(goal).__name__}", expected, goal.rows.names)


def _periods(problem: Problem) -> tuple[object, ...]:
    """The periods of which a state keeps sums: of spans of time, of the run, and of its forecast; () without any."""
    spans = [s.spans for s in problem.stated]
    if problem.until is None and all(s is None for s in spans):
        return ()
    found = [None if s is None else (s.edges.tolist(), s.first.tolist(), s.last.tolist()) for s in spans]
    edges = None if problem.traffic is None else problem.traffic.changes(problem.clock).tolist()
    return problem.clock.start, problem.clock.last, edges, found


def _memory(problem: Problem) -> tuple[object, ...] | None:
    return None if problem.unit is None else problem.unit.memory


def _credits(problem: Problem) -> list[Credit]:
    return [s.credit for s in problem.stated if s.credit is not None]


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
    outcomes: outcome_names.Named,
    weight: float,
) -> None:
    """Teach the model the play of an action; see `Policy.teach`."""
    lesson = _check(ask, context, len(state.t), action, outcomes)
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
                raise InvalidInput("a row", f"a mapping from {list(names)} to values", value_text(row))
            context = encoder.entered(StatedCase({name: value_of(row, name) for name in encoder.names}))
            outcomes = {name: _number(value_of(row, name)) for name in problem.observed}
            lessons.append(_check(ask, context, 1, value_of(row, action), outcomes))
        except InvalidInput as error:
            raise error.at(f"row {i}") from None
    for lesson in lessons:
        _take(ask, parts.zeros, state, lesson, weight)


def _number(value: object) -> float | None:
    """Return an outcome of a data frame, None if it has no number there, as it was not observed."""
    same = value == value  # neither NaN is, nor what pandas has in place of a value
    missing = value is None or (np.ndim(same) == 0 and not (isinstance(same, bool | np.bool_) and same))
    return None if missing else value  # type: ignore[return-value]  # `outcome_names.outcomes` checks it


def refuse_weight(model: Model, weight: float) -> None:
    """Refuse an invalid weight, or one that a model does not use."""
    as_weight("weight", weight)
    if weight != 1.0 and not weighs(model):
        expected = (
            "a model that weighs what it learns, such as BayesianRidge or BayesianLogistic, for a weight other than 1"
        )
        raise InvalidInput("model", expected, value_text(model))


def _check(ask: Questions, context: Context, n_replicas: int, action: object, outcomes: outcome_names.Named) -> _Lesson:
    problem, model = ask.problem, ask.model
    if not isinstance(action, str) or action not in problem.action_places:
        raise InvalidInput(
            "action", f"one of {problem.actions}", f"{value_text(action)}{suggestion(str(action), problem.actions)}"
        )
    y, observed, _ = outcome_names.outcomes(problem, 1, outcomes)
    if context.time is None and problem.until is not None:  # models do not read it, and a log is older than the start
        context = context._replace(time=np.zeros(1))
    context, place = checks.context(context, n_replicas, model.n_features, problem), problem.action_places[action]
    wrong = wrong_lesson(y[0, 0], observed[0, 0], place, problem)
    if wrong is not None:
        raise wrong
    return _Lesson(context, place, y, observed)


def _take(ask: Questions, zeros: Zeros, state: PolicyState, lesson: _Lesson, weight: float) -> None:
    """Let the model learn a play that was checked."""
    model, context, place = ask.model, lesson.context, lesson.place
    w, *_ = ask.prices(state, context, ask.group_shares(state, context))
    play, learned = np.array([[place]]), len(ask.problem.learned)
    prices = w if w.shape[2] == 1 else entries.take_prices(w, play)
    x = np.ascontiguousarray(context.features[:, place : place + 1])
    seen = np.ascontiguousarray(lesson.observed[:, :, :learned])
    zeros.tell(state.model, play, seen, weight)
    told = ROUND._replace(weight=float(weight), taught=True)
    model.update(state.model, x, np.where(seen, lesson.y[:, :, :learned], 0.0), seen, prices, told)
