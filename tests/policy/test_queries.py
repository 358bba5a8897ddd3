"""A plan's gains at the prices of a decision are what the model said already."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.records import Worth
from evenhand.models.per_action import PerAction
from evenhand.policy import queries

KNOWN = eh.Outcome("cents", known={"letter": 80})
LEARNED = eh.Outcome("cents", low=0, high=100)


def _met(cents, total):
    """A policy, its state after some rounds, and a case."""
    shop = eh.Problem(
        actions=("none", "letter", "call"),
        features=(eh.Numeric("age", 20, 60),),
        outcomes=(eh.Outcome("answer"), cents),
        maximize="answer",
        subject_to=(eh.Budget("cents", total=total, hard=False),),
        horizon=100,
    )
    policy = eh.resolving(shop, eh.PerAction.of(shop))
    state = policy.start(seed=1)
    for age in range(20, 50):
        decision = policy.act(state, policy.encode({"age": age}))
        if decision.action is not None:
            used = {"cents": 0.0 if decision.action == "none" else 60.0} if cents is LEARNED else {}
            policy.observe(state, decision, {"answer": float(decision.action != "none"), **used})
    return policy, state, policy.encode({"age": 41})


def _mixed(policy, state, context):
    """The plan's mixture in a decision, and how often the model is asked for it."""
    ask = policy._assembly.questions
    shares = ask.group_shares(state, context)
    w, offset, _, constant = ask.prices(state, context, shares)
    said = ask.worth(state, context.features, w)
    mix = ask.mix(state, context, shares, w, said, Worth(said.mean + offset, said.bonus, said.random, constant))
    return w, mix


@pytest.mark.parametrize(("cents", "total", "times"), [(KNOWN, 800, 0), (LEARNED, 300, 1)])
def test_the_model_is_asked_again_at_other_prices_alone(cents, total, times, monkeypatch):
    policy, state, context = _met(cents, total)
    asked, value = [], PerAction.value
    monkeypatch.setattr(PerAction, "value", lambda *z: asked.append(1) or value(*z))
    w, found = _mixed(policy, state, context)
    assert found is not None
    assert len(asked) == 1 + times
    assert (w[..., 1:] != 0.0).any() == (times == 1)  # the price of what is learned and paid for
    assert w.shape[2] == 1  # the same for all candidates
    monkeypatch.setattr(queries, "_same", lambda *_: False)
    _, expected = _mixed(policy, state, context)
    assert len(asked) == 3 + times
    for z, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(z, other)
