"""Who gets what in the next list: the plan of a budget over cases that are all known."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from evenhand.core.beside import beside
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.luck import check_seed
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import file, number, on_disk
from evenhand.offline.cases import EXPECTED, WRITTEN, Cases
from evenhand.offline.cross_fitting import Regressor, RidgeByErrors
from evenhand.offline.evidence import Evidence
from evenhand.offline.plans import Plan, Wanted, planned, wanted_of
from evenhand.offline.rounding import drawn, places
from evenhand.replay.log import Source
from evenhand.report.quantities import objective_name
from evenhand.report.summary import table

if TYPE_CHECKING:
    import pandas as pd

_ROUNDS = 50  # of lowering the plan until what was drawn keeps to the budget


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment:
    """An action for every case of a list; print it, or write it as a CSV file.

    Args:
        texts: by column, the cases as the file has them.
        actions: the names of the actions.
        chosen: `(N)` the number of the action of every case.
        probability: `(N)` with which it was drawn: 1 where only it could be.
        held_out: `(N)` whether it was drawn evenly, so that the list can be evaluated afterwards.
        expected: by outcome, `(N)` what the log lets expect of the chosen action.
        objective: its name.
        wanted: the budget, if there is one.
        price: what one more unit of the budget is predicted to be worth.
        spent: of the budget by the whole list, exactly.
        groups: by grouping with a parity, the average spent per case of each of its groups.
        log: the name of the file that was learned from.
    """

    texts: Mapping[str, list[str]]
    actions: tuple[str, ...]
    chosen: Ints
    probability: Floats
    held_out: Bools
    expected: Mapping[str, Floats]
    objective: str
    wanted: Wanted | None
    price: float
    spent: float
    groups: Mapping[str, Mapping[str, float]]
    log: str

    def _columns(self) -> dict[str, list[object]]:
        names = np.array(self.actions)[self.chosen].tolist()
        found: dict[str, list[object]] = {name: list(z) for name, z in self.texts.items()}
        found |= dict(zip(WRITTEN, (names, self.probability.tolist(), self.held_out.tolist()), strict=True))
        return found | {EXPECTED + name: z.tolist() for name, z in self.expected.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per case.

        Raises:
            MissingExtra: pandas is not installed.
        """
        columns = self._columns()
        return data_frame(columns, list(columns))

    def write(self, path: str | Path) -> Path:
        """Write a CSV file with a row per case, in the order of the list.

        Raises:
            InvalidInput: the file cannot be written.
        """
        path, columns = file("path", path), self._columns()
        with on_disk("path", "a file that can be written"), beside(path) as part, _new(part) as out:
            rows = csv.writer(out)
            rows.writerow(columns)
            rows.writerows(zip(*columns.values(), strict=True))
        return path

    def __str__(self) -> str:
        return "\n\n".join(["\n".join(self._head()), *self._tables()])

    def _head(self) -> Iterator[str]:
        count = len(self.chosen)
        yield f"{count:,} cases, by what {self.log} says of {self.objective}"
        if self.wanted is not None:
            yield (
                f"{self.wanted.outcome}: {self.spent:,.6g} of {self.wanted.total:,.6g}; "
                f"one more is predicted to be worth {self.price:.4g} {self.objective}"
            )
        held = int(self.held_out.sum())
        if held:
            yield f"{held:,} cases held out: any action, with the same chance each"

    def _tables(self) -> Iterator[str]:
        rows = []
        for a, name in enumerate(self.actions):
            mine = self.chosen == a
            means = [f"{z[mine].mean():.4f}" if mine.any() else "-" for z in self.expected.values()]
            rows.append([name, f"{int(mine.sum()):,}", f"{mine.mean():.2%}", *means])
        yield table(["action", "cases", "share", *(f"expected {name}" for name in self.expected)], rows)
        for by, each in self.groups.items():
            assert self.wanted is not None
            lines = [[name, f"{value:.4f}"] for name, value in each.items()]
            within = f"planned within {self.wanted.tolerance:g}"
            yield table([f"{self.wanted.outcome} per case by {by}, {within}", "average"], lines)


