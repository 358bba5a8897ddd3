"""What an experiment is, and where experiments are found. Nothing heavy is imported, so that help appears at once."""

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

Point = Mapping[str, float]  # where in a sweep: a value per parameter; empty where nothing is swept


class Case(NamedTuple):
    """One system at one point: a policy and the world that it acts in, or the reason why there is no policy."""

    at: Point
    system: str
    world: Environment
    policy: Policy | None
    refused: str = ""


class Run(NamedTuple):
    """A case that is done; the trace is None where the policy was refused."""

    case: Case
    trace: Trace | None


class Session(NamedTuple):
    """Whether to show progress bars (None: only in a terminal), and whether to end early, as after Ctrl-C."""

    progress: bool | None
    asked_to_stop: Callable[[], bool]


class Section(Protocol):
    """A part of an experiment that is run, reported and drawn by itself."""

    @property
    def title(self) -> str:
        """One or more lines, printed before the section is run."""

    @property
    def points(self) -> Sequence[Point]:
        """The points of a sweep; a single empty one where nothing is swept."""

    def cases(self, point: Point) -> Iterator[Case]:
        """The cases of a point, each made when the one before is done.

        They are asked for twice if runs are long, first to estimate the time; `Session.asked_to_stop` is then true, and
        long work after the last case is left out, as after Ctrl-C. Long work before the cases is best cached.
        """

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        """All measurements of the section, as far as it was run."""

    def report(self, runs: Sequence[Run], results: Results) -> str:
        """The measurements as text, in tables."""

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        """Draw what was run, and return the paths of the pictures; none where there is nothing to draw."""


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

    name: ClassVar[str]  # on the command line
    title: ClassVar[str]  # one line of help
    about: ClassVar[str]  # a paragraph of help

    @property
    def replicas(self) -> int:
        """The number of runs of each policy."""

    @property
    def seed(self) -> int:
        """The seed of all luck."""

    def sections(self, session: Session) -> Iterable[Section]:
        """The sections; all are made before the first is run."""


def sections_of_study(experiment: Experiment, session: Session) -> Iterator[Section]:
    """The sections that the module `study` beside an experiment's options makes of them.

    The module is imported only now, as it needs everything that an experiment runs.
    """
    found: Iterator[Section] = import_module(f"{type(experiment).__module__}.study").sections(experiment, session)
    return found


def discover() -> dict[str, type[Experiment]]:
    """Every experiment in this folder by its name.

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
    """An experiment by its name.

    Raises:
        InvalidInput: there is none of this name.

    >>> find("court")(replicas=2).replicas
    2
    """
    return closest("experiment", discover(), name)
