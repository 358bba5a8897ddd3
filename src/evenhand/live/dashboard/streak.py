"""The streak of one action under a policy that never explores, while little is known of the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.goals.base import Priced
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.fold.cases import context_of
from evenhand.live.log.events import read
from evenhand.policy.checks import never_explores
from evenhand.problem.problem import Problem
from evenhand.report.summary import FAR, FEWEST, PART


class Streak:
    """Counts the latest decisions that all played one action, though others were offered, and outcomes by action.

    Only decisions count in which two actions or more were offered. The count begins anew where another action was
    played, the play was not certain, or a hard limit masked what was offered.

    >>> streak = Streak()
    >>> for number in range(1, 6):
    ...     streak.decided(number, "call" if number > 2 else "none", None, certain=True)
    >>> streak.action, streak.first, streak.rounds, streak.n_offered("none")
    ('call', 3, 3, 3)
    """

    def __init__(self) -> None:
        self.action: str | None = None  # that was played alone, of the latest decision that counts
        self.first = self.last = 0  # the events of the decisions since and until when
        self.rounds, self.whole = 0, 0  # decisions since then, and in all
        self.sums = dict[str, Floats]()  # by action, the number of outcomes that came, and their sums, (1 + M + L)
        self._some = Counter[str]()  # of these rounds, those that named the action among others that they offered
        self._all = 0  # those that offered all

    def n_offered(self, action: str) -> int:
        """Return the number of decisions in which an action was offered, and the streak's action was played."""
        return self._all + self._some[action]

    def restart(self) -> None:
        """Count from the next decision on, as at a switch to another policy."""
        self.action, self.rounds, self._all = None, 0, 0
        self._some.clear()

    def decided(self, number: int, action: str, offered: list[str] | None, *, certain: bool) -> None:
        """Enter a decision with one play.

        Args:
            number: of the event of the decision.
            action: what was played.
            offered: the actions that were offered; None for all.
            certain: whether that was certain, with nothing masked that was offered.
        """
        if offered is not None and len(offered) < 2:
            return
        self.whole += 1
        if action != self.action or not certain:
            self.restart()
        if not certain:
            return
        if self.action is None:
            self.action, self.first = action, number
        self.last, self.rounds = number, self.rounds + 1
        if offered is None:
            self._all += 1
        else:
            self._some.update(offered)

    def arrived(self, action: str, outcomes: Floats, times: int) -> None:
        """Enter the outcomes of a play, `(M+L)`, or take them back: times -1."""
        if action not in self.sums:
            self.sums[action] = np.zeros(1 + len(outcomes))
        self.sums[action] += times * np.append(1.0, outcomes)

    @property
    def is_long(self) -> bool:
        """Whether the streak has half of all decisions, and at least as many as runs are judged by."""
        return self.rounds >= max(FEWEST, PART * self.whole)


class Room(NamedTuple):
    """How much more another action may be worth than the one that is played alone, by its outcomes so far."""

    action: str
    outcomes: int  # that came
    more: float  # per round, in units of the objective


def rooms(campaign: CampaignView, streak: Streak) -> list[Room]:
    """Return the actions that may be worth more than the one that is played alone, the largest room first.

    There are none unless one action was played alone for long by a policy that never explores, and 20 of its outcomes
    came. Equation: at the prices p of the latest decision, the worth of an action is p_known . z + p_learned . y, with
    z its known outcomes. The mean x of the second part lies between its least value l and its greatest u, so one
    outcome has a variance of at most (u - x)(x - l). Room is what the highest x with |x - x_k| <= 3 sqrt((u - x)(x -
    l)/k) is above the mean of the action that is played, x_k being the mean of the k outcomes that came; all of u for
    none.

    Source: Wilson 1927, whose interval of a share this is; any variable between two ends varies at most as much (Bhatia
    & Davis 2000).
    """
    own = None if streak.action is None else streak.sums.get(streak.action)
    if not streak.is_long or own is None or own[0] < FEWEST:
        return []
    policy, problem = campaign.policy, campaign.policy.problem
    event = next(iter(campaign.store.scan(campaign.name, streak.last - 1)))
    body = read(event) if event.seq == streak.last else {}  # without its prices if it was erased, or is in a segment
    price = _price([g for g in policy.goals if isinstance(g, Priced)], body)
    if price is None:
        return []
    state = policy.start()
    context = context_of(campaign.encoder, problem.clock, body, event.at)
    if not never_explores(policy.model, state.model, policy.choice, context.features):
        return []
    played, found = float(price @ own[1:]) / own[0], list[Room]()
    for a, name in enumerate(problem.actions):
        if (
            name == streak.action
            or name in problem.withdrawn
            or streak.n_offered(name) < max(FEWEST, PART * streak.whole)
        ):
            continue
        k, highest = _highest(problem, a, streak.sums.get(name), price)
        if highest > played + 1e-9 * abs(played):
            found.append(Room(name, k, highest - played))
    return sorted(found, key=lambda room: -room.more)


def _price(goals: list[Any], body: Mapping[str, Any]) -> Floats | None:
    """Return the worth of a unit of each outcome in a decision, `->(M+L)`; None where it differs by group."""
    prices = np.array(body.get("q", ()))
    if not goals or len(prices) != sum(len(g.rows) for g in goals):
        return None
    plain = np.concatenate([(g.rows.grouping < 0) & (g.rows.always == 1.0) for g in goals])
    if (prices[~plain] != 0.0).any() or not prices.any():
        return None
    return np.asarray(prices @ np.concatenate([g.rows.weights for g in goals]))


def _highest(problem: Problem, a: int, sums: Floats | None, price: Floats) -> tuple[int, float]:
    """Return the number of outcomes of an action that came, and the most that it may be worth by them.

    It is NaN where a range has no end, as no number of outcomes then says what their mean may be.
    """
    m = len(problem.learned)
    span = problem.span_by_action[:, a if problem.span_by_action.shape[1] > 1 else 0, :m]
    if problem.factors is not None:
        span = span * problem.factors.of(problem.declared[None])[0, a]
    priced = price[:m] != 0.0
    ends = np.sort(price[:m][priced] * span[:, priced], axis=0).sum(1)
    if not np.isfinite(ends).all():
        return 0, math.nan
    if sums is None or sums[0] < 0.5:
        return 0, float(ends[1] + price[m:] @ problem.declared[a])
    k, width = float(sums[0]), float(ends[1] - ends[0])
    means = sums[1:] / k
    share = min(max(float(price[:m] @ means[:m] - ends[0]) / width, 0.0), 1.0) if width > 0.0 else 0.0
    return round(k), float(ends[0] + width * _highest_share(share, k) + price[m:] @ means[m:])


def _highest_share(share: float, k: float) -> float:
    """Return the upper end of Wilson's interval, of three standard errors.

    >>> round(_highest_share(0.0, 9.0), 12), round(_highest_share(0.2, 1e12), 5)
    (0.5, 0.2)
    """
    z2 = FAR * FAR / k
    root = math.sqrt(z2 * (share * (1.0 - share) + z2 / 4.0))
    return (share + z2 / 2.0 + root) / (1.0 + z2)