@named("X8", source="evenhand's own; the plan of `curve`, over a list that is known as a whole")
def assign(
    cases: str | Path,
    problem: str | Path,
    *,
    learn_from: Source,
    budget: float | None = None,
    holdout: float = 0.0,
    seed: int = 0,
    model: Callable[[], Regressor] = RidgeByErrors,
) -> Assignment:
    """Decide who gets what in a list, by what a randomised log says and within the budget of the problem.

    Equation: max sum_i sum_a p_ia w_ia s.t. sum_i c_i(a_i) <= B, by the prices of the list itself, with predictions w
    of models of the whole log. With a holdout h, p_ia = h / A + (1 - h) pi_ia, where pi has what the held out
    cases are expected to leave of B.

    What was drawn never costs more than B. If it would, as held out cases are drawn, the plan is lowered by what is too
    much, and drawn again with the same luck. The probabilities are those of the last plan; lowering it moves few cases.

    Args:
        cases: a CSV file with the columns of features, groups and known outcomes; without actions and outcomes.
        problem: a TOML file with at most one budget, on a known outcome, and at most one parity on the same outcome.
        learn_from: a randomised log, as for `curve`.
        budget: for the whole list; by default the rate of the problem, per case.
        holdout: the share of cases in which any action is drawn with the same chance, in [0, 1).
        seed: of all luck.
        model: makes a model of outcomes that is not fitted yet.

    Raises:
        InvalidInput: a file, a column or an argument is wrong, or the problem has other constraints.
        InfeasibleProblem: no policy within the budget is as even as the parity demands.
    """
    number("holdout", holdout, "a share in [0, 1)", lambda x: 0.0 <= x < 1.0)
    check_seed(seed)
    evidence = Evidence.read(learn_from, problem)
    assert evidence.spec is not None  # it was read
    assert evidence.coding is not None
    listed = Cases.read(file("cases", cases), evidence.spec, evidence.problem, evidence.coding)
    wanted = wanted_of(evidence, len(listed), budget)
    tables = evidence.predict(listed.features, listed.known, model=model)
    count, rows = len(evidence.names), np.arange(len(listed))
    costs = None if wanted is None else np.broadcast_to(tables[wanted.outcome].predicted, (len(listed), count))
    order = np.argsort(places(np.zeros(len(listed), np.int64), seed), kind="stable")  # ties are broken by chance
    plan = planned(evidence, listed, tables, wanted, holdout, 0.0, order)
    place = places(plan.strata, seed)
    chosen, lottery, less = _draw(plan, holdout, place), plan.lottery, 0.0
    if wanted is not None and costs is not None:
        for _ in range(_ROUNDS):
            over = float(costs[rows, chosen].sum()) - wanted.total
            if over <= 1e-9 * abs(wanted.total):
                break
            less += over / (1.0 - holdout)
            plan = planned(evidence, listed, tables, wanted, holdout, less, order)
            chosen, lottery = _draw(plan, holdout, place), plan.lottery
        else:
            needs = f"at least {wanted.total + over:,.6g}, which the cheapest actions and the draw of this seed cost"
            raise InvalidInput("budget", needs, wanted.total)
    mixed = holdout / count + (1.0 - holdout) * lottery[rows, chosen]
    objective = evidence.worth(tables, len(listed)).predicted[rows, chosen]
    expected = {name: np.broadcast_to(t.predicted, (len(listed), count))[rows, chosen] for name, t in tables.items()}
    name = objective_name(evidence.problem)
    return Assignment(
        texts=listed.texts,
        actions=evidence.names,
        chosen=chosen,
        probability=mixed,
        held_out=place < holdout,
        expected=expected if name in expected else expected | {name: objective},
        objective=name,
        wanted=wanted,
        price=plan.price,
        spent=0.0 if costs is None else float(costs[rows, chosen].sum()),
        groups=_by_group(evidence, listed, wanted, None if costs is None else costs[rows, chosen]),
        log=evidence.log,
    )


def _new(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="")


def _draw(plan: Plan, holdout: float, place: Floats) -> Ints:
    """Draw the action of every case: the first part of [0, 1) is the holdout's."""
    chosen = drawn(plan.lottery, (place - holdout) / (1.0 - holdout))
    if not holdout:
        return chosen
    even = (place / holdout * plan.lottery.shape[1]).astype(np.int64)
    return np.where(place < holdout, np.minimum(even, plan.lottery.shape[1] - 1), chosen)


def _by_group(
    evidence: Evidence, cases: Cases, wanted: Wanted | None, spent: Floats | None
) -> dict[str, dict[str, float]]:
    """Return the average spent per case of each group of the parity."""
    if wanted is None or spent is None or wanted.by is None:
        return {}
    names = next(g.names for g in evidence.problem.groups if g.name == wanted.by)
    inside = [cases.groups[wanted.by] == g for g in range(len(names))]
    return {wanted.by: {n: float(spent[z].mean()) for n, z in zip(names, inside, strict=True) if z.any()}}
