"""Outcomes with a known mean: held back at the range, settled at the bill; and decisions that expire."""

import dataclasses

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.goals import FrankWolfe
from evenhand.goals.hard_limits import hard_budget
from evenhand.models import Fixed, Ridge
from evenhand.objectives import GeneralizedGini
from evenhand.problem import Budget, Outcome, Problem
from evenhand.recipes import fw_dual, lin_cbwk, uniform
from tests import accounts
from tests.problems import pose
from tests.states import unchanged

CASE = Context(np.eye(2)[None], np.array([[[0.0], [0.5]]]), np.zeros((1, 1, 0), np.int64), np.array([[False, True]]))


def problem(total=5.0, **how):
    """A bill of 0.5 on average and up to 1 at each "go"; the model learns the gain alone."""
    cost = Outcome("cost", mean={"go": 0.5}, **how)
    return pose(
        cost, "gain", actions=("wait", "go"), maximize="gain", subject_to=(Budget("cost", total=total),), horizon=20
    )


def hedged(problem):
    """Prices that step on what is observed, and a hard limit."""
    return lin_cbwk(problem, Ridge(n_features=2), max_price=4.0)


def y(bill, gain=1.0):
    return np.array([[[gain, bill]]])


def test_an_action_without_a_mean_is_free_and_needs_0_in_the_range():
    assert problem().free.tolist() == [[False, True], [False, False]]
    scalar = Outcome("cost", mean=0.5, free=("wait",))
    assert scalar.declared(("wait", "go")) == [0.0, 0.5]


def test_arrays_carry_learned_then_noisy_then_known_outcomes():
    outcomes = (Outcome("stamp", known=1.0), Outcome("bill", high=3.0, mean=0.5), Outcome("gain", low=-1.0))
    stated = Problem(actions=("a",), outcomes=outcomes, maximize="gain", horizon=9)
    assert (stated.learned, stated.noisy, stated.observed) == (("gain",), ("bill",), ("gain", "bill"))
    assert (stated.known, stated.names) == (("bill", "stamp"), ("gain", "bill", "stamp"))
    np.testing.assert_array_equal(stated.span, [[-1.0, 0.0], [1.0, 3.0]])
    np.testing.assert_array_equal(stated.declared, [[0.5, 1.0]])
    policy = uniform(stated, n_features=2)  # whose model has one outcome
    with pytest.raises(InvalidInput, match=r"^model: expected one of \('gain',\), got one of 2 outcomes"):
        dataclasses.replace(policy, model=Ridge(n_features=2, n_outcomes=2))


@pytest.mark.parametrize(
    ("bills", "masks", "message"),
    [
        (np.ones((1, 1, 1)), {}, r"^outcomes: expected shape \(1, 1, 2\), a column for each of \('gain', 'cost'\)"),
        (y(1.25), {}, r"^outcome 'cost': expected a finite number in \[0, 1\]"),
        (y(np.nan), {}, r"^outcome 'cost': "),
        (y(1.25, gain=0.0), {"exposed": np.array([[False]])}, r"^outcome 'cost': "),
        (y(0.5), {"observed": np.ones((1, 1, 1), bool)}, r"^observed: expected true or false, of shape \(1, 1, 2\)"),
    ],
)
def test_bills_that_cannot_be_are_refused_by_name_and_settle_nothing(bills, masks, message):
    policy = hedged(problem())
    state = policy.start()
    decision = policy.act(state, CASE)
    with pytest.raises(InvalidInput, match=message):
        policy.learn(state, decision, bills, **masks)
    policy.learn(state, decision, y(0.25))
    assert accounts.left(policy, state)[0, 0] == 4.75


def test_what_is_free_has_no_bill_and_is_never_masked():
    policy = hedged(problem(total=1.5))
    state, both = policy.start(), CASE._replace(offered=np.ones((1, 2), bool))
    policy.act(state, CASE)
    decision = policy.act(state, both)  # 0.5 is left, and "go" may cost 1
    assert decision.plays[0, 0] == 0
    with pytest.raises(InvalidInput, match=r"^outcome 'cost': .* 0 under \('wait',\)"):
        policy.learn(state, decision, y(0.25))
    policy.learn(state, decision, y(0.0))


def test_means_are_per_case_and_within_the_range():
    policy = hedged(problem())
    state, both = policy.start(), CASE._replace(offered=np.ones((1, 2), bool))
    for mean, action in ((0.0, 1), (1.0, 0)):
        case = both._replace(features=1e-9 * np.eye(2)[None], known=np.array([[[0.01], [mean]]]))
        decision = policy.decide(state, case)
        assert decision.plays[0, 0] == action
        assert f"go                   worth {0.0 - 2.0 * mean:+.4f}" in policy.explain(state, case, decision)
    with pytest.raises(InvalidInput, match=r"^context.known\[0, 1, 0\]: expected a mean of 'cost' in \[0, 1\]"):
        policy.decide(state, both._replace(known=np.array([[[0.0], [1.5]]])))


