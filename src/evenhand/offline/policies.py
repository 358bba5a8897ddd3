"""The policies that are evaluated by a log, and the estimates of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import nan
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.registry import suggestion
from evenhand.core.texts import amount
from evenhand.core.types import Floats
from evenhand.logs.arrow import Frame, arrow_table
from evenhand.logs.clusters import Clusters
from evenhand.offline.cautions import Bounds, Doubt, Kept, doubter, ends, kept
from evenhand.offline.curve_policies import TARGETED, limit_of, others_of, singles
from evenhand.offline.estimators.base import STEADY, Estimator, FoldMoves, Sample
from evenhand.offline.estimators.doubly_robust import DoublyRobust
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.plans.fold_plans import Crossed, Planner, best, fixed_limits, program
from evenhand.offline.plans.objectives import add_shares, objective_of, trouble
from evenhand.offline.plans.planned_policies import Parted, moves, worth_of_limits
from evenhand.offline.saved_policies import Saved
from evenhand.offline.scores import Average, Estimate, blocks, weights
from evenhand.report.allowances import of_rounds


@runtime_checkable
class Decider(Protocol):
    """An estimator of scikit-learn, fitted to a data frame, that predicts actions by name."""

    def predict(self, x: Any) -> Any: ...


def decided(field: str, estimator: Decider, evidence: Evidence) -> Floats:
    """Return the action of an estimator in every row, `->(N,A)` with a 1 per row.

    It is asked with a data frame of the columns that it was fitted to, as the log has them. It predicts the names of
    actions, or their values in the log.

    Raises:
        InvalidInput: it was not fitted to a data frame, or to a column that is not a feature of the problem; or it
            predicts something other than an action for every row.
        MissingExtra: pandas is not installed.
    """
    columns = getattr(estimator, "feature_names_in_", None)
    if columns is None:
        got = f"{type(estimator).__name__} without names of features"
        raise InvalidInput(field, "an estimator that was fitted to a data frame", got)
    for column in columns:
        if column not in evidence.columns:
            expected = f"an estimator of features of {evidence.problem_file}, {list(evidence.columns)}"
            raise InvalidInput(field, expected, f"{column}{suggestion(column, evidence.columns)}")
    return chosen(field, estimator.predict(data_frame({str(c): evidence.columns[c] for c in columns})), evidence)


def chosen(field: str, actions: object, evidence: Evidence) -> Floats:
    """Return an action for every row, by name or by its value in the log, as a lottery, `->(N,A)` with a 1 per row.

    Raises:
        InvalidInput: other names, or another number of them.
    """
    found = np.asarray(actions)
    if found.shape != (evidence.rows,):
        raise InvalidInput(field, f"an action for each of {evidence.rows:,} rows", f"shape {found.shape}")
    values, places = np.unique(found.astype(str), return_inverse=True)
    return np.asarray(np.eye(len(evidence.names))[[_action(field, v, evidence) for v in values.tolist()]][places])


def _action(field: str, value: str, evidence: Evidence) -> int:
    logged = {} if evidence.spec is None else evidence.spec.actions
    name = value if value in evidence.names else logged.get(value, value)
    if name not in evidence.names:
        got = f"{value}{suggestion(value, evidence.names)}"
        raise InvalidInput(field, f"actions, {list(evidence.names)}, or their values in the log", got)
    return evidence.names.index(name)


LOGGED = "as logged"


# What `value` takes for a policy: lotteries, names of actions, a function of the features that returns either, or one
# that was fitted or saved.
Asked = Floats | Sequence[str] | Frame | Decider | Saved | Callable[[Any], Any]


class Valued(NamedTuple):
    """The estimates of a policy."""

    policy: str
    value: Estimate  # doubly robust
    by: Mapping[str, Estimate]  # the estimators asked for; without an error where its bias is not known
    beyond: Estimate  # the difference to the baseline, by pairs of cases
    less: Mapping[str, Estimate]  # the difference to every policy before it in the table, by pairs of cases
    doubt: Doubt  # where it is a guess, no estimate has an error
    bounds: Bounds | None  # of the value, where it is a guess and bounds are known
    beyond_bounds: Bounds | None  # of the difference to the baseline, likewise
    used: Mapping[str, Estimate]  # of every outcome with a budget, per case
    kept: tuple[Kept, ...]  # every constraint
    trouble: str | None  # why there is no value or no honest error, if so


class Weighed(NamedTuple):
    """The estimates of a policy, with the influences that bands over several of them need."""

    policy: Valued
    value: Floats  # (K,) sums of the influence of blocks of clusters on the value, as of `blocks`
    beyond: Floats  # (K,) the same on the difference to what was logged


def limits(evidence: Evidence) -> dict[str, float]:
    """Return the budgets of the problem per case, by outcome."""
    return {a.outcome: a.rate for a in of_rounds(evidence.problem) if a.outcome in evidence.problem.names}


class Unasked(NamedTuple):
    """The policies that are always evaluated."""

    policies: dict[str, Floats]  # (N,A) each
    moved: dict[str, dict[str, FoldMoves]]  # of the targeted one, by outcome
    notes: tuple[str, ...]  # why there is no targeted one, if so


def policies_of(crossed: Crossed) -> Unasked:
    """Return the policies that are always evaluated: every action for everybody, and targeting within limits.

    One is within the first budget alone, and another one within all limits, if there are more. Those on outcomes that
    are learned are kept by predictions. An objective that is not a weighted sum is also planned without limits.
    """
    evidence, limit = crossed.evidence, limit_of(crossed.evidence)
    found, others = Unasked(singles(evidence), {}, ()), others_of(evidence, limit)
    if limit is not None:
        name, least = f"{TARGETED}, {limit.outcome} {amount(limit.rate)}", crossed.least(limit.outcome)
        if limit.rate < least:
            note = f"no {name!r}: the cheapest actions cost {amount(least)} per case"
            found = found._replace(notes=(note,))
        else:
            found = _planned(crossed, found, name, best([limit.rate]), limit.outcome)
    elif not crossed.aim.linear:
        found = _planned(crossed, found, f"{TARGETED}, no budget", best([0.0]), None)
    return _planned(crossed, found, *within_all(evidence)) if others else found


def within_all(evidence: Evidence) -> tuple[str, Planner, str | None]:
    """Return the name of the targeted policy within all limits, how it is planned, and what the first budget limits."""
    limit = limit_of(evidence)
    rate, outcome = (0.0, None) if limit is None else (limit.rate, limit.outcome)
    if others := others_of(evidence, limit):
        return f"{TARGETED}, all limits", program(fixed_limits(evidence, others), outcome, [rate]), outcome
    name = "no budget" if limit is None else f"{limit.outcome} {amount(limit.rate)}"
    return f"{TARGETED}, {name}", best([rate]), outcome


def _planned(crossed: Crossed, found: Unasked, name: str, planner: Planner, outcome: str | None) -> Unasked:
    """Add a targeted policy, by how much folds move it, and what its limits cost; or say why there is none."""
    try:
        own, moved = next(targeted(crossed, planner, outcome))
    except (InfeasibleProblem, InvalidInput) as error:  # such as averages outside of the domain, which every row has
        return found._replace(notes=(*found.notes, f"no {name!r}: {error}"))
    notes = (*found.notes, *worth_of_limits(name, own, crossed.evidence.aim))
    plan = own.probabilities(len(crossed.evidence.names))
    return Unasked(found.policies | {name: plan}, found.moved | {name: moved}, notes)


def targeted(crossed: Crossed, planner: Planner, outcome: str | None) -> Iterator[tuple[Parted, dict[str, FoldMoves]]]:
    """Yield the targeted policy, and by how much folds move it."""
    for own, totals in crossed.plans(planner, outcome, moved_tables(crossed)):
        yield own, fold_moves(crossed, totals)


def moved_tables(crossed: Crossed) -> list[Floats]:
    """Return the tables whose totals say by how much folds move a policy, of the rows one fold after the other."""
    names, order, weights = crossed.evidence.problem.objective.outcomes, crossed.rows.order, crossed.weights_dealt
    logged, tables = crossed.evidence.used(names), [crossed.tables_dealt[name].scores for name in names]
    tables += [weights * logged[name][order, None] for name in names]
    return [crossed.clusters_dealt.times(table) for table in (*tables, weights)]


def fold_moves(crossed: Crossed, totals: Floats) -> dict[str, FoldMoves]:
    """Return by how much folds move a policy, by outcome, from the totals of `moved_tables`, `(M,K,K)->`."""
    names, each = crossed.evidence.problem.objective.outcomes, list(moves(totals, crossed.evidence.rows))
    pairs = zip(each[: len(names)], each[len(names) : -1], strict=True)
    return {name: FoldMoves(*pair, each[-1]) for name, pair in zip(names, pairs, strict=True)}


def probabilities(name: str, policy: Asked, evidence: Evidence) -> Floats:
    """Return the probabilities of a policy, `->(N,A)`; the columns of a data frame are found by the names of actions.

    Raises:
        InvalidInput: another shape, names that are no actions, or rows that are not probabilities; or a data frame with
            other columns than the names of actions; or an estimator with invalid decisions; or as for
            `Saved.lotteries`.
    """
    shape, field = (evidence.rows, len(evidence.names)), f"policies[{name!r}]"
    if isinstance(policy, Saved):
        return policy.lotteries(evidence)
    if isinstance(policy, Decider):
        return decided(field, policy, evidence)
    if callable(policy):
        return probabilities(
            name, policy(data_frame({name: evidence.columns[name] for name in evidence.columns})), evidence
        )
    plain = np.asarray(policy)
    if plain.ndim == 1:
        return chosen(field, plain, evidence)
    found = _by_name(field, policy, evidence.names) if isinstance(policy, Frame) else _numbers(field, plain)
    if found.shape != shape:
        raise InvalidInput(field, f"an action for each row, or probabilities of shape {shape}", f"shape {found.shape}")
    if not ((found >= 0.0).all() and np.allclose(found.sum(1), 1.0, rtol=0.0, atol=1e-9)):
        raise InvalidInput(field, "probabilities of at least 0 that add up to 1 in every row", "others")
    return found


def _numbers(field: str, plain: NDArray[Any]) -> Floats:
    try:
        return plain.astype(float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(field, "numbers, or the name of an action for each row", error) from error


def _by_name(field: str, frame: Frame, names: Sequence[str]) -> Floats:
    """Return the columns of a data frame in the order of the actions, by whose names it has to have one each."""
    table = arrow_table(frame)
    if sorted(table.column_names) != sorted(names):
        expected = f"a column for each action ({', '.join(names)}), and no other"
        raise InvalidInput(field, expected, f"the columns {', '.join(table.column_names)}")
    try:
        return np.stack([table.column(name).to_numpy().astype(float) for name in names], 1)
    except (TypeError, ValueError) as error:
        raise InvalidInput(field, "numbers in every column", error) from error


def valued(
    evidence: Evidence,
    tables: Mapping[str, Tables],
    policies: Mapping[str, Floats],
    moved: Mapping[str, Mapping[str, FoldMoves]],
    doubted: Mapping[str, Doubt],
    estimators: Mapping[str, Estimator],
    baseline: str = LOGGED,
) -> Iterator[Weighed]:
    """Yield the estimates of the logged policy, and then of each policy, the baseline first.

    Args:
        evidence, tables: what is known about every row.
        policies: `(N,A)` each.
        moved: of policies that were planned by the log.
        doubted: what speaks against each policy.
        estimators: that are stated beside the value, by name.
        baseline: the policy beyond which the others are stated.

    Raises:
        InvalidInput: no row agrees with a policy, the log cannot judge the baseline, or an estimator needs what the
            problem does not state.
    """
    objective, played, rows = evidence.problem.objective, evidence.played, np.arange(evidence.rows)
    names, logged = objective.outcomes, evidence.used((*evidence.problem.learned, *evidence.problem.known))
    predicted = {
        name: np.where(played >= 0, tables[name].predicted[rows % len(tables[name].predicted), played], logged[name])
        for name in names  # of a withdrawn action nothing is known
    }
    clusters = evidence.clusters
    averages = [Average.of(logged[name], clusters) for name in names]
    alike = np.ones(evidence.rows)
    everybody = doubter(evidence.propensities, 1, clusters, evidence.events)(alike)
    first = objective_of(objective, averages)
    first = first.guess() if everybody.is_guess else first
    here = first.estimate if everybody.is_guess else _value(evidence, first, averages, alike)
    model = Estimate(float(objective.value(np.array([clusters.mean(predicted[name]) for name in names]))), nan)
    plain = {True: here, False: Estimate(here.value, nan)}  # what was logged brought what it did
    own = Valued(
        policy=LOGGED,
        value=here,
        by={name: plain[one.unbiased] if one.corrects else model for name, one in estimators.items()},
        beyond=Estimate(0.0, 0.0),
        less={},
        doubt=everybody,
        bounds=None,
        beyond_bounds=None,
        used={name: Average.of(logged[name], clusters).estimate for name in limits(evidence)},
        kept=tuple(kept(evidence, logged.__getitem__, alike)),
        trouble=trouble(objective, averages, LOGGED),
    )
    sums, logging = blocks(first.psi, clusters.names), own
    before, ends_of_log, base = {LOGGED: (first, here)}, cache(ends), (first, here)
    if baseline == LOGGED:
        yield Weighed(own, sums, np.zeros_like(sums))
    else:
        if doubted[baseline].is_guess:
            raise InvalidInput("baseline", "a policy of which the log says enough", baseline)
        policies = {baseline: policies[baseline]} | dict(policies)
    for name, policy in policies.items():
        w = weights(policy, played, evidence.propensities)
        if not w.any():
            raise InvalidInput(f"policies[{name!r}]", "one that plays what was logged in some row", "none that agrees")
        amounts = cache(partial(_scored, policy, tables))
        moves, guessed = moved.get(name, {}), doubted[name].is_guess
        never = doubted[name].missing > 0.0
        guesses = frozenset(evidence.problem.learned if never else ())
        of_row = policy, played, evidence.propensities
        samples = [
            Sample(*of_row, logged[o], *tables[o], clusters, moves.get(o, STEADY), evidence.action_groups)
            for o in names
        ]
        scored = [DoublyRobust().average(sample) for sample in samples]
        averages = [
            z.guess() if guessed and outcome in evidence.problem.learned else z
            for outcome, z in zip(names, scored, strict=True)
        ]
        found = objective_of(objective, averages)
        around = _ends(policy, ends_of_log(evidence), clusters) if never else None
        value = found.estimate if guessed else _value(evidence, found, averages, w)
        if name == baseline:
            base = found, value
            own = logging._replace(beyond=first.beyond(here, found, value))
            yield Weighed(own, sums, blocks(first.less(found).psi, clusters.names))
        own = Valued(
            policy=name,
            value=value,
            by={n: _estimate(evidence, one, samples, guessed) for n, one in estimators.items()},
            beyond=Estimate(0.0, 0.0) if name == baseline else found.beyond(value, *base),
            less={other: found.beyond(value, *each) for other, each in before.items()},
            doubt=doubted[name],
            bounds=None if around is None else Bounds.of(*around),
            beyond_bounds=None if around is None else Bounds.of(*(end.less(base[0]) for end in around)),
            used={limit: _use(evidence, limit, amounts(limit), w, limit in guesses) for limit in limits(evidence)},
            kept=tuple(kept(evidence, amounts, w, guesses)),
            trouble=trouble(objective, scored, name),
        )
        yield Weighed(own, blocks(found.psi, clusters.names), blocks(found.less(base[0]).psi, clusters.names))
        before[name] = found, value


def _estimate(evidence: Evidence, estimator: Estimator, samples: Sequence[Sample], guessed: bool) -> Estimate:
    """Estimate the objective of averages, without an error where the bias is not known or the value is a guess."""
    objective, each = evidence.problem.objective, [estimator.average(sample) for sample in samples]
    if not estimator.unbiased:
        return Estimate(float(objective.value(np.array([z.value for z in each]))), nan)
    found = objective_of(objective, [z.guess() for z in each] if guessed else each)
    return found.estimate if guessed else _value(evidence, found, each, samples[0].weights)


def _value(evidence: Evidence, found: Average, averages: Sequence[Average], w: Floats) -> Estimate:
    """Estimate the objective of averages of its outcomes; one that has two values is a share, also in a sum."""
    weights = evidence.share_weights
    if not weights:
        return found.estimate
    each = zip(evidence.problem.objective.outcomes, averages, strict=True)
    parts = ((name, q, average.times(q)) for name, average in each if (q := weights.get(name)))
    return add_shares(parts, evidence.occurrences, w, evidence.clusters)


def _use(evidence: Evidence, outcome: str, amounts: Floats, w: Floats, guessed: bool) -> Estimate:
    """The use of an outcome, by amounts and weights, `(N),(N)->`; a share, if it has two values."""
    found, o, clusters = Average.of(amounts, evidence.clusters), evidence.occurrences.get(outcome), evidence.clusters
    if guessed or (o is not None and o.are_few(w, clusters)):
        return found.guess().estimate
    return found.counted(clusters.effective(w), None if o is None or not o.risks(w) else o.ends)


def _ends(policy: Floats, scored: tuple[Floats, Floats] | None, clusters: Clusters) -> tuple[Average, Average] | None:
    """The least and the most that a policy can be worth, by the bounds of each action."""
    if scored is None:
        return None
    worst, best = (Average.of((policy * each).sum(1), clusters) for each in scored)
    return worst, best


def tied(best: Valued, others: Iterable[Valued]) -> list[str]:
    """Return the policies whose difference to one is indistinguishable from chance.

    The difference is that by pairs of cases or, if it is not known, that of intervals which overlap. Values that are
    guesses have neither, and nothing can be told from them.
    """
    return [p.policy for p in others if p.policy != best.policy and not _apart(best, p)]


def _apart(one: Valued, other: Valued) -> bool:
    pair = one.less.get(other.policy, other.less.get(one.policy))
    if pair is None:
        return one.value.interval[0] > other.value.interval[1] or one.value.interval[1] < other.value.interval[0]
    low, high = pair.interval
    return low > 0.0 or high < 0.0


def _scored(policy: Floats, tables: Mapping[str, Tables], outcome: str) -> Floats:
    """The score of a policy in every row, `(N,A)->(N)`."""
    return np.asarray((policy * tables[outcome].scores).sum(1))
