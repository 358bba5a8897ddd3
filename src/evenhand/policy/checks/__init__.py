"""Checks at the boundary: input is checked once, before it can reach a state."""

from evenhand.policy.checks.arrays import EVERY_PLAY, EVERYWHERE, NOTHING, mask
from evenhand.policy.checks.contexts import alike, context
from evenhand.policy.checks.predictions import worth
from evenhand.policy.checks.receipts import decision, outcomes, pair, receipt, wrong_decision
from evenhand.policy.checks.states import replica, state

__all__ = [
    "EVERYWHERE",
    "EVERY_PLAY",
    "NOTHING",
    "alike",
    "context",
    "decision",
    "mask",
    "outcomes",
    "pair",
    "receipt",
    "replica",
    "state",
    "worth",
    "wrong_decision",
]
