"""Numbers of a case that an objective cannot take are refused, at a cost that does not grow with its coordinates."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Listeners, Ranking
from evenhand.objectives import AlphaFair, Linear, WeightedSum
from evenhand.problem.checks import Edges


def problem_of(items):
    world = Ranking(audience=Listeners(users=2, items=items, factors=2).audience, horizon=10, slots=2)
    welfare = AlphaFair.welfare(world.exposures, 0.5, 1e-3)
    return replace(world, maximize=WeightedSum(((1.0, Linear({"click": 1.0})), (0.5, welfare)))).problem


def test_an_exposure_below_0_is_refused_and_what_is_not_offered_is_not_read():
    problem, offered = problem_of(4), np.ones((1, 4), bool)
    known = np.ones((2, 4, 1))
    problem.edges.check(known, offered)
    known[1, 2, 0] = -0.5
    with pytest.raises(InvalidInput, match=r"context\.known\[1, 2, 0\].*'exposure'"):
        problem.edges.check(known, offered)
    problem.edges.check(known, np.array([[True, True, False, True]]))


@pytest.mark.parametrize("items", [3, 300])
def test_every_outcome_of_a_case_is_read_once(items, monkeypatch):
    problem, read, ends = problem_of(items), [], Edges._ends
    problem.edges.check(np.ones((1, items, 1)), np.ones((1, items), bool))  # what is declared is read at first
    monkeypatch.setattr(Edges, "_ends", lambda self, known, outcome: read.append(outcome) or ends(self, known, outcome))
    problem.edges.check(np.ones((1, items, 1)), np.ones((1, items), bool))
    assert len(read) == 1
