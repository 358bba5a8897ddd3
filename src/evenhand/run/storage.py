"""Stored traces of finished runs and checkpoints of others, from which experiments and replays continue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from evenhand.core.errors import InvalidInput
from evenhand.core.files import replacement
from evenhand.core.validate import folder
from evenhand.environments.base import Environment
from evenhand.policy.policy import Policy
from evenhand.policy.saving import fingerprint
from evenhand.run.checkpoint import Checkpoints, file_name
from evenhand.run.simulation import share_in_checkpoints
from evenhand.run.trace import Trace
from evenhand.version import __version__


def load_or_run(
    place: Path | None,
    policy: Policy,
    world: Environment,
    replicas: int | Sequence[int],
    seed: int,
    run: Callable[..., Trace],
) -> Trace:
    """Load the stored trace of a policy in a world, or run it and store the trace if it finished.

    Traces are identified by a hash of everything that affects them: policy, world, replicas, seed and version. `run`
    stores its checkpoints in the same folder, but an algorithm in `Wrapped` has none. Nothing is stored if `place` is
    None.
    """
    if place is None:
        return run(checkpoints=None)
    path = _file(folder(place), policy, world, replicas, seed)
    if path.is_file():
        try:
            return Trace.load(path, policy.problem)
        except InvalidInput:  # a truncated file
            path.unlink()
    trace = run(checkpoints=None if getattr(policy.model, "selects", False) else Checkpoints(folder=place))
    if trace.finished:
        with replacement(path) as part:
            trace.save(part)
    return trace


def stored_share(
    place: Path | None, policy: Policy, world: Environment, replicas: int | Sequence[int], seed: int, jobs: int
) -> float:
    """Return the stored part of a run's steps, in [0, 1]."""
    if place is None:
        return 0.0
    if _file(place, policy, world, replicas, seed).is_file():
        return 1.0
    return share_in_checkpoints(
        policy, world, replicas=replicas, seed=seed, jobs=jobs, checkpoints=Checkpoints(folder=place)
    )


def _file(place: Path, policy: Policy, world: Environment, replicas: int | Sequence[int], seed: int) -> Path:
    """Name the file of a run.

    Raises:
        InvalidInput: a part of the policy or the world has no hash.
    """
    try:
        mark = fingerprint((policy, world, replicas, seed, __version__))
    except InvalidInput as error:
        expected = (
            "policies and environments that have a hash, by which their runs are found again: make an object of a "
            "class of your own a dataclass, and a function a class or a `functools.partial` of one"
        )
        raise InvalidInput("out", expected, error.got) from None
    return place / f"{file_name(policy.name, mark)}.npz"
