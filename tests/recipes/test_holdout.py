"""Holdouts and floors of `resolving`: probabilities in the log, reserves, refusals, and what is reported."""

import math
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.choices import TopK
from evenhand.core.errors import InvalidInput
from evenhand.environments import Delayed
from evenhand.live.dashboard.page import render_file
from evenhand.live.dashboard.report import report as to_dict
from evenhand.logs.settings import Settings
from evenhand.models import BayesianRidge, Bootstrapped
from evenhand.planning.pace import Reserve, ReserveState
from evenhand.policy.standings import comparisons
from evenhand.problem.holdout import known_rounds
from evenhand.run import simulate
from tests import holdouts
from tests.holdouts import log, shop

N = 600
WORLD = shop(N)


def policy(**options):
    return holdouts.policy(WORLD, **options)


def model():
    return BayesianRidge(n_features=9, n_outcomes=2)


MIXTURES = [{"holdout": 0.08}, {"explore": 0.02}, {"holdout": 0.04, "explore": 0.01}]


@pytest.mark.parametrize("options", MIXTURES)
def test_probabilities_are_floored_exact_and_paid_for(options):
    """Forced rounds are within five standard errors of their share."""
    run = log(policy(**options), WORLD, seed=3)
    assert (run.chances.min(2) < 0.02 - 1e-12).mean() <= 0.02  # at the end of a short run, when less than 1 is left
    assert (run.state.goals[2].left >= 0.0).all()
    stated = np.take_along_axis(run.chances, run.plays[:, :, None], 2)[:, :, 0]
    assert run.propensities == pytest.approx(stated)
    assert abs(run.forced.mean() - 0.08) < 5.0 * math.sqrt(0.08 * 0.92 / run.forced.size)


@pytest.mark.slow
@pytest.mark.parametrize("options", MIXTURES)
def test_a_floor_costs_no_more_than_the_optimum_with_it_and_logs_are_unbiased(options):
    """Measured with 36 replicas: see the page. The error of the log is within three standard errors of 0."""
    world = shop()
    run = log(holdouts.policy(world, **options), world)
    kept = holdouts.optima(world, [0], 0.02, replicas=12)
    assert (run.gained / kept).mean() > 0.98
    assert (run.chances.min(2) < 0.02 - 1e-12).mean() <= 0.005
    assert abs(run.error.mean()) < 3.0 * run.error.std(ddof=1) / math.sqrt(12)


def test_a_control_group_gets_nothing_and_the_plan_spends_what_it_leaves():
    """Without a reserve, some replicas leave 6% of the budget; with it, all leave what a play can use, and 1%."""
    tight = replace(WORLD, subject_to=(eh.Budget("money", total=0.06 * N),))
    control = eh.resolving(tight.problem, model(), holdout=eh.Holdout(0.3, lottery={"nothing": 1}))
    run = log(control, tight, seed=3)
    assert (run.plays[run.forced] == 0).all()
    assert run.y[:, :, 1].sum(0).min() > 0.99 * 0.06 * N - 1.0


def test_a_rate_is_split_by_what_forced_rounds_use():
    reserve = Reserve(0.25)
    state = ReserveState(np.array([[6.0, 0.0]]), np.array([[20.0, 0.0]]))
    left = reserve.left(state, np.array([[0.12, 0.4]]))
    assert left == pytest.approx(np.array([[(0.12 - 0.25 * 0.3) / 0.75, 0.4 / 0.75]]))
    assert reserve.of_all(state, left) == pytest.approx(np.array([[0.12, 0.4]]))


def test_plans_ask_for_what_is_left_beside_the_reserve():
    held = policy(holdout=0.2)
    state = log(held, WORLD, replicas=2).state
    plan, books = held.goals[1], state.goals[1]
    t = np.full(2, 300.0)
    apart = plan.rate(books, np.full(2, float(2 * N)), t)
    mean = books.reserve.used / books.reserve.rounds
    assert (books.reserve.rounds > 0.1 * N).all()
    whole = replace(plan, reserve=0.0).rate(books, np.full(2, float(2 * N)), t)
    assert apart == pytest.approx((whole - 0.2 * mean) / 0.8)


