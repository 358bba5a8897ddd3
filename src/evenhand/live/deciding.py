"""A decision to be made with others in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.live.cases import Case
from evenhand.live.replies import Reply
from evenhand.live.verbs import Verbs, is_text


@dataclass(frozen=True)
class Deciding:
    """A call for `Campaign.many` that decides a case; the keys of all such calls are looked up together.

    Args:
        case, key, offered, known: as for `Campaign.decide`.
        frozen: whether it may be decided at the state before the calls in a row that are frozen, which takes less time.
            Rounds and budgets carry over from one to the next; the model and prices wait for the end, or for a
            twentieth of the rounds so far, or of those that are left.

    >>> import evenhand as eh
    >>> coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    >>> campaign = eh.Campaign.open("memory://", "coins", eh.uniform(coin, 1))
    >>> len(campaign.many([Deciding({}, f"coin {i}") for i in range(10)]))
    10
    """

    case: Case
    key: str
    offered: Sequence[str] | None = None
    known: Mapping[str, Mapping[str, float] | float] | None = None
    frozen: bool = False

    def __call__(self, verbs: Verbs) -> Reply:
        """Decide within a transaction."""
        return verbs.decide(self.case, self.key, self.offered, self.known)

    def asked(self, verbs: Verbs) -> dict[str, Any]:
        """Return the request as it comes from the log."""
        return verbs.asked(self.case, self.key, self.offered, self.known)

    def told(self, reply: Reply) -> Reply:
        """Return the result of the call."""
        return reply


def keys_of(calls: Iterable[object]) -> list[str]:
    """Return the keys that calls ask for, of those that have a `key`, as far as it can be one."""
    return [key for key in (getattr(call, "key", None) for call in calls) if is_text(key)]
