"""The reply of a campaign to a request for a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core import texts
from evenhand.live.log.events import Event
from evenhand.live.log.ids import Ids


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A decision as it was stored; repeated requests with its key return it again.

    `action` and `probability` are those of the first play, `actions` and `probabilities` those of all; None marks an
    empty place or an unknown probability.
    """

    id: int
    key: str
    actions: tuple[str | None, ...]
    probabilities: tuple[float | None, ...]
    explanation: str
    deadline: int  # microseconds since 1970, when the outcome is overdue
    at: int  # microseconds since 1970
    repeated: bool = False  # whether the decision was made by an earlier request
    warnings: tuple[str, ...] = ()  # of what was answered, but probably was not meant so

    @property
    def action(self) -> str | None:
        """The first action, None if nothing could be played."""
        return self.actions[0]

    @property
    def probability(self) -> float | None:
        """The probability of the first action."""
        return self.probabilities[0]

    def __repr__(self) -> str:
        return texts.text(*self._shown())

    def _repr_html_(self) -> str:
        return texts.table(*self._shown())

    def _shown(self) -> tuple[str, list[tuple[str, str]]]:
        """A title, a line per play, and the reason."""
        plays = zip(self.actions, self.probabilities, strict=True)
        rows = [(a, "" if p is None else f"with probability {p:.4g}") for a, p in plays if a is not None]
        return f"Decision {self.id} of {self.key!r}", [
            *rows,
            ("why", self.explanation),
            *(("warning", w) for w in self.warnings),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Convert the reply to a dictionary for JSON."""
        return {"action": self.action, "probability": self.probability, **vars(self)}


def reply(
    event: Event,
    body: Mapping[str, Any],
    actions: Sequence[str],
    ids: Ids,
    *,
    repeated: bool = False,
    warnings: tuple[str, ...] = (),
) -> Reply:
    """Build the reply of a stored decision from its body, the names of all actions, and the ids of the log."""
    plays = body["a"]
    return Reply(
        id=ids.of(event.seq),
        key=event.key or "",
        actions=tuple(actions[a] if a >= 0 else None for a in plays),
        probabilities=tuple(p if a >= 0 else None for a, p in zip(plays, body["p"], strict=True)),
        explanation=_explanation(body, actions),
        deadline=body["due"],
        at=event.at,
        repeated=repeated,
        warnings=warnings,
    )


def _explanation(body: Mapping[str, Any], actions: Sequence[str]) -> str:
    if not body["n"]:
        return "nothing is played: what is offered does not fit the hard limits or is withdrawn, or the horizon is over"
    fits = ", among the actions that still fit the hard budgets" if body["r"] else ""
    late = ", after the horizon, with what is left of the budgets" if "late" in body else ""
    if "u" in body:
        return f"kept: the action that it got before, with the probability of that draw{fits}{late}"
    if "h" not in body:
        found = "at random: drawn regardless of what actions are worth" if body["f"] else "worth most at present"
        if not body["f"] and body["p"][0] not in (None, 1.0):
            found = "drawn by chance, with this probability"
        return found + fits + late
    drawn = "drew this round, regardless of what actions are worth" if body["f"] else "left this round to it"
    most = f"{actions[body['h']]!r} is worth most at present" if body["f"] else "worth most at present"
    return f"{most}{fits}; a lottery for a holdout or a floor of probabilities stood before it, and {drawn}{late}"
