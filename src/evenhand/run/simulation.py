"""The simulation of a policy in an environment: the loop around decide, commit and learn; one trace of several."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import Outlook
from evenhand.core.progress import Work
from evenhand.core.records import Context, Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Floats, Ints
from evenhand.environments.base import Arrival, Environment, World, case_skipper
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.run.blocks import Blocks
from evenhand.run.checkpoint import Checkpoint, Checkpoints, Halfway
from evenhand.run.parallel import Watch, check_jobs, run_chunks
from evenhand.run.plays import Plays
from evenhand.run.python_policy import AnyPolicy
from evenhand.run.recorder import Recorder, empty
from evenhand.run.trace import SUMS, TRUTHS, Trace

_EVERY = 64  # steps between two calls of a watch
TRIAL = 10 * _EVERY  # steps of a trial


def join(traces: list[Trace]) -> Trace:
    """Join traces of different replicas of one run.

    Replicas that finished early keep their last sums. If any was interrupted, only the points that all of these reached
    are kept, so that every replica is measured over the same steps.
    """
    if len(traces) == 1:
        return traces[0]
    first, broken = traces[0], [t for t in traces if not t.finished]
    if broken:
        times = broken[0].times
        for t in broken:
            times = np.intersect1d(times, t.times)
    else:
        times = max((t.times for t in traces), key=lambda z: int(z[-1]))  # the grid is one, and goes on to the last end
    times = times[times >= max(t.times[0] for t in traces)]
    at = [np.searchsorted(t.times, times, side="right") - 1 for t in traces]

    def join_points(name: str) -> Floats:
        return np.concatenate([getattr(t, name)[i] for t, i in zip(traces, at, strict=True)], 1)

    elapsed, truth = join_points("elapsed"), all(t.expected is not None for t in traces)

    def join_ends(name: str) -> Floats:
        after = np.concatenate([getattr(t, name) for t in traces])
        return np.where(after < elapsed[-1], after, np.nan) if broken else after  # what ended later is cut off

    sums: dict[str, Any] = {name: join_points(name) for name in SUMS}
    sums |= {name: join_points(name) if truth else None for name in TRUTHS}
    lengths = [len(t.plays.counted) for t in traces if t.plays is not None]
    steps = int(times[-1]) if broken else max(lengths, default=0)
    cut = [t.plays.until(steps) for t in traces if t.plays is not None]
    return replace(
        first,
        replicas=np.concatenate([t.replicas for t in traces]),
        finished=not broken,
        times=times,
        **sums,
        offered_steps=np.concatenate([t.offered_steps for t in traces]),
        stopped=join_ends("stopped"),
        restricted_after=join_ends("restricted_after"),
        same=None if first.same is None else np.concatenate([t.same for t in traces]),
        same_since=None if broken or first.same is None else np.concatenate([t.same_since for t in traces]),
        held_out=None if first.held_out is None else np.concatenate([t.held_out for t in traces]),
        credits=None if first.credits is None else np.concatenate([t.credits for t in traces]),
        by_period=None if broken or first.by_period is None else np.concatenate([t.by_period for t in traces]),
        plays=Plays(*(np.concatenate(z, 1) for z in zip(*cut, strict=True))) if len(cut) == len(traces) else None,
    )


class Round(NamedTuple):
    """One step of the loop."""

    step: int
    context: Context
    decision: Decision
    taken: Decision
    arrivals: Sequence[Arrival]


def play(policy: Policy, state: PolicyState, world: World, steps: range) -> Iterator[Round]:
    """Run the loop of context, decision, outcomes and learning. The state changes in place.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> court = Court(horizon=10)
    >>> policy = uniform(court.problem, n_features=5)
    >>> state = policy.start(seed=1, replicas=2)
    >>> rounds = list(play(policy, state, court.start(1, state.replicas), range(10)))
    >>> state.t
    array([10., 10.])
    """
    state.recent.over = True  # worlds may go on after the horizon
    for step in steps:
        context = world.context(step)
        decision = policy.decide(state, context)
        taken, arrivals = world.respond(step, context, decision)
        policy.commit(state, context, taken)
        for arrival in arrivals:
            policy.learn(state, arrival.decision, arrival.y, exposed=arrival.exposed, pending=arrival.pending)
        yield Round(step, context, decision, taken, arrivals)


@checked
def simulate(
    policy: AnyPolicy,
    environment: Environment,
    *,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    record: Literal["grid", "all"] = "grid",
    jobs: int = 1,
    progress: bool | None = None,
    checkpoints: Checkpoints | Path | None = None,
    compiled: bool | None = None,
) -> Trace:
    """Run a policy over its horizon in many replicas at once.

    Replica i meets the same contexts and luck whatever the policy, the other replicas and the number of jobs.
    Ctrl-C ends the run early; what was recorded until then is returned with `finished` False.

    Args:
        policy: made for the environment's problem.
        environment: the source of contexts and outcomes.
        replicas: how many, numbered from 0, or a list of their numbers.
        seed: of all random numbers, in [0, 2**64).
        record: running sums on a grid of rounds (even on a logarithmic scale, and 1, 2, 5, 10, 20, ...: `Trace.at`), or
            every play as well.
        jobs: processes to share the replicas among. No number depends on it where BLAS has the same threads in all
            processes, which matters to models of about a hundred parameters and more: set `OPENBLAS_NUM_THREADS`.
        progress: whether to show how far it has come. None draws a line in a terminal, and writes some elsewhere.
        checkpoints: a folder for the state of the run, or `run.Checkpoints(folder)` with settings, so that the same
            call goes on after an interruption and gives what an uninterrupted one gives, bit for bit. The number of
            jobs must be the same. A file that was cut off is ignored with a warning; so is the wish, where a part of
            the policy or the world cannot be saved.
        compiled: whether rounds are played in blocks of one compiled call each, as far as all parts have views for it;
            by default where compiling or loading the blocks costs less time than they save. It changes no number.

    Raises:
        InvalidInput: the policy was made for another problem, or an argument is out of its range; or plays are to be
            recorded, which checkpoints do not keep.

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
    check_jobs(jobs)
    kept = checkpoints if checkpoints is None or isinstance(checkpoints, Checkpoints) else Checkpoints(checkpoints)
    if kept is not None:
        if record == "all":
            raise InvalidInput("record", "'grid', as checkpoints do not keep every play", record)
        kept.prepare()
    work = [t._replace(compiled=compiled) for t in _tasks(policy, environment, replicas, seed, record, jobs, kept)]
    steps, done = (
        environment.start(seed, work[0].replicas[:1]).steps * len(work),
        sum(_stored_steps(task) for task in work),
    )
    with Work(policy.name, "step", steps, done=done, progress=progress) as shown:
        trace = join(run_chunks(_run, work, shown, jobs))
    for task in work:
        if task.kept is not None and trace.finished:
            task.kept.remove()
    return trace


