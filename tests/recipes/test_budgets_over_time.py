"""Budgets over time by `resolving`: shares of the optimum, wrong forecasts, ends in time, a status, and campaigns."""

from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.goals import DualGradient, Steady
from evenhand.live import Campaign
from evenhand.live.stores.memory import MemoryStore
from evenhand.models import BayesianRidge
from evenhand.planning.pace import Pace
from evenhand.problem import Between, Budget, Outcome, Problem, Traffic
from evenhand.problem.clock import Clock
from evenhand.recipes import fw_dual, pgd, pgd_adaptive, resolving, uniform
from evenhand.run import opt, opt_without_contexts
from evenhand.testing.promises import decision_of
from tests.allowances import ALLOWANCE, DAY_BY_DAY, DAYS, by_end, shares
from tests.day_worlds import Days, cases, forecast


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "said", "came", "least"),
    [  # measured with 12 or 18 replicas: .945, .942, .946, .959, .977, .970, .954 with standard errors up to .005
        (DAY_BY_DAY, 1.0, 1.0, 0.93),
        (DAY_BY_DAY, 0.7, 1.0, 0.92),
        (DAY_BY_DAY, 1.3, 1.0, 0.93),
        (replace(DAY_BY_DAY, carry=True), 1.0, 1.0, 0.945),
        (Budget("money", total=ALLOWANCE * DAYS), 1.0, 0.7, 0.965),
        (Budget("money", total=ALLOWANCE * DAYS), 1.0, 1.0, 0.955),
        (Budget("money", total=ALLOWANCE * DAYS), 1.0, 1.3, 0.94),
    ],
)
def test_allowances_are_spread_over_the_cases_that_come(budget, said, came, least):
    assert shares(budget, said, came).mean() > least


@pytest.mark.slow
def test_an_end_that_may_come_at_any_time_leaves_about_the_same_share_at_all_of_them():
    # Measured with 12 replicas: .909, .911, .901, .892, .919; planned for the latest end .797 at the earliest one.
    found = by_end(Between(1500, 4500), range(1500, 4501, 750), 360.0, replicas=6)
    assert (found.mean(1) > 0.88).all()


def rounds(budget, horizon=60):
    """A problem in which an action costs 1, and always pays."""
    return Problem(
        actions=("nothing", "go"),
        outcomes=(Outcome("gain", free=("nothing",)), Outcome("cost", known={"go": 1})),
        maximize="gain",
        subject_to=(budget,),
        horizon=horizon,
    )


def played(problem, steps, learns=True):
    """The rounds in which something was played that costs, in one replica."""
    policy = resolving(problem)
    state, went = policy.start(seed=4), []
    for _ in range(steps):
        decision = policy.act(state, policy.encode({}))
        went.append(decision.action == "go")
        if learns:
            policy.observe(state, decision, {"gain": float(went[-1])})
    return np.array(went), policy.status(state)


def test_a_budget_per_number_of_rounds_is_used_up_in_each_of_them():
    went, status = played(rounds(Budget("cost", total=5, per=20)), 60)
    np.testing.assert_array_equal(went.reshape(3, 20).sum(1), 5)
    assert status.accounts["cost"].total == 15
    assert status.accounts["cost"].left_now == pytest.approx(0.0)
    assert "0 left now, of 5 until 60" in str(status)


def test_what_past_spans_leave_is_lost_and_not_left():
    policy = resolving(rounds(Budget("cost", total=5, per=20)))
    state = policy.start(seed=4)
    asked = [["nothing"]] * 20 + [["go"]] * 3  # nothing is spent in the first 20 rounds
    for offered in asked:
        context = policy.encode({}, offered=offered)
        decision = policy.act(state, context)
        policy.observe(state, decision, {"gain": 0.0})
    status = policy.status(state)
    account = status.accounts["cost"]
    assert (account.spent, account.lost, account.left, account.left_now) == (3.0, 5.0, 7.0, 2.0)
    assert "3 of 15 spent, 5 lost, 7 left" in str(status)
    assert [(u.start, u.end, u.allowance, u.used, u.over) for u in account.spans] == [
        ("0", "20", 5.0, 0.0, True), ("20", "40", 5.0, 3.0, False)
    ]  # fmt: skip
    assert "cost: 2 of 5 left from 20 to 40\n" in policy.explain(state, context, decision)


