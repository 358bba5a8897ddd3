import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from evenhand.environments import Court, Delayed
from evenhand.errors import InvalidInput
from evenhand.papers.court import model
from evenhand.policy import Policy
from evenhand.recipes import pgd, uniform
from evenhand.simulation import simulate
from evenhand.trace import Trace


def short(horizon: int = 300) -> tuple[Court, Policy]:
    court = Court(tolerance=0.01, horizon=horizon)
    return court, pgd(court.problem, model(), gamma=0.05, margin=0.005)


def same(a: Trace, b: Trace) -> None:
    for field in ("times", "elapsed", "totals", "group_totals", "group_rounds", "expected", "stopped", "replicas"):
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


def test_a_replica_alone_is_that_replica_in_a_batch():
    court, policy = short()
    batch = simulate(policy, court, replicas=6, seed=3, progress=False)
    alone = simulate(policy, court, replicas=[4], seed=3, progress=False)
    np.testing.assert_array_equal(batch.totals[:, 4], alone.totals[:, 0])


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
    inside = plays.groups[:, :, 0, None] == np.arange(2)
    by_group = np.einsum("srg,srm->rgm", inside.astype(float), plays.outcomes.sum(2))
    np.testing.assert_allclose(trace.group_totals[-1], by_group)
    np.testing.assert_array_equal(trace.group_rounds[-1], inside.sum(0))
    assert (plays.probabilities[plays.actions >= 0] > 0).all()


def test_late_outcomes_are_counted_when_they_arrive_and_booked_where_they_belong():
    court, policy = short(200)
    late = simulate(policy, Delayed(court, 20), replicas=3, seed=1, record="all", progress=False)
    assert late.plays is not None
    assert np.isnan(late.plays.outcomes[-20:, ..., 0]).all()
    assert np.isfinite(late.plays.outcomes[:-20, ..., 0]).all()
    np.testing.assert_allclose(late.totals[-1, :, 0], np.nansum(late.plays.outcomes[..., 0], (0, 2)))
    np.testing.assert_allclose(late.totals[-1, :, 1:], late.plays.outcomes[..., 1:].sum((0, 2)))


def test_a_replica_in_which_nothing_fits_stops_and_says_when():
    from evenhand.choices import TopK
    from evenhand.constraints import Budget
    from evenhand.environments.base import Arrival
    from evenhand.goals.hard_budget import hard_budget
    from evenhand.goals.linear import reward
    from evenhand.models import Blank
    from evenhand.problem import Outcome, Problem
    from evenhand.records import Context

    problem = Problem(
        actions=("a", "b"),
        outcomes=(Outcome("win"), Outcome("cost", known={"a": 1, "b": 2})),
        maximize="win",
        subject_to=(Budget("cost", total=30),),
        horizon=30,
    )

    class World:
        steps = 30

        def context(self, step):
            return Context(
                np.zeros((1, 2, 1)), problem.declared[None], np.zeros((1, 0), int), np.array([[False, True]])
            )

        def respond(self, step, context, decision):
            return decision, [Arrival(step, decision, np.ones((1, 1, 1)))]

        def expected(self, context, plays):
            return None

    class Environment:
        features = 1

        def __init__(self):
            self.problem = problem

        def start(self, seed, replicas):
            return World()

    policy = Policy(
        problem=problem, model=Blank(features=1), goals=(reward(problem), hard_budget(problem)), choice=TopK(1)
    )
    trace = simulate(policy, Environment(), replicas=1, progress=False)
    assert trace.stopped[0] == 15  # 15 plays of b, at 2 each
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


def test_a_policy_made_for_another_problem_is_refused():
    _, policy = short(300)
    with pytest.raises(InvalidInput, match="policy: expected one made for the environment's problem"):
        simulate(policy, Court(tolerance=0.01, horizon=200), replicas=1)


SLOW_RUN = """
import sys
from evenhand.environments import Court
from evenhand.papers.court import model
from evenhand.recipes import pgd
from evenhand.simulation import simulate
if __name__ == "__main__":
    court = Court(horizon=2_000_000)
    policy = pgd(court.problem, model(), gamma=0.02)
    print("ready", flush=True)
    trace = simulate(policy, court, replicas=4, jobs=int(sys.argv[1]), progress=False)
    print(trace.finished, trace.times[-1] > 1, len(trace.replicas), bool((trace.elapsed[-1] == trace.times[-1]).all()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_leaves_what_was_done_readable(jobs, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(SLOW_RUN)
    process = subprocess.Popen(
        [sys.executable, str(script), str(jobs)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    time.sleep(12 if jobs > 1 else 6)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    out, _ = process.communicate(timeout=120)
    assert out.split() == ["False", "True", "4", "True"]
