"""A policy: a model, goals and a choice, with the loop body, its checks, and states on disk."""

from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState

__all__ = ["Policy", "PolicyState"]
