"""Changes in mid-campaign: states that another policy adopts, and actions that are withdrawn."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput, StaleDecision
from evenhand.goals import Resolving
from evenhand.live import Campaign
from evenhand.models import BayesianRidge, Sklearn
from evenhand.objectives import Linear
from evenhand.policy.saving import flatten
from evenhand.problem import Budget, NeverWorse, Numeric, Outcome, Problem
from evenhand.recipes import pgd, resolving
from tests import holdouts
from tests.change_worlds import run

SHOP = Problem(
    actions=("nothing", "letter", "call"),
    outcomes=(
        Outcome("sale", free=("nothing",)),
        Outcome("money", free=("nothing",)),
        Outcome("calls", known={"call": 1}),
    ),
    maximize="sale",
    subject_to=(Budget("money", total=30), Budget("calls", total=40)),
    features=(Numeric("visits", 0, 1),),
    horizon=200,
)


def model():
    return BayesianRidge(n_features=6, n_outcomes=2)


def ridden(problem):
    return resolving(problem, model())


def steps(policy, state, count, seed=0, late=()):
    """Go on for some rounds; money that is used, by action."""
    rng, used = np.random.default_rng(seed), dict.fromkeys(policy.problem.actions, 0.0)
    for i in range(count):
        decision = policy.act(state, policy.encode({"visits": rng.random()}))
        u = rng.random(2)
        money = 0.0 if decision.action == "nothing" else float(u[1])
        used[decision.action] += money
        sale = float(decision.action != "nothing" and u[0] < 0.6)
        if i in late:
            late[i] = decision, {"sale": sale, "money": money}
        else:
            policy.observe(state, decision, {"sale": sale, "money": money})
    return used


def with_total(money, **more):
    return replace(SHOP, subject_to=(Budget("money", total=money), Budget("calls", total=40)), **more)


@pytest.mark.parametrize("total", [22.0, 60.0])
def test_another_total_counts_what_was_spent_and_is_never_exceeded(total):
    old, new = ridden(SHOP), ridden(with_total(total))
    state, late = old.start(seed=3), {18: None, 19: None}
    first = steps(old, state, 20, late=late)
    adopted = new.adopt(state, of=old)
    account = new.status(adopted).accounts["money"]
    waits = sum(y["money"] for _, y in late.values())
    assert account.total == total
    assert (adopted.model.ahead < state.model.ahead).all() == (total < 30.0)  # as many rounds can be paid for
    assert not np.array_equal(adopted.model.ahead, state.model.ahead)
    assert account.spent == pytest.approx(sum(first.values()) - waits)
    for decision, y in late.values():
        new.observe(adopted, decision, y)
    assert new.status(adopted).accounts["money"].spent == pytest.approx(sum(first.values()))
    second = steps(new, adopted, 180, seed=1)
    spent = sum(first.values()) + sum(second.values())
    assert spent <= total
    assert spent > 0.9 * total
    assert old.status(state).rounds == 20  # the state that was adopted stays as it was


def test_the_same_policy_goes_on_with_the_same_actions_and_plans_at_once():
    policy = ridden(SHOP)
    state = policy.start(replicas=2, seed=1)
    one = ridden(SHOP)
    adopted = one.adopt(state, of=policy)
    place = next(i for i, g in enumerate(one.goals) if isinstance(g, Resolving))
    assert (adopted.goals[place].due == 0.0).all()
    single = policy.start(seed=1)
    alone = one.adopt(single, of=policy)
    assert steps(policy, single, 60) == steps(one, alone, 60)


def test_each_replica_of_an_adopted_batch_acts_as_it_does_alone():
    world = holdouts.shop(80)
    first = holdouts.policy(world)
    then = resolving(replace(world.problem, subject_to=(Budget("money", total=5.0),)), first.model)
    plays = []
    for replicas in ([0, 1, 2], [1]):
        state = first.start(replicas=replicas)
        _, _, before = run(first, state, world, range(40))
        _, _, after = run(then, then.adopt(state, of=first), world, range(40, 80))
        plays.append(np.concatenate([before, after])[:, replicas.index(1)])
    np.testing.assert_array_equal(*plays)


def test_an_adopted_state_is_saved_and_loaded(tmp_path):
    old, new = ridden(SHOP), ridden(with_total(22.0))
    state = old.start(seed=3)
    steps(old, state, 30)
    adopted = new.adopt(state, of=old)
    new.save(adopted, tmp_path / "state.npz")
    loaded = new.load(tmp_path / "state.npz")
    assert steps(new, adopted, 40, seed=2) == steps(new, loaded, 40, seed=2)


def test_another_objective_is_pursued_by_the_same_model():
    old = ridden(SHOP)
    new = ridden(replace(SHOP, maximize=Linear({"sale": 1.0, "money": -5.0})))
    state = old.start(seed=3)
    steps(old, state, 40)
    adopted = new.adopt(state, of=old)
    np.testing.assert_array_equal(adopted.model.count, state.model.count)
    used = steps(new, adopted, 100, seed=1)
    assert used["letter"] + used["call"] < 3.0  # a sale is worth less than what it costs


def test_withdrawn_actions_are_not_played_and_plans_know_it():
    old, new = ridden(SHOP), ridden(replace(SHOP, withdrawn=("letter",)))
    state = old.start(seed=3)
    assert steps(old, state, 60)["letter"] > 0.0
    adopted = new.adopt(state, of=old)
    assert steps(new, adopted, 140, seed=1)["letter"] == 0.0
    place = next(i for i, g in enumerate(new.goals) if isinstance(g, Resolving))
    # The same contexts with the letter masked by hand in every case, to which the plan must come as well.
    masked = old.adopt(state, of=old)
    masked.goals[place].history.offered[:, :, 1] = False
    rng = np.random.default_rng(1)
    context = old.encode({"visits": rng.random()})
    for policy, other in ((new, new.adopt(state, of=old)), (old, masked)):
        decision = policy.act(other, context._replace(offered=np.array([[True, False, True]])))
        assert decision.action != "letter"
        masked_price = other.goals[place].mu
        if policy is new:
            price = masked_price.copy()
    np.testing.assert_allclose(price, masked_price)


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (
            lambda: ridden(
                replace(
                    SHOP,
                    actions=("nothing", "mail", "call"),
                    outcomes=(
                        Outcome("sale", free=("nothing",)),
                        Outcome("money", free=("nothing",)),
                        SHOP.outcomes[2],
                    ),
                )
            ),
            "problem.actions",
        ),
        (lambda: resolving(SHOP, BayesianRidge(n_features=6, n_outcomes=2, scale=3.0)), "model"),
        (lambda: pgd(SHOP, model(), hard=True), "goals"),
        (lambda: ridden(replace(SHOP, subject_to=SHOP.subject_to[::-1])), "rows of"),
        (lambda: ridden(replace(SHOP, subject_to=SHOP.subject_to[:1])), "rows of"),
        (lambda: ridden(replace(SHOP, features=(Numeric("visits", 0, 2),))), "problem.features"),
    ],
)
def test_a_policy_of_other_parts_is_refused_by_name(made, field):
    old = ridden(SHOP)
    state = old.start()
    with pytest.raises(InvalidInput, match=rf"adopt: {field}") as error:
        made().adopt(state, of=old)
    assert "expected" in str(error.value)


def test_what_was_withdrawn_does_not_come_back():
    old = ridden(replace(SHOP, withdrawn=("letter",)))
    with pytest.raises(InvalidInput, match=r"adopt: problem\.withdrawn: expected also \['letter'\]"):
        ridden(SHOP).adopt(old.start(), of=old)


@pytest.mark.parametrize(("names", "message"), [(("leter",), "did you mean letter"), (SHOP.actions, "fewer than all")])
def test_withdrawn_actions_are_some_of_the_problem(names, message):
    with pytest.raises(InvalidInput, match=message):
        replace(SHOP, withdrawn=names)


def test_nothing_is_played_where_only_withdrawn_actions_are_offered():
    policy = ridden(replace(SHOP, withdrawn=("letter", "call")))
    state = policy.start()
    decision = policy.decide(state, policy.encode({"visits": 1.0}, offered=("letter",)))
    assert decision.plays.item() == -1
    case = policy.encode({"visits": 1.0})
    said = policy.explain(state, case, policy.decide(state, case)).splitlines()
    shown = [line for line in said if line.startswith(("  nothing", "  letter", "  call"))]
    assert [line.endswith("withdrawn") for line in shown] == [False, True, True]


def test_a_decision_from_before_its_action_was_withdrawn_is_not_committed():
    old, new = ridden(SHOP), ridden(replace(SHOP, withdrawn=("letter",)))
    state, case = old.start(seed=3), old.encode({"visits": 1.0})
    early = old.decide(state, old.encode({"visits": 1.0}, offered=("letter",)))
    adopted = new.adopt(state, of=old)
    with pytest.raises(StaleDecision, match="'letter' was withdrawn since the decision was made"):
        new.commit(adopted, case, early)
    new.enter(adopted, case, early)  # it was carried out before


def test_a_decision_that_is_committed_later_leaves_the_state_that_acting_leaves():
    """What was withdrawn is out of the contexts that plans keep, whichever way a round came in."""
    policy, once = ridden(SHOP), ridden(replace(SHOP, withdrawn=("letter",)))
    states = []
    for way in ("act", "commit", "enter"):
        state = once.adopt(policy.start(seed=3), of=policy)
        for i in range(12):
            context = once.encode({"visits": i % 3})
            decision = once.act(state, context) if way == "act" else once.decide(state, context)
            if way != "act":
                {"commit": once.commit, "enter": once.enter}[way](state, once.encode({"visits": i % 3}), decision)
            once.observe(state, decision, {"sale": float(decision.action == "call"), "money": 0.0})
        states.append({path: z for path, z in flatten(state) if "tokens" not in path})
    for other in states[1:]:
        for path, z in states[0].items():
            np.testing.assert_array_equal(z, other[path], err_msg=path)


def test_a_campaign_does_not_bring_a_withdrawn_action_back():
    policy = resolving(replace(SHOP, withdrawn=("letter",)))
    campaign = Campaign.open("memory://", "letters", policy, seed=1, on_expiry="release")
    with pytest.raises(InvalidInput, match=r"policy: problem\.withdrawn: expected also \['letter'\]"):
        campaign.switch(resolving(SHOP))
    assert campaign.decide({"visits": 0.5}, "1").action != "letter"


OLD = NeverWorse("sale", than="usual", alpha=0.1, slack=10)


def small(high=1.0, budget=None, limits=(), horizon=300):
    """A problem with one action that costs, and a baseline."""
    return Problem(
        actions=("no", "go"),
        outcomes=(Outcome("sale"), Outcome("money", high=high, free=("no",)), Outcome("usual", known=0.3)),
        maximize="sale",
        subject_to=(budget or Budget("money", total=20), *limits),
        horizon=horizon,
    )


def for_small(problem, holdout=None):
    return resolving(problem, BayesianRidge(n_features=2, n_outcomes=2), holdout=holdout)


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        (small(), small(high=4.0), "problem.outcomes"),  # what waits would give back more than it holds
        (
            small(budget=Budget("money", total=8, per=150)),
            small(budget=Budget("money", total=8, per=100), horizon=200),
            "",
        ),
        (small(budget=Budget("money", total=8, per=150)), small(budget=Budget("money", total=8, per=200)), ""),
        (small(limits=(OLD,)), small(limits=(replace(OLD, slack=0.0),)), "NeverWorse"),
        (small(limits=(OLD,)), small(limits=(replace(OLD, action="go"),)), "NeverWorse"),
    ],
)
def test_what_sums_and_holds_were_made_under_stays(before, after, field):
    old, new = (for_small(p) for p in (before, after))
    with pytest.raises(InvalidInput, match=f"adopt: {field}"):
        new.adopt(old.start(), of=old)


def test_spans_with_other_allowances_are_adopted_and_kept():
    old, new = (for_small(small(budget=Budget("money", total=t, per=150))) for t in (8, 5))
    assert new.status(new.adopt(old.start(), of=old)).accounts["money"].left_now == 5.0


def test_rounds_held_out_by_another_lottery_are_not_compared():
    old, new = (for_small(small(), holdout=h) for h in (0.1, 0.2))
    with pytest.raises(InvalidInput, match=r"adopt: choice"):
        new.adopt(old.start(), of=old)


def test_a_model_whose_state_is_no_array_is_refused_as_it_would_forget():
    linear_model = pytest.importorskip("sklearn.linear_model")
    learner = Sklearn(estimator=linear_model.SGDRegressor(), n_features=6, n_outcomes=2, mode="partial_fit")
    old, new = (resolving(p, learner) for p in (SHOP, with_total(20)))
    with pytest.raises(InvalidInput, match=r"adopt: state: expected one of arrays alone.*learns by partial_fit"):
        new.adopt(old.start(), of=old)


@pytest.mark.parametrize(("totals", "per"), [((20, 600), None), ((600, 20), None), ((20, 350), None), ((4, 60), 100.0)])
def test_the_first_decision_after_another_budget_has_the_prices_of_that_budget(totals, per):
    problem = Problem(
        actions=("none", "call"),
        features=(Numeric("x", 0, 1),),
        outcomes=(Outcome("answer"), Outcome("cost", known={"call": 1})),
        maximize="answer",
        horizon=1000,
    )
    old, new = (resolving(replace(problem, subject_to=(Budget("cost", total=total, per=per),))) for total in totals)
    state, luck = old.start(seed=1), np.random.default_rng(2)
    for _ in range(310):
        x = luck.random()
        decision = old.act(state, old.encode({"x": x}))
        chance = 0.2 + 0.6 * x if decision.action == "call" else 0.2
        old.observe(state, decision, {"answer": luck.random() < chance})
    adopted = new.adopt(state, of=old)
    first, second = (new.act(adopted, new.encode({"x": 0.7})).row_prices[0, 1] for _ in range(2))
    earlier = old.status(state).prices["cost"]
    assert first == pytest.approx(second, rel=0.2, abs=0.02)
    assert abs(first - earlier) > 2 * abs(first - second)
