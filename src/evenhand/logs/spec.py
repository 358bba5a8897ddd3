"""The specification of a replay: a problem, and the meaning of the columns of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.row_pairs import Packed
from evenhand.core.types import Floats
from evenhand.goals.hard_limits import refuse_unspendable
from evenhand.logs.keys import CLIP, DROP, EXPORTED, OF_LOG, REFUSE
from evenhand.logs.reading import Form
from evenhand.logs.settings import Settings, systems
from evenhand.logs.toml import Origin
from evenhand.logs.units import MISSING, MOST_LEVELS
from evenhand.objectives import Objective
from evenhand.problem.clock import Clock, Time
from evenhand.problem.constraints import Constraint, groups_named, over
from evenhand.problem.descriptions import Actions
from evenhand.problem.features import Categorical
from evenhand.problem.groups import Groups
from evenhand.problem.hashes import Cross, Hashed, Hashing, check_columns
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.problem.traffic import Traffic
from evenhand.problem.unit import Unit

SHARES = (OF_LOG, "estimated")
CROSSED = " x "  # between two columns of names
_ROUNDED = 1e-6  # the error of a sum of probabilities
_TRIED = 1_000_000  # rounds, by which a file is checked whose horizon is left to the log


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """A column that divides cases into groups, with the groups' shares or their source."""

    column: str
    shares: str | Mapping[str, float] = "log"  # a mapping, "log" or "estimated"


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A problem with the columns of a log that it reads.

    Args:
        actions: the names of actions by logged value.
        action: the column of the logged action, None where no log is read.
        propensity: the column of its probability, or one number for all rows, or one by action; a campaign needs none.
        estimated: whether it is estimated from the features, as nothing states it.
        unchecked: whether probabilities are used that are far from the shares of the log.
        numeric, categorical: the columns from which features are computed.
        dates: those of the numeric columns that are dates: days since 1970.
        ranges: the ranges [low, high] of numeric columns; those not stated here are read from the log.
        levels: the levels of categorical columns, the base first; those not stated here are read from the log.
        hashed: by categorical column, or by two as in "site x device", the number of columns of its hashed names.
        texts: the categorical columns that are texts, whose words are hashed.
        missing: by column of features or groups, what is done with rows that have no value: an "indicator" beside a
            number, a "level" of names, the row is left out ("drop"), or it is a bad one ("refuse", the default).
        interactions: the columns whose effects differ by named action; None gives every action its own block.
        described: the rows of actions, by which they share what is learned; None for names alone.
        outcomes: the learned, noisy and known outcomes.
        columns: the columns of the learned and noisy outcomes.
        values: by learned or noisy outcome, the numbers that the texts of its column stand for.
        by_case: for known outcomes, the columns of those actions whose values differ from case to case.
        units: what outcomes are counted in, for reports.
        maximize: as in `Problem`.
        subject_to: the constraints.
        groups: the groupings, by name.
        horizon: the number of accepted rounds, 0 for the number that `traffic` expects, or "log" for as many as the
            log lasts for; see `lasting`.
        since, until, zone, traffic, withdrawn, unit: as in `Problem`; the traffic is that of accepted rounds.
        time: the column of the times of cases, in whose order a replay reads the rows; a campaign, and what learns
            from a log, leaves it out (`untimed`).
        cluster: the column whose rows of the same value belong together, such as those of a customer; None where each
            row stands for itself.
        weight: the column of how many cases each row counts as, in any unit; None where all count alike.
        outside: by column of the action, the propensity or an outcome, what is done with rows in which it cannot be
            used: "refuse", "drop", or "clip" for an outcome beyond its range.
        allow_bad: the largest fraction of rows that may be left out.
        log_weight: the weight, in observations, of a row of a log from which a policy learns before it decides.
        after: what a new campaign answers after the horizon, None for its default; replays end there.
        settings: the recipe and the model.
        form: how the log is written.
        origin: the problem file, for messages about its keys once the log is read.
        signs: of the log's numbers, by column, once it is read: a currency, or that of percentages.

    Raises:
        InvalidInput: a name is unknown or ambiguous, or a number is out of its range.
    """

    actions: Mapping[str, str]
    action: str | None = None
    propensity: str | float | Mapping[str, float] | None = None
    estimated: bool = False
    unchecked: bool = False
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hashed: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, Hashed] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    interactions: Mapping[str, tuple[str, ...]] | None = None
    described: Actions | None = None
    outcomes: tuple[Outcome, ...]
    columns: Mapping[str, str]
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    by_case: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    maximize: str | Objective
    subject_to: tuple[Constraint, ...] = ()
    groups: Mapping[str, Grouping] = field(default_factory=dict)
    horizon: int | str = 0
    since: Time | None = None
    until: Time | None = None
    zone: str | None = None
    traffic: Traffic | None = None
    unit: Unit | None = None
    withdrawn: tuple[str, ...] = ()
    time: str | None = None
    cluster: str | None = None
    weight: str | None = None
    outside: Mapping[str, str] = field(default_factory=dict)
    allow_bad: float = 0.01
    log_weight: float = 1.0
    after: str | None = None
    settings: Settings = field(default_factory=Settings)
    form: Form = field(default_factory=Form)
    origin: Origin | None = field(default=None, compare=False)
    signs: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.actions:
            raise InvalidInput("action.values", "the actions' names by logged value", "none")
        if not any(o.is_learned for o in self.outcomes):
            raise InvalidInput("outcomes", "at least one that is read from a column, to be learned", "none")
        for name in set(self.numeric) & set(self.categorical):
            raise InvalidInput("features", "columns that are either numeric or categorical", f"both for {name!r}")
        for name in self.dates:
            if self.numeric.count(name) > 1:
                raise InvalidInput("features", "columns that are either numbers or dates", f"both for {name!r}")
        if self.estimated and self.propensity is not None:
            raise InvalidInput("propensity.estimated", "false where a column or a constant states it", True)
        if self.time is not None and self.until is None:
            raise InvalidInput("until", f"the end of the run, as time = {self.time!r} is stated", "nothing")
        before = {*self.numeric, *self.categorical, *(g.column for g in self.groups.values())}
        if self.cluster is not None and self.cluster in {self.action, self.propensity, *self.columns.values()}:
            expected = "a column of whom rows are about"
            raise InvalidInput("cluster", expected, f"the action, propensity or outcome {self.cluster!r}")
        if self.unit is not None and self.unit.name in {*self.numeric, *self.categorical}:
            raise InvalidInput("unit.name", "a column that is no feature", self.unit.name)
        if self.unit is not None and self.cluster != self.unit.name:
            raise InvalidInput("cluster", f"the unit, {self.unit.name!r}, or nothing", self.cluster)
        if self.weight is not None and self.weight in {self.action, self.propensity, self.cluster}:
            expected = "a column of how many cases each row counts as"
            raise InvalidInput("weight", expected, f"the action, propensity or cluster {self.weight!r}")
        for name in before & {self.action, *self.columns.values()}:
            raise InvalidInput("features and groups", "columns known before acting", f"the action or outcome {name!r}")
        for name in {*self.known_columns} & {self.action, *self.columns.values()}:
            raise InvalidInput("known outcomes", "columns known before acting", f"the action or outcome {name!r}")
        for column in self.ranges:
            _one_of("features.ranges", self.numeric, column)
        for column, levels in self.levels.items():
            _one_of("features.levels", self.categorical, column)
            if not 2 <= len(levels) <= MOST_LEVELS:
                raise InvalidInput(f"features.levels.{column}", f"2 to {MOST_LEVELS} names", len(levels))
        self._check_hashed()
        self._check_missing()
        for column, rule in self.outside.items():
            chosen = (self.action, self.propensity if isinstance(self.propensity, str) else None)
            _one_of(f"outside.{column}", (*(c for c in chosen if c is not None), *self.columns.values()), column)
            if rule == CLIP and column in chosen:
                raise InvalidInput(f"outside.{column}", f"one of {DROP}, {REFUSE}, as it is no outcome", rule)
        stated = {o.name: o.known for o in self.outcomes if isinstance(o.known, Mapping)}
        for outcome, by in self.by_case.items():
            for action in by:
                _one_of(f"outcomes.{outcome}.column", tuple(stated[outcome]), action)
        names = tuple(dict.fromkeys(self.actions.values()))
        if self.described is not None and self.described.names != names:
            raise InvalidInput("actions.rows", f"a row of each of {names}, in order", self.described.names)
        if self.described is not None and self.interactions is not None:
            raise InvalidInput("interactions", "none where actions are described, as they share all effects", "some")
        if self.described is not None and (self.hashed or self.texts):
            hashed = [*self.hashed, *self.texts]
            raise InvalidInput("features.hashed", "none where actions are described", hashed)
        if isinstance(self.propensity, Mapping):
            _check_chances(names, self.propensity)
        for action, columns in (self.interactions or {}).items():
            _one_of("interactions", names, action)
            for name in columns:
                _one_of(f"interactions.{action}", (*self.numeric, *self.categorical), name)
        for name, grouping in self.groups.items():
            if isinstance(grouping.shares, str):
                _one_of(f"groups.{name}.shares", SHARES, grouping.shares)
        # With levels that the file states, or placeholders, problem and recipe check arguments before a log is read.
        placeholders = {n: self._placeholder(n, g) for n, g in self.groups.items()}
        if self.horizon != OF_LOG:
            problem = self.problem(placeholders)
            object.__setattr__(self, "horizon", problem.horizon)
            self._check_policies(problem)
            return
        if self.until is not None or self.traffic is not None:
            raise InvalidInput("horizon", "a number of rounds, as until or traffic state the end of the run", '"log"')
        with suppress(InfeasibleProblem):  # of which a log says whether it is so
            self._check_policies(replace(self, horizon=_TRIED, subject_to=()).problem(placeholders))

    def _check_policies(self, problem: Problem) -> None:
        for policy in systems(problem, self.settings, Packed(2, 1) if self.hashing else 1):
            refuse_unspendable(policy.goals, problem)
            try:
                policy.model.start(1, problem.low, problem.high, problem.horizon)
            except InvalidInput as error:
                if error.field != "Prior.mean":  # whose numbers are as many as features, of which one stands for all
                    raise InvalidInput(f"policy.model: {error.field}", error.expected, error.got) from error

    def _check_hashed(self) -> None:
        for name, columns in self.hashed.items():
            check_columns(f"features.hashed.{name}", columns)
            for column in (name,) if name in self.categorical else name.split(CROSSED):
                _one_of(f"features.hashed.{name}", self.categorical, column)
        for column in {*self.levels} & {*self.hashed, *self.texts}:
            raise InvalidInput(f"features.levels.{column}", "none, as its names are hashed", self.levels[column])
        for column in {*self.hashed} & {*self.texts}:
            raise InvalidInput("features", "columns that are either hashed names or texts", f"both for {column!r}")
        if self.hashing and self.interactions is not None:
            expected = "none where features are hashed, as each action then has coefficients of its own"
            raise InvalidInput("interactions", expected, f"{list(self.interactions)}")

    @cached_property
    def hashing(self) -> tuple[Hashing, ...]:
        """The features with a block of hashed columns."""
        names = ((name, columns, name in self.categorical) for name, columns in self.hashed.items())
        return (
            *(Categorical(c, hashed=n) if one else Cross(*c.split(CROSSED), hashed=n) for c, n, one in names),
            *self.texts.values(),
        )

    def _check_missing(self) -> None:
        for column, treatment in self.missing.items():
            field = f"features.missing.{column}"
            by = tuple(g.column for g in self.groups.values())
            names = (*self.categorical, *by)
            _one_of(field, (*self.numeric, *names), column)
            if column in self.numeric and column in by and treatment in ("indicator", "level"):
                expected = (
                    "one of drop, refuse, as cases are grouped by this number (or group by a column of its bands)"
                )
                raise InvalidInput(field, expected, treatment)
            if treatment == "indicator" and column in names:
                raise InvalidInput(field, "one of level, drop, refuse, as the column has names", treatment)
            if treatment == "level" and column not in names:
                raise InvalidInput(field, "one of indicator, drop, refuse, as the column has numbers", treatment)
        for name, values in self.values.items():
            outcome = next(o for o in self.outcomes if o.name == name)
            low, high = outcome.widest
            for text, value in values.items():
                if not low <= value <= high:
                    expected = f"a number in [{low:g}, {high:g}], the range of the outcome"
                    raise InvalidInput(f"outcomes.{name}.values.{text}", expected, value)

    def _placeholder(self, name: str, grouping: Grouping) -> Mapping[str, float] | Sequence[str]:
        """Groups that stand for those of a log, with shares where it will state them."""
        names = self.names_of(grouping.column) or (*groups_named(self.subject_to, name), "one", "other")
        return dict.fromkeys(names, 1.0 / len(names)) if grouping.shares == "log" else names

    def names_of(self, column: str) -> tuple[str, ...]:
        """Return the names that the file states for a column, that of missing values included; none by default."""
        names = tuple(self.levels.get(column, ()))
        return (*names, MISSING) if names and self.missing.get(column) == "level" and MISSING not in names else names

    @property
    def rounds(self) -> int:
        """The horizon as a number, which it is once a log was read."""
        assert not isinstance(self.horizon, str)
        return self.horizon

    @cached_property
    def clock(self) -> Clock:
        """The clock by which times are numbers."""
        return Clock.between(self.since, self.until, self.rounds, self.zone)

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The columns of known outcomes, each once."""
        return tuple(dict.fromkeys(column for columns in self.by_case.values() for column in columns.values()))

    @property
    def places(self) -> dict[str, str]:
        """All required columns, each with the key of the problem file that names it."""
        found = {} if self.action is None else {self.action: "action.column"}
        if isinstance(self.propensity, str):
            found[self.propensity] = "propensity.column"
        found |= dict.fromkeys(self.numeric, "features.numeric")
        found |= dict.fromkeys(self.dates, "features.dates")
        found |= dict.fromkeys(self.categorical, "features.categorical")
        found |= {column: f"outcomes.{name}" for name, by in self.by_case.items() for column in by.values()}
        found |= {column: f"outcomes.{name}" for name, column in self.columns.items()}
        found |= {g.column: f"groups.{name}" for name, g in self.groups.items()}
        stated = {self.time: "time", self.cluster: "cluster", self.weight: "weight"}
        return {column: key for column, key in stated.items() if column is not None} | found

    @property
    def logged(self) -> str:
        """The column of the logged action.

        Raises:
            InvalidInput: the file names none.
        """
        if self.action is None:
            got = f"nothing (of the export of a campaign {EXPORTED})"
            raise InvalidInput("action.column", "the column of the logged action, as a log is read", got)
        return self.action

    @property
    def numbers(self) -> frozenset[str]:
        """The columns that are read as numbers alone; all others are texts."""
        texts = {column for name, column in self.columns.items() if name in self.values}
        found = ({*self.numeric, *self.known_columns, *self.columns.values()} - {*self.dates}) - texts
        found |= {self.propensity} if isinstance(self.propensity, str) else set()
        found |= {self.weight} if self.weight is not None else set()
        found |= {self.time} if self.time is not None and self.since is None else set()
        return frozenset(
            found - {self.action, self.cluster, *self.categorical, *(g.column for g in self.groups.values())}
        )

    def lasting(self, rows: int, rounds: float) -> Spec:
        """Return the specification with the horizon of a log, if it is left to the log.

        Totals are for all rows of the log, those that are left out included, and become rates per row.

        Args:
            rows: of the log, those that are left out included.
            rounds: which a replay accepts on average: each row that is used, with the least propensity.

        Raises:
            InvalidInput, InfeasibleProblem: the constraints cannot be kept within so many rounds.
        """
        if self.horizon != OF_LOG:
            return self
        if not rounds >= 1:  # NaN where nothing states propensities
            raise InvalidInput("horizon", "a log that lasts for a round at least, by its propensities", rounds)
        rates = tuple(over(c, rows) for c in self.subject_to)
        return replace(self, horizon=int(rounds + 1e-9), subject_to=rates)

    @property
    def untimed(self) -> Spec:
        """Return the specification without the column of times, to learn from an earlier log."""
        return self if self.time is None else replace(self, time=None)

    def known(self, problem: Problem, columns: Mapping[str, Floats]) -> Floats | None:
        """Compute the known outcomes of cases from their columns, `(N)->(N,A,L)`; None if they are as declared."""
        if not self.known_columns:
            return None
        rows = len(columns[self.known_columns[0]])
        z = np.tile(problem.declared, (rows, 1, 1))
        for name, by in self.by_case.items():
            for action, column in by.items():
                z[:, problem.actions.index(action), problem.known.index(name)] = columns[column]
        return z

    def problem(self, levels: Mapping[str, Mapping[str, float] | Sequence[str]]) -> Problem:
        """Build the problem; groups whose shares the file does not state are those of the log.

        Raises:
            InvalidInput: the horizon is left to a log.
        """
        if isinstance(self.horizon, str):
            raise InvalidInput("horizon", "a number of rounds, as there is no log that could end", f'"{self.horizon}"')
        given = {n: g.shares if isinstance(g.shares, Mapping) else levels[n] for n, g in self.groups.items()}
        return Problem(
            actions=tuple(dict.fromkeys(self.actions.values())),
            outcomes=self.outcomes,
            maximize=self.maximize,
            subject_to=self.subject_to,
            groups=tuple(Groups(name, shares) for name, shares in given.items()),
            horizon=self.horizon,
            since=self.since,
            until=self.until,
            zone=self.zone,
            traffic=self.traffic,
            withdrawn=self.withdrawn,
            unit=self.unit,
            described=self.described,
        )


def _check_chances(names: tuple[str, ...], chances: Mapping[str, float]) -> None:
    """Check that every action has a probability, and that they sum to 1."""
    field = "propensity.constant"
    for action in chances:
        _one_of(field, names, action)
    for action in names:
        if action not in chances:
            raise InvalidInput(field, f"a probability for each action ({', '.join(names)})", f"none for {action!r}")
        if not 0.0 < chances[action] <= 1.0:
            raise InvalidInput(f"{field}.{action}", "a number in (0, 1]", chances[action])
    total = sum(chances.values())
    if round(abs(total - 1.0), 9) > _ROUNDED:
        raise InvalidInput(field, "probabilities of all actions that sum to 1", f"a sum of {total:.7g}")


def _one_of(field: str, known: Sequence[str], got: str) -> None:
    if got not in known:
        expected = f"one of {', '.join(known)}" if known else "no columns, as the file names none of this kind"
        raise InvalidInput(field, expected, f"{got}{suggestion(got, known)}")
