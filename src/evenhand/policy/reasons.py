"""The reasons of a decision, feature by feature, and the outcomes that each candidate is expected to have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats
from evenhand.models.base import explains
from evenhand.policy import checks
from evenhand.policy.policy import Policy
from evenhand.policy.queries import Questions
from evenhand.policy.state import PolicyState


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """The worth of the first play of a decision less that of the best other candidate, at the prices of the decision.

    The parts add up to the difference.
    """

    played: int
    other: int
    difference: float
    features: Floats  # (n,) of what is predicted, by the features that the model reads
    known: float  # of known outcomes at their prices, and of what rows add
    unsure: float  # of what is added for the sake of exploration
    rest: float  # of what is predicted: prices that differ by candidate, or a candidate without features


def reasons(policy: Policy, state: PolicyState, context: Context, d: Decision, replica: int = 0) -> Reasons | None:
    """Attribute the difference in worth between the first play and the best other candidate to features.

    Prices are those of the decision; worth and limits are what the model and the budgets say at present.

    Returns:
        None if the model cannot say, nothing was played, or nothing else could be.

    Raises:
        InvalidInput: as for `Policy.explain`.
    """
    with policy._guard_of(state):
        return _reasons(policy._assembly.questions, state, context, d, replica) if explains(policy.model) else None


def origins(policy: Policy) -> tuple[tuple[str | None, ...], ...]:
    """Return the named feature of the problem that each number of each action's features encodes, `(A,n)`.

    It is "" for an intercept, and None for a number that no feature of the case has a part in.

    Raises:
        InvalidInput: the model reads features in no layout of `Policy.encode`.
    """
    return policy._assembly.encoder.origins


def _reasons(ask: Questions, state: PolicyState, context: Context, d: Decision, replica: int) -> Reasons | None:
    context = checks.context(context, len(state.t), ask.model.n_features, ask.problem)
    checks.replica(replica, len(state.t))
    prices, offset = ask.model_prices(state, context, d)
    with ask.delay.read_at(state, d):
        worth = ask.worth(state, context.features, prices)
    mean, bonus = worth.mean.sum(1)[replica], worth.bonus.sum(1)[replica]
    offsets = np.broadcast_to(offset, worth.mean.sum(1).shape)[replica]
    played, playable = d.plays[replica], ask.offer(state, context, late=True).playable[replica].copy()
    playable[played[played >= 0]] = False
    if d.counted[replica] == 0 or played[0] < 0 or not playable.any():
        return None
    net = mean + bonus + offsets
    pair = [int(played[0]), int(np.where(playable, net, -np.inf).argmax())]
    x = np.broadcast_to(context.features, (len(state.t), *context.features.shape[1:]))[:, pair]
    model: Any = ask.model
    parts = model.contributions(state.model, x, prices[:, :, pair] if prices.shape[2] > 1 else prices)[replica].sum(0)
    means, unsure, known = (float(z[pair[0]] - z[pair[1]]) for z in (mean, bonus, offsets))
    return Reasons(
        played=pair[0],
        other=pair[1],
        difference=float(net[pair[0]] - net[pair[1]]),
        features=parts,
        known=known,
        unsure=unsure,
        rest=means - float(parts.sum()),
    )


def expected(policy: Policy, state: PolicyState, context: Context, replica: int = 0) -> Floats:
    """Return the outcomes that the model predicts at present, and those that the context knows, `(A,M+L)`.

    Equation: of a learned outcome m, the worth of a candidate at a price of 1 on m and 0 on others, without its bonus;
    of a noisy one, its known mean. The columns are those of `Problem.names`.

    Raises:
        InvalidInput: a context of the wrong shape, or a replica that the state does not have.
    """
    problem = policy.problem
    with policy._guard_of(state):
        ask, count = policy._assembly.questions, len(problem.learned)
        context = checks.context(context, len(state.t), policy.model.n_features, problem)
        checks.replica(replica, len(state.t))
        found = np.empty((context.features.shape[1], count + len(problem.known)))
        for m, price in enumerate(np.eye(count)):
            w = np.broadcast_to(price, (len(state.t), 1, 1, count))
            found[:, m] = ask.worth(state, context.features, w).mean.sum(1)[replica if len(state.t) > 1 else 0]
        found[:, count:] = context.known[replica if len(context.known) > 1 else 0]
    return found
