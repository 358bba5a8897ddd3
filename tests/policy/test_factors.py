"""Known factors of learned outcomes: a model learns sales, and everything else reads sales times their prices."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import evenhand as eh
from evenhand.choices import TopK
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Worth
from evenhand.environments import Delayed
from evenhand.goals import FrankWolfe, HardBudget
from evenhand.objectives import Linear
from evenhand.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.feasible import reach
from evenhand.problem.rows import Cases, select
from evenhand.run import opt, simulate
from tests.shop import CHANCE, OFFERS, PRICE, SIDES, TIME, WAGE, Shop

PRICES = {"cheap": 2.0, "dear": 10.0, "gift": -3.0}
PROBLEM = eh.Problem(
    actions=("nothing", "cheap", "dear", "gift"),
    outcomes=(
        eh.Outcome("sale", times="price", free=("nothing",), fallback=1.0),
        eh.Outcome("seconds", low=-10.0, high=60.0, times="wage"),
        eh.Outcome("smile"),
        eh.Outcome("price", known=PRICES),
        eh.Outcome("wage", known=0.5),
    ),
    maximize="sale",
    subject_to=(eh.Budget("seconds", total=100.0),),
    horizon=10,
)


def test_amounts_are_outcomes_times_what_is_known_and_declared_zeros():
    known = PROBLEM.declared[None]
    f = PROBLEM.factors.of(known)
    np.testing.assert_array_equal(f[0], [[0, 0.5, 1], [2, 0.5, 1], [10, 0.5, 1], [-3, 0.5, 1]])
    plays = np.array([[3, -1, 1]])
    np.testing.assert_array_equal(PROBLEM.factors.of(known[:, [3, 0, 1]], plays)[0, ::2], f[0, [3, 1]])
    np.testing.assert_array_equal(PROBLEM.amounts(known, np.full((1, 4, 3), 2.0))[0, :, 0], [0, 4, 20, -6])
    np.testing.assert_array_equal(PROBLEM.amount_span, [[-3, -5, 0], [10, 30, 1]])
    low, high = PROBLEM.ranges(("sale", "seconds"))
    np.testing.assert_array_equal([low, high], [[-3, -5], [10, 30]])
    least, most = reach(PROBLEM, select(PROBLEM, ("sale", "seconds")))
    np.testing.assert_array_equal(least, [[0, -5], [0, -5], [0, -5], [-3, -5]])
    np.testing.assert_array_equal(most, [[0, 30], [2, 30], [10, 30], [0, 30]])


def test_a_problem_without_zeros_or_factors_has_none():
    plain = (eh.Outcome("sale"), eh.Outcome("price", known=PRICES))
    problem = replace(PROBLEM, outcomes=plain, subject_to=())
    assert problem.factors is None
    y = np.ones((1, 1, 1))
    assert problem.amounts(np.zeros((1, 1, 1)), y) is y
    rows = select(problem, ("sale", "price"))
    assert rows.pull(Cases(problem.declared[None], np.zeros((1, 1, 0), int)), np.zeros((1, 0)), np.ones((1, 1, 2)))[
        0
    ].shape == (1, 1, 1, 1)


def test_what_is_learned_is_the_outcome_itself():
    policy = eh.uniform(PROBLEM, n_features=1)
    state = policy.start(seed=0, replicas=1)
    context = Context(np.ones((1, 4, 1)), PROBLEM.declared[None], np.zeros((1, 1, 0), int), np.ones((1, 4), bool))
    decision = policy.act(state, context)
    with pytest.raises(InvalidInput, match=r"in \[0, 1\] .*: the outcome itself, which is multiplied by 'price'"):
        policy.observe(state, decision, {"sale": 2.0, "seconds": 0.0, "smile": 0.0})


class _Told:
    """A model that keeps what it is told, and of which every outcome is worth 1 at price 1."""

    n_features, n_outcomes = 1, 3

    def __init__(self):
        self.told = []

    def draws(self, candidates):
        return 0

    def start(self, n_replicas, low, high, horizon):
        self.reach = low, high
        return np.zeros(n_replicas)

    def value(self, state, x, w, u):
        mean = np.broadcast_to(w.sum(3), (*w.shape[:2], x.shape[1])).copy()
        return Worth(mean, 0.0 * mean)

    def update(self, state, x, y, seen, w, lesson=None):
        self.told.append((y[0, 0].tolist(), seen[0, 0].tolist(), w[0, :, 0].tolist()))


def test_ten_rounds_by_hand():
    """The model is told raw outcomes and prices with factors; books, limits and goals read products, by the prices of
    the case; unexposed plays bring 0, fallbacks count times the factor, and what is cancelled leaves no trace."""
    model = _Told()
    limit = HardBudget(
        rows=constraint_rows(PROBLEM)[0],
        total=np.array([100.0]),
        low=PROBLEM.span[0],
        high=PROBLEM.span[1],
        free=PROBLEM.free,
        constraints=PROBLEM.subject_to,
    )
    goal = FrankWolfe(
        rows=select(PROBLEM, ("sale", "smile")), objective=Linear({"sale": 1.0, "smile": 2.0}), start_at=(0.0, 0.0)
    )
    policy = Policy(problem=PROBLEM, model=model, goals=(goal, limit), choice=TopK(1))
    state = policy.start(seed=0, replicas=1)
    np.testing.assert_array_equal(model.reach, [[0, -10, 0], [1, 60, 1]])

    def case(offered, price, wage):
        known = np.tile([[[price, wage]]], (1, 4, 1)).astype(float)
        may = np.array([[a == offered for a in PROBLEM.actions]])
        return Context(np.arange(4.0)[None, :, None], known, np.zeros((1, 1, 0), int), may)

    def budget():
        """What is left and held."""
        account = policy.status(state).accounts["seconds"]
        return [account.left, account.held]

    def play(offered, price, wage, said=None, **also):
        """A round; returns what is left and held after the decision and after the outcome, and its worth."""
        context = case(offered, price, wage)
        decision = policy.decide(state, context)
        policy.commit(state, context, decision)
        before = budget()
        if said is not None:
            y = np.array([[said]], float)
            policy.learn(state, decision, y, **also)
        return decision, before, budget()

    # 1: a cheap sale at its own price of 4, and 6 of at most 60 seconds at a wage of 0.5
    decision, before, after = play("cheap", 4.0, 0.5, [1.0, 6.0, 0.5])
    assert decision.action == "cheap"
    assert (before, after) == ([70.0, 30.0], [97.0, 0.0])
    said, seen, prices = model.told[-1]
    assert (said, seen) == ([1.0, 6.0, 0.5], [True] * 3)
    assert np.sum(prices, 0).tolist() == [4.0, 0.0, 2.0]
    # 2: no sale, and seconds that come back
    _, before, after = play("dear", 10.0, 1.0, [0.0, -10.0, 0.0])
    assert (before, after) == ([37.0, 60.0], [107.0, 0.0])
    # 3: nobody looked
    _, before, after = play("dear", 10.0, 1.0, [0.0, 0.0, 0.0], exposed=np.array([[False]]))
    assert (before, after) == ([47.0, 60.0], [107.0, 0.0])
    # 4: seconds were not observed: their worst case stays held
    seen = np.array([[[True, False, True]]])
    _, before, after = play("dear", 7.0, 0.2, [1.0, np.nan, 1.0], observed=seen)
    assert (before, after) == ([95.0, 12.0], [95.0, 12.0])
    # 5: a wage below 0: at worst -10 seconds at -2
    _, before, after = play("cheap", 2.0, -2.0, [1.0, 5.0, 0.0])
    assert (before, after) == ([75.0, 32.0], [105.0, 12.0])
    # 6: cancelled
    decision, before, _ = play("cheap", 2.0, 0.5)
    assert before == [75.0, 42.0]
    policy.cancel(state, decision)
    assert budget()[0] == 105.0
    # 7: expires: the fallback of a sale is 1, and seconds have none, so that they stay held
    decision, before, _ = play("cheap", 3.0, 0.1)
    policy.expire(state, decision)
    assert before == budget() == [99.0, 18.0]
    # 8: a price of 0
    _, _, after = play("cheap", 0.0, 0.0, [1.0, 60.0, 0.25])
    assert after == [99.0, 18.0]
    assert model.told[-1][0] == [1.0, 60.0, 0.25]
    # 9: late: round 10 comes first
    late, _, _ = play("cheap", 5.0, 1.0)
    _, before, after = play("cheap", 1.0, 0.5, [1.0, 2.0, 1.0])  # 60 + 30 are held beside the 18
    assert (before, after) == ([9.0, 108.0], [38.0, 78.0])
    policy.learn(state, late, np.array([[[1.0, 3.0, 0.0]]]))
    assert budget() == [95.0, 18.0]

    amounts = [4.0, 0.0, 0.0, 7.0, 2.0, 3.0, 0.0, 1.0, 5.0]
    by_hand = {
        "sale": sum(amounts),
        "seconds": 3.0 - 10.0 - 10.0 + 0.0 + 1.0 + 3.0,
        "smile": 2.75,
        "price": 4.0 + 10.0 + 10.0 + 7.0 + 2.0 + 3.0 + 0.0 + 5.0 + 1.0,
        "wage": 0.5 + 1.0 + 1.0 + 0.2 - 2.0 + 0.1 + 0.0 + 1.0 + 0.5,
    }
    status, seen = policy.status(state), {"seconds": 7, "smile": 8}  # of 9 rounds
    assert status.averages == pytest.approx({name: z / seen.get(name, 9) for name, z in by_hand.items()}, abs=1e-12)
    assert status.averages["sale"] == pytest.approx(sum(amounts) / 9)


@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("late", [0, 7])
def test_a_trace_sums_products(plays, late):
    """Recomputed from the worlds' own contexts and raw outcomes."""
    shop = Shop(horizon=60, n_plays=plays, subject_to=(eh.Budget("minutes", rate=0.6),))
    world = Delayed(shop, delay=late) if late else shop
    policy = eh.resolving(shop.problem, eh.Ridge(n_features=6, n_outcomes=2))
    trace = simulate(policy, world, replicas=3, seed=5, record="all", progress=False)
    there, totals, expected = shop.start(5, trace.replicas), np.zeros((3, 4)), np.zeros((3, 2))
    for step in range(60):
        context, actions = there.context(step), trace.plays.actions[step]
        made = (actions >= 0)[:, :, None]
        known = np.where(made, np.take_along_axis(context.known, np.maximum(actions, 0)[:, :, None], 1), 0.0)
        mean = there.expected(context, actions)
        decision = policy.decide(policy.start(seed=0, replicas=3), context)._replace(plays=actions)
        y = np.where(made, there.respond(step, context, decision)[1][0].y, 0.0)
        if step < 60 - late:
            totals[:, :2] += (y * known).sum(1)
            np.testing.assert_allclose(trace.plays.outcomes[step, ..., :2], y * known)
        totals[:, 2:] += known.sum(1)
        expected += (mean * known).sum(1)
    np.testing.assert_allclose(trace.totals[-1], totals, rtol=1e-12)
    np.testing.assert_allclose(trace.expected[-1], expected, rtol=1e-12)
    assert (totals[:, 1] <= 0.6 * 60 * (1.0 + 1e-9)).all()


