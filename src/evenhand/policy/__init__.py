"""A policy: a model, goals and a choice, with the loop body, its checks, and states on disk."""

from evenhand.policy.policy import Policy, PolicyState

__all__ = ["Policy", "PolicyState"]
