import numpy as np
import pytest
from hypothesis import strategies as st

from evenhand.choices import Staged, TopK
from evenhand.core.records import Context
from evenhand.goals import Doubling, DualGradient, Falling, Steady
from evenhand.goals.linear_reward import reward
from evenhand.models import Fixed, Logarithmic, Logistic, Ridge
from evenhand.policy import Policy
from evenhand.problem import Budget, Groups, Parity, Rows
from evenhand.problem.constraints import constraint_rows
from evenhand.run import play
from evenhand.testing.promises import decision_of
from tests import twins
from tests.calls import tell
from tests.examples.problems import COURT, EVERYTHING
from tests.problems import pose
from tests.properties import drawn
from tests.worlds import Market


def rides(d=1):
    """Learned costs, so that observed steps wait for the outcome."""
    return Rows.plain([f"c{j}" for j in range(d)], np.eye(d), np.zeros((d, 0)))


def receipt(replicas=1, forced=0.0):
    """A decision of which a dual goal reads no more than whether the values made it."""
    groups, offered = np.zeros((replicas, 1, 0), np.int64), np.ones((1, 1), bool)
    context = Context(np.zeros((replicas, 1, 0)), np.zeros((replicas, 1, 0)), groups, offered)
    decision = decision_of(context, np.zeros((1, 0)), 1, np.ones(replicas))
    return decision._replace(forced=np.full(replicas, forced))


COSTS = [1, 0, 0, 1, 1, 0, 0, 0, 0, 1]


def test_ten_rounds_of_steady_steps_by_hand():
    goal = DualGradient(rows=rides(), bound=np.array([0.25]), step=Steady(0.1))
    state = goal.start(1)
    # lam <- (lam + 0.1 (c - 0.25))_+
    by_hand = [0.075, 0.05, 0.025, 0.1, 0.175, 0.15, 0.125, 0.1, 0.075, 0.15]
    lam = 0.0
    for c, expected in zip(COSTS, by_hand, strict=True):
        lam = max(0.0, lam + 0.1 * (c - 0.25))
        goal.on_outcome(state, receipt(), np.ones(1), np.array([[float(c)]]))
        q, o = goal.price(state)
        assert lam == pytest.approx(expected)
        assert state.price[0, 0] == pytest.approx(expected)
        assert q[0, 0, 0] == pytest.approx(-expected)
        assert o[0] == pytest.approx(0.25 * expected)


def test_ten_rounds_of_two_rows_and_a_price_that_comes_to_rest_at_zero():
    goal = DualGradient(rows=rides(2), bound=np.array([0.5, 0.1]), step=Steady(1.0), start_at=(1.0, 0.0))
    state = goal.start(1)
    lam = [1.0, 0.0]
    for c in COSTS:
        v = [float(c), float(1 - c)]
        lam = [max(0.0, lam[0] + v[0] - 0.5), max(0.0, lam[1] + v[1] - 0.1)]
        goal.on_outcome(state, receipt(), np.ones(1), np.array([v]))
        np.testing.assert_allclose(state.price[0], lam)
    # 1.5 1 0.5 1 1.5 1 0.5 0 0 0.5 and 0 0.9 1.8 1.7 1.6 2.5 3.4 4.3 5.2 5.1
    np.testing.assert_allclose(state.price[0], [0.5, 5.1])


@pytest.mark.parametrize("reset", [False, True])
def test_ten_rounds_of_doubling_steps_by_hand(reset):
    """Costs of 1 against a bound of 0.25 and then of 0: the excess rises by 0.75 and falls by 0.25 per round."""
    goal = DualGradient(rows=rides(), bound=np.array([0.25]), step=Doubling(0.1, (1.0, 2.0), reset=reset))
    state = goal.start(1)
    # round by round: the cost, the regime afterwards, the excess afterwards
    rounds = [(1, 0, 0.75), (1, 1, 0.0), (1, 1, 0.75), (0, 1, 0.5), (1, 1, 1.25), (1, 1, 2.0), (1, 2, 0.0)]
    rounds += [(1, 2, 0.75), (1, 2, 1.5), (1, 2, 2.25)]
    price, regime, carried = 0.0, 0, [0.075, 0.15, 0.3, 0.25, 0.4, 0.55, 0.7, 1.0, 1.3, 1.6]
    fresh = [0.075, 0.0, 0.15, 0.1, 0.25, 0.4, 0.0, 0.3, 0.6, 0.9]
    for (cost, after, excess), expected in zip(rounds, fresh if reset else carried, strict=True):
        price = max(0.0, price + 0.1 * 2**regime * (cost - 0.25))
        if after > regime:
            regime, price = after, 0.0 if reset else price
        goal.on_outcome(state, receipt(), np.ones(1), np.array([[float(cost)]]))
        assert price == pytest.approx(expected)
        assert state.price[0, 0] == pytest.approx(expected)
        assert state.regime[0] == after
        assert state.excess[0, 0] == pytest.approx(excess)