def test_the_optimum_is_that_of_a_program_of_its_own():
    """HiGHS on the same contexts: lotteries over offers, revenue, and minutes times wages."""
    shop = Shop(subject_to=(eh.Budget("minutes", rate=0.2), eh.Parity("sale", by="side", tolerance=0.5)))
    found = opt(shop, contexts=400, replicas=[2], seed=1, progress=False)
    world, gains, uses, sides = shop.start(1, np.array([2])), [], [], []
    for step in range(400):
        context = world.context(step)
        x = np.array([1.0, context.features[0, 1, 1]])
        gains.append(CHANCE @ x * context.known[0, :, 0])
        uses.append(TIME @ x * context.known[0, :, 1])
        sides.append(context.groups[0, 0, 0])
    gain, use, side = np.array(gains), np.array(uses), np.array(sides)
    rows, bound = [use.ravel() / 400], [0.2]
    for g, share in enumerate(SIDES.values()):
        gap = gain * ((side == g) / share - 1.0)[:, None] / 400
        rows += [gap.ravel(), -gap.ravel()]
        bound += [0.5, 0.5]
    each = np.kron(np.eye(400), np.ones(len(OFFERS)))
    best = linprog(-gain.ravel() / 400, np.array(rows), bound, each, np.ones(400), bounds=(0, 1))
    assert found.value == pytest.approx(-best.fun, rel=1e-7)
    assert np.allclose(shop.problem.declared, np.stack([PRICE, WAGE], 1))
