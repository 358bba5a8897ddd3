"""The targeted policy by feature: its actions by level, the worth that each feature adds, and the models behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.progress import Work
from evenhand.core.texts import amount
from evenhand.core.types import Bools, Floats, Ints, Texts
from evenhand.logs.checks import fault_of
from evenhand.logs.clusters import Clusters
from evenhand.logs.columns import Names
from evenhand.logs.dates import written
from evenhand.logs.problem_file import Stated
from evenhand.offline.cautions import Doubt, doubts
from evenhand.offline.curve_policies import limit_of, others_of
from evenhand.offline.evidence import Evidence, evidence_of
from evenhand.offline.outcome_models import Regressor, RidgeByErrors
from evenhand.offline.plans.fold_plans import Crossed, Plans
from evenhand.offline.plans.objectives import Aim
from evenhand.offline.policies import within_all
from evenhand.offline.results import Counted, LogResult, in_band, interval, reaches, told
from evenhand.offline.scores import Estimate, blocks, reach
from evenhand.report import charts
from evenhand.report.page import Part
from evenhand.report.results import Measurement, Records
from evenhand.report.tables import Table

BANDS = 4  # of numbers, each with about as many rows
MOST = 12  # levels of a feature, the last of them for all others


class Level(NamedTuple):
    """The rows with one level of a feature."""

    feature: str
    level: str
    share: float  # of all rows
    actions: tuple[float, ...]  # the mean probability of each action

    @property
    def name(self) -> str:
        return f"{self.feature}: {self.level}"


def levels_of(
    columns: Mapping[str, Floats | Texts | Sequence[str] | Names], policy: Floats | Bools, dates: Collection[str] = ()
) -> Iterator[Level]:
    """Yield the levels of every feature, with the mean probability of each action among their rows.

    Numbers are put into four bands with about equally many rows, or have a level each where there are five at most. Of
    texts, the eleven most frequent have a level each, and the others one together if there are more than twelve.

    Args:
        columns: by feature, `(N)` numbers or texts.
        policy: `(N,A)` the probability of every action.
        dates: the columns of numbers that are days since the start of 1970.

    >>> for level in levels_of({"town": ["A", "B", "A", "A"]}, np.eye(2)[[0, 1, 1, 0]]):
    ...     print(level.name, level.share, [round(p, 2) for p in level.actions])
    town: A 0.75 [0.67, 0.33]
    town: B 0.25 [0.0, 1.0]
    """
    for feature, column in columns.items():
        numeric = isinstance(column, np.ndarray) and column.dtype.kind == "f"
        shown = written if feature in dates else _plain
        texts = column.texts() if isinstance(column, Names) else () if numeric else [str(z) for z in column]
        names, places = _bands(np.asarray(column, float), shown) if numeric else _texts(texts)
        rows = np.bincount(places, minlength=len(names))
        sums = [np.bincount(places, p, minlength=len(names)) for p in policy.T]
        for i in np.flatnonzero(rows).tolist():
            mean = tuple(float(z[i] / rows[i]) for z in sums)
            yield Level(feature, names[i], float(rows[i] / len(places)), mean)


def table_of(levels: Sequence[Level], actions: Sequence[str], rows: str) -> Table:
    """Return the levels as a table; `rows` names what has them."""
    lines = [[z.name, f"{z.share:.1%}", *(f"{p:.4f}" for p in z.actions)] for z in levels]
    return Table(["who gets what", rows, *actions], lines)


def _plain(number: float) -> str:
    return f"{number:.6g}"


def _bands(z: Floats, shown: Callable[[float], str]) -> tuple[list[str], Ints]:
    """Return the names of bands of numbers, and the band of every row; rows without a number have one of their own."""
    known = np.isfinite(z)
    values = np.unique(z[known])
    if len(values) <= BANDS + 1:
        edges = values[:-1]
    else:
        edges = np.unique(np.quantile(z[known], np.arange(1, BANDS) / BANDS, method="inverted_cdf"))
    places = np.where(known, np.searchsorted(edges, z, side="left"), len(edges) + 1)
    names = []
    for i in range(len(edges) + 1):
        inside = z[places == i]
        ends = [shown(float(z)) for z in (inside.min(), inside.max())] if len(inside) else []
        names.append(" to ".join(dict.fromkeys(ends)))
    return [*names, "missing"], places


def _texts(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """Return texts by their frequency, and the place of every row among them."""
    place: dict[str, int] = {}
    codes = np.fromiter((place.setdefault(t, len(place)) for t in texts), np.int64, len(texts))
    counts = np.bincount(codes, minlength=len(place)).tolist()
    names = sorted(place, key=lambda t: (-counts[place[t]], t))
    order = np.empty(len(names), np.int64)
    order[[place[t] for t in names]] = np.arange(len(names))
    if len(names) > MOST:
        order = np.minimum(order, MOST - 1)
        names = [*names[: MOST - 1], f"{len(names) - MOST + 1} others"]
    return names, order[codes]


class Coefficient(NamedTuple):
    """The effect of a number of a case on an outcome under an action."""

    outcome: str
    action: str
    name: str
    value: Estimate


def coefficients(evidence: Evidence, names: tuple[str, ...], model: Callable[[], Regressor]) -> Iterator[Coefficient]:
    """Yield the coefficients of models of the whole log, one model per outcome and action; none of other models.

    Args:
        evidence: the log.
        names: of the features, of which the first is the intercept's.
        model: makes a model that is not fitted yet.
    """
    p = evidence.problem
    for m, outcome in enumerate(p.learned):
        for a in evidence.playable[~p.free[evidence.playable, m]].tolist():
            seen = evidence.actions == a
            x, y = evidence.features[seen], evidence.outcomes[seen, m]
            fitted = model().fit(x, y)
            if not isinstance(fitted, RidgeByErrors):
                return
            clusters = evidence.clusters.kept(np.flatnonzero(seen))
            errors = standard_errors(x, y, fitted.coefficients, fitted.penalty, clusters)
            for name, value, se in zip(
                ("intercept", *names[1:]), fitted.coefficients.tolist(), errors.tolist(), strict=True
            ):
                yield Coefficient(outcome, p.actions[a], name, Estimate(value, se, degrees=clusters.degrees))


def standard_errors(x: Floats, y: Floats, found: Floats, penalty: float, clusters: Clusters | None = None) -> Floats:
    """Return the standard errors of ridge coefficients, `(N,n),(N),(n),()->(n)`, robust to unequal variances.

    Equation: with H = X'X + k D, where D leaves out the intercept, and residuals e, the covariance is
    N / (N - tr H^-1 X'X) H^-1 X' diag(e^2) X H^-1 (White 1980, with the factor of MacKinnon and White 1985). The
    penalty is taken as given; what it shrinks is not in the error. NaN if no row is left to judge by. Of G clusters the
    scores x_i e_i are summed over each (Liang and Zeger 1986); the factor is G / (G - 1) (N - 1) / (N - tr H^-1 X'X).

    >>> x = np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]])
    >>> y = np.array([0.0, 2.0, 3.0, 5.0])
    >>> standard_errors(x, y, np.array([1.0, 3.0]), 0.0).round(4).tolist()
    [1.0, 1.4142]
    """
    shrunk = np.full(x.shape[1], penalty)
    shrunk[0] = 0.0
    gram = x.T @ x
    inverse = np.linalg.pinv(gram + np.diag(shrunk), hermitian=True)
    left = len(y) - float(np.trace(inverse @ gram))
    if left <= 0.0:
        return np.full(x.shape[1], np.nan)
    clusters = Clusters.of(np.arange(len(y))) if clusters is None else clusters
    scores = clusters.totals(x * (y - x @ found)[:, None])
    rows, count = len(y), clusters.count
    factor = rows / left * (count * (rows - 1) / ((count - 1) * rows)) if count > 1 else np.nan
    covariance = inverse @ (scores.T @ scores) @ inverse * factor
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


WHO = (
    "The mean probability of each action among the cases with a level. "
    "Numbers are in bands of about equally many cases."
)
ADDS = (
    "What the policy is worth beyond one that is planned without the feature, within the same limits and by pairs of "
    "cases. Features that say the same thing stand in for each other, so that each alone may add nothing."
)
MODELS = (
    "Coefficients of the ridge regressions that predict outcomes, a model per action, with standard errors that allow "
    "for unequal variances. Numbers are per standard deviation of their column, levels against the level that is not "
    "listed. The penalty shrinks them towards 0, which the errors ignore. They describe, and do not show causes."
)


class Added(NamedTuple):
    """The value that a feature adds to the targeted policy."""

    feature: str
    value: Estimate


@dataclass(frozen=True, kw_only=True, repr=False)
class ForWhom(LogResult):
    """The targeted policy by features of cases; print it to see its tables.

    Args:
        log, problem_file, objective, rows, folds, seed, checks, notes, clusters: as of `LogResult`.
        policy: the name of the policy.
        actions: the names of the actions.
        levels: of every feature, with what their rows get.
        adds: by feature, the largest first, what the policy is worth beyond one that is planned without it.
        doubt: what speaks against the policy; nothing has an error where there is any.
        reach: by how many standard errors intervals reach that hold for what all features add at once.
        coefficients: of the models of outcomes, if they are ridge regressions.
    """

    name: ClassVar[str] = "for_whom"
    kind: ClassVar[str] = "for whom"

    policy: str
    actions: tuple[str, ...]
    levels: tuple[Level, ...]
    adds: tuple[Added, ...]
    doubt: Doubt
    reach: float
    coefficients: tuple[Coefficient, ...]

    @property
    def about(self) -> str:
        """The contents of the tables, in a few words."""
        return f"who gets what under {self.policy!r}"

    def inputs(self) -> dict[str, object]:
        """Return the inputs of the numbers, by name."""
        return super().inputs() | {"policy": self.policy}

    def headline(self) -> str:
        """State which features add more to the policy than chance explains."""
        if (fault := fault_of(self.checks)) is not None:
            return f"What features add to {self.policy!r} cannot be told, as {fault}"
        if self.doubt.any:
            return f"What features add to {self.policy!r} cannot be told, as the log says too little of its plays"
        each = [in_band(z.feature, z.value, self.reach, len(self.adds)) for z in self.adds]
        sure = [z for z in each if z.sign > 0]
        if not sure:
            return f"No feature adds more to {self.policy!r} than chance explains"
        said = ", ".join(f"{z.name} {z.text}" for z in sure)
        return f"Of {len(self.adds)} features, these add more {self.objective} per case than chance explains: {said}"

    def sentences(self) -> Iterator[str]:
        """Yield nothing: the headline says it all."""
        yield from ()

    def records(self) -> Records:
        """Return a row per level of a feature: its share, and the probability of each action."""
        names = ["feature", "level", "share", *(f"probability {name}" for name in self.actions)]
        return Records(names, [[z.feature, z.level, z.share, *z.actions] for z in self.levels])

    def measurements(self) -> Iterator[Measurement]:
        """Yield rows of `results.json`."""
        for level in self.levels:
            yield Measurement(self.policy, {}, f"{level.name}: share of cases", level.share)
            for action, p in zip(self.actions, level.actions, strict=True):
                yield Measurement(self.policy, {}, f"{level.name}: probability of {action}", p)
        for added in self.adds:
            yield Measurement(self.policy, {}, f"{self.objective} that {added.feature} adds", *added.value.pair)
        for c in self.coefficients:
            yield Measurement(f"model of {c.outcome} under {c.action}", {}, f"coefficient of {c.name}", *c.value.pair)

    def parts(self) -> Iterator[Part]:
        """Yield the parts of a report."""
        who, adds, *models = self.tables()
        yield Part(title=f"For whom: {self.policy}", reading=WHO, tables=(who,))
        found = [interval(z.feature, z.value) for z in self.adds]
        if found:
            title = f"How much a feature adds: {self.objective} per case"
            yield Part(title=title, reading=ADDS, chart=charts.intervals(found), tables=(adds,))
        if models:
            yield Part(title="The models behind it", reading=MODELS, tables=tuple(models))

    def tables(self) -> Iterator[Table]:
        """Yield the tables: of levels, of the worth that features add, and of coefficients by outcome."""
        yield table_of(self.levels, self.actions, "cases")
        head = [f"{self.objective} per case that it adds", "adds ± se", "95 %"]
        rows = [[z.feature, told(z.value), reaches(z.value)] for z in self.adds]
        yield Table(head, rows)
        for outcome in dict.fromkeys(c.outcome for c in self.coefficients):
            mine = [c for c in self.coefficients if c.outcome == outcome]
            actions = list(dict.fromkeys(c.action for c in mine))
            cells = {(c.name, c.action): told(c.value) for c in mine}
            names = dict.fromkeys(c.name for c in mine)
            lines = [[name, *(cells.get((name, action), "") for action in actions)] for name in names]
            yield Table([f"coefficients for {outcome}, ± se", *actions], lines)

    def reading(self) -> Iterator[str]:
        """Yield the result in words."""
        yield self.summary()


@named("X8", source="evenhand's own; differences of policies of `curve` by their influence functions")
def for_whom(
    log: str | Path | Evidence,
    problem: Stated | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
    model: Callable[[], Regressor] = RidgeByErrors,
) -> ForWhom:
    """Describe the targeted policy by features of cases, and how much each feature adds to its value.

    Equation: what a feature adds is V(pi) - V(pi'), where pi is planned by predictions from all features and pi' by
    those from all others; both are valued by the same doubly robust scores, as in `curve`. The standard error is that
    of the mean of the differences of their influence functions, with what folds have in common. Rows that are worth the
    same are taken by chance.

    Policy: the targeted one within all limits of the file, which is the best for every row if there are none.

    Args:
        log: a CSV file, or what `Evidence.read` returns.
        problem: a TOML file that states the meaning of the columns and the problem, or a mapping as `tomllib` reads it.
        folds, seed, model: as for `curve`.

    Raises:
        InvalidInput: a key, column or argument is wrong; or the evidence does not say which features are whose; or the
            budget does not pay for the cheapest actions.
        InfeasibleProblem: no plan keeps to all limits; the message names those that exclude each other.

    >>> from evenhand.offline import from_bandit_feedback
    >>> likes, sent = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (50, 1)).T
    >>> rows = {"n_rounds": 200, "n_actions": 2, "context": likes[:, None], "features": ["likes"]}
    >>> rows |= {"actions": ["none", "letter"], "action": sent, "reward": likes == sent, "pscore": np.full(200, 0.5)}
    >>> found = for_whom(from_bandit_feedback(rows))
    >>> [(z.name, z.share, [round(p, 2) for p in z.actions]) for z in found.levels]
    [('likes: 0', 0.5, [1.0, 0.0]), ('likes: 1', 0.5, [0.0, 1.0])]
    """
    evidence = evidence_of(log, problem)
    evidence.refuse_weights("for_whom")
    evidence.refuse_hashed("for_whom")
    check_seed(seed)
    if evidence.coding is None:
        raise InvalidInput("log", "one that was read by a problem file, which says whose the features are", "another")
    policy, _, outcome = within_all(evidence)
    crossed = Crossed(evidence, folds, seed, model)
    worth = replace(Aim.summed(evidence.worth(crossed.tables)), clusters=evidence.clusters)
    cost, whole = crossed.cost(outcome), _plans(crossed, worth)
    first, lottery = worth.at(whole.own, cost, whole.totals), whole.own.probabilities(len(evidence.names))
    doubt = doubts(evidence, {policy: lottery})[policy]
    first = first.guess(False) if doubt.any else first
    adds, sums, notes = list[Added](), list[Floats](), list[str]()
    with Work("leaving out", "feature") as work:
        for feature, columns in work.each(evidence.coding.of_column.items()):
            if columns:
                less = replace(evidence, features=np.delete(np.asarray(evidence.features), columns, axis=1))
                try:
                    plans = _plans(Crossed(less, folds, seed, model), worth)
                except InfeasibleProblem as error:
                    notes.append(f"what {feature} adds cannot be told: without it, {error}")
                    continue
                other = worth.at(plans.own, cost, plans.totals)
                added = first.average.less(other.average)
                adds.append(Added(feature, added.estimate))
                sums.append(blocks(added.psi, evidence.clusters.names))
    return ForWhom(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=evidence.aim,
        policy=policy,
        actions=evidence.names,
        levels=tuple(levels_of(evidence.columns, lottery, () if evidence.spec is None else evidence.spec.dates)),
        adds=tuple(sorted(adds, key=lambda z: -z.value.value)),
        doubt=doubt,
        reach=reach(sums, seed, 0) if sums else 0.0,
        coefficients=tuple(coefficients(evidence, evidence.coding.names, model)),
        rows=evidence.rows,
        clusters=Counted.of(evidence.cluster),
        folds=folds,
        seed=seed,
        checks=evidence.checks,
        notes=(*evidence.left_out, *evidence.notes, *notes),
    )


def _plans(crossed: Crossed, worth: Aim) -> Plans:
    """Plan within the limits of the problem, and measure how folds move the worth.

    Raises:
        InvalidInput, InfeasibleProblem: as for `for_whom`.
    """
    limit, (_, planner, outcome) = limit_of(crossed.evidence), within_all(crossed.evidence)
    if limit is not None and not others_of(crossed.evidence, limit):
        least = crossed.least(limit.outcome)
        if limit.rate < least:
            raise InvalidInput("budget", f"at least {amount(least, 6)} per case, what the cheapest cost", limit.rate)
    return next(crossed.plans(planner, outcome, [table.scores for table in worth.dealt(crossed.rows).tables]))