def simulate_here(
    policy: Policy,
    environment: Environment,
    *,
    replicas: int | Sequence[int],
    seed: int,
    checkpoints: Checkpoints | None,
    watch: Watch,
) -> Trace:
    """Run all replicas in this process, as `simulate` does with one job, for a caller that shows the work."""
    (task,) = _tasks(policy, environment, replicas, seed, "grid", 1, checkpoints)
    trace = _run(task, watch)
    if task.kept is not None and trace.finished:
        task.kept.remove()
    return trace


def share_in_checkpoints(
    policy: Policy,
    environment: Environment,
    *,
    replicas: int | Sequence[int],
    seed: int,
    jobs: int,
    checkpoints: Checkpoints,
) -> float:
    """Compute the part of its steps that `simulate` would skip, as checkpoints have them, in [0, 1]."""
    work = _tasks(policy, environment, replicas, seed, "grid", jobs, checkpoints)
    return sum(map(_stored_steps, work)) / (environment.start(seed, work[0].replicas[:1]).steps * len(work))


def pace(
    policy: Policy, environment: Environment, *, replicas: int, seed: int, asked_to_stop: Callable[[], bool]
) -> float:
    """Time a step of a run in one process, in seconds, by a trial; 0 if the run ends before the trial.

    The first steps are left out, in which kernels are compiled or loaded, and the slowest part of the others, as a
    single hiccup would be multiplied. Whatever else the machine does counts.
    """
    ticks: list[float] = []

    def watch(steps: int) -> bool:
        ticks.append(time.perf_counter())
        return len(ticks) * _EVERY < TRIAL and not asked_to_stop()

    _run(_Task(policy, environment, np.arange(replicas), None, seed, "grid"), watch)
    took = np.sort(np.diff(ticks[1:-1]))[:-1]  # the last tick is of the end
    return float(took.mean() / _EVERY) if len(took) else 0.0


