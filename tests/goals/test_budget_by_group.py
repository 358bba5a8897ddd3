"""Budgets of groups: what they state, ten rounds by hand, the optimum within them."""

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import linprog

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.goals import HardBudget
from evenhand.goals.hard_limits import hard_limits, refuse_unspendable
from evenhand.models import BayesianRidge
from evenhand.run import opt, simulate
from tests.budget_worlds import check
from tests.sales import Sales

TIER = eh.Groups("tier", {"free": 0.7, "pro": 0.3})


def calls(*budgets, high=1.0, **stated):
    """Calls whose cost is learned."""
    return eh.Problem(**{
        "actions": ("none", "call"),
        "outcomes": (eh.Outcome("sale", free=("none",)), eh.Outcome("cost", high=high, free=("none",))),
        "maximize": "sale",
        "subject_to": budgets,
        "groups": (TIER, eh.Groups("town", ["east", "west"])),
        "horizon": 100,
    } | stated)  # fmt: skip


# What they state


def test_a_budget_by_group_is_a_budget_for_each_group_that_it_names():
    each = calls(eh.Budget("cost", total={"free": 5, "pro": 20}, by="tier"), eh.Budget("cost", total=30))
    assert each.subject_to == (
        eh.Budget("cost tier=free", total=5), eh.Budget("cost tier=pro", total=20), eh.Budget("cost", total=30)
    )  # fmt: skip
    assert calls(eh.Budget("cost", total={"free": 5}, by="tier")).subject_to == each.subject_to[:1]
    assert calls(eh.Budget("cost", rate={"pro": 0.2}, by="tier")).stated[0].total == pytest.approx(20.0)
    assert [s.total for s in calls(eh.Budget("cost", total=7, by="town")).stated] == [7.0, 7.0]  # shares not known


def test_the_totals_of_a_group_go_by_time_as_any_others():
    dated = {"since": "2026-11-01", "until": "2026-12-31", "horizon": 90}
    months = eh.Budget("cost", total={"pro": {"november": 5, "december": 9}, "free": 2}, per="month", by="tier")
    assert [s.spans.allowance.tolist() for s in calls(months, **dated).stated] == [[5.0, 9.0], [2.0, 2.0]]
    own = eh.Budget("cost", total={"pro": [(0, 60, 5), (50, 100, 9)]}, by="tier")
    assert calls(own).stated[0].spans.allowance.tolist() == [5.0, 9.0]
    window = calls(eh.Budget("cost", total=3, per=10, window=2, by="tier")).stated
    assert [len(s.spans.allowance) for s in window] == [9, 9]


@pytest.mark.parametrize(
    ("make", "field", "got"),
    [
        (lambda: eh.Budget("cost", total={"fre": 5}, by="tier"), "Budget('cost').total", "fre (did you mean free?)"),
        (lambda: eh.Budget("cost", rate={"x": 5}, by="tier"), "Budget('cost').rate", "x"),
        (lambda: eh.Budget("cost", total=5, by="tir"), "Budget('cost').by", "tir (did you mean tier?)"),
        (lambda: eh.Budget("cots", total=5, by="tier"), "Budget", "cots tier=free"),
        (lambda: eh.Budget("cost tier=none", total=5), "Budget", "cost tier=none"),
        (lambda: eh.Budget("cost", rate={"free": 5}), "Budget('cost').rate", "{'free': 5}"),
        (lambda: eh.Budget("cost", total={"free": {"november": 5}}, per="month"), "Budget('cost').total", "november"),
        (lambda: eh.Budget("cost", total={"free": -1}, by="tier"), "Budget('cost tier=free').total", "-1"),
        (lambda: eh.Budget("cost", total=5, rate={"free": 1}, by="tier"), "Budget('cost')", "total=5, rate="),
        (lambda: eh.Budget("cost", total={}, by="tier"), "Budget('cost tier=')", "total=None"),
    ],
)
def test_what_is_no_budget_is_refused(make, field, got):
    with pytest.raises(InvalidInput) as refused:
        calls(make())
    assert refused.value.field == field
    assert got in str(refused.value.got)


def test_totals_over_the_rows_of_a_log_become_rates():
    assert eh.Budget("cost", total={"free": 5, "pro": 20}, by="tier").over(50).rate == {"free": 0.1, "pro": 0.4}
    assert eh.Budget("cost", total=5, by="tier").over(50) == eh.Budget("cost", rate=0.1, by="tier")
    with pytest.raises(InvalidInput, match="a number for each group, or spans for each"):
        eh.Budget("cost", total={"free": 5, "pro": [(0, 9, 5)]}, by="tier").over(50)


def test_what_no_case_of_a_group_could_use_is_refused():
    tight = calls(eh.Budget("cost", total={"free": 2}, by="tier"), high=3.0)
    with pytest.raises(InvalidInput, match="'cost tier=free', kept hard: expected a total of at least 3"):
        refuse_unspendable(hard_limits(tight, True), tight)
    problem = calls(eh.Budget("cost", total=9), eh.Budget("cost", total=8, by="tier"))
    limits = hard_limits(problem, True)
    assert [limit.total.tolist() for limit in limits] == [[9.0], [8.0], [8.0]]
    with pytest.raises(InvalidInput, match="rows that concern everybody, or one group"):
        HardBudget(rows=problem.demands.rows, total=np.ones(3), low=problem.low, high=problem.high)


# Ten rounds


