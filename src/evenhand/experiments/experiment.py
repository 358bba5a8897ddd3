"""The contract of an experiment, and the discovery of experiments. Imports stay light, so help appears at once."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from evenhand.core.registry import closest

if TYPE_CHECKING:
    from evenhand.environments.base import Environment
    from evenhand.policy.policy import Policy
    from evenhand.report.results import Measurement, Results
    from evenhand.run.trace import Trace

Point = Mapping[str, float]  # a point of a sweep: a value per parameter; empty without a sweep


class Case(NamedTuple):
    """One system at one point: a policy and its world, or the reason why there is no policy."""

    at: Point
    system: str
    world: Environment
    policy: Policy | None
    refused: str = ""


class Run(NamedTuple):
    """A finished case; the trace is None if the policy was refused."""

    case: Case
    trace: Trace | None


def traces(runs: Sequence[Run], without: str = "") -> list[Trace]:
    """Return the traces of finished runs, without those of one system."""
    return [run.trace for run in runs if run.trace and run.case.system != without]


class Session(NamedTuple):
    """The state of a run: whether to show progress, as `simulate` takes it, and whether to stop early."""

    progress: bool | None
    asked_to_stop: Callable[[], bool]


class Section(Protocol):
    """A part of an experiment with its own runs, report and pictures."""

    @property
    def title(self) -> str:
        """One or more lines, printed before the section runs."""

    @property
    def points(self) -> Sequence[Point]:
        """The points of the sweep; a single empty one without a sweep."""
        return [{}]

    def cases(self, point: Point) -> Iterator[Case]:
        """Yield the cases of a point, each after the previous one has finished.

        If runs are long, the method is called twice, first to estimate the time. `Session.asked_to_stop` is then true,
        and long work after the last case is skipped, as after Ctrl-C. Long work before the cases should be cached.
        """

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        """Compute the measurements of the runs so far."""

    def report(self, runs: Sequence[Run], results: Results) -> str:
        """Format the measurements as tables."""

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        """Draw the runs so far and return the paths of the pictures, if any."""
        return []


class Experiment(Protocol):
    """A frozen dataclass whose fields are its options; the command line can set those declared with `option`.

    >>> from dataclasses import dataclass
    >>> from evenhand.experiments.options import option, options, settings
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Small:
    ...     name: ClassVar[str] = "small"
    ...     title: ClassVar[str] = "a small one"
    ...     about: ClassVar[str] = "Nothing to be seen."
    ...     replicas: int = option(20, "R")
    ...     seed: int = option(0, "S", "of all luck", least=None)
    ...
    ...     def sections(self, session: Session) -> Iterator[Section]:
    ...         return iter(())
    >>> [o.flag for o in options(Small)], settings(Small(replicas=3))
    (['--replicas', '--seed'], {'replicas': 3, 'seed': 0})
    """

    name: ClassVar[str]  # the name on the command line
    title: ClassVar[str]  # one line of help
    about: ClassVar[str]  # a paragraph of help

    @property
    def replicas(self) -> int:
        """The number of runs of each policy."""

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""

    def sections(self, session: Session) -> Iterable[Section]:
        """Return the sections; all are built before the first one runs."""


def sections_of_study(experiment: Experiment, session: Session) -> Iterator[Section]:
    """Build the sections of an experiment by the module `study` beside its options.

    The module is imported only here, as it imports everything that the experiment runs.
    """
    found: Iterator[Section] = import_module(f"{type(experiment).__module__}.study").sections(experiment, session)
    return found


def discover() -> dict[str, type[Experiment]]:
    """Find all experiments in this folder, by name.

    >>> "court" in discover()
    True
    """
    found: dict[str, type[Experiment]] = {}
    for info in pkgutil.iter_modules([str(Path(__file__).parent)], f"{__name__.rpartition('.')[0]}."):
        module = import_module(info.name) if info.ispkg else None
        for thing in vars(module).values() if module else ():
            if getattr(thing, "__module__", "") == info.name and hasattr(thing, "sections"):
                found[thing.name] = thing
    return found


def find(name: str) -> type[Experiment]:
    """Find an experiment by its name.

    Raises:
        InvalidInput: there is no experiment of this name.

    >>> find("court")(replicas=2).replicas
    2
    """
    return closest("experiment", discover(), name)
