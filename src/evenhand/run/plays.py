"""The plays of a run that recorded them all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.records import Decision
from evenhand.core.types import Floats, Ints
from evenhand.problem.problem import Problem


class Plays(NamedTuple):
    """Every play of every replica, by step."""

    actions: Ints  # (S, R, P), -1 where nothing was played
    propensities: Floats  # (S, R, P), NaN where unknown
    counted: Floats  # (S, R) 1 where the round counted
    groups: Ints  # (S, R, P, G)
    outcomes: Floats  # (S, R, P, M + L), learned ones times their factors, NaN where not (yet) observed

    @staticmethod
    def empty(steps: int, replicas: int, plays: int, outcomes: int, groups: int) -> Plays:
        """Make arrays of some steps in which nothing is played."""
        return Plays(
            np.full((steps, replicas, plays), -1),
            np.zeros((steps, replicas, plays)),
            np.zeros((steps, replicas)),
            np.zeros((steps, replicas, plays, groups), np.int64),
            np.full((steps, replicas, plays, outcomes), np.nan),
        )

    def enter(self, step: int, d: Decision, observed: int) -> None:
        """Enter one decision, whose first `observed` outcomes are still to come."""
        self.actions[step] = d.plays
        self.propensities[step] = d.propensities
        self.counted[step] = d.counted
        self.groups[step] = d.groups
        exact = self.outcomes.shape[3] - observed
        self.outcomes[step, ..., observed:] = d.known[..., d.known.shape[2] - exact :]

    def until(self, step: int) -> Plays:
        """Return the first `step` steps; if there are fewer, the missing ones have no plays."""
        s, r, p = self.actions.shape
        rest = Plays.empty(max(step - s, 0), r, p, self.outcomes.shape[3], self.groups.shape[3])
        return Plays(*(np.concatenate([here[:step], more]) for here, more in zip(self, rest, strict=True)))


def by_place(plays: Plays, problem: Problem, policy: str, replicas: Ints, finished: bool) -> dict[str, Any]:
    """Make a column per number of a play, with a line per step, replica and place."""
    s, r, p = plays.actions.shape
    step, replica, place = (z.ravel() for z in np.meshgrid(np.arange(s), replicas, np.arange(p), indexing="ij"))
    actions = np.array([*problem.actions, None], object)
    found: dict[str, Any] = {
        "interrupted": np.full(s * r * p, not finished),
        "policy": np.full(s * r * p, policy),
        "replica": replica,
        "step": step,
        "play": place,
        "counted": np.repeat(plays.counted.ravel(), p) > 0,
        "action": actions[plays.actions.ravel()],
        "propensity": plays.propensities.ravel(),
    }
    names = np.array([name for _, name in problem.columns], object)
    for i, g in enumerate(problem.groups):
        found[g.name] = names[plays.groups[..., i].ravel()]
    found |= {name: plays.outcomes[..., i].ravel() for i, name in enumerate(problem.names)}
    return found
