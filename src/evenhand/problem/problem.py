"""The problem that a user states: actions, outcomes, groups, an objective, constraints and a horizon."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core import texts
from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.row_pairs import Packed
from evenhand.core.signatures import typed, value_text
from evenhand.core.texts import clip, count, few
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import EXACT, whole
from evenhand.objectives import Linear, Objective
from evenhand.problem.checks import Edges, check_names, edges_of
from evenhand.problem.clock import Clock, Time, earliest
from evenhand.problem.constraints.base import Constraint, parts_in
from evenhand.problem.constraints.statements import Demands, Statement, state_all
from evenhand.problem.descriptions import Actions
from evenhand.problem.factors import Factors
from evenhand.problem.feasible import conflict, feasible
from evenhand.problem.features import Feature, packing_of
from evenhand.problem.groups import Groups
from evenhand.problem.hashes import reads
from evenhand.problem.measures import Measure
from evenhand.problem.outcome import Outcome
from evenhand.problem.row_layout import Packing
from evenhand.problem.slack import ranges
from evenhand.problem.traffic import Traffic
from evenhand.problem.unit import Unit


@typed
@dataclass(frozen=True, kw_only=True)
class Problem:
    """A decision problem: actions, outcomes, groups, an objective, constraints and a horizon.

    Equation: maximise f(average outcomes) subject to each constraint, over `horizon` decided rounds.

    Args:
        actions: their names.
        outcomes: in any order; arrays carry the learned ones first, then the noisy ones, then the known ones.
        maximize: the name of an outcome, or an objective.
        subject_to: `Budget`, `Parity`, `Floor`, `Ratio`, `Within`, or any other `Constraint`; a budget by group becomes
            a budget for each group.
        features: what cases state by name, for `Policy.encode`; none where contexts are made as arrays.
        groups: the groupings that constraints refer to.
        horizon: the number of rounds to be decided, or `Between` two numbers. Where `until` is stated the run ends
            then, and the horizon is the number of rounds expected; it may be left out where `traffic` is stated.
        since, until: the start and the end of the run, as dates, or as a number that counts from 0 (`until` alone).
            Times of cases (`Policy.encode`) lie between them; without them, the time of a case is the number of its
            round.
        zone: the time zone of hours, days, weeks and months by its name, such as "Europe/Prague"; by default the
            offset of `since` holds throughout, that of UTC if it states none.
        traffic: the forecast of the cases that come; by default equally many at all times.
        withdrawn: the actions that are not played any longer; names and places of the others stay (`Policy.adopt`).
        unit: whom cases are about, with caps on what each gets and actions that each keeps; None for nobody.
        described: a table with a row of each action, by which models share what they learn; None for names alone.
        n_plays: P, the number of candidates played each round, or fewer if fewer fit; averages are per round.
        measures: what runs report beside outcomes: numbers that follow from all plays of a round together, such as
            `evenhand.welfare.Satisfaction`.

    Raises:
        InvalidInput: a name that is unknown or used twice, a factor that is not known for certain, an end of a range
            that is missing, a horizon or number of plays below 1, more plays than actions where these are free, have
            ranges of their own or are divided into groups (elsewhere there may be more candidates than actions), a
            hard constraint that spends nothing, or a measure that does not fit.
        InfeasibleProblem: no mixture of actions keeps to all constraints even if learned outcomes are at their best.

    >>> from evenhand.problem.constraints import Budget
    >>> problem = Problem(
    ...     actions=("nothing", "ride"),
    ...     outcomes=(Outcome("appears"), Outcome("ride", known={"ride": 1})),
    ...     maximize="appears",
    ...     subject_to=(Budget("ride", total=50),),
    ...     horizon=1000,
    ... )
    >>> problem.learned, problem.known
    (('appears',), ('ride',))
    """

    actions: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    maximize: str | Objective
    subject_to: tuple[Constraint, ...] = ()
    features: tuple[Feature, ...] = ()
    groups: tuple[Groups, ...] = ()
    horizon: int = 0
    n_plays: int = 1
    measures: tuple[Measure, ...] = ()
    since: Time | None = None
    until: Time | None = None
    traffic: Traffic | None = None
    withdrawn: tuple[str, ...] = ()
    zone: str | None = dataclasses.field(default=None, metadata={"new": True})
    unit: Unit | None = dataclasses.field(default=None, metadata={"new": True})
    described: Actions | None = dataclasses.field(default=None, metadata={"new": True})

    def __post_init__(self) -> None:
        if self.traffic is not None:
            rounds = self.traffic.rounds(self.since, self.until, self.zone)
            object.__setattr__(self, "horizon", rounds if self.horizon == 0 else self.horizon)
        for field in ("actions", "outcomes", "subject_to", "features", "groups", "measures", "withdrawn"):
            value = getattr(self, field)
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InvalidInput(field, "a sequence", repr(value))
            object.__setattr__(self, field, tuple(value))
        object.__setattr__(self, "subject_to", parts_in(self.subject_to, self))
        if self.horizon == 0:
            raise InvalidInput("horizon", "a whole number of at least 1, the rounds to decide", "nothing, or 0")
        for field in ("horizon", "n_plays"):
            whole(field, value := getattr(self, field), 1)
            if value > EXACT:
                raise InvalidInput(field, f"at most {EXACT:,}, as rounds are counted exactly", value_text(value))
        self.clock  # noqa: B018, refuses a start without an end
        if not self.actions or not self.outcomes:
            got = f"{len(self.actions)} and {len(self.outcomes)}"
            raise InvalidInput("actions and outcomes", "at least one each", got)
        check_names(self)
        if self.unit is not None:
            self.unit.check(self, reads(self.features))
        if self.names_candidates and self.n_plays > len(self.actions):
            why = "as some are free, have ranges of their own, or are divided into groups"
            expected = f"at most {len(self.actions)}, the number of actions, {why}"
            raise InvalidInput("n_plays", expected, self.n_plays)
        if not feasible(self):
            needed = [(s.constraint, s.limit) for s in conflict(self)]
            stated = [f"{type(c).__name__} ({c.label}: {limit:g})" for c, limit in needed]
            raise InfeasibleProblem(
                f"no mixture of the actions keeps to {', '.join(stated)} over {self.horizon} rounds: "
                "relax one of them, or add an action that keeps to them"
            )

    def __repr__(self) -> str:
        return texts.text(f"Problem: {self.size}", self.facts)

    def _repr_html_(self) -> str:
        return texts.table(f"Problem: {self.size}", self.facts)

    @property
    def size(self) -> str:
        """The numbers of actions and rounds, in words."""
        return _size(self)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The statement by the names of the fields, each as a line of text."""
        return _facts(self)

    @cached_property
    def clock(self) -> Clock:
        """The clock by which times are numbers."""
        return Clock.between(self.since, self.until, self.horizon, self.zone)

    @cached_property
    def last_round(self) -> float:
        """The number of rounds after which none is decided, infinite where the run ends at a time."""
        return float(self.horizon) if self.until is None else math.inf

    @cached_property
    def objective(self) -> Objective:
        """The objective that is maximised."""
        return Linear({self.maximize: 1.0}) if isinstance(self.maximize, str) else self.maximize

    @cached_property
    def learned(self) -> tuple[str, ...]:
        return tuple(o.name for o in self.outcomes if o.is_learned)

    @cached_property
    def packing(self) -> Packing | None:
        """The layout of packed rows; None where no feature is hashed."""
        return packing_of(self.features)

    @property
    def packed(self) -> Packed | None:
        """The numbers of columns and pairs of packed rows (`core.row_pairs`); None where rows are dense."""
        return None if self.packing is None else self.packing.size

    @property
    def n_encoded(self) -> int:
        """The number of features that `Policy.encode` makes of a case; one per action where nothing is stated."""
        table = self.described
        if table is not None and not table.is_many(self.n_features):
            return self.n_described
        return self.n_features if self.features or table is not None else len(self.actions)

    @cached_property
    def n_features(self) -> int:
        """The number of numbers that describe a case: an intercept, and those of its named features.

        Where a feature is hashed: two for each pair of a packed row.
        """
        return 1 + sum(len(f.units) for f in self.features) if self.packed is None else 2 * self.packed.pairs

    @property
    def n_columns(self) -> int:
        """The number of coefficients of a linear model of a case: `n_features`, unless rows are packed."""
        return self.n_features if self.packed is None else self.packed.columns

    @cached_property
    def n_described(self) -> int:
        """The number of numbers that describe an action in a case, 0 where actions have names alone."""
        return 0 if self.described is None else self.n_features * self.described.width

    @cached_property
    def noisy(self) -> tuple[str, ...]:
        """The names of the outcomes whose means are declared, and whose values are observed."""
        return tuple(o.name for o in self.outcomes if o.is_noisy)

    @cached_property
    def observed(self) -> tuple[str, ...]:
        """The names of the outcomes that `learn` takes: learned, then noisy."""
        return self.learned + self.noisy

    @cached_property
    def known(self) -> tuple[str, ...]:
        """Names of the known outcomes: noisy ones first."""
        return self.noisy + tuple(o.name for o in self.outcomes if o.is_known)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All outcomes in the order of the arrays: learned, then noisy, then known for certain."""
        return self.learned + self.known

    @cached_property
    def _outcomes_in_order(self) -> tuple[Outcome, ...]:
        named = {o.name: o for o in self.outcomes}
        return tuple(named[name] for name in self.names)

    @cached_property
    def _observed_outcomes(self) -> tuple[Outcome, ...]:
        return self._outcomes_in_order[: len(self.observed)]

    @cached_property
    def low(self) -> Floats:
        """Lower ends of the learned outcomes' ranges, `()->(M)`."""
        return self.span[0, : len(self.learned)].copy()

    @cached_property
    def high(self) -> Floats:
        """Upper ends of the learned outcomes' ranges, `()->(M)`."""
        return self.span[1, : len(self.learned)].copy()

    @cached_property
    def span(self) -> Floats:
        """Lower and upper ends of the observed outcomes' ranges, `()->(2, M+B)` with B noisy outcomes."""
        return np.array([o.widest for o in self._observed_outcomes], float).reshape(-1, 2).T.copy()

    @cached_property
    def span_by_action(self) -> Floats:
        """The same by action, 0 to 0 where it is free, or for all where none differs, `()->(2, A|1, M+B)`."""
        if not (self.free.any() or any(o.ranges_by_action for o in self._observed_outcomes)):
            return self.span[:, None]
        return (
            np.array([[o.ends(a) for o in self._observed_outcomes] for a in self.actions], float)
            .transpose(2, 0, 1)
            .copy()
        )

    @cached_property
    def factors(self) -> Factors | None:
        """The factors of learned outcomes, None if all are 1."""
        learned = self._outcomes_in_order[: len(self.learned)]
        found = Factors.of_outcomes(learned, self.known, self.free[:, : len(learned)])
        return found if found.matter.any() else None

    def amounts(self, known: Floats, y: Floats) -> Floats:
        """Observed outcomes times their known factors, `(P,L),(P,M+B)->(P,M+B)`; 0 times a factor is 0."""
        return y if self.factors is None else self.factors.amounts(known, y)

    @cached_property
    def amount_span(self) -> Floats:
        """Lower and upper ends of the observed outcomes times their factors, as these are declared, `()->(2, M+B)`."""
        return self.span if self.factors is None else self.factors.reach(self.declared, self.span)

    @cached_property
    def edges(self) -> Edges | None:
        """The check of cases that keeps the objective in its domain, None if any number will do."""
        return edges_of(self)

    @cached_property
    def fallback(self) -> Floats:
        """The substitutes for observed outcomes that never arrive, NaN if there is none, `()->(M+B)`."""
        return np.array([np.nan if o.fallback is None else o.fallback for o in self._observed_outcomes], float)

    @cached_property
    def declared(self) -> Floats:
        """Known outcomes of every action, the means of noisy ones, `()->(A, L)`."""
        values = [o.declared(self.actions) for o in self._outcomes_in_order[len(self.learned) :]]
        return np.array(values, float).reshape(len(self.known), len(self.actions)).T.copy()

    @cached_property
    def sure(self) -> Bools:
        """A mask of the known outcomes that count whether or not a play is exposed, `()->(L)`."""
        return np.array([o.sure for o in self._outcomes_in_order[len(self.learned) :]], bool)

    @cached_property
    def is_noisy(self) -> Bools:
        """A mask of the known outcomes of which only the mean is declared, `()->(L)`."""
        return np.array([o.is_noisy for o in self._outcomes_in_order[len(self.learned) :]], bool)

    @cached_property
    def certain(self) -> Bools:
        """A mask of the known outcomes that a decision alone settles, `()->(L)`."""
        return self.sure & ~self.is_noisy

    def each(self, outcome: str, by: str) -> tuple[str, ...]:
        """The names of the sums of an outcome over the plays of each group, which an objective may read.

        >>> labels = Groups("label", ["major", "indie"], of={"a": "major", "b": "indie"})
        >>> shown = Outcome("shown", known=1.0, sure=False)
        >>> Problem(actions=("a", "b"), outcomes=(Outcome("click"), shown), maximize="click", groups=(labels,),
        ...         horizon=9).each("shown", by="label")
        ('shown label=major', 'shown label=indie')
        """
        if by not in self._groupings:
            raise InvalidInput("each: by", f"one of {tuple(self._groupings)}", f"{by}{suggestion(by, self._groupings)}")
        names = tuple(f"{outcome} {by}={group}" for group in self.groups[self._groupings[by]].names)
        self.row(names[0], "each: outcome")
        return names

    def row(self, name: str, field: str = "name") -> tuple[int, int, int]:
        """The outcome, grouping and column that a name stands for; -1 and -1 where it is the name of an outcome.

        Raises:
            InvalidInput: no outcome, and no sum of one over a group, has this name.
        """
        if name in self._places:
            return self._places[name], -1, -1
        for prefix, (outcome, grouping) in self._prefixes.items():
            if name.startswith(prefix) and name[len(prefix) :] in self._columns_of_groups[grouping]:
                return outcome, grouping, self._columns_of_groups[grouping][name[len(prefix) :]]
        raise InvalidInput(field, f"one of the outcomes {list(self.names)}", f"{name}{suggestion(name, self.names)}")

    @cached_property
    def _groupings(self) -> dict[str, int]:
        return {g.name: i for i, g in enumerate(self.groups)}

    @cached_property
    def action_places(self) -> dict[str, int]:
        """The place of each action."""
        return {name: i for i, name in enumerate(self.actions)}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _prefixes(self) -> dict[str, tuple[int, int]]:
        return {f"{name} {g}=": (i, j) for name, i in self._places.items() for g, j in self._groupings.items()}

    @cached_property
    def _columns_of_groups(self) -> list[dict[str, int]]:
        return [{n: int(self.ends[i]) + k for k, n in enumerate(g.names)} for i, g in enumerate(self.groups)]

    def groups_of(self, cases: Ints) -> Ints:
        """Groups of every action, from the groups of the cases, `(G')->(1,G)` or `(G')->(A,G)`.

        Args:
            cases: columns of the groupings that divide cases, in their order, `(G')`.
        """
        if not np.count_nonzero(self.by_action):
            return cases[:, None, :]
        groups = np.empty((len(cases), len(self.actions), len(self.groups)), np.int64)
        groups[:, :, ~self.by_action] = cases[:, None, :]
        groups[:, :, self.by_action] = self.action_groups
        return groups

    @cached_property
    def by_action(self) -> Bools:
        """A mask of the groupings that divide actions, `()->(G)`."""
        return np.array([g.of is not None for g in self.groups], bool)

    @cached_property
    def action_groups(self) -> Ints:
        """Columns of the groupings that divide actions, `()->(A,G'')`."""
        divided = [(i, g.of) for i, g in enumerate(self.groups) if g.of is not None]
        columns = [[self._columns_of_groups[i][of[a]] for i, of in divided] for a in self.actions]
        return np.array(columns, np.int64).reshape(len(self.actions), len(divided))

    def ranges(self, outcomes: tuple[str, ...], plays: int | None = None) -> tuple[Floats, Floats]:
        """The least and the most that each outcome can sum to over the plays of a round, as declared, `->(m),(m)`.

        Noisy outcomes count at their means, and learned ones times their factors.

        Args:
            outcomes: names as for `row`.
            plays: how many are summed; those of a round by default.
        """
        return ranges(self, outcomes, plays)

    def middle(self, outcomes: tuple[str, ...]) -> tuple[float, ...]:
        """The middle of the range of each outcome per round; 0 where the range is not finite."""
        low, high = self.ranges(outcomes)
        finite = np.isfinite(low) & np.isfinite(high)
        return tuple(np.where(finite, (np.where(finite, low, 0.0) + np.where(finite, high, 0.0)) / 2.0, 0.0).tolist())

    @cached_property
    def free(self) -> Bools:
        """A mask of the actions under which each observed outcome is always 0, `()->(A, M+B)`."""
        named = [[o.is_free(a) for o in self._observed_outcomes] for a in self.actions]
        return np.array(named, bool).reshape(len(self.actions), len(self.observed))

    @cached_property
    def names_candidates(self) -> bool:
        """Whether anything is declared per action, so that candidates must be the actions in their order."""
        return bool(self.free.any() or self.span_by_action.shape[1] > 1 or self.by_action.any() or self.withdrawn)

    @cached_property
    def stated(self) -> tuple[Statement, ...]:
        """The constraints in their order, each with the rows that it reads, their bounds and its limit.

        >>> from evenhand.environments import Court
        >>> [(s.rows.names, s.total) for s in Court(horizon=1000).problem.stated][0]
        (('ride',), 50.0)
        """
        return state_all(self, self.subject_to)

    @cached_property
    def demands(self) -> Demands:
        """The joint demands of all constraints: rows, their bounds, spans and sums, and convex sets."""
        return Demands.of(self, self.stated)

    @property
    def spending(self) -> tuple[Constraint, ...]:
        """The constraints whose sums are used up: hard limits and margins apply to them."""
        return tuple(c for c in self.subject_to if c.spends)

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """All (grouping, group) pairs: the columns of `shares` and of group totals."""
        return tuple((g.name, name) for g in self.groups for name in g.names)

    @cached_property
    def ends(self) -> Ints:
        """Grouping i has the columns from ends[i] up to ends[i + 1], `()->(G+1)`."""
        return np.cumsum([0, *(len(g.names) for g in self.groups)])

    @cached_property
    def bounds(self) -> Ints:
        """The first column, and the one after the last, that each group of a candidate may have, `()->(1|A,G,2)`."""
        either = np.stack([self.ends[:-1], self.ends[1:]], axis=1)[None]
        if not self.by_action.any():
            return either
        bounds = np.tile(either, (len(self.actions), 1, 1))
        bounds[:, self.by_action, 0] = self.action_groups
        bounds[:, self.by_action, 1] = self.action_groups + 1
        return bounds

    @cached_property
    def shares(self) -> Floats:
        """Shares of all groups, NaN if they are to be estimated, `()->(C)`."""
        return np.array([g.share(n) for g in self.groups for n in g.names], float)


