"""Who asks for a change of a campaign: the holder of a token, or whoever the request names."""

from __future__ import annotations

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.live.http.schemas import TEXT
from evenhand.live.tokens import Token

BY = {**TEXT, "description": "who asks; with a token of a file the name of that token, which may be left out"}


def signed(body: object, token: Token) -> object:
    """Return a body whose field `by` is the name of its token, where that says who asks.

    Raises:
        InvalidInput: the body names somebody else.

    >>> ops = Token(name="ops", sha256="0" * 64, roles=("change",))
    >>> signed({"why": "no letters left"}, ops)
    {'why': 'no letters left', 'by': 'ops'}
    """
    if token.is_shared or not isinstance(body, dict):
        return body
    if "by" in body and body["by"] != token.name:
        raise InvalidInput("by", f"{token.name!r}, the name of the token, or nothing", shown(body["by"]))
    return {**body, "by": token.name}
