"""What the five questions have found out."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple


class Feature(NamedTuple):
    """What is known about a case: a number between two ends, or one of some names."""

    name: str
    ends: tuple[float, float] | None = None
    levels: tuple[str, ...] = ()


class Aim(NamedTuple):
    """The outcome that is maximised, and its range."""

    name: str
    low: float = 0.0
    high: float = 1.0


class Limit(NamedTuple):
    """An outcome that is limited: its total, and what each action uses of it."""

    name: str
    total: float
    uses: dict[str, float]


class Span(NamedTuple):
    """How long the run lasts: a number of cases, or an end with a forecast of the cases per day."""

    cases: int
    until: date | None = None


class Answers(NamedTuple):
    """The answers to the five questions."""

    actions: tuple[str, ...]
    features: tuple[Feature, ...]
    aim: Aim
    limits: tuple[Limit, ...]
    span: Span
