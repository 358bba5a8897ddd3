"""Explanations say what the plan wanted, and why, before they say that a lottery stood before it."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.choices import EpsilonGreedy, Floored, HeldOut, InverseGap, Staged, TopK
from evenhand.choices.base import Offer, Worth, behind
from tests.live.http_campaign import CASE, SHOP

STOOD = "; a lottery for a holdout or a floor of probabilities stood before it, and "
PASSED, DREW = STOOD + "left this round to it", STOOD + "drew this round, regardless of what actions are worth"


def decided(**options):
    campaign = eh.Campaign.open("memory://", "shop", eh.resolving(SHOP, eh.PerAction.of(SHOP), **options))
    found = []
    for i in range(120):
        found.append(campaign.decide(CASE | {"age": 20 + i % 40}, key=f"{i}"))
        campaign.observe(found[-1].id, {"answer": i % 2})
    return campaign, found


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"holdout": 0.2}, "a holdout"),
        ({"explore": 0.08}, "a floor of probabilities"),
        ({"holdout": 0.1, "explore": 0.05}, "a holdout or a floor of probabilities"),
    ],
)
def test_decisions_say_what_was_wanted_and_whether_a_lottery_drew_them(options, named):
    campaign, found = decided(**options)
    drew = [one for one in found if one.explanation.endswith(DREW)]
    left = [one for one in found if one.explanation == "worth most at present" + PASSED]
    assert len(drew) > 10
    assert len(left) > 50
    assert len(drew) + len(left) >= len(found) - 20  # the others had ties, which the plan draws
    for one in left:
        assert one.probability > 0.5
    for one in drew:
        wanted = one.explanation.split("'")[1]
        assert one.action == wanted or one.probability < 0.5
    said = campaign.explain(drew[-1].id)
    assert "is worth most of what may be played" in said
    assert said.endswith(f"  a lottery for {named} stood before it, and drew this round, whatever candidates are worth")
    assert campaign.explain(left[-1].id).endswith("stood before it, and left this round to it")


def test_the_reason_is_the_difference_in_worth():
    problem = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=400)
    policy = eh.resolving(problem, eh.PerAction.of(problem), holdout=0.3)
    state, context = policy.start(seed=3), policy.encode({})
    for _ in range(200):
        decision = policy.act(state, context)
        policy.observe(state, decision, {"gain": float(decision.action == "b")})
    while decision.action == "b":
        decision = policy.act(state, context)
    assert decision.forced[0] == 1.0
    worth = policy._assembly.questions.net_worth(state, context, decision)[0]
    lines = policy.explain(state, context, decision).splitlines()
    reason = next(line for line in lines if "worth most" in line)
    assert reason.startswith("  b is worth most of what may be played, ")
    assert float(reason.split(", ")[1].split(" ")[0]) == pytest.approx(worth[1] - worth[0], rel=1e-2)
    assert lines.index(reason) == len(lines) - 2


def test_policies_without_a_lottery_say_what_they_said():
    _, found = decided()
    assert {one.explanation for one in found} <= {"worth most at present", "drawn by chance, with this probability"}
    _, found = decided(choice=InverseGap(5.0), holdout=0.1)
    assert "drawn by chance, with this probability" in {one.explanation for one in found}, "the plan itself draws"


def test_a_warm_up_is_no_lottery_before_the_plan():
    policy = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)
    state, context = policy.start(), policy.encode(CASE)
    assert policy.explain(state, context, policy.act(state, context)).endswith("the choice did not look at the values")


PLAYABLE = np.array([[True, False, True, True]])
OFFER = Offer(PLAYABLE, worst=np.zeros((1, 4, 0)), left=np.zeros((1, 0)))


@pytest.mark.parametrize("then", [TopK(), EpsilonGreedy(0.3)])
@pytest.mark.parametrize("weights", [None, (0.0, 1.0, 3.0, 1.0), (0.0, 1.0, 0.0, 0.0)])
def test_chances_behind_lotteries_are_those_of_the_choice_itself(then, weights):
    worth = Worth(np.array([[[0.1, 0.9, 0.5, 0.2]]]), np.zeros((1, 1, 4)), random=False)
    own = then.pick(None, worth, OFFER, np.zeros(1), np.full((1, 1), 0.4)).lottery[0]
    for choice in (HeldOut(0.3, then, weights), Floored(0.1, then), HeldOut(0.3, Floored(0.1, then), weights)):
        u = np.full((1, choice.draws(4)), 0.4)
        whole = Staged(0, choice).pick(Staged(0, choice).start(1), worth, OFFER, np.zeros(1), u).lottery[0]
        assert behind(Staged(0, choice), whole) == pytest.approx(own, abs=1e-12)
        assert behind(Staged(3, choice), whole) is None
    assert behind(then, own) is None
