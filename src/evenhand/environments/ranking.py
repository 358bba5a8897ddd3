"""Rankings: items are ordered for each user, and lower places are examined less; and offers that change over a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream, uniform_within
from evenhand.core.records import Context, Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints, cached_property
from evenhand.core.validate import number, numbers, one_of, whole
from evenhand.environments.audience import Audience
from evenhand.environments.base import Arrival
from evenhand.objectives import Objective
from evenhand.planning.lists import Lists
from evenhand.problem.constraints import Constraint
from evenhand.problem.groups import Groups
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem

_CONTEXT, _OUTCOME = np.uint64(Stream.CONTEXT), np.uint64(Stream.OUTCOME)


class Offers(Protocol):
    """The contract of a schedule of offers."""

    @property
    def length(self) -> int:
        """The number of rounds of a phase."""

    def offered(self, luck: Luck, phase: int, items: int) -> Bools:
        """Return the items offered in a phase, counted from 0; a pure function of luck and phase, `->(m)`."""


@checked
@dataclass(frozen=True, eq=False)
class Phases:
    """Repeats a plan that states the offered items of each phase.

    Args:
        plan: whether each item is offered, one row per phase, `(phases, m)`.
        length: the number of rounds per phase.

    Raises:
        InvalidInput: the plan is not a boolean matrix or has a phase without items, or the length is below 1; in a run,
            the number of items differs.

    >>> seasons = Phases(np.array([[True, False], [True, True]]), length=100)
    >>> seasons.offered(Luck(seed=0, replicas=np.arange(1)), phase=2, items=2)
    array([[ True, False]])
    """

    plan: Bools
    length: int

    def __post_init__(self) -> None:
        plan = np.array(self.plan)
        if plan.ndim != 2 or not plan.size or plan.dtype.kind != "b" or not plan.any(1).all():
            expected = "a matrix of true and false, a row per phase, with at least one item in each"
            raise InvalidInput("Phases.plan", expected, repr(self.plan))
        whole("Phases.length", self.length, 1)
        object.__setattr__(self, "plan", plan)

    def offered(self, luck: Luck, phase: int, items: int) -> Bools:
        if self.plan.shape[1] != items:
            raise InvalidInput("Phases.plan", f"a column for each of {items} items", f"{self.plan.shape[1]} columns")
        return np.asarray(self.plan[phase % len(self.plan)][None])


@checked
@dataclass(frozen=True)
class Absences:
    """Makes every item absent in a share of the phases, at random and independently.

    Args:
        share: the probability of an absence, in [0, 1).
        length: the number of rounds per phase.

    >>> offered = Absences(0.25, length=10).offered(Luck(seed=0, replicas=np.arange(400)), phase=0, items=50)
    >>> bool(abs(offered.mean() - 0.75) < 0.01)
    True
    """

    share: float
    length: int

    def __post_init__(self) -> None:
        number("Absences.share", self.share, "a number in [0, 1)", lambda x: 0 <= x < 1)
        whole("Absences.length", self.length, 1)

    def offered(self, luck: Luck, phase: int, items: int) -> Bools:
        return np.asarray(luck.uniform(Stream.TRUTH, np.array([phase]), items) >= self.share)


@kernel
def _meet(
    seed: np.uint64, replicas: Ints, step: int, users: Floats, items: Floats, reached: Floats, flat: bool
) -> tuple[Ints, Floats]:
    """Draw a user, and compute the features of all items for this user, `(N,r),(m,s),(N),()->(),(m,n)`."""
    u = uniform_within(seed, _CONTEXT, replicas, np.full(1, step), 1)
    (m, s), r = items.shape, users.shape[1]
    who, x = np.empty(len(u), np.int64), np.empty((len(u), m, r * s if flat else r + s))
    for b in range(len(u)):
        user = min(np.searchsorted(reached, u[b, 0], side="right"), len(users) - 1)
        who[b] = user
        for a in range(m):
            for i in range(r):
                if flat:
                    for j in range(s):
                        x[b, a, i * s + j] = users[user, i] * items[a, j]
                else:
                    x[b, a, i] = users[user, i]
            if not flat:
                for j in range(s):
                    x[b, a, r + j] = items[a, j]
    return who, x


@kernel
def _answer(
    seed: np.uint64, replicas: Ints, step: int, chances: Floats, position: Floats, who: Ints, plays: Ints
) -> tuple[Floats, Bools, Floats]:
    """Draw clicks and exposures, and compute the probability of each click, `(N,m),(N|1,k),(),(P)->(P,1),(P),(P,1)`."""
    k = position.shape[1]
    u = uniform_within(seed, _OUTCOME, replicas, np.full(1, step), 2 * k)
    y, exposed, mean = np.zeros((*plays.shape, 1)), np.zeros(plays.shape, np.bool_), np.zeros((*plays.shape, 1))
    for b in range(len(plays)):
        looked = position[who[b] if len(position) > 1 else 0]
        for p in range(plays.shape[1]):
            if plays[b, p] >= 0:
                liked = chances[who[b], plays[b, p]]
                mean[b, p, 0] = looked[p] * liked
                exposed[b, p] = u[b, p] < looked[p]
                if exposed[b, p] and u[b, k + p] < liked:
                    y[b, p, 0] = 1.0
    return y, exposed, mean


class _RankingView(NamedTuple):
    seed: Any
    replicas: Ints
    users: Floats
    items: Floats
    reached: Floats
    flat: bool
    known: Floats
    groups: Ints
    offered: Bools
    chances: Floats
    position: Floats

    @kernel
    def context(self, step: int) -> tuple[Context, Ints]:
        who, x = _meet(self.seed, self.replicas, step, self.users, self.items, self.reached, self.flat)
        return Context(x, self.known, self.groups, self.offered, None), who

    @kernel
    def respond(self, step: int, context: Context, who: Ints, d: Decision) -> tuple[Floats, Bools, Floats]:
        return _answer(self.seed, self.replicas, step, self.chances, self.position, who, d.plays)


class _World:
    """A world that answers only for its latest context, as features need not identify the user."""

    counts_idle_steps = True

    def __init__(self, ranking: Ranking, seed: int, replicas: Ints) -> None:
        problem, audience = ranking.problem, ranking.audience
        self._luck, self._drawn = Luck(seed=seed, replicas=replicas), (np.uint64(seed), replicas)
        self._ranking, self._chances, self._position = ranking, audience.chances, ranking.looked_by_user
        self._factors = audience.users, audience.items, ranking.shares_of_users.cumsum()
        self._known, self._groups = problem.declared[None], problem.groups_of(np.zeros((len(replicas), 0), np.int64))
        self._offered, self._phase = np.ones((1, len(audience.items)), bool), -1
        self._who, self._features = np.zeros(0, np.int64), np.zeros(0)
        self._plays, self._mean = np.zeros(0, np.int64), np.zeros(0)
        self.steps = ranking.horizon

    def context(self, step: int) -> Context:
        self._who, self._features = _meet(*self._drawn, step, *self._factors, self._ranking.flat)
        offers = self._ranking.offers
        if offers is not None and step // offers.length != self._phase:
            self._phase = step // offers.length
            self._offered = offers.offered(self._luck, self._phase, len(self._ranking.audience.items))
        return Context(self._features, self._known, self._groups, self._offered)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        y, exposed, self._mean = self._answer(step, context, decision.plays)
        self._plays = decision.plays
        return decision, [Arrival(step, decision, y, exposed)]

    def expected(self, context: Context, plays: Ints) -> Floats:
        if plays is self._plays and context.features is self._features:
            return self._mean
        return self._answer(0, context, plays)[2]

    def view(self) -> _RankingView | None:
        if self._ranking.offers is not None:
            return None
        fixed = (np.ascontiguousarray(z) for z in (self._known, self._groups, self._offered))
        answers = (np.ascontiguousarray(z) for z in (self._chances, self._position))
        return _RankingView(*self._drawn, *self._factors, self._ranking.flat, *fixed, *answers)

    def _answer(self, step: int, context: Context, plays: Ints) -> tuple[Floats, Bools, Floats]:
        if context.features is not self._features:
            raise InvalidInput("context", "the last one shown, as features do not tell the user", "another one")
        if plays.shape[1] > self._position.shape[1]:
            raise InvalidInput("plays", f"at most {self._position.shape[1]}, one per slot", plays.shape[1])
        return _answer(*self._drawn, step, self._chances, self._position, self._who, plays)


@named("C9", source="Do et al. 2023, Section 4 and Appendix B.1.1, rankings with exposure by position")
@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking:
    """Shows k of m items in order to each user, who examines some places and clicks on liked items.

    Equation: place p is looked at with probability b_p = 1/log2(1 + p), independently of the others; an item that is
    looked at is clicked with the probability that the user likes it. Outcomes are "click", learned, and "exposure", 1
    for every item that was looked at. With fees there is "fee", known, for every impression or every placement.
    Groups are "item", in which every item is alone (`exposures` names its sums), and "label" if there are any.
    Deviation: the paper's main text prints another b_p; the one here is that of its appendix.

    Args:
        audience: users, items, and who likes what.
        horizon: T, the number of users who come.
        slots: k.
        maximize: an outcome or an objective, such as eq. 2: `replace(world, maximize=f(world.exposures))`.
        subject_to: constraints on "click", "exposure" and "fee", by "item" and "label".
        users: how often each user comes, above 0, up to a factor; by default all alike.
        position: b_p, in (0, 1], never increasing, for all users, or a row of them for each user. The best list sorts
            items by worth whatever b is (Proposition 4), so no policy has to know it.
        labels: the label of every item.
        fees: what an item costs; items that are not named cost nothing.
        fee_per: "impression", then a fee is due if the item is looked at, or "placement", then it is due for sure. Fees
            per placement make the best ranking an assignment; sorting by worth is then not exact.
        offers: which items are offered when; by default all always.
        flat: features are the products of both factors, flatten(u v^T), as a linear model takes them, in place of the
            two side by side.

    Raises:
        InvalidInput: more slots than items, positions, weights or labels out of range, or what `Problem` refuses.

    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> world.exposures
    ('exposure item=item 0', 'exposure item=item 1')
    >>> world.start(0, np.arange(1)).context(0).features
    array([[[0., 1., 1., 0.],
            [0., 1., 0., 1.]]])
    """

    audience: Audience
    horizon: int
    slots: int = 10
    maximize: str | Objective = "click"
    subject_to: tuple[Constraint, ...] = ()
    users: Sequence[float] | None = None
    position: Sequence[float] | Sequence[Sequence[float]] | None = None
    labels: Mapping[str, str] | None = None
    fees: Mapping[str, float] | None = None
    fee_per: Literal["impression", "placement"] = "impression"
    offers: Offers | None = None
    flat: bool = False

    def __post_init__(self) -> None:
        m = len(self.audience.items)
        whole("Ranking.slots", self.slots, 1)
        if self.slots > m:
            raise InvalidInput("Ranking.slots", f"at most {m}, the number of items", self.slots)
        one_of("Ranking.fee_per", self.fee_per, ("impression", "placement"))
        if (np.diff(self.looked_by_user) > 0).any():
            raise InvalidInput("Ranking.position", "probabilities that never increase", self.position)
        _ = self.shares_of_users, self.problem

    @cached_property
    def looked(self) -> Floats:
        """The probability that each place is examined by the next user, `()->(k)`."""
        each = self.looked_by_user
        return each[0] if len(each) == 1 else np.asarray(self.shares_of_users @ each)

    @cached_property
    def looked_by_user(self) -> Floats:
        """The probability that each place is examined by each user, a single row where all are alike, `()->(N|1,k)`."""
        if self.position is None:
            return np.asarray(1.0 / np.log2(1.0 + np.arange(1, self.slots + 1)))[None]
        n, own = len(self.audience.users), len(self.position) > 0 and np.ndim(self.position[0]) > 0
        rows = self.position if own else [self.position]
        if own and len(rows) != n:
            raise InvalidInput("Ranking.position", f"a row for each of {n} users", len(rows))
        expected = f"{self.slots} probabilities in (0, 1]"
        return np.array(
            [numbers("Ranking.position", row, self.slots, expected, lambda x: (x > 0) & (x <= 1)) for row in rows]
        )

    @cached_property
    def shares_of_users(self) -> Floats:
        """The probability that each user is the next, `()->(N)`."""
        n = len(self.audience.users)
        given = np.ones(n) if self.users is None else self.users
        weight = numbers("Ranking.users", given, n, f"{n} finite numbers above 0", lambda x: np.isfinite(x) & (x > 0))
        return np.asarray(weight / weight.sum())

    @cached_property
    def problem(self) -> Problem:
        items, each = self.audience.names, {name: name for name in self.audience.names}
        groups: tuple[Groups, ...] = (
            (Groups("item", items, of=each),) if len(items) > 1 else ()
        )  # a single item cannot be compared
        if self.labels is not None:
            groups += (Groups("label", tuple(dict.fromkeys(self.labels.values())), of=self.labels),)
        outcomes = [Outcome("click"), Outcome("exposure", known=1.0, sure=False)]
        if self.fees is not None:
            outcomes.append(Outcome("fee", known=self.fees, sure=self.fee_per == "placement"))
        return Problem(
            actions=items,
            outcomes=tuple(outcomes),
            maximize=self.maximize,
            subject_to=self.subject_to,
            groups=groups,
            horizon=self.horizon,
            n_plays=self.slots,
        )

    @property
    def exposures(self) -> tuple[str, ...]:
        """The names of the items' exposures, for use in an objective."""
        return self.problem.each("exposure", by="item") if len(self.audience.items) > 1 else ("exposure",)

    @property
    def n_features(self) -> int:
        """The sum of the numbers of factors of users and items; their product if features are products."""
        r, s = (int(z.shape[1]) for z in (self.audience.users, self.audience.items))
        return r * s if self.flat else r + s

    def lists(self, cases: int, seed: int, replica: int) -> Lists:
        """Return all users in all distinct phases, or in evenly spaced phases that make about `cases` cases."""
        if self.offers is None:
            return self._lists
        m, phases = len(self.audience.items), -(-self.horizon // self.offers.length)
        luck = Luck(seed=seed, replicas=np.array([replica]))
        offered = np.concatenate([self.offers.offered(luck, phase, m) for phase in range(phases)])
        lasts = np.full(phases, float(self.offers.length))
        lasts[-1] = self.horizon - (phases - 1) * self.offers.length
        different, which = np.unique(offered, axis=0, return_inverse=True)
        often, users = np.bincount(which.ravel(), weights=lasts), len(self.audience.users)
        if len(different) * users > cases:
            kept = np.linspace(0, phases - 1, max(1, cases // users)).astype(np.int64)
            different, often = offered[kept], lasts[kept]
        return self._lists._replace(
            learned=np.repeat(self._lists.learned, len(different), 0),
            offered=np.tile(different, (users, 1)),
            position=self._lists.position
            if len(self.looked_by_user) == 1
            else self._lists.position.repeat(len(different), 0),
            weight=np.kron(self.shares_of_users, often / often.sum()),
        )

    @cached_property
    def _lists(self) -> Lists:
        return Lists(
            learned=self.audience.chances[:, :, None],
            offered=np.ones((1, len(self.audience.items)), bool),
            weight=self.shares_of_users,
            position=self.looked_by_user,
            known=self.problem.declared[None],
            groups=self.problem.groups_of(np.zeros((1, 0), np.int64)),
        )

    def start(self, seed: int, replicas: Ints) -> _World:
        return _World(self, seed, replicas)
