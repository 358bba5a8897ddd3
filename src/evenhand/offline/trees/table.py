"""The table of a rule that can be read: its leaves, its value by folds, and what being readable costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from evenhand.logs.checks import refusal, scope
from evenhand.offline.policies import Valued
from evenhand.offline.results import LogResult, interval, reaches, told
from evenhand.offline.scores import Estimate
from evenhand.offline.value_table import Value
from evenhand.report import charts
from evenhand.report.allowances import Allowance
from evenhand.report.charts import Step
from evenhand.report.page import Part
from evenhand.report.results import Measurement, Records
from evenhand.report.tables import Table

TREE = (
    "Each condition is followed by what is done where it holds, and where it does not, with the share of the cases and "
    "the mean of the objective among them. These means are of the log from which the rule was chosen, and too high."
)

STABLE = (
    "Differences are by pairs of cases; that to the targeted policy is what being readable costs. The value is that of "
    "the rules of folds, each of which is valued in the fold that it has not seen."
)


class Leaf(NamedTuple):
    """The cases that get an action by the same conditions."""

    where: str
    action: str
    rows: int
    share: float  # of all rows
    value: Estimate  # of the objective among them, by the scores that the rule was learned from


@dataclass(frozen=True, kw_only=True, repr=False)
class Rules(LogResult):
    """A rule that was learned from a log, and its value; print it to see its tables.

    Args:
        log, problem_file, objective, rows, folds, seed, checks, notes, clusters: as of `LogResult`.
        rule: in words, as `value` reads it.
        leaves: of the rule, in its order.
        steps: of its picture.
        values: of what was logged, of single actions, of the targeted policy and, last, of the rule by folds.
        targeted: the name of the targeted policy.
        by_fold: the rules that are learned without each fold.
        alike: the share of cases in which the rules of the folds have the same action as the rule.
        depth, cuts: of the search.
    """

    name: ClassVar[str] = "rules"
    kind: ClassVar[str] = "rules"

    rule: str
    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]
    values: Value
    targeted: str
    by_fold: tuple[str, ...]
    alike: float
    depth: int
    cuts: int

    @property
    def about(self) -> str:
        """The contents of the tables, in a few words."""
        return f"{self.objective} per case by a rule of depth {self.depth}"

    @property
    def allowed(self) -> tuple[Allowance, ...]:
        """The allowances of the budgets, for all cases of the log."""
        return self.values.allowed

    @property
    def learned(self) -> Valued:
        """The value of the rule, learned and valued on different folds."""
        return self.values.policies[-1]

    @property
    def price(self) -> Estimate:
        """What being readable costs: the value of the targeted policy beyond that of the rule, by pairs of cases."""
        return self.learned.less[self.targeted].negative()

    def inputs(self) -> dict[str, object]:
        """Return the inputs of the numbers, by name."""
        return super().inputs() | {"depth": self.depth, "cuts": self.cuts, "rule": self.rule}

    def headline(self) -> str:
        """State what the rule is worth, and what being readable costs, if the log can tell."""
        if (refused := refusal(self.checks)) is not None:
            return refused
        if self.learned.doubt.any:
            return f"What {self.learned.policy} is worth cannot be told, as the log says too little of its plays"
        value, ends = self.learned.value, reaches(self.learned.value)
        cost = interval("", self.price).words(f" {self.objective} per case")
        worth = f"{value.value:.4f} {self.objective} per case (95 %: {ends})"
        named = f"{self.learned.policy[0].upper()}{self.learned.policy[1:]}"
        return f"{scope(self.checks)}{named} is worth {worth}; being readable costs {cost}"

    def sentences(self) -> Iterator[str]:
        """Yield the rule, what it brings beyond what was logged and the best single action, and whether folds agree."""
        yield f"It is: {self.rule}."
        if refusal(self.checks) is None and not self.learned.doubt.any:
            first, *others = (p for p in self.values.policies[:-1] if p.policy != self.targeted)
            single = max(others, key=lambda p: p.value.value)
            for what, other in (("what was logged", first), (f"{single.policy!r}, the best single action", single)):
                brings = interval("", self.learned.less[other.policy]).words(f" {self.objective} per case")
                yield f"Beyond {what}, it brings {brings}."
        yield f"Rules that are learned without a fold each do the same in {self.alike:.1%} of the cases."

    def heading(self) -> Iterator[str]:
        """Yield the lines above the tables, with the rule."""
        yield from super().heading()
        yield f"rule: {self.rule}"

    def remarks(self) -> Iterator[str]:
        """Yield which policies use more than a budget."""
        yield from self.values.remarks()

    def tables(self) -> Iterator[Table]:
        """Yield the tables: of leaves, then of values and constraints."""
        rows = [[z.where, z.action, f"{z.rows:,}", f"{z.share:.1%}", told(z.value)] for z in self.leaves]
        yield Table(["where", "action", "cases", "share", f"{self.objective} ± se"], rows)
        first, *others = self.values.tables()
        yield first
        less = [(p.policy, self.learned.less[p.policy]) for p in self.values.policies[:-1]]
        rows = [[name, told(z), reaches(z)] for name, z in less]
        yield Table([f"{self.learned.policy} beyond", "difference ± se", "95 %"], rows)
        yield from others[1:]  # without other estimators
        counts = Counter(self.by_fold).most_common()
        yield Table(["rule that is learned without a fold", "folds"], [[z, str(n)] for z, n in counts])

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the page: the tree, differences, budgets, constraints, and the rules of folds."""
        leaves, _, less, *_, by_fold = self.tables()
        yield Part(title="The rule", reading=TREE, chart=charts.outline(self.steps), tables=(leaves,), text=self.rule)
        yield from (part for part in self.values.parts() if part.chart or part.title == "Constraints")
        yield Part(title="Beside other policies, and the rules of folds", reading=STABLE, tables=(less, by_fold))

    def reading(self) -> Iterator[str]:
        """Yield the lines below the tables: how to read them, and the result in words."""
        yield from self.values.reading()
        yield "means of leaves are of the log from which the rule was chosen, and too high; its value is that of rules"
        yield "that are learned from all folds but one, and valued on that."
        yield self.summary()

    def records(self) -> Records:
        """Return a row per leaf."""
        names = ["where", "action", "rows", "share", "value", "se", "low", "high"]
        return Records(names, [[*z[:4], *z.value.pair, *z.value.interval] for z in self.leaves])

    def measurements(self) -> Iterator[Measurement]:
        """Yield the numbers of policies and of leaves, and what being readable costs."""
        yield from self.values.measurements()
        for z in self.leaves:
            yield Measurement(self.learned.policy, {}, f"{z.where}: share of cases with {z.action}", z.share)
            yield Measurement(self.learned.policy, {}, f"{z.where}: {self.objective}", *z.value.pair)
        yield Measurement(self.learned.policy, {}, f"{self.objective} that being readable costs", *self.price.pair)
        yield Measurement(self.learned.policy, {}, "share of cases in which rules of folds agree", self.alike)
