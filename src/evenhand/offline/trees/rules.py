"""Rules that can be read: shallow trees within a budget, learned from scores of a log and valued by its folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.progress import Work
from evenhand.core.texts import amount
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import file, whole, writable
from evenhand.logs.log import Source
from evenhand.logs.problem_file import Stated
from evenhand.offline.curve_policies import TARGETED, Limit, cheapest_of, limit_of, singles
from evenhand.offline.evidence import Evidence, Tables, evidence_of
from evenhand.offline.outcome_models import Regressor, RidgeByErrors
from evenhand.offline.plans.fold_plans import Crossed, best
from evenhand.offline.plans.frontier import Point
from evenhand.offline.plans.planned_policies import Once, Single
from evenhand.offline.policies import fold_moves, moved_tables, targeted
from evenhand.offline.results import Counted
from evenhand.offline.scores import Average
from evenhand.offline.trees.search import Cuts, Tree, best_tree
from evenhand.offline.trees.table import Leaf, Rules
from evenhand.offline.values import value_of
from evenhand.report.charts import Step
from evenhand.report.quantities import objective_name

DEEPEST, CUTS = 2, 64


@named("X8", source="Zhou, Athey & Wager 2023, trees from doubly robust scores; within a budget, valued by folds: ours")
def rules(
    log: Source | Evidence,
    problem: Stated | None = None,
    *,
    depth: int = 2,
    cuts: int = CUTS,
    folds: int = 5,
    seed: int = 0,
    model: Callable[[], Regressor] = RidgeByErrors,
    out: str | Path | None = None,
) -> Rules:
    """Learn the best rule that can be read from a randomised log, and estimate its value.

    Equation: t = argmax mean_i g_i(t(x_i)) over trees t of a depth s.t. mean_i c_i(t(x_i)) <= B, with doubly robust
    scores g and c, which for known costs are the costs. The search is exact among the cuts. The value is mean_i
    g_i(t_k(x_i)), where t_k is learned from all folds but that of row i, by models that have not seen it either. So it
    is that of rules which are learned from a part of the log, and is unbiased for these. Its standard error has what
    folds have in common, as in `curve`.

    The first budget of the problem is kept in the log, as in `curve`; what the rule has of other constraints is stated.
    Beside the rule are what was logged, every action for as many cases as the budget pays for, and the targeted policy.

    Args:
        log, problem, folds, model: as for `value`.
        depth: 1 for two leaves, 2 for up to four.
        cuts: of a feature, at most: at its quantiles where it has more values, or by its most frequent names.
        seed: of how rows are dealt to the folds.
        out: a folder for results.json, rules.parquet, report.html and rules.svg.

    Raises:
        InvalidInput: an argument is wrong; there is no feature, or the objective is no weighted sum; or the budget is
            below the cost of the cheapest rule.

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
    ... budget = [{ outcome = "post", rate = 0.5 }]
    ... ''')
    >>> rules(folder / "log.csv", folder / "problem.toml", depth=1).rule
    'none where likes = no; else letter'
    """
    whole("depth", depth, 1)
    if depth > DEEPEST:
        raise InvalidInput("depth", "1 or 2, as deeper trees are hard to read and to search", depth)
    whole("cuts", cuts, 1)
    check_seed(seed)
    evidence = evidence_of(log, problem)
    if not evidence.columns:
        raise InvalidInput(f"{evidence.problem_file}: features", "at least one, by which a rule can decide", "none")
    if evidence.weights is None:
        expected = "a weighted sum of outcomes, as a tree is the best by what each case adds"
        raise InvalidInput(f"{evidence.problem_file}: maximize", expected, evidence.problem.objective)
    out = None if out is None else writable(file("out", out))
    crossed, limit = Crossed(evidence, folds, seed, model), limit_of(evidence)
    search = _Search(crossed, cuts, limit, depth)
    (among, tree), (by_fold, totals) = search.whole(), search.by_fold()
    rate, outcome = (0.0, None) if limit is None else (limit.rate, limit.outcome)
    plan, plan_moves = next(targeted(crossed, best([rate]), outcome))
    each, own = np.eye(len(evidence.names)), np.empty(evidence.rows, np.int64)
    for (some, one), rows in zip(by_fold, crossed.rows.members, strict=True):
        own[rows] = some.actions(one)[rows]
    policy, target = f"a rule of depth {depth}", _within(TARGETED, limit)
    asked = _singles(crossed, limit) | {target: plan.probabilities(len(each)), policy: each[own]}
    values = value_of(crossed, asked, {target: plan_moves, policy: fold_moves(crossed, totals)}, (), ())
    leaves = tuple(search.leaves(among, tree))
    result = Rules(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=objective_name(evidence.problem),
        rule=among.rule(tree, evidence.names),
        leaves=leaves,
        steps=tuple(_steps(tree, among, iter(leaves))),
        values=values,
        targeted=target,
        by_fold=tuple(some.rule(one, evidence.names) for some, one in by_fold),
        alike=float((own == among.actions(tree)).mean()),
        depth=depth,
        cuts=cuts,
        rows=evidence.rows,
        clusters=Counted.of(evidence.cluster),
        folds=folds,
        seed=seed,
        checks=values.checks,
        notes=(*values.notes, *_unplanned(evidence, limit)),
    )
    if out is not None:
        result.write(out)
    return result


@dataclass(frozen=True)
class _Search:
    """The search for trees by a log, or by all folds but some."""

    crossed: Crossed
    cuts: int
    limit: Limit | None
    depth: int

    def whole(self) -> tuple[Cuts, Tree]:
        """Return the tree of the whole log, and the cuts among which it was found.

        Raises:
            InvalidInput: the budget is below the cost of the cheapest rule.
        """
        rows = np.arange(self.crossed.evidence.rows)
        worth, use = self._weighted(rows, *self._scores(self.crossed.tables, len(rows)))
        cuts = self._cuts(rows)
        found = self._best(cuts, worth, use)
        if found is None:
            least = self._cheapest(cuts, use)
            cost = float(use[np.arange(len(use)), cuts.actions(least)].mean())
            field, rate = f"{self.crossed.evidence.problem_file}: budget", self.limit.rate if self.limit else 0.0
            raise InvalidInput(field, f"at least {amount(cost, 6)} per case, as the cheapest rule costs", amount(rate))
        return cuts, found

    def by_fold(self) -> tuple[list[tuple[Cuts, Tree]], Floats]:
        """Return trees that have not seen each fold, and totals of these and of trees without one more fold.

        The totals are `(M,K,K)`, as `moved_tables` needs them. Cuts are chosen without the fold as well: a budget pays
        for leaves that have few cases in the other folds, of which the fold would have more.
        """
        members, runs = self.crossed.rows.members, self.crossed.rows.runs
        tables = [runs.of(table) for table in moved_tables(self.crossed)]
        count, own = len(members), list[tuple[Cuts, Tree]]()
        totals = np.empty((len(tables), count, count))
        with Work("searching trees", "fold", count) as work:
            for j in work.each(range(count)):
                parts = self._parts(j)
                cuts = self._cuts(np.concatenate([members[k] for k in parts]))
                for k in range(count):
                    tree = self._of(cuts, parts, k)
                    actions = cuts.actions(tree)[members[j]]
                    totals[:, j, k] = [t[j][np.arange(len(actions)) % len(t[j]), actions].sum() for t in tables]
                    own += [(cuts, tree)] if k == j else []
        return own, totals

    def leaves(self, cuts: Cuts, tree: Tree) -> Iterator[Leaf]:
        """Yield the leaves of a tree, with the cases of the log that they have and the mean of the objective."""
        evidence = self.crossed.evidence
        worth = evidence.worth(self.crossed.tables).scores
        for path, action in cuts.leaves(tree):
            rows = np.flatnonzero(cuts.inside(path))
            value = Average.of(worth[rows, action], evidence.clusters.kept(rows)).estimate
            where, share = cuts.words(path), evidence.clusters.mean(cuts.inside(path))
            yield Leaf(where, evidence.names[action], len(rows), share, value)

    def _cuts(self, rows: Ints) -> Cuts:
        spec = self.crossed.evidence.spec
        return Cuts.of(self.crossed.evidence.columns, self.cuts, () if spec is None else spec.dates, rows)

    def _parts(self, fold: int) -> dict[int, tuple[Floats, Floats]]:
        """Return the worth and use of the rows of all other folds, by models that have not seen the fold either."""
        crossed, found = self.crossed, {}
        for k, rows in enumerate(crossed.rows.members):
            if k != fold:
                found[k] = self._scores(crossed.evidence.scores_apart(crossed.models, k, fold), len(rows))
        return found

    def _scores(self, tables: Mapping[str, Tables], rows: int) -> tuple[Floats, Floats]:
        """Return the scores of the objective and of what the budget limits, 0 without one, `->(N,A),(N,A)`."""
        worth = self.crossed.evidence.worth(tables, rows).scores
        use = np.zeros((1, 1)) if self.limit is None else tables[self.limit.outcome].scores
        return worth, np.broadcast_to(use, worth.shape)

    def _weighted(self, rows: Ints, worth: Floats, use: Floats) -> tuple[Floats, Floats]:
        """Multiply numbers of some rows by their weights, which are 1 on average among them."""
        weights = self.crossed.evidence.clusters.weights
        own = np.ones((1, 1)) if weights is None else (weights[rows] / weights[rows].mean())[:, None]
        return worth * own, use * own

    def _of(self, cuts: Cuts, parts: Mapping[int, tuple[Floats, Floats]], out: int) -> Tree:
        """Return the tree of all parts but one, the cheapest tree if the budget is below its cost in these."""
        kept = [k for k in parts if k != out]
        rows = np.concatenate([self.crossed.rows.members[k] for k in kept])
        worth, use = self._weighted(rows, *(np.concatenate([parts[k][i] for k in kept]) for i in range(2)))
        own = replace(cuts, codes=cuts.codes[rows])
        found = self._best(own, worth, use)
        return self._cheapest(own, use) if found is None else found

    def _best(self, cuts: Cuts, worth: Floats, use: Floats) -> Tree | None:
        return best_tree(cuts, worth, use, 0.0 if self.limit is None else self.limit.rate, self.depth)

    def _cheapest(self, cuts: Cuts, use: Floats) -> Tree:
        found = best_tree(cuts, -use, np.zeros_like(use), 0.0, self.depth)
        assert found is not None  # nothing is limited
        return found


def _unplanned(evidence: Evidence, limit: Limit | None) -> Iterator[str]:
    """Say which constraints of the problem the search does not keep to."""
    for s in evidence.problem.stated:
        if limit is None or not s.spends or s.outcome != limit.outcome or s.by is not None:
            yield f"the rule is not planned within: {s.constraint.label}"


def _singles(crossed: Crossed, limit: Limit | None) -> dict[str, Floats]:
    """Return the policies of one action for all cases or, within a budget, for as many as it pays for, at random."""
    evidence, found = crossed.evidence, singles(crossed.evidence)
    if limit is None:
        return found
    cost, count = crossed.cost(limit.outcome), len(evidence.names)
    start, each = cheapest_of(crossed.aim, cost), dict[str, Floats]()
    for a, name in enumerate(evidence.names):
        everywhere = Once(Point(np.full(evidence.rows, a, np.int32), -1, 0, 0.0, 0.0))
        one = Single.within(limit.rate, start, everywhere, cost.predicted)
        each[f"all {name}" if one.share == 1.0 else _within(f"only {name}", limit)] = one.probabilities(count)
    return each


def _within(name: str, limit: Limit | None) -> str:
    return f"{name}, no budget" if limit is None else f"{name}, {limit.outcome} {amount(limit.rate)}"


def _steps(tree: Tree, cuts: Cuts, leaves: Iterator[Leaf], depth: int = 0) -> Iterator[Step]:
    """Yield the lines of the picture of a tree."""
    if isinstance(tree, int):
        leaf = next(leaves)
        yield Step(depth, leaf.action, f"{leaf.share:.1%}, {leaf.value.value:.4f}", tree)
        return
    condition = cuts.conditions[tree.cut]
    for words, branch in ((condition.text(), tree.yes), (condition.opposite(), tree.no)):
        yield Step(depth, words)
        yield from _steps(branch, cuts, leaves, depth + 1)
