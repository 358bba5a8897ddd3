"""Pay-per-click advertising for users of several demographics, by campaigns with budgets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.core.validate import counts, number, positive, whole
from evenhand.environments._arms import draw_links, instance_luck
from evenhand.environments._cases import Cases, means
from evenhand.objectives import AlphaFair
from evenhand.problem.constraints import Budget, Within
from evenhand.problem.groups import Groups
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.sets import Ball, ConvexSet, Halfspaces


@kernel
def _users(u: Floats, ends: Floats, ads: int) -> tuple[Floats, Ints]:
    """Compute the features of all ads for a user, and the user's demographic, `(1+q),(G)->(1+ads,ads(1+q+G)),(1,1)`.

    The first number picks the demographic. The block of an ad has 1, the other numbers, and 1 for the demographic.
    """
    more, kinds = u.shape[1] - 1, len(ends)
    width = 1 + more + kinds
    x, group = np.zeros((len(u), 1 + ads, ads * width)), np.empty((len(u), 1, 1), np.int64)
    for r in range(len(u)):
        g = 0
        while g < kinds - 1 and u[r, 0] >= ends[g]:
            g += 1
        group[r, 0, 0] = g
        for a in range(ads):
            at = a * width
            x[r, 1 + a, at] = 1.0
            for i in range(more):
                x[r, 1 + a, at + 1 + i] = u[r, 1 + i]
            x[r, 1 + a, at + 1 + more + g] = 1.0
    return x, group


@named("B11", source="Agrawal & Devanur 2014, Section 3 (pay-per-click advertising); instances are evenhand's own")
@dataclass(frozen=True, kw_only=True)
class PayPerClick:
    """Shows each user at most one of several ads; a click costs every campaign that the ad belongs to.

    Equation: with z_g the clicks of demographic g per round, maximise sum_g sqrt(z_g + 0.01) subject to the budgets of
    campaigns, a mix z_g >= `mix` share_g sum_h z_h, and a risk ||z||_2 <= radius, a convex constraint.
    P(click on a) = theta_a.(1, traits, one-hot demographic): 0.05 to 0.25, plus up to 0.3 for the traits together,
    which are uniform on [0, 1], plus up to 0.3 for the demographic. A click on ad a costs 0.2 to 1. An ad belongs to a
    campaign with probability 1/2, at least to one. Budgets are `scarcity` times what ads at random cost, and the radius
    is `risk` times the norm of their clicks.
    With `families`, overlapping families of campaigns have budgets of their own, `thrift` times the sum of those of
    their members: a campaign is in a family with probability 1/2, at least in one. As in the source, they are no
    outcomes but half-spaces, sum of x_c over the campaigns c of a family <= its budget, in the few dimensions of the
    costs x of campaigns, however many families there are. They are kept on average, the budgets of campaigns for sure.

    Args:
        ads: number of ads.
        demographics: G, at least 2; shares fall from the first to the last as G, G - 1, ..., 1.
        campaigns: number of campaigns.
        traits: number of features of a user beside the demographic.
        scarcity: above 0.
        mix: in [0, 1).
        risk: above 0; infinite for none.
        families: of campaigns, with budgets of their own; 0 for none.
        thrift: of families, above 0; at 1 or more, none binds.

    >>> PayPerClick().problem.each("click", by="demographic")
    ('click demographic=g1', 'click demographic=g2', 'click demographic=g3')
    """

    ads: int = 6
    demographics: int = 3
    campaigns: int = 3
    traits: int = 2
    instance: int = 0
    scarcity: float = 0.8
    mix: float = 0.8
    risk: float = 1.0
    families: int = 0
    thrift: float = 0.8
    horizon: int = 20_000

    def __post_init__(self) -> None:
        counts(self, {"ads": 1, "demographics": 2, "campaigns": 1, "traits": 0, "instance": 0})
        positive("PayPerClick.scarcity", self.scarcity)
        number("PayPerClick.mix", self.mix, "a number in [0, 1)", lambda x: 0 <= x < 1)
        number("PayPerClick.risk", self.risk, "a number above 0", lambda x: x > 0)
        whole("PayPerClick.families", self.families, 0)
        positive("PayPerClick.thrift", self.thrift)

    @cached_property
    def shares(self) -> Floats:
        """The shares of the demographics, `->(G)`."""
        size: Floats = np.arange(self.demographics, 0, -1.0)
        return np.asarray(size / size.sum())

    @cached_property
    def pays(self) -> Floats:
        """The cost of a click to every campaign, by action, `->(1+ads,campaigns)`."""
        price = 0.2 + 0.8 * instance_luck(self.instance, 6, self.ads)
        luck = instance_luck(self.instance, 7, self.ads * self.campaigns).reshape(self.ads, self.campaigns)
        return np.concatenate([np.zeros((1, self.campaigns)), price[:, None] * draw_links(luck, 0.5)])

    @cached_property
    def members(self) -> Floats:
        """The membership of campaigns in families, 0 or 1, `->(families,campaigns)`."""
        luck = instance_luck(self.instance, 12, self.families * self.campaigns)
        return draw_links(luck.reshape(self.families, self.campaigns), 0.5).astype(float)

    @cached_property
    def theta(self) -> Floats:
        """The coefficients of clicks and costs, `->(1+campaigns,n)`."""
        width, q = 1 + self.traits + self.demographics, max(self.traits, 1)
        u = instance_luck(self.instance, 8, self.ads * width).reshape(self.ads, width)
        most = np.array([0.2] + [0.3 / q] * self.traits + [0.3] * self.demographics)
        clicks = most * u
        clicks[:, 0] += 0.05
        costs = self.pays[1:].T[:, :, None] * clicks
        return np.concatenate([clicks.reshape(1, -1), costs.reshape(self.campaigns, -1)])

    @cached_property
    def _at_random(self) -> tuple[Floats, Floats]:
        """The clicks of every demographic and the costs of every campaign per round if ads are shown at random."""
        user = np.concatenate([np.ones((self.demographics, 1)), np.full((self.demographics, self.traits), 0.5)], axis=1)
        user = np.concatenate([user, np.eye(self.demographics)], axis=1)
        clicks = user @ self.theta[0].reshape(self.ads, -1).T  # by demographic and ad
        return self.shares * clicks.mean(1), (self.shares @ clicks) @ self.pays[1:] / self.ads

    @cached_property
    def problem(self) -> Problem:
        kinds = tuple(f"g{g}" for g in range(1, self.demographics + 1))
        clicks = tuple(f"click demographic={kind}" for kind in kinds)
        costs = tuple(f"campaign {c}" for c in range(1, self.campaigns + 1))
        at_random, paid = self._at_random
        mix = self.mix * self.shares[:, None] - np.eye(self.demographics)
        sets: list[ConvexSet] = [Halfspaces(tuple(map(tuple, mix.tolist())), (0.0,) * self.demographics)]
        if np.isfinite(self.risk):
            sets.append(Ball((0.0,) * self.demographics, self.risk * float(np.linalg.norm(at_random))))
        rates, shared = self.scarcity * paid, []
        if self.families:
            most = self.thrift * self.members @ rates
            shared = [Within(costs, Halfspaces(tuple(map(tuple, self.members.tolist())), tuple(most.tolist())))]
        return Problem(
            actions=("nothing", *(f"ad {a}" for a in range(1, self.ads + 1))),
            outcomes=tuple(Outcome(name, free=("nothing",)) for name in ("click", *costs)),
            maximize=AlphaFair(clicks, alpha=0.5, offset=0.01),
            subject_to=(
                *(Budget(c, rate=r) for c, r in zip(costs, rates.tolist(), strict=True)),
                *shared,
                *(Within(clicks, s) for s in sets),
            ),
            groups=(Groups("demographic", dict(zip(kinds, self.shares.tolist(), strict=True))),),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        return self.ads * (1 + self.traits + self.demographics)

    def start(self, seed: int, replicas: Ints) -> Cases:
        luck, theta, pays, ends = Luck(seed=seed, replicas=replicas), self.theta, self.pays, np.cumsum(self.shares)
        known, offered = self.problem.declared[None], np.ones((1, 1 + self.ads), bool)

        def case(step: int) -> Context:
            x, group = _users(luck.uniform(Stream.CONTEXT, np.array([step]), 1 + self.traits), ends, self.ads)
            return Context(x, known, group, offered)

        def outcomes(step: int, decision: Decision, mean: Floats) -> Floats:
            u = luck.uniform(Stream.OUTCOME, np.array([step]), 1)
            click = (u[:, :, None] < mean[:, :, :1]).astype(float)
            return np.concatenate([click, click * pays[decision.plays]], 2)

        return Cases(self.horizon, luck, case, lambda x, plays: means(x, theta, plays), outcomes)
