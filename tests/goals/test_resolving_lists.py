"""Plans for several plays per round, in places that are exposed with probabilities nobody states."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.choices import TopK
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.environments import Absences, Delayed, Listeners, Ranking
from evenhand.models import Bilinear, Fixed
from evenhand.planning.fluid import Fluid, Solution, places, solve_fluid, spread
from evenhand.problem import Budget, Floor, Outcome
from evenhand.recipes import primal_lp, resolving
from evenhand.run import play, simulate
from tests.examples.environments import AUDIENCE
from tests.known import Known
from tests.problems import pose
from tests.rankings import SMALL, optimum
from tests.rows import for_each

MODEL = Bilinear(n_user_features=2, n_item_features=2, ridge=0.1, width=Fixed(0.1))
FEES = {"song": 1.0, "book": 0.5}


def program(g, u, high, position):
    """Prices and value of the linear program over the chances x_sap that candidate a is at place p in case s."""
    (samples, m), places = g.shape, len(position)
    shape, count = (samples, m, places), samples * m * places
    index = np.arange(count).reshape(shape)
    gain = (g[:, :, None] * position).ravel() / samples
    uses = [(u[:, i, :, None] * position).ravel() / samples for i in range(u.shape[1])]
    once, full = np.zeros((samples * m, count)), np.zeros((samples * places, count))
    for s in range(samples):
        for a in range(m):
            once[s * m + a, index[s, a]] = 1.0
        for p in range(places):
            full[s * places + p, index[s, :, p]] = 1.0
    found = linprog(-gain, np.vstack([uses, once]), np.append(high, np.ones(samples * m)), full, np.ones(len(full)))
    assert found.status == 0
    return -found.ineqlin.marginals[: len(high)], -found.fun


@for_each("seed", range(4))
def test_prices_are_those_of_the_linear_program_over_lists(seed):
    rng = np.random.default_rng(seed)
    samples, m, position = 30, 6, np.array([1.0, 0.7, 0.4])
    g, u = rng.uniform(0, 1, (samples, m)), rng.uniform(0, 1, (samples, 2, m))
    u[:, :, :3] = 0.0  # as many free candidates as places
    high = rng.uniform(0.1, 0.5, 2)
    lam, best = program(g, u, high, position)
    one, kept, weight = np.ones(1, bool), np.array([samples]), np.ones((1, samples))
    mu, plan, noise = np.zeros((3, 1, 2))
    size = spread(weight, g[None], kept)
    cold = 0.001
    falling = size[:, None] * np.array([0.05, 0.01, cold])
    low = np.full((1, 2), -np.inf)
    fluid = Fluid(weight, g[None], kept, places(position[None]), None, size, low, high[None], falling)
    solve_fluid(fluid, u[None], one, ~one, Solution(mu, np.zeros((1, 0)), plan, noise, np.empty_like(noise)))
    worth = np.sort(g - np.einsum("i,sia->sa", mu[0], u), 1)[:, ::-1]
    dual = mu[0] @ high + (worth[:, :3] @ position).mean()
    # the entropy of p places is at most p ln m, and sum_p c_p p = sum_p b_p
    assert best - 1e-9 <= dual <= best + cold * size[0] * position.sum() * np.log(m)
    assert (plan[0] <= high + 1e-6).all()
    np.testing.assert_allclose(mu[0], lam, atol=0.03)  # lam is one of the ends of an interval between two vertices


def rounds(policy, world, steps, **options):
    state = policy.start(seed=3, replicas=2)
    return state, list(play(policy, state, world.start(3, np.arange(2)), range(steps)))


def test_places_are_counted_as_they_are_looked_at():
    world = replace(SMALL, horizon=2000, fees=FEES, subject_to=(Budget("fee", rate=0.5),))
    state, records = rounds(resolving(world.problem, MODEL), world, 1500)
    books = state.goals[1]
    assert (books.made == 1500).all()
    seen = sum(arrival.exposed.astype(float) for record in records for arrival in record.arrivals)
    np.testing.assert_array_equal(books.looked, seen)  # of each replica
    assert (seen[0] != seen[1]).any()
    looked = books.looked / books.made
    error = np.sqrt(world.looked * (1 - world.looked) / 1500)
    assert (np.abs(looked - world.looked) <= 4 * error).all()


def test_late_outcomes_are_counted_when_they_arrive_and_lost_ones_never():
    world = replace(SMALL, horizon=400, fees=FEES, subject_to=(Budget("fee", rate=0.5),))
    policy = resolving(world.problem, MODEL)
    state, records = rounds(policy, Delayed(world, delay=50), 120)
    assert (state.goals[1].made == 70).all()
    policy.cancel(state, records[-1].decision)
    policy.expire(state, records[-2].decision)
    assert (state.goals[1].made == 70).all()


@pytest.mark.parametrize("fee_per", ["impression", "placement"])
def test_a_budget_is_used_up_evenly_and_never_overspent_whoever_is_absent(fee_per):
    """Fees per placement are due more often than exposures; a plan that took one for the other would end early."""
    audience = Listeners(users=4, items=8, factors=2).audience
    world = Ranking(
        audience=audience,
        horizon=1500,
        slots=3,
        fees=dict.fromkeys(audience.names[::2], 1.0),
        fee_per=fee_per,
        offers=Absences(0.2, length=2),
        subject_to=(Budget("fee", rate=0.5),),
    )
    assert trace_of(replace(world, subject_to=())) > 900  # the budget binds
    trace = simulate(resolving(world.problem, MODEL), world, replicas=4, progress=False)
    spent = trace.total("fee")
    assert (spent <= 750).all()
    assert (spent >= 735).all()
    half = trace.totals[np.searchsorted(trace.times, 750), :, trace.problem.names.index("fee")]
    # a round uses 3 at most and 0.5 on average: its variance is at most 1.5
    assert (np.abs(half - 375) <= 4 * np.sqrt(1.5 * 750)).all()


def trace_of(world):
    """The least that a replica spends on fees."""
    return simulate(resolving(world.problem, MODEL), world, replicas=2, progress=False).total("fee").min()


def knowing(chances):
    """A model that knows every chance, from the number of the user and of the item in the features."""
    return Known(lambda x: chances[x[:, :, :1].astype(int), x[:, :, 1:].astype(int)], 2)


def test_all_candidates_may_be_played_and_one_case_suffices():
    """m = k, and a single user: the order is all that can be decided."""
    one = replace(AUDIENCE, users=AUDIENCE.users[:1])
    world = Ranking(audience=one, horizon=3000, slots=4, fees={"film": 1.0}, subject_to=(Budget("fee", rate=0.55),))
    trace = simulate(resolving(world.problem, MODEL), world, replicas=2, progress=False)
    assert (trace.total("fee") <= 0.55 * 3000).all()
    assert (trace.objective()[-1] >= 0.98 * optimum(world)).all()


def test_several_plays_that_all_count_share_a_budget():
    """Two of three calls per round, all of which are answered: without places, the best two are made while they fit."""
    problem = pose(
        "reply",
        Outcome("cost", known={"mail": 1.0, "call": 2.0}),
        actions=("none", "nil", "mail", "call"),
        subject_to=(Budget("cost", rate=1.5),),
        horizon=1000,
        n_plays=2,
    )
    chance = np.array([[0.0, 0.0, 0.3, 0.5]])
    policy = resolving(problem, knowing(chance))
    state, rng, reward, cost = policy.start(), np.random.default_rng(0), 0.0, 0.0
    x = np.stack([np.zeros(4), np.arange(4.0)], 1)[None]
    for _ in range(1000):
        context = Context(x, problem.declared[None], np.zeros((1, 1, 0), np.int64), np.ones((1, 4), bool))
        decision = policy.act(state, context)
        p = chance[0, decision.plays[0]]
        policy.learn(state, decision, (rng.random(2) < p).astype(float)[None, :, None])
        reward += p.sum()
        cost += problem.declared[decision.plays[0], 0].sum()
    assert (state.goals[1].looked == state.goals[1].made).all()
    assert cost <= 1500
    assert cost >= 1495
    assert reward / 1000 >= 0.995 * 0.425  # a mail in every round, and a call in every fourth


def test_floors_and_budgets_of_known_chances_reach_the_linear_program():
    labels = {"song": "a", "film": "a", "book": "b", "play": "b"}
    world = Ranking(
        audience=AUDIENCE,
        horizon=4000,
        slots=2,
        labels=labels,
        fees=FEES,
        subject_to=(Floor("exposure", rate=0.8, by="label"), Budget("fee", rate=0.4)),
    )
    trace = simulate(resolving(world.problem, MODEL), world, replicas=3, progress=False)
    floor, budget = world.subject_to
    assert (trace.measure(budget)[-1] <= 0.4).all()
    # exposures per round of a label vary by less than 1, over a share of a half
    assert (trace.measure(floor)[-1] >= 0.8 - 2 / np.sqrt(4000)).all()
    assert (trace.objective()[-1] >= 0.98 * optimum(world)).all()


def test_goals_that_plan_for_one_play_say_so():
    policy = primal_lp(replace(SMALL, slots=1, fees=FEES, subject_to=(Budget("fee", rate=0.4),)).problem, MODEL)
    problem = replace(policy.problem, n_plays=2)
    with pytest.raises(InvalidInput, match="Primal plans for one"):
        replace(policy, problem=problem, choice=TopK(2))


def test_a_noisy_fee_that_is_sure_is_planned_like_a_known_one():
    """The place is looked at in three rounds of ten, and the fee is due in all of them."""
    spent = {}
    for kind in ("known", "mean"):
        fee = Outcome("fee", **{kind: {"b": 0.5, "c": 1.0}})
        problem = pose("click", fee, actions="abc", subject_to=(Budget("fee", rate=0.4),), horizon=2000)
        policy = resolving(problem, knowing(np.array([[0.1, 0.4, 0.6]])))
        state, rng = policy.start(), np.random.default_rng(0)
        x = np.stack([np.zeros(3), np.arange(3.0)], 1)[None]
        context = Context(x, problem.declared[None], np.zeros((1, 1, 0), np.int64), np.ones((1, 3), bool))
        spent[kind] = 0.0
        for _ in range(1000):
            decision = policy.act(state, context)
            cost = problem.declared[decision.plays[0, 0], 0]
            seen = rng.random((1, 1)) < 0.3
            y = [0.0] if kind == "known" else [0.0, cost]
            policy.learn(state, decision, np.array([[y]]), exposed=seen)
            spent[kind] += cost
        books = state.goals[1]
        assert (books.noise >= books.plan**2).all()  # a mean square is at least the square of the mean
        assert books.plan[0, 0] == pytest.approx(0.4, abs=0.05)
    for half in spent.values():
        assert half == pytest.approx(400, abs=4 * np.sqrt(1000 * 0.4))