def test_what_a_span_holds_is_that_of_each_replica():
    """One of two replicas calls, and waits for what it costs, at most 2 of the 5 of every 20 rounds."""
    problem = Problem(
        actions=("nothing", "go"),
        outcomes=(Outcome("gain"), Outcome("cost", high=2.0, free=("nothing",))),
        maximize="gain",
        subject_to=(Budget("cost", total=5, per=20),),
        horizon=60,
    )
    policy = resolving(problem)
    state = policy.start(replicas=2)
    x = np.repeat(policy.encode({}).features, 2, 0)
    offered = np.array([[True, False], [False, True]])
    policy.act(state, Context(x, problem.declared[None], np.zeros((2, 1, 0), int), offered))
    idle, busy = (policy.status(state, r).accounts["cost"] for r in (0, 1))
    assert (idle.tightest.held, idle.tightest.used, idle.left_now) == (0.0, 0.0, 5.0)
    assert (busy.tightest.held, busy.tightest.used, busy.left_now) == (2.0, 2.0, 3.0)
    assert [use.held for use in busy.spans] == [2.0]


def test_nothing_of_a_carried_budget_is_lost_and_the_span_that_binds_is_named():
    policy = resolving(rounds(Budget("cost", total=5, per=20, carry=True)))
    state = policy.start(seed=4)
    for _ in range(22):
        context = policy.encode({}, offered=["nothing"])
        decision = policy.act(state, context)
    account = policy.status(state).accounts["cost"]
    assert (account.lost, account.left, account.left_now) == (0.0, 15.0, 10.0)
    assert "cost: 10 of 10 left from 0 to 40, the least of 2 spans" in policy.explain(state, context, decision)


def test_a_carried_budget_is_spread_over_what_is_to_come():
    went, _ = played(rounds(Budget("cost", total=5, per=20, carry=True)), 60)
    assert went.sum() == 15
    assert (went.reshape(3, 20).sum(1).cumsum() <= (5, 10, 15)).all()


def test_the_tightest_of_several_budgets_on_an_outcome_holds():
    problem = replace(rounds(Budget("cost", total=5, per=20)), subject_to=())
    both = replace(problem, subject_to=(Budget("cost", total=5, per=20), Budget("cost", total=8)))
    went, status = played(both, 60)
    assert went.sum() == 8
    assert went.reshape(3, 20).sum(1).max() <= 5
    assert [a.left_now is None for a in status.accounts.values()] == [False, True]


def test_a_run_with_an_end_in_time_goes_on_after_its_forecast():
    problem = Problem(
        actions=("a", "b"), outcomes=(Outcome("gain"),), maximize="gain", until=2.0, traffic=Traffic(5, per=1.0)
    )
    assert problem.horizon == 10
    policy = uniform(problem, n_features=2)
    state = policy.start()
    for i in range(30):
        policy.act(state, policy.encode({}, time=i / 15.0))
    assert policy.status(state).rounds == 30
    assert not policy.over(state).any()
    for time in (2.0, 7.5):  # after the end nothing is played, as after a horizon
        assert policy.act(state, policy.encode({}, time=time)).action is None
    assert policy.status(state).rounds == 30
    with pytest.raises(InvalidInput, match=r"context.time: expected the time of the case, as the problem has until="):
        policy.act(state, policy.encode({}))
    assert [c.time[0] for c in policy.encode_frame([{}, {}], times=[0.5, 1.5])] == [0.5, 1.5]
    with pytest.raises(InvalidInput, match="times: expected one for each of 2 cases, got 1"):
        policy.encode_frame([{}, {}], times=[0.5])


def test_a_last_period_that_the_end_cuts_short_is_spent_as_well():
    went, _ = played(rounds(Budget("cost", total=20, per=80), horizon=200), 200)
    np.testing.assert_array_equal([went[a : a + 80].sum() for a in (0, 80, 160)], 20)