def test_a_regime_is_left_by_the_norm_of_the_positive_part():
    goal = DualGradient(rows=rides(3), bound=np.zeros(3), step=Doubling(0.1, (5.0,)))
    state = goal.start(1)
    goal.on_outcome(state, receipt(), np.ones(1), np.array([[3.0, 4.0, -100.0]]))  # a norm of 5, and not above
    assert state.regime[0] == 0
    goal.on_outcome(state, receipt(), np.ones(1), np.array([[0.0, 0.001, 0.0]]))
    assert state.regime[0] == 1
    np.testing.assert_array_equal(state.excess, np.zeros((1, 3)))


@drawn(replicas=4, d=4, reset=bool, limits=st.lists(st.floats(0.1, 3.0), max_size=3))
def test_step_and_advance_are_their_twins(replicas, d, reset, limits, seed):
    rng = np.random.default_rng(seed)
    bound = rng.normal(size=d)
    step = Doubling(0.3, tuple(limits), reset=reset)
    goal = DualGradient(rows=rides(d), bound=bound, step=step)
    state = goal.start(replicas)
    price, excess, regime = np.zeros((replicas, d)), np.zeros((replicas, d)), np.zeros(replicas)
    sizes, ends = np.array(step.sizes), np.array(step.limits)
    for _ in range(20):
        rounds = (rng.random(replicas) < 0.8).astype(float)
        v = rng.normal(size=(replicas, d)) * rounds[:, None]
        price = twins.dual_step(price, sizes[regime.astype(int)], bound, rounds, v)
        price, excess, regime = twins.dual_advance(price, excess, regime, ends, reset, bound, rounds, v)
        goal.on_outcome(state, receipt(replicas), rounds, v)
        np.testing.assert_allclose(state.price, price, atol=1e-12)
        np.testing.assert_array_equal(state.regime, regime)
        if limits:
            np.testing.assert_allclose(state.excess, excess, atol=1e-12)


@pytest.mark.parametrize("known", [True, False])
def test_a_falling_step_is_divided_by_the_root_of_the_rounds_that_values_decided(known):
    """Known rows step at commit, others when their outcome arrives; a warm-up and uncounted rounds do not count."""
    rows = Rows.plain(["ride"], np.zeros((1, 0)), np.ones((1, 1))) if known else rides()
    goal = DualGradient(rows=rows, bound=np.zeros(1), step=Falling(0.6))
    state, prices = goal.start(2), []
    made = receipt(2)._replace(known=np.ones((2, 1, int(known))), plays=np.zeros((2, 1), np.int64))
    for forced in (1.0, 0.0, 0.0, 0.0):
        now = made._replace(forced=np.array([forced, forced]), counted=np.array([1.0, 1.0 - forced]))
        goal.on_decision(state, now, None)
        if not known:
            goal.on_outcome(state, now, now.counted, np.ones((2, 1)) * now.counted[:, None])
        prices.append(state.price[:, 0].tolist())
    expected = 0.6 * np.cumsum([0.0, 1.0, 1 / np.sqrt(2), 1 / np.sqrt(3)])
    np.testing.assert_allclose(prices, np.stack([expected, expected], 1))
    np.testing.assert_array_equal(state.rounds, [3.0, 3.0])


