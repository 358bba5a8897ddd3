"""Quotas of tokens: decisions per minute, of which a minute's worth may be asked for at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import monotonic

from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.tokens import Token
from evenhand.live.http.answers import Refusal

_MINUTE = 60.0


@dataclass
class _Left:
    """The rest of a quota."""

    quota: float
    left: float
    at: float  # when that was so


class Quotas:
    """The remaining quota of each token; called from one thread.

    >>> quotas, till = Quotas(), Token(name="till", sha256="0" * 64, roles=("decide",), decisions_per_minute=60)
    >>> quotas.charge(till, 60)
    >>> quotas.charge(till, 1)
    Traceback (most recent call last):
    evenhand.live.http.answers.Refusal: (429, "the token 'till' has used its quota of 60 decisions per minute")
    """

    def __init__(self) -> None:
        self._left: dict[str, _Left] = {}
        self.refused: dict[str, tuple[Token, int]] = {}  # by name: the token, and its requests beyond the quota

    def charge(self, token: Token, count: int) -> None:
        """Subtract decisions from a quota.

        Raises:
            Refusal: they are more than is left now.
            InvalidInput: they are more than is ever left.
        """
        quota, now = token.decisions_per_minute, monotonic()
        if quota is None:
            return
        if count > quota:
            raise InvalidInput("body", f"at most {quota:g} entries, the quota of the token for a minute", f"{count:,}")
        found = self._left.get(token.name)
        if found is None or found.quota != quota:
            found = self._left[token.name] = _Left(quota, quota, now)
        found.left = min(found.left + (now - found.at) * quota / _MINUTE, quota)
        found.at = now
        if count > found.left:
            wait = math.ceil((count - found.left) * _MINUTE / quota)
            text = f"the token {token.name!r} has used its quota of {quota:g} decisions per minute"
            self.refused[token.name] = token, 1 + self.refused.get(token.name, (token, 0))[1]
            raise Refusal(429, text, {"Retry-After": str(wait)})
        found.left -= count
