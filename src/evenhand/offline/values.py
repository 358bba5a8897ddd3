"""What fixed policies and rules would have been worth in a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.progress import Work
from evenhand.core.validate import file, writable
from evenhand.offline.bands import Bands, reach
from evenhand.offline.checks import idle
from evenhand.offline.cross_fitting import RidgeByErrors
from evenhand.offline.crossed import Crossed
from evenhand.offline.doubts import doubts, support
from evenhand.offline.evidence import Evidence, evidence_of
from evenhand.offline.fold_models import Regressor
from evenhand.offline.kept import unjudged
from evenhand.offline.lines import beside
from evenhand.offline.policies import LOGGED, Asked, Weighed, limits, policies_of, probabilities, valued
from evenhand.offline.rules import policy_of
from evenhand.offline.told import Counted
from evenhand.offline.value_table import Value
from evenhand.replay.log import Source
from evenhand.replay.problem_file import Stated
from evenhand.report.quantities import objective_name


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
    out: str | Path | None = None,
) -> Value:
    """Estimate from a randomised log what fixed policies would have been worth.

    Equation: V(pi) = mean_i [sum_a pi(a | x_i) q_i(a) + pi(a_i | x_i) / p_i (y_i - q_i(a_i))]; the standard error is
    that of the mean of its terms. That of the targeted policy has what folds have in common as well, as in `curve`.
    IPS, SNIPS, the model alone and switch are stated beside it.

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
        out: a folder for results.json, value.parquet and report.html.

    Raises:
        InvalidInput: a key, column, rule or argument is wrong, or no row agrees with a policy.

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
    evidence = evidence_of(log, problem)
    check_seed(seed)
    asked = {rule: policy_of(rule, evidence) for rule in rules}
    for name, policy in (policies or {}).items():
        if name in (*asked, LOGGED, *(f"all {action}" for action in evidence.names)):
            raise InvalidInput("policies", "names that no other policy of the table has", name)
        asked[name] = probabilities(name, policy, evidence)
    out = None if out is None else writable(file("out", out))
    crossed = Crossed(evidence, folds, seed, model)
    tables, unasked, budgets = crossed.tables, policies_of(crossed), limits(evidence)
    for name in asked.keys() & unasked.policies.keys():
        raise InvalidInput("policies", "names that no other policy of the table has", name)
    all_policies = unasked.policies | asked
    each, doubted = list[Weighed](), doubts(evidence, all_policies)
    if not {*evidence.problem.objective.outcomes} & {*evidence.problem.learned}:  # what is known is no guess
        doubted = {name: doubt._replace(missing=0.0) for name, doubt in doubted.items()}
    with Work("weighing", "policy", 1 + len(all_policies)) as work:
        for one in valued(evidence, tables, all_policies, unasked.moved, doubted):
            each.append(one)
            work.update()
    found = Value(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=objective_name(evidence.problem),
        policies=tuple(z.policy for z in each),
        bands=Bands(reach([z.value for z in each], seed, 0), reach([z.beyond for z in each], seed, 1)),
        limits=budgets,
        rows=evidence.rows,
        clusters=Counted.of(evidence.cluster),
        folds=folds,
        seed=seed,
        checks={
            **evidence.checks,
            "support": support(doubted),
            "budget": None
            if evidence.weights is None
            else idle(evidence.worth(tables).predicted, tables, budgets, evidence.clusters),
            "objective": next((z.policy.trouble for z in each if z.policy.trouble is not None), None),
        },
        notes=(*evidence.left_out, *evidence.notes, *unasked.notes, *beside(evidence), *unjudged(evidence)),
    )
    if out is not None:
        found.write(out)
    return found
