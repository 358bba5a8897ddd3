"""The JSON of a decision: everything that does not follow from its case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.choices.base import Choice, behind
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats
from evenhand.policy.after_horizon import decide_late
from evenhand.policy.entries import checksum
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem

_OWN = frozenset(("unit", "case", "offered", "known", "l", "h", "u", "s", "w", "q", "c"))
_MOST = 100  # chances stored per decision
_ROUNDING = 1e-9  # of chances
# The arrays of one replica by their short names in the log.
_ARRAYS = {"s": "shares", "w": "prices", "q": "row_prices", "c": "carried"}


def pack(decision: Decision) -> dict[str, Any]:
    """Encode the plays, propensities (None if unknown), flags and prices of a decision of one replica.

    Numbers survive the round trip bit for bit.
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
    """Return the probability of each candidate for the first play of the latest decision, as `probabilities` does.

    Where a unit keeps its action, whose probability is that of an earlier draw, the result says so instead.
    """
    return {"u": 1} if state.recent.keeps else probabilities(state.recent.chances)


def probabilities(found: Floats | None) -> dict[str, Any]:
    """Return the probability of each candidate for the first play, `(1,A)`; zeros are left out.

    The result is empty if the policy does not know them, as with a model that samples from its posterior, or if more
    than 100 are not 0.
    """
    if found is None or np.count_nonzero(found[0]) > _MOST:
        return {}
    each = found[0].tolist()
    return {"l": [[a, p] for a, p in enumerate(each) if p > 0.0]} if math.isfinite(sum(each)) else {}


def preferred_action(choice: Choice, found: dict[str, Any], actions: int) -> dict[str, Any]:
    """Return the action that a choice would have played for certain without its known lotteries, by its probabilities.

    The result is empty if it has no known lottery, draws itself, or if the chances are not known.

    >>> from evenhand.choices import HeldOut, TopK
    >>> preferred_action(HeldOut(0.1, TopK()), {"l": [[0, 0.05], [1, 0.95]]}, actions=2)
    {'h': 1}
    """
    lottery = np.zeros(actions)
    for a, p in found.get("l", ()):
        lottery[a] = p
    then = behind(choice, lottery) if lottery.any() else None
    return {"h": int(then.argmax())} if then is not None and then.max() > 1.0 - _ROUNDING else {}


