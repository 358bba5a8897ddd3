"""Optimism by draws: parameters of a model, or members taught by resampled data, are drawn in every round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.luck import Stream, uniform
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import counts, nonnegative, whole
from evenhand.models._shared import check_blocks, check_parametric, normals_by_block, numbers_for, refuse_luck
from evenhand.models.base import ROUND, Lesson, Model, Parametric, Posterior, Worth, Wraps
from evenhand.numerics.precision import dot

# P(Poisson(1) <= k), k = 0, 1, ...: the remaining probability is below the spacing of uniform numbers.
_POISSON = np.cumsum([math.exp(-1.0) / math.factorial(k) for k in range(19)])


class Drawn(Wraps, Protocol):
    """The inner model's mean, and a bonus that depends on luck; without luck, as in plans, the bonus is 0."""

    n_blocks: int

    def _bonus(self, state: Any, x: Floats, w: Floats, u: Floats, mean: Floats) -> Floats:
        """Return the drawn addition to the mean, `(A,n),(K,1|A,M),(draws),(K,A)->(K,A)`."""

    def value(self, state: Any, x: Floats, w: Floats, u: Floats) -> Worth:
        """Return the inner model's mean, and the drawn bonus, `(A,n),(K,1|A,M),(draws)->(K,A),(K,A)`."""
        mean = self.inner.value(state, x, w, u[:, :0]).mean
        if u.shape[1] == 0:
            return Worth(mean, np.zeros(mean.shape))
        check_blocks(type(self).__name__, self.n_blocks, x.shape[1])
        return Worth(mean, self._bonus(state, x, w, u, mean), random=True)


class Scaled(Drawn, Protocol):
    """A bonus by normal numbers for each block and parameter, scale times as wide as the posterior."""

    inner: Posterior
    scale: float

    def draws(self, candidates: int) -> int:
        """One number per block and parameter, made even, as normal numbers come in pairs; 0 for scale 0."""
        return numbers_for(self.n_blocks * self.inner.n_parameters) if self.scale > 0 else 0

    def _z(self, u: Floats) -> Floats:
        return self.scale * normals_by_block(u, self.n_blocks, self.inner.n_parameters)


@named(
    "T1",
    source="Agrawal & Goyal 2013 (ICML: linear; AISTATS, Algorithm 2: arms); Chapelle & Li 2011 and Russo et al. 2018, "
    "Section 5 (Laplace)",
)
@dataclass(frozen=True, kw_only=True)
class Sampled(Scaled):
    """Draw a model's parameters from its posterior once per round, and value candidates under them.

    Equation: theta~ ~ N(theta, scale^2 S); bonus = worth under theta~ minus worth under theta, theta and S the inner
    model's: S = V^-1 for `Ridge`, per outcome; the inverse Hessian of the penalised likelihood for
    `Logistic` and `GeneralizedLinear`; 1 / (N + 1) per arm, on outcomes scaled to [0, 1], for `Tabular`. The worth of a
    drawn parameter is not clipped to the declared range, but for means of the exponential link: clipped draws of an arm
    that was never played would mostly tie at an end.

    All candidates of a block, and all readings of the goals, share one draw. In a round that decides for several users,
    a block may be a user: candidates come in `n_blocks` consecutive blocks of equal length, and each block has a draw
    of its own. Without luck, as in plans, the bonus is 0. The optimism of the inner model is not used.

    Args:
        inner: a model with a posterior to draw from (`Posterior`), such as `Ridge`, `Logistic`, `GeneralizedLinear`,
            `OnePass` or `Tabular`. To sample several models side by side, stack sampled models.
        scale: the draw's standard deviation as a multiple of the posterior's, at least 0; 0 is greedy and uses no luck.
        n_blocks: how many draws per round, at least 1.

    Raises:
        InvalidInput: an inner model without a posterior, or a number out of its range; from `value`, candidates that
            do not divide into blocks.

    >>> import numpy as np
    >>> from evenhand.models.ridge import Ridge
    >>> model = Sampled(inner=Ridge(n_features=1), scale=0.5)
    >>> state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    >>> worth = model.value(state, one, one[None], np.array([[-np.expm1(-0.5), 0.0]]))  # a normal number of 1
    >>> worth.mean.item(), round(worth.bonus.item(), 9), worth.random
    (0.0, 0.5, True)
    """

    inner: Posterior
    scale: float = 1.0
    n_blocks: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Posterior):
            expected = "a model with a posterior to draw from, such as Ridge, Logistic or Tabular"
            raise InvalidInput("Sampled.inner", expected, self.inner)
        nonnegative("Sampled.scale", self.scale)
        whole("Sampled.n_blocks", self.n_blocks, 1)

    def _bonus(self, state: Any, x: Floats, w: Floats, u: Floats, mean: Floats) -> Floats:
        return self.inner.sample(state, x, w, self._z(u)) - mean


