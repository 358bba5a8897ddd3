"""The contracts of models and goals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from evenhand.core.records import Context, Decision, Worth
from evenhand.core.types import Floats, Ints
from evenhand.goals.base import Compares, Estimates, Goal, Learns, Limits, Priced, Restates, StepsAhead
from evenhand.models.base import ROUND, ColumnGain, Gain, Model, Waits, by_action, waits, weighs
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Cases
from evenhand.testing.promises import (
    IDS,
    Draw,
    check_unchanged,
    complete,
    context_of,
    decision_of,
    number,
    record,
    require,
    same,
    shares_of,
    snapshot,
)


def check_model(model: Model, *, rounds: int = 30, features: Callable[[Floats], Floats] | None = None) -> None:
    """Check that a model answers alike in a batch and alone, and learns nothing from unseen outcomes.

    Answers must depend on the state, prices and luck alone. Each round has four candidates and two plays; outcomes are
    0 or 1, and some are not seen. Some updates are half a round, or taught with a weight of 2 to a model that `weighs`.

    Args:
        model: any of `evenhand.models`, or your own.
        rounds: how many are checked.
        features: turns numbers in [0, 1) into features that the model takes, such as one-hot ones, `(n)->(n)`; by
            default they are taken as they are, after the index of an action if the model is `by_action`.

    >>> from evenhand.models import Ridge
    >>> check_model(Ridge(n_features=3, n_outcomes=2))
    """
    complete(model, Model)
    number(model.draws(4), "draws")
    take = partial(_lead, actions=by_action(model)) if features is None else features
    together = _model_run(model, IDS, rounds, take)
    for i, replica in enumerate(IDS):
        alone = _model_run(model, np.array([replica]), rounds, take)
        same(together[:, :, i], alone[:, :, 0], f"replica {replica} in a batch has the values that it has alone")
    ghosts = _model_run(model, IDS, rounds, take, ghosts=True)
    same(together, ghosts, "what was not seen leaves no trace in a model")


def _lead(u: Floats, actions: int | None) -> Floats:
    """Return numbers as they are, but for the index of an action in place of the first."""
    return u if actions is None else np.concatenate([np.floor(actions * u[..., :1]), u[..., 1:]], -1)


def _model_run(model: Model, ids: Ints, rounds: int, take: Callable[[Floats], Floats], ghosts: bool = False) -> Floats:
    n, m, count = model.n_features, model.n_outcomes, len(ids)
    state = model.start(count, np.zeros(m), np.ones(m), 100)
    answers = []
    for t in range(rounds):
        draw = Draw(ids, t)
        query, w, u = take(draw(1, 4, n)), 2.0 * draw(2, 2, 4, m) - 1.0, draw(8, model.draws(4))
        before = snapshot(state)
        worth = model.value(state, query, w, u)
        record(worth, Worth, "what `value` returns")
        for name, z in (("mean", worth.mean), ("bonus", worth.bonus)):
            require(z.shape == (count, 2, 4), f"the {name} has shape (R, K, A) = {(count, 2, 4)}, not {z.shape}")
            require(bool(np.isfinite(z).all()), f"the {name} is finite")
        answers.append((worth.mean, worth.bonus))
        if t % 5 == 0 and not ghosts:
            _check_luck(model, state, query, w, u)
            _check_prices(model, state, query, w, u)
            if isinstance(model, Waits) and waits(model):
                _check_gains(model, state, query, w, u)
        check_unchanged(before, state, "`value` leaves the state as it is")
        x = take(draw(3, 2, n) * (draw(4, 2, n) < 0.7))
        seen = (draw(5, 2, m) < 0.9) & (draw(7, 2, 1) < 0.8)
        y = np.where(seen, draw(6, 2, m) < 0.5, 0.0)
        lesson = ROUND._replace(share=np.where(draw(9, 1)[:, 0] < 0.8, 1.0, 0.5))
        taught = t % 7 == 6 and weighs(model)
        told = ROUND._replace(weight=2.0, taught=True) if taught else lesson
        model.update(state, x, y, seen, w[:, :, :2].copy(), told)
        if ghosts:
            model.update(state, x + 1.0, np.zeros_like(y), np.zeros_like(seen), w[:, :, :1].copy())
    return np.array(answers)


def _check_luck(model: Model, state: Any, x: Floats, w: Floats, u: Floats) -> None:
    """Require that the mean never depends on luck, and the bonus only if the answer is `random`, which needs luck."""
    worth, again, other = (model.value(state, x, w, z) for z in (u, u.copy(), (u + 0.5) % 1.0))
    same(worth.mean, again.mean, "the same luck gives the same mean")
    same(worth.bonus, again.bonus, "the same luck gives the same bonus")
    same(worth.mean, other.mean, "the mean does not depend on luck")
    if not worth.random:
        same(worth.bonus, other.bonus, "what is not `random` does not depend on luck")
    require(not (worth.random and not u.shape[1]), "`random` needs `draws`")
    require(not model.value(state, x, w, u[:, :0]).random, "without luck on offer nothing is `random`")


def _check_prices(model: Model, state: Any, x: Floats, w: Floats, u: Floats) -> None:
    """Require that a candidate's value depends only on its own prices, and not on the other candidates."""
    each, calm = model.value(state, x, w, u), model.value(state, x, w, u[:, :0])
    for a in range(x.shape[1]):
        one, own = slice(a, a + 1), w[:, :, a : a + 1].copy()
        shared, alone = model.value(state, x, own, u), model.value(state, x[:, one].copy(), own, u[:, :0])
        for z, for_all, only, plain in zip(each[:2], shared[:2], alone[:2], calm[:2], strict=True):
            same(z[:, :, one], for_all[:, :, one], "a candidate is valued at its own prices")
            close = np.abs(plain[:, :, one] - only) <= 1e-9 * (1.0 + np.abs(only))
            require(bool(close.all()), "a candidate is valued alike among others and alone")