def _size(problem: Problem) -> str:
    """Return the numbers of actions and rounds, in words."""
    plays = "" if problem.n_plays == 1 else f", {problem.n_plays:,} plays per round"
    least = earliest(problem.horizon)
    rounds = f"{least:,} to " * (least < problem.horizon) + count(problem.horizon, "round")
    if problem.until is not None:
        rounds = f"about {rounds} until {problem.until}" + f" ({problem.zone})" * (problem.zone is not None)
    return f"{count(len(problem.actions), 'action')} over {rounds}{plays}"


def _facts(problem: Problem) -> list[tuple[str, str]]:
    """Return the other fields, each as a line of text."""
    factors = {o.name: f"{o.name} (times {o.times})" for o in problem.outcomes if o.times is not None}
    found = {
        "actions": few(problem.actions),
        "maximize": clip(problem.maximize if isinstance(problem.maximize, str) else repr(problem.maximize)),
        "subject to": few(s.text for s in problem.stated),
        "learned": few(factors.get(name, name) for name in problem.learned),
        "known on average": few(problem.noisy),
        "known": few(problem.known[len(problem.noisy) :]),
        "features": few(f.name for f in problem.features),
        "groups": few(f"{g.name} ({few(g.names, 24)})" for g in problem.groups),
        "measures": few(m.name for m in problem.measures),
        "unit": "" if problem.unit is None else problem.unit.text,
    }
    return [(name, text) for name, text in found.items() if text]