def test_a_small_allowance_beside_a_large_one_is_kept():
    problem = replace(
        rounds(Budget("cost", total=[(0, 1, 1.0), (1, 30, 1e9)]), horizon=30),
        outcomes=(Outcome("gain", free=("nothing",)), Outcome("cost", known={"go": 1.0 + 1e-6})),
        until=30.0,
    )
    policy = resolving(problem)
    state = policy.start()
    assert {policy.act(state, policy.encode({}, time=t)).action for t in (0.1, 0.2, 0.9)} == {"nothing"}


def test_time_that_would_stand_still_is_refused():
    costly = Outcome("gain"), Outcome("cost", known={"go": 2, "nothing": 1})
    problem = replace(rounds(Budget("cost", total=40, per=20)), outcomes=costly)
    with pytest.raises(InvalidInput, match="kept hard: expected an action that uses nothing, as time stands still"):
        resolving(problem)


def test_a_campaign_and_optima_refuse_times_that_they_cannot_know():
    shop = Days(times=cases(0, 1, 0.1), subject_to=(DAY_BY_DAY,), until=1.0, traffic=forecast(0.1))
    with pytest.raises(InvalidInput, match=r"environment.problem: expected budgets over the whole horizon"):
        opt_without_contexts(shop, contexts=10)
    with pytest.raises(InvalidInput, match=r"margin: expected 0, where the problem has budgets per period"):
        opt(shop, margin=0.01)
    with pytest.raises(InvalidInput, match=r"environment: expected a case before 1.0, the end of the run, got none"):
        opt(replace(shop, times=np.array([1.0, 2.0])))
    with pytest.raises(InvalidInput, match=r"policy: problem.until: expected a date beside since="):
        Campaign.open(MemoryStore(), "days", uniform(shop.problem, n_features=9))


def test_a_campaign_that_ended_before_it_begins_is_refused_and_one_that_ended_since_can_be_read():
    problem = replace(rounds(Budget("cost", total=5)), since="2026-12-14", until="2026-12-16", traffic=Traffic(5))
    now = [int(datetime(2026, 12, 15, tzinfo=UTC).timestamp() * 1e6)]
    store = MemoryStore(now=lambda: now[0])
    Campaign.open(store, "before", uniform(problem, n_features=2))
    now[0] += 86_400_000_000
    said = r"policy: problem.until: expected an end after 2026-12-16 00:00:00\+00:00, when it is opened, got 2026-12-16"
    with pytest.raises(InvalidInput, match=said):
        Campaign.open(store, "after", uniform(problem, n_features=2))
    assert Campaign.open(store, "before", uniform(problem, n_features=2)).status().rounds == 0


def test_dates_and_unknown_ends_are_in_the_fingerprint():
    dated = {"since": date(2026, 12, 14), "traffic": Traffic(5), "horizon": 0}
    ends = (date(2026, 12, 16), date(2026, 12, 17), datetime(2026, 12, 17, tzinfo=UTC))
    problems = [replace(rounds(Budget("cost", total=5)), until=end, **dated) for end in ends]
    problems += [rounds(Budget("cost", total=5), horizon) for horizon in (60, Between(30, 60), Between(40, 60))]
    assert len({uniform(p, n_features=2).fingerprint() for p in problems}) == 6


def test_the_time_of_a_decision_is_its_round_and_cannot_be_changed():
    problem = rounds(Budget("cost", total=5, per=20))
    policy = resolving(problem)
    state = policy.start()
    for _ in range(3):
        decision = policy.act(state, policy.encode({}))
    np.testing.assert_array_equal(decision.time, [2.0])
    later = decision._replace(time=decision.time + 20.0)
    with pytest.raises(InvalidInput, match="decision: expected the plays, groups, known outcomes"):
        policy.observe(state, later, {"gain": 0.0})


