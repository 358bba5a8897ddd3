"""Which features of a case made an action worth more than the next best one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand.live.cases import Encoder, Traces
from evenhand.policy.reasons import Reasons


@dataclass(frozen=True, kw_only=True)
class Why:
    """The worth of the action that was played less that of the best other one; all parts add up to the difference."""

    played: str
    other: str
    difference: float
    features: Mapping[str, float]  # by name in the case; "" has what both actions predict for every case
    known: float  # known outcomes, at their prices
    unsure: float  # added for the sake of exploration
    rest: float  # of predictions, by no feature: prices that differ by action, or an action without features


def named(found: Reasons | None, actions: Sequence[str], encoder: Encoder) -> Why | None:
    """Name the parts of a difference; None if there are none, or no feature has a name."""
    if found is None or not isinstance(encoder, Traces):
        return None
    origins, parts = encoder.origins, dict[str, float]()
    if len(origins) != len(actions) or len(origins[0]) != len(found.features):
        return None
    for j, part in enumerate(found.features.tolist()):
        name = origins[found.played][j]
        name = origins[found.other][j] if name is None else name  # a block of features per action
        if name is not None:
            parts[name] = parts.get(name, 0.0) + part
    if not any(parts):
        return None
    return Why(
        played=actions[found.played],
        other=actions[found.other],
        difference=found.difference,
        features=parts,
        known=found.known,
        unsure=found.unsure,
        rest=found.rest,
    )