@pytest.mark.parametrize("step", [Steady(0.1), Falling(0.1), Doubling(0.1, (0.1, 0.1))])
@pytest.mark.parametrize("on", ["observed", "optimistic"])
def test_rounds_that_prices_did_not_steer_move_nothing(step, on):
    goal = DualGradient(rows=rides(), bound=np.array([0.25]), step=step, on=on, start_at=(0.5,))
    state = goal.start(2)
    decision = receipt(2)._replace(forced=np.array([1.0, 0.0]))
    goal.on_decision(state, decision, np.ones((2, 1)) if on == "optimistic" else None)
    goal.on_outcome(state, decision, np.ones(2), np.ones((2, 1)))
    assert state.price[0, 0] == 0.5
    assert state.regime[0] == 0
    assert state.excess[0, 0] == 0.0
    assert state.price[1, 0] == pytest.approx(0.575)


def test_nothing_happens_to_a_replica_that_stands_still():
    goal = DualGradient(rows=rides(), bound=np.array([0.25]), step=Steady(0.1), start_at=(0.5,))
    state = goal.start(1)
    goal.on_outcome(state, receipt(), np.zeros(1), np.zeros((1, 1)))
    goal.on_decision(state, receipt(), None)
    assert state.price[0, 0] == 0.5


def court_policy(**options):
    problem = COURT.problem
    rows, bound = constraint_rows(problem, margin=0.005)
    dual = DualGradient(rows=rows, bound=bound, step=Doubling(0.02, (2.0, 4.0)), **options)
    model = Logistic(n_features=5, ridge=1e-3, width=Logarithmic(0.025))
    return Policy(problem=problem, model=model, goals=(reward(problem), dual), choice=Staged(20, TopK(1)))


def market_policy(problem, width, step=0.2, **options):
    rows, bound = constraint_rows(problem)
    dual = DualGradient(rows=rows, bound=bound, step=Steady(step), **options)
    model = Ridge(n_features=3, n_outcomes=len(problem.learned), width=width)
    return Policy(problem=problem, model=model, goals=(reward(problem), dual), choice=TopK(1))


def played(policy, environment, rounds):
    state = policy.start(seed=3, replicas=4)
    for r in play(policy, state, environment.start(3, np.arange(4)), range(rounds)):
        yield r.decision, state