def test_both_sides_are_reported_as_their_plays_say():
    """Welch's interval of one replica, and that of paired differences of several, by hand."""
    held = policy(holdout=0.2)
    run = log(held, WORLD, replicas=4, seed=3)
    sale, here, state = run.y[:, :, 0], run.forced, run.state
    from scipy.stats import ttest_1samp, ttest_ind

    for i, name in enumerate(("sale", "money")):
        one = held.status(state, 1).held_out[name]
        a, b = run.y[here[:, 1], 1, i], run.y[~here[:, 1], 1, i]
        assert (one.name, one.rounds) == (name, len(a))
        assert (one.held_out, one.others) == pytest.approx((a.mean(), b.mean()))
        interval = ttest_ind(b, a, equal_var=False).confidence_interval()
        assert (one.low, one.high) == pytest.approx((interval.low, interval.high))
    assert "held out" in str(held.status(state, 1))
    trace = simulate(held, WORLD, replicas=4, seed=3, progress=False)
    several = trace.summary().held_out[0]
    difference = np.array([sale[~h, i].mean() - sale[h, i].mean() for i, h in enumerate(here.T)])
    interval = ttest_1samp(difference, 0.0).confidence_interval()
    assert several.difference == pytest.approx(difference.mean())
    assert (several.low, several.high) == pytest.approx((interval.low, interval.high))
    assert "sale, by" in str(trace.summary())


@pytest.mark.slow
def test_processes_join_what_was_held_out():
    held = policy(holdout=0.2)
    found = [simulate(held, WORLD, replicas=4, seed=3, jobs=jobs, progress=False).held_out for jobs in (1, 2)]
    assert np.array_equal(*found)


def test_late_outcomes_are_compared_once_they_arrive():
    held = policy(holdout=0.2)
    late = simulate(held, Delayed(WORLD, delay=N), replicas=2, progress=False)
    assert (late.held_out == 0.0).all()
    assert "nothing to compare yet" in late.summary().held_out[0].text
    some = simulate(held, Delayed(WORLD, delay=100), replicas=2, progress=False)
    assert some.held_out[:, :, 0, 0].sum(1) == pytest.approx(np.full(2, N - 100.0))


def test_comparisons_of_nothing_and_of_one_round():
    assert math.isnan(comparisons(("sale",), np.zeros((1, 2, 1, 3)))[0].difference)
    one = np.zeros((1, 2, 1, 3))
    one[:, :, 0] = (1.0, 1.0, 1.0)
    found = comparisons(("sale",), one)[0]
    assert found.difference == 0.0
    assert math.isnan(found.low)


def test_a_policy_without_holdout_has_the_parts_and_states_that_it_had():
    plain = policy()
    assert len(plain.goals) == 3
    assert plain.goals[1].reserve == 0.0
    assert plain.start().goals[1].reserve.used.shape == (1, 0)
    assert isinstance(plain.choice.then, TopK)
    assert plain.status(plain.start()).held_out == {}


def test_a_saved_state_goes_on_alike(tmp_path):
    held = policy(holdout=0.1, explore=0.01)
    state, w = held.start(seed=1), WORLD.start(1, np.arange(1))
    for step in range(80):
        if step == 40:
            held.save(state, tmp_path / "state.npz")
            other = held.load(tmp_path / "state.npz")
        for s in [state] if step < 40 else [state, other]:
            context = w.context(step)
            taken, arrivals = w.respond(step, context, held.decide(s, context))
            held.commit(s, context, taken)
            held.learn(s, arrivals[0].decision, arrivals[0].y)
    assert held.status(state) == held.status(other)


def test_what_no_budget_pays_for_is_refused_with_the_number():
    """Of 3 offers, each 0.05 of 600 rounds, at a middle use of 0.5: 45 of a budget of 40."""
    poor = replace(WORLD, subject_to=(eh.Budget("money", total=40.0),)).problem
    with pytest.raises(InvalidInput, match="at most 40, the budget of 'money', got rounds that would use 45"):
        eh.resolving(poor, model(), explore=0.05)
    with pytest.raises(InvalidInput, match="rounds that would use 45"):
        eh.resolving(poor, model(), holdout=0.2)
    eh.resolving(poor, model(), holdout=eh.Holdout(0.2, lottery={"nothing": 1}))


