"""Matching with an audience: the users of each round are assigned to a few items whose satisfaction saturates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.core.validate import counts, numbers
from evenhand.environments._pairs import LINKS, costs_of_pairs, names_of_pairs, outcomes
from evenhand.environments.audience import Audience
from evenhand.environments.base import Arrival
from evenhand.objectives import Objective
from evenhand.problem.constraints import Constraint
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.welfare import Capped, Curve, Satisfaction

_COIN = LINKS.index("identity")  # outcomes are 0 or 1


@kernel
def _pairs_of(who: Ints, table: Floats) -> Floats:
    """Gather the features of all pairs of the present users, `(N),(U,A,n)->(NA,n)`."""
    _, arms, n = table.shape
    x = np.empty((len(who), who.shape[1] * arms, n))
    for r in range(len(who)):
        for i in range(who.shape[1]):
            for a in range(arms):
                for k in range(n):
                    x[r, i * arms + a, k] = table[who[r, i], a, k]
    return x


@kernel
def _chances_of(who: Ints, chances: Floats, plays: Ints) -> Floats:
    """Look up the probabilities of plays, `(N),(U,A),(P)->(P,1)`; 0 for empty places."""
    mean, arms = np.zeros((*plays.shape, 1)), chances.shape[1]
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                mean[r, p, 0] = chances[who[r, plays[r, p] // arms], plays[r, p] % arms]
    return mean


class _World:
    """A world that answers only for its latest context, as features need not identify the user."""

    counts_idle_steps = True

    def __init__(self, matching: AudienceMatching, seed: int, replicas: Ints) -> None:
        problem = matching.problem
        self._matching, self._luck, self.steps = matching, Luck(seed=seed, replicas=replicas), matching.horizon
        self._chances, self._table = matching.chances, matching.features
        self._known, self._groups = problem.declared[None], np.zeros((len(replicas), 1, 0), np.int64)
        self._offered = np.ones((1, len(problem.actions)), bool)
        self._who, self._features = np.zeros((0, 0), np.int64), np.zeros((0, 0, 0))

    def context(self, step: int) -> Context:
        u = self._luck.uniform(Stream.CONTEXT, np.array([step]), self._matching.users)
        self._who = (u * len(self._chances)).astype(np.int64)
        self._features = _pairs_of(self._who, self._table)
        return Context(self._features, self._known, self._groups, self._offered)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), self._matching.users)
        mean, plays = self.expected(context, decision.plays), decision.plays
        return decision, [Arrival(step, decision, outcomes(_COIN, mean, plays, self._matching.arms, u, 1.0))]

    def expected(self, context: Context, plays: Ints) -> Floats:
        self._check(context)
        return _chances_of(self._who, self._chances, plays)

    def means(self, context: Context) -> Floats:
        self._check(context)
        return self._chances[self._who]

    def _check(self, context: Context) -> None:
        if context.features is not self._features:
            raise InvalidInput("context", "the last one shown, as features do not tell the user", "another one")


@named("A7", source="evenhand's own: the setting of Shibukawa et al. 2026 on listeners and artists of Last.fm")
@dataclass(frozen=True, kw_only=True, eq=False)
class AudienceMatching:
    """Assigns one of A items to each of N users of an audience per round; the items' satisfaction saturates.

    Equation: P(match of user j and item a) is the audience's chance, such as u_j.v_a; users come independently, all
    alike. Features are 1 and the products u_jk v_ak of the factors, each divided by its root mean square over all
    pairs, so that a linear model is exact where chances are u.v. Candidate = user * arms + arm.

    With `LastFM(path=..., users=500).audience` (10 factors; the 500 listeners and 50 artists with the largest counts,
    of which the ten largest artists are the arms) nothing is clipped: a mean pair matches with probability 0.161, from
    0.07 to 0.22 by artist, and a mean listener's best artist with 0.40. If all 50 listeners of a round got their best
    artist, the artists would have between 0.1 and 4.6 matches, so at r(x) = min(x, 2), the default, four of them would
    have more than enough, and six not. A logistic model is not exact here: its best fit explains 94 % of the variance
    of the chances over pairs.

    Args:
        audience: the users and items, with equally many factors, and their probabilities of a match.
        users: N, the number of users per round.
        arms: A, the first items of the audience, which are the largest in `LastFM`.
        curve: the satisfaction r of an item.
        maximize, subject_to, costs: as for `Matching`, without groups.

    Raises:
        InvalidInput: there are more arms than items, numbers of factors differ, or `Problem` refuses the input.

    >>> from evenhand.environments import Listeners
    >>> world = AudienceMatching(audience=Listeners(users=20, items=5, factors=3).audience, users=4, arms=2)
    >>> world.n_features, world.problem.actions[3]
    (4, 'user 1 item 1')
    """

    audience: Audience
    users: int = 50
    arms: int = 10
    curve: Curve = field(default_factory=lambda: Capped(2.0))
    horizon: int = 10_000
    maximize: str | Objective = "match"
    subject_to: tuple[Constraint, ...] = ()
    costs: Sequence[float] | None = None

    def __post_init__(self) -> None:
        counts(self, {"users": 1, "arms": 1})
        items, factors = self.audience.items.shape
        if self.arms > items:
            raise InvalidInput("AudienceMatching.arms", f"at most {items}, the number of items", self.arms)
        if self.audience.users.shape[1] != factors:
            expected = f"users with {factors} factors, as many as items have"
            raise InvalidInput("AudienceMatching.audience", expected, self.audience.users.shape[1])
        if self.costs is not None:
            costs = numbers("AudienceMatching.costs", self.costs, self.arms, f"{self.arms} finite numbers, one per arm")
            object.__setattr__(self, "costs", tuple(costs.tolist()))
        _ = self.problem

    @cached_property
    def chances(self) -> Floats:
        """The probability of a match for every user and arm, `()->(U,A)`."""
        return np.ascontiguousarray(self.audience.chances[:, : self.arms])

    @cached_property
    def features(self) -> Floats:
        """The features of every user and arm, `()->(U,A,1+r)`."""
        products = self.audience.users[:, None, :] * self.audience.items[None, : self.arms, :]
        size = np.sqrt((products**2).mean((0, 1)))
        scaled = np.divide(products, size, out=np.zeros_like(products), where=size > 0.0)
        return np.concatenate([np.ones((*self.chances.shape, 1)), scaled], 2)

    @cached_property
    def problem(self) -> Problem:
        pairs = names_of_pairs(self.users, self.audience.names[: self.arms])
        return Problem(
            actions=pairs,
            outcomes=(Outcome("match"), *costs_of_pairs(pairs, self.costs)),
            maximize=self.maximize,
            subject_to=self.subject_to,
            horizon=self.horizon,
            n_plays=self.users,
            measures=(Satisfaction(self.curve, self.arms),),
        )

    @property
    def n_features(self) -> int:
        return 1 + int(self.audience.items.shape[1])

    def start(self, seed: int, replicas: Ints) -> _World:
        return _World(self, seed, replicas)
