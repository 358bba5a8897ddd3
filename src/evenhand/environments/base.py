"""The contract of an environment: simulation, logged replay and live use differ only here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.problem import Problem


class Arrival(NamedTuple):
    """Outcomes that arrive now, of a decision made now or earlier."""

    step: int  # at which the decision was made
    decision: Decision
    y: Floats  # (R, P, M + B) as for `Policy.learn`, before factors; NaN for plays that are pending or arrived before
    exposed: Bools | None = None  # (R, P) which plays came to anything; None where all did
    pending: Bools | None = None  # (R, P) plays whose outcomes arrive later; None where none do


class World(Protocol):
    """One start of an environment, for given replicas under one seed.

    What follows from a decision depends on nothing but (seed, replica, step, context, decision), so a world that is
    started anew goes on from any step, as interrupted runs do. One that remembers earlier steps says so in an attribute
    `unsaveable`, as a reason; its runs cannot go on from the middle.
    """

    @property
    def steps(self) -> int:
        """The number of steps that it can last."""

    @property
    def counts_idle_steps(self) -> bool:
        """Whether a step in which nothing could be played still counts as a round, because cases keep coming."""

    def context(self, step: int) -> Context:
        """The context of a step; a pure function of (seed, replica, step)."""

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        """The decision as it was taken (with counted = 0 where it was not), and the outcomes that arrive now."""

    def expected(self, context: Context, plays: Ints) -> Floats | None:
        """True means of the observed outcomes of plays, exposure included, before factors; None where unknown.

        `(P)->(P,M+B)`
        """


class Environment(Protocol):
    """A problem, and worlds in which to solve it."""

    @property
    def problem(self) -> Problem:
        """What is to be decided."""

    @property
    def n_features(self) -> int:
        """How many features each candidate has."""

    def start(self, seed: int, replicas: Ints) -> World:
        """Start a world for these replicas, with the same contexts and luck for every policy."""
