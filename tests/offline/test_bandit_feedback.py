"""Logs of the Open Bandit Pipeline: read as they are, made again, and judged as the real package judges them."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.exports import export
from evenhand.live.stores.memory import MemoryStore
from evenhand.offline import Evidence, curve, for_whom, from_bandit_feedback, to_bandit_feedback, value
from evenhand.problem import Budget, Groups, Outcome, Problem
from tests.offline.logs import draw
from tests.replay import shop

ROWS = 1200


def feedback(seed=0, positions=1):
    rng = np.random.default_rng(seed)
    context = np.column_stack([np.ones(ROWS), rng.normal(3.0, 2.0, ROWS), rng.integers(0, 2, ROWS)])
    chances = rng.dirichlet(np.ones(3) * 5, ROWS)
    action = (rng.random((ROWS, 1)) > chances.cumsum(1)).sum(1).clip(0, 2)
    position = rng.integers(0, positions, ROWS)
    mean = 0.2 + 0.1 * action + 0.2 * context[:, 2] * (action == 2) - 0.05 * position
    return {
        "n_rounds": ROWS,
        "n_actions": 3,
        "context": context,
        "action": action,
        "position": position if positions > 1 else None,
        "reward": (rng.random(ROWS) < mean).astype(int),
        "pscore": chances[np.arange(ROWS), action],
        "action_context": np.eye(3),
    }


def test_feedback_is_read_as_it_is():
    given = feedback(positions=3)
    log = from_bandit_feedback(given)
    assert log.problem.actions == ("0", "1", "2")
    np.testing.assert_array_equal(log.actions, given["action"])
    np.testing.assert_array_equal(log.propensities, given["pscore"])
    np.testing.assert_array_equal(log.achieved, given["reward"])
    np.testing.assert_array_equal(log.columns["x1"], given["context"][:, 1])
    np.testing.assert_array_equal(log.columns["position"].astype(int), given["position"])
    assert log.coding.constant == ("x0",)
    z = given["context"][:, 1]
    np.testing.assert_allclose(log.features[:, 1], (z - z.mean()) / z.std())
    assert len(log.coding.of_column["position"]) == 2
    found = value(log, rules=["2 where x2 = 1 and position = 0; else 0"])
    rule = (given["context"][:, 2] == 1) & (given["position"] == 0)
    w = np.where(given["action"] == np.where(rule, 2, 0), 1 / given["pscore"], 0.0)
    assert found.policies[-1].by["ips"].value == pytest.approx((w * given["reward"]).mean())
    assert {z.feature for z in for_whom(log).adds} == {"x1", "x2", "position"}


def test_what_is_made_is_read_again_as_the_same():
    given = feedback()
    log = from_bandit_feedback(given)
    made = to_bandit_feedback(log)
    for key in ("n_rounds", "n_actions", "position"):
        assert made[key] == given[key]
    for key in ("action", "reward", "pscore", "action_context"):
        np.testing.assert_array_equal(made[key], given[key])
    np.testing.assert_allclose(made["context"], log.features)
    again = from_bandit_feedback(made)
    np.testing.assert_allclose(again.features, log.features)
    ours, theirs = value(log), value(again)
    assert [p.policy for p in ours.policies] == [p.policy for p in theirs.policies]
    for one, two in zip(ours.policies, theirs.policies, strict=True):
        np.testing.assert_allclose(one.value.pair, two.value.pair)


def test_a_log_is_made_by_any_outcome():
    log = draw(500, 2).evidence
    assert to_bandit_feedback(log)["reward"].tolist() == log.outcomes[:, 0].tolist()
    cents = to_bandit_feedback(log, "cents")
    assert cents["reward"].tolist() == np.array([0.0, 1.0, 2.0])[log.actions].tolist()
    assert cents["actions"] == ["none", "small", "large"]
    cents["action"][:] = 0
    assert log.actions.any()  # what is made is a copy
    with pytest.raises(InvalidInput, match="outcome: expected one of sale, cents, got visits"):
        to_bandit_feedback(log, "visits")


def test_a_problem_gives_names_costs_and_budgets():
    known = Outcome("cents", known={"b": 1.0, "c": 2.0})
    problem = Problem(
        actions=("a", "b", "c"),
        outcomes=(Outcome("click"), known),
        maximize="click",
        subject_to=(Budget("cents", rate=0.5),),
        horizon=100,
    )
    log = from_bandit_feedback(feedback(), problem)
    found = curve(log, budgets=(0.2, 0.5))
    assert found.spent == "cents"
    assert [line.name for line in found.lines] == ["targeted", "only b", "only c", "as logged", "all a"]
    assert "targeted, cents 0.5" in [p.policy for p in value(log).policies]


def test_the_export_of_a_campaign_is_read(tmp_path):
    log, file = shop.write(tmp_path, shop.rows(300))
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "post", file, log_path=log, learn=False)
    for i, (age, town, *_) in enumerate(shop.rows(60, seed=1)):
        said = campaign.decide({"age": float(age), "town": town}, key=str(i))
        campaign.observe(said.id, {"visit": i % 2})
    assert export(store, "post", tmp_path / "x.npz") == 60
    kept = dict(np.load(tmp_path / "x.npz"))
    found = from_bandit_feedback(kept)
    assert found.problem.actions == ("none", "a", "b")
    np.testing.assert_array_equal(found.actions, kept["action"])
    np.testing.assert_array_equal(found.propensities, kept["pscore"])
    assert found.achieved.tolist() == [i % 2 for i in range(60)]
    np.testing.assert_array_equal(found.columns["age"], kept["context"][:, kept["features"].tolist().index("age")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pscore": None}, "feedback: expected a dictionary with .*, got none with pscore"),
        ({"n_rounds": 0}, r"feedback\['n_rounds'\]: expected a whole number of at least 1, got 0"),
        ({"n_actions": 2.5}, r"feedback\['n_actions'\]: expected a whole number"),
        ({"context": np.zeros(ROWS)}, r"feedback\['context'\]: expected 1,200 x d numbers, got shape \(1200,\)"),
        ({"context": [["a"]] * ROWS}, r"feedback\['context'\]: expected 1,200 x d numbers, got others"),
        ({"reward": np.zeros(3)}, r"feedback\['reward'\]: expected 1,200 numbers, got shape \(3,\)"),
        ({"reward": np.full(ROWS, np.nan)}, r"feedback\['reward'\]: expected finite numbers, got NaN"),
        ({"pscore": np.full(ROWS, 1.5)}, r"feedback\['pscore'\]: expected probabilities in \(0, 1\], got 1.5"),
        ({"pscore": np.zeros(ROWS)}, r"feedback\['pscore'\]: expected probabilities in \(0, 1\], got 0.0"),
        ({"action": np.full(ROWS, 3)}, r"feedback\['action'\]: expected whole numbers from 0 to 2, got 3.0"),
        ({"action": np.full(ROWS, 0.5)}, r"feedback\['action'\]: expected whole numbers from 0 to 2, got 0.5"),
        ({"position": np.full(ROWS, -1)}, r"feedback\['position'\]: expected whole numbers from 0 on, got -1.0"),
        ({"actions": ["a", "b"]}, r"feedback\['actions'\]: expected 3 different names"),
        ({"features": ["a", "b", "b"]}, r"feedback\['features'\]: expected 3 different names"),
    ],
)
def test_feedback_that_is_none(change, message):
    given = feedback() | change
    with pytest.raises(InvalidInput, match=message):
        from_bandit_feedback({key: z for key, z in given.items() if key == "position" or z is not None})


PROBLEM = Problem(actions=("a", "b", "c"), outcomes=(Outcome("click"),), maximize="click", horizon=100)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (replace(PROBLEM, actions=("a", "b")), "problem.actions: expected 3 actions, as the feedback has, got 2"),
        (replace(PROBLEM, outcomes=(Outcome("click"), Outcome("call"))), "problem.outcomes: expected one outcome"),
        (
            replace(PROBLEM, outcomes=(Outcome("click", high=0.5),)),
            r"expected click within \[0, 0.5\]",
        ),
        (replace(PROBLEM, groups=(Groups("town", {"A": 0.5, "B": 0.5}),)), "problem.groups: expected groups of"),
    ],
)
def test_problems_that_do_not_fit(problem, message):
    with pytest.raises(InvalidInput, match=message):
        from_bandit_feedback(feedback(), problem)


@pytest.mark.skipif(find_spec("obp") is None, reason="the Open Bandit Pipeline is in no extra")
def test_the_real_package_agrees():
    """Values by IPS, SNIPS, the model alone, doubly robust and switch, by the Open Bandit Pipeline and by `value`."""
    from obp import ope
    from obp.dataset import SyntheticBanditDataset, linear_behavior_policy, logistic_reward_function

    source = SyntheticBanditDataset(
        n_actions=4,
        dim_context=3,
        reward_function=logistic_reward_function,
        behavior_policy_function=linear_behavior_policy,
        random_state=7,
    )
    given = source.obtain_batch_bandit_feedback(n_rounds=3000)
    log = from_bandit_feedback(given)
    assert isinstance(log, Evidence)
    np.testing.assert_array_equal(log.achieved, given["reward"])
    policy = np.random.default_rng(1).dirichlet(np.ones(4), 3000)
    mine = value(log, policies={"mixed": policy}).policies[-1]
    predicted = log.worth(log.tables()).predicted
    estimators = {
        "ips": ope.InverseProbabilityWeighting(),
        "snips": ope.SelfNormalizedInverseProbabilityWeighting(),
        "dm": ope.DirectMethod(),
        "dr": ope.DoublyRobust(),
    }
    for feed in (given, to_bandit_feedback(log)):  # as it came, and as it is made of what was read
        theirs = {}
        for name, estimator in estimators.items():
            theirs[name] = estimator.estimate_policy_value(
                reward=feed["reward"],
                action=feed["action"],
                position=np.zeros(3000, int),
                pscore=feed["pscore"],
                action_dist=policy[:, :, None],
                estimated_rewards_by_reg_model=predicted[:, :, None],
            )
        assert mine.by["ips"].value == pytest.approx(theirs["ips"], rel=1e-12)
        assert mine.by["snips"].value == pytest.approx(theirs["snips"], rel=1e-12)
        assert mine.by["direct_method"].value == pytest.approx(theirs["dm"], rel=1e-12)
        assert mine.value.value == pytest.approx(theirs["dr"], rel=1e-12)
    judged = ope.OffPolicyEvaluation(to_bandit_feedback(log), [ope.InverseProbabilityWeighting()])
    ours = judged.estimate_policy_values(action_dist=policy[:, :, None])
    assert ours["ipw"] == pytest.approx(mine.by["ips"].value, rel=1e-12)
