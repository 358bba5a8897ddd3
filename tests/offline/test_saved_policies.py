"""Policies that learned, as they were when they were saved."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.models import PerAction
from evenhand.offline import frozen, value
from evenhand.offline.curve_policies import ignored
from evenhand.offline.saved_policies import Saved
from evenhand.problem import Budget, Cap, Numeric, Outcome, Problem, Unit
from evenhand.recipes import resolving, uniform
from tests.offline.logs import draw, problem


@pytest.fixture(scope="module")
def log():
    return draw(300, 8, stated=problem(subject_to=())).evidence


def declared(**other):
    known = {"small": 1.0, "large": 2.0}
    return Problem(
        **{
            "actions": ("none", "small", "large"),
            "features": tuple(Numeric(f"x{i}", -3.0, 3.0) for i in range(4)),
            "outcomes": (Outcome("sale"), Outcome("cents", known=known)),
            "maximize": "sale",
            "subject_to": (Budget("cents", rate=0.6),),
            "horizon": 400,
        }
        | other
    )


def learned(policy, log, rounds=120):
    """A state after some rounds, in which large letters bring most where the first trait is high."""
    state, rng = policy.start(seed=3), np.random.default_rng(0)
    for i in range(rounds):
        case = {f"x{k}": float(log.columns[f"x{k}"][i]) for k in range(4)}
        decision = policy.act(state, policy.encode(case))
        chance = 0.2 + 0.6 * (decision.action == "large" and case["x0"] > 0)
        policy.observe(state, decision, {"sale": float(rng.random() < chance)})
    return state


def test_a_note_says_that_no_plan_keeps_to_caps(log):
    capped = declared(unit=Unit("customer", caps=(Cap("cents", at_most=3, within=7),)))
    assert not list(ignored(log))
    assert list(ignored(replace(log, problem=capped))) == [
        "no plan keeps to the caps of a customer: every case is planned on its own"
    ]


def test_chances_are_those_with_which_the_saved_policy_would_play(log, tmp_path):
    p = declared()
    policy = resolving(p, PerAction.of(p))
    state = learned(policy, log)
    policy.save(state, tmp_path / "state.npz")
    loaded = policy.load(tmp_path / "state.npz")
    chances = frozen(log, policy, loaded)
    assert chances.shape == (300, 3)
    assert np.allclose(chances.sum(1), 1.0)
    for i in range(0, 300, 7):
        case = {f"x{k}": float(log.columns[f"x{k}"][i]) for k in range(4)}
        decision = policy.decide(state, policy.encode(case))
        assert chances[i, log.names.index(decision.action)] == pytest.approx(decision.probability, rel=1e-9)
    high = log.columns["x0"] > 0.5
    assert chances[high, 2].mean() > chances[~high, 2].mean() + 0.2
    assert np.array_equal(frozen(log, policy, loaded), chances)  # nothing was learned or spent
    found = {v.policy: v for v in value(log, policies={"saved": chances}).policies}
    assert 0.0 < found["saved"].value.se < 0.2


def test_chances_are_in_the_order_of_the_log(log):
    p = declared(actions=("large", "none", "small"))
    policy = resolving(p, PerAction.of(p))
    state = learned(policy, log)
    chances, played = frozen(log, policy, state), set()
    for i in range(0, 300, 7):
        decision = policy.decide(state, policy.encode({f"x{k}": float(log.columns[f"x{k}"][i]) for k in range(4)}))
        assert chances[i, log.names.index(decision.action)] == pytest.approx(decision.probability, rel=1e-9)
        played.add(decision.action)
    assert len(played) > 1


def test_actions_are_told_by_name_and_other_encodings_are_taken(log):
    p = declared(actions=("large", "none", "small"), subject_to=())
    policy = uniform(p, 15)
    asked = []

    def encode(case):
        asked.append(case)
        return policy.encode({name: case[name] for name in ("x0", "x1", "x2", "x3")})

    assert frozen(log, policy, policy.start(), encode=encode) == pytest.approx(np.full((300, 3), 1 / 3))
    assert len(asked) == 300
    assert set(asked[0]) == {"x0", "x1", "x2", "x3", "area"}


def test_rows_are_about_a_unit_that_the_state_does_not_know(log):
    """The state is that of units who all keep the large letter, which caps forbid by now."""
    unit = Unit("who", caps=[Cap("cents", at_most=2, within=400)], sticky=400)
    policy = uniform(declared(unit=unit, subject_to=()), 0)
    state, case = policy.start(), {f"x{k}": 0.0 for k in range(4)}
    for i in range(9):
        policy.act(state, policy.encode({**case, "who": i}, offered=["large"]))
    assert np.allclose(frozen(log, policy, state), 1 / 3)
    read = Saved(policy=policy, state=state, encode=policy.encode, columns=(*case, "who"))
    assert np.allclose(read.lotteries(log), 1 / 3)


def test_what_cannot_be_frozen(log):
    p = declared(actions=("none", "small", "huge"), outcomes=(Outcome("sale"),), subject_to=())
    policy = uniform(p, 15)
    with pytest.raises(InvalidInput, match=r"policy: expected one with the actions \['none', 'small', 'large'\]"):
        frozen(log, policy, policy.start())
    p = declared(features=(Numeric("x9", 0, 1),))
    policy = uniform(p, 15)
    with pytest.raises(InvalidInput, match="log: expected a column 'x9', which the policy asks for"):
        frozen(log, policy, policy.start())
    p = declared()
    policy = uniform(p, 15)
    with pytest.raises(InvalidInput, match="a state of one replica, got 1, 2"):
        frozen(log, policy, policy.start(replicas=2))
    p = declared(horizon=5)
    policy = uniform(p, 15)
    with pytest.raises(InvalidInput, match="state: expected one in which something can be played, got nothing"):
        frozen(log, policy, learned(policy, log, rounds=5))
