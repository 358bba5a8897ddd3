"""The contract of a measure: a number of all plays of a round together that is not a sum over plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

from evenhand.core.types import Floats, Ints
from evenhand.problem.declarations import Declarations

# Of plays, -1 where nothing is played, and observed outcomes, 0 where nothing was played or seen: `(P),(P,M+B)->()`.
Reading = Callable[[Ints, Floats], Floats]

# Columns of frames and summaries, whose names no measure has.
COLUMNS = frozenset({"interrupted", "policy", "replica", "replicas", "step", "round", "under way", "objective"})


@runtime_checkable
class Measure(Protocol):
    """The value of a round by a rule of its own, such as a concave function of the sum of an arm's outcomes.

    A run adds it up over rounds twice: of the outcomes that arrived, and of the true means of all plays. Goals do not
    read it, as they read sums over plays; a choice may.
    """

    @property
    def name(self) -> str:
        """The name of its averages in traces, summaries, plots and frames; not that of an outcome."""

    @property
    def worst(self) -> Literal["low", "high"]:
        """The bad end of its values."""

    def on(self, problem: Declarations) -> Reading:
        """The measure as a function of the plays and outcomes of a problem; refuses a problem that it does not fit."""
