import os
import signal
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from evenhand.choices import TopK
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.environments import Arrival, Court, Delayed, FixedContexts, Matching
from evenhand.experiments.court.study import model
from evenhand.goals.hard_limits import hard_budget
from evenhand.goals.linear_reward import reward
from evenhand.models import BayesianLogistic, Fixed, Glmtron, NullModel, Ridge
from evenhand.policy import Policy
from evenhand.problem import Budget, Groups, Outcome, Parity
from evenhand.problem.constraints.sums import disparity
from evenhand.recipes import lin_cbwk, max_match, pgd, square_cbwk, ucb, uniform
from evenhand.run import Trace, simulate
from evenhand.run.recorder import Recorder, empty
from tests.examples.environments import LOG
from tests.polling import LONG, until_steps
from tests.problems import pose

COURT_LIKE = pose(
    "gain",
    Outcome("cost", known={"go": 1}),
    actions=("go", "rest"),
    groups=(Groups("g", {"l": 0.5, "r": 0.5}),),
    horizon=100,
)


class Alternating:
    """Cases of two groups in turn; only the costly action is offered."""

    n_features = 1

    def __init__(self, problem):
        self.problem, self.steps, self.counts_idle_steps = problem, problem.horizon, True

    def start(self, seed, replicas):
        return self

    def context(self, step):
        groups, offered = np.array([[[step % 2]]]), np.array([[True, False]])
        return Context(np.zeros((1, 2, 1)), self.problem.declared[None], groups, offered)

    def respond(self, step, context, decision):
        return decision, [Arrival(step, decision, np.ones((1, 1, 1)))]

    def expected(self, context, plays):
        return None


def short(horizon: int = 300) -> tuple[Court, Policy]:
    court = Court(tolerance=0.01, horizon=horizon)
    return court, pgd(court.problem, model(), step=0.05, margin=0.005)


def same(a: Trace, b: Trace) -> None:
    fields = "times elapsed totals group_totals group_rounds expected stopped restricted_after replicas"
    for field in fields.split():
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)


@pytest.mark.slow
def test_actions_do_not_change_with_the_number_of_jobs():
    court, policy = short()
    one = simulate(policy, court, replicas=5, seed=3, record="all", progress=False)
    two = simulate(policy, court, replicas=5, seed=3, record="all", jobs=2, progress=False)
    same(one, two)
    assert one.plays is not None
    assert two.plays is not None
    np.testing.assert_array_equal(one.plays.actions, two.plays.actions)


def test_policies_on_one_seed_meet_the_same_people_and_luck():
    court, policy = short()
    a = simulate(policy, court, replicas=3, seed=3, record="all", progress=False).plays
    b = simulate(uniform(court.problem, 5), court, replicas=3, seed=3, record="all", progress=False).plays
    assert a is not None
    assert b is not None
    np.testing.assert_array_equal(a.groups, b.groups)
    alike = a.actions == b.actions
    assert alike.any()
    np.testing.assert_array_equal(a.outcomes[alike], b.outcomes[alike])


def test_running_sums_agree_with_every_recorded_play():
    court, policy = short()
    trace = simulate(policy, court, replicas=4, seed=1, record="all", progress=False)
    plays = trace.plays
    assert plays is not None
    np.testing.assert_allclose(trace.totals[-1], plays.outcomes.sum((0, 2)))
    inside = plays.groups[:, :, 0] == np.arange(2)
    by_group = np.einsum("srg,srm->rgm", inside.astype(float), plays.outcomes.sum(2))
    np.testing.assert_allclose(trace.group_totals[-1], by_group)
    np.testing.assert_array_equal(trace.group_rounds[-1], inside.sum(0))
    assert (plays.propensities[plays.actions >= 0] > 0).all()