def test_a_campaign_charges_the_day_of_the_decision():
    day, now = 86_400_000_000, [0]
    clock = Clock.between("2026-12-14", "2026-12-17", 0)
    start = 1_797_206_400_000_000
    assert clock.of_micros(start) == 0.0
    problem = Problem(
        actions=("nothing", "go"),
        outcomes=(Outcome("gain", free=("nothing",)), Outcome("cost", free=("nothing",))),
        maximize="gain",
        subject_to=(Budget("cost", total=2, per="day"),),
        since="2026-12-14",
        until="2026-12-17",
        traffic=Traffic(4, per="day"),
    )
    store = MemoryStore(now=lambda: start + now[0])
    terms = {"patience": 30 * 86_400.0, "on_expiry": "release"}
    campaign = Campaign.open(store, "days", resolving(problem), **terms)
    late, went = [], {0: 0, 1: 0, 2: 0}
    for i in range(30):
        now[0] = i * day // 10
        reply = campaign.decide({}, key=f"{i}")
        if reply.actions[0] == "go":
            went[i // 10] += 1
            late.append(reply.id)
        if i % 10 == 9:  # bills of the day before, and of today
            for ref in late[:-1]:
                campaign.observe(ref, {"gain": 1.0, "cost": 1.0})
            del late[:-1]
    assert went[0] == 2
    assert max(went.values()) <= 2
    again = Campaign.open(store, "days", resolving(problem), **terms)  # folds the log anew
    assert str(again.status()) == str(campaign.status())
    assert again.status().accounts["cost"].left_now == pytest.approx(2.0 - went[2])


def test_cancelled_rounds_leave_their_money_to_the_others_of_their_span():
    problem = rounds(Budget("cost", total=25, per=100), horizon=200)
    policy = resolving(problem)
    state, went = policy.start(seed=4), np.zeros(200)
    for i in range(200):
        decision = policy.act(state, policy.encode({}))
        if i % 2:
            policy.cancel(state, decision)
        else:
            went[i] = decision.action == "go"
            policy.observe(state, decision, {"gain": went[i]})
    assert (went.reshape(2, 100).sum(1) <= 25).all()
    assert went.sum() > 40


def test_a_decision_of_another_time_is_not_committed():
    shop = Days(times=cases(0, 1, 0.1), subject_to=(DAY_BY_DAY,), until=1.0, traffic=forecast(0.1))
    policy, world = uniform(shop.problem, n_features=9), shop.start(0, np.arange(1))
    state, context = policy.start(), world.context(0)
    decision = policy.decide(state, context)
    for time in (decision.time + 0.5, decision.time * np.nan):
        with pytest.raises(InvalidInput, match=r"decision.time: expected that of the context"):
            policy.commit(state, context, decision._replace(time=time))


def test_replicas_at_different_times_have_the_pace_that_each_has_alone():
    hourly = Traffic(4, per=0.1, memory=2)  # is compared with other cases at other times
    shop = Days(times=cases(0, 3, 0.1), subject_to=(DAY_BY_DAY,), until=3.0, traffic=hourly)
    pace = Pace(problem=shop.problem, spans=(shop.problem.stated[0].spans,))
    rng, frame = np.random.default_rng(1), shop.start(0, np.arange(3)).context(0)
    together, alone = pace.start(3), [pace.start(1) for _ in range(3)]
    for _ in range(40):
        time, v = rng.uniform(0.0, 3.0, 3), rng.uniform(0.0, 1.0, (3, 1))
        made = decision_of(frame, np.zeros((1, 0)), 1, np.ones(3))._replace(time=time)
        pace.decide(together, made)
        pace.enter(together, made, np.ones((3, 1)), v)
        now, t = rng.uniform(0.0, 3.0, 3), np.full(3, 9.0)
        found = pace.rates(together, np.ones((3, 1)), now), pace.length(together, t, now)
        for r, state in enumerate(alone):
            own = made._replace(time=time[r : r + 1], counted=np.ones(1))
            pace.decide(state, own)
            pace.enter(state, own, np.ones((1, 1)), v[r : r + 1])
            one = slice(r, r + 1)
            np.testing.assert_array_equal(pace.rates(state, np.ones((1, 1)), now[one]), found[0][one])
            np.testing.assert_array_equal(pace.length(state, t[one], now[one]), found[1][one])


def test_a_round_may_use_what_its_spans_allow_by_the_forecast():
    own = Budget("cost", total=[(0, 20, 10), (20, 60, 5), (30, 40, 1)])  # 10 in 20 rounds, 5 in 40, 1 in 10
    problem = rounds(own)
    factor = Pace(problem=problem, spans=(problem.stated[0].spans,)).even(None, np.array([0.0, 19.0, 25.0, 33.0]))
    np.testing.assert_allclose(factor[:, 0] * 15.0 / 60.0, [0.5, 0.5, 0.125, 0.1])
    shop = Days(times=cases(0, 2, 0.1), subject_to=(DAY_BY_DAY,), until=2.0, traffic=Traffic(40, per=1.0, shape=(1, 3)))
    factor = Pace(problem=shop.problem, spans=(shop.problem.stated[0].spans,)).even(None, np.array([0.1, 1.9]))
    np.testing.assert_allclose(factor, 1.0)  # every day has the same part of cases and of money


def test_a_budget_of_a_day_may_use_as_much_beside_that_of_a_week_that_ends_after_the_run():
    budgets = Budget("money", total=4, per="day"), Budget("money", total=20, per="week")
    times, dates = cases(0, 2, 0.1), {"since": "2026-12-14", "until": "2026-12-16"}
    shop = Days(times=times, subject_to=budgets, traffic=Traffic(40, per="day"), **dates)
    pace = Pace(problem=shop.problem, spans=tuple(row.spans for row in shop.problem.stated))
    np.testing.assert_allclose(pace.even(None, np.array([0.1, 1.9])), 1.0)


@pytest.mark.parametrize("make", [pgd, pgd_adaptive, fw_dual])
def test_recipes_with_dual_prices_follow_spans_where_there_are_any(make):
    for budget, follows in ((Budget("cost", total=20, per=30), True), (Budget("cost", total=20), False)):
        policy = make(rounds(budget), BayesianRidge(n_features=2))
        dual = next(g for g in policy.goals if isinstance(g, DualGradient))
        assert (dual.pace is not None) is follows


def test_dual_prices_step_against_what_the_time_of_the_decision_may_use():
    problem = rounds(Budget("cost", total=[(0, 20, 10), (20, 60, 5)]))
    goal = DualGradient(
        rows=problem.stated[0].rows,
        bound=np.array([0.25]),  # 15 in 60 rounds
        step=Steady(0.1),
        pace=Pace(problem=problem, spans=(problem.stated[0].spans,)),
    )
    state, policy = goal.start(2), resolving(problem)
    frame = policy.encode({})
    frame = frame._replace(**{name: np.repeat(getattr(frame, name), 2, 0) for name in ("features", "known", "groups")})
    made = decision_of(frame, np.zeros((1, 0)), 1, np.ones(2))._replace(
        plays=np.ones((2, 1), np.int64), known=np.ones((2, 1, 1)), time=np.array([3.0, 30.0])
    )
    goal.on_decision(state, made, None)
    first = 0.1 * (1.0 - np.array([10 / 17, 5 / 30]))  # of the rounds from 3 to 19, and from 30 to 59
    np.testing.assert_allclose(state.price[:, 0], first)
    goal.on_cancel(state, made)  # used nothing
    goal.on_decision(state, made._replace(time=np.array([13.0, 40.0])), None)
    second = 0.1 * (1.0 - np.array([2 * 10 / 20, 2 * 5 / 40]))  # 10 / 7 and 5 / 20 are more than twice an even use
    np.testing.assert_allclose(state.price[:, 0], np.maximum(first + second, 0.0))
    state.pace.used[:, 0] += [[9.0, 0.0], [0.0, 6.0]]
    goal.on_decision(state, made._replace(time=np.array([13.0, 40.0])), None)  # of the first 10 are used, of the 5 more
    third = 0.1 * (1.0 - np.array([0.0, 0.0]))
    np.testing.assert_allclose(state.price[:, 0], np.maximum(first + second, 0.0) + third)
