"""Checkpoints: the state of a run on disk, from which it continues after an interruption as if there had been none."""

from __future__ import annotations

import glob
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from evenhand.core.errors import CannotSave, InvalidInput, StateMismatch
from evenhand.core.signatures import checked
from evenhand.core.types import Ints
from evenhand.core.validate import file, on_disk
from evenhand.environments.base import World
from evenhand.policy.saving import PART, Mark, fingerprint, load, save
from evenhand.policy.state import PolicyState
from evenhand.run.recorder import Record
from evenhand.version import __version__


@checked
@dataclass(frozen=True)
class Checkpoints:
    """A folder for the checkpoints of runs, and the time between two of them.

    Args:
        folder: made if it does not exist. Every run has a file of its own, which is found again by a hash of policy,
            environment, replicas, seed and version, and is removed when the run has finished.
        every: seconds between two checkpoints of a run; one more is written when it is interrupted.

    Raises:
        InvalidInput: `every` is negative.
    """

    folder: Path
    every: float = field(default=60.0, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", file("Checkpoints.folder", self.folder))
        if not self.every >= 0:
            raise InvalidInput("Checkpoints.every", "seconds, at least 0", self.every)

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            InvalidInput: it cannot be made, or is a file.
        """
        with on_disk("Checkpoints.folder", "a folder, or the name of one that can be made"):
            self.folder.mkdir(parents=True, exist_ok=True)


@dataclass
class Halfway:
    """The state of a run between two steps: luck and worlds are pure functions of seed, replica and step."""

    seed: int
    replicas: Ints
    state: PolicyState
    record: Record
    complete: bool = False  # nothing is left to be played


def file_name(name: str, mark: str) -> str:
    """Make the name of a file about a policy from its own name and a hash.

    >>> file_name("pgd, hard/soft", "0a1b")
    'pgd,-hard-soft-0a1b'
    """
    plain = re.sub(r"[^\w.,=-]+", "-", name)[:80]
    return f"{plain}-{mark}"


class Checkpoint:
    """The file of one run, or of one chunk of its replicas."""

    def __init__(self, settings: Checkpoints, name: str, task: object) -> None:
        """Hash the task, which is everything that affects the run, only once, as audiences can be large."""
        self._mark = Mark(fingerprint((task, __version__)), {})
        self._every, self._written, self._obstacle = settings.every, time.monotonic(), ""
        self.path = settings.folder / f"{file_name(name, self._mark.shape)}.half.npz"

    def steps(self) -> int:
        """Read the number of steps done; 0 if there is no readable file."""
        try:
            with self.path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                return int(file[".record.steps"])
        except Exception:  # `read` says what is wrong with it
            return 0

    def read(self, start: Callable[[], Halfway]) -> Halfway:
        """Read the state of the run; if there is no readable file, the start of the run."""
        if not self.path.is_file():
            return start()
        fresh = start()
        try:
            found = load(lambda *, seed, replicas: start(), self._mark, self.path, ())
            if not _alike(fresh, found):
                raise StateMismatch(f"{self.path}: not a checkpoint of this run")
        except StateMismatch as error:
            warnings.warn(f"{error}; the run starts from the beginning", stacklevel=2)
            return fresh
        return found

    def refuse(self, world: World) -> None:
        """Warn that there will be no checkpoints, if the world remembers earlier steps."""
        self._refuse(getattr(world, "unsaveable", ""))

    def write(self, halfway: Halfway) -> None:
        """Write the state of the run; if it cannot be written, a warning says why, and the run continues."""
        if self._obstacle:
            return
        try:
            save(halfway, self._mark, self.path)
        except CannotSave as error:
            self._refuse(str(error))
        except OSError as error:  # such as a full disk; there may be room later
            warnings.warn(f"no checkpoint was written: {error}", stacklevel=3)
        self._written = time.monotonic()

    def write_if_due(self, halfway: Halfway) -> None:
        """Write the state of the run if the last checkpoint is old enough."""
        if time.monotonic() - self._written >= self._every:
            self.write(halfway)

    def remove(self) -> None:
        """Remove the file, and partial files left by killed processes."""
        for path in (self.path, *self.path.parent.glob(f"{glob.escape(self.path.name)}.*{PART}")):
            path.unlink(missing_ok=True)

    def _refuse(self, reason: str) -> None:
        self._obstacle = reason
        if reason:
            warnings.warn(f"an interrupted run will start from the beginning: {reason}", stacklevel=3)


def _alike(fresh: Halfway, found: Halfway) -> bool:
    """Return whether books and records are of the same run: of the same seed and replicas, and of the same sizes."""
    if found.seed != fresh.seed or not np.array_equal(found.replicas, fresh.replicas):
        return False
    pairs = [(fresh.state.books, found.state.books)]
    pairs += [(getattr(fresh.record, f.name), getattr(found.record, f.name)) for f in fields(Record)]
    for mine, read in ((np.asarray(one), np.asarray(other)) for one, other in pairs):
        if mine.shape != read.shape or mine.dtype != read.dtype:
            return False
    return 0 <= found.record.reached < len(fresh.record.totals_at)
