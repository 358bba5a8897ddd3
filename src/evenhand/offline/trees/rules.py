"""Rules that can be read: shallow trees within limits, learned from scores of a log and valued by its folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.progress import Work
from evenhand.core.texts import amount
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import file, whole, writable
from evenhand.logs.log import Source
from evenhand.logs.problem_file import Stated
from evenhand.offline.curve_policies import Limit, cheapest_of, limit_of, singles
from evenhand.offline.evidence import Evidence, Tables, evidence_of
from evenhand.offline.outcome_models import Regressor, RidgeByErrors
from evenhand.offline.plans.fold_plans import Crossed
from evenhand.offline.plans.frontier import Point
from evenhand.offline.plans.limits import Bound, Population, bounds_of, demands_of
from evenhand.offline.plans.planned_policies import Once, Single
from evenhand.offline.policies import fold_moves, moved_tables, targeted, within_all
from evenhand.offline.results import Counted
from evenhand.offline.scores import Average
from evenhand.offline.trees.cuts import Cuts, Tree
from evenhand.offline.trees.search import Found, best_tree
from evenhand.offline.trees.table import Leaf, Rules
from evenhand.offline.values import value_of
from evenhand.report.charts import Step

DEEPEST, CUTS = 2, 64


@named("X8", source="Zhou, Athey & Wager 2023, trees from doubly robust scores; within limits, valued by folds: ours")
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

    Equation: t = argmax mean_i g_i(t(x_i)) over trees t of a depth s.t. mean_i c_i(t(x_i)) <= B for all budgets,
    floors, ratios, parities and bounds of shares, also by group, with doubly robust scores g and c, which for known
    costs are the costs. The search is exact among the cuts, unless its limits leave more pairs of subtrees than it
    compares; a note then says how much more a tree could be worth. The value is mean_i g_i(t_k(x_i)), where t_k is
    learned from all folds but that of row i, by models that have not seen it either. So it is that of rules which are
    learned from a part of the log, and is unbiased for these. Its standard error has what folds have in common, as in
    `curve`.

    Limits are kept in the log. Beside the rule are what was logged, every action for as many cases as the first budget
    pays for, and the targeted policy within all limits.

    Args:
        log, problem, folds, model: as for `value`.
        depth: 1 for two leaves, 2 for up to four.
        cuts: of a feature, at most: at its quantiles where it has more values, or by its most frequent names.
        seed: of how rows are dealt to the folds.
        out: a folder for results.json, rules.parquet, report.html and rules.svg.

    Raises:
        InvalidInput: an argument is wrong; there is no feature, or the objective is no weighted sum.
        InfeasibleProblem: no rule keeps to all limits; it names those that the nearest rule exceeds, and by how much.

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
    search = _Search(crossed, cuts, depth)
    (among, found), (by_fold, totals) = search.whole(), search.by_fold()
    tree, (target, planner, outcome) = found.tree, within_all(evidence)
    plan, plan_moves = next(targeted(crossed, planner, outcome))
    each, own = np.eye(len(evidence.names)), np.empty(evidence.rows, np.int64)
    for (some, one), rows in zip(by_fold, crossed.rows.members, strict=True):
        own[rows] = some.actions(one)[rows]
    policy = f"a rule of depth {depth}"
    asked = _singles(crossed, limit) | {target: plan.probabilities(len(each)), policy: each[own]}
    values = value_of(crossed, asked, {target: plan_moves, policy: fold_moves(crossed, totals)}, (), ())
    leaves = tuple(search.leaves(among, tree))
    result = Rules(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=evidence.aim,
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
        notes=(*values.notes, *_gap(found)),
    )
    if out is not None:
        result.write(out)
    return result


@dataclass(frozen=True)
class _Search:
    """The search for trees by a log, or by all folds but some."""

    crossed: Crossed
    cuts: int
    depth: int

    def whole(self) -> tuple[Cuts, Found]:
        """Return the tree of the whole log, and the cuts among which it was found.

        Raises:
            InfeasibleProblem: no tree keeps to all limits.
        """
        rows = np.arange(self.crossed.evidence.rows)
        worth, bounds = self._program(rows, self.crossed.tables)
        cuts, limits = self._cuts(rows), [bound.resource for bound in bounds]
        found = best_tree(cuts, worth, limits, self.depth)
        if found.beyond.any():
            nearest = best_tree(cuts, np.zeros_like(worth), limits, self.depth)
            ends, over = np.cumsum([len(z.most) for z in limits])[:-1], dict[str, float]()
            for bound, beyond in zip(bounds, np.split(nearest.beyond, ends), strict=True):
                over[bound.label] = max(over.get(bound.label, 0.0), float(beyond.max(initial=0.0)))
            said = " and ".join(f"{label}, by {amount(z, 6)} per case" for label, z in over.items() if z)
            if said:
                no = "keeps" if nearest.complete else "was found that keeps"
                raise InfeasibleProblem(f"no rule of depth {self.depth} {no} to all limits: the nearest misses {said}")
            mean = float(worth[rows, cuts.actions(nearest.tree)].mean())
            found = nearest._replace(worth=mean, bound=found.bound)  # of a search that was cut short
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

    def _parts(self, fold: int) -> dict[int, Mapping[str, Tables]]:
        """Return the tables of all other folds, by models that have not seen the fold either."""
        crossed = self.crossed
        others = (k for k in range(len(crossed.rows.members)) if k != fold)
        return {k: crossed.evidence.scores_apart(crossed.models, k, fold) for k in others}

    def _program(self, rows: Ints, tables: Mapping[str, Tables]) -> tuple[Floats, list[Bound]]:
        """Return the worth of actions in some rows and the limits, by scores and weights, `(n)->(n,A)`."""
        evidence = self.crossed.evidence
        weights = evidence.clusters.weights
        own = np.ones((1, 1)) if weights is None else (weights[rows] / weights[rows].mean())[:, None]
        demands, scored = demands_of(evidence.problem), {name: z.scores * own for name, z in tables.items()}
        some = Population.of(evidence, {name: Tables(z, z) for name, z in scored.items()}, rows)
        bounds = bounds_of(evidence, (*demands.budgets, *demands.averages), some)
        return evidence.worth(tables, len(rows)).scores * own, list(bounds)

    def _of(self, cuts: Cuts, parts: Mapping[int, Mapping[str, Tables]], out: int) -> Tree:
        """Return the tree of all parts but one; that which exceeds limits least, if none keeps to them in these."""
        kept = [k for k in parts if k != out]
        rows, tables = np.concatenate([self.crossed.rows.members[k] for k in kept]), dict[str, Tables]()
        for name, first in parts[kept[0]].items():
            each = [parts[k][name].scores for k in kept]
            scores = first.scores if len(first.scores) == 1 else np.concatenate(each)
            tables[name] = Tables(scores, scores)
        worth, bounds = self._program(rows, tables)
        limits = [bound.resource for bound in bounds]
        return best_tree(replace(cuts, codes=cuts.codes[rows]), worth, limits, self.depth).tree


def _gap(found: Found) -> Iterator[str]:
    """Say how far the rule may be from the best one, if the search was cut short."""
    if found.bound > found.worth:
        more = amount(found.bound - found.worth, 2)
        yield f"limits leave too many rules to compare all: by scores, the best is worth at most {more} more per case"


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
        part = f"only {name}, {limit.outcome} {amount(limit.rate)}"
        each[f"all {name}" if one.share == 1.0 else part] = one.probabilities(count)
    return each


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
