"""Tries decisions out on a copy of a campaign in memory, so that a server is ready once its kernels are compiled."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

from evenhand.core.errors import EvenhandError, EvenhandWarning
from evenhand.live.campaign import Campaign
from evenhand.live.http.schemas import operations

_ROUNDS = 20


def try_out(campaign: Campaign) -> None:
    """Decide a few made-up cases by the policy of a campaign, and observe outcomes, in a store that is thrown away.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> campaign = Campaign.open("memory://", "shop", eh.uniform(shop, 1))
    >>> try_out(campaign)
    >>> campaign.status().rounds
    0
    """
    with suppress(EvenhandError), warnings.catch_warnings():  # such as where the end of the run is past
        warnings.simplefilter("ignore", EvenhandWarning)
        copy = Campaign.open("memory://", campaign.name, campaign.policy, encoder=campaign.encoder)
        examples = {path: _example(described) for path, described in operations(copy).items()}
        for i in range(_ROUNDS):
            decision = copy.decide(examples["/decide"]["case"], key=f"{i}")
            if decision.action is not None:
                copy.observe(decision.id, examples["/observe"]["outcomes"])


def _example(described: Any) -> dict[str, Any]:
    found: dict[str, Any] = described["requestBody"]["content"]["application/json"]["example"]
    return found
