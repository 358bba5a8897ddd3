"""What is stored of a decision: what cannot be told from its case, as JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evenhand.core.records import Context, Decision
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState

_MOST = 100  # chances that are stored of a decision
# The arrays of one replica by their short names in the log.
_ARRAYS = {"s": "shares", "w": "prices", "q": "row_prices", "c": "carried"}


def pack(decision: Decision) -> dict[str, Any]:
    """Plays, propensities (None where unknown), flags and prices of a decision of one replica.

    Numbers are written so that they are read back bit for bit.
    """
    d = decision
    body: dict[str, Any] = {
        "a": d.plays[0].tolist(),
        "p": [None if math.isnan(p) else p for p in d.propensities[0].tolist()],
        "n": int(d.counted[0]),
        "f": int(d.forced[0]),
        "r": int(d.restricted[0]),
    }
    return body | {short: getattr(d, field)[0].tolist() for short, field in _ARRAYS.items()}


def chances(state: PolicyState) -> dict[str, Any]:
    """The chance of every candidate at the first place of the decision that a state made last, 0 left out.

    Nothing where the policy cannot tell, as where a model draws what it believes, or where more than 100 are not 0.
    """
    found = state.recent.chances
    if found is None or not np.isfinite(found[0]).all() or np.count_nonzero(found[0]) > _MOST:
        return {}
    return {"l": [[a, p] for a, p in enumerate(found[0].tolist()) if p > 0.0]}


def unpack(body: dict[str, Any], context: Context, policy: Policy) -> Decision:
    """The decision that was stored, in the context of its case."""
    plays = np.array([body["a"]], np.int64)
    return Decision(
        id=np.full(3, -1),
        plays=plays,
        propensities=np.array([[math.nan if p is None else p for p in body["p"]]]),
        counted=np.array([float(body["n"])]),
        forced=np.array([float(body["f"])]),
        restricted=np.array([float(body["r"])]),
        names=policy.problem.actions,
        **_of_plays(context, plays),
        **{field: np.array([body[short]], float) for short, field in _ARRAYS.items()},
    )


def foreign(body: dict[str, Any], context: Context, policy: Policy, state: PolicyState) -> Decision:
    """A decision that another policy made, as this one enters it: forced, at its own prices."""
    own = policy.decide(state, context)
    stored = {"s": own.shares[0], "w": own.prices[0], "q": own.row_prices[0], "c": own.carried[0]}
    return unpack({**body, **stored, "f": 1}, context, policy)


def _of_plays(context: Context, plays: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Features, known outcomes and groups of the plays, as a decision has them, `(1,P)`."""
    made, at = (plays >= 0)[:, :, None], np.maximum(plays[0], 0)
    groups = context.groups if context.groups.shape[1] == 1 else context.groups[:, at]
    return {
        "features": np.where(made, context.features[:, at], 0.0),
        "known": np.where(made, context.known[:1, at], 0.0),
        "groups": np.ascontiguousarray(groups),
    }