def test_what_is_withdrawn_costs_nothing_and_holds_nothing_out():
    """A floor of 0.05 for two of three actions, of which one costs 0.1: 1.5 in 300 rounds."""
    problem = eh.Problem(
        actions=("no", "cheap", "dear"),
        outcomes=(eh.Outcome("sale"), eh.Outcome("money", known={"cheap": 0.1, "dear": 50.0})),
        maximize="sale",
        subject_to=(eh.Budget("money", total=50.0),),
        horizon=300,
        withdrawn=("dear",),
    )
    found = known_rounds(problem, None, 0.05).payable(0)
    assert found.reserve == pytest.approx(0.1)
    np.testing.assert_allclose(found.chances, [0.05, 0.05, 0.0])
    np.testing.assert_allclose(known_rounds(problem, 0.2, 0.0).payable(0).chances, [0.1, 0.1, 0.0])
    with pytest.raises(InvalidInput, match="at least one action that is not withdrawn"):
        known_rounds(problem, eh.Holdout(0.2, lottery={"dear": 1}), 0.0).payable(0)
    with pytest.raises(InvalidInput, match=r"rounds that would use 751\.5"):
        known_rounds(replace(problem, withdrawn=()), None, 0.05).payable(0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"holdout": 0.0}, "Holdout.share"),
        ({"holdout": eh.Holdout(0.1, lottery={"nothin": 1})}, "did you mean nothing"),
        ({"explore": -0.1}, "explore"),
        ({"explore": 0.3}, "below 1"),
        ({"holdout": 0.1, "warmup": 10}, "warmup"),
    ],
)
def test_bad_input_is_refused_by_name(options, message):
    with pytest.raises(InvalidInput, match=message):
        policy(**options)


def test_bad_lotteries_are_refused_by_name():
    for bad in ({"nothing": -1.0}, {"nothing": 0.0}, {}):
        with pytest.raises(InvalidInput, match=r"Holdout\.lottery"):
            eh.Holdout(0.1, lottery=bad)


def test_models_that_draw_and_lists_are_refused():
    drawing = Bootstrapped(inner=model(), members=3)
    with pytest.raises(InvalidInput, match="explore: expected 0, or a model that does not explore by drawing"):
        eh.resolving(WORLD.problem, drawing, explore=0.02)
    lists = replace(WORLD.problem, n_plays=2)
    with pytest.raises(InvalidInput, match="one play per round"):
        eh.resolving(lists, model(), holdout=0.1)


def test_a_problem_file_states_both():
    of = Settings.of({"name": "resolving", "explore": 0.01, "holdout": {"share": 0.05, "lottery": {"nothing": 1}}})
    built, holdout = of.build(WORLD.problem, 9), eh.Holdout(0.05, lottery={"nothing": 1})
    assert built.choice == policy(explore=0.01, holdout=holdout).choice
    assert Settings.of({"name": "resolving", "holdout": 0.05}).build(WORLD.problem, 9).choice.then.share == 0.05


def test_rounds_of_a_policy_before_a_switch_are_on_neither_side():
    """All of them have an answer, and no later one has."""
    letters = eh.Problem(actions=("none", "letter"), outcomes=(eh.Outcome("answer"),), maximize="answer", horizon=100)
    campaign = eh.Campaign.open("memory://", "letters", eh.resolving(letters))
    for i in range(60):
        if i == 30:
            campaign.switch(eh.resolving(letters, holdout=0.3))
        campaign.observe(campaign.decide({}, key=str(i)).id, {"answer": 1.0 if i < 30 else 0.0})
    found = campaign.status().held_out["answer"]
    assert 0 < found.rounds < 30
    assert (found.held_out, found.others) == (0.0, 0.0)
    assert "Held out" in render_file(campaign)
    assert to_dict(campaign)["held_out"]["answer"]["rounds"] == found.rounds


def test_live_campaigns_log_exact_probabilities():
    """Half of the rounds nothing, else what the policy plays or 10% of anything."""
    letters = eh.Problem(
        actions=("none", "letter"), outcomes=(eh.Outcome("answer", free=("none",)),), maximize="answer", horizon=50
    )
    held = eh.resolving(letters, explore=0.1, holdout=eh.Holdout(0.5, lottery={"none": 1}))
    campaign = eh.Campaign.open("memory://", "letters", held)
    replies = [campaign.decide({}, key=str(i)) for i in range(30)]
    for reply in replies:
        campaign.observe(reply.id, {"answer": 1.0 if reply.action == "letter" else 0.0})
    status = campaign.status()
    for reply in replies:
        assert reply.probability >= 0.1 - 1e-12
    assert status.held_out["answer"].rounds > 5
    assert status.held_out["answer"].held_out == 0.0
