import numpy as np
import pytest

from evenhand.core.errors import EvenhandError, InfeasibleProblem, InvalidInput
from evenhand.objectives import Linear
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem
from evenhand.problem.feasible import feasible
from tests.examples.problems import COURT, EVERYTHING, LITTLE


def test_arrays_carry_learned_outcomes_first_in_the_order_of_their_statement():
    p = Problem(
        actions=("x", "y"),
        outcomes=(
            Outcome("fee", known={"y": 2}),
            Outcome("gain", low=-1),
            Outcome("miles", known={}),
            Outcome("hours", high=9),
        ),
        maximize="hours",
        horizon=3,
    )
    assert p.learned == ("gain", "hours")
    assert p.known == ("fee", "miles")
    assert p.names == ("gain", "hours", "fee", "miles")
    np.testing.assert_array_equal(p.low, [-1, 0])
    np.testing.assert_array_equal(p.high, [1, 9])
    np.testing.assert_array_equal(p.declared, [[0, 0], [2, 0]])
    assert p.objective == Linear({"hours": 1.0})


def test_columns_number_all_groups_of_all_groupings():
    assert EVERYTHING.columns == (
        ("district", "north"),
        ("district", "middle"),
        ("district", "south"),
        ("age", "young"),
        ("age", "old"),
    )
    np.testing.assert_array_equal(EVERYTHING.shares, [0.25, 0.25, 0.5, np.nan, np.nan])
    assert LITTLE.columns == ()
    assert LITTLE.declared.shape == (1, 0)
    assert LITTLE.shares.shape == (0,)


def test_sequences_of_any_kind_are_kept_as_tuples():
    p = Problem(actions=["a", "b"], outcomes=[Outcome("gain")], maximize="gain", subject_to=[], groups=[], horizon=5)
    assert (p.actions, p.outcomes, p.subject_to, p.groups) == (("a", "b"), (Outcome("gain"),), (), ())


def spending(*budgets, actions=("a", "b", "c"), horizon=100):
    return {
        "actions": actions,
        "outcomes": (
            Outcome("gain", low=0.2),
            Outcome("rides", known={"a": 1, "b": 0.2, "c": 0.6}),
            Outcome("hours", known={"a": 0.1, "b": 1, "c": 0.6}),
        ),
        "maximize": "gain",
        "subject_to": budgets,
        "horizon": horizon,
    }


# By hand: of a and b, rides = 0.2 + 0.8 p and hours = 1 - 0.9 p with p the share of a; c lies above that line.
@pytest.mark.parametrize(
    ("rides", "hours", "possible"),
    [
        (1.0, 1.0, True),
        (0.2, 1.0, True),  # b alone, exactly
        (0.19, 1.0, False),
        (0.6, 0.55, True),  # half of each, exactly
        (0.6, 0.54, False),
        (0.4, 0.775, True),  # a quarter of a, exactly
        (0.4, 0.77, False),
        (1.0, 0.09, False),
    ],
)
def test_a_problem_is_feasible_if_some_mixture_of_actions_is(rides, hours, possible):
    stated = spending(Budget("rides", rate=rides), Budget("hours", total=hours * 100))
    if possible:
        assert feasible(Problem(**stated))
    else:
        alone = {0.19: r"Budget \(rides per round: 0\.19\)", 0.09: r"Budget \(hours per round: 0\.09\)"}  # what fails
        both = r"Budget \(rides per round: .*\), Budget \(hours.*\)"
        said = alone.get(min(rides, hours), both)
        with pytest.raises(InfeasibleProblem, match=rf"keeps to {said} over 100 rounds"):
            Problem(**stated)
        with pytest.raises((EvenhandError, ValueError)):
            Problem(**stated)


def test_learned_outcomes_are_taken_at_their_least_when_asking_what_is_feasible():
    Problem(**spending(Budget("gain", rate=0.2)))
    with pytest.raises(InfeasibleProblem):
        Problem(**spending(Budget("gain", rate=0.19)))


def test_parity_alone_can_always_be_kept():
    groups = (Groups("side", ["left", "right"]),)
    p = Problem(**spending(Parity("rides", by="side", tolerance=0.0)), groups=groups)
    assert feasible(p)
    assert p.spending == ()


def test_budgets_per_round_are_rates_or_totals_over_the_horizon():
    assert Budget("x", total=30).limit(120) == 0.25
    assert Budget("x", rate=0.25).limit(120) == 0.25
    assert [b.outcome for b in COURT.problem.spending] == ["ride", "voucher"]


def test_problems_that_say_the_same_are_equal():
    assert Problem(**spending(Budget("rides", rate=1.0))) == Problem(**spending(Budget("rides", rate=1.0)))
    assert Problem(**spending(Budget("rides", rate=1.0))) != Problem(**spending(Budget("rides", total=100)))


def test_free_actions_must_exist_and_make_small_budgets_feasible():
    cost = Outcome("cost", low=-1.0, high=2.0, free=("rest",))
    problem = Problem(actions=("go", "rest"), outcomes=(Outcome("gain"), cost), maximize="gain", horizon=10)
    np.testing.assert_array_equal(problem.free, [[False, False], [False, True]])
    with pytest.raises(InvalidInput, match=r"Outcome\('cost'\).free"):
        Problem(actions=("go", "stay"), outcomes=(Outcome("gain"), cost), maximize="gain", horizon=10)