def _check_gains(model: Waits, state: Any, x: Floats, w: Floats, u: Floats) -> None:
    """Require that gains are those of an inverse, or of sums by column, which widths read and means do not."""
    plain, gains = model.value(state, x, w, u), list(model.gains(state, x))
    for gain in gains:
        if isinstance(gain, ColumnGain):
            inside = bool(((gain.places >= 0) & (gain.places < np.prod(gain.shape))).all())
            require(inside and gain.places.shape == gain.squares.shape, "gains have a square for each of their places")
            continue
        rows, n = gain.state.inverse.shape[:2]
        require(gain.state.inverse.shape == (rows, n, n) and rows % len(x) == 0, "an inverse has shape (R A, n, n)")
        leads = (1,) if rows > len(x) else (0, 1)
        sized = gain.z.shape[:2] == x.shape[:2] and gain.z.shape[2] - n in leads
        require(sized, "gains have n numbers, after the action where rows are by action")
        curve = gain.curvature(np.zeros((rows, n)))
        require(curve.shape == (rows,) and bool((curve >= 0.0).all()), "a curvature is at least 0 in each row")
        sized = bool((gain.state.inverse[:, 0, 0] > 0.0).all()) or 0.0 < gain.believed < np.inf
        require(sized, "where an inverse is 0, what is believed before any data is above 0 and finite")
    before = [gain.swap(_narrower(gain)) for gain in gains]
    narrow = model.value(state, x, w, u)
    for gain, inverse in zip(gains, before, strict=True):
        gain.swap(inverse)
    same(plain.mean, narrow.mean, "means do not read an inverse that `gains` names")
    require(bool((narrow.bonus <= plain.bonus + 1e-12).all()), "a smaller inverse has no larger bonus")
    if any(not inverse.any() for inverse in before) and (plain.bonus > 0.0).any():
        less = bool((narrow.bonus < plain.bonus).any())
        require(less, "bonuses before any data read an inverse that `gains` names, if it is not 0")


def _narrower(gain: Gain | ColumnGain) -> Floats:
    """What an estimate would read if much was on its way."""
    if isinstance(gain, ColumnGain):
        return np.full(gain.shape, 1e9)
    inverse: Floats = gain.state.inverse
    return np.where(inverse[:, :1, :1] > 0.0, 0.25 * inverse, 1e-9 * np.eye(inverse.shape[1]))


def check_goal(goal: Goal, problem: Problem, *, plays: int = 2, rounds: int = 30) -> None:
    """Check that a goal acts alone as in a batch, and ignores uncounted rounds; `pull` must be adjoint to `post`.

    Equation: q.post(y, z_a) = pull(q).prices . y + pull(q).offset_a for every candidate a.

    Args:
        goal: any of `evenhand.goals`, or your own.
        problem: the problem whose outcomes and groups its rows refer to.
        plays: the number of plays per round.
        rounds: how many are checked.

    >>> from evenhand.environments import Court
    >>> from evenhand.goals.hard_limits import hard_budget
    >>> check_goal(hard_budget(Court().problem), Court().problem)
    """
    known = "a goal prices outcomes (`Priced`), forbids candidates (`Limits`) or compares rounds (`Compares`)"
    require(isinstance(goal, Priced | Limits | Compares), known)
    for each in (False, True):
        together = _goal_run(goal, problem, IDS, plays, rounds, each)
        for i, replica in enumerate(IDS):
            alone = _goal_run(goal, problem, np.array([replica]), plays, rounds, each)
            same(together[:, i], alone[:, 0], f"replica {replica} in a batch has the readings that it has alone")
        ghosts = _goal_run(goal, problem, IDS, plays, rounds, each, ghosts=True)
        same(together, ghosts, "entries with counted = 0 leave no trace in a goal")


