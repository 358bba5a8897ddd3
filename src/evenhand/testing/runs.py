"""The contracts of environments and of policies in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from evenhand.choices.random import Random
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments.base import Arrival, Environment, World
from evenhand.goals.linear_reward import indifferent
from evenhand.models.tabular import NullModel
from evenhand.policy import checks
from evenhand.policy.policy import Policy
from evenhand.testing.promises import (
    IDS,
    check_unchanged,
    complete,
    record,
    require,
    same,
    same_records,
    select_replica,
    snapshot,
    sound_plays,
)


def check_environment(environment: Environment, *, policy: Policy | None = None, rounds: int = 20) -> None:
    """Check that contexts are pure functions of (seed, replica, step), and that contexts and outcomes fit the problem.

    Outcomes must not depend on which other replicas run, nor on earlier steps, unless the world says why it is
    `unsaveable`. In a part of a round, places whose outcomes do not arrive must be NaN.

    Args:
        environment: any of `evenhand.environments`, or your own.
        policy: the policy whose decisions it answers; by default one that draws candidates at random.
        rounds: how many are checked.

    Raises:
        InvalidInput: a context or an outcome does not fit the problem.

    >>> from evenhand.environments import Court
    >>> check_environment(Court())
    """
    complete(environment, Environment)
    problem = environment.problem
    model = NullModel(environment.n_features, len(problem.learned))
    choice = Random(n_plays=problem.n_plays)
    policy = policy or Policy(problem=problem, model=model, goals=(indifferent(problem),), choice=choice)
    ahead, back = environment.start(5, IDS), environment.start(5, IDS)
    complete(ahead, World)
    steps = min(rounds, ahead.steps)
    contexts = [ahead.context(step) for step in range(steps)]
    for context in contexts:
        record(context, Context, "a context")
    for step in reversed(range(steps)):
        same_records(contexts[step], back.context(step), "a context is a pure function of (seed, replica, step)")
    together = list(_run(policy, environment, IDS, steps))
    if not getattr(back, "unsaveable", ""):
        for step in reversed(range(steps)):
            taken, arrivals = back.respond(step, back.context(step), together[step].decision)
            promise = "what follows from a decision does not depend on earlier steps"
            same_records(together[step].taken, taken, promise)
            require(len(arrivals) == len(together[step].arrivals), promise)
            for a, b in zip(together[step].arrivals, arrivals, strict=True):
                same(a.y, b.y, promise)
    in_parts = any(a.pending is not None for r in together for a in r.arrivals)  # at different steps for every replica
    for i, replica in enumerate(IDS):
        for step, solo in enumerate(_run(policy, environment, np.array([replica]), steps)):
            whole = together[step]
            same_records(select_replica(whole.context, i), solo.context, "a context does not depend on the batch")
            same_records(select_replica(whole.taken, i), solo.taken, "what is taken does not depend on the batch")
            mine = [a for a in whole.arrivals if not in_parts or _brings(a, i)]
            own = [a for a in solo.arrivals if not in_parts or _brings(a, 0)]
            require(len(mine) == len(own), "outcomes arrive alike in a batch and alone")
            for a, b in zip(mine, own, strict=True):
                same(a.y[i : i + 1], b.y, "outcomes do not depend on the batch")
                same(_to_come(a)[i : i + 1], _to_come(b), "what is pending does not depend on the batch")
    for r in together:
        checks.context(r.context, len(IDS), environment.n_features, problem)
        require(bool((r.taken.counted <= r.decision.counted).all()), "a world takes a decision or leaves it")
        same(r.taken.plays, r.decision.plays, "a world takes the plays of a decision as they are")
        for a in r.arrivals:
            checks.outcomes(a.y, None, a.exposed, a.decision, problem)
        if r.expected is not None:
            checks.outcomes(r.expected, None, None, r.taken, problem)


def check_policy(policy: Policy, environment: Environment, *, rounds: int = 60) -> None:
    """Check that a policy acts the same in a batch, alone, and after saving and loading; `decide` must change nothing.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> check_policy(uniform(Court().problem, n_features=5), Court())
    """
    together = list(_run(policy, environment, IDS, rounds))
    for d in (r.decision for r in together):
        sound_plays(d.plays, d.propensities, policy.choice.n_plays)
        same(d.counted, (d.plays[:, 0] >= 0).astype(float), "a round counts where something is played")
    for i, replica in enumerate(IDS):
        for step, solo in enumerate(_run(policy, environment, np.array([replica]), rounds)):
            same_records(
                select_replica(together[step].decision, i), solo.decision, f"replica {replica} acts as it does alone"
            )
    restless = list(_run(policy, environment, IDS, rounds, disturb=True))
    for a, b in zip(together, restless, strict=True):
        same_records(
            a.decision,
            b.decision,
            "a policy goes on alike after decisions that do not count and being saved and loaded",
        )


def _brings(a: Arrival, i: int) -> bool:
    """Return whether an arrival has an outcome of one replica; outcomes that do not arrive are NaN."""
    return bool(a.decision.counted[i] > 0.0 and not np.isnan(a.y[i, a.decision.plays[i] >= 0]).all())


def _to_come(a: Arrival) -> Bools:
    return np.zeros(a.decision.plays.shape, bool) if a.pending is None else a.pending


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
        before = snapshot(state)
        decision = policy.decide(state, context)
        check_unchanged(before, state, "`decide` leaves the state as it is")
        if disturb and step % 7 == 3:
            policy.commit(state, context, decision._replace(counted=np.zeros(len(ids))))
        if disturb and step == rounds // 2:
            with TemporaryDirectory() as folder:
                policy.save(state, Path(folder) / "state.npz")
                state = policy.load(Path(folder) / "state.npz")
        answer = world.respond(step, context, decision)
        require(isinstance(answer, tuple) and len(answer) == 2, "`respond` returns a decision and its arrivals, a pair")
        taken, arrivals = answer
        for a in arrivals:
            require(isinstance(a, Arrival), f"an arrival is of type Arrival, not {type(a).__name__}")
        policy.commit(state, context, taken)
        for a in arrivals:
            policy.learn(state, a.decision, a.y, exposed=a.exposed, pending=a.pending)
            if disturb:
                empty = a.decision._replace(counted=np.zeros(len(ids)), id=np.full(3, -1))
                policy.learn(state, empty, a.y)
        yield _Round(context, decision, taken, tuple(arrivals), world.expected(context, taken.plays))