@kernel
def _addition(d: Floats, x: Floats, w: Floats) -> Floats:
    """Price times x.d, one d per block of candidates, `(U,n),(A,n),(K,1|A,1)->(K,A)`."""
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    each, size = w.shape[2] > 1, x.shape[1] // d.shape[1]
    for r in range(len(x)):
        for a in range(x.shape[1]):
            own, more = a if each else 0, dot(x[r, a], d[r, a // size])
            for k in range(w.shape[1]):
                bonus[r, k, a] = w[r, k, own, 0] * more
    return bonus


@named("A2", source="Shibukawa et al. 2026, Section 4.2 (Algorithm 2, CAB-TS): perturbations beside the utility")
@dataclass(frozen=True, kw_only=True)
class Perturbed(Scaled):
    """Add a linear term with a drawn parameter to a model's mean, one draw per block and round.

    Equation: bonus = price x.e, e ~ N(0, scale^2 S), S the posterior covariance of the inner model: H^-1 for
    `Logistic`, H = ridge I + sum mu' x x^T, the Hessian at its last fit; for an identity link in units of the outcome's
    range. `Sampled` draws inside the link instead, mu(x.(theta + e)); for an identity link the two are the same.
    Deviation: the paper's H has lambda_0 times the average of mu' in the place of our ridge, which it sets to
    kappa lambda_0, kappa the least slope of mu. Our H is smaller by the difference, so our draws are wider, noticeably
    so until data outweigh the ridge; and with `growth` above 1 the H of `Logistic` is that of its last fit, not of the
    present round.

    Candidates come in `n_blocks` consecutive blocks of equal length, such as one per user, and each block has a draw of
    its own; all candidates of a block and all readings share it. Without luck, as in plans, the bonus is 0. The
    optimism of the inner model is not used.

    Args:
        inner: a model of one outcome with parameters to draw (`Parametric`): `Logistic`, `GeneralizedLinear` or
            `OnePass`.
        scale: a, the draw's standard deviation as a multiple of the posterior's, at least 0; the paper's experiments
            have sqrt(n n_blocks). 0 is greedy and uses no luck.
        n_blocks: how many draws per round, at least 1.

    Raises:
        InvalidInput: an inner model without such parameters, or a number out of its range; from `value`, candidates
            that do not divide into blocks.

    >>> from evenhand.models.generalized_linear import Logistic
    >>> model = Perturbed(inner=Logistic(n_features=1, ridge=4.0))
    >>> state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    >>> worth = model.value(state, one, one[None], np.array([[-np.expm1(-0.5), 0.0]]))  # a normal number of 1
    >>> worth.mean.item(), round(worth.bonus.item(), 9), worth.random
    (0.5, 0.5, True)
    """

    inner: Parametric
    scale: float = 1.0
    n_blocks: int = 1

    def __post_init__(self) -> None:
        check_parametric("Perturbed", self.inner)
        nonnegative("Perturbed.scale", self.scale)
        whole("Perturbed.n_blocks", self.n_blocks, 1)

    def _bonus(self, state: Any, x: Floats, w: Floats, u: Floats, mean: Floats) -> Floats:
        return _addition(self.inner.deviations(state, self._z(u)), x, w)


@kernel
def _ball(normal: Floats, u: Floats, radius: float) -> Floats:
    """Points uniform in a ball, from normal directions and uniform numbers, in place, `(D,n),(D),()->(D,n)`."""
    n = normal.shape[2]
    for r in range(len(normal)):
        for d in range(normal.shape[1]):
            square = 0.0
            for i in range(n):
                square += normal[r, d, i] * normal[r, d, i]
            if square > 0.0:
                scale = radius * u[r, d] ** (1.0 / n) / math.sqrt(square)
                for i in range(n):
                    normal[r, d, i] *= scale
    return normal


@kernel
def _best(mean: Floats, draws: int, blocks: int, points: Floats) -> Floats:
    """The point with the most merit, `(D A),(),(),(D,n)->(1,n)`, and the first of several."""
    best = np.empty((len(mean), 1, points.shape[2]))
    size = mean.shape[1] // (draws * blocks)
    for r in range(len(mean)):
        most, a = -1.0, 0
        for d in range(draws):
            merit = 0.0
            for _ in range(blocks):
                total, squares = 0.0, 0.0
                for _ in range(size):
                    m = max(mean[r, a], 0.0)
                    total += m
                    squares += m * m
                    a += 1
                merit += squares / total if total > 0.0 else 0.0
            if merit > most:
                most = merit
                best[r, 0] = points[r, d]
    return best


@named("A6", source="FairX: Wang et al. 2021, as in Shibukawa et al. 2026, Appendix F.1 (Algorithm 6)")
@dataclass(frozen=True, kw_only=True)
class OptimisticDraw(Drawn):
    """Value candidates under the drawn parameter of an ellipsoid under which merit pays most.

    Equation: theta_d = theta + radius L^-T u_d, V = L L^T the matrix of the inner model's widths, u_d uniform in the
    unit ball; the draw with the largest sum over blocks i and candidates a of P_ia mu_ia is kept, P_ia = mu_ia / sum of
    mu_ia' over the block's candidates; bonus = worth under it minus worth under theta. A mean below 0 has merit 0.
    FairX draws each user's arm from P under that parameter.
    Deviation: the paper prints L^-1, which leaves the ellipsoid in some draws.

    Candidates come in `n_blocks` consecutive blocks of equal length, such as one per user. Without luck, as in plans,
    the bonus is 0. The optimism of the inner model is not used.

    Args:
        inner: a model of one outcome with parameters to draw (`Parametric`): `Logistic`, `GeneralizedLinear` or
            `OnePass`.
        radius: of the ellipsoid, at least 0; the paper's sqrt(gamma), gamma = 0.1.
        tries: how many parameters are drawn, at least 1.
        n_blocks: blocks of candidates, at least 1.

    Raises:
        InvalidInput: an inner model without such parameters, or a number out of its range; from `value`, candidates
            that do not divide into blocks.

    >>> from evenhand.models.generalized_linear import Logistic
    >>> model = OptimisticDraw(inner=Logistic(n_features=1), radius=1.0, tries=2)
    >>> state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    >>> luck = np.array([[0.5, 0.0, 0.4, 0.9]])  # normal numbers 1.18 and 0, and distances 0.4 and 0.9
    >>> worth = model.value(state, one, one[None], luck)
    >>> worth.random, round((worth.mean + worth.bonus).item(), 3)  # sigmoid(0.4)
    (True, 0.599)
    """

    inner: Parametric
    radius: float = math.sqrt(0.1)
    tries: int = 50
    n_blocks: int = 1

    def __post_init__(self) -> None:
        check_parametric("OptimisticDraw", self.inner)
        nonnegative("OptimisticDraw.radius", self.radius)
        counts(self, {"tries": 1, "n_blocks": 1})

    def draws(self, candidates: int) -> int:
        return numbers_for(self.tries * self.inner.n_parameters) + self.tries

    def _bonus(self, state: Any, x: Floats, w: Floats, u: Floats, mean: Floats) -> Floats:
        tries = self.tries
        directions = normals_by_block(np.ascontiguousarray(u[:, :-tries]), tries, self.inner.n_parameters)
        points = self.inner.inside(state, _ball(directions, u[:, -tries:], float(self.radius)))
        means = self.inner.at(state, np.tile(x, (1, tries, 1)), np.ones((len(x), 1, 1, 1)), points)[:, 0]
        best = _best(means, tries, self.n_blocks, points)
        return self.inner.at(state, x, w, best) - mean


@dataclass
class BootstrappedState:
    """The members' states, and the number of observations so far."""

    members: list[Any]
    count: Ints  # (R,)


@named(
    "T2",
    source="Eckles & Kaptein 2014 and Osband & Van Roy 2015 (bootstrapped Thompson sampling), on the online bootstrap "
    "of Oza & Russell 2001",
)
@dataclass(frozen=True, kw_only=True)
class Bootstrapped(Wraps):
    """Copies of any model that learn from resampled data; each round values candidates by one drawn copy.

    Equation: observation i enters member b w_ib ~ Poisson(1) times; mean = the average of the members' means, bonus =
    the mean of a member that is drawn uniformly, minus it.
    It makes any scikit-learn estimator explore: `Bootstrapped(inner=Sklearn(estimator=...))`.

    A bootstrap of a long history draws each observation about Poisson(1) times, so each w_ib is drawn once and never
    changes when more data arrive (Oza & Russell). Observations are repeated, not weighted: this is exact for every
    estimator, including those that take no weights or count rows. w_ib depends only on (i, b), where i counts a
    replica's own observations, so a replica learns the same in a batch and alone; replicas differ by their data and by
    the members they draw. Without data all members agree, so a warm-up (`Staged`) must come first. Each member sees
    fewer distinct observations, so an estimator without a penalty should wait for more of them (`min_observations`).

    All candidates of a block share one member, as in `Sampled`. Without luck the bonus is 0. A round calls `value` and
    `update` of the inner model once per member; the optimism of the inner model is not used.

    Args:
        inner: any model that uses no luck.
        members: B, at least 2.
        n_blocks: how many members are drawn per round, one per consecutive block of candidates, at least 1.

    Raises:
        InvalidInput: an inner model with luck of its own, or a number out of its range; from `value`, candidates that
            do not divide into blocks.

    >>> from evenhand.models.ridge import Ridge
    >>> model = Bootstrapped(inner=Ridge(n_features=1), members=4)
    >>> state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    >>> for _ in range(3):
    ...     model.update(state, one, one, one > 0, one[None])
    >>> [model.value(state, one, one[None], np.array([[u]])).bonus.item() != 0.0 for u in (0.1, 0.9)]
    [True, True]
    """

    inner: Model
    members: int = 10
    n_blocks: int = 1

    def __post_init__(self) -> None:
        refuse_luck("Bootstrapped", self.inner)
        counts(self, {"members": 2, "n_blocks": 1})

    def draws(self, candidates: int) -> int:
        return self.n_blocks

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> BootstrappedState:
        members = [self.inner.start(n_replicas, low, high, horizon) for _ in range(self.members)]
        return BootstrappedState(members, np.zeros(n_replicas, np.int64))

    def value(self, state: BootstrappedState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Return the members' average, and the drawn bonus, `(A,n),(K,1|A,M),(draws)->(K,A),(K,A)`."""
        each = np.stack([self.inner.value(member, x, w, u[:, :0]).mean for member in state.members])
        mean = np.zeros(each.shape[1:])
        for one in each:  # one by one, because the order of a sum over an axis depends on its shape
            mean += one / self.members
        if u.shape[1] == 0:
            return Worth(mean, np.zeros(mean.shape))
        check_blocks("Bootstrapped", self.n_blocks, x.shape[1])
        drawn = np.repeat((self.members * u).astype(np.int64), x.shape[1] // self.n_blocks, 1)
        bonus = np.take_along_axis(each, drawn[None, :, None, :], 0)[0] - mean
        return Worth(mean, bonus, random=True)

    def update(
        self, state: BootstrappedState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Pass each observation to every member as often as that member drew it, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        told = np.asarray(seen.any(2))
        first = state.count[:, None] + np.cumsum(told, 1) - told
        times = np.where(told[:, :, None], _times(first, self.members), 0)
        state.count += told.sum(1)
        for b, member in enumerate(state.members):
            most = int(times[:, :, b].max())
            if most > 0:
                drawn = (np.arange(most) < times[:, :, b, None]).reshape(len(x), -1, 1)
                features, outcomes, told_of = np.repeat(x, most, 1), np.repeat(y, most, 1), np.repeat(seen, most, 1)
                prices = np.repeat(w, most, 2) if w.shape[2] > 1 else w
                self.inner.update(member, features, outcomes, told_of & drawn, prices, lesson)


def _times(number: Ints, members: int) -> Ints:
    """Return the number of draws of numbered observations by each member, `(P)->(P,B)`, the same in every replica."""
    u = uniform(0, Stream.BOOTSTRAP, number.ravel(), np.zeros(1), members)
    return np.searchsorted(_POISSON, u, side="right").reshape(*number.shape, members)
