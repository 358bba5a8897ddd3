"""A world of cases that were drawn before, with the outcomes of all actions: runs pay for nothing but a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments.base import Arrival
from evenhand.problem import Outcome, Problem


class _View(NamedTuple):
    x: Floats
    y: Floats
    known: Floats
    groups: Ints
    offered: Bools
    every_play: Bools
    nobody: Floats

    @kernel
    def context(self, step: int) -> tuple[Context, None]:
        x = np.empty((len(self.groups), *self.x.shape[1:]))
        for r in range(len(x)):
            for a in range(x.shape[1]):
                for i in range(x.shape[2]):
                    x[r, a, i] = self.x[step, a, i]
        return Context(x, self.known, self.groups, self.offered, None), None

    @kernel
    def respond(self, step: int, c: Context, hidden: None, d: Decision) -> tuple[Floats, Bools, Floats]:
        y = np.zeros((*d.plays.shape, 1))
        for r in range(len(y)):
            for p in range(y.shape[1]):
                if d.plays[r, p] >= 0:
                    y[r, p, 0] = self.y[step, d.plays[r, p]]
        return y, self.every_play, self.nobody


class _World:
    counts_idle_steps = True

    def __init__(self, of: Drawn, count: int) -> None:
        self._x, self._y, self.steps = of.features, of.outcomes, len(of.features)
        self._known, self._groups = of.problem.declared[None], np.zeros((count, 1, 0), np.int64)
        self._offered = np.ones((1, self._x.shape[1]), bool)

    def context(self, step: int) -> Context:
        return Context(
            np.repeat(self._x[step : step + 1], len(self._groups), 0), self._known, self._groups, self._offered
        )

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        y = np.where(decision.plays >= 0, self._y[step, np.maximum(decision.plays, 0)], 0.0)
        return decision, [Arrival(step, decision, y[:, :, None])]

    def expected(self, context: Context, plays: Ints) -> None:
        return None

    def view(self) -> _View:
        fixed = np.ascontiguousarray(self._known), self._groups, self._offered
        return _View(self._x, self._y, *fixed, np.zeros((0, 0), bool), np.zeros((0, 0, 0)))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Features `(T,A,n)` and outcomes `(T,A)`; all replicas meet the same ones."""

    problem: Problem
    features: Floats
    outcomes: Floats

    @property
    def n_features(self) -> int:
        return int(self.features.shape[2])

    def start(self, seed: int, replicas: Ints) -> _World:
        return _World(self, len(replicas))


def own_coefficients(rounds: int, arms: int, features: int) -> Drawn:
    """Normal features of cases, each candidate led by its action, and outcomes that are uniform on [0, 1]."""
    rng = np.random.default_rng(0)
    case, y = rng.normal(size=(rounds, features)) / features**0.5, rng.random((rounds, arms))
    each = np.tile(np.arange(arms)[None, :, None], (rounds, 1, 1)).astype(float)
    x = np.concatenate([each, np.repeat(case[:, None], arms, 1)], 2)
    names = tuple(f"arm {a}" for a in range(arms))
    return Drawn(Problem(actions=names, outcomes=(Outcome("gain"),), maximize="gain", horizon=rounds), x, y)
