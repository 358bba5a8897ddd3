"""What the status of a policy says of its hard budgets and of prices, in all replicas at once."""

import numpy as np


def left(policy, state):
    """What is left of every hard budget, `->(R,d)`."""
    return np.array([[a.left for a in one] for one in _hard(policy, state)])


def held(policy, state):
    """What is held for outcomes that are to come, `->(R,d)`."""
    return np.array([[a.held for a in one] for one in _hard(policy, state)])


def duals(policy, state, goal=1):
    """Dual prices of the rows of one of the goals: what one more unit of each costs, `->(R,D)`."""
    names, each = policy.goals[goal].rows.names, range(len(state.t))
    return -np.array([[policy.status(state, r).prices[name] for name in names] for r in each])


def _hard(policy, state):
    for r in range(len(state.t)):
        yield [a for a in policy.status(state, r).accounts.values() if a.hard]
