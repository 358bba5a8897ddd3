"""Running a policy in an environment: the loop around decide, commit and learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from tqdm import tqdm

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Decision
from evenhand.core.types import Ints
from evenhand.environments.base import Arrival, Environment, World
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.run.parallel import bar_disabled, run_chunks
from evenhand.run.recorder import Recorder
from evenhand.run.trace import Trace, join

Watch = Callable[[int], bool]  # told how many steps were done since it was last called; says whether to go on
_EVERY = 64  # steps between two calls of a watch


class Round(NamedTuple):
    """What happened in one step of the loop."""

    step: int
    context: Context
    decision: Decision
    taken: Decision
    arrivals: Sequence[Arrival]


def play(policy: Policy, state: PolicyState, world: World, steps: range) -> Iterator[Round]:
    """The loop: context, decision, outcomes, learning. The state changes in place.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> court = Court(horizon=10)
    >>> policy = uniform(court.problem, n_features=5)
    >>> state = policy.start(seed=1, replicas=2)
    >>> rounds = list(play(policy, state, court.start(1, state.replicas), range(10)))
    >>> state.t
    array([10., 10.])
    """
    for step in steps:
        context = world.context(step)
        decision = policy.decide(state, context)
        taken, arrivals = world.respond(step, context, decision)
        policy.commit(state, context, taken)
        for arrival in arrivals:
            policy.learn(state, arrival.decision, arrival.y, exposed=arrival.exposed)
        yield Round(step, context, decision, taken, arrivals)


def simulate(
    policy: Policy,
    environment: Environment,
    *,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    record: Literal["grid", "all"] = "grid",
    jobs: int = 1,
    progress: bool | None = None,
) -> Trace:
    """Run a policy over its horizon in many replicas at once.

    Replica i meets the same contexts and luck whatever the policy, the other replicas and the number of jobs.
    Ctrl-C ends the run early; what was recorded until then is returned with `finished` False.

    Args:
        policy: what decides; its problem must be the environment's.
        environment: where contexts and outcomes come from.
        replicas: how many, numbered from 0, or a list of their numbers.
        seed: of all luck, in [0, 2**64).
        record: running sums on a log-spaced grid of rounds, or every play as well.
        jobs: processes to share the replicas among.
        progress: show a progress bar; by default only in a terminal.

    Raises:
        InvalidInput: the policy was made for another problem, or an argument is out of its range.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> court = Court(horizon=100)
    >>> trace = simulate(uniform(court.problem, n_features=5), court, replicas=2, progress=False)
    >>> bool((trace.total("ride") <= 5).all())
    True
    """
    if policy.problem != environment.problem:
        raise InvalidInput("policy", "one made for the environment's problem", "one made for another problem")
    if record not in ("grid", "all"):
        raise InvalidInput("record", "'grid' or 'all'", record)
    if jobs < 1:
        raise InvalidInput("jobs", "a whole number of at least 1", jobs)
    ids = policy.start(seed=seed, replicas=replicas).replicas
    chunks = [c for c in np.array_split(ids, min(jobs, len(ids))) if len(c)]
    steps = environment.start(seed, ids[:1]).steps * len(chunks)
    with tqdm(total=steps, desc=policy.name, unit="step", leave=False, disable=bar_disabled(progress)) as bar:
        work = [(policy, environment, chunk, seed, record) for chunk in chunks]
        return join(run_chunks(_run, work, bar))


def _run(
    task: tuple[Policy, Environment, Ints, int, Literal["grid", "all"]],
    watch: Watch,
) -> Trace:
    """One chunk of replicas, in this process."""
    policy, environment, replicas, seed, record = task
    state = policy.start(seed=seed, replicas=replicas.tolist())
    world = environment.start(seed, state.replicas)
    recorder = Recorder(policy, state, world, record == "all")
    finished = True
    for r in play(policy, state, world, range(world.steps)):
        expected = world.expected(r.context, r.taken.plays)
        recorder.add(r.step, r.decision, r.taken, r.arrivals, expected)
        if r.step % _EVERY == _EVERY - 1:
            if record == "grid" and recorder.all_arrived and policy.over(state).all():
                recorder.idle()
                break
            if not watch(_EVERY):
                finished = False
                break
    finished &= watch(0)  # so that a Ctrl-C in the last steps also ends an experiment around this run
    return recorder.trace(seed, finished)
