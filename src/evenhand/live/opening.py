"""What is written, and said, when a campaign is opened."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandWarning
from evenhand.goals.base import Accounts
from evenhand.live.cases import Encoder
from evenhand.live.events import Event, read
from evenhand.live.fold import OnExpiry
from evenhand.live.versions import here
from evenhand.policy.policy import Policy


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a campaign was opened with; it is in the log, and the same for all workers."""

    seed: int
    patience: float  # seconds
    on_expiry: OnExpiry
    first: str  # the fingerprint of the policy that it was opened with
    taught: str | None  # a hash of what the policy learned before the first decision

    @staticmethod
    def of(opened: Event) -> Terms:
        """Those in the first event of a log."""
        kept = read(opened)
        return Terms(**{f.name: kept[f.name] for f in fields(Terms)})


def opening(terms: Terms, policy: Policy, encoder: Encoder) -> dict[str, Any]:
    """The first event: the terms, and what the bits of decisions may depend on."""
    return {
        **asdict(terms),
        "name": policy.name,
        "actions": list(policy.problem.actions),
        "encoding": encoder.to_dict(),
        "versions": here(),
    }


def warn_of_jams(terms: Terms, policy: Policy) -> None:
    """Warn of hard budgets on outcomes that have to be observed, if decisions whose outcome never comes hold them.

    With a total of 120 and many outcomes that never came, 64 were held and never spent.
    """
    if terms.on_expiry != "hold":
        return
    for goal in policy.goals:
        if isinstance(goal, Accounts):
            for i in np.flatnonzero(~goal.rows.is_known):
                text = (
                    f"budget {goal.rows.names[i]!r}: a decision whose outcome never comes holds its worst case for "
                    'good, and nothing else can spend that: open the campaign with on_expiry="fallback" or "release" '
                    "if outcomes may stay away"
                )
                warnings.warn(text, EvenhandWarning, stacklevel=3)
