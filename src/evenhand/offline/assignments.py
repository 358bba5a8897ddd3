"""Who gets what in the next list: the plan of a budget over cases that are all known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import file, number
from evenhand.offline.assigned import Assignment
from evenhand.offline.cases import Cases
from evenhand.offline.checks import idle, support
from evenhand.offline.cross_fitting import RidgeByErrors
from evenhand.offline.evidence import Evidence
from evenhand.offline.lines import singles
from evenhand.offline.outcome_models import Regressor
from evenhand.offline.plans import Plan, Wanted, planned, wanted_of
from evenhand.offline.rounding import drawn, places
from evenhand.replay.log import Source
from evenhand.report.quantities import objective_name

_ROUNDS = 50  # of lowering the plan until what was drawn keeps to the budget


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
    worth = evidence.worth(tables, len(listed)).predicted
    objective = worth[rows, chosen]
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
        numeric={c: listed.numbers[c] for c in evidence.spec.numeric if c not in evidence.spec.dates},
        categorical=tuple(evidence.spec.categorical),
        checks={
            **evidence.checks,
            "support": support(evidence, singles(evidence)),
            "budget": idle(worth, tables, {} if wanted is None else {wanted.outcome: wanted.total / len(listed)}),
        },
    )


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
