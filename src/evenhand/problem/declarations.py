"""The declarations of a problem that rows, constraints and measures read: names, shapes and ranges."""

from __future__ import annotations

from typing import Protocol

from evenhand.core.types import Bools, Floats
from evenhand.objectives.base import Objective
from evenhand.problem.clock import Clock
from evenhand.problem.factors import Factors
from evenhand.problem.groups import Groups


class Declarations(Protocol):
    """The declarations of a `Problem`, which fulfils this contract and documents each of them."""

    @property
    def actions(self) -> tuple[str, ...]: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def learned(self) -> tuple[str, ...]: ...

    @property
    def noisy(self) -> tuple[str, ...]: ...

    @property
    def known(self) -> tuple[str, ...]: ...

    @property
    def observed(self) -> tuple[str, ...]: ...

    @property
    def objective(self) -> Objective: ...

    @property
    def groups(self) -> tuple[Groups, ...]: ...

    @property
    def columns(self) -> tuple[tuple[str, str], ...]: ...

    @property
    def shares(self) -> Floats: ...

    @property
    def horizon(self) -> int: ...

    @property
    def last_round(self) -> float: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def n_plays(self) -> int: ...

    @property
    def measures(self) -> tuple[object, ...]: ...

    @property
    def sure(self) -> Bools: ...

    @property
    def is_noisy(self) -> Bools: ...

    @property
    def factors(self) -> Factors | None: ...

    @property
    def low(self) -> Floats: ...

    @property
    def span(self) -> Floats: ...

    @property
    def span_by_action(self) -> Floats: ...

    @property
    def amount_span(self) -> Floats: ...

    @property
    def declared(self) -> Floats: ...

    def row(self, name: str, field: str = "name") -> tuple[int, int, int]: ...

    def ranges(self, outcomes: tuple[str, ...], plays: int | None = None) -> tuple[Floats, Floats]: ...
