"""The outcomes that each candidate is expected to have: as the model predicts them, and as they are known."""

from __future__ import annotations

import numpy as np

from evenhand.core.records import Context
from evenhand.core.types import Floats
from evenhand.policy import checks
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState


def expected(policy: Policy, state: PolicyState, context: Context, replica: int = 0) -> Floats:
    """Return the outcomes that the model predicts at present, and those that the context knows, `(A,M+L)`.

    Equation: of a learned outcome m, the worth of a candidate at a price of 1 on m and 0 on others, without its bonus;
    of a noisy one, its known mean. The columns are those of `Problem.names`.

    Raises:
        InvalidInput: a context of the wrong shape, or a replica that the state does not have.
    """
    problem = policy.problem
    with policy._alone(state):
        ask, count = policy._assembly.questions, len(problem.learned)
        context = checks.context(context, len(state.t), policy.model.n_features, problem)
        checks.replica(replica, len(state.t))
        found = np.empty((context.features.shape[1], count + len(problem.known)))
        for m, price in enumerate(np.eye(count)):
            w = np.broadcast_to(price, (len(state.t), 1, 1, count))
            found[:, m] = ask.worth(state, context.features, w).mean.sum(1)[replica if len(state.t) > 1 else 0]
        found[:, count:] = context.known[replica if len(context.known) > 1 else 0]
    return found