def _goal_run(
    goal: Goal, problem: Problem, ids: Ints, plays: int, rounds: int, each: bool, ghosts: bool = False
) -> Floats:
    state, d, count = goal.start(len(ids)), len(goal.rows), len(ids)
    low, high = np.maximum(problem.span[0], -1.0), np.minimum(problem.span[1], 1.0)
    m, b = len(problem.learned), len(problem.noisy)
    readings, enter = [], _entry(goal)
    priced, limits = goal if isinstance(goal, Priced) else None, goal if isinstance(goal, Limits) else None
    compares = goal if isinstance(goal, Compares) else None
    for t in range(rounds):
        draw = Draw(ids, t)
        context, shares = context_of(problem, draw, plays + 2, each=each), shares_of(problem, draw)
        _check_adjoint(goal, context, shares, draw, low[:m], high[:m])
        before = snapshot(state)
        decision = decision_of(context, shares, plays, (draw(2, 1)[:, 0] < 0.8).astype(float))
        reading = [np.zeros((count, 0))]
        if priced is not None:
            q, o = priced.price(state)
            fits = q.ndim == 3 and q.shape[::2] == (count, d) and o.shape == (count,)
            require(fits, f"prices have shapes (R, k, {d}) and (R,), not {q.shape} and {o.shape}")
            require(bool(np.isfinite(q).all() and np.isfinite(o).all()), "prices are finite")
            reading += [q.reshape(count, -1), o[:, None]]
        if limits is not None:
            reading.append(_check_room(limits, state, context, decision))
        if compares is not None:
            reading.append(compares.compared(state).reshape(count, -1).copy())
        check_unchanged(before, state, "`price`, `room` and `fits` leave the state as it is")
        readings.append(np.concatenate(reading, 1))
        y = low + (high - low) * draw(3, plays, len(low))
        counted = decision.counted[:, None, None]
        known = np.concatenate([y[:, :, m:], decision.known[:, :, b:]], 2)  # noisy outcomes are as observed
        v = goal.rows.post(decision, shares, y[:, :, :m] * counted, known * counted)
        enter(state, decision, v)
        if ghosts:
            enter(state, decision._replace(counted=np.zeros(count)), np.zeros_like(v))
    return np.array(readings)


def _check_room(limits: Limits, state: Any, context: Context, decision: Decision) -> Floats:
    count, candidates = context.known.shape[0], context.known.shape[1]
    worst, left = limits.room(state, context)
    shaped = left.shape == (count, left.shape[-1]) and worst.shape[1:] == (candidates, left.shape[-1])
    shaped = shaped and len(worst) in (1, count)
    require(shaped, f"room has shapes (R or 1, A, d) and (R, d), not {worst.shape} and {left.shape}")
    alone = np.asarray((worst <= left[:, None]).all(2))
    require(not alone[limits.over(state)].any(), "where a limit is over, nothing fits")
    fits = limits.fits(state, decision)
    together = np.broadcast_to(worst, (count, *worst.shape[1:]))[:, : decision.plays.shape[1]].sum(1)
    clear = (np.abs(together - left) > 1e-9 * (1.0 + np.abs(left))).all(1) & (decision.counted > 0)
    wrong = clear & (fits != (together <= left).all(1))
    require(not bool(wrong.any()), "plays fit together where the sum of their worst cases is left")
    return np.concatenate([alone.astype(float), fits[:, None]], 1)


def _entry(goal: Goal) -> Callable[[Any, Decision, Floats], None]:
    """Return a function that enters a round into a goal, whose abilities are looked up once, as that is slow."""
    restates, ahead = goal if isinstance(goal, Restates) else None, goal if isinstance(goal, StepsAhead) else None
    learns = goal if isinstance(goal, Learns) else None
    estimates = goal if isinstance(goal, Estimates) and goal.on_estimates else None

    def enter(state: Any, decision: Decision, v: Floats) -> None:
        if restates is not None:
            restates.on_shares(state, decision, 0.1 * v)
        if ahead is not None:
            ends = None if estimates is None else 0.5 * estimates.ends(state) * decision.counted[:, None]
            ahead.on_decision(state, decision, ends)
        if learns is not None:
            learns.on_outcome(state, decision, decision.counted, v)

    return enter


def _check_adjoint(goal: Goal, context: Context, shares: Floats, draw: Draw, low: Floats, high: Floats) -> None:
    d, candidates = len(goal.rows), context.known.shape[1]
    q, y = 2.0 * draw(4, 1, d) - 1.0, low + (high - low) * draw(5, candidates, len(low))
    prices, offset = goal.rows.pull(context, shares, q)
    for a in range(candidates):
        groups = context.groups[:, a : a + 1] if len(context.groups[0]) > 1 else context.groups
        one = Cases(context.known[:, a : a + 1], groups, np.full((len(context.known), 1), a))
        direct = q[:, 0] * goal.rows.post(one, shares, y[:, a : a + 1], one.known)
        gap = direct.sum(1) - (prices[:, 0, a if prices.shape[2] > 1 else 0] * y[:, a]).sum(1) - offset[:, 0, a]
        require(bool((np.abs(gap) <= 1e-9 * (1.0 + np.abs(direct).sum(1))).all()), "`pull` is the adjoint of `post`")