def test_an_optimistic_step_is_the_observed_one_where_costs_are_known():
    observed = played(court_policy(on="observed"), COURT, 200)
    optimistic = played(court_policy(on="optimistic"), COURT, 200)
    moved = 0.0
    for (a, s), (b, z) in zip(observed, optimistic, strict=True):
        np.testing.assert_array_equal(a.plays, b.plays)
        np.testing.assert_allclose(s.goals[1].price, z.goals[1].price, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(s.goals[1].regime, z.goals[1].regime)
        moved += np.abs(s.goals[1].price).sum()
    assert moved > 1.0


def test_an_optimistic_step_on_learned_costs_is_the_lower_end_of_the_interval():
    problem = pose("gain", "cost", subject_to=(Budget("cost", rate=0.2),), horizon=100)
    policy = market_policy(problem, Fixed(0.3), step=1.0, on="optimistic", start_at=(5.0,))
    context = Market(problem=problem).start(1, np.arange(2)).context(0)
    state = policy.start(replicas=2)
    rng = np.random.default_rng(1)
    for _ in range(30):
        x = rng.random((2, 1, 3))
        tell(policy.model, state.model, x, np.tile([0.5, 0.6], (2, 1, 1)), np.ones(2), np.zeros((2, 1, 2)))
    decision = policy.act(state, context)
    played = decision.features[:, 0]
    center = np.einsum("rn,rn->r", played, state.model.theta[:, 1])
    half = 0.3 * twins.norms(decision.features, state.model.inverse)[:, 0]
    lower = np.clip(center - half, 0.0, 1.0)
    assert (lower > 0).all()
    np.testing.assert_allclose(state.goals[1].price[:, 0], 5.0 + (lower - 0.2))


def parity_of_a_learned_cost():
    return pose(
        "gain",
        "cost",
        actions="abc",
        subject_to=(Parity("cost", by="side", tolerance=0.01), Budget("cost", rate=0.3)),
        groups=(Groups("side", {"left": 0.4, "right": 0.6}),),
        horizon=100,
    )


def test_the_price_bounds_by_how_much_observed_rows_exceed_their_bounds():
    """With both signs of a parity and a budget on a learned cost; steps on lower bounds exceed them by the widths."""
    problem = parity_of_a_learned_cost()
    rows, bound = constraint_rows(problem)
    excess = {}
    for on in ("observed", "optimistic"):
        policy, market = market_policy(problem, Fixed(0.5), on=on), Market(problem=problem)
        world, state, total = market.start(3, np.arange(4)), policy.start(seed=3, replicas=4), 0.0
        for _, _, decision, _, (arrival,) in play(policy, state, world, range(problem.horizon)):
            total = total + rows.post(decision, decision.shares, arrival.y, decision.known)
        excess[on] = total - problem.horizon * bound - state.goals[1].price / 0.2
    assert (excess["observed"] <= 1e-9).all()
    assert (excess["optimistic"].max(1) > 1.0).all()


def test_observed_steps_do_not_wait_for_the_outcome_where_costs_are_known():
    policy = court_policy()
    state = policy.start(seed=3, replicas=2)
    world = COURT.start(3, np.arange(2))
    for step in range(60):
        policy.act(state, world.context(step))
    assert (state.goals[1].price > 0).any(1).all()


def test_rows_read_one_by_one_and_netted_agree_where_costs_are_known():
    by_row, net = (played(court_policy(optimism=o), COURT, 200) for o in ("row", "net"))
    for (a, _), (b, _) in zip(by_row, net, strict=True):
        np.testing.assert_array_equal(a.plays, b.plays)
        np.testing.assert_allclose(a.row_prices, b.row_prices, atol=1e-12)


def test_rows_read_one_by_one_are_more_optimistic_where_costs_are_learned():
    """A row and its negative, both priced, add up to nothing; read one by one each is lowered, and the worth raised."""
    problem = parity_of_a_learned_cost()
    policies = [
        market_policy(problem, Fixed(0.2), optimism=o, start_at=(0.5, 0.4, 0.1, 0.3, 0.2)) for o in ("row", "net")
    ]
    context = Market(problem=problem).start(1, np.arange(3)).context(0)
    states = [p.start(replicas=3) for p in policies]
    rng = np.random.default_rng(2)
    for _ in range(40):
        x, y = rng.random((3, 1, 3)), np.full((3, 1, 2), 0.5)
        for p, s in zip(policies, states, strict=True):
            tell(p.model, s.model, x, y, np.ones(3), np.zeros((3, 1, 2)))
    by_row, net = (p.decide(s, context) for p, s in zip(policies, states, strict=True))
    assert by_row.prices.shape == (3, 1 + 5, 1, 2)
    assert net.prices.shape == (3, 1 + 1, 1, 2)
    np.testing.assert_allclose(by_row.prices.sum(1), net.prices.sum(1))  # the same prices in all
    worth = [p.worth(s, context, d) for p, s, d in zip(policies, states, (by_row, net), strict=True)]
    assert (worth[0] > worth[1] + 1e-6).all()
    # by how much: |price of the cost| half-widths, row by row against netted
    half = 0.2 * twins.norms(context.features, states[0].model.inverse)
    extra = np.abs(by_row.prices[:, 1:, 0, 1]).sum(1) - np.abs(net.prices[:, 1:, 0, 1]).sum(1)
    np.testing.assert_allclose(worth[0] - worth[1], extra[:, None] * half)


def test_readings_are_one_per_row_of_what_is_learned():
    rows, bound = constraint_rows(EVERYTHING)
    d = len(rows)
    for optimism, k in (("row", int(rows.learned.any(1).sum())), ("net", 1)):
        goal = DualGradient(
            rows=rows, bound=bound, step=Steady(0.1), optimism=optimism, start_at=tuple(range(1, d + 1))
        )
        q, o = goal.price(goal.start(2))
        assert q.shape == (2, k, d)
        np.testing.assert_array_equal(q.sum(1), np.tile(-np.arange(1.0, d + 1), (2, 1)))
        np.testing.assert_allclose(o, np.arange(1.0, d + 1) @ bound)
    known, limit = constraint_rows(COURT.problem)
    goal = DualGradient(rows=known, bound=limit, step=Steady(0.1))
    assert goal.price(goal.start(2))[0].shape == (2, 1, 10)
