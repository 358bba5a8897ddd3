"""Curves of value against budget: the worth of targeting, its error, and the cost of fairness; tables and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.registry import suggestion
from evenhand.core.texts import amount, few
from evenhand.core.validate import file, writable
from evenhand.logs.checks import Checks
from evenhand.logs.log import Source
from evenhand.logs.problem_file import Stated
from evenhand.offline.cautions import Doubt, calibration, doubter, doubts, idle, support
from evenhand.offline.curve_limits import APART, Axis, Varied, limit_named, lines_within
from evenhand.offline.curve_policies import (
    TARGETED,
    Limit,
    beside,
    cheapest_of,
    constant,
    doubtful,
    grid,
    ignored,
    is_parity,
    limit_of,
    logging_policy,
    name_of,
    others_of,
    planned,
    single,
    singles,
    together,
    tolerances_of,
)
from evenhand.offline.curve_table import Curve
from evenhand.offline.evidence import Evidence, evidence_of
from evenhand.offline.outcome_models import Regressor, RidgeByErrors
from evenhand.offline.plans.fold_plans import Crossed, best, even, fixed_limits, parity, program
from evenhand.offline.plans.limits import label_of
from evenhand.offline.plans.objectives import At
from evenhand.offline.plans.planned_policies import Parted, worth_of_limits
from evenhand.offline.policies import LOGGED, limits
from evenhand.offline.results import Counted
from evenhand.offline.stack import stack_notes
from evenhand.offline.uplift import RATES, measures_of, rates

POINTS = 20  # budgets of a curve by default
_NO_RATE = "RATE is left out: its ranks count rows alike, and the rows of this log have weights"


@named("X8", source="evenhand's own; the path of Sverdrup, Wu, Athey & Wager 2024, with parity between groups")
def curve(
    log: Source | Evidence,
    problem: Stated | None = None,
    *,
    budgets: Sequence[float] | int = POINTS,
    tolerances: Sequence[float] = (),
    over: str | None = None,
    baseline: str | None = None,
    folds: int = 5,
    seed: int = 0,
    model: Callable[[], Regressor] = RidgeByErrors,
    out: str | Path | None = None,
) -> Curve:
    """Estimate the values of policies at every budget from a randomised log.

    Equation: V(B) = mean_i sum_a pi_B(a | x_i) g_ia, with doubly robust scores g and pi_B the best policy within budget
    B in each fold for itself, by predictions q of models of the other folds. Its influence function is
    psi_i = g_i(pi) - V - price (c_i(pi) - B), where the price accounts for the threshold that the fold chose. The
    variance of V is var(psi) / N + max(sum_jk d_jk d_kj, 0), where d_jk is what fold j loses if its plan is made
    without fold k. For an objective f that is not a weighted sum, V is f of averages z, g_i(pi) is f'(z) . g_i, and
    pi_B is the best mixture of plans at prices of outcomes.

    Policies: `targeted` gives dear actions to those rows first where they are predicted to bring most per unit;
    `only ACTION` draws the rows that get one action at random; `fair` targets within tolerances of the average between
    the groups of the parities in the file, on what the budget limits; `as logged` does what the log did with rows drawn
    at random, with all of them once the budget pays for that. The others get the cheapest action; `all ACTION`, or `all
    cheapest` where it depends on the row, plays that everywhere. A budget on an outcome that is learned is kept by
    predictions, and what is used is estimated by scores, with an error.

    Measures over all budgets: Qini is the mean of what `targeted` brings beyond another line, and AUUC beyond the
    cheapest actions; `uplift` has the rank-weighted effects. Their errors are those of the same influence functions.

    Args:
        log: a CSV or Parquet file, a data frame, or what `Evidence.read` returns.
        problem: a TOML file that states the meaning of the columns and the problem, or a mapping as `tomllib` reads it.
        budgets: per case, rising; or how many, up to where more money is worth nothing.
        tolerances: of fair lines, in place of those in the file.
        over: the name of another limit in place of the first budget, as notes on prices and errors state it; `budgets`
            are then its numbers.
        baseline: the line beyond which the headline states targeting: "as logged", or an action, for all cases or for
            those drawn at random; by default the best of the lines that target nobody.
        folds: the number of parts of the log, at least 3; each is predicted and planned by models of the others.
        seed: of how rows are dealt to the folds.
        model: makes a model of outcomes that is not fitted yet; estimators of scikit-learn are such.
        out: a folder for results.json, report.html, and if they can be written, curve.parquet and a picture.

    Raises:
        InvalidInput: a key, column or argument is wrong; or the problem has no budget.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = "".join(f"{x},{a},{int(x == a == 'yes')}\\n" for x in ("yes", "no") for a in ("yes", "no")) * 50
    >>> _ = (folder / "log.csv").write_text("likes,letter,visit\\n" + rows)
    >>> _ = (folder / "problem.toml").write_text('''
    ... maximize = "visit"
    ... horizon = 50
    ... features = { categorical = ["likes"] }
    ... action = { column = "letter", values = { no = "none", yes = "letter" } }
    ... propensity = { constant = 0.5 }
    ... outcomes = { visit = { range = [0, 1] }, post = { known = { letter = 1 } } }
    ... budget = [{ outcome = "post", rate = 0.25 }]
    ... ''')
    >>> found = curve(folder / "log.csv", folder / "problem.toml", budgets=(0.25, 0.75))
    >>> [(line.name, [round(v.value, 3) for v in line.value]) for line in found.lines]
    [('targeted', [0.25, 0.5]), ('only letter', [0.125, 0.375]), ('as logged', [0.125, 0.25]), ('all none', [0.0, 0.0])]
    >>> round(found.measures.qini("only letter").value, 3)
    0.125
    """
    evidence = evidence_of(log, problem)
    check_seed(seed)
    if baseline is not None and baseline not in (LOGGED, *evidence.names):
        expected = f"{LOGGED!r}, or an action ({few(evidence.names)})"
        raise InvalidInput("baseline", expected, f"{baseline}{suggestion(baseline, evidence.names)}")
    varied = None if over is None else limit_named(evidence, over)
    limit = limit_of(evidence)
    if varied is None and limit is None:
        raise InvalidInput(f"{evidence.problem_file}: budget", "a budget of all groups together", "none")
    out = None if out is None else writable(file("out", out))
    crossed = Crossed(evidence, folds, seed, model)
    if varied is not None:
        drawn = _over(Varied(crossed, *varied), budgets, tolerances)
    else:
        assert limit is not None
        drawn = _by_budget(crossed, limit, budgets, tolerances)
    limit, at, policies = drawn.limit, drawn.at, drawn.policies
    doubted = doubts(evidence, {TARGETED: drawn.first.probabilities(len(evidence.names))} | singles(evidence))
    checks = _checks(crossed, doubted)
    clusters, order = crossed.clusters_dealt, crossed.rows.order
    events = [z for name, z in crossed.occurrences_dealt.items() if name in evidence.problem.objective.outcomes]
    ask = doubter(evidence.propensities[order], len(at) * len(policies), clusters, events)
    policies = {name: doubtful(crossed, each, ask, limit) for name, each in policies.items()}
    lines, bands, areas = together(policies, at, seed, clusters.names)
    nowhere = [line.name for line in lines if all(np.isnan(z.value) for z in line.value)]
    lines = tuple(line for line in lines if line.name not in nowhere)
    ranked = varied is None and crossed.dealt.linear and clusters.weights is None  # where rows count alike
    rate = dict(zip(RATES, rates(crossed, limit.outcome, ask), strict=True)) if ranked else {}
    if baseline is not None:
        names = [line.name for line in lines[1:]]
        baseline = next((n for n in (f"all {baseline}", f"only {baseline}", baseline) if n in names), baseline)
        if baseline not in names:
            raise InvalidInput("baseline", f"one of the lines {few(map(repr, names))}", baseline)
    found = Curve(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=evidence.aim,
        axis=drawn.axis,
        spent=limit.outcome,
        budgets=at,
        lines=lines,
        bands=bands,
        measures=measures_of(areas, rate, seed, clusters.names, 2 * len(lines)),
        stated=limit.rate,
        baseline=baseline,
        units=evidence.units,
        adds_up=evidence.adds_up,
        doubt=doubted[TARGETED],
        learned=limit.learned,
        rows=evidence.rows,
        clusters=Counted.of(evidence.cluster),
        folds=folds,
        seed=seed,
        checks=checks,
        notes=(
            *evidence.left_out,
            *evidence.notes,
            *stack_notes(evidence, model),
            *ignored(evidence),
            *drawn.notes,
            *((_NO_RATE,) if varied is None and crossed.dealt.linear and not ranked else ()),
            *(f"not drawn, as no share of the cases keeps to all limits: {z}" for z in nowhere),
            *worth_of_limits(TARGETED, drawn.first, evidence.aim),
        ),
    )
    if out is not None:
        found.write(out)
    return found


class _Drawn(NamedTuple):
    """The lines of a curve."""

    limit: Limit
    axis: Axis
    at: tuple[float, ...]
    policies: dict[str, Iterator[At]]
    first: Parted  # targeted, at the number of the file or the possible one that is nearest
    notes: tuple[str, ...]


def _by_budget(crossed: Crossed, limit: Limit, budgets: Sequence[float] | int, tolerances: Sequence[float]) -> _Drawn:
    """Return lines over the first budget of the file."""
    evidence = crossed.evidence
    fair_ones = list(tolerances_of(evidence, limit.outcome, tolerances))
    if fair_ones:
        evidence.refuse_weights("curve with a parity")
    others = [s for s in others_of(evidence, limit) if not is_parity(evidence, s, limit.outcome)]
    fixed = fixed_limits(evidence, others) if others else None
    least, most = crossed.least(limit.outcome, fixed), crossed.enough(limit.outcome, fixed)
    if fixed is not None and not isinstance(budgets, Sequence):  # where limits leave no choice, prices have no bound
        least += APART * (most - least)
    at = grid(budgets, least, most, limit.rate)
    targeted = best if fixed is None else partial(program, fixed, limit.outcome)
    (first,) = crossed.own(targeted([limit.rate if fixed is None else max(limit.rate, least)]), limit.outcome)
    policies = {TARGETED: planned(crossed, targeted(at), limit.outcome)}
    dealt, cost = crossed.dealt, crossed.cost_dealt(limit.outcome)
    start = cheapest_of(dealt, cost)
    for i, action in enumerate(evidence.names):
        if (cost.predicted[:, i] > cost.predicted.min(1)).any():
            policies[f"only {action}"] = single(i, start, dealt, at, cost)
    for by, tolerance in fair_ones:
        name = f"fair by {by}, {amount(tolerance, 6)}"
        groups = evidence.groups[by]
        fair = (
            even(at, groups, tolerance)
            if fixed is None
            else program(parity(fixed, groups, tolerance), limit.outcome, at)
        )
        policies[name] = planned(crossed, fair, limit.outcome)
    policies[LOGGED] = logging_policy(crossed, start, at, limit.outcome)
    policies[name_of(start, evidence.names)] = constant(start, dealt, len(at), cost)
    return _Drawn(limit, Axis.of_budget(limit.outcome), at, policies, first, tuple(beside(others, limit)))


def _over(varied: Varied, points: Sequence[float] | int, tolerances: Sequence[float]) -> _Drawn:
    """Return lines over another limit of the file."""
    if tolerances:
        raise InvalidInput("tolerances", "none beside over=, where all lines keep to the parities", list(tolerances))
    varied.crossed.evidence.refuse_weights("curve over a limit")
    at, impossible = varied.points(points)
    (first,) = varied.crossed.own(varied.planner([min(at, key=lambda x: abs(x - varied.limit.rate))]), None)
    notes = [f"all lines keep also to {', '.join(map(label_of, varied.others))}"] if varied.others else []
    if impossible:
        told = ", ".join(amount(x, 3) for x in impossible)
        notes.append(f"limits exclude each other, so that nothing is drawn, at {varied.axis.unit} {told}")
    if varied.limit.learned and varied.axis.side:
        notes.append(f"what {varied.limit.outcome!r} misses of its predictions is charged at the price of the limit")
    return _Drawn(varied.limit, varied.axis, at, dict(lines_within(varied, at)), first, tuple(notes))


def _checks(crossed: Crossed, found: Mapping[str, Doubt]) -> Checks:
    """Check the log, and the policies at the budget of the problem."""
    evidence, aim, clusters = crossed.evidence, crossed.dealt, crossed.clusters_dealt
    return {
        **evidence.checks,
        "support": support(found),
        "predictions": calibration(evidence, crossed.tables_dealt, crossed.rows.order),
        "budget": idle(aim.worth, crossed.tables_dealt, limits(evidence), clusters) if aim.linear else None,
    }
