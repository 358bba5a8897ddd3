"""Contract checks for any part, yours or ours: each is one function that says which promise is broken.

They need no test framework, and no luck: what they feed a part is a pure function of fixed seeds. Call one from a test
of your own, on an instance of your part in each configuration that matters to you.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from evenhand import checks
from evenhand.choices.base import Choice, Pick
from evenhand.choices.random import Random
from evenhand.environments.base import Arrival, Environment
from evenhand.errors import InvalidInput
from evenhand.goals.base import Goal, Learns, Limits, Priced, StepsAhead
from evenhand.goals.linear import indifferent
from evenhand.models.base import Model
from evenhand.models.blank import Blank
from evenhand.numerics.luck import Luck, Stream
from evenhand.objectives.base import Conjugate, Objective, Proximal, conjugate
from evenhand.policy import Policy
from evenhand.problem import Problem
from evenhand.records import Context, Decision
from evenhand.saving import flatten
from evenhand.types import Bools, Floats, Ints

_IDS = np.array([0, 3, 8])  # replicas; their numbers are not their places in the batch


def check_model(model: Model, *, rounds: int = 30) -> None:
    """A model answers alike in a batch and alone, `value` changes nothing, and what did not happen leaves no trace.

    Outcomes are 0 or 1, of two plays per round; some rounds do not count and some outcomes are not observed.

    Raises:
        AssertionError: naming the promise that is broken.

    >>> from evenhand.models import Ridge
    >>> check_model(Ridge(features=3, outcomes=2))
    """
    together = _model_run(model, _IDS, rounds)
    for i, replica in enumerate(_IDS):
        alone = _model_run(model, np.array([replica]), rounds)
        _same(together[:, :, i], alone[:, :, 0], f"replica {replica} in a batch has the values that it has alone")
    ghosts = _model_run(model, _IDS, rounds, ghosts=True)
    _same(together, ghosts, "rounds = 0 and outcomes of NaN leave no trace in a model")


def _model_run(model: Model, ids: Ints, rounds: int, ghosts: bool = False) -> Floats:
    n, m, count = model.features, model.outcomes, len(ids)
    state = model.start(count, np.zeros(m), np.ones(m))
    answers = []
    for t in range(rounds):
        draw = _Draw(ids, t)
        query, w = draw(1, 4, n), 2.0 * draw(2, 2, m) - 1.0
        before = _snapshot(state)
        mean, bonus = model.value(state, query, w)
        _unchanged(before, state, "`value` leaves the state as it is")
        for name, z in (("mean", mean), ("bonus", bonus)):
            _require(z.shape == (count, 2, 4), f"the {name} has shape (R, K, A) = {(count, 2, 4)}, not {z.shape}")
            _require(bool(np.isfinite(z).all()), f"the {name} is finite")
        answers.append((mean, bonus))
        x = draw(3, 2, n) * (draw(4, 2, n) < 0.7)
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
    _require(isinstance(goal, Priced | Limits), "a goal prices outcomes (`Priced`) or forbids candidates (`Limits`)")
    together = _goal_run(goal, problem, _IDS, plays, rounds)
    for i, replica in enumerate(_IDS):
        alone = _goal_run(goal, problem, np.array([replica]), plays, rounds)
        _same(together[:, i], alone[:, 0], f"replica {replica} in a batch has the readings that it has alone")
    ghosts = _goal_run(goal, problem, _IDS, plays, rounds, ghosts=True)
    _same(together, ghosts, "entries with rounds = 0 leave no trace in a goal")


def _goal_run(goal: Goal, problem: Problem, ids: Ints, plays: int, rounds: int, ghosts: bool = False) -> Floats:
    state, d, count = goal.start(len(ids)), len(goal.rows), len(ids)
    low, high = np.maximum(problem.low, -1.0), np.minimum(problem.high, 1.0)
    readings = []
    for t in range(rounds):
        draw = _Draw(ids, t)
        context, shares = _context(problem, draw, plays + 2), _shares(problem, draw)
        _check_adjoint(goal, context, shares, draw, low, high)
        before = _snapshot(state)
        reading = [np.zeros((count, 0))]
        if isinstance(goal, Priced):
            q, o = goal.price(state)
            fits = q.ndim == 3 and q.shape[::2] == (count, d) and o.shape == (count,)
            _require(fits, f"prices have shapes (R, k, {d}) and (R,), not {q.shape} and {o.shape}")
            _require(bool(np.isfinite(q).all() and np.isfinite(o).all()), "prices are finite")
            reading += [q.reshape(count, -1), o[:, None]]
        if isinstance(goal, Limits):
            offered = draw(1, plays + 2) < 0.8
            playable = offered.copy()
            goal.limit(state, context, shares, plays, playable)
            _require(not (playable & ~offered).any(), "a limit only ever switches candidates off")
            _require(not playable[goal.over(state)].any(), "where a limit is over, nothing is playable")
            reading.append(playable.astype(float))
        _unchanged(before, state, "`price` and `limit` leave the state as it is")
        readings.append(np.concatenate(reading, 1))
        decision = _decision(context, shares, plays, (draw(2, 1)[:, 0] < 0.8).astype(float))
        y = low + (high - low) * draw(3, len(low))
        declared = (decision.known * decision.rounds[:, None, None]).sum(1)
        v = goal.rows.post(decision, shares, y * decision.rounds[:, None], declared)
        _enter(goal, state, decision, v)
        if ghosts:
            _enter(goal, state, decision._replace(rounds=np.zeros(count)), np.zeros_like(v))
    return np.array(readings)


def _enter(goal: Goal, state: Any, decision: Decision, v: Floats) -> None:
    if isinstance(goal, StepsAhead):
        goal.acted(state, decision, lambda sign: 0.5 * sign * decision.rounds[:, None])
    if isinstance(goal, Learns):
        goal.learned(state, decision, decision.rounds, v)


def _check_adjoint(goal: Goal, context: Context, shares: Floats, draw: _Draw, low: Floats, high: Floats) -> None:
    d, candidates = len(goal.rows), context.known.shape[1]
    q, y = 2.0 * draw(4, 1, d) - 1.0, low + (high - low) * draw(5, candidates, len(low))
    prices, offset = goal.rows.pull(context, shares, q)
    for a in range(candidates):
        direct = q[:, 0] * goal.rows.post(context, shares, y[:, a], context.known[:, a])
        gap = np.abs(direct.sum(1) - (prices[:, 0] * y[:, a]).sum(1) - offset[:, 0, a])
        _require(bool((gap <= 1e-9 * (1.0 + np.abs(direct).sum(1))).all()), "`pull` is the adjoint of `post`")


def check_choice(choice: Choice, *, candidates: int = 4) -> None:
    """A choice plays only what is playable, with the probabilities that it states, alike in a batch and alone.

    Args:
        choice: any of `evenhand.choices`, or your own.
        candidates: how many are on offer.

    Raises:
        AssertionError: naming the promise that is broken.

    >>> from evenhand.choices import Staged, TopK
    >>> check_choice(Staged(5, TopK(1)))
    """
    ids = np.arange(64)
    draw = _Draw(ids, 0)
    mean, bonus = draw(1, 2, candidates) - 0.5, draw(2, 2, candidates) * 0.1
    playable = draw(3, candidates) < draw(4, 1)  # from all to none
    t = np.floor(20.0 * draw(5, 1)[:, 0])
    u = Luck(seed=1, replicas=ids).uniform(Stream.CHOICE, t.astype(np.int64), choice.draws)
    pick = _picked(choice, mean, bonus, playable, t, u)
    for i in ids:
        one = slice(i, i + 1)
        alone = _picked(choice, mean[one], bonus[one], playable[one], t[one], u[one])
        for name, z, solo in zip(Pick._fields, pick, alone, strict=True):
            _same(z[one], solo, f"a replica has the same {name} in a batch and alone")
    for now in (0.0, 1e6):
        _check_frequencies(choice, mean[:1], bonus[:1], np.arange(candidates) != 1, now)


def _picked(choice: Choice, mean: Floats, bonus: Floats, playable: Bools, t: Floats, u: Floats) -> Pick:
    state = choice.start(len(t))
    given = [z.copy() for z in (mean, bonus, playable, t, u)]
    before = _snapshot(state)
    pick = choice.pick(state, mean, bonus, playable, t, u)
    _unchanged(before, state, "`pick` leaves the state as it is")
    for z, then in zip((mean, bonus, playable, t, u), given, strict=True):
        _same(z, then, "`pick` leaves what it is handed as it is")
    _check_pick(pick.plays, pick.probabilities, playable, choice.plays)
    _require(bool(np.isin(pick.steered, (0.0, 1.0)).all()), "`steered` is 0 or 1")
    return pick


def _check_pick(plays: Ints, probabilities: Floats, playable: Bools, count: int) -> None:
    _require(plays.shape == (len(playable), count), f"plays have shape (R, {count}), not {plays.shape}")
    _require(bool((probabilities >= 0.0).all()), "probabilities are never negative")
    _require(bool((probabilities[~playable] == 0.0).all()), "what is not playable has probability 0")
    made = plays >= 0
    _require(bool((made[:, 0] == playable.any(1)).all()), "the first play is made wherever anything is playable")
    missing = np.abs(probabilities.sum(1) - made.sum(1))
    _require(bool((missing <= 1e-9 * count).all()), "probabilities sum to the number of plays that are made")
    for chosen, chance in zip(plays, probabilities, strict=True):
        real = chosen[chosen >= 0]
        _require(bool((chance[real] > 0.0).all()), "what is played is playable, and of positive probability")
        _require(len(set(real.tolist())) == len(real), "no candidate is played twice in a round")


def _check_frequencies(choice: Choice, mean: Floats, bonus: Floats, free: Bools, now: float) -> None:
    """Over 4,000 draws of fixed luck, each candidate is chosen as often as stated, within five standard errors."""
    draws, shape = 4000, (4000, *mean.shape[1:])
    t, playable = np.full(draws, now), np.tile(free, (draws, 1))
    u = Luck(seed=2, replicas=np.arange(draws)).uniform(Stream.CHOICE, np.zeros(1, np.int64), choice.draws)
    state = choice.start(draws)
    pick = choice.pick(state, np.broadcast_to(mean, shape).copy(), np.broadcast_to(bonus, shape).copy(), playable, t, u)
    for a, p in enumerate(pick.probabilities[0]):
        often = (pick.plays == a).any(1).mean()
        error = 5.0 * math.sqrt(p * max(1.0 - p, 0.0) / draws) + 1e-12
        _require(bool(abs(often - p) <= error), f"candidate {a} is chosen with the stated {p:.4f}, not {often:.4f}")


def check_environment(environment: Environment, *, policy: Policy | None = None, rounds: int = 20) -> None:
    """An environment's contexts depend on (seed, replica, step) alone, and fit its problem; so do its outcomes.

    Args:
        environment: any of `evenhand.environments`, or your own.
        policy: whose decisions it answers; one that draws a single candidate blindly by default.
        rounds: how long it is watched.

    Raises:
        AssertionError: naming the promise that is broken.
        InvalidInput: a context or an outcome that does not fit the problem.

    >>> from evenhand.environments import Court
    >>> check_environment(Court())
    """
    problem = environment.problem
    model = Blank(environment.features, len(problem.learned))
    policy = policy or Policy(problem=problem, model=model, goals=(indifferent(problem),), choice=Random())
    ahead, back = environment.start(5, _IDS), environment.start(5, _IDS)
    steps = min(rounds, ahead.steps)
    contexts = [ahead.context(step) for step in range(steps)]
    for step in reversed(range(steps)):
        _same_records(contexts[step], back.context(step), "a context is a pure function of (seed, replica, step)")
    together = list(_run(policy, environment, _IDS, steps))
    for i, replica in enumerate(_IDS):
        for step, solo in enumerate(_run(policy, environment, np.array([replica]), steps)):
            whole = together[step]
            _same_records(_alone(whole.context, i), solo.context, "a context does not depend on the batch")
            _same_records(_alone(whole.taken, i), solo.taken, "what is taken does not depend on the batch")
            _require(len(whole.arrivals) == len(solo.arrivals), "outcomes arrive alike in a batch and alone")
            for a, b in zip(whole.arrivals, solo.arrivals, strict=True):
                _same(a.y[i : i + 1], b.y, "outcomes do not depend on the batch")
    for r in together:
        checks.context(r.context, len(_IDS), environment.features, problem)
        _require(bool((r.taken.rounds <= r.decision.rounds).all()), "a world takes a decision or leaves it")
        _same(r.taken.plays, r.decision.plays, "a world takes the plays of a decision as they are")
        for a in r.arrivals:
            checks.outcomes(a.y, None, a.decision, problem)
        if r.expected is not None:
            checks.outcomes(r.expected, None, r.taken, problem)


def check_policy(policy: Policy, environment: Environment, *, rounds: int = 60) -> None:
    """A policy acts alike in a batch, alone, and after its state was saved and loaded; `decide` changes nothing.

    Raises:
        AssertionError: naming the promise that is broken.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> check_policy(uniform(Court().problem, features=5), Court())
    """
    together = list(_run(policy, environment, _IDS, rounds))
    for d in (r.decision for r in together):
        _check_pick(d.plays, d.probabilities, d.playable, policy.choice.plays)
        _same(d.rounds, (d.plays[:, 0] >= 0).astype(float), "a round counts where something is played")
    for i, replica in enumerate(_IDS):
        for step, solo in enumerate(_run(policy, environment, np.array([replica]), rounds)):
            _same_records(_alone(together[step].decision, i), solo.decision, f"replica {replica} acts as it does alone")
    restless = list(_run(policy, environment, _IDS, rounds, disturb=True))
    for a, b in zip(together, restless, strict=True):
        _same_records(a.decision, b.decision, "a policy goes on alike after rounds of 0 and being saved and loaded")


class _Round(NamedTuple):
    context: Context
    decision: Decision
    taken: Decision
    arrivals: tuple[Arrival, ...]
    expected: Floats | None


def _run(policy: Policy, environment: Environment, ids: Ints, rounds: int, disturb: bool = False) -> Iterator[_Round]:
    world, state = environment.start(5, ids), policy.start(seed=5, replicas=ids.tolist())
    for step in range(min(rounds, world.steps)):
        context = world.context(step)
        before = _snapshot(state)
        decision = policy.decide(state, context)
        _unchanged(before, state, "`decide` leaves the state as it is")
        if disturb and step % 7 == 3:
            policy.commit(state, context, decision._replace(rounds=np.zeros(len(ids))))
        if disturb and step == rounds // 2:
            with TemporaryDirectory() as folder:
                policy.save(state, Path(folder) / "state.npz")
                state = policy.load(Path(folder) / "state.npz")
        taken, arrivals = world.respond(step, context, decision)
        policy.commit(state, context, taken)
        for a in arrivals:
            policy.learn(state, a.decision, a.y)
            if disturb:
                policy.learn(state, a.decision._replace(rounds=np.zeros(len(ids))), a.y)
        yield _Round(context, decision, taken, tuple(arrivals), world.expected(context, taken.plays))


def check_objective(
    objective: Objective, *, low: float = 0.05, high: float = 0.95, beta: float = 0.3, tolerance: float = 1e-9
) -> None:
    """An objective is concave with the supergradient that it states, alike in a batch and alone; so are its abilities.

    Equation: f(y) <= f(z) + g(z).(y - z), |f(y) - f(z)| <= L |y - z|, and the prox and the maximizer are no worse than
    any other point that is tried.

    Args:
        objective: any of `evenhand.objectives`, or your own.
        low, high: averages between these are in its domain.
        beta: of the prox.
        tolerance: how far off its numbers may be, per unit of distance.

    Raises:
        AssertionError: naming the promise that is broken.

    >>> from evenhand.objectives import GeneralizedGini
    >>> check_objective(GeneralizedGini(("a", "b", "c")))
    """
    m, draw = len(objective.outcomes), _Draw(np.arange(12), 0)
    y, z = low + (high - low) * draw(1, m), low + (high - low) * draw(2, m)
    z[0] = z[0, 0]  # all equal, where many objectives have their kink
    theta = 4.0 * draw(3, m) - 2.0
    objective.check(z, "a point inside the domain")
    value, slope = _answer(objective.value, z), _answer(objective.supergradient, z)
    _require(value.shape == z.shape[:1] and slope.shape == z.shape, "values and supergradients have shapes () and (m)")
    for step in (y - z, 0.01 * (y - z)):
        gain, far = objective.value(z + step) - value, np.sqrt((step**2).sum(1))
        slack = tolerance * (1.0 + far)
        _require(bool((gain <= (slope * step).sum(1) + slack).all()), "f(y) <= f(z) + g.(y - z)")
        _require(bool((np.abs(gain) <= objective.lipschitz * far + slack).all()), "|f(y) - f(z)| <= L |y - z|")
    if isinstance(objective, Proximal) and _able(lambda: objective.prox(z, beta)):
        best = _answer(lambda points: objective.prox(points, beta), z)
        reached = objective.value(best) - ((best - z) ** 2).sum(1) / (2.0 * beta)
        for other in (y, z, best + 0.01 * (draw(4, m) - 0.5)):
            worth = objective.value(other) - ((other - z) ** 2).sum(1) / (2.0 * beta)
            _require(bool((worth <= reached + tolerance).all()), "the prox is no worse than any other point")
    if isinstance(objective, Conjugate) and _able(lambda: objective.maximizer(theta)):
        top = _answer(objective.maximizer, theta)
        _require(bool(((top >= 0.0) & (top <= 1.0)).all()), "the maximizer is in the unit cube")
        best_value = conjugate(objective, theta)
        for other in (np.clip(y, 0.0, 1.0), np.clip(top + 0.01 * (draw(5, m) - 0.5), 0.0, 1.0)):
            worth = (theta * other).sum(1) + objective.value(other)
            _require(bool((worth <= best_value + tolerance).all()), "the maximizer is no worse than any other point")


def _able(ask: Callable[[], Floats]) -> bool:
    """Whether an ability is there, as a sum of objectives may have to refuse it."""
    try:
        ask()
    except InvalidInput:
        return False
    return True


def _answer(ask: Callable[[Floats], Floats], z: Floats) -> Floats:
    """What is asked of a batch, the same of each row alone, with nothing changed on the way."""
    given, out = z.copy(), ask(z)
    _require(bool(np.isfinite(out).all()), "answers are finite")
    _same(z, given, "an objective leaves what it is handed as it is")
    for i, row in enumerate(z):
        _same(out[i], np.asarray(ask(row)), "a replica has in a batch what it has alone")
    return out


class _Draw(NamedTuple):
    """Numbers in [0, 1) that depend on the replica, the round and what they are for, and on nothing else."""

    ids: Ints
    t: int

    def __call__(self, what: int, *shape: int) -> Floats:
        numbers = Luck(seed=what, replicas=self.ids).uniform(Stream.SAMPLE, np.array([self.t]), math.prod(shape))
        return numbers.reshape(len(self.ids), *shape)


def _context(problem: Problem, draw: _Draw, candidates: int) -> Context:
    which = (draw(11, candidates) * len(problem.actions)).astype(np.int64)
    sizes = np.array([len(g.names) for g in problem.groups], np.int64)
    groups = np.cumsum(sizes) - sizes + (draw(12, len(sizes)) * sizes).astype(np.int64)
    features = np.zeros((len(which), candidates, 1))
    return Context(features, problem.declared[which], groups, np.ones((1, candidates), bool))


def _shares(problem: Problem, draw: _Draw) -> Floats:
    believed = 0.1 + 0.8 * draw(13, len(problem.shares))
    return np.asarray(np.where(np.isnan(problem.shares), believed, problem.shares))


def _decision(context: Context, shares: Floats, plays: int, rounds: Floats) -> Decision:
    count, candidates = context.known.shape[:2]
    none = np.zeros((count, 0, 0))
    return Decision(
        plays=np.tile(np.arange(plays), (count, 1)),
        probabilities=np.tile((np.arange(candidates) < plays).astype(float), (count, 1)),
        rounds=rounds,
        steered=np.ones(count),
        features=context.features[:, :plays],
        known=np.ascontiguousarray(context.known[:, :plays]),
        groups=context.groups,
        shares=shares,
        prices=none,
        quotes=(none,),
        mean=np.zeros((count, 1, candidates)),
        bonus=np.zeros((count, 1, candidates)),
        playable=np.ones((count, candidates), bool),
    )


def _snapshot(state: object) -> dict[str, np.ndarray[Any, Any]]:
    return {path: z.copy() for path, z in flatten(state)}


def _unchanged(before: dict[str, np.ndarray[Any, Any]], state: object, promise: str) -> None:
    after = dict(flatten(state))
    _require(before.keys() == after.keys(), promise)
    for path, z in before.items():
        _require(z.dtype != object, f"a state holds arrays and numbers, unlike {path}")
        _same(z, after[path], f"{promise}: {path}")


def _alone(record: Any, i: int) -> Any:
    """The part of a record that belongs to one replica; what leads with 1 belongs to all."""

    def cut(z: Any) -> Any:
        return tuple(cut(part) for part in z) if isinstance(z, tuple) else z[i : i + 1] if len(z) > 1 else z

    return type(record)(*(cut(z) for z in record))


def _same_records(a: Any, b: Any, promise: str) -> None:
    for name, left, right in zip(a._fields, a, b, strict=True):
        for z, other in zip(*((p if isinstance(p, tuple) else (p,)) for p in (left, right)), strict=True):
            _same(z, other, f"{promise}: {name}")


def _same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], promise: str) -> None:
    _require(a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all()), promise)


def _require(holds: bool, promise: str) -> None:
    if not holds:
        raise AssertionError(promise)