class _Task(NamedTuple):
    """One chunk of replicas, and its checkpoint."""

    policy: Policy
    environment: Environment
    replicas: Ints
    kept: Checkpoint | None
    seed: int
    record: Literal["grid", "all"]
    compiled: bool | None = None


def _tasks(
    policy: Policy,
    environment: Environment,
    replicas: int | Sequence[int],
    seed: int,
    record: Literal["grid", "all"],
    jobs: int,
    checkpoints: Checkpoints | None,
) -> list[_Task]:
    """Divide a run into chunks of replicas, at most one per job."""
    ids, found = policy.start(seed=seed, replicas=replicas).replicas, []
    for chunk in np.array_split(ids, min(jobs, len(ids))):
        kept = None
        if checkpoints is not None:
            try:
                kept = Checkpoint(checkpoints, policy.name, (policy, environment, chunk, seed))
            except InvalidInput as error:  # something that has no hash
                warnings.warn(f"an interrupted run will start from the beginning: {error}", stacklevel=3)
        found.append(_Task(policy, environment, chunk, kept, seed, record))
    return found


def _stored_steps(task: _Task) -> int:
    return 0 if task.kept is None else task.kept.steps()


def _blocks(task: _Task, state: PolicyState, world: World, recorder: Recorder, steps: int) -> Blocks | None:
    """Return the object that plays rounds in compiled blocks, None if Python is to play them."""
    if task.compiled is False:
        return None
    blocks = Blocks(task.policy, state, world, recorder)
    return blocks if task.compiled or blocks.pays(steps) else None


def advance(
    policy: Policy, state: PolicyState, world: World, recorder: Recorder, blocks: Blocks | None, steps: range
) -> None:
    """Play steps, in compiled blocks as far as these can, and record them."""
    step = steps.start
    while step < steps.stop:
        if blocks is not None:
            step = blocks.run(step, steps.stop)
        by_hand = range(step, min(step + 1, steps.stop) if blocks is not None and blocks.works else steps.stop)
        for r in play(policy, state, world, by_hand):
            expected = world.expected(r.context, r.taken.plays)
            recorder.add(r.step, r.decision, r.taken, r.arrivals, expected)
        if blocks is not None and by_hand:
            blocks.renew()
        step = by_hand.stop


def _run(task: _Task, watch: Watch) -> Trace:
    """Run one chunk of replicas in this process."""
    policy, kept, grid = task.policy, task.kept, task.record == "grid"
    world = task.environment.start(task.seed, task.replicas)

    def start() -> Halfway:
        state = policy.start(seed=task.seed, replicas=task.replicas.tolist())
        return Halfway(task.seed, task.replicas, state, empty(policy.problem, len(task.replicas), world.steps))

    here = start() if kept is None else kept.read(start)
    state, finished = here.state, True
    recorder, comes = Recorder(policy, state, world, here.record, not grid), case_skipper(world)
    if kept is not None:
        kept.refuse(world)
    step, end = here.record.steps, here.record.steps if here.complete else world.steps
    blocks, began, outlook = _blocks(task, state, world, recorder, end - step), step, Outlook()
    while step < end:
        first, step = step, min(end, (step // _EVERY + 1) * _EVERY, max(began + 1, 2 * step - began))
        advance(policy, state, world, recorder, blocks, range(first, step))
        outlook.tell(step - began, end - step)
        if step % _EVERY == 0:
            ended = comes.ended(step)
            if grid and recorder.all_arrived and (policy.over(state) | ended).all():
                recorder.idle(ended)
                break
            if not watch(_EVERY):
                finished = False
                break
            if kept is not None:
                kept.write_if_due(here)
    here.complete = finished
    if kept is not None:
        kept.write(here)  # also where this chunk has finished, as another one may have been interrupted
    finished &= watch(0)  # so that a Ctrl-C in the last steps also ends an experiment around this run
    return recorder.trace(task.seed, finished)
