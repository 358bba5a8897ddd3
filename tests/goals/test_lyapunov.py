import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.environments import Hours
from evenhand.goals import Lyapunov
from evenhand.models import BayesianLogistic
from evenhand.problem import Rows
from evenhand.recipes import fw_dual, lyapunov, pgd, resolving, square_cbwk
from evenhand.run import simulate
from tests.goals.test_dual import receipt
from tests.goals.test_hard_budget_loaded import differing


def goal(known=False, **options):
    rows = Rows.plain(
        ["ride"], *((np.zeros((1, 0)), np.ones((1, 1))) if known else (np.ones((1, 1)), np.zeros((1, 0))))
    )
    return Lyapunov(**({"rows": rows, "bound": np.array([0.5]), "horizon": 10, "worth": 3.0, "scale": 2.0} | options))


def test_ten_rounds_by_hand():
    """A budget of 5: nothing for four rounds, so that 5 are left for 6; then a ride in all rounds but one."""
    part, costs = goal(), [0, 0, 0, 0, 1, 1, 0, 1, 1, 1]
    state = part.start(1)
    paces = [5 / 10, 5 / 9, 5 / 8, 5 / 7, 5 / 6, 4 / 5, 3 / 4, 3 / 3, 2 / 2, 1 / 1]
    violations = [0, 0, 0, 0, 1 / 6, 11 / 30, 0, 0, 0, 0]
    for cost, pace, violation in zip(costs, paces, violations, strict=True):
        assert (5 - state.used[0, 0]) / (10 - state.rounds[0, 0]) == pytest.approx(pace)
        part.on_outcome(state, receipt(), np.ones(1), np.array([[float(cost)]]))
        assert state.violation[0, 0] == pytest.approx(violation, abs=1e-12)
        q, o = part.price(state)
        assert q[0, 0, 0] == pytest.approx(-3.0 * (math.exp(violation / 2.0) - 1.0), abs=1e-12)
        assert o[0] == pytest.approx(-0.5 * q[0, 0, 0])
    assert state.used[0, 0] == 5.0


def test_prices_are_the_slope_of_the_lyapunov_function():
    """By central differences of worth (scale exp(Q / scale) - Q), whose error is of order 1e-10 here."""
    part = goal(worth=0.7, scale=4.0)
    state = part.start(1)

    def phi(q):
        return 0.7 * (4.0 * math.exp(q / 4.0) - q)

    for q in (0.0, 0.3, 2.0, 9.0):
        state.violation[:] = q
        assert -part.price(state)[0][0, 0, 0] == pytest.approx((phi(q + 1e-5) - phi(q - 1e-5)) / 2e-5, abs=1e-8)


def test_a_price_is_at_most_the_worth_of_all_rounds():
    state = goal().start(1)
    state.violation[:] = 1e6
    assert -goal().price(state)[0][0, 0, 0] == pytest.approx(3.0 * 10)


@pytest.mark.parametrize("known", [True, False])
def test_rows_enter_once_with_their_round(known):
    """Known rows at commit, others when they arrive; until then neither use nor round of a waiting row counts."""
    part = goal(known)
    state = part.start(1)
    made = receipt()._replace(known=np.ones((1, 1, int(known))), plays=np.zeros((1, 1), np.int64))
    part.on_decision(state, made, None)
    assert (state.used[0, 0], state.rounds[0, 0]) == ((1.0, 1.0) if known else (0.0, 0.0))
    part.on_outcome(state, made, np.ones(1), np.ones((1, 1)))
    assert (state.used[0, 0], state.rounds[0, 0], state.violation[0, 0]) == (1.0, 1.0, 0.5)


def test_what_was_not_observed_moves_nothing():
    part = goal()
    state = part.start(1)
    part.on_outcome(state, receipt(), np.ones(1), np.array([[np.nan]]))
    assert not any(z.any() for z in (state.used, state.rounds, state.violation))


def hindsight(world, seed, replicas):
    """The chances of the cases that came and had the largest, as many as the budget pays for, `->(R)`."""
    start, visit = world.start(seed, np.arange(replicas)), np.ones((replicas, 1), np.int64)
    chances = np.stack([start.expected(start.context(t), visit)[:, 0, 0] for t in range(world.horizon)])
    return np.sort(chances, 0)[-round(world.rate * world.horizon) :].sum(0)


@pytest.mark.slow
def test_a_night_misleads_plans_and_steps_but_not_what_is_left():
    """Shares of what is possible with hindsight; at T = 12,000 they are .97 and at most .7.

    Two replicas; over six, shares spread by .01 at this length.
    """
    world = Hours(horizon=6000)
    p, model, most = world.problem, BayesianLogistic(n_features=6), hindsight(world, 5, 2)
    share = {}
    others = (resolving(p, model), pgd(p, model, hard=True), square_cbwk(p, model, rate=30.0), fw_dual(p, model))
    for policy in (lyapunov(p, model), *others):
        trace = simulate(policy, world, replicas=2, seed=5, progress=False)
        share[policy.name] = (trace.objective()[-1] * world.horizon / most).min()
        assert trace.measure(p.subject_to[0])[-1].max() <= world.rate + 1e-12
    assert share.pop("lyapunov") > 0.93
    assert max(share.values()) < 0.8


def test_a_state_under_another_total_has_the_prices_of_one_whose_books_are_in_plain_cents(tmp_path):
    """Half of the total left: what was violated so far is as many cents as before."""
    few, many = (
        eh.Problem(
            actions=("none", "call"),
            outcomes=(eh.Outcome("answer"), eh.Outcome("cents", high=10.0, free=("none",))),
            maximize="answer",
            subject_to=(eh.Budget("cents", total=total),),
            horizon=100,
        )
        for total in (300.0, 600.0)
    )
    after, before = (lyapunov(p, eh.PerAction.of(p)) for p in (few, many))
    state, cents, used, excess = before.start(), (0.0, 9.0), 0.0, 0.0
    for n in range(6):
        decision = before.act(state, before.encode({}))
        v = cents[decision.plays[0, 0]]
        before.learn(state, decision, np.array([[[float(v > 0.0), v]]]))
        excess, used = max(0.0, excess + v - (600.0 - used) / (100 - n)), used + v
    before.save(state, tmp_path / "state.npz")
    loaded = after.load(tmp_path / "state.npz", allow=differing(before, after))
    at = next(i for i, g in enumerate(after.goals) if isinstance(g, Lyapunov))
    unit = math.sqrt(10.0 * 3.0)  # what a round varies by: 3 cents per round are left to start with, and 10 the most
    expected = math.expm1(excess / (unit * 10.0)) / unit
    assert excess > 1.0
    assert loaded.goals[at].used[0, 0] == pytest.approx(used)
    assert -after.goals[at].price(loaded.goals[at])[0][0, 0, 0] == pytest.approx(expected, rel=1e-12)
