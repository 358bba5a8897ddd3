"""Ranges of an outcome by action: what budgets hold back, what is refused, and what has one range all the same."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.kernel import code_of, kernels
from evenhand.core.records import Context
from evenhand.goals.hard_limits import hard_budget
from evenhand.live import Campaign
from evenhand.live.http import app
from evenhand.models import Ridge
from evenhand.policy import checks, entries
from evenhand.problem import Budget, Floor, Outcome
from evenhand.problem.rows import Cases
from evenhand.recipes import pgd, uniform
from evenhand.run import simulate
from evenhand.testing.recipes import Bazaar
from tests import accounts
from tests.fingerprints import digest
from tests.live.http_campaign import serving
from tests.problems import pose

ACTIONS = ("human", "small", "large", "expert")
HIGH = {"small": 0.02, "large": 0.5, "expert": 3.0}
MEAN = {"small": 0.01, "large": 0.1, "expert": 1.0}


def routing(high=HIGH, **bill):
    dollars = Outcome("dollars", **({"high": high, "mean": MEAN} | bill))
    return pose("solved", dollars, actions=ACTIONS, subject_to=(Budget("dollars", total=9.0),), horizon=50)


def test_each_action_has_its_ends_and_the_rest_has_the_widest_range():
    problem = routing()
    np.testing.assert_array_equal(problem.span, [[0, 0], [1, 3]])
    lows = [[0, 0], [0, 0], [0, 0], [0, 0]]
    np.testing.assert_array_equal(problem.span_by_action, [lows, [[1, 0], [1, 0.02], [1, 0.5], [1, 3]]])
    np.testing.assert_array_equal(routing(3.0, free=("human",), mean=None).span_by_action[1, :, 1], [0, 3, 3, 3])
    learned = routing({"small": 1, "large": 5, "expert": 7}, low={"small": -2, "large": 3, "expert": 4}, mean=None,
                      free=("human",))  # fmt: skip
    np.testing.assert_array_equal([learned.low, learned.high], [[0, -2], [1, 7]])
    np.testing.assert_array_equal(learned.span_by_action[:, :, 1], [[0, -2, 3, 4], [0, 1, 5, 7]])
    one = pose("solved", Outcome("dollars", high=3.0), actions=ACTIONS, horizon=9)
    assert one.span_by_action.shape == (2, 1, 2)
    assert not one.names_candidates
    assert problem.names_candidates


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Outcome("c", high={}), r"^Outcome\('c'\): expected ends by action of a learned or noisy outcome"),
        (lambda: Outcome("c", high={"a": 1}, known=1.0), r"^Outcome\('c'\): expected ends by action of a learned"),
        (lambda: Outcome("c", high={"a": "1"}), r"^Outcome\.high.*number"),
        (
            lambda: Outcome("c", high={"a": 1, "b": -1}),
            r"^Outcome\('c'\) under 'b': expected low <= high, got low=0.*-1",
        ),
        (lambda: Outcome("c", high={"a": np.nan, "b": 1}), r"^Outcome\('c'\)"),
        (lambda: Outcome("c", high={"b": 1, "a": np.nan}), r"^Outcome\('c'\) under 'a': expected low <= high"),
        (lambda: Outcome("c", high={"a": 0, "b": 0}), r"^Outcome\('c'\): expected low < high"),
        (
            lambda: Outcome("c", high={"a": 1, "b": 3}, mean={"a": 2, "b": 2}),
            r"^Outcome\('c'\)\.mean\['a'\]: expected a mean in \[0, 1\], its range, got 2",
        ),
        (lambda: Outcome("c", high={"a": 1, "b": 3}, mean=2), r"^Outcome\('c'\)\.mean: expected a mean in \[0, 1\]"),
        (
            lambda: Outcome("c", high={"a": 1, "b": 3}, fallback=2.0),
            r"^Outcome\('c'\)\.fallback: expected a number in \[0, 1\], its range, got 2",
        ),
        (lambda: routing(HIGH | {"smal": 1}), r"^Outcome\('dollars'\)\.high: expected one of the actions .* got smal"),
        (
            lambda: routing({"small": 1, "large": 1}),
            r"^Outcome\('dollars'\)\.high: expected an end for every action that is not free, got none for 'expert'",
        ),
        (lambda: routing(low={"small": 0, "large": 0}), r"^Outcome\('dollars'\)\.low: expected an end for every"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_a_budget_needs_a_finite_range_under_every_action():
    cost = Outcome("cost", high={"a": 1.0, "b": np.inf})
    stated = pose("gain", cost, subject_to=(Budget("cost", total=9.0),), horizon=9)
    with pytest.raises(InvalidInput, match="an outcome with a finite declared range"):
        hard_budget(stated)


def test_states_are_saved_and_go_on(tmp_path):
    policy = eh.resolving(routing())
    state = policy.start(seed=2)
    for _ in range(5):
        decision = policy.act(state, policy.encode({}))
        policy.observe(state, decision, {"solved": 1.0, "dollars": 0.0})
    policy.save(state, tmp_path / "state.npz")
    again = eh.resolving(routing()).load(tmp_path / "state.npz")
    case = policy.encode({})
    assert policy.decide(again, case).action == policy.decide(state, case).action
    assert accounts.left(policy, again)[0, 0] == 9.0


def test_a_fallback_is_within_the_range_of_every_action_that_is_not_free():
    Outcome("c", low={"a": 1, "b": 2}, high={"a": 3, "b": 4}, fallback=2.5)
    Outcome("c", low=-1, high={"a": 3, "b": -1}, free=("b",), fallback=2.5)
    with pytest.raises(InvalidInput, match=r"a number in \[2, 4\], its range, got 1\.5"):
        Outcome("c", low={"a": 1, "b": 2}, high={"a": 3, "b": 4}, fallback=1.5)


def said(policy, action, dollars, entry="observe"):
    state = policy.start()
    case = policy.encode({}, offered=[action])
    outcomes = {"solved": 1.0, "dollars": dollars}
    if entry == "teach":
        return policy.teach(state, case, action, outcomes)
    return policy.observe(state, policy.act(state, case), outcomes)


@pytest.mark.parametrize("entry", ["observe", "teach"])
@pytest.mark.parametrize("noisy", [True, False])
def test_an_outcome_outside_the_range_of_its_action_is_refused(entry, noisy):
    policy = eh.resolving(routing() if noisy else routing(mean=None, free=("human",)))
    for action, most in HIGH.items():
        said(policy, action, most, entry)
        with pytest.raises(InvalidInput, match=rf"^outcome 'dollars'.* in \[0, {most:g}\] under '{action}' \(as decl"):
            said(policy, action, 1.001 * most, entry)
    said(policy, "human", 0.0, entry)
    with pytest.raises(InvalidInput, match=r"in \[0, 3\] \(as declared\), 0 under \('human',\)"):
        said(policy, "human", 0.001, entry)


def test_a_mean_that_a_case_states_is_within_the_range_of_its_action():
    policy = eh.resolving(routing())
    state = policy.start()
    policy.act(state, policy.encode({}, known={"dollars": {"large": 0.4, "expert": 2.9}}))
    with pytest.raises(InvalidInput, match=r"a mean of 'dollars' in \[0, 0\.5\], its range, got 0\.6"):
        policy.act(state, policy.encode({}, known={"dollars": {"large": 0.6}}))


def test_a_revised_outcome_is_within_the_range_of_its_action():
    campaign = Campaign.open("memory://", "ask", eh.resolving(routing()), on_expiry="release")
    campaign.decide({}, "one", offered=["small"])
    campaign.observe("one", {"solved": 1.0, "dollars": 0.01})
    with pytest.raises(InvalidInput, match=r"in \[0, 0\.02\] under 'small'"):
        campaign.observe("one", {"solved": 1.0, "dollars": 0.03}, revise=True)
    campaign.observe("one", {"solved": 1.0, "dollars": 0.02}, revise=True)
    with serving(app(campaign)) as client:
        shown = client.get("/openapi.json").json()["paths"]["/observe"]["post"]["requestBody"]
        answer = client.post("/observe", json={"key": "one", "outcomes": {"solved": 1, "dollars": 0.03}})
    outcomes = shown["content"]["application/json"]["schema"]["oneOf"][0]["properties"]["outcomes"]["oneOf"][0]
    assert outcomes["properties"]["dollars"] == {
        "type": ["number", "null"],
        "minimum": 0.0,
        "maximum": 3.0,
        "description": "its range by action, human: 0 to 0; small: 0 to 0.02; large: 0 to 0.5; expert: 0 to 3",
    }
    assert answer.status_code in (409, 422)


def test_appended_actions_stay_within_the_widest_range_which_models_have():
    stated = routing()
    old = uniform(stated, n_features=1)
    state = old.start()

    def adopt(high, more=()):
        actions = (*ACTIONS, *more)
        bill = Outcome("dollars", high=HIGH | high, mean=MEAN | dict.fromkeys(more, 0.1))
        new = replace(stated, actions=actions, outcomes=(Outcome("solved"), bill))
        uniform(new, n_features=1).adopt(state, of=old)

    adopt({"new": 2.0}, ("new",))
    for high, more in (({"new": 4.0}, ("new",)), ({"small": 0.03}, ())):
        with pytest.raises(InvalidInput, match=r"problem\.outcomes"):
            adopt(high, more)


def test_feasibility_goes_by_the_range_of_each_action():
    """At best, half of the rounds bring 1 and half of them 3."""

    def spread(rate):
        earned = Outcome("earned", high={"a": 1, "b": 3})
        demands = Floor("earned", rate=rate), Budget("b", rate=0.5)
        return pose(earned, Outcome("b", known={"b": 1}), subject_to=demands, horizon=10)

    spread(1.99)
    with pytest.raises(InfeasibleProblem):
        spread(2.01)


def made(rng, plays):
    """Costs with a factor that may be negative, and bills, both with ranges by action; the first action is free."""
    paid = ("a", "b", "c", "d")
    low = dict(zip(paid, rng.choice([-1.0, 0.0, 0.25], 4), strict=True))
    cost = {a: low[a] + z for a, z in zip(paid, rng.choice([0.1, 1.0, 4.0], 4), strict=True)}
    bill = dict(zip(paid, rng.choice([0.5, 1.0, 5.0], 4), strict=True))
    return pose(
        "gain",
        Outcome("cost", low=low, high=cost, free=("none",), times="price"),
        Outcome("bill", high=bill, mean={a: z / 4 for a, z in bill.items()}, fallback=0.375),
        Outcome("price", known=1.0),
        actions=("none", *paid),
        subject_to=(Budget("cost", total=25.0), Budget("bill", total=15.0)),
        horizon=60,
        n_plays=plays,
    )


def worst(problem, price, action):
    """What a play can use of both budgets at most, by trying the ends of its own range and, if nobody looks, 0."""
    cost, bill = (next(o for o in problem.outcomes if o.name == name) for name in ("cost", "bill"))
    if action == "none":
        return np.zeros(2)
    return np.array(
        [max(0.0, *(price * cost_at for cost_at in (cost.low[action], cost.high[action]))), bill.high[action]]
    )


@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_no_budget_is_exceeded_in_any_replica_and_books_are_those_of_plain_numbers(seed, plays):
    """Outcomes come late, in any order, at the ends of their ranges half of the time, or not at all."""
    rng = np.random.default_rng(seed)
    problem = made(rng, plays)
    narrow = hard_budget(problem)
    wide = hard_budget(replace(problem, outcomes=tuple(replace(o, low=o.widest[0], high=o.widest[1])
                                                       for o in problem.outcomes)))  # fmt: skip
    policy, replicas, total, fewer = uniform(problem, n_features=1), 3, np.array([25.0, 15.0]), 0
    state = policy.start(seed=seed, replicas=replicas)
    spent, held, waiting = np.zeros((replicas, 2)), np.zeros((replicas, 2)), []
    for step in range(problem.horizon):
        price = rng.uniform(-1, 2, replicas)
        known = np.tile(problem.declared, (replicas, 1, 1))
        known[:, :, 1] = price[:, None]
        offered = np.ones((1, 5), bool)
        offered[0, 0] = step % 5 == 0
        context = Context(np.ones((replicas, 5, 1)), known, np.zeros((replicas, 1, 0), np.int64), offered)
        most = np.array([[worst(problem, z, a) for a in problem.actions] for z in price])
        left = total - spent - held
        rooms = [goal.room(goal.start(replicas), Cases(known, context.groups))[0] for goal in (narrow, wide)]
        np.testing.assert_allclose(rooms[0], most, atol=1e-12)
        assert (rooms[0] <= rooms[1] + 1e-12).all()
        fits = [(room <= left[:, None] + 1e-9).all(2) & offered for room in rooms]
        fewer += (fits[0] & ~fits[1]).sum()
        decision = policy.decide(state, context)
        policy.commit(state, context, decision)
        for r in range(replicas):
            played = decision.plays[r][decision.plays[r] >= 0]
            assert len(played) == min(plays, max(len(played), int(fits[0][r].any())))
            assert fits[0][r, played].all()
            held[r] += most[r, played].sum(0)
        np.testing.assert_allclose(accounts.left(policy, state), total - spent - held, atol=1e-9)
        waiting.append((decision, price))
        for which in sorted(rng.choice(len(waiting), rng.integers(0, 3) % (len(waiting) + 1), False), reverse=True):
            old, at = waiting.pop(which)
            fate = rng.choice(["learn", "learn", "learn", "expire", "cancel"])
            y, exposed = np.zeros((replicas, plays, 3)), rng.random((replicas, plays)) < 0.8
            for r, p in np.argwhere(old.plays >= 0):
                a = old.plays[r, p]
                low, high = problem.span_by_action[:, a]
                y[r, p] = np.where(rng.random(3) < 0.5, rng.choice([low, high]), rng.uniform(low, high))
                y[r, p, :2] *= exposed[r, p]
                due = worst(problem, at[r], problem.actions[a])
                if fate == "learn":
                    spent[r] += at[r] * y[r, p, 1], y[r, p, 2]
                    held[r] -= due
                elif fate == "expire":  # the cost has no fallback, and stays held
                    spent[r, 1] += 0.375 * (a > 0)
                    held[r, 1] -= due[1]
                else:
                    held[r] -= due
            {
                "learn": lambda d, y=y, e=exposed: policy.learn(state, d, y, exposed=e),
                "expire": lambda d: policy.expire(state, d),
                "cancel": lambda d: policy.cancel(state, d),
            }[fate](old)
            np.testing.assert_allclose(accounts.left(policy, state), total - spent - held, atol=1e-9)
        assert (spent + held <= total + 1e-8).all()
    assert fewer > 0, "some decisions have more to choose from than with one range"


def test_arrivals_are_the_same_interpreted_and_compiled():
    rng, replicas, plays, actions = np.random.default_rng(0), 4, 2, 3
    ranges = np.sort(rng.uniform(-1, 2, (2, actions, 2)), 0)
    groups, known = np.zeros((replicas, 1, 0), np.int64), np.zeros((replicas, plays, 1))
    found = []
    for _ in range(40):
        at = rng.integers(-1, actions, (replicas, plays))
        y = (
            np.where(rng.random((replicas, plays, 1)) < 0.9, ranges[rng.integers(0, 2), at], 2.5)
            * (at >= 0)[:, :, None]
        )
        said = (at, np.ones(replicas), np.zeros(replicas), groups, known, y, checks.EVERYWHERE, checks.EVERY_PLAY)
        said += np.ones(1, bool), 1, ranges, checks.NOTHING
        with kernels("interpreted"):
            mine = entries.at_arrival(*said)
        compiled = code_of(entries.at_arrival)(*said)
        for a, b in zip(mine, compiled, strict=True):
            np.testing.assert_array_equal(a, b)
        wrong = (at >= 0)[:, :, None] & ((y < ranges[0, at]) | (y > ranges[1, at]))
        assert (mine[2] >= 0) == wrong.any()
        found.append(bool(wrong.any()))
    assert {*found} == {True, False}


def test_runs_are_the_same_interpreted_and_compiled():
    cost = Outcome("cost", high={"a": 0.5, "b": 1, "c": 9}, free=("none",))
    problem = pose("gain", cost, actions=("none", "a", "b", "c"), subject_to=(Budget("cost", total=20),), horizon=80)
    policy, found = pgd(problem, Ridge(n_features=3, n_outcomes=2), hard=True), []
    for way in ("interpreted", "compiled"):
        with kernels(way):
            trace = simulate(policy, Bazaar(problem), replicas=3, seed=1, record="all", progress=False)
            found.append(digest(trace))
    assert found[0] == found[1]