def test_an_outcome_by_step_is_of_all_plays_that_arrived():
    court, policy = short(200)
    late = simulate(policy, Delayed(court, 20), replicas=3, seed=1, record="all", progress=False)
    for name in ("appears", "ride"):
        by_step = late.by_step(name)
        assert by_step.shape == (200, 3)
        np.testing.assert_allclose(by_step.sum(0), late.total(name))
    assert (late.by_step("appears")[-20:] == 0).all()
    matching = Matching(users=3, arms=2, horizon=30)
    several = simulate(max_match(matching.problem, BayesianLogistic(n_features=5)), matching, replicas=2, record="all",
                       progress=False)  # fmt: skip
    assert several.by_step("match").max() > 1.0
    np.testing.assert_allclose(several.by_step("match").sum(0), several.total("match"))
    with pytest.raises(InvalidInput, match=r"rid .did you mean ride"):
        late.by_step("rid")
    with pytest.raises(InvalidInput, match='record="all"'):
        simulate(policy, court, replicas=1, progress=False).by_step("ride")


def test_late_outcomes_are_counted_when_they_arrive_and_booked_where_they_belong():
    court, policy = short(200)
    late = simulate(policy, Delayed(court, 20), replicas=3, seed=1, record="all", progress=False)
    assert late.plays is not None
    assert np.isnan(late.plays.outcomes[-20:, ..., 0]).all()
    assert np.isfinite(late.plays.outcomes[:-20, ..., 0]).all()
    np.testing.assert_allclose(late.totals[-1, :, 0], np.nansum(late.plays.outcomes[..., 0], (0, 2)))
    np.testing.assert_allclose(late.totals[-1, :, 1:], late.plays.outcomes[..., 1:].sum((0, 2)))


def test_a_replica_in_which_nothing_fits_stops_and_says_when():
    cost, sides = Outcome("cost", known={"a": 2, "b": 1}), (Groups("g", ["l", "r"]),)
    problem = pose("win", cost, subject_to=(Budget("cost", total=30),), groups=sides, horizon=30)
    goals = (reward(problem), hard_budget(problem))
    policy = Policy(problem=problem, model=NullModel(n_features=1), goals=goals, choice=TopK(1))
    trace = simulate(policy, Alternating(problem), replicas=1, progress=False)
    assert trace.stopped[0] == 15  # 15 plays of a, at 2 each
    assert trace.total("cost")[0] == 30
    assert trace.elapsed[-1, 0] == 30  # people who came after that still count
    assert trace.average("win")[-1, 0] == 0.5
    assert "1 stopped" in str(trace.summary())


@pytest.mark.parametrize(
    ("change", "field"),
    [({"jobs": 0}, "jobs"), ({"record": "some"}, "record"), ({"replicas": 0}, "replicas"), ({"seed": -1}, "seed")],
)
def test_bad_arguments_are_named_before_anything_runs(change, field):
    court, policy = short()
    arguments = {"replicas": 2, "progress": False} | change
    with pytest.raises(InvalidInput) as error:
        simulate(policy, court, **arguments)
    assert error.value.field == field


@pytest.mark.slow
@pytest.mark.parametrize("record", ["grid", "all"])
def test_jobs_agree_on_a_log_whose_runs_end_at_different_rows(record):
    policy = uniform(LOG.problem, LOG.n_features)
    for seed in range(3):
        one = simulate(policy, LOG, replicas=4, seed=seed, record=record, progress=False)
        two = simulate(policy, LOG, replicas=4, seed=seed, record=record, jobs=2, progress=False)
        np.testing.assert_array_equal(one.totals[-1], two.totals[-1])
        np.testing.assert_array_equal(one.elapsed[-1], two.elapsed[-1])
        np.testing.assert_array_equal(one.offered_steps, two.offered_steps)
        if one.plays is not None and two.plays is not None:
            np.testing.assert_array_equal(one.plays.counted.sum(0), two.plays.counted.sum(0))


@pytest.mark.parametrize("delay", [0, 300, 1500])
def test_known_costs_move_prices_even_while_outcomes_are_late(delay):
    court = Court(tolerance=0.01, horizon=3000)
    policy = pgd(court.problem, model(), step=0.02)
    trace = simulate(policy, Delayed(court, delay), replicas=4, seed=0, progress=False)
    # what a price of at most 1 can let through beyond the budget: 1 / gamma = 50 units, and a warm-up of 50 rounds
    assert (trace.total("ride") <= 150 + 50 + 50).all()
    assert (trace.total("voucher") <= 600 + 50 + 50).all()


