"""Copies of a model that forget at different speeds, weighted by how well each has predicted lately."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.checked import checked, shown
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import nonnegative, number
from evenhand.models._judged import check_fades, missed, nats, steps, told
from evenhand.models._shared import unit
from evenhand.models.base import (
    AHEAD,
    OWN_AHEAD,
    ROUND,
    Fades,
    Gain,
    Lesson,
    Note,
    WithoutLuck,
    Worth,
    Wraps,
    notes,
)


@dataclass
class MemoriesState:
    """The states of all memories, the longest first, and how well each predicted."""

    members: list[Any] = field(metadata=OWN_AHEAD)
    errors: Floats  # (R, K, M) discounted sums of squared one-step errors, in units of ranges
    judged: Floats  # (R,) discounted number of these
    age: Floats  # (R,) rounds since the last fading
    rounds: Floats  # (R,) of the run
    since: Floats  # (R,) the round in which memories that forget took over, 0 where they did not
    ahead: Floats = field(metadata=AHEAD)  # (R,) part of the horizon that is to come and can be paid for
    units: Floats  # (M,) of outcomes
    horizon: Floats = field(metadata={"setting": True})  # (R,) a loaded state has that of its policy


@named("X12", source="evenhand's own; forgetting as in Russac et al. 2019 (D-LinUCB), of several speeds at once")
@checked
@dataclass(frozen=True, kw_only=True)
class Memories(Wraps, WithoutLuck):
    """Several memories of one model, weighted by how well they have predicted lately.

    Equation: memory k multiplies its sums by 2^(-1 / h_k) per round, h_k its half-life, and one forgets nothing. Means
    are averaged with weights exp(-E_k / 2 - k doubt), the longest memory having k = 0, and the bonus is the least of
    theirs: what one memory still knows, or will soon have forgotten, is not worth finding out again. E_k is the sum of
    a memory's squared errors, each made before the outcome was learned, discounted with the half-life `judge` and in
    units of one noise per outcome, which all memories share. What is forgotten falls back to what was believed before
    any data, and a memory of half-life h explores as if at most h / ln 2 rounds were to come, so that exploration
    neither dies nor goes on for lessons that will be forgotten. Rounds count when their outcomes arrive.

    Deviation: D-LinUCB has one memory, whose half-life has to be known, and widths by a bound on the drift.

    Args:
        inner: a model whose statistics are sums: `BayesianRidge`, `BayesianLogistic`, `Ridge`, `Tabular`, and
            `PerAction` or `Stacked` of these, or a wrapper of such a model that forgets.
        half_lives: in rounds, each above 0; several differ by factors of 3 to 5.
        keeps_all: whether one more memory forgets nothing; without it a single half-life is plain forgetting.
        judge: the half-life of errors, in rounds, above 0.
        doubt: how many nats better each shorter memory has to be than the one before it to count as much, at least 0.
        every: rounds between two fadings, at least 1; each costs one more fit per memory.

    Raises:
        InvalidInput: an inner model that cannot forget or has luck of its own, or a number out of its range.

    >>> from evenhand.models.bayesian_ridge import BayesianRidge
    >>> model = Memories(inner=BayesianRidge(n_features=1), half_lives=(30,), judge=20, every=5)
    >>> state, one, price = model.start(1, np.zeros(1), np.ones(1), 1000), np.ones((1, 1, 1)), np.ones((1, 1, 1, 1))
    >>> for t in range(400):  # from round 200 on, 1 instead of 0
    ...     model.update(state, one, (t >= 200) * one, one > 0, price)
    >>> round(model.value(state, one, price, np.zeros((1, 0))).mean.item(), 1)
    1.0
    >>> print(*(note.text for note in model.notes(state, 0)), sep="\\n")
    memories: all 0%, half-life 30 100%
    the world has changed: since round 208 of those learned, memories that forget predict best
    """

    inner: Fades
    half_lives: tuple[float, ...] = (3000.0, 700.0)
    keeps_all: bool = True
    judge: float = 500.0
    doubt: float = 2.0
    every: float = 25.0
    fades: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fades("Memories", self.inner)
        positive = "a finite number above 0"
        if not self.half_lives and not self.keeps_all:
            raise InvalidInput("Memories.half_lives", "at least one, unless `keeps_all`", shown(self.half_lives))
        for life in self.half_lives:
            number("Memories.half_lives", life, positive, lambda x: 0 < x < math.inf)
        number("Memories.judge", self.judge, positive, lambda x: 0 < x < math.inf)
        nonnegative("Memories.doubt", self.doubt)
        number("Memories.every", self.every, "a finite number of at least 1", lambda x: 1 <= x < math.inf)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> MemoriesState:
        members = [self.inner.start(n_replicas, low, high, horizon) for _ in self._lives]
        state = MemoriesState(
            members=members,
            errors=np.zeros((n_replicas, len(members), len(low))),
            judged=np.zeros(n_replicas),
            age=np.zeros(n_replicas),
            rounds=np.zeros(n_replicas),
            since=np.zeros(n_replicas),
            ahead=np.ones(n_replicas),
            units=np.array([unit(*ends) for ends in zip(low, high, strict=True)]),
            horizon=np.full(n_replicas, float(horizon)),
        )
        for life, member in zip(self._lives, members, strict=True):
            self.inner.fade(member, np.ones(n_replicas), self._memory(state, life))
        return state

    def weights(self, state: MemoriesState) -> Floats:
        """Return the weight of every memory, the longest first, `->(K)`."""
        worse = nats(state.errors, state.judged) + self.doubt * np.arange(len(self._lives))
        w = np.exp(worse.min(1, keepdims=True) - worse)
        return np.asarray(w / w.sum(1, keepdims=True))

    def value(self, state: MemoriesState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Average the means of all memories by their weights, with the least bonus of theirs, `->(K,A),(K,A)`."""
        first, *others = (self.inner.value(member, x, w, u) for member in state.members)
        if not others:
            return first
        own = self.weights(state)[:, :, None, None]
        mean, bonus = own[:, 0] * first.mean, first.bonus
        for k, said in enumerate(others, 1):
            mean += own[:, k] * said.mean
            bonus = np.minimum(bonus, said.bonus)
        return Worth(mean, bonus)

    def update(
        self, state: MemoriesState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Judge memories by the plays, teach them, and let those fade that are due, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        s, step = state, steps(seen, lesson.share, lesson.weight)
        s.rounds += 0.0 if lesson.taught else step
        s.age += step
        if len(self._lives) > 1:
            self._judge(s, x, y, seen, step, lesson.weight)
        due = s.age >= self.every
        for life, member in zip(self._lives, s.members, strict=True):
            keep = np.where(due, np.exp2(-s.age / life), 1.0)
            self.inner.update(member, x, y, seen, w, lesson)
            self.inner.fade(member, keep, self._memory(s, life))
        s.age[due] = 0.0

    def fade(self, state: MemoriesState, keep: Floats, ahead: Floats) -> None:
        """Let all memories forget alike, `(),()->`; how well each predicted lately stays."""
        state.ahead[:] = ahead
        for life, member in zip(self._lives, state.members, strict=True):
            self.inner.fade(member, keep, self._memory(state, life))

    def gains(self, state: MemoriesState, x: Floats) -> Iterator[Gain]:
        """Yield what plays will add to every memory, `(P,n)->`."""
        inner: Any = self.inner
        for member in state.members:
            yield from inner.gains(member, x)

    def notes(self, state: MemoriesState, replica: int) -> tuple[Note, ...]:
        """Say which memory has which weight, and since when memories that forget predict better than all.

        The notes of the inner model are those about the longest memory.
        """
        lives = ["all" if math.isinf(life) else f"half-life {life:,.6g}" for life in self._lives]
        shares = [f"{name} {share:.0%}" for name, share in zip(lives, self.weights(state)[replica], strict=True)]
        said = Note(f"memories: {', '.join(shares)}"), *notes(self.inner, state.members[0], replica)
        since = state.since[replica]
        if since == 0.0:
            return said
        what = f"since round {since:,.0f} of those learned, memories that forget predict best"
        return *said, Note(f"the world has changed: {what}", alarm=True)

    def _judge(self, s: MemoriesState, x: Floats, y: Floats, seen: Bools, step: Floats, weight: float) -> None:
        discount, plays = np.exp2(-step / self.judge), told(self.inner, x, seen)
        s.errors *= discount[:, None, None]
        s.judged *= discount
        if plays.any():
            s.errors += weight * (missed(self.inner, s.members, x, y, plays, s.units) ** 2).sum(3)
            s.judged += weight * plays.sum(1)
        if self.keeps_all:
            over = self.weights(s)[:, 0] < 0.5
            s.since[:] = np.where(over, np.where(s.since > 0.0, s.since, np.maximum(s.rounds, 1.0)), 0.0)

    def _memory(self, s: MemoriesState, life: float) -> Floats:
        """The part of the horizon in which what a memory learns now still counts, `()->()`."""
        left = np.maximum(s.horizon - s.rounds, 0.0)
        return np.asarray(np.minimum(np.minimum(left, life / math.log(2.0)) / s.horizon, s.ahead))

    @cached_property
    def _lives(self) -> tuple[float, ...]:
        return ((math.inf,) if self.keeps_all else ()) + tuple(sorted(map(float, self.half_lives), reverse=True))
