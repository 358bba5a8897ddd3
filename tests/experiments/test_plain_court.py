import numpy as np

from evenhand.environments import Court
from evenhand.experiments.court.study import model
from evenhand.recipes import pgd
from evenhand.run import simulate
from tests.experiments.plain_court import numbers, run


def test_the_house_takes_the_same_actions_as_a_plain_loop():
    court = Court(tolerance=1e-7, horizon=1500)
    policy = pgd(court.problem, model(), step=0.02, margin=0.005)
    trace = simulate(policy, court, replicas=[0, 3], seed=11, record="all", progress=False)
    assert trace.plays is not None
    for i, replica in enumerate((0, 3)):
        plain = run(numbers(11, replica, 1500), 1500)
        np.testing.assert_array_equal(trace.plays.actions[:, i, 0], plain)
