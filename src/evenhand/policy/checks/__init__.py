"""Checks at the boundary: input is checked once, before it can reach a state."""

from evenhand.core import registry
from evenhand.policy.checks.arrays import (
    EVERY_PLAY as EVERY_PLAY,
    EVERYWHERE as EVERYWHERE,
    NOTHING as NOTHING,
    mask as mask,
)
from evenhand.policy.checks.contexts import alike as alike, context as context, sound as sound
from evenhand.policy.checks.predictions import bad_worth as bad_worth, worth as worth
from evenhand.policy.checks.receipts import (
    decision as decision,
    outcomes as outcomes,
    pair as pair,
    receipt as receipt,
    wrong_decision as wrong_decision,
)
from evenhand.policy.checks.states import replica as replica, state as state

__all__ = registry.public(__name__)
