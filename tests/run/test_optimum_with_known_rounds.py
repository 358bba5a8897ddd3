"""The optimum with a holdout and a floor of probabilities, against linear programs over all probabilities."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import linprog

import evenhand as eh
from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.environments import Audience, Ranking
from evenhand.objectives import GeneralizedGini
from evenhand.problem import Budget
from evenhand.run import opt
from tests.day_worlds import OFFERS, Days, forecast
from tests.holdouts import Noon, shop

T, SEED = 60, 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Closed(Noon):
    """The shop in which an offer is not to be had now and then."""

    def context(self, step):
        offered = np.ones((1, 4), bool)
        offered[0, step % 5 if step % 5 < 4 else 0] = step % 5 == 4
        return super().context(step)._replace(offered=offered)


WORLD = Closed(times=np.full(T, 0.5), subject_to=(Budget("money", total=0.12 * T),), horizon=T)
CONTROL = eh.Holdout(0.3, lottery={"nothing": 1, "gift": 3})


def chances(world, least):
    """Truth and least probabilities of every case, `(T,A,M),(T,A),(T,A)`."""
    started = world.start(SEED, np.array([1]))
    cases = [started.context(i) for i in range(len(world.times))]
    mean = np.stack([started.means(c)[0] for c in cases])
    offered = np.stack([c.offered[0] for c in cases]) * 1.0
    return mean, offered, np.stack([least(may) for may in offered])


def brute(mean, offered, least, masks):
    """The most sales per case, variable by variable; `masks` has pairs of cases and the money for them."""
    n, actions = offered.shape
    found = linprog(
        -mean[:, :, 0].ravel(),
        np.array([(mean[:, :, 1] * inside[:, None]).ravel() for inside, _ in masks]),
        [total for _, total in masks],
        np.kron(np.eye(n), np.ones(actions)),
        np.ones(n),
        bounds=np.stack([least.ravel(), offered.ravel()], 1),
    )
    assert found.status == 0
    return -found.fun / n


def control(may):
    weights = may * np.array([1.0 if a == "nothing" else 3.0 if a == "gift" else 0.0 for a in OFFERS])
    return 0.3 * weights / weights.sum()


def both(may):
    """No round is held out where only large and small offers are to be had; then the floor is that of all rounds."""
    lottery = may * np.array([0.0, 0.0, 1.0, 0.0])
    held = 0.2 * lottery.any()
    return held * lottery + (1 - held) * 0.04 / 0.8 * may


@pytest.mark.parametrize(
    ("options", "least"),
    [
        ({"explore": 0.02}, lambda may: 0.02 * may),
        ({"holdout": 0.08}, lambda may: 0.08 * may / may.sum()),
        ({"holdout": CONTROL}, control),
        ({"holdout": eh.Holdout(0.2, lottery={OFFERS[2]: 1}), "explore": 0.04}, both),
        ({}, lambda may: 0.0 * may),
    ],
)
def test_it_is_the_best_lottery_with_these_probabilities(options, least):
    mean, offered, floor = chances(WORLD, least)
    found = opt(WORLD, contexts=T, replicas=[1], seed=SEED, progress=False, **options)
    assert found.value == pytest.approx(brute(mean, offered, floor, [(np.ones(T), 0.12 * T)]), rel=1e-7)
    assert found.prices[0] > 0.0


def test_spans_of_time_have_their_rows_as_well():
    times = np.sort(np.random.default_rng(2).uniform(0.0, 3.0, T))
    days = Days(times=times, subject_to=(Budget("money", total=3.0, per=1.0),), until=3.0, traffic=forecast(0.1))
    mean, offered, floor = chances(days, lambda may: 0.05 * may)
    masks = [((d <= times) & (times < d + 1), 3.0) for d in range(3)]
    found = opt(days, replicas=[1], seed=SEED, explore=0.05, progress=False)
    assert found.value == pytest.approx(brute(mean, offered, floor, masks), rel=1e-7)
    assert found.prices.shape == (3,)


def test_a_concave_objective_is_of_all_rounds():
    """With so large a holdout that nothing else can be played: the objective at the averages of the lottery."""
    gini = GeneralizedGini(("sale", "money"), (1.0, 0.3))
    problem = replace(WORLD.problem, maximize=gini, subject_to=())
    mean, _, floor = chances(WORLD, lambda may: may / may.sum())
    found = opt(Stated(WORLD, problem), contexts=T, replicas=[1], seed=SEED, holdout=1.0 - 1e-9, progress=False)
    averages = np.einsum("ta,tam->m", floor, mean) / T
    assert found.value == pytest.approx(float(gini.value(averages)), rel=1e-6)
    free = opt(Stated(WORLD, problem), contexts=T, replicas=[1], seed=SEED, progress=False)
    assert free.value > found.value + 0.01


class Stated:
    """The same world with another problem."""

    counts_idle_steps, n_features = True, 9

    def __init__(self, world, problem):
        self.world, self.problem, self.steps = world, problem, world.steps

    def start(self, seed, replicas):
        return self.world.start(seed, replicas)


def test_a_withdrawn_action_is_not_played_and_has_no_floor():
    problem = replace(WORLD.problem, withdrawn=(OFFERS[3],))
    mean, offered, floor = chances(WORLD, lambda may: 0.02 * may)
    floor[:, 3] = offered[:, 3] = 0.0
    for explore in (0.0, 0.02):
        found = opt(Stated(WORLD, problem), contexts=T, replicas=[1], seed=SEED, explore=explore, progress=False)
        least = floor * (explore > 0.0)
        assert found.value == pytest.approx(brute(mean, offered, least, [(np.ones(T), 0.12 * T)]), rel=1e-7)


def test_a_floor_that_a_budget_cannot_pay_for_has_no_optimum():
    poor = shop(T, rate=0.001)
    assert opt(poor, contexts=T, replicas=1, progress=False).value > 0.0
    with pytest.raises(InfeasibleProblem, match="no static policy keeps to the constraints"):
        opt(poor, contexts=T, replicas=1, explore=0.1, progress=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"explore": -0.1}, r"explore: expected a number in \[0, 1\)"),
        ({"explore": 0.25}, r"holdout, explore: expected a holdout \+ explore times the number of actions below 1"),
        ({"holdout": 1.0}, r"Holdout\.share: expected a number in \(0, 1\)"),
        (
            {"holdout": eh.Holdout(0.1, lottery={"gfit": 1})},
            r"Holdout\.lottery: expected an action, got 'gfit'",
        ),
    ],
)
def test_bad_input_is_refused_by_name(options, said):
    with pytest.raises(InvalidInput, match=said):
        opt(WORLD, contexts=9, replicas=1, progress=False, **options)


@pytest.mark.parametrize(("slots", "said"), [(1, "an environment without lists"), (2, "one play per round")])
def test_lists_are_refused(slots, said):
    world = Ranking(audience=Audience(users=np.eye(3), items=np.eye(3)), horizon=100, slots=slots)
    with pytest.raises(InvalidInput, match=f"holdout, explore: expected {said}"):
        opt(world, replicas=1, explore=0.01, progress=False)
