"""Whether a constraint is missed: chance by its largest variance, and what the remaining rounds can still bring."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.policy.standings import Standing
from evenhand.problem.constraints import outlook
from evenhand.problem.constraints.outlook import is_missed
from evenhand.problem.constraints.statements import state
from evenhand.sets import Ball
from tests.worlds import Market


def shop(*subject_to, horizon=100, **change):
    """Nothing or a call; of two groups, one four times as large as the other."""
    stated = {
        "actions": ("none", "call"),
        "outcomes": (eh.Outcome("answer"), eh.Outcome("minutes", high=30.0), eh.Outcome("calls", known={"call": 1})),
        "maximize": "answer",
        "subject_to": subject_to,
        "groups": (eh.Groups("zone", {"town": 0.8, "land": 0.2}),),
        "horizon": horizon,
    }
    return eh.Problem(**(stated | change))


def deviation(constraint, problem):
    return outlook.deviation(state(problem, constraint), problem)


def chance(constraint, problem, rounds):
    return outlook.chance(state(problem, constraint), problem, rounds)


def rest(constraint, run):
    return outlook.rest(state(run.problem, constraint), run)


@pytest.mark.parametrize("rate", [0.02, 0.08, 0.5, 0.95])
def test_no_outcome_of_this_mean_varies_more(rate):
    """Of all lotteries over [0, 1] with this mean, yes or no varies most, and by as much as is stated."""
    stated = deviation(eh.Floor("answer", rate=rate), shop())
    assert stated == pytest.approx(math.sqrt(rate * (1 - rate)))
    rng = np.random.default_rng(0)
    for _ in range(200):
        ends, p = np.sort(rng.random(3)), rng.dirichlet(np.ones(3))
        if ends[0] < rate < ends[-1]:
            p = np.array([ends[2] - rate, 0.0, rate - ends[0]]) / (ends[2] - ends[0])
            assert math.sqrt(p @ ends**2 - rate**2) <= stated + 1e-12


def test_a_group_counts_by_its_share():
    """The average of land divides what a case of land brings by 0.2: it is 5 in one of five rounds, or 0."""
    least = eh.Floor("answer", rate=0.3, by="zone")
    assert deviation(least, shop()) == pytest.approx(math.sqrt(0.3 * (5.0 - 0.3)))
    gap = deviation(eh.Parity("answer", by="zone", tolerance=0.1), shop())  # a row from -1 to 4
    assert gap == pytest.approx(math.sqrt((0.1 + 1.0) * (4.0 - 0.1)))
    estimated = replace(shop(), groups=(eh.Groups("zone", ["town", "land"]),))
    assert deviation(least, estimated) == pytest.approx(math.sqrt(0.3 * (2.0 - 0.3)))


def test_units_and_plays_scale_it():
    one, two = (deviation(eh.Budget("minutes", rate=12.0 * p, hard=False), shop(n_plays=p)) for p in (1, 2))
    assert one == pytest.approx(math.sqrt(12.0 * 18.0))
    assert two == pytest.approx(2 * one)
    assert deviation(eh.Budget("calls", rate=0.4), shop()) == pytest.approx(math.sqrt(0.24))
    assert deviation(eh.Budget("calls", rate=3.0), shop()) == 3.0  # of which cases then state more than is declared
    assert deviation(eh.Within(("answer", "minutes"), Ball((0.5, 15.0), 1.0)), shop()) == pytest.approx(
        math.hypot(0.5, 15)
    )
    unbounded = replace(shop(), outcomes=(eh.Outcome("answer", high=math.inf), *shop().outcomes[1:]))
    assert deviation(eh.Floor("answer", rate=0.1), unbounded) == math.inf


def test_averages_of_one_row_average_out_over_runs_and_gaps_do_not():
    rounds = np.full(4, 100.0)
    floor, gap = eh.Floor("answer", rate=0.5), eh.Parity("answer", by="zone", tolerance=0.1)
    assert chance(floor, shop(), rounds) == pytest.approx(0.5 / 20)
    assert chance(gap, shop(), rounds) == pytest.approx(deviation(gap, shop()) / 10)


def test_a_floor_that_is_met_in_the_mean_is_not_called_missed():
    """Outcomes of exactly the rate: of 4,000 runs of 400 rounds, a normal law has 0.13 % below three errors."""
    rate, rounds = 0.08, 400
    error = chance(eh.Floor("answer", rate=rate), shop(), np.array([rounds]))
    values = np.random.default_rng(1).binomial(rounds, rate, 4000) / rounds
    alarms = sum(is_missed(x, rate, "low", error) for x in values.tolist())
    assert alarms <= 4000 * 0.00135 + 3 * math.sqrt(4000 * 0.00135)
    assert is_missed(0.039, rate, "low", error)  # less than half of it


class Half:
    """A run of a floor: so many rounds arrived, with this average of answers."""

    def __init__(self, problem, rounds, average):
        self.problem, self.elapsed = problem, np.array([[rounds]], float)
        self.totals = np.array([[[rounds * average, 0.0, 0.0]]])


def test_what_the_rest_of_a_run_has_to_bring():
    floor = eh.Floor("answer", rate=0.6)
    problem = shop(floor)
    assert rest(floor, Half(problem, 50, 0.5)) == pytest.approx((0.7, 1.0))
    assert rest(floor, Half(problem, 80, 0.25)) == pytest.approx((2.0, 1.0))
    assert rest(floor, Half(problem, 100, 0.5)) is None
    least, calls = eh.Floor("answer", rate=0.6, by="zone"), eh.Floor("calls", rate=0.2)
    for c in (least, calls, eh.Within(("answer", "minutes"), Ball((0.5, 15.0), 1.0))):
        assert rest(c, Half(shop(c), 50, 0.5)) is None


def sold(*subject_to, price=1.0, **change):
    """Nothing or a sale, at a price that is declared and that every case may state."""
    sale = eh.Outcome("sale", times="price", free=("none",))
    return shop(
        *subject_to, **{"outcomes": (sale, eh.Outcome("price", known={"call": price})), "maximize": "sale"} | change
    )


@pytest.mark.parametrize("price", [1.0, 1e-6, -2.0])
def test_of_a_factor_that_cases_may_state_nothing_is_claimed(price):
    """Any case may state any price, so neither the best that rounds can bring nor how they vary is known."""
    ball = eh.Within(("sale", "price"), Ball((0.5, 0.5), 1.0))
    for c in (eh.Floor("sale", rate=0.9), eh.Floor("sale", rate=0.9, by="zone"), ball):
        assert deviation(c, sold(price=price)) == math.inf
        assert rest(c, Half(sold(price=price), 50, 0.0)) is None
    assert deviation(eh.Floor("answer", rate=0.9), sold(outcomes=(*sold().outcomes, eh.Outcome("answer")))) < 1.0


@pytest.mark.parametrize("last", [10.0, 0.05])
def test_a_floor_on_what_sales_bring_is_not_called_out_of_reach(last):
    """A hundred sales at 5 cents, a twentieth of the declared price, and a hundred that may be at ten."""
    floor = eh.Floor("sale", rate=0.9)
    problem = sold(floor, features=(eh.Numeric("age", 20, 60),), groups=(), horizon=200)
    policy = eh.resolving(problem, eh.PerAction.of(problem), warmup=0)
    state, name = policy.start(), "sale per round, at least"
    for t in range(200):
        case = policy.encode({"age": 30}, offered=["call"], known={"price": last if t >= 100 else 0.05})
        policy.observe(state, policy.act(state, case), {"sale": 1.0})
        if t == 99:
            standing = policy.status(state).standings[name]
            assert (standing.verdict, standing.text) == ("close", "missed so far")
            assert "(at least 0.9), missed so far\n" in str(policy.status(state)) + "\n"
    standing = policy.status(state).standings[name]
    assert (standing.value, standing.text) == (pytest.approx((0.05 + last) / 2), "kept" if last > 1.0 else "missed")


FLOOR = {"name": "answer per round, at least", "limit": 0.08, "worst": "low"}
SAID = [
    (Standing(**FLOOR, value=0.09), "kept", "kept"),
    (Standing(**FLOOR, value=0.08 - 1e-12), "kept", "kept"),
    (Standing(**FLOOR, value=0.0796, error=0.001), "close", "missed so far, by no more than chance explains"),
    (Standing(**FLOOR, value=0.0796, error=0.001, over=True), "close", "missed, by no more than chance explains"),
    (
        Standing(**FLOOR, value=0.04, error=0.003, needed=0.12, best=1.0),
        "behind",
        "missed so far; the remaining rounds need at least 0.12",
    ),
    (Standing(**FLOOR, value=0.04, error=0.003), "behind", "missed so far"),
    (Standing(**FLOOR, value=0.04, error=0.003, end=0.05), "behind", "missed so far; by the plan it ends near 0.05"),
    (
        Standing(**FLOOR, value=0.07, error=0.05, end=0.071),
        "close",
        "missed so far, by no more than chance explains; by the plan it ends near 0.071",
    ),
    (Standing(**FLOOR, value=0.04, error=0.003, over=True), "missed", "missed"),
    (Standing(**FLOOR, value=0.04, error=math.inf), "close", "missed so far"),
    (Standing(**FLOOR, value=0.04, error=math.inf, over=True), "missed", "missed"),
    (
        Standing(**FLOOR, value=0.04, error=0.3, needed=1.5, best=1.0),
        "out of reach",
        "out of reach: the remaining rounds would need 1.5, and bring at most 1",
    ),
]


@pytest.mark.parametrize(("standing", "verdict", "said"), SAID, ids=[v for _, v, _ in SAID])
def test_a_standing_in_words(standing, verdict, said):
    assert (standing.verdict, standing.text, standing.side) == (verdict, said, "at least")


def answered(policy, state, rounds, answer):
    for _ in range(rounds):
        policy.observe(state, policy.act(state, policy.encode({"zone": "town"})), {"answer": answer, "minutes": 1.0})


def test_a_status_warns_where_a_floor_will_be_missed():
    problem = shop(eh.Floor("answer", rate=0.5), horizon=200)
    policy = eh.resolving(problem, eh.PerAction.of(problem))
    state = policy.start()
    name = "answer per round, at least"
    assert policy.status(state).standings[name].verdict == "close"  # nothing is known yet
    assert "missed" not in str(policy.status(state))
    answered(policy, state, 10, 1.0)
    assert f"{name}  1 (at least 0.5)\n" in str(policy.status(state)) + "\n"
    answered(policy, state, 15, 0.0)  # 0.4 after 25 rounds, where 0.1 is a standard error
    assert "0.4 (at least 0.5), missed so far, by no more than chance explains" in str(policy.status(state))
    answered(policy, state, 35, 0.0)  # 10 of 60
    assert "0.1667 (at least 0.5), missed so far; the remaining rounds need at least 0.6429" in str(
        policy.status(state)
    )
    answered(policy, state, 60, 0.0)  # 10 of 120, and 80 rounds to come
    said = "out of reach: the remaining rounds would need 1.125, and bring at most 1"
    assert f"0.08333 (at least 0.5), {said}" in str(policy.status(state))
    answered(policy, state, 80, 0.0)
    assert re.search(r"0\.05 \(at least 0\.5\), missed$", str(policy.status(state)), re.MULTILINE)


def test_a_trace_shows_limits_beside_its_numbers_and_what_was_missed():
    """`ucb` ignores a floor on calls, where nothing answers best; a floor that any play keeps is kept."""
    floors = eh.Floor("calls", rate=0.3), eh.Floor("minutes", rate=5.0)
    problem = shop(*floors, horizon=60, outcomes=(*shop().outcomes[:2], eh.Outcome("calls", known={"call": 1})))
    world = Market(problem=problem)
    idle = replace(eh.uniform(problem, 3), choice=eh.choices.Random(weights=(1.0, 0.0)), name="idle")
    trace = eh.simulate(idle, world, replicas=4, progress=False)
    line = {x.name: x for x in trace.summary().lines}
    assert (line["calls per round, at least"].mean, line["calls per round, at least"].missed) == (0.0, True)
    assert not line["minutes per round, at least"].missed
    assert "(limit 0.3, missed)" in repr(trace)
    assert "(limit 5)" in repr(trace)
    assert [x.endswith("0.3000 missed") for x in str(trace.summary()).splitlines()].count(True) == 1
    both = eh.compare([idle, eh.uniform(problem, 3)], world, replicas=4, progress=False)
    assert str(both).splitlines()[-1] == "idle: missed calls per round, at least (0.0000 of 0.3000)"
    assert trace.summary().to_frame().set_index("name")["missed"].sum() == 1


def test_what_has_not_arrived_is_not_missed():
    floor = eh.Floor("minutes", rate=8.0)
    world = eh.environments.Delayed(Market(problem=shop(floor, horizon=60)), delay=55)
    trace = eh.simulate(eh.uniform(world.problem, 3), world, replicas=4, progress=False)
    found = {x.name: x for x in trace.summary().lines if x.limit is not None}
    (arrived,) = (x for name, x in found.items() if "arrived" in name)
    assert arrived.mean < 6.0
    assert not any(x.missed for x in found.values())
