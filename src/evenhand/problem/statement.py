"""The statement of a problem in words, by the names of its fields."""

from __future__ import annotations

from typing import Protocol

from evenhand.core.faces import clipped, count, few
from evenhand.objectives.base import Objective
from evenhand.problem.clock import Time, earliest
from evenhand.problem.constraints.stated import States
from evenhand.problem.features import Feature
from evenhand.problem.measures import Measure
from evenhand.problem.outcome import Outcome


class _Problem(States, Protocol):
    """The fields of a `Problem` that are put into words."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]: ...

    @property
    def maximize(self) -> str | Objective: ...

    @property
    def features(self) -> tuple[Feature, ...]: ...

    @property
    def until(self) -> Time | None: ...

    @property
    def measures(self) -> tuple[Measure, ...]: ...


def size(problem: _Problem) -> str:
    """Return the numbers of actions and rounds, in words."""
    plays = "" if problem.n_plays == 1 else f", {problem.n_plays:,} plays per round"
    least = earliest(problem.horizon)
    rounds = f"{least:,} to " * (least < problem.horizon) + count(problem.horizon, "round")
    if problem.until is not None:
        rounds = f"about {rounds} until {problem.until}"
    return f"{count(len(problem.actions), 'action')} over {rounds}{plays}"


def facts(problem: _Problem) -> list[tuple[str, str]]:
    """Return the other fields, each as a line of text."""
    factors = {o.name: f"{o.name} (times {o.times})" for o in problem.outcomes if o.times is not None}
    found = {
        "actions": few(problem.actions),
        "maximize": clipped(problem.maximize if isinstance(problem.maximize, str) else repr(problem.maximize)),
        "subject to": few(s.said for s in problem.stated),
        "learned": few(factors.get(name, name) for name in problem.learned),
        "known on average": few(problem.noisy),
        "known": few(problem.known[len(problem.noisy) :]),
        "features": few(f.name for f in problem.features),
        "groups": few(f"{g.name} ({few(g.names, 24)})" for g in problem.groups),
        "measures": few(m.name for m in problem.measures),
    }
    return [(name, text) for name, text in found.items() if text]