def split(body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the body of a decision into what an erasure keeps, and the case with everything that may reveal it.

    >>> split({"case": {"age": 33}, "a": [1], "q": [0.5], "p": [0.25]})
    ({'a': [1], 'p': [0.25]}, {'case': {'age': 33}, 'q': [0.5]})
    """
    stays = {name: value for name, value in body.items() if name not in _OWN}
    return stays, {name: value for name, value in body.items() if name in _OWN}


def known_outcomes(decision: Decision, problem: Problem) -> dict[str, Any]:
    """Return the known outcomes of the plays, if they differ from those that the problem declares."""
    stated, nothing = decision.known[0].tolist(), [0.0] * len(problem.known)
    declared = [problem.declared[a].tolist() if a >= 0 else nothing for a in decision.plays[0].tolist()]
    return {} if stated == declared else {"k": stated}


def with_known(body: dict[str, Any], declared: Floats | None) -> dict[str, Any]:
    """Return the body of a decision with the known outcomes of its plays, where these are as its policy declared them.

    >>> with_known({"a": [1]}, np.array([[0.0], [0.5]])), with_known({"a": [1], "k": [[3.0]]}, np.array([[0.0], [0.5]]))
    ({'a': [1], 'k': [[0.5]]}, {'a': [1], 'k': [[3.0]]})
    """
    if "k" in body or declared is None:
        return body
    at = np.array(body["a"], np.int64)
    return {**body, "k": np.where((at >= 0)[:, None], declared[np.maximum(at, 0)], 0.0).tolist()}


def unpack(body: dict[str, Any], context: Context, policy: Policy, t: Floats) -> Decision:
    """Decode a stored decision in the context of its case; t counts the rounds before it."""
    plays = np.array([body["a"]], np.int64)
    of_plays = _of_plays(context, plays) | ({"known": np.array([body["k"]], float)} if "k" in body else {})
    return Decision(
        id=np.full(3, -1),
        plays=plays,
        propensities=np.array([[math.nan if p is None else p for p in body["p"]]]),
        counted=np.array([float(body["n"])]),
        forced=np.array([float(body["f"])]),
        restricted=np.array([float(body["r"])]),
        time=t.copy() if context.time is None else context.time,
        names=policy.problem.actions,
        **of_plays,
        **{field: np.array([body[short]], float) for short, field in _ARRAYS.items()},
    )


def unpack_all(bodies: Sequence[dict[str, Any]], contexts: Context, earlier: Sequence[Decision]) -> Decision:
    """Decode stored decisions in the contexts of their cases, `(N)` before every shape, for actions appended since.

    When they were made and their receipts are filled in as they are entered.

    Raises:
        ValueError: they do not have the same shapes.
        TypeError: a flag that is not a number.
    """
    count = len(bodies)
    plays = np.array([body["a"] for body in bodies], np.int64)
    made, at, rows = (plays >= 0)[:, :, None], np.maximum(plays, 0), np.arange(count)[:, None]
    groups = contexts.groups if contexts.groups.shape[1] == 1 else contexts.groups[rows, at]
    flags = (np.array([float(body[short]) for body in bodies]) for short in ("n", "f", "r"))
    arrays = (np.array([body[short] for body in bodies], float) for short in _ARRAYS)
    propensities = np.array([body["p"] for body in bodies], float)  # None becomes NaN
    features, known = (np.where(made, z[rows, at], 0.0) for z in (contexts.features, contexts.known))
    own = plays, propensities, *flags, np.zeros(count), features, known, groups, *arrays  # in the order of the fields
    each: Any = zip(own, *(decision[1:14] for decision in earlier), strict=True)
    joined: Any = (np.ascontiguousarray(np.concatenate(z)) for z in each)
    return Decision(np.concatenate([np.full((count, 3), -1), *(d.id[None] for d in earlier)]), *joined)


def decode_closed(body: dict[str, Any], context: Context, policy: Policy, t: Floats) -> Decision:
    """Decode a decision of any policy to correct its outcome; its shares are not read."""
    stored = unpack(body, context, policy, t if body.get("t") is None else np.array([float(body["t"])]))
    return stored._replace(shares=np.ones((1, len(policy.problem.columns))))


def foreign(body: dict[str, Any], context: Context, policy: Policy, state: PolicyState) -> Decision:
    """Decode a decision of another policy as a forced decision at this policy's prices, whose `carried` is empty."""
    own = (decide_late if "late" in body else Policy.decide)(policy, state, context)
    stored = {"s": own.shares[0], "w": own.prices[0], "q": own.row_prices[0], "c": 0.0 * own.carried[0]}
    return unpack({**body, **stored, "f": 1}, context, policy, state.t)


def renew(old: Decision, made: Decision) -> Decision:
    """Return a waiting decision as another policy makes it, with its own time, known outcomes and receipt."""
    number = old.id.copy()
    number[2] = checksum(made.plays, made.counted, old.time, made.groups, old.known)
    return made._replace(time=old.time, known=old.known, id=number)


def _of_plays(context: Context, plays: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the features, known outcomes and groups of the plays, for one replica."""
    made, at = (plays >= 0)[:, :, None], np.maximum(plays[0], 0)
    groups = context.groups if context.groups.shape[1] == 1 else context.groups[:, at]
    return {
        "features": np.where(made, context.features[:, at], 0.0),
        "known": np.where(made, context.known[:1, at], 0.0),
        "groups": np.ascontiguousarray(groups),
    }