def test_ten_rounds_by_hand():
    """Free calls may cost 2 in all; a call may cost 1, which is held back until its cost is known."""
    problem = calls(eh.Budget("cost", total={"free": 2}, by="tier", hard=True))
    policy = eh.resolving(problem, eh.PerAction.of(problem))
    state, made = policy.start(), []

    def call(tier):
        context = policy.encode({"tier": tier, "town": "east"}, offered=["call"])
        made.append(policy.act(state, context))
        account = policy.status(state).accounts["cost tier=free"]
        return bool(made[-1].counted[0]), account.held, account.left

    assert call("free") == (True, 1.0, 1.0)
    assert call("free") == (True, 2.0, 0.0)
    assert call("free") == (False, 2.0, 0.0)
    assert call("pro") == (True, 2.0, 0.0)  # who has no budget
    policy.observe(state, made[0], {"sale": 0, "cost": 0.25})
    assert call("free") == (False, 1.0, 0.75)
    policy.cancel(state, made[1])
    assert call("free") == (True, 1.0, 0.75)
    assert call("pro") == (True, 1.0, 0.75)
    policy.observe(state, made[6], {"sale": 1, "cost": 1.0})
    assert call("free") == (False, 1.0, 0.75)
    policy.observe(state, made[5], {"sale": 1, "cost": 0.0})
    assert call("free") == (True, 1.0, 0.75)
    policy.expire(state, made[8])  # without a fallback the worst case stays charged
    assert call("free") == (False, 1.0, 0.75)
    assert not policy.over(state).any()  # as other groups can come
    account = policy.status(state).accounts["cost tier=free"]
    assert (account.spent, account.total, account.hard) == (0.25, 2.0, True)


def test_groups_of_actions_have_budgets_as_those_of_cases():
    """A cap of one action in a group of them: letters of a kind, whoever gets them."""
    kinds = eh.Groups("kind", ["dear", "cheap"], of={"none": "cheap", "small": "cheap", "large": "dear"})
    sent = eh.Outcome("sent", known={"small": 1, "large": 1})
    problem = calls(
        eh.Budget("sent kind=dear", total=2, hard=True), eh.Budget("sent", total=4, hard=True),
        actions=("none", "small", "large"), outcomes=(eh.Outcome("sale"), sent), groups=(kinds,),
    )  # fmt: skip
    policy = eh.resolving(problem, eh.PerAction.of(problem))
    state, played = policy.start(), []
    for offered in [["large"]] * 3 + [["small"]] * 3:
        context = policy.encode({}, offered=offered)
        played.append(int(policy.act(state, context).counted[0]))
    assert played == [1, 1, 0, 1, 1, 0]


# Worlds


def some_worlds(numbers):
    used, seen = 0, Counter()
    for number in numbers:
        made, found = check(number, 54, by_group=True)  # this fails where anything is exceeded
        used, seen = used + found.full, seen + found.events
        seen["spans"] += 2 * len(made.spans)
        seen["of groups"] += sum("town=" in span.outcome for span in made.spans)
    return used, seen


def test_some_worlds_keep_to_the_budgets_of_every_group():
    some_worlds(range(4))


@pytest.mark.slow
def test_many_worlds_keep_to_the_budgets_of_every_group_and_use_them():
    used, seen = some_worlds(range(120))
    assert used > 0.3 * seen["spans"]
    assert min(seen[name] for name in ("cancelled", "expired", "in parts", "restarted", "of groups")) > 10


# The optimum, and a policy


def brute(contexts, *limits):
    """The most sales per case, by HiGHS: of every limit the groups it is on, and its dollars per case."""
    world, plays = Sales(subject_to=()).start(0, np.arange(1)), np.arange(4)[None]
    cases = [world.context(t) for t in range(contexts)]
    sale, dollars = np.concatenate([world.expected(c, plays) for c in cases]).transpose(2, 0, 1)
    area = np.array([int(c.groups[0, 0, 0]) for c in cases])
    rows = [(dollars * np.isin(area, groups)[:, None]).ravel() for groups, _ in limits]
    one = np.kron(np.eye(contexts), np.ones((1, 4)))
    most = [rate * contexts for _, rate in limits]
    return -linprog(-sale.ravel(), np.stack(rows), most, one, np.ones(contexts), method="highs").fun / contexts


@pytest.mark.parametrize(
    ("budgets", "limits"),
    [
        ((eh.Budget("dollars", rate={"south": 0.02}, by="area"),), [([0], 0.02)]),
        ((eh.Budget("dollars", rate=0.03, by="area"),), [([0], 0.03), ([1], 0.03)]),
        ((eh.Budget("dollars", rate=0.12), eh.Budget("dollars area=north", rate=0.04)), [([0, 1], 0.12), ([1], 0.04)]),
    ],
)
def test_the_optimum_is_that_of_a_linear_program_with_a_row_for_each_group(budgets, limits):
    found = opt(Sales(subject_to=budgets), contexts=80, replicas=1)
    assert found.value == pytest.approx(brute(80, *limits), rel=1e-6)
    assert len(found.prices) == len(limits)


@pytest.mark.slow
def test_a_policy_that_learns_comes_near_the_optimum_and_is_never_over():
    world = Sales(subject_to=(eh.Budget("dollars", total={"south": 150, "north": 90}, by="area"),))
    policy = eh.resolving(world.problem, BayesianRidge(n_features=9, n_outcomes=2))
    trace = simulate(policy, world, replicas=16, progress=False)
    best = opt(world, contexts=3000, replicas=16, progress=False).values
    assert (trace.in_expectation().average("sale")[-1] / best).mean() > 0.97
    for area, total in (("south", 150.0), ("north", 90.0)):
        used = trace.total(f"dollars area={area}")
        assert (used <= total * (1 + 1e-9)).all()
        assert used.mean() > 0.97 * total
