"""Online regression oracles, which predict an outcome vector without widths; the average of one; and two in stages.

They move each outcome's parameter against the GLMtron direction (link(x.theta) - y) x, the gradient of the square loss
up to the link's slope, and project it back to its ball. They differ in the metric and the size of a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import nonnegative, number, positive, whole
from evenhand.models._shared import check_sizes, copy_where, refuse_luck
from evenhand.models.base import COPIES, ROUND, Averageable, Lesson, Model, WithoutLuck, Worth, Wraps, by_action
from evenhand.models.links import Link, code, mean_worth, predict
from evenhand.numerics.precision import absorb, fresh, norm2

Projection = Literal["row", "whole"]


@dataclass
class OracleState:
    """Parameters of every outcome, the inverse of their common metric, and the number of their updates."""

    theta: Floats  # (R, M, n)
    inverse: Floats  # (R, n, n), or (R, 0, 0) for the identity
    count: Floats  # (R,)


@kernel
def project(theta: Floats, radius: float, whole: bool) -> None:
    """Scale every row back to a ball; if `whole`, scale all rows at once and drop signs, as in the published code."""
    if whole:
        square = 0.0
        for m in range(len(theta)):
            square += norm2(theta[m])
        norm = math.sqrt(square)
        scale = radius / norm if norm > radius else 1.0
        for m in range(len(theta)):
            for i in range(theta.shape[1]):
                theta[m, i] = abs(theta[m, i]) * scale
        return
    for m in range(len(theta)):
        square = norm2(theta[m])
        if square > radius * radius:
            scale = radius / math.sqrt(square)
            for i in range(theta.shape[1]):
                theta[m, i] *= scale


@kernel
def _learn(
    link: int,
    steps: tuple[float, float, float],
    radius: float,
    whole: bool,
    theta: Floats,
    inverse: Floats,
    count: Floats,
    x: Floats,
    y: Floats,
    seen: Bools,
) -> None:
    step, power, first_step = steps
    gain, mean = np.empty(x.shape[2]), np.empty(y.shape[2])
    for r in range(len(x)):
        for p in range(x.shape[1]):
            if not seen[r, p].all():
                continue
            predict(link, theta[r], x[r, p], mean)
            square = 0.0
            if inverse.shape[1] > 0:
                square = absorb(inverse[r], x[r, p], gain)
            else:
                for i in range(len(gain)):
                    gain[i] = x[r, p, i]
            replaced = count[r] == 0.0 and first_step != 0.0
            size = first_step if replaced else step / (count[r] + 1.0) ** power
            count[r] += 1.0
            for m in range(len(mean)):
                move = size * (mean[m] - y[r, p, m]) / (1.0 + square)
                for i in range(len(gain)):
                    if gain[i] != 0.0:
                        theta[r, m, i] -= move * gain[i]
            project(theta[r], radius, whole)


def _check_steps(name: str, step: float, radius: float, projection: str, link: Link, start_at: float) -> None:
    """Refuse steps and radii that are not positive, a start that is not finite, and unknown names."""
    code(link)
    number(f"{name}.start_at", start_at, "a finite number")
    positive(f"{name}.step", step)
    number(f"{name}.radius", radius, "a number above 0, or infinity", lambda x: x > 0)
    if projection not in ("row", "whole"):
        raise InvalidInput(f"{name}.projection", "'row' or 'whole'", projection)


class Oracle(WithoutLuck, Protocol):
    """An oracle, whose metric and size of steps its kind states."""

    n_features: int
    n_outcomes: int
    link: Link
    radius: float
    projection: Projection
    start_at: float

    def _inverse(self, n_replicas: int) -> Floats:
        """Return the inverse of the metric before any data, `->(n,n)`, or `->(0,0)` for the identity."""

    @property
    def _steps(self) -> tuple[float, float, float]:
        """The step at first, its power of the number of updates, and another size of the first one, 0 for none."""

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> OracleState:
        theta = np.full((n_replicas, self.n_outcomes, self.n_features), self.start_at)
        return OracleState(theta, self._inverse(n_replicas), np.zeros(n_replicas))

    def value(self, state: OracleState, x: Floats, w: Floats, u: Floats) -> Worth:
        return Worth(*mean_worth(self._link, state.theta, x, w))

    def update(self, state: OracleState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Take one step per play whose outcomes are all seen, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        s, whole = state, self.projection == "whole"
        _learn(self._link, self._steps, float(self.radius), whole, s.theta, s.inverse, s.count, x, y, seen)

    @property
    def is_linear(self) -> bool:
        return self.link == "identity"

    def parameters(self, state: OracleState) -> Floats:
        return state.theta

    @cached_property
    def _link(self) -> int:
        return code(self.link)


@named("S3", source="Newtonised GLMtron: Foster & Rakhlin 2020, Proposition 3; in Han et al. 2022, Table 1")
@dataclass(frozen=True, kw_only=True)
class Glmtron(Oracle):
    """Online Newton steps for a generalised linear model; square-loss regret O(n log T).

    Equation: A_t = ridge I + sum x x^T, theta <- P(theta - step A_t^-1 (link(x.theta) - y) x), P the projection of each
    outcome's parameter to the ball of `radius`. With the identity link, step 1 and no projection: ridge regression.
    Deviation: the projection is Euclidean (a scaling), whereas the theorem's is in the metric of A_t.

    Args:
        link: identity, logistic, probit or exponential.
        ridge: the ridge of the metric A_t, above 0.
        step: above 0; 1 over the least slope of the link on its domain; 1 for the identity.
        radius: of the ball of each outcome's parameter; infinite for no projection.
        projection: "row", or "whole" for the published code's fault (all rows are scaled at once and lose their signs).
        start_at: every coordinate of the initial parameters.

    >>> model = Glmtron(n_features=1)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> model.update(state, one, one, one > 0, price)
    >>> model.value(state, one, price, luck).mean.item()
    0.5
    """

    n_features: int
    n_outcomes: int = 1
    link: Link = "identity"
    ridge: float = 1.0
    step: float = 1.0
    radius: float = math.inf
    projection: Projection = "row"
    start_at: float = 0.0

    def __post_init__(self) -> None:
        check_sizes("Glmtron", self.n_features, self.n_outcomes, self.ridge)
        _check_steps("Glmtron", self.step, self.radius, self.projection, self.link, self.start_at)

    def _inverse(self, n_replicas: int) -> Floats:
        return fresh(n_replicas, self.n_features, self.ridge)

    @cached_property
    def _steps(self) -> tuple[float, float, float]:
        return float(self.step), 0.0, 0.0


@named("S3", source="online gradient descent (Zinkevich 2003) as an oracle: Han et al. 2022, Table 1")
@dataclass(frozen=True, kw_only=True)
class Gradient(Oracle):
    """Online gradient descent for a generalised linear model; square-loss regret O(sqrt T), in any dimension.

    Equation: theta <- P(theta - size_t (link(x.theta) - y) x), size_t = step / t^power at the t-th observation, P as in
    `Glmtron`.

    Args:
        step: the step at the first observation, above 0.
        power: in [0, 1]; 1/2 is the anytime rate, 0 a fixed step.
        first_step: the size of the first step; 0 means `step`.
        link, radius, projection, start_at: as for `Glmtron`.

    >>> model = Gradient(n_features=1, step=0.5)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> model.update(state, one, one, one > 0, price)
    >>> model.value(state, one, price, luck).mean.item()
    0.5
    """

    n_features: int
    n_outcomes: int = 1
    link: Link = "identity"
    step: float = 1.0
    power: float = 0.5
    first_step: float = 0.0
    radius: float = math.inf
    projection: Projection = "row"
    start_at: float = 0.0

    def __post_init__(self) -> None:
        check_sizes("Gradient", self.n_features, self.n_outcomes)
        _check_steps("Gradient", self.step, self.radius, self.projection, self.link, self.start_at)
        number("Gradient.power", self.power, "a power in [0, 1]", lambda x: 0 <= x <= 1)
        nonnegative("Gradient.first_step", self.first_step)

    def _inverse(self, n_replicas: int) -> Floats:
        return np.zeros((n_replicas, 0, 0))

    @cached_property
    def _steps(self) -> tuple[float, float, float]:
        return float(self.step), float(self.power), float(self.first_step)


@dataclass
class OnlineToBatchState:
    """The inner state, and the mean parameters or some copies of earlier ones."""

    inner: Any
    count: Ints  # (R,) iterates so far
    mean: Floats  # (R, M, n) of the parameters of all iterates; (R, 0, 0) if the oracle is not linear
    stride: Ints  # (R,) one in so many iterates is kept
    kept: Ints  # (R,) how many are kept
    past: list[Any] = field(metadata=COPIES)  # of inner states


@named("S3", source="online-to-batch conversion: Han et al. 2022, Appendix B.1, equation (8)")
@dataclass(frozen=True, kw_only=True)
class OnlineToBatch(Wraps, WithoutLuck):
    """Predict the average of the predictions of an inner oracle's iterates, each taken just before an observation.

    Equation: f(x) = sum over i = 1..t of f_i(x) / t, f_i the oracle that has learned from i - 1 rounds; f_1 at first.
    Its expected square error is at most the regret per round (Lemma B.1), however bad the last iterate is.
    For an oracle that is linear in its parameters (`Averageable`: `Glmtron` and `Gradient` with the identity link) that
    is the prediction at the mean parameter, which is kept exactly. For all others every `stride`-th iterate is kept.
    When `snapshots` are kept, every other one is dropped and the stride doubles, so that from then on the average is
    over at least half of `snapshots`. Predictions and bonuses are averaged per candidate, never parameters. A round
    counts as an iterate if all outcomes of one of its plays were seen.

    Args:
        inner: an oracle whose state is arrays.
        snapshots: how many iterates are kept at most, an even number of at least 2; a prediction asks each of them.

    Raises:
        InvalidInput: an odd number of snapshots; an inner model with luck of its own, as the average of several draws
            is not a draw; from `start`, an inner model whose state cannot be copied.

    >>> from evenhand.models.oracles import Gradient
    >>> model = OnlineToBatch(inner=Gradient(n_features=1, step=1.0, power=0.0))
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for _ in range(4):  # iterates 0, 1, 1, 1
    ...     model.update(state, one, one, one > 0, price)
    >>> model.value(state, one, price, luck).mean.item()
    0.75
    """

    inner: Model
    snapshots: int = 16

    def __post_init__(self) -> None:
        if self.snapshots < 2 or self.snapshots % 2:
            raise InvalidInput("OnlineToBatch.snapshots", "an even number of at least 2", self.snapshots)
        refuse_luck("OnlineToBatch", self.inner)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> OnlineToBatchState:
        inner = self.inner.start(n_replicas, low, high, horizon)
        if getattr(inner, "unsaveable", ""):
            raise InvalidInput("OnlineToBatch.inner", "a model whose state is arrays", inner.unsaveable)
        linear = self._linear
        past = [] if linear else [self.inner.start(n_replicas, low, high, horizon) for _ in range(self.snapshots)]
        mean = np.zeros_like(linear.parameters(inner)) if linear else np.zeros((n_replicas, 0, 0))
        zero, one = np.zeros(n_replicas, np.int64), np.ones(n_replicas, np.int64)
        return OnlineToBatchState(inner, zero.copy(), mean, one, zero, past)

    def value(self, state: OnlineToBatchState, x: Floats, w: Floats, u: Floats) -> Worth:
        first = self.inner.value(state.inner, x, w, u)
        started = (state.count > 0)[:, None, None]
        if self._linear:
            mean, bonus = mean_worth(0, state.mean, x, w)
        else:
            mean, bonus = np.zeros(first.mean.shape), np.zeros(first.bonus.shape)
            share = 1.0 / np.maximum(state.kept, 1)
            for s in range(int(state.kept.max())):
                weight = np.where(s < state.kept, share, 0.0)[:, None, None]
                here = self.inner.value(state.past[s], x, w, u)
                mean += weight * here.mean
                bonus += weight * here.bonus
        return Worth(np.where(started, mean, first.mean), np.where(started, bonus, first.bonus))

    def update(
        self, state: OnlineToBatchState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Record the present iterate where it is about to learn, then update it, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        learns, linear = np.asarray(seen.all(2)).any(1), self._linear
        if linear:
            share = np.where(learns, 1.0 / (state.count + 1.0), 0.0)[:, None, None]
            state.mean += share * (linear.parameters(state.inner) - state.mean)
        else:
            due = learns & (state.count % state.stride == 0)
            full = due & (state.kept == self.snapshots)
            if full.any():
                for s in range(1, self.snapshots // 2):
                    copy_where(state.past[2 * s], state.past[s], full)
                state.kept[full] //= 2
                state.stride[full] *= 2
                due &= state.count % state.stride == 0  # always holds, as `snapshots` is even
            for s in np.unique(state.kept[due]).tolist():
                copy_where(state.inner, state.past[s], due & (state.kept == s))
            state.kept[due] += 1
        state.count[learns] += 1
        self.inner.update(state.inner, x, y, seen, w, lesson)

    @cached_property
    def _linear(self) -> Averageable | None:
        return self.inner if isinstance(self.inner, Averageable) and self.inner.is_linear else None


@dataclass
class TwoOraclesState:
    """The states of both oracles, and the number of rounds that taught them."""

    statistical: Any
    online: Any
    learned: Floats  # (R,) rounds in which something was seen


@named("S2", source="Han et al. 2022, Assumption 4.1: an estimate from the pulls of a first stage alone")
@dataclass(frozen=True, kw_only=True)
class TwoOracles:
    """A statistical oracle that learns from the first rounds only, beside an online oracle that learns from all.

    Equation: with n the rounds in which something was seen, an outcome teaches `statistical` while n < taught, and
    `online` always; `statistical` answers while n < answers, and `online` after that. Rounds are counted as their
    outcomes arrive. Where they are late, the first stage lasts until they are there.

    Args:
        statistical: a model without luck of its own. With `OnlineToBatch` it is the paper's conversion of an online
            oracle; on features with a block per arm, a linear one is a regression of its own for each arm.
        online: the model of the rest of the run.
        taught: the rounds that teach `statistical`, A T0 in the paper, at least 1.
        answers: the rounds in which it answers, (A + 1) T0 in the paper, at least `taught`.

    Raises:
        InvalidInput: models of different features or outcomes, luck in `statistical`, or numbers out of their range.

    >>> from evenhand.models import Ridge
    >>> model = TwoOracles(statistical=Ridge(n_features=1, ridge=1.0), online=Ridge(n_features=1), taught=1, answers=2)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for y in (1.0, 0.0):
    ...     model.update(state, one, y * one, one > 0, price)
    ...     print(round(model.value(state, one, price, luck).mean.item(), 3))
    0.5
    0.333
    """

    statistical: Model
    online: Model
    taught: int
    answers: int

    def __post_init__(self) -> None:
        if self.statistical.draws(1):
            raise InvalidInput("TwoOracles.statistical", "a model without luck of its own", self.statistical)
        here, there = ((m.n_features, m.n_outcomes) for m in (self.statistical, self.online))
        if here != there:
            expected = f"{there[0]} features and {there[1]} outcomes, as `online` has"
            raise InvalidInput("TwoOracles.statistical", expected, here)
        whole("TwoOracles.taught", self.taught, 1)
        whole("TwoOracles.answers", self.answers, self.taught)

    @property
    def n_features(self) -> int:
        return self.online.n_features

    @property
    def n_outcomes(self) -> int:
        return self.online.n_outcomes

    @property
    def by_action(self) -> int | None:
        return by_action(self.online)

    def draws(self, candidates: int) -> int:
        return self.online.draws(candidates)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> TwoOraclesState:
        first, then = (m.start(n_replicas, low, high, horizon) for m in (self.statistical, self.online))
        return TwoOraclesState(first, then, np.zeros(n_replicas))

    def value(self, state: TwoOraclesState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Ask the oracle of the present stage, `(A,n),(K,1|A,M),(draws)->(K,A),(K,A)`."""
        early = state.learned < self.answers
        if not early.any():
            return self.online.value(state.online, x, w, u)
        first = self.statistical.value(state.statistical, x, w, u[:, :0])
        if early.all():
            return first
        then, here = self.online.value(state.online, x, w, u), early[:, None, None]
        return Worth(np.where(here, first.mean, then.mean), np.where(here, first.bonus, then.bonus), then.random)

    def update(
        self, state: TwoOraclesState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Teach the online oracle, and in the first rounds the statistical one, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        early = (state.learned < self.taught)[:, None, None]
        if early.any():
            told = np.ascontiguousarray(seen & early)
            self.statistical.update(state.statistical, x, np.where(told, y, 0.0), told, w, lesson)
        self.online.update(state.online, x, y, seen, w, lesson)
        state.learned += lesson.share * seen.any((1, 2))
