"""Models that follow worlds that change: copies that forget at different speeds, and a copy that starts anew."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked, value_text
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import nonnegative, number, whole
from evenhand.models._shared import copy_where, refuse_luck, unit
from evenhand.models.base import (
    AHEAD,
    OWN_AHEAD,
    ROUND,
    ColumnGain,
    Fades,
    Gain,
    Lesson,
    Model,
    Note,
    WithoutLuck,
    Worth,
    Wraps,
    by_action,
    fades,
    notes,
)
from evenhand.numerics.evidence import BELIEVED


def check_fades(name: str, inner: Model) -> None:
    """Refuse a model that cannot forget, or that draws its parameters."""
    if not fades(inner):
        expected = "a model that can forget, such as BayesianRidge, BayesianLogistic, Ridge or Tabular"
        raise InvalidInput(f"{name}.inner", expected, value_text(inner))
    refuse_luck(name, inner)


def lesson_mask(model: Model, x: Floats, seen: Bools) -> Bools:
    """Return the plays that the model learns from: all their outcomes are seen, and not all features are 0, `->(P)`."""
    lead = 0 if by_action(model) is None else 1
    return np.asarray(seen.all(2) & (x[:, :, lead:] != 0.0).any(2))


def prediction_errors(model: Model, states: Sequence[Any], x: Floats, y: Floats, plays: Bools, units: Floats) -> Floats:
    """Compute the errors of the predictions of every state, 0 for other plays, `(P,n),(P,M),(P),(M)->(S,M,P)`.

    They are in units of the outcomes' ranges.
    """
    replicas, outcomes = len(x), y.shape[2]
    w = np.ascontiguousarray(np.broadcast_to(np.eye(outcomes)[None, :, None], (replicas, outcomes, 1, outcomes)))
    asked, luck = np.where(plays[:, :, None], x, 0.0), np.zeros((replicas, 0))
    said = np.stack([model.value(state, asked, w, luck).mean for state in states], 1)
    return np.where(plays[:, None, None], (y.transpose(0, 2, 1)[:, None] - said) / units[:, None], 0.0)


@kernel
def nats(errors: Floats, count: Floats) -> Floats:
    """Compute half the squared errors in units of the noise, less those of the best state, `(S,M),()->(S)`.

    The noise of an outcome is one for all states, as separate ones would reward the state whose plays happened to have
    little: it is the least of the states' mean squared errors, with the prior belief as one more observation.
    """
    found = np.zeros(errors.shape[:2])
    for r in range(len(errors)):
        for m in range(errors.shape[2]):
            least = errors[r, 0, m]
            for k in range(errors.shape[1]):
                least = min(least, errors[r, k, m])
            noise = (BELIEVED + least) / (1.0 + count[r])
            for k in range(errors.shape[1]):
                found[r, k] += 0.5 * (errors[r, k, m] - least) / noise
        best = found[r, 0]
        for k in range(errors.shape[1]):
            best = min(best, found[r, k])
        for k in range(errors.shape[1]):
            found[r, k] -= best
    return found


def steps(seen: Bools, share: Floats, weight: float) -> Floats:
    """Return how many rounds a lesson counts for in every replica, `->()`; none where nothing was seen."""
    return np.asarray(weight * share * seen.any((1, 2)))


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
            raise InvalidInput("Memories.half_lives", "at least one, unless `keeps_all`", value_text(self.half_lives))
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

    def gains(self, state: MemoriesState, x: Floats) -> Iterator[Gain | ColumnGain]:
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
        discount, plays = np.exp2(-step / self.judge), lesson_mask(self.inner, x, seen)
        s.errors *= discount[:, None, None]
        s.judged *= discount
        if plays.any():
            s.errors += weight * (prediction_errors(self.inner, s.members, x, y, plays, s.units) ** 2).sum(3)
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


@dataclass
class RestartingState:
    """The model that decides and its challenger, and how far the challenger is ahead."""

    members: list[Any] = field(metadata=OWN_AHEAD)  # the champion and the challenger
    errors: Floats  # (R, 2, M) sums of squared one-step errors, in units of ranges
    judged: Floats  # (R, 2) plays in these
    age: Floats  # (R,) plays that the challenger learned
    compared: Floats  # (R, 3, M) sums over the challenger's plays: see `lead`
    rounds: Floats  # (R,) of the run
    restarts: Floats  # (R,)
    since: Floats  # (R,) the round of the last restart
    ahead: Floats = field(metadata=AHEAD)  # (R,) part of the horizon that is to come and can be paid for
    units: Floats  # (M,) of outcomes
    ends: Floats  # (2, M) of the outcomes' ranges
    horizon: Floats = field(metadata={"setting": True})  # (R,) a loaded state has that of its policy


@named("X12", source="evenhand's own; two models that are compared, as in change detection (Cao et al. 2019)")
@checked
@dataclass(frozen=True, kw_only=True)
class Restarting(Wraps, WithoutLuck):
    """A model that restarts once the same model, started more recently, predicts better.

    Equation: a challenger learns beside the champion, which decides. Once the challenger has learned `young` plays, it
    is ahead by sum_m sum (e_m^2 - f_m^2) / (2 s_m) nats: e and f are the errors of champion and challenger, made before
    the outcome was learned, and s_m is the larger of the champion's mean squared error so far and of the challenger's
    where the two differ, sum (e_m - f_m)^2 f_m^2 / sum (e_m - f_m)^2, as some plays have more noise than the average.
    If it is ahead by `nats`, it becomes the champion. A challenger begins anew after `every` plays. Were errors normal
    with variance s, a challenger would win with a probability of at most exp(-nats) where nothing changes. Only plays
    that teach count.

    Deviation: Cao et al. compare the means of arms in two windows, and draw arms uniformly to see changes. What is
    never played is not seen to change here.

    Args:
        inner: a model whose statistics are sums: `BayesianRidge`, `BayesianLogistic`, `Ridge`, `Tabular`, and
            `PerAction` or `Stacked` of these, or `Memories` of such a model, which then follow slow change as well.
        nats: how far ahead a challenger has to be, above 0.
        every: plays of a challenger, above `young`.
        young: plays before a challenger is judged, at least 1.
        alarm: how many rounds a restart is worth an alarm, at least 1.

    Raises:
        InvalidInput: an inner model that cannot forget or has luck of its own, or a number out of its range.

    >>> from evenhand.models.bayesian_ridge import BayesianRidge
    >>> model = Restarting(inner=BayesianRidge(n_features=1), every=50, young=15)
    >>> state, one, price = model.start(1, np.zeros(1), np.ones(1), 1000), np.ones((1, 1, 1)), np.ones((1, 1, 1, 1))
    >>> for t in range(400):  # from round 220 on, 1 instead of 0
    ...     model.update(state, one, (t >= 220) * one, one > 0, price)
    >>> round(model.value(state, one, price, np.zeros((1, 0))).mean.item(), 1)
    0.9
    >>> state.restarts.item()
    1.0
    """

    inner: Fades
    nats: float = 9.0
    every: int = 500
    young: int = 150
    alarm: int = 1000
    fades: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fades("Restarting", self.inner)
        number("Restarting.nats", self.nats, "a finite number above 0", lambda x: 0 < x < math.inf)
        whole("Restarting.young", self.young, 1)
        whole("Restarting.every", self.every, self.young + 1)
        whole("Restarting.alarm", self.alarm, 1)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> RestartingState:
        zeros = [np.zeros(n_replicas) for _ in range(4)]
        return RestartingState(
            members=[self.inner.start(n_replicas, low, high, horizon) for _ in range(2)],
            errors=np.zeros((n_replicas, 2, len(low))),
            judged=np.zeros((n_replicas, 2)),
            age=zeros[0],
            compared=np.zeros((n_replicas, 3, len(low))),
            rounds=zeros[1],
            restarts=zeros[2],
            since=zeros[3],
            ahead=np.ones(n_replicas),
            units=np.array([unit(*ends) for ends in zip(low, high, strict=True)]),
            ends=np.stack([low, high]),
            horizon=np.full(n_replicas, float(horizon)),
        )

    def value(self, state: RestartingState, x: Floats, w: Floats, u: Floats) -> Worth:
        return self.inner.value(state.members[0], x, w, u)

    def update(
        self, state: RestartingState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Compare champion and challenger by the plays, and teach both, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        s, plays = state, lesson_mask(self.inner, x, seen)
        s.rounds += 0.0 if lesson.taught else steps(seen, lesson.share, lesson.weight)
        if plays.any():
            errors = prediction_errors(self.inner, s.members, x, y, plays, s.units)
            self._compare(s, errors, plays.sum(1), lesson.weight)
        for member in s.members:
            self.inner.update(member, x, y, seen, w, lesson)
        self._begin(s)
        left = np.maximum(s.horizon - s.rounds, 0.0) / s.horizon
        for member in s.members:
            self.inner.fade(member, np.ones(len(x)), np.minimum(left, s.ahead))

    def fade(self, state: RestartingState, keep: Floats, ahead: Floats) -> None:
        """Let champion and challenger forget alike, `(),()->`; what is compared are errors, which stay."""
        s = state
        s.ahead[:] = ahead
        left = np.minimum(np.maximum(s.horizon - s.rounds, 0.0) / s.horizon, s.ahead)
        for member in s.members:
            self.inner.fade(member, keep, left)

    def gains(self, state: RestartingState, x: Floats) -> Iterator[Gain | ColumnGain]:
        """Yield what plays will add to the champion, which alone is asked, `(P,n)->`."""
        inner: Any = self.inner
        for member in state.members[:1]:
            yield from inner.gains(member, x)

    def notes(self, state: RestartingState, replica: int) -> tuple[Note, ...]:
        """Say when the model last restarted, an alarm for `alarm` rounds, and add the inner model's notes."""
        inner = notes(self.inner, state.members[0], replica)
        if state.restarts[replica] == 0.0:
            never = "began anew: never; no recently started model predicted much better"
            return Note(never), *inner
        since, times = state.since[replica], state.restarts[replica]
        said = f"began anew: in round {since:,.0f} of those learned, {times:,.0f} in all"
        if state.rounds[replica] - since > self.alarm:
            return Note(said), *inner
        won = Note(f"the world has changed: a model that learned lately won by {self.nats:g} nats", alarm=True)
        return Note(said), *inner, won

    def lead(self, s: RestartingState) -> Floats:
        """Return the lead of the challenger in nats, `->()`.

        `compared` has what its errors save, how far predictions differ, squared, and that times its squared errors.
        """
        saved, apart, noisy = s.compared.transpose(1, 0, 2)
        usual = (BELIEVED + s.errors[:, 0]) / (1.0 + s.judged[:, :1])
        here = np.divide(noisy, apart, out=np.zeros_like(noisy), where=apart > 0.0)
        return np.asarray((0.5 * saved / np.maximum(usual, here)).sum(1))

    def _compare(self, s: RestartingState, missed: Floats, plays: Floats, weight: float) -> None:
        grown = s.age >= self.young
        squares, apart = missed**2, (missed[:, 0] - missed[:, 1]) ** 2
        sums = squares.sum(3)
        s.errors[:, 0] += weight * sums[:, 0]
        s.judged[:, 0] += weight * plays
        s.errors[grown, 1] += weight * sums[grown, 1]
        s.judged[grown, 1] += weight * plays[grown]
        more = np.stack([sums[:, 0] - sums[:, 1], apart.sum(2), (apart * squares[:, 1]).sum(2)], 1)
        s.compared[grown] += weight * more[grown]
        s.age += plays

    def _begin(self, s: RestartingState) -> None:
        """Let challengers that won take over, and new ones begin in their place and in that of those that are old."""
        won = self.lead(s) > self.nats
        over = won | (s.age >= self.every)
        if won.any():
            copy_where(s.members[1], s.members[0], won)
            s.errors[won, 0], s.judged[won, 0] = s.errors[won, 1], s.judged[won, 1]
            s.restarts[won] += 1.0
            s.since[won] = np.maximum(s.rounds[won], 1.0)
        if over.any():
            low, high = s.ends.copy()
            copy_where(self.inner.start(len(over), low, high, int(s.horizon[0])), s.members[1], over)
            s.errors[over, 1], s.judged[over, 1], s.age[over], s.compared[over] = 0.0, 0.0, 0.0, 0.0
