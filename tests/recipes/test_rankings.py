"""Recipes for rankings: the order is right, the books are right, and what is late, lost or absent does no harm."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.choices import EpsilonGreedy, Gibbs, TopK
from evenhand.core.errors import InvalidInput
from evenhand.environments import Audience, Delayed, Listeners, Phases, Ranking
from evenhand.goals import DualGradient, FrankWolfe
from evenhand.models import Bilinear, Fixed, Ridge, SelfNormalised
from evenhand.objectives import GeneralizedGini, Linear, WeightedSum
from evenhand.problem import Budget, Floor, Parity
from evenhand.recipes import fairlearn_rank, fw_linucb, fw_linucb_rank, fw_rank, linucb_rank, unbiased_linucb_rank
from evenhand.run import play, simulate
from tests import accounts
from tests.choices import plain
from tests.properties import drawn
from tests.rankings import SMALL, TASTES, absent

BLIND = Bilinear(n_user_features=2, n_item_features=2, ridge=0.1)


def spread(world, beta=0.5):
    """Clicks and evenly spread exposures."""
    fair = GeneralizedGini.difference(world.exposures)
    return replace(world, maximize=WeightedSum(((1.0, Linear({"click": 1.0})), (beta, fair))))


def bound(world, fees=None, rate=0.8, **options):
    """The same under a floor, a parity and a budget, which hold for all items that are labelled."""
    subject_to = (
        Floor("exposure", rate=0.9, by="label"),
        Parity("click", by="label", tolerance=0.05),
        Budget("fee", rate=rate),
    )
    return replace(world, fees=fees or {"song": 1.0, "book": 0.5}, subject_to=subject_to, **options)


def rounds(policy, world, replicas=2, seed=3, steps=None):
    """A state and what happens to it."""
    state = policy.start(seed=seed, replicas=replicas)
    there = world.start(seed, np.arange(replicas))
    return state, play(policy, state, there, range(steps or there.steps))


def lists(playable, k):
    """All lists of k items, or of as many as there are."""
    items = np.flatnonzero(playable)
    return itertools.permutations(items.tolist(), min(k, len(items)))


# Proposition 4


@drawn(items=5, slots=5, offered=5, level=[-2.0, 0.0, 1.0], alike=bool)
def test_the_best_by_worth_are_the_best_of_all_lists(items, slots, offered, level, alike, seed):
    """For any places that never look more often further down; a negative worth is shown where slots must be filled."""
    rng, slots = np.random.default_rng(seed), min(slots, items)
    worth, looked = rng.normal(level, size=(1, 1, items)), np.sort(rng.random(slots))[::-1]
    looked = np.full(slots, looked[0]) if alike else looked
    playable = np.zeros((1, items), bool)
    playable[0, rng.permutation(items)[:offered]] = True
    (made,) = plain.pick(TopK(slots), plain.worth(worth), plain.offer(playable)).plays
    assert (made >= 0).sum() == min(slots, playable.sum())
    w = worth[0, 0]
    best = max(sum(b * w[a] for b, a in zip(looked, order, strict=False)) for order in lists(playable[0], slots))
    assert sum(b * w[a] for b, a in zip(looked, made, strict=True) if a >= 0) == pytest.approx(best, abs=1e-12)


@given(items=st.integers(2, 5), slots=st.integers(1, 4), away=st.booleans(), seed=st.integers(0, 10_000))
@settings(max_examples=12, deadline=None)
def test_what_a_list_adds_at_the_present_prices_is_most_for_the_one_that_is_shown(items, slots, away, seed):
    """Exposures, clicks, floors, parities of learned outcomes and fees: all goals, by brute force over lists and looks.

    Position weights are random, and the policy does not know them.
    """
    rng, slots = np.random.default_rng(seed), min(slots, items)
    looked = np.sort(rng.uniform(0.05, 1.0, slots))[::-1]
    audience = Listeners(users=3, items=items, factors=2, seed=seed).audience
    labels = {name: "ab"[i % 2] for i, name in enumerate(audience.names)}
    world = Ranking(audience=audience, horizon=40, slots=slots, position=tuple(looked), labels=labels)
    fees = {name: float(fee) for name, fee in zip(audience.names, rng.random(items), strict=True)}
    world = bound(spread(world), fees, rate=float(slots))
    world = absent(world) if away else world
    policy = fw_linucb_rank(world.problem, BLIND, step=0.3, hard=False)
    state, steps = rounds(policy, world, replicas=1, seed=seed, steps=25)
    for _ in steps:
        pass
    context = world.start(seed, np.arange(1)).context(25)
    shown = policy.decide(state, context)
    priced = [(g, g.price(state.goals[i])[0].sum(1)[0]) for i, g in enumerate(policy.goals) if hasattr(g, "price")]
    assert any((q != 0.0).any() for g, q in priced if isinstance(g, DualGradient))
    clicks = policy.model.value(state.model, context.features, np.ones((1, 1, 1, 1)), np.zeros((1, 0))).mean[0, 0]

    def adds(order):
        """The prices times the expected rows of a list, over all sets of places that may be looked at."""
        total, plays = 0.0, np.full((1, slots), -1)
        plays[0, : len(order)] = order
        frame = shown._replace(groups=context.groups[:, np.maximum(plays[0], 0)], plays=plays)
        for seen in itertools.product((0.0, 1.0), repeat=len(order)):
            chance = math.prod(b if s else 1 - b for b, s in zip(looked, seen, strict=False))
            seen = np.array([*seen, *[0.0] * (slots - len(order))])[None, :, None]
            y = clicks[np.maximum(plays, 0)][:, :, None] * seen
            z = context.known[:, np.maximum(plays[0], 0)] * seen
            total += chance * sum(float(q @ g.rows.post(frame, shown.shares, y, z)[0]) for g, q in priced)
        return total

    best = max(adds(order) for order in lists(context.offered[0], slots))
    mine = [a for a in shown.plays[0].tolist() if a >= 0]
    assert len(mine) == min(slots, context.offered.sum())
    assert adds(mine) == pytest.approx(best, rel=1e-7, abs=1e-9)


# Recipes that are one another


def test_without_fairness_it_is_the_baseline_of_utility_action_for_action():
    world = replace(SMALL, horizon=300)
    plays = []
    for policy in (fw_linucb_rank(world.problem, TASTES), linucb_rank(world.problem, TASTES)):
        _, steps = rounds(policy, world, replicas=3)
        plays.append([step.decision.plays for step in steps])
    np.testing.assert_array_equal(*plays)
    other = fw_linucb_rank(spread(world).problem, TASTES)
    assert (np.array([step.decision.plays for step in rounds(other, spread(world), 3)[1]]) != plays[0]).any()


def test_factors_and_their_products_take_the_same_actions_under_constraints():
    world = bound(spread(replace(SMALL, horizon=200)))
    flat = replace(world, flat=True)
    plain = Ridge(n_features=4, ridge=TASTES.ridge, width=TASTES.width)
    plays = []
    for w, model in ((world, TASTES), (flat, plain)):
        _, steps = rounds(fw_linucb_rank(w.problem, model, step=0.1), w)
        plays.append([step.decision.plays for step in steps])
    np.testing.assert_array_equal(*plays)


# Books


def counted(world, policy, delay=0, replicas=3):
    """Exposures and clicks by item, and fees, that arrived, counted by hand; with the state at the end."""
    late, m = Delayed(world, delay), len(world.problem.actions)
    state, steps = rounds(policy, late, replicas)
    shown, clicks, fees = np.zeros((replicas, m)), np.zeros((replicas, m)), np.zeros(replicas)
    each = world.problem.declared[:, -1]
    for step in steps:
        for arrival in step.arrivals:
            for r, p in np.argwhere(arrival.exposed):
                item = arrival.decision.plays[r, p]
                shown[r, item] += 1
                clicks[r, item] += arrival.y[r, p, 0]
                fees[r] += each[item]
    return state, shown, clicks, fees


@pytest.mark.parametrize("delay", [0, 9])
def test_books_and_traces_are_what_was_looked_at_and_clicked(delay):
    world = bound(spread(replace(SMALL, horizon=150)))
    policy = fw_linucb_rank(world.problem, TASTES)
    state, shown, clicks, fees = counted(world, policy, delay)
    trace = simulate(policy, Delayed(world, delay), replicas=3, seed=3, progress=False)
    problem = world.problem
    items = [problem.columns.index(("item", name)) for name in problem.actions]
    labels = [problem.columns.index(("label", name)) for name in "ab"]
    np.testing.assert_allclose(trace.group_totals[-1][:, items, 1], shown)
    np.testing.assert_allclose(trace.group_totals[-1][:, items, 0], clicks)
    np.testing.assert_allclose(trace.group_totals[-1][:, labels, 0], [[c[:2].sum(), c[2:].sum()] for c in clicks])
    np.testing.assert_allclose(trace.totals[-1], np.stack([clicks.sum(1), shown.sum(1), fees], 1))
    goals = dict(zip(map(type, policy.goals), zip(policy.goals, state.goals, strict=True), strict=True))
    goal, books = goals[FrankWolfe]
    averages = np.column_stack([clicks.sum(1), shown]) / (150 - delay)
    np.testing.assert_allclose(goal.average(books), averages)
    left = problem.subject_to[2].total_over(150) - fees
    held = accounts.held(policy, state)[:, 0]
    assert (held > 0).all() == (delay > 0)
    np.testing.assert_allclose(accounts.left(policy, state)[:, 0] + held, left)
    of_labels = np.stack([shown[:, :2].sum(1), shown[:, 2:].sum(1)], 1)
    np.testing.assert_allclose(trace.measure(problem.subject_to[0])[-1], of_labels.min(1) / 75)


def test_decisions_that_are_never_learned_and_those_that_expire():
    """Every third outcome is lost; half of these expire. Nothing but the budget remembers them."""
    world = bound(spread(replace(SMALL, horizon=120)), rate=0.5)
    policy = fw_linucb_rank(world.problem, TASTES)
    state, there, learned = policy.start(seed=1, replicas=2), world.start(1, np.arange(2)), 0
    goals = dict(zip(map(type, policy.goals), state.goals, strict=True))
    for step in range(120):
        context = there.context(step)
        decision = policy.act(state, context)
        _, (arrival,) = there.respond(step, context, decision)
        if step % 3:
            policy.learn(state, decision, arrival.y, exposed=arrival.exposed)
            learned += 1
            continue
        prices = goals[DualGradient].price
        before = [prices.copy(), goals[FrankWolfe].total.copy(), state.model.count.copy()]
        if step % 6:
            policy.expire(state, decision)
            with pytest.raises(InvalidInput, match="waits"):
                policy.learn(state, decision, arrival.y, exposed=arrival.exposed)
        paid = decision.known[:, :, 1].any(1)
        assert (prices[~paid, -1] <= before[0][~paid, -1]).all()  # who saw nothing that has a fee, owes none
        before[0][~paid, -1] = prices[~paid, -1]
        for z, then in zip([prices, goals[FrankWolfe].total, state.model.count], before, strict=True):
            np.testing.assert_array_equal(z, then)
    np.testing.assert_array_equal(goals[FrankWolfe].rounds, learned)
    assert (accounts.held(policy, state) > 0).all()  # what may have been looked at stays held back
    assert (accounts.left(policy, state) >= -1e-9).all()


@pytest.mark.parametrize("per", ["impression", "placement"])
@pytest.mark.parametrize("delay", [0, 25])
@pytest.mark.parametrize("choice", [TopK(3), EpsilonGreedy(0.3, 3), Gibbs(0.1, 3)], ids=repr)
def test_fees_are_never_exceeded_in_any_replica(per, delay, choice):
    rate = {"impression": 0.2, "placement": 0.6}[per]  # 0.5 is due for the cheapest list of three
    world = bound(replace(SMALL, horizon=300), fee_per=per, rate=rate)
    model = BLIND if not choice.reads_bonus else TASTES
    policy = fw_rank(world.problem, model, choice, margin=0.0)
    trace = simulate(policy, Delayed(world, delay), replicas=8, seed=4, progress=False)
    assert (trace.totals[:, :, 2] <= 300 * rate + 1e-6).all()
    assert (trace.total("fee") >= 150 * rate).all()


def test_many_items_make_small_receipts():
    """2,500 items, all of whose exposures an objective reads: one reading, and prices of rows once."""
    audience = Listeners(users=3, items=2500, factors=3).audience
    world = spread(Ranking(audience=audience, horizon=30, slots=10), beta=1.0)
    policy = fw_linucb(world.problem, Ridge(n_features=6, width=Fixed(0.1)), optimism="row")
    for step in rounds(policy, world, replicas=1, steps=3)[1]:
        assert step.decision.prices.shape == (1, 1, 1, 1)
        kept = {name: z.nbytes for name, z in step.decision._asdict().items() if name not in ("shares", "names")}
        assert sum(kept.values()) < 22_000  # 2,501 prices of rows are 20,008 of them; the rest is the problem's
    (goal,) = (g for g in policy.goals if isinstance(g, FrankWolfe))
    assert len(goal.rows) == 2501


# Edges


@pytest.mark.parametrize(("items", "slots"), [(1, 1), (3, 3), (4, 1)])
def test_a_single_item_as_many_slots_as_items_and_a_single_slot(items, slots):
    audience = Audience(users=SMALL.audience.users, items=SMALL.audience.items[:items])
    world = Ranking(audience=audience, horizon=80, slots=slots)
    world = spread(world) if items > 1 else world
    for policy in (
        fw_linucb_rank(world.problem, TASTES),
        unbiased_linucb_rank(world.problem, TASTES),
        fairlearn_rank(world.problem, TASTES, share=slots / items),
        fw_rank(world.problem, BLIND, Gibbs(0.1, slots)),
    ):
        trace = simulate(policy, world, replicas=2, record="all", progress=False)
        made = np.sort(trace.plays.actions, 2)
        assert (np.diff(made) > 0).all()
        assert (made >= 0).all()
        if slots == items:
            assert (made == np.arange(items)).all()


def test_items_come_and_go_and_a_list_is_as_long_as_the_offer_allows():
    world = absent(spread(replace(SMALL, horizon=200)))
    policy = fw_linucb_rank(world.problem, TASTES)
    lengths = set()
    for step in rounds(policy, world, replicas=4)[1]:
        for made, may in zip(step.decision.plays, step.context.offered, strict=True):
            own = made[made >= 0]
            assert may[own].all()
            assert len(set(own.tolist())) == len(own) == min(3, may.sum())
            lengths.add(len(own))
    assert lengths == {0, 1, 2, 3}


def test_an_item_that_comes_back_is_shown_until_it_has_caught_up():
    plan = np.array([[True, True, True, False], [True] * 4])
    world = spread(replace(SMALL, slots=2, horizon=200, offers=Phases(plan, length=100)), beta=4.0)
    policy = fw_linucb_rank(world.problem, TASTES)
    trace = simulate(policy, world, replicas=3, record="all", progress=False)
    late = (trace.plays.actions == 3).any(2)
    assert not late[:100].any()
    assert late[100:150].all(0).all()


# What is refused


def waiting(replicas=1):
    world = SMALL
    policy = linucb_rank(world.problem, TASTES)
    state = policy.start(replicas=replicas)
    return policy, state, policy.act(state, world.start(0, np.arange(replicas)).context(0))


def test_what_is_clicked_but_not_exposed_is_refused_by_name():
    policy, state, decision = waiting(2)
    y, exposed = np.zeros((2, 3, 1)), np.ones((2, 3), bool)
    y[1, 2], exposed[1, 2] = 1.0, False
    with pytest.raises(
        InvalidInput, match=r"^outcome 'click' of replica 1: expected 0 or NaN where .* not exposed, got"
    ):
        policy.learn(state, decision, y, exposed=exposed)
    assert state.model.count.tolist() == [0.0, 0.0]
    y[1, 2] = np.nan
    policy.learn(state, decision, y, exposed=exposed)  # which still waits
    assert state.model.count.tolist() == [3.0, 2.0]


def test_what_is_clicked_but_not_exposed_may_be_called_unobserved():
    policy, state, decision = waiting()
    y, exposed = np.ones((1, 3, 1)), np.array([[True, True, False]])
    policy.learn(state, decision, y, observed=exposed[:, :, None], exposed=exposed)
    assert state.model.count.tolist() == [2.0]


def test_feedback_for_an_item_that_was_not_shown_is_refused():
    """At an empty place, or for other items than those of the receipt."""
    world = absent(SMALL)
    policy, there = linucb_rank(world.problem, TASTES), world.start(0, np.arange(1))
    state, step, decision = policy.start(), 0, None
    while decision is None or decision.plays[0, 2] >= 0:
        decision = policy.act(state, there.context(step))
        step += 1
    with pytest.raises(InvalidInput, match=r"^outcome 'click': expected 0 or NaN where nothing was"):
        policy.learn(state, decision, np.array([[[0.0], [0.0], [1.0]]]))
    shown = decision._replace(plays=(decision.plays + 1) % 4)
    with pytest.raises(InvalidInput, match=r"^decision"):
        policy.learn(state, shown, np.zeros((1, 3, 1)))
    policy.learn(state, decision, np.zeros((1, 3, 1)))


def test_an_item_cannot_be_in_a_list_twice():
    policy, there = linucb_rank(SMALL.problem, TASTES), SMALL.start(0, np.arange(1))
    state, context = policy.start(), there.context(0)
    decision = policy.decide(state, context)
    with pytest.raises(InvalidInput, match=r"^decision.plays\[0\]: expected different candidates below 4, or -1"):
        policy.commit(state, context, decision._replace(plays=np.array([[2, 1, 2]])))
    policy.commit(state, context, decision)


def test_widths_are_used():
    """Both bonuses of the ranking and of the source's radius are positive before anything is known."""
    policy = fw_linucb_rank(
        SMALL.problem, Bilinear(n_user_features=2, n_item_features=2, width=SelfNormalised(delta=0.1))
    )
    state, context = policy.start(), SMALL.start(0, np.arange(1)).context(0)
    assert (policy.worth(state, context, policy.decide(state, context)) > 0.0).all()
