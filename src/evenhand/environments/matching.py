"""Matching: each of N users is assigned to one of A arms per round; an arm's returns diminish within the round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.core.validate import counts, number, numbers, one_of
from evenhand.environments._pairs import (
    LINKS,
    costs_of_pairs,
    draw_features,
    eligible_pairs,
    every_mean,
    means_of_plays,
    names_of_pairs,
    outcomes,
)
from evenhand.environments.base import Arrival
from evenhand.objectives import Objective
from evenhand.problem.constraints import Constraint
from evenhand.problem.groups import Groups
from evenhand.problem.measures import Measure
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.welfare import Capped, Curve, Satisfaction

MOST = 100.0  # Poisson matches per pair and round; the mean is at most e^3


class _World:
    counts_idle_steps = True

    def __init__(self, matching: Matching, seed: int, replicas: Ints) -> None:
        problem = matching.problem
        self._matching, self._luck, self._drawn = matching, Luck(seed=seed, replicas=replicas), np.uint64(seed)
        self._replicas, self._known, self.steps = replicas, problem.declared[None], matching.horizon
        self._link, self._reached = LINKS.index(matching.link), matching.shares.cumsum()
        self._everybody = np.zeros((len(replicas), 1, 0), np.int64)
        self._offered = np.ones((1, len(problem.actions)), bool)
        scale = 1.0 if matching.link == "logistic" else 1.0 / matching.n_features
        self.theta = scale * self._luck.uniform(Stream.TRUTH, np.zeros(1, np.int64), matching.n_features)

    def context(self, step: int) -> Context:
        m, now = self._matching, step if self._matching.redraw else 0
        part = step / m.horizon
        squashed, mixed = m.link == "identity", (m.popularity + m.drift * part, int(m.turns * part))
        groups, shift, offered = self._everybody, np.zeros((1, m.users)), self._offered
        if m.groups or m.eligible < 1.0:
            u = self._luck.uniform(Stream.CONTEXT, np.array([now]), m.users * (m.arms + 1))
            offered = eligible_pairs(u[:, m.users :], m.users, m.eligible) if m.eligible < 1.0 else offered
            if m.groups:
                mine = np.minimum(np.searchsorted(self._reached, u[:, : m.users], side="right"), len(m.shifts) - 1)
                groups, shift = np.repeat(mine, m.arms, 1)[:, :, None], m.shifts[mine]
        sizes = (m.users, m.arms, m.n_features)
        x = draw_features(self._drawn, self._replicas, now, sizes, *mixed, shift, squashed)
        return Context(x, self._known, groups, offered)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), self._matching.users)
        y = outcomes(self._link, self.expected(context, decision.plays), decision.plays, self._matching.arms, u, MOST)
        return decision, [Arrival(step, decision, y)]

    def expected(self, context: Context, plays: Ints) -> Floats:
        return means_of_plays(self._link, context.features, self.theta, plays)

    def means(self, context: Context) -> Floats:
        m = self._matching
        return every_mean(self._link, context.features, self.theta).reshape(-1, m.users, m.arms)


@named("A7", source="Shibukawa et al. 2026, Section 5.1 and Appendix F.2: the synthetic experiments")
@dataclass(frozen=True, kw_only=True)
class Matching:
    """Matches users with arms of random features, some of which make the same arms popular with all users.

    Equation: phi = lam pop + (1 - lam) base in R^n, both standard normal; for every user and component, pop is sorted,
    increasing in the arm. P(match) = sigmoid(phi.theta) with theta uniform on [0, 1]^n, drawn for every replica. The
    satisfaction of a round is sum_a r(sum of the matches of arm a). Candidate = user * arms + arm, and an arm may have
    any number of users. The features are drawn anew in every round; the source does not say whether they are.

    With the other links theta is divided by n. "poisson": the number of matches has the mean exp(phi.theta), up to e^3.
    "identity": components of phi are replaced by sigmoid(phi), and P(match) = phi.theta, which a linear model learns.

    Args:
        users, arms, n_features: N, A and n.
        popularity: lam, in [0, 1].
        curve: r.
        link: of the mean.
        redraw: False for the same users in every round.
        maximize: an outcome or an objective.
        subject_to: constraints on "match" and "cost", by "group".
        costs: what each arm costs per user, a known outcome "cost"; without it there is none.
        groups: shares of the groups of users; every user of a round is drawn from one of them.
        shifts_by_group: added to all features of a group's users, which makes its matches more likely; 0 by default.
        eligible: the chance of every pair to be eligible, drawn in every round; a user of no arm gets one of them.
        drift: how much lam has grown at the end of the run, for tests of policies that remember earlier rounds.
        turns: how often, at equal distances, the arms' order by popularity moves on by one arm; for such tests as well.
        measures: of rounds, beside the satisfaction.

    Raises:
        InvalidInput: numbers out of their ranges, costs or groups that do not fit, or what `Problem` refuses.

    >>> world = Matching(users=3, arms=2, costs=(0.0, 1.0))
    >>> world.problem.actions[:3], world.problem.names
    (('user 0 arm 0', 'user 0 arm 1', 'user 1 arm 0'), ('match', 'cost'))
    >>> world.start(0, np.arange(4)).context(0).features.shape
    (4, 6, 5)
    """

    users: int = 50
    arms: int = 10
    n_features: int = 5
    popularity: float = 0.5
    curve: Curve = field(default_factory=lambda: Capped(5.0))
    horizon: int = 10_000
    link: Literal["logistic", "poisson", "identity"] = "logistic"
    redraw: bool = True
    maximize: str | Objective = "match"
    subject_to: tuple[Constraint, ...] = ()
    costs: Sequence[float] | None = None
    groups: Mapping[str, float] | None = None
    shifts_by_group: Mapping[str, float] | None = None
    eligible: float = 1.0
    drift: float = 0.0
    turns: int = 0
    measures: tuple[Measure, ...] = ()

    def __post_init__(self) -> None:
        counts(self, {"users": 1, "arms": 1, "n_features": 1, "turns": 0})
        one_of("Matching.link", self.link, LINKS)
        number("Matching.popularity", self.popularity, "a number in [0, 1]", lambda x: 0 <= x <= 1)
        within = f"a number in [{-self.popularity:g}, {1 - self.popularity:g}], which keeps the popularity in [0, 1]"
        number("Matching.drift", self.drift, within, lambda x: 0 <= self.popularity + x <= 1)
        number("Matching.eligible", self.eligible, "a number in (0, 1]", lambda x: 0 < x <= 1)
        if self.costs is not None:
            expected = f"{self.arms} finite numbers, one per arm"
            object.__setattr__(
                self, "costs", tuple(numbers("Matching.costs", self.costs, self.arms, expected).tolist())
            )
        unknown = sorted(set(self.shifts_by_group or ()) - set(self.groups or ()))
        if unknown:
            raise InvalidInput("Matching.shifts_by_group", f"some of the groups {list(self.groups or ())}", unknown)
        _ = self.shifts, self.problem

    @cached_property
    def shifts(self) -> Floats:
        """The shift of each group's features, `()->(C)`."""
        given = self.shifts_by_group or {}
        names = list(self.groups or ())
        values = [given.get(name, 0.0) for name in names]
        return numbers("Matching.shifts_by_group", values, len(names), f"{len(names)} finite numbers")

    @cached_property
    def shares(self) -> Floats:
        """The share of each group, `()->(C)`."""
        return np.array(list((self.groups or {}).values()), float)

    @cached_property
    def problem(self) -> Problem:
        pairs = names_of_pairs(self.users, [f"arm {a}" for a in range(self.arms)])
        match = Outcome("match", high=MOST if self.link == "poisson" else 1.0)
        return Problem(
            actions=pairs,
            outcomes=(match, *costs_of_pairs(pairs, self.costs)),
            maximize=self.maximize,
            subject_to=self.subject_to,
            groups=(Groups("group", self.groups),) if self.groups else (),
            horizon=self.horizon,
            n_plays=self.users,
            measures=(Satisfaction(self.curve, self.arms), *self.measures),
        )

    def start(self, seed: int, replicas: Ints) -> _World:
        return _World(self, seed, replicas)
