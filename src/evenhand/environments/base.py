"""The contract of an environment. Simulation, logged replay and live use differ only in their environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.problem import Problem


class Arrival(NamedTuple):
    """Outcomes that arrive in a step, of a decision in this or an earlier step."""

    step: int  # the step of the decision
    decision: Decision
    y: Floats  # (R, P, M + B) as for `Policy.learn`, before factors; NaN for plays that are pending or arrived before
    exposed: Bools | None = None  # (R, P) whether each play was exposed; None if all were
    pending: Bools | None = None  # (R, P) whether each play's outcome arrives later; None if none does


class World(Protocol):
    """A run of an environment for given replicas and one seed.

    Outcomes depend only on (seed, replica, step, context, decision), so a newly started world can continue from any
    step, as interrupted runs do. A world that remembers earlier steps states the reason in an attribute `unsaveable`;
    its runs cannot be resumed.
    """

    @property
    def steps(self) -> int:
        """The maximal number of steps."""

    @property
    def counts_idle_steps(self) -> bool:
        """Whether a step in which nothing could be played counts as a round, because cases keep coming."""

    def context(self, step: int) -> Context:
        """Return the context of a step; a pure function of (seed, replica, step)."""

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        """Return the decision as it was taken (counted = 0 if it was rejected), and the outcomes that arrive now."""

    def expected(self, context: Context, plays: Ints) -> Floats | None:
        """Return true means of the observed outcomes of plays, exposure included, before factors; None if unknown.

        `(P)->(P,M+B)`
        """


@runtime_checkable
class CaseSkipper(Protocol):
    """A world that skips cases that no policy could have played."""

    def cases(self, step: int) -> Floats:
        """Count the cases that a step stands for, `->(R)`."""

    def ended(self, step: int) -> Bools:
        """Say which replicas have no cases from a step on, `->(R)`."""


class _OneByOne:
    """Every step is one case, until the last step."""

    def cases(self, step: int) -> Floats:
        return _ONE

    def ended(self, step: int) -> Bools:
        return _NO


_ONE, _NO = np.ones(1), np.zeros(1, bool)


def case_skipper(world: World) -> CaseSkipper:
    """Return how a world skips cases; one that does not say so takes one after the other."""
    return world if isinstance(world, CaseSkipper) else _OneByOne()


class Environment(Protocol):
    """A problem with worlds to solve it in."""

    @property
    def problem(self) -> Problem:
        """The problem to solve."""

    @property
    def n_features(self) -> int:
        """The number of features of each candidate."""

    def start(self, seed: int, replicas: Ints) -> World:
        """Start a world for the given replicas; contexts and luck are the same for every policy."""
