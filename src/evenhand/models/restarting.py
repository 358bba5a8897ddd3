"""A model that restarts once a more recently started one predicts better."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.checked import checked
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number, whole
from evenhand.models._copies import copy_where
from evenhand.models._judged import check_fades, missed, steps, told
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
from evenhand.numerics.evidence import BELIEVED


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
        s, plays = state, told(self.inner, x, seen)
        s.rounds += 0.0 if lesson.taught else steps(seen, lesson.share, lesson.weight)
        if plays.any():
            self._compare(s, missed(self.inner, s.members, x, y, plays, s.units), plays.sum(1), lesson.weight)
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

    def gains(self, state: RestartingState, x: Floats) -> Iterator[Gain]:
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
