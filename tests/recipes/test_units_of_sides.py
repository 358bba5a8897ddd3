"""Two budgets and sets in different units under primal and dual updates."""

import numpy as np
import pytest

from evenhand.core.records import Context
from evenhand.models import Tabular
from evenhand.problem import Budget, Outcome, Within
from evenhand.recipes import bwcr, primal_bwc
from evenhand.sets import Box, Halfspaces
from tests.problems import pose

MEANS = np.array([[0.9, 0.8, 0.2], [0.8, 0.2, 0.8], [0.3, 0.1, 0.1], [0.5, 0.5, 0.5]])


def run(make, unit, constraints, rounds=400):
    """Plays of a policy where money is stated in another unit, and the averages in the first unit."""
    problem = pose(
        "gain", "time", Outcome("money", high=unit), actions="abcd", horizon=rounds, subject_to=constraints(unit)
    )
    policy = make(problem, Tabular(arms=4, n_outcomes=3, confidence=0.5))
    state, rng, plays = policy.start(seed=1), np.random.default_rng(1), []
    case = Context(np.eye(4)[None], problem.declared[None], np.zeros((1, 1, 0), int), np.ones((1, 4), bool))
    for _ in range(rounds):
        decision = policy.act(state, case)
        a = decision.plays[0, 0]
        y = (rng.random(3) < MEANS[a]) * np.array([1.0, 1.0, unit]) * (a >= 0)
        policy.learn(state, decision, y[None, None].astype(float))
        plays.append(a)
    return np.array(plays)


STATED = {
    "budgets": lambda u: (Budget("time", rate=0.3), Budget("money", rate=0.3 * u)),
    "box": lambda u: (Within(("time", "money"), Box((0.1, 0.1 * u), (0.3, 0.3 * u))),),
    "half-spaces": lambda u: (Within(("time", "money"), Halfspaces(((1.0, 1.0 / u), (-1.0, 0.5 / u)), (0.6, 0.0))),),
    "a box and a budget": lambda u: (Within(("time", "money"), Box((0, 0), (0.3, u))), Budget("money", rate=0.3 * u)),
}
MAKE = {
    "primal": lambda p, m: bwcr(p, m, hard=False),
    "dual": lambda p, m: bwcr(p, m, objective_by="dual", constraints_by="dual", hard=False),
    "primal_bwc": lambda p, m: primal_bwc(p, m),
}


@pytest.mark.parametrize("unit", [1e-6, 1000.0, 1e6])
@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("make", MAKE)
def test_units_of_one_of_two_outcomes_change_no_action(make, stated, unit):
    np.testing.assert_array_equal(run(MAKE[make], unit, STATED[stated]), run(MAKE[make], 1.0, STATED[stated]))
