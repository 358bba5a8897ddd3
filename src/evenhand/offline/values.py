"""Values of fixed policies by a log; rules in words, such as "mens where recency < 4; else none"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.progress import Work
from evenhand.core.registry import suggestion
from evenhand.core.texts import few
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import file, writable
from evenhand.logs.columns import POINT, as_numbers
from evenhand.logs.dates import days
from evenhand.logs.files import misread
from evenhand.logs.log import Source
from evenhand.logs.problem_file import Stated
from evenhand.logs.units import MISSING
from evenhand.offline.cautions import calibration, doubts, idle, support, unjudged
from evenhand.offline.curve_policies import ignored
from evenhand.offline.estimators.base import FoldMoves, all_estimators, columns_of
from evenhand.offline.estimators.mips import check_groups
from evenhand.offline.evidence import Evidence, evidence_of
from evenhand.offline.outcome_models import Regressor, RidgeByErrors
from evenhand.offline.plans.fold_plans import Crossed
from evenhand.offline.policies import LOGGED, Asked, Weighed, limits, policies_of, probabilities, valued
from evenhand.offline.results import Counted
from evenhand.offline.scores import Bands, reach
from evenhand.offline.stack import stack_notes
from evenhand.offline.value_table import Value

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_CONDITION = re.compile(r"\s*(?P<column>.+?)\s*(?P<sign><=|>=|!=|<|>|==?)\s*(?P<value>.+?)\s*")
_OR = re.compile(r"\s(or|\|\|?)\s", re.IGNORECASE)
FORM = '"ACTION where COLUMN < NUMBER and COLUMN = TEXT; ...; else ACTION"'


def policy_of(rule: str, evidence: Evidence) -> Floats:
    """Return the action of a rule in every row, `->(N,A)` with a 1 per row.

    The first part whose conditions all hold decides. Numbers and dates are compared as they are in the log, before
    they are encoded. A missing one satisfies `= missing` alone. Numbers have a decimal point, or the log's mark.
    "else ACTION" is what the other rows get. Names with a semicolon, a sign or " and " are quoted.

    Raises:
        InvalidInput: the rule has another form, or names an action, a column or a level that does not exist.
    """
    hidden: list[str] = []

    def hide(found: re.Match[str]) -> str:
        hidden.append(found[0][1:-1])
        return f"\0{len(hidden) - 1}\0"

    def shown(text: str) -> str:
        return re.sub("\0(\\d+)\0", lambda found: hidden[int(found[1])], text).strip()

    parts = [part.strip() for part in re.sub(r"\"[^\"]*\"|'[^']*'", hide, rule).split(";") if part.strip()]
    last = re.fullmatch(r"else\s+(.+)", parts[-1]) if parts else None
    if last is None:
        raise InvalidInput("rule", FORM, f"{rule!r}, of which the end, else ACTION, is missing")
    chosen = np.full(evidence.rows, _action(shown(last[1]), evidence))
    for part in reversed(parts[:-1]):
        action, where, conditions = part.partition(" where ")
        if not where:
            raise InvalidInput("rule", FORM, repr(part))
        holds = np.ones(evidence.rows, bool)
        for condition in conditions.split(" and "):
            try:
                holds &= _holds(condition, shown, evidence)
            except InvalidInput as error:
                if not _OR.search(condition):
                    raise
                twice = f'"{shown(action)} where ...; {shown(action)} where ...; else ..."'
                expected = f"conditions that are joined by and, as there is no or: write two parts, such as {twice}"
                raise InvalidInput("rule", expected, repr(shown(condition))) from error
        chosen[holds] = _action(shown(action), evidence)
    return np.asarray(np.eye(len(evidence.names))[chosen])


def _action(name: str, evidence: Evidence) -> int:
    if name not in evidence.names:
        logged = {} if evidence.spec is None else evidence.spec.actions
        hint = f" (did you mean {logged[name]}?)" if name in logged else suggestion(name, evidence.names)
        raise InvalidInput("rule", f"one of the actions {list(evidence.names)}", name + hint)
    return evidence.names.index(name)


def _holds(condition: str, shown: Callable[[str], str], evidence: Evidence) -> Bools:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise InvalidInput("rule", "a condition such as recency < 4", repr(shown(condition)))
    column, sign, text = shown(found["column"]), found["sign"].replace("==", "="), shown(found["value"])
    if column not in evidence.columns:
        raise InvalidInput(
            "rule", f"one of the features {list(evidence.columns)}", column + suggestion(column, evidence.columns)
        )
    values = evidence.columns[column]
    if values.dtype.kind == "f":
        gaps = np.isnan(values)
        if text == MISSING and sign in ("=", "!=") and gaps.any():
            return gaps if sign == "=" else ~gaps
        dated = evidence.spec is not None and column in evidence.spec.dates
        number = _day(text, evidence) if dated else _number(text, evidence)
        if not np.isfinite(number):
            kind = "a date, such as 2026-11-23," if dated else "a number"
            raise InvalidInput("rule", f"{kind} to compare {column} with", repr(text))
        return np.asarray(_COMPARE[sign](values, number) & ~gaps)
    if sign not in ("=", "!="):
        raise InvalidInput("rule", f"= or != for {column}, which has names", sign)
    levels = np.unique(values).tolist()
    if text not in levels:
        hint = misread(text, levels) or suggestion(text, levels)
        raise InvalidInput("rule", f"one of the values of {column}, {levels[:10]}", text + hint)
    return np.asarray(_COMPARE[sign](values, text))


def _number(text: str, evidence: Evidence) -> float:
    """Read a number with a decimal point, or else as the log writes it."""
    decimals = (POINT,) if evidence.spec is None else (POINT, evidence.spec.form.point)
    found = [as_numbers([text], decimal)[0] for decimal in decimals]
    return next((z for z in found if not np.isnan(z)), np.nan)


def _day(text: str, evidence: Evidence) -> float:
    """Read a date as the log writes it."""
    return days(text, None if evidence.spec is None else evidence.spec.form.dates)


@named("X8", source="Dudik, Langford & Li 2011, doubly robust policy evaluation, by cross-fitted models")
def value(
    log: Source | Evidence,
    problem: Stated | None = None,
    *,
    rules: Sequence[str] = (),
    policies: Mapping[str, Asked] | None = None,
    folds: int = 5,
    seed: int = 0,
    model: Callable[[], Regressor] = RidgeByErrors,
    estimators: Iterable[str] = (),
    baseline: str = LOGGED,
    out: str | Path | None = None,
) -> Value:
    """Estimate the values of fixed policies from a randomised log.

    Equation: V(pi) = mean_i [sum_a pi(a | x_i) q_i(a) + pi(a_i | x_i) / p_i (y_i - q_i(a_i))]; the standard error is
    that of the mean of its terms. That of targeted policies has what folds have in common as well, as in `curve`; where
    their limits bind counts as given, while `curve` has an offset for it.
    Other estimators are stated beside it.

    A policy that plays what was never logged has a value that is a guess, without an error, and bounds: outcomes that
    were never logged are between the ends of their range.

    The table has what was logged, every action for everybody, the targeted policy at the budget of the file if there is
    one, the rules and the policies. A budget on an outcome that is learned is kept by predictions. For an objective f
    that is not a weighted sum, V is f of averages, with errors by the delta method, and the targeted policy is the best
    mixture of linear plans by predictions.

    Args:
        log: a CSV or Parquet file, a data frame, or what `Evidence.read` returns.
        problem: a TOML file that states the meaning of the columns and the problem, or a mapping as `tomllib` reads it.
        rules: such as "mens where recency < 4; else none".
        policies: by name, the action of every row, by its name or its value in the log; or the probabilities of all
            actions in every row, `(N,A)`, without withdrawn actions; or a data frame of them, whose columns are found
            by the names of actions; or a function of the data frame of features that returns either; or an estimator of
            scikit-learn that was fitted to such a frame and predicts the action; or a policy with the state that it was
            saved in, such as `evenhand.live.served` returns of a campaign. A policy that was fitted to the same log is
            judged too well.
        folds, seed, model: as for `curve`; the seed is also that of the multipliers of bands.
        estimators: more of them, by name; `evenhand systems --kind estimator` lists them.
        baseline: the policy beyond which the others are stated: an action, a rule or another name of the table.
        out: a folder for results.json, value.parquet and report.html.

    Raises:
        InvalidInput: a key, column, rule or argument is wrong, or no row agrees with a policy; or an estimator is of
            groups of actions, and the problem states none.

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
    ... outcomes = { visit = { range = [0, 1] } }
    ... ''')
    >>> found = value(folder / "log.csv", folder / "problem.toml", rules=["letter where likes = yes; else none"])
    >>> [(p.policy, round(p.value.value, 2)) for p in found.policies]
    [('as logged', 0.25), ('all none', 0.0), ('all letter', 0.5), ('letter where likes = yes; else none', 0.5)]
    """
    names = columns_of(estimators)
    evidence = evidence_of(log, problem)
    if "mips" in names:  # before models are fitted
        check_groups(evidence.action_groups)
    check_seed(seed)
    asked = {rule: policy_of(rule, evidence) for rule in rules}
    for name, policy in (policies or {}).items():
        if name in (*asked, LOGGED, *(f"all {action}" for action in evidence.names)):
            raise InvalidInput("policies", "names that no other policy of the table has", name)
        asked[name] = probabilities(name, policy, evidence)
    baseline = f"all {baseline}" if baseline in evidence.names else baseline
    if baseline not in (LOGGED, *asked, *(f"all {action}" for action in evidence.names)):
        expected = f"{LOGGED!r}, an action ({few(evidence.names)}), a rule or a policy that is asked for"
        raise InvalidInput("baseline", expected, f"{baseline}{suggestion(baseline, evidence.names)}")
    out = None if out is None else writable(file("out", out))
    crossed = Crossed(evidence, folds, seed, model)
    unasked = policies_of(crossed)
    for name in asked.keys() & unasked.policies.keys():
        raise InvalidInput("policies", "names that no other policy of the table has", name)
    crossed = crossed.in_order()
    found = value_of(crossed, unasked.policies | asked, unasked.moved, unasked.notes, names, baseline)
    if out is not None:
        found.write(out)
    return found


def value_of(
    crossed: Crossed,
    policies: Mapping[str, Floats],
    moved: Mapping[str, Mapping[str, FoldMoves]],
    notes: tuple[str, ...],
    estimators: tuple[str, ...],
    baseline: str = LOGGED,
) -> Value:
    """Return the table of some policies beside what was logged, `(N,A)` each; those of folds with how these move."""
    evidence, tables, budgets = crossed.evidence, crossed.tables, limits(crossed.evidence)
    by = all_estimators()
    each, doubted = list[Weighed](), doubts(evidence, policies)
    if not {*evidence.problem.objective.outcomes} & {*evidence.problem.learned}:  # what is known is no guess
        doubted = {name: doubt._replace(missing=0.0) for name, doubt in doubted.items()}
    with Work("weighing", "policy", 1 + len(policies)) as work:
        for one in valued(evidence, tables, policies, moved, doubted, {n: by[n] for n in estimators}, baseline):
            each.append(one)
            work.update()
    return Value(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=evidence.aim,
        policies=tuple(z.policy for z in each),
        bands=Bands(reach([z.value for z in each], crossed.seed, 0), reach([z.beyond for z in each], crossed.seed, 1)),
        limits=budgets,
        estimators=estimators,
        baseline=baseline,
        units=evidence.units,
        adds_up=evidence.adds_up,
        rows=evidence.rows,
        clusters=Counted.of(evidence.cluster),
        folds=crossed.folds,
        seed=crossed.seed,
        checks={
            **evidence.checks,
            "support": support(doubted),
            "budget": None
            if evidence.weights is None
            else idle(evidence.worth(tables).predicted, tables, budgets, evidence.clusters),
            "predictions": calibration(evidence, tables),
            "objective": next((z.policy.trouble for z in each if z.policy.trouble is not None), None),
        },
        notes=(
            *evidence.left_out,
            *evidence.notes,
            *stack_notes(evidence, crossed.model),
            *notes,
            *ignored(evidence),
            *unjudged(evidence),
        ),
    )
