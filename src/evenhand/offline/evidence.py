"""Evidence: a randomised log, read by a problem, with predictions and scores of every action in every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.progress import Work
from evenhand.core.types import Floats, Ints, Texts
from evenhand.core.validate import whole
from evenhand.logs.checks import Checks, Drawn, foreseen, of_log
from evenhand.logs.checks.replays import refuse_misfit
from evenhand.logs.clusters import Clusters
from evenhand.logs.keys import EXPORTED
from evenhand.logs.log import Log, Restated, Source, read_rows
from evenhand.logs.problem_file import Stated, read_spec, stated_name
from evenhand.logs.spec import Spec
from evenhand.logs.units import Features, Units
from evenhand.objectives import Linear
from evenhand.offline.estimated_propensities import CALIBRATION, CAUTION, estimated
from evenhand.offline.events import Occurrences, stray_values
from evenhand.offline.outcome_models import (
    Asked,
    FoldModels,
    Regressor,
    RidgeByErrors,
    fold_models,
    members_of,
    predicted,
)
from evenhand.offline.scores import scores
from evenhand.offline.sparse_rows import SparseRows, read_by_models, readable
from evenhand.problem.problem import Problem
from evenhand.report.quantities import objective_name


class Tables(NamedTuple):
    """An amount of every action in every row, `(N,A)`, or `(1,A)` where rows do not differ."""

    predicted: Floats  # by models that have not seen the row
    scores: Floats  # whose averages are unbiased; the same where nothing has to be predicted

    def of(self, rows: Ints) -> Tables:
        """Return the tables of some rows, in their order."""
        if len(self.predicted) == 1:
            return self
        predicted = self.predicted[rows]
        return Tables(predicted, predicted if self.scores is self.predicted else self.scores[rows])


class Models(NamedTuple):
    """Models of all learned outcomes that have not seen some folds."""

    members: tuple[Ints, ...]  # the rows of each fold
    each: tuple[tuple[Ints, FoldModels], ...]  # by outcome, with the actions that are predicted


def as_logged(dealt: Mapping[str, Tables], members: Sequence[Ints]) -> dict[str, Tables]:
    """Put the rows of tables, which come one fold after the other, in the order of the log."""
    back = np.argsort(np.concatenate(members))
    return {name: table.of(back) for name, table in dealt.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """The usable rows of a randomised log.

    Args:
        log, problem_file: names of the files.
        problem: what the log is read by.
        features: `(N,u)` of every row, an array or what computes some rows of it; the first is 1.
        columns: by name, `(N)` the features as the log has them: numbers, or texts.
        actions: `(N)` what was played.
        propensities: `(N)` with which probability.
        outcomes: `(N,M+B)` learned outcomes, then noisy ones.
        known: `(N,A,L)` known outcomes, or `(1,A,L)` where rows do not differ.
        groups: by grouping, the number of the group of every row.
        spec, coding: what the columns mean, and how features are encoded; None for evidence that was not read.
        left_out: one line per reason for leaving out rows.
        notes: remarks about the log.
        selection: checks of rows that were dropped or clipped for what followed, and of clusters, a sentence each.
        cluster: which rows belong together; None where each is a cluster.
        repeats: clusters that nobody declared, by which checks are made.
    """

    log: str
    problem_file: str
    problem: Problem
    features: Floats | Features
    columns: Mapping[str, Floats | Texts]
    actions: Ints
    propensities: Floats
    outcomes: Floats
    known: Floats
    groups: Mapping[str, Ints]
    spec: Spec | None = None
    coding: Units | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    selection: Checks = field(default_factory=dict)
    cluster: Clusters | None = None
    repeats: Clusters | None = None

    @staticmethod
    def read(log: Source, problem_path: Stated, *, cluster: str | None = None) -> Evidence:
        """Read a log by a problem file, or by its contents as `tomllib` reads them.

        Args:
            log, problem_path: as for `value`.
            cluster: the column of whom rows are about, by default that of the problem file.

        Raises:
            InvalidInput: a key or a column is wrong, or too many rows are bad; the error names them.
        """
        spec, name = read_spec(problem_path), stated_name(problem_path)
        spec = spec if cluster is None else replace(spec, cluster=cluster)
        spec = (log.restated(spec) if isinstance(log, Restated) else spec).untimed
        if spec.propensity is None and not spec.estimated:
            expected = "the column or the constant of the probabilities with which actions were drawn"
            got = (
                "nothing (estimated = true fits them to the features; the store of a campaign is read without it, "
                f"and of its export {EXPORTED})"
            )
            raise InvalidInput(f"{name}: propensity", expected, got)
        found = read_rows(log, spec)
        if spec.estimated:
            return Evidence.of(found, name)._estimated()
        refuse_misfit(found.name, found.spec, found.problem, found.encoded)
        return Evidence.of(found, name)

    def _estimated(self) -> Evidence:
        """Return the evidence with propensities that are estimated from the features."""
        self.refuse_hashed("estimated propensities")
        found = estimated(np.asarray(self.features), self.actions, self.problem.actions, self.clusters)
        return replace(
            self,
            propensities=found.propensities,
            notes=(CAUTION, *self.notes),
            selection={**self.selection, CALIBRATION: found.fault},
        )

    @staticmethod
    def of(log: Log, problem_file: str) -> Evidence:
        """Return the evidence of a log that was read by a problem file."""
        problem, encoded = log.problem, log.encoded
        ranges = zip(problem.learned, encoded.outcomes.T, problem.span.T.tolist(), strict=False)
        return Evidence(
            log=log.name,
            problem_file=problem_file,
            problem=problem,
            features=read_by_models(encoded.units, encoded.coding),
            columns=log.columns(),
            actions=encoded.actions,
            propensities=encoded.propensities,
            outcomes=encoded.outcomes,
            known=problem.declared[None] if encoded.known is None else encoded.known,
            groups=dict(zip((g.name for g in problem.groups), encoded.groups, strict=True)),
            spec=log.spec,
            coding=encoded.coding,
            left_out=tuple(log.bad.messages()),
            notes=(*encoded.notes, *filter(None, (stray_values(name, y, *ends) for name, y, ends in ranges))),
            selection=encoded.checks,
            cluster=encoded.clusters,
            repeats=encoded.repeats,
        )

    @property
    def rows(self) -> int:
        return len(self.actions)

    def refuse_hashed(self, where: str) -> None:
        """Raise InvalidInput if features are hashed, which `value`, `curve` and `assign` alone read."""
        if isinstance(self.features, SparseRows):
            names = [h.name for h in self.coding.hashed] if self.coding else []
            raise InvalidInput(f"{self.problem_file}: features", f"none that are hashed in {where}", names)

    @cached_property
    def exact(self) -> Floats | Features:
        """The features without those that are hashed, `()->(N,n)`."""
        return self.features.exact if isinstance(self.features, SparseRows) else self.features

    def refuse_weights(self, where: str) -> None:
        """Raise InvalidInput if rows have weights, which `value` and `curve` alone read."""
        if self.clusters.weights is not None:
            column = None if self.spec is None else self.spec.weight
            raise InvalidInput(f"{self.problem_file}: weight", f"none in {where}, where all rows count alike", column)

    @property
    def units(self) -> Mapping[str, str]:
        """What outcomes are counted in, where the problem file says so."""
        return {} if self.spec is None else self.spec.units

    @property
    def aim(self) -> str:
        """What is maximised, in words: the unit of a sum whose outcomes have the same, else the objective's name."""
        units = {self.units.get(name) for name in self.problem.objective.outcomes}
        unit = units.pop() if isinstance(self.problem.objective, Linear) and len(units) == 1 else None
        return unit or objective_name(self.problem)

    @property
    def adds_up(self) -> bool:
        """Whether averages per case times the rows are totals: of a sum, where all rows count alike."""
        return isinstance(self.problem.objective, Linear) and self.clusters.weights is None

    @cached_property
    def clusters(self) -> Clusters:
        """The clusters of the rows; each row is one where none are declared."""
        return Clusters.of(np.arange(self.rows)) if self.cluster is None else self.cluster

    @cached_property
    def playable(self) -> Ints:
        """The numbers of the actions that were not withdrawn, `()->(A')`."""
        gone = self.problem.withdrawn
        return np.array([i for i, action in enumerate(self.problem.actions) if action not in gone])

    @cached_property
    def action_groups(self) -> Ints | None:
        """The group of every playable action by all groupings of actions at once, `()->(A')`; None without any."""
        each = self.problem.action_groups[self.playable]
        return np.unique(each, axis=0, return_inverse=True)[1].reshape(-1) if each.shape[1] else None

    @property
    def names(self) -> tuple[str, ...]:
        """The actions that were not withdrawn."""
        return tuple(self.problem.actions[i] for i in self.playable)

    def tables(
        self, *, folds: int = 5, seed: int = 0, model: Callable[[], Regressor] = RidgeByErrors
    ) -> dict[str, Tables]:
        """Predict and score all outcomes, by name, for the playable actions.

        Args:
            folds: the number of parts; each is predicted by models of the others. At least 2.
            seed: of how rows are dealt to the folds.
            model: makes a model that is not fitted yet, such as an estimator of scikit-learn.
        """
        models = self.models(folds=folds, seed=seed, model=model)
        return as_logged(self.tables_dealt(models), models.members)

    def models(self, *, folds: int = 5, seed: int = 0, model: Callable[[], Regressor] = RidgeByErrors) -> Models:
        """Return models of all learned outcomes that have not seen some folds; arguments as of `tables`."""
        whole("folds", folds, 2)
        members, found = members_of(self.clusters.numbers, min(folds, self.clusters.count), seed), []
        for m, _ in enumerate(self.problem.learned):
            needed = self._needed(m, members)
            weights = self.clusters.weights
            asked = Asked(self.features, self.actions, self.outcomes[:, m], members, model, needed, weights)
            found.append((needed, fold_models(asked)))
        return Models(members, tuple(found))

    def tables_dealt(self, models: Models) -> dict[str, Tables]:
        """Predict and score all outcomes by models, as `tables` does, of the rows one fold after the other."""
        p, order = self.problem, np.concatenate(models.members)
        q = [np.zeros((self.rows, len(p.actions))) for _ in p.learned]
        start = 0
        with Work("fitting the models", "fold") as work:
            for k in work.each(range(len(models.members))):
                mine = models.members[k]
                for m, each in enumerate(self._predicted(models, k)):
                    q[m][start : start + len(mine)] = each
                start += len(mine)
        return self._tables(q, self._scored(q, order), self.known if len(self.known) == 1 else self.known[order])

    def tables_apart(self, models: Models, fold: int, other: int) -> dict[str, Tables]:
        """Predict the rows of a fold by models that have not seen another one either; nothing is corrected."""
        known = self.known if len(self.known) == 1 else self.known[models.members[fold]]
        q = self._predicted(models, fold, other)
        return self._tables(q, q, known)

    def scores_apart(self, models: Models, fold: int, other: int) -> dict[str, Tables]:
        """Predict and score the rows of a fold by models that have not seen another one either."""
        order, q = models.members[fold], self._predicted(models, fold, other)
        return self._tables(q, self._scored(q, order), self.known if len(self.known) == 1 else self.known[order])

    def predict(
        self, features: Floats | Features, known: Floats, *, model: Callable[[], Regressor] = RidgeByErrors
    ) -> dict[str, Tables]:
        """Predict all outcomes of other cases by models of the whole log, `(N',u),(N',A,L)->`; nothing is corrected."""
        p, q, made = self.problem, [], model()
        x, cases = readable(made, self.features), readable(made, read_by_models(features, self.coding))
        for m, _ in enumerate(p.learned):
            q.append(np.zeros((len(features), len(p.actions))))
            with Work(f"fitting the models of {p.learned[m]}", "action") as work:
                for a in work.each(self._needed(m, ()).tolist()):
                    seen = self.actions == a
                    own = predicted(model, x[seen], self.outcomes[seen, m], cases)
                    q[m][:, a] = np.clip(own, p.low[m], p.high[m])
        return self._tables(q, q, known)

    def ends(self) -> tuple[dict[str, Tables], dict[str, Tables]]:
        """Score outcomes as if each were predicted at one end of its range: at the lower one, and at the upper one."""
        p, shape = self.problem, (self.rows, len(self.problem.actions))
        spans = np.where(np.isfinite(p.span_by_action), p.span_by_action, 0.0)  # of outcomes that nobody asks for
        both = ([np.broadcast_to(end[:, m], shape) for m in range(len(p.learned))] for end in spans)
        low, high = (self._tables(q, self._scored(q, np.arange(self.rows)), self.known) for q in both)
        return low, high

    def _scored(self, q: Sequence[Floats], order: Ints) -> list[Floats]:
        """Correct predictions of rows in some order by the logged outcomes, `(N,A) each,(N)->(N,A) each`."""
        actions, rows, found = self.actions[order], np.arange(len(order)), list[Floats]()
        for m, each in enumerate(q):
            own = scores(each, actions, self.propensities[order], self.outcomes[order, m])
            free = self.problem.free[actions, m]
            own[rows[free], actions[free]] = 0.0
            found.append(own)
        return found

    def _predicted(self, models: Models, fold: int, other: int | None = None) -> list[Floats]:
        """Predict the rows of a fold, `->(N_k,A)` by outcome; actions that are not needed have 0."""
        p, found = self.problem, []
        for m, (needed, each) in enumerate(models.each):
            q = np.clip(each.of(fold, other), p.low[m], p.high[m])
            if len(needed) < len(p.actions):
                wide = np.zeros((len(q), len(p.actions)))
                wide[:, needed] = q
                q = wide
            found.append(q)
        return found

    def _needed(self, outcome: int, members: Sequence[Ints]) -> Ints:
        """The actions whose outcome is predicted: those that may be played, and are not free of it.

        Raises:
            InvalidInput: one of them has fewer than two rows, outside a fold if there are folds.
        """
        needed, count = self.playable[~self.problem.free[self.playable, outcome]], len(self.problem.actions)
        there = np.bincount(self.actions, minlength=count)
        if members:
            there -= np.stack([np.bincount(self.actions[rows], minlength=count) for rows in members]).max(0)
        for a in needed[there[needed] < 2].tolist():
            outside = " outside of each fold" if members else ""
            raise InvalidInput(
                self.log, f"at least two rows with {self.problem.actions[a]!r}{outside}", f"{there[a]} rows"
            )
        return np.asarray(needed)

    def _tables(self, predicted: Sequence[Floats], scored: Sequence[Floats], known: Floats) -> dict[str, Tables]:
        """Multiply predictions and scores of learned outcomes by known factors; add the known outcomes."""
        p, same = self.problem, scored is predicted
        amounts = [self._amounts(z, known) for z in ([predicted] if same else [predicted, scored])]
        found = {name: Tables(amounts[0][m], amounts[-1][m]) for m, name in enumerate(p.learned)}
        for k, name in enumerate(p.known):
            table = np.ascontiguousarray(known[:, self.playable, k])
            found[name] = Tables(table, table)
        return found

    def _amounts(self, y: Sequence[Floats], known: Floats) -> list[Floats]:
        """Multiply outcomes of all actions by their known factors, `(N,A) each,(N or 1,A,L)->(N,A') each`."""
        p = self.problem
        if p.factors is not None and y:
            raw = np.zeros((*y[0].shape, len(p.observed)))
            raw[..., : len(y)] = np.stack(y, 2)
            plays = y[0].size  # stated, as no size follows from an array without known outcomes
            every = np.broadcast_to(known, (*y[0].shape, known.shape[2])).reshape(plays, known.shape[2])
            amounts = p.amounts(every, raw.reshape(plays, raw.shape[2])).reshape(raw.shape)
            y = [amounts[..., m] for m in range(len(y))]
        return [np.ascontiguousarray(z if len(self.playable) == z.shape[1] else z[:, self.playable]) for z in y]

    def worth(self, tables: Mapping[str, Tables], rows: int | None = None) -> Tables:
        """Return the objective of every action, a weighted sum, for a number of rows or for those of the log.

        Raises:
            InvalidInput: the objective is another one.
        """
        parts = [(weight, tables[name]) for name, weight in self._summed.items()]
        shape, both = (self.rows if rows is None else rows, len(self.playable)), list[Floats]()
        if len(parts) == 1 and parts[0][0] == 1.0 and parts[0][1].predicted.shape == shape:
            return parts[0][1]
        for i in range(1 if all(t.predicted is t.scores for _, t in parts) else 2):
            found = np.zeros(shape)
            for weight, table in parts:
                found += weight * table[i]
            both.append(found)
        return Tables(both[0], both[-1])

    @cached_property
    def checks(self) -> Checks:
        """The faults of the log, a sentence per check, `()->`; None if nothing was found."""
        p = self.problem
        own = of_log(
            Drawn(
                names=p.actions,
                actions=self.actions,
                propensities=self.propensities,
                units=self.exact,
                coding=self.coding,
                groups=self.groups,
                group_names={g.name: g.names for g in p.groups if g.of is None},
                clusters=self.cluster or self.repeats,
                foreseen=foreseen(p, self.known, None if self.spec is None else self.spec.by_case),
            )
        )
        return {**self.selection, **own}

    @cached_property
    def played(self) -> Ints:
        """The logged actions, as numbers of playable actions; -1 for a withdrawn one, `()->(N)`."""
        places = np.full(len(self.problem.actions), -1)
        places[self.playable] = np.arange(len(self.playable))
        return places[self.actions]

    @property
    def achieved(self) -> Floats:
        """The objective of every row as it was logged, `()->(N)`."""
        found = self.used(self._summed)
        return sum((w * found[name] for name, w in self._summed.items()), np.zeros(self.rows))

    @property
    def _summed(self) -> Mapping[str, float]:
        if self.weights is None:
            expected = "a weighted sum of outcomes, as what others are worth depends on all rows together"
            raise InvalidInput(f"{self.problem_file}: maximize", expected, self.problem.objective)
        return self.weights

    def used(self, outcomes: Iterable[str]) -> dict[str, Floats]:
        """Return the logged values of some outcomes in every row, `->(N)` each."""
        p, rows = self.problem, np.arange(self.rows)
        known = self.known[rows % len(self.known), self.actions]
        amounts = p.amounts(known, self.outcomes)
        found = {name: amounts[:, m] for m, name in enumerate(p.learned)}
        found |= {name: known[:, k] for k, name in enumerate(p.known)}
        return {name: found[name] for name in outcomes}

    @cached_property
    def occurrences(self) -> dict[str, Occurrences]:
        """The rows on which averages of each learned outcome rest."""
        p, found = self.problem, {}
        for m, name in enumerate(p.learned):
            free = np.zeros(len(p.actions), bool) if p.factors is None else p.factors.free[:, m]
            may = ~free[self.actions] if free.any() else None
            multiplied = p.factors is not None and bool(p.factors.times[m] >= 0)
            low, high = p.span[:, m].tolist()
            found[name] = Occurrences.of(self.outcomes[:, m], low, high, may, multiplied)
        return found

    @property
    def share_weights(self) -> Mapping[str, float]:
        """The weights other than 0 of a weighted sum, if an outcome of it has two values in the log; none otherwise."""
        weights = {name: q for name, q in (self.weights or {}).items() if q}
        return weights if any(z.ends for name, z in self.occurrences.items() if name in weights) else {}

    @property
    def events(self) -> tuple[Occurrences, ...]:
        """The rows on which averages of the objective's learned outcomes rest."""
        return tuple(self.occurrences[name] for name in self.problem.objective.outcomes if name in self.occurrences)

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The weights of the objective by outcome; None if it is not a weighted sum."""
        objective = self.problem.objective
        return objective.weights if isinstance(objective, Linear) else None


def evidence_of(log: Source | Evidence, problem: Stated | None) -> Evidence:
    """Return evidence as it is, or read a log by a problem file.

    Raises:
        InvalidInput: there is no problem file, or one too many.
    """
    if isinstance(log, Evidence):
        if problem is not None:
            raise InvalidInput("problem", "none, as the evidence was already read by one", problem)
        return log
    if problem is None:
        raise InvalidInput("problem", "a TOML file that states what the columns of the log mean", None)
    return Evidence.read(log, problem)
