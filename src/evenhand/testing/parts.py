"""The contracts of models and goals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.goals.base import Goal, Learns, Limits, Priced, StepsAhead
from evenhand.models.base import Model
from evenhand.problem.problem import Problem
from evenhand.testing.frames import Draw, context_of, decision_of, shares_of
from evenhand.testing.promises import IDS, require, same, snapshot, unchanged


def check_model(model: Model, *, rounds: int = 30, features: Callable[[Floats], Floats] | None = None) -> None:
    """A model answers alike in a batch and alone, `value` changes nothing, and what did not happen leaves no trace.

    Outcomes are 0 or 1, of two plays per round; some rounds do not count and some outcomes are not observed.

    Args:
        model: any of `evenhand.models`, or your own.
        rounds: how long it is watched.
        features: makes features that the model takes, such as one-hot ones, of numbers in [0, 1), `(n)->(n)`; by
            default they are taken as they are.

    Raises:
        AssertionError: naming the promise that is broken.

    >>> from evenhand.models import Ridge
    >>> check_model(Ridge(n_features=3, n_outcomes=2))
    """
    take = _as_they_are if features is None else features
    together = _model_run(model, IDS, rounds, take)
    for i, replica in enumerate(IDS):
        alone = _model_run(model, np.array([replica]), rounds, take)
        same(together[:, :, i], alone[:, :, 0], f"replica {replica} in a batch has the values that it has alone")
    ghosts = _model_run(model, IDS, rounds, take, ghosts=True)
    same(together, ghosts, "rounds = 0 and outcomes of NaN leave no trace in a model")


def _as_they_are(u: Floats) -> Floats:
    return u


def _model_run(model: Model, ids: Ints, rounds: int, take: Callable[[Floats], Floats], ghosts: bool = False) -> Floats:
    n, m, count = model.n_features, model.n_outcomes, len(ids)
    state = model.start(count, np.zeros(m), np.ones(m))
    answers = []
    for t in range(rounds):
        draw = Draw(ids, t)
        query, w = take(draw(1, 4, n)), 2.0 * draw(2, 2, m) - 1.0
        before = snapshot(state)
        mean, bonus = model.value(state, query, w)
        unchanged(before, state, "`value` leaves the state as it is")
        for name, z in (("mean", mean), ("bonus", bonus)):
            require(z.shape == (count, 2, 4), f"the {name} has shape (R, K, A) = {(count, 2, 4)}, not {z.shape}")
            require(bool(np.isfinite(z).all()), f"the {name} is finite")
        answers.append((mean, bonus))
        x = take(draw(3, 2, n) * (draw(4, 2, n) < 0.7))
        y = np.where(draw(5, 2, 1) < 0.8, draw(6, 2, m) < 0.5, np.nan)
        counted = (draw(7, 1)[:, 0] < 0.8).astype(float)
        model.update(state, x, y, counted, w)
        if ghosts:
            model.update(state, x + 1.0, np.full_like(y, np.nan), np.ones(count), w)
            model.update(state, x + 1.0, np.ones_like(y), np.zeros(count), w)
    return np.array(answers)


def check_goal(goal: Goal, problem: Problem, *, plays: int = 2, rounds: int = 30) -> None:
    """A goal's rows have their adjoint; it reads alike in a batch and alone, and what did not happen leaves no trace.

    Equation: q.post(y, z_a) = pull(q).prices . y + pull(q).offset_a for every candidate a.

    Args:
        goal: any of `evenhand.goals`, or your own.
        problem: whose outcomes and groups its rows refer to.
        plays: per round.
        rounds: how long it is watched.

    Raises:
        AssertionError: naming the promise that is broken.

    >>> from evenhand.environments import Court
    >>> from evenhand.goals.hard_budget import hard_budget
    >>> check_goal(hard_budget(Court().problem), Court().problem)
    """
    require(isinstance(goal, Priced | Limits), "a goal prices outcomes (`Priced`) or forbids candidates (`Limits`)")
    together = _goal_run(goal, problem, IDS, plays, rounds)
    for i, replica in enumerate(IDS):
        alone = _goal_run(goal, problem, np.array([replica]), plays, rounds)
        same(together[:, i], alone[:, 0], f"replica {replica} in a batch has the readings that it has alone")
    ghosts = _goal_run(goal, problem, IDS, plays, rounds, ghosts=True)
    same(together, ghosts, "entries with rounds = 0 leave no trace in a goal")


def _goal_run(goal: Goal, problem: Problem, ids: Ints, plays: int, rounds: int, ghosts: bool = False) -> Floats:
    state, d, count = goal.start(len(ids)), len(goal.rows), len(ids)
    low, high = np.maximum(problem.low, -1.0), np.minimum(problem.high, 1.0)
    readings = []
    for t in range(rounds):
        draw = Draw(ids, t)
        context, shares = context_of(problem, draw, plays + 2), shares_of(problem, draw)
        _check_adjoint(goal, context, shares, draw, low, high)
        before = snapshot(state)
        reading = [np.zeros((count, 0))]
        if isinstance(goal, Priced):
            q, o = goal.price(state)
            fits = q.ndim == 3 and q.shape[::2] == (count, d) and o.shape == (count,)
            require(fits, f"prices have shapes (R, k, {d}) and (R,), not {q.shape} and {o.shape}")
            require(bool(np.isfinite(q).all() and np.isfinite(o).all()), "prices are finite")
            reading += [q.reshape(count, -1), o[:, None]]
        if isinstance(goal, Limits):
            offered = draw(1, plays + 2) < 0.8
            playable = offered.copy()
            goal.limit(state, context, shares, plays, playable)
            require(not (playable & ~offered).any(), "a limit only ever switches candidates off")
            require(not playable[goal.over(state)].any(), "where a limit is over, nothing is playable")
            reading.append(playable.astype(float))
        unchanged(before, state, "`price` and `limit` leave the state as it is")
        readings.append(np.concatenate(reading, 1))
        decision = decision_of(context, shares, plays, (draw(2, 1)[:, 0] < 0.8).astype(float))
        y = low + (high - low) * draw(3, len(low))
        declared = (decision.known * decision.rounds[:, None, None]).sum(1)
        v = goal.rows.post(decision, shares, y * decision.rounds[:, None], declared)
        _enter(goal, state, decision, v)
        if ghosts:
            _enter(goal, state, decision._replace(rounds=np.zeros(count)), np.zeros_like(v))
    return np.array(readings)


def _enter(goal: Goal, state: Any, decision: Decision, v: Floats) -> None:
    if isinstance(goal, StepsAhead):
        goal.on_decision(state, decision, lambda sign: 0.5 * sign * decision.rounds[:, None])
    if isinstance(goal, Learns):
        goal.on_outcome(state, decision, decision.rounds, v)


def _check_adjoint(goal: Goal, context: Context, shares: Floats, draw: Draw, low: Floats, high: Floats) -> None:
    d, candidates = len(goal.rows), context.known.shape[1]
    q, y = 2.0 * draw(4, 1, d) - 1.0, low + (high - low) * draw(5, candidates, len(low))
    prices, offset = goal.rows.pull(context, shares, q)
    for a in range(candidates):
        direct = q[:, 0] * goal.rows.post(context, shares, y[:, a], context.known[:, a])
        gap = np.abs(direct.sum(1) - (prices[:, 0] * y[:, a]).sum(1) - offset[:, 0, a])
        require(bool((gap <= 1e-9 * (1.0 + np.abs(direct).sum(1))).all()), "`pull` is the adjoint of `post`")