@pytest.mark.parametrize("shares", [{"l": 0.5, "r": 0.5}, ["l", "r"]])
def test_disparity_is_the_same_whether_shares_are_declared_or_counted_when_a_run_stops(shares):
    parity = Parity("cost", by="g", tolerance=0.1)
    problem = replace(COURT_LIKE, subject_to=(Budget("cost", total=20), parity), groups=(Groups("g", shares),))
    trace = simulate(uniform(problem, 1), Alternating(problem), replicas=1, progress=False)
    assert trace.stopped[0] == 20
    np.testing.assert_allclose(disparity(trace, "cost", "g")[-1], 0.0, atol=1e-12)  # ten of each group were served


SLOW_RUN = """
import sys
from evenhand.environments import Court
from evenhand.experiments.court.study import model
from evenhand.recipes import pgd
from evenhand.run.recorder import Recorder, empty
from evenhand.run.simulation import simulate
if __name__ == "__main__":
    court = Court(horizon=2_000_000)
    policy = pgd(court.problem, model(), step=0.02)
    print("ready", flush=True)
    trace = simulate(policy, court, replicas=4, jobs=int(sys.argv[1]), progress=True)
    print(trace.finished, trace.times[-1] > 1, len(trace.replicas), bool((trace.elapsed[-1] == trace.times[-1]).all()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_leaves_what_was_done_readable(jobs, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(SLOW_RUN)
    command, pipe = [sys.executable, str(script), str(jobs)], subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    until_steps(process.stderr, 20_000)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    out, _ = process.communicate(timeout=LONG)
    assert out.split() == ["False", "True", "4", "True"]


@pytest.mark.parametrize("delay", [0, 5])
def test_a_run_that_ends_when_nobody_can_play_any_more_is_the_whole_run(delay):
    """With every play recorded each step is taken; without, the rest is filled in."""
    world = Delayed(FixedContexts(arms=3, dimension=6, horizon=600), delay=delay)
    policy = square_cbwk(world.problem, Glmtron(n_features=6, n_outcomes=5), rate=20.0)
    short_run, whole = (simulate(policy, world, replicas=3, record=r, progress=False) for r in ("grid", "all"))
    same(short_run, whole)
    assert (short_run.elapsed[-1] == 600).all()
    assert (short_run.stopped < 400).all()
    assert short_run.finished


def test_what_is_under_way_at_the_horizon_still_arrives():
    log = Delayed(replace(LOG, problem=replace(LOG.problem, horizon=40)), delay=100)
    policy = ucb(log.problem, Ridge(n_features=8, n_outcomes=2), warmup=0)
    short_run, whole = (simulate(policy, log, replicas=3, record=r, progress=False) for r in ("grid", "all"))
    assert (whole.elapsed[-1] == 40).all()  # the horizon is reached, and the log goes on
    assert short_run.times[-1] < whole.times[-1]
    np.testing.assert_array_equal(short_run.totals[-1], whole.totals[-1])


def test_with_a_free_action_a_run_goes_on_and_says_since_when():
    """What costs nothing is never masked; the trace says after which round the rest did not fit any more."""
    world = FixedContexts(arms=3, dimension=6, horizon=400, null_arm=True)
    policy = lin_cbwk(world.problem, Ridge(n_features=6, n_outcomes=5, width=Fixed(0.1)), max_price=1e-9)
    trace = simulate(policy, world, replicas=3, record="all", progress=False)
    assert np.isnan(trace.stopped).all()
    assert trace.plays is not None
    for r in range(3):
        end = int(trace.restricted_after[r])
        assert 100 < end < 300
        assert (trace.plays.actions[end:, r, 0] == 0).all()
        assert (trace.plays.actions[:end, r, 0] != 0).any()
    for b in world.problem.spending:
        assert (trace.total(b.outcome) <= b.total).all()
    ends = trace.restricted_after.astype(int)
    said = f"3 replicas, 3 ended with actions masked that no longer fitted (after rounds {ends.min()} to {ends.max()})"
    assert said in str(trace.summary())


def test_a_free_action_that_costs_something_is_refused():
    world = FixedContexts(arms=1, dimension=5, horizon=20, null_arm=True)
    policy = lin_cbwk(world.problem, Ridge(n_features=5, n_outcomes=5))
    state = policy.start()
    context = world.start(0, state.replicas).context(0)
    decision = policy.decide(state, context)._replace(plays=np.zeros((1, 1), np.int64))
    policy.commit(state, context, decision)
    y = np.zeros((1, 1, 5))
    policy.learn(state, decision, y)
    y[0, 0, 2] = 0.1
    with pytest.raises(InvalidInput, match=r"'cost 2': expected .*0 under \('nothing',\)"):
        policy.learn(state, decision, y)


def test_an_interrupted_run_says_so_first_and_counts_what_elapsed():
    """Half of the run spent half of the budget: over the horizon that would look like half of the limit."""
    court = Court(horizon=400)
    policy = pgd(court.problem, model(), step=0.05, hard=True)
    whole = simulate(policy, court, replicas=4, progress=False)
    half = int(np.searchsorted(whole.times, 200))
    sums = ("elapsed", "totals", "group_totals", "group_rounds", "expected", "group_expected", "under_way")
    part = replace(whole, finished=False, **{k: getattr(whole, k)[: half + 1] for k in ("times", *sums)})
    rounds = int(whole.times[half])
    assert str(part.summary()).startswith(f"{policy.name}: INTERRUPTED after {rounds} of 400 rounds, 4 replicas")
    assert "INTERRUPTED" not in str(whole.summary())
    spent = {x.name: x.mean for x in part.summary().lines}
    for b in court.problem.spending:
        assert spent[b.label] == pytest.approx((part.total(b.outcome) / rounds).mean())


def test_a_grid_takes_no_more_memory_for_more_rounds():
    """What a run keeps is a few hundred points, however many rounds there are: 5,000,000 of them fit a laptop."""
    court = Court(horizon=5_000_000)
    policy = uniform(court.problem, n_features=5)
    state, world = policy.start(replicas=10), court.start(0, np.arange(10))
    tracemalloc.start()
    try:
        Recorder(policy, state, world, empty(policy.problem, 10, world.steps), everything=False)
        assert tracemalloc.get_traced_memory()[1] < 5e6  # bytes at the peak; a play a round would be 400 MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("horizon", [1, 7, 300, 11_000])
def test_sums_are_kept_at_round_numbers_whatever_the_length_of_the_run(horizon):
    """So that values of a round are those of that round, and not of the next point of a grid that spreads the run."""
    world = Court(horizon=horizon)
    trace = simulate(uniform(world.problem, n_features=5), world, replicas=1, record="all", progress=False)
    for step in (s for s in (1, 2, 5, 10, 20, 50, 100, 200, 10_000, horizon) if s <= horizon):
        i = trace.at(step)
        assert trace.elapsed[i, 0] == trace.times[i] == step
        assert trace.plays is not None
        appeared = trace.plays.outcomes[:step, 0, 0, 0].sum()
        assert trace.totals[i, 0, 0] == pytest.approx(appeared)


def test_a_step_at_which_nothing_was_kept_is_refused():
    world = Court(horizon=5000)
    trace = simulate(uniform(world.problem, n_features=5), world, replicas=1, progress=False)
    with pytest.raises(InvalidInput, match=r"^step: expected one after .* recorded, such as \[\d+, \d+\], got 4999"):
        trace.at(4999)
    with pytest.raises(InvalidInput, match=r"such as \[5000\], got 6000"):
        trace.at(6000)


def test_true_means_of_another_shape_are_refused(monkeypatch):
    """A kernel adds them up without looking at sizes."""
    court, policy = short()
    there = type(court.start(0, np.arange(2)))
    means = there.expected
    for wrong in (lambda e: e[:1], lambda e: e[:, :, 0], lambda e: np.concatenate([e, e], 2)):
        monkeypatch.setattr(there, "expected", lambda self, c, p, wrong=wrong: wrong(means(self, c, p)))
        with pytest.raises(InvalidInput, match=r"World\.expected: expected means of all plays, of shape \(2, 1, 1\)"):
            simulate(policy, court, replicas=2, progress=False)
