"""Assignments of actions to the cases of a list, all of which are known, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.registry import suggestion
from evenhand.core.texts import amount
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import number
from evenhand.logs.log import Source
from evenhand.logs.sources import Given
from evenhand.offline.cautions import doubts, idle, outside, support
from evenhand.offline.curve_policies import singles
from evenhand.offline.evidence import Evidence
from evenhand.offline.lists.plan import (
    Cases,
    Held,
    HeldOut,
    ListPlan,
    ListSums,
    Used,
    averages_of,
    drawn,
    least,
    limits_of,
    places,
    planned,
)
from evenhand.offline.lists.table import Assignment, Beyond
from evenhand.offline.outcome_models import Regressor, RidgeByErrors
from evenhand.offline.plans.limits import use_of
from evenhand.report.quantities import objective_name

_ROUNDED = 1e-6  # the error of a sum of chances
_ROUNDS = 50  # of lowering the plan until what was drawn keeps to the budget


@named("X8", source="evenhand's own; the plan of `curve`, over a list that is known as a whole")
def assign(
    cases: Given,
    problem: str | Path,
    *,
    learn_from: Source,
    budget: float | None = None,
    holdout: float = 0.0,
    lottery: str | Mapping[str, float] = "uniform",
    baseline: str | None = None,
    seed: int = 0,
    model: Callable[[], Regressor] = RidgeByErrors,
) -> Assignment:
    """Assign an action to every case of a list, by a randomised log and within the budgets of the problem.

    Equation: max sum_i w_i(a_i) s.t. sum_i c_ik(a_i) <= B_k for every budget, and the rows of all other limits, by the
    prices of the list itself (`allocate`), with predictions w of models of the whole log. With a holdout h of a lottery
    b, an action has the chance h b_a, and the planned one 1 - h more; the plan has what held out cases are expected to
    leave of the budgets. What the holdout costs is found by another plan without it.

    What was drawn never costs more than a budget. If it would, as held out cases are drawn or few cases could not be
    split, the plan is lowered by what is too much, and drawn again with the same luck. The probabilities are those of
    the last plan; lowering it moves few cases. Another limit may be missed by what a few cases use, a parity also by
    the holdout. A budget on an outcome that is learned is kept by predictions: what the list will use is known
    afterwards alone.

    Args:
        cases: a list with the columns of features, groups and known outcomes; from the same sources as a log.
        problem: a TOML file with constraints without spans of time; those on learned outcomes are of predictions.
        learn_from: a randomised log, as for `curve`.
        budget: for the whole list, if the problem has one; by default its rate per case.
        holdout: the share of cases that are decided by a lottery, in [0, 1).
        lottery: of these: "uniform" over all actions; "plan", by the shares that actions have in a plan without a
            holdout; the name of one action, such as one that does nothing; or the chances of actions by name. A list
            can be judged afterwards against policies that play what its lottery does, or its plan.
        baseline: an action for all cases, with which what the list brings is compared.
        seed: of all luck.
        model: makes a model of outcomes that is not fitted yet.

    Raises:
        InvalidInput: a file, a column or an argument is wrong, or the problem has other constraints.
        InfeasibleProblem: no list keeps to all limits; it names those that exclude each other.
    """
    number("holdout", holdout, "a share in [0, 1)", lambda x: 0.0 <= x < 1.0)
    check_seed(seed)
    evidence = Evidence.read(learn_from, problem)
    evidence.refuse_weights("assign")
    if baseline is not None and baseline not in evidence.names:
        got = f"{baseline}{suggestion(baseline, evidence.names)}"
        raise InvalidInput("baseline", f"one of the actions {list(evidence.names)}", got)
    assert evidence.spec is not None  # it was read
    assert evidence.coding is not None
    listed = Cases.read(cases, evidence.spec, evidence.problem, evidence.coding)
    limits = limits_of(evidence, len(listed), budget)
    chances = None if lottery == "plan" else _chances(lottery, evidence.names)
    tables = evidence.predict(listed.features, listed.known, model=model)
    rows = np.arange(len(listed))
    order = np.argsort(places(np.zeros(len(listed), np.int64), seed), kind="stable")  # ties are broken by chance
    totals, less = np.array([b.total for b in limits.budgets]), np.zeros(len(limits.budgets))
    uses = {b.outcome: use_of(evidence.problem, b.outcome, tables, listed.groups) for b in limits.budgets}
    plan = alone = planned(evidence, listed, tables, limits, Held(0.0, np.zeros(len(evidence.names))), less, order)
    own = np.bincount(alone.actions, minlength=len(evidence.names)) / len(listed)
    held = Held(holdout, own if chances is None else chances)
    if holdout:
        plan = planned(evidence, listed, tables, limits, held, less, order, alone)
    place = places(
        _strata(plan, [z for by, z in listed.groups.items() if any(d.by == by for d in limits.demands)]), seed
    )
    for _ in range(_ROUNDS):
        chosen = drawn(plan.actions, place, holdout, held.lottery)
        spending = {name: use[rows % len(use), chosen] for name, use in uses.items()}
        spent = np.array([spending[b.outcome].sum() for b in limits.budgets])
        over = spent - totals
        if (over <= 1e-9 * np.abs(totals)).all():
            break
        less += np.maximum(over, 0.0) / (1.0 - holdout)
        plan = planned(evidence, listed, tables, limits, held, less, order, plan)
    else:
        k = int(np.argmax(over / np.maximum(np.abs(totals), 1e-300)))
        needs = f"at least {amount(spent[k], 6)}, which the cheapest actions and the draw of this seed cost"
        raise InvalidInput("budget", needs, float(totals[k]))
    worth = evidence.worth(tables, len(listed)).predicted
    objective = worth[rows, chosen]
    other = None if baseline is None else worth[:, evidence.names.index(baseline)]
    expected = {name: t.predicted[rows % len(t.predicted), chosen] for name, t in tables.items()}
    number_of = np.array([evidence.problem.actions.index(a) for a in evidence.names])
    outcomes = (expected[n] for n in evidence.problem.names)
    sums = ListSums.of(evidence.problem, np.column_stack([*outcomes]), listed.groups, number_of[chosen])
    name, out = objective_name(evidence.problem), place < holdout
    used = tuple(
        Used(*b, z, float(q[0]))
        for b, z, q in zip(limits.budgets, spent.tolist(), plan.prices[: len(less)], strict=True)
    )
    return Assignment(
        texts=listed.texts,
        form=listed.form,
        actions=evidence.names,
        chosen=chosen,
        probability=holdout * held.lottery[chosen] + (1.0 - holdout) * (chosen == plan.actions),
        held_out=out,
        expected=expected if name in expected else expected | {name: objective},
        objective=name,
        aim=evidence.aim,
        units=evidence.units,
        beyond=None if other is None else Beyond(f"all {baseline}", float((objective - other).sum())),
        budgets=used,
        holdout=None
        if not holdout
        else HeldOut(
            int(out.sum()),
            dict(zip(evidence.names, held.lottery.tolist(), strict=True)),
            tuple(u._replace(spent=float(spending[u.outcome][out].sum())) for u in used),
            float(worth[rows, alone.actions].sum() - objective.sum()),
            evidence.aim,
        ),
        demands=tuple(averages_of(demand, sums) for demand in limits.demands),
        log=evidence.log,
        numeric={c: listed.numbers[c] for c in evidence.spec.numeric},
        categorical=tuple(evidence.spec.categorical),
        dates=tuple(evidence.spec.dates),
        checks={
            **evidence.checks,
            "range": outside(listed.numbers, evidence.coding),
            "support": support(doubts(evidence, singles(evidence))),
            "budget": idle(worth, tables, {b: z for b, z in least(limits.budgets, len(listed)).items() if b in tables}),
        },
    )


def _chances(lottery: str | Mapping[str, float], names: Sequence[str]) -> Floats:
    """Read a lottery over actions, `->(A)`.

    Raises:
        InvalidInput: it names another action, or its chances do not sum to 1.
    """
    if lottery == "uniform":
        return np.full(len(names), 1.0 / len(names))
    stated = {lottery: 1.0} if isinstance(lottery, str) else lottery
    for action, chance in stated.items():
        if action not in names:
            expected = f"uniform, plan, or actions, {list(names)}"
            raise InvalidInput("lottery", expected, f"{action}{suggestion(action, names)}")
        number(f"lottery[{action!r}]", chance, "a chance in [0, 1]", lambda x: 0.0 <= x <= 1.0)
    total = sum(stated.values())
    if abs(total - 1.0) > _ROUNDED:
        raise InvalidInput("lottery", "chances that sum to 1", f"a sum of {total:.7g}")
    return np.array([stated.get(action, 0.0) for action in names]) / total


def _strata(plan: ListPlan, groups: Sequence[Ints]) -> Ints:
    """Number the combinations of planned actions and groups, in each of which as many cases are held out."""
    found = plan.actions
    for each in groups:
        found = np.unique(found * (int(each.max()) + 1) + each, return_inverse=True)[1]
    return found
