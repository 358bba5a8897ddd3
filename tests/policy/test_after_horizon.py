"""A policy decides rounds after the horizon, if it is asked to: each as the last one, with what is left of budgets."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.policy.after_horizon import decide_late, unguarded_constraints
from evenhand.policy.saving import flatten
from evenhand.problem.end import is_over
from tests.rows import for_each

COST = {"none": 0, "call": 3, "gift": 7}
SHOP = eh.Problem(
    actions=("none", "call", "gift"),
    features=(eh.Numeric("age", 20, 60),),
    outcomes=(
        eh.Outcome("answer", free=("none",)),
        eh.Outcome("cents", high=9, free=("none",)),
        eh.Outcome("calls", known={"call": 1}),
    ),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=200, hard=True), eh.Budget("calls", total=15, hard=True)),
    horizon=40,
)
RECIPES = (
    *("pgd", "pgd_adaptive", "resolving", "primal_lp", "lyapunov", "lagrange_cbw"),
    *("ucb_bwk", "pd_bwk", "ucb_bwcr", "primal_bwc", "greedy_bwk"),
)
SEVERAL = ("pgd", "resolving", "lyapunov", "lagrange_cbw")  # that make several plays


def spend(policy, late, *, seed=0, delay=3, saved=None):
    """Play the horizon, mostly with nothing offered that costs, then late rounds; yield every state and decision."""
    luck, state, waiting = np.random.default_rng(seed), policy.start(seed=seed), []
    for i in range(policy.problem.horizon + late):
        offered = ["none"] if i < policy.problem.horizon and i % 4 else None
        context = policy.encode({"age": float(luck.uniform(20, 60))}, offered=offered)
        decision = decide_late(policy, state, context)
        if i < policy.problem.horizon:
            same = policy.decide(state, context)
            assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(same[:-1], decision[:-1], strict=True))
        else:
            assert policy.decide(state, context).counted[0] == 0.0
        policy.enter(state, context, decision)
        yield i, state, decision
        names = [policy.problem.actions[a] if a >= 0 else "" for a in decision.plays[0]]
        each = [
            {"answer": float(z != "none" and luck.random() < 0.6), "cents": float(luck.integers(0, 3)) + COST[z]}
            if z not in ("", "none")
            else {"answer": 0.0, "cents": 0.0}
            if z
            else None
            for z in names
        ]
        if decision.counted[0]:
            waiting.append((decision, each if len(each) > 1 else each[0]))
        while len(waiting) > delay:
            policy.observe(state, *waiting.pop(0))
        if i == saved:
            path = yield
            policy.save(state, path)
            state = policy.load(path)


@pytest.mark.parametrize(("recipe", "plays"), [*((z, 1) for z in RECIPES), *((z, 2) for z in SEVERAL)])
def test_no_budget_is_overspent_in_300_late_rounds_and_what_is_left_is_spent(recipe, plays):
    budgets = eh.Budget("cents", total=200 * plays, hard=True), eh.Budget("calls", total=15, hard=True)
    shop = replace(SHOP, n_plays=plays, subject_to=budgets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of recipes that are for many rounds
        policy = getattr(eh.recipes, recipe)(shop, eh.PerAction.of(shop))
    assert unguarded_constraints(policy) == ()
    before, paid, late = {}, 0, 0
    for i, state, decision in spend(policy, 300):
        accounts = policy.status(state).accounts
        for name, account in accounts.items():
            assert account.hard
            assert account.left >= -1e-9, (i, name)
        if i == shop.horizon - 1:
            before = {name: account.left for name, account in accounts.items()}
            assert policy.over(state).all()
        if i >= shop.horizon:
            late += int(decision.counted[0])
            paid += int((decision.plays > 0).any())
    assert late == 300
    assert paid > 0
    assert before["cents"] > 90
    assert accounts["cents"].left < 0.5 * before["cents"]
    assert state.t[0] == shop.horizon + 300


@pytest.mark.parametrize("recipe", ["resolving", "primal_lp", "pgd"])
def test_a_state_that_is_saved_in_the_middle_goes_on_with_the_same_bits(recipe, tmp_path):
    policy = getattr(eh.recipes, recipe)(SHOP, eh.PerAction.of(SHOP))
    whole = [(decision, state.t.copy()) for _, state, decision in spend(policy, 60, delay=0)]
    again, rounds = [], spend(policy, 60, delay=0, saved=SHOP.horizon + 20)
    for found in rounds:
        if found is None:
            found = rounds.send(tmp_path / "state.npz")
        again.append((found[2], found[1].t.copy()))
    assert len(whole) == len(again) == SHOP.horizon + 60
    for (a, t), (b, u) in zip(whole, again, strict=True):
        assert np.array_equal(t, u)
        assert np.array_equal(a.plays, b.plays)
        assert np.array_equal(a.row_prices, b.row_prices)


def test_replicas_are_late_each_by_itself():
    """One that is past its horizon, beside one that is not yet, decides as it does alone."""
    policy = eh.resolving(SHOP, eh.PerAction.of(SHOP))
    luck = np.random.default_rng(1)
    both, alone = policy.start(replicas=2), [policy.start(replicas=[r]) for r in range(2)]
    for i in range(SHOP.horizon + 30):
        one = policy.encode({"age": float(luck.uniform(20, 60))})
        waits = [one, one._replace(offered=np.zeros((1, 3), bool)) if i < 10 else one]  # the second one begins later
        context = one._replace(
            **{field: np.concatenate([getattr(z, field) for z in waits]) for field in ("features", "known", "groups")},
            offered=np.concatenate([z.offered for z in waits]),
        )
        made = decide_late(policy, both, context)
        policy.enter(both, context, made)
        policy.learn(both, made, np.where(made.plays[:, :, None] > 0, [[[1.0, 2.0]]], 0.0))
        for r, state in enumerate(alone):
            own = decide_late(policy, state, waits[r])
            policy.enter(state, waits[r], own)
            policy.learn(state, own, np.where(own.plays[:, :, None] > 0, [[[1.0, 2.0]]], 0.0))
            assert own.plays[0].tolist() == made.plays[r].tolist(), (i, r)
            assert np.array_equal(own.row_prices[0], made.row_prices[r]), (i, r)
    assert both.t.tolist() == [SHOP.horizon + 30, SHOP.horizon + 20]


def sides(constraint):
    """A problem in which each side answers another action, and gains pull towards one side."""
    return eh.Problem(
        actions=("none", "call", "gift"),
        features=(eh.Numeric("age", 20, 60),),
        outcomes=(eh.Outcome("answer"), eh.Outcome("cents", high=9.0), eh.Outcome("gain")),
        maximize="gain",
        subject_to=(constraint,),
        groups=(eh.Groups("side", {"left": 0.5, "right": 0.5}),),
        horizon=200,
    )


def played(problem, late, seed):
    """The status at the horizon and after the late rounds."""
    policy, luck, found = eh.resolving(problem, eh.PerAction.of(problem)), np.random.default_rng(seed), []
    state = policy.start(seed=seed)
    for _ in range(problem.horizon + late):
        side = ("left", "right")[luck.integers(2)]
        context = policy.encode({"age": float(luck.uniform(20, 60)), "side": side})
        decision = decide_late(policy, state, context)
        policy.enter(state, context, decision)
        a = int(decision.plays[0, 0])
        answer = (0.3, 0.9 if side == "left" else 0.3, 0.3 if side == "left" else 0.9)[a]
        gain = (0.1, 0.9 if side == "left" else 0.3, 0.5)[a]
        outcomes = {"answer": float(luck.random() < answer), "gain": float(luck.random() < gain)}
        policy.observe(state, decision, {**outcomes, "cents": 2.0 * a})
        found.append(policy.status(state))
    return found[problem.horizon - 1], found[-1]


@for_each("seed", range(3))
def test_averages_are_kept_after_the_horizon(seed):
    """At prices that stayed as the horizon left them, the gap grows from 0.03 to 0.17 and more."""
    _, end = played(sides(eh.Parity("answer", by="side", tolerance=0.02)), 400, seed)
    assert end.rounds == 600
    assert end.standings["answer gap by side"].value < 0.045


@for_each("seed", range(2))
def test_a_floor_holds_for_late_rounds_as_well(seed):
    """Calls bring answers, and cost what is gained: half of the rounds are for each."""
    shop = eh.Problem(
        actions=("none", "call"),
        outcomes=(eh.Outcome("answer"), eh.Outcome("gain")),
        maximize="gain",
        subject_to=(eh.Floor("answer", rate=0.5),),
        horizon=200,
    )
    policy, luck = eh.resolving(shop, eh.PerAction.of(shop)), np.random.default_rng(seed)
    state, context, found = policy.start(seed=seed), policy.encode({}), []
    for _ in range(shop.horizon + 400):
        decision = decide_late(policy, state, context)
        policy.enter(state, context, decision)
        calls = bool(decision.plays[0, 0])
        chances = (0.9, 0.1) if calls else (0.1, 0.9)
        policy.observe(
            state, decision, dict(zip(policy.problem.learned, map(float, luck.random(2) < chances), strict=True))
        )
        (standing,) = policy.status(state).standings.values()
        found.append(standing.value)
    assert found[199] > 0.48
    assert 0.48 < found[-1] < 0.55


@pytest.mark.parametrize("recipe", ["resolving", "primal_lp"])
def test_prices_are_solved_again_after_the_horizon(recipe):
    policy, solved = getattr(eh.recipes, recipe)(SHOP, eh.PerAction.of(SHOP)), []
    for _, state, _ in spend(policy, 150):
        solved.append(next(int(goal.solved[0]) for goal in state.goals if hasattr(goal, "solved")))
    assert solved[SHOP.horizon - 1] == solved[SHOP.horizon - 2] > 1  # none for the rounds after the last one
    assert solved[-1] > solved[SHOP.horizon] + 5


def test_a_limit_that_masks_a_late_candidate_is_noted():
    shop = replace(SHOP, horizon=1, subject_to=(eh.Budget("cents", total=9, hard=True),))
    policy = eh.resolving(shop, eh.PerAction.of(shop))
    state, context = policy.start(), policy.encode({"age": 33.0}, offered=["gift"])
    found = []
    for _ in range(2):
        decision = decide_late(policy, state, context)
        policy.enter(state, context, decision)
        found.append((decision.counted[0], decision.restricted[0]))
    assert found == [(1.0, 0.0), (0.0, 1.0)]
    assert policy.decide(state, context).restricted[0] == 0.0  # the horizon masks everything


@for_each("seed", range(2))
def test_a_soft_budget_is_named_and_what_a_plan_sees_spent_is_not_spent_again(seed):
    problem = sides(eh.Budget("cents", rate=1.0, hard=False))
    assert unguarded_constraints(eh.resolving(problem, eh.PerAction.of(problem))) == ("cents",)
    before, end = played(problem, 200, seed)
    assert before.accounts["cents"].spent > 190
    assert end.accounts["cents"].spent - before.accounts["cents"].spent < 20


def test_a_limit_that_names_no_constraint_keeps_none():
    own = next(
        goal for goal in eh.resolving(SHOP, eh.PerAction.of(SHOP)).goals if isinstance(goal, eh.goals.HardBudget)
    )
    policy = eh.ucb(SHOP, eh.PerAction.of(SHOP))
    assert unguarded_constraints(policy) == ("cents", "calls")
    assert unguarded_constraints(replace(policy, goals=(*policy.goals, own))) == ()
    calls = replace(SHOP, subject_to=SHOP.subject_to[1:])
    one = next(g for g in eh.resolving(calls, eh.PerAction.of(calls)).goals if isinstance(g, eh.goals.HardBudget))
    assert unguarded_constraints(replace(policy, goals=(*policy.goals, one))) == ("cents",)
    assert unguarded_constraints(replace(policy, goals=(*policy.goals, replace(own, constraints=())))) == (
        "cents",
        "calls",
    )


@pytest.mark.parametrize("recipe", ["resolving", "pgd"])
def test_after_the_last_day_the_allowance_of_the_last_one_is_left(recipe):
    """Two days of 20 cents; the run ends within the second one."""
    shop = replace(
        SHOP, subject_to=(eh.Budget("cents", total=20, per=1, hard=True),), horizon=30, until=1.5
    )  # of 30 rounds, 20 come on the first day
    policy = getattr(eh.recipes, recipe)(shop, eh.PerAction.of(shop))
    state, luck = policy.start(), np.random.default_rng(0)
    used = {0: 0.0, 1: 0.0}
    for i in range(150):
        time = i / 20
        context = policy.encode({"age": float(luck.uniform(20, 60))}, offered=["call"], time=time)
        decision = decide_late(policy, state, context)
        assert is_over(shop, float(state.t[0]), time) is (time >= 1.5)
        assert time < 1.5 or policy.decide(state, context).counted[0] == 0.0
        policy.enter(state, context, decision)
        if decision.counted[0]:
            cents = float(luck.integers(2, 5))
            policy.observe(state, decision, {"answer": 1.0, "cents": cents})
            used[min(int(time), 1)] += cents
        if time == 1.0:
            first = used[0]
    assert first == used[0]
    assert all(20 - 9 < z <= 20 for z in used.values())


def test_a_late_decision_is_explained_with_what_fitted_then():
    policy = eh.resolving(SHOP, eh.PerAction.of(SHOP))
    *_, (i, state, decision) = spend(policy, 1, delay=0)
    context = policy.encode({"age": 33.0})
    told = policy.explain(state, context, decision)
    assert i == SHOP.horizon
    assert "after the horizon: as the last round, with what was left of hard limits" in told
    assert "masked" not in told
    nothing = policy.decide(state, context)
    told = policy.explain(state, context, nothing)
    assert told.endswith("nothing was played: nothing fits, or the horizon is over")
    first = policy.start()
    assert "after the horizon" not in policy.explain(first, context, policy.decide(first, context))


def test_every_number_of_a_late_state_is_finite():
    for recipe in ("resolving", "primal_lp", "pgd", "lyapunov"):
        policy = getattr(eh.recipes, recipe)(SHOP, eh.PerAction.of(SHOP))
        *_, (_, state, _) = spend(policy, 100)
        fresh = dict(flatten(policy.start()))
        for path, z in flatten(state):
            kept = fresh[path]
            finite = kept.dtype.kind == "f" and np.isfinite(kept).all()
            assert not finite or np.isfinite(z).all(), (recipe, path)