def test_ten_rounds_by_hand():
    """Bills come late, or not; the budget and the prices are kept in plain numbers beside the policy."""
    policy = hedged(problem(total=9.0))
    state = policy.start()
    left, weight, waiting, step = 9.0, np.full(2, 0.5), [], policy.goals[1].step
    #       what happens to the oldest waiting decision, after each play
    fates = [None, 0.75, "expire", None, "cancel", 0.0, "unobserved", 1.0, 0.125, 0.5]
    for fate in fates:
        np.testing.assert_allclose(accounts.duals(policy, state)[0], 4.0 * weight[:1], rtol=1e-13)
        waiting.append(policy.act(state, CASE))
        left -= 1.0
        assert accounts.left(policy, state)[0, 0] == left
        if fate is None:
            continue
        oldest = waiting.pop(0)
        if fate == "cancel":
            policy.cancel(state, oldest)
            left += 1.0
        elif fate == "expire":
            policy.expire(state, oldest)  # the worst case stays charged, and no price moves
        elif fate == "unobserved":
            policy.learn(state, oldest, y(np.nan), observed=np.array([[[True, False]]]))
        else:
            policy.learn(state, oldest, y(fate))
            left += 1.0 - fate
            weight *= np.exp([step * (fate - 9.0 / 20.0), 0.0])
            weight /= weight.sum()
        assert accounts.left(policy, state)[0, 0] == left
    assert left == 9.0 - (0.75 + 1.0 + 0.0 + 0.0 + 1.0 + 1.0 + 0.125 + 0.5) - 2 * 1.0  # two bills are still to come
    assert state.model.count[0] == 6  # five bills, and a gain whose bill was not observed


def test_an_expired_decision_moves_prices_by_its_fallback_and_teaches_nothing():
    policy = hedged(problem(fallback=0.75))
    state = policy.start()
    decision, _ = policy.act(state, CASE), policy.act(state, CASE)
    with pytest.raises(InvalidInput, match="got one that was never committed"):
        policy.expire(state, policy.decide(state, CASE))
    with unchanged(state.model):
        policy.expire(state, decision)
    twin = policy.start()  # prices move as if the fallback had been the bill
    same, _ = policy.act(twin, CASE), policy.act(twin, CASE)
    policy.learn(twin, same, y(0.75))
    np.testing.assert_array_equal(accounts.duals(policy, state), accounts.duals(policy, twin))
    assert accounts.duals(policy, state)[0, 0] != 2.0
    nothing = decision._replace(counted=np.zeros(1), id=np.full(3, -1))
    policy.expire(state, nothing)  # of no replica, and never entered: ignored, as by `learn`


def test_averages_skip_what_expired_unless_it_has_a_fallback():
    for fallback, total, rounds in ((None, [0.5, 0.25], [1.0, 1.0]), (0.75, [0.5, 1.0], [1.0, 2.0])):
        base = problem(fallback=fallback)
        both = dataclasses.replace(base, maximize=GeneralizedGini(("gain", "cost")), subject_to=())
        policy = fw_dual(both, Ridge(n_features=2, width=Fixed(0.1)), warmup=0)
        goal = next(i for i, g in enumerate(policy.goals) if isinstance(g, FrankWolfe))
        state = policy.start()
        first, second = policy.act(state, CASE), policy.act(state, CASE)
        np.testing.assert_array_equal(state.goals[goal].rounds, 0.0)  # the mean is entered nowhere
        policy.learn(state, first, y(0.25, gain=0.5))
        policy.expire(state, second)
        np.testing.assert_array_equal(state.goals[goal].total, [total])
        np.testing.assert_array_equal(state.goals[goal].rounds, [rounds])


def test_what_depends_on_exposure_is_unknown_once_a_decision_expires():
    stamp, shown = Outcome("stamp", known={"go": 1.0}), Outcome("shown", known={"go": 1.0}, sure=False)
    base = problem(fallback=0.0)
    budgets = tuple(Budget(name, total=5) for name in ("cost", "stamp", "shown"))
    stated = dataclasses.replace(base, outcomes=(*base.outcomes, stamp, shown), subject_to=budgets)
    policy = hedged(stated)
    state = policy.start()
    policy.expire(state, policy.act(state, CASE._replace(known=stated.declared[None])))
    bill, stamp, shown = accounts.duals(policy, state)[0]
    assert bill < shown < stamp  # the stamp's price rose, that of `shown` did not move


def test_a_limit_on_a_bill_and_a_learned_outcome_holds_the_worst_of_both():
    """The gain is at least 1 where a play is exposed; where it is not, only the bill counts."""
    stated = pose(
        Outcome("cost", high=3.0, mean={"go": 0.5}),
        Outcome("gain", low=1.0, high=2.0),
        actions=("wait", "go"),
        maximize="gain",
        subject_to=(Net(total=5.0),),
        horizon=20,
    )
    goal = hard_budget(stated)
    worst, _ = goal.room(goal.start(1), CASE)
    np.testing.assert_array_equal(worst, [[[0.0], [3.0]]])


@dataclasses.dataclass(frozen=True)
class Net(Budget):
    """A budget on cost minus gain."""

    outcome: str = "cost"

    def rows(self, problem):
        rows = super().rows(problem)
        return dataclasses.replace(rows, learned=np.full((1, 1), -1.0))
