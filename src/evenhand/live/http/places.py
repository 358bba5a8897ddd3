"""Places on a server: the campaign and the route of a path, with the role that the route needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from starlette.types import Scope

from evenhand.live.campaigns.tokens import ROLES, Role, Token
from evenhand.live.http.answers import Refusal

OTHER = "other"  # the route of all unknown paths
INSIDE = "/campaigns/"  # before the name of a campaign
_DECISION = "/decisions/"
OPEN = ("/healthz", "/readyz")  # without a token, unless below the name of a campaign
STATIC = {
    "/static/page.css": "text/css",
    "/static/page.js": "text/javascript",
    "/static/icon.svg": "image/svg+xml",
}
_WIDE = (*OPEN, "/openapi.json", "/campaigns", *STATIC)  # of the server, not of one campaign
# The role that each route needs; any token may ask for what has none.
NEEDED: dict[str, Role | None] = {
    "/decide": "decide",
    "/observe": "observe",
    "/cancel": "observe",
    **dict.fromkeys(("/pause", "/resume", "/end", "/change", "/switch", "/erase"), "change"),
    **dict.fromkeys(("/", "/report", "/decisions", "/decisions/{number}", "/decisions/{number}/page"), "read"),
    **dict.fromkeys(("/metrics", "/docs"), "read"),
    **dict.fromkeys(_WIDE),
}


class Place(NamedTuple):
    """The campaign and the route of a path."""

    campaign: str | None  # as it was named, whether or not there is one; None for what is of the server
    route: str

    @property
    def is_open(self) -> bool:
        """Whether it needs neither a token nor the name of the server: probes reveal nothing of cases."""
        return self.campaign is None and self.route in OPEN

    def refusal(self, token: Token) -> Refusal | None:
        """Return why a token is not enough, None if it is.

        Only a token with all roles gets to paths that are not listed here: whatever the app would take them for, no
        other token reaches it.
        """
        if self.campaign is not None and not token.is_for(self.campaign):
            return Refusal(403, f"the token {token.name!r} is not for this campaign")
        if self.route == OTHER:
            return Refusal(404, "not found") if set(token.roles) < set(ROLES) else None
        role = NEEDED[self.route]
        if role is not None and role not in token.roles:
            return Refusal(403, f"the token {token.name!r} has no role {role!r}, which {self.route} needs")
        return None


class Places:
    """The paths of a server.

    Args:
        names: of its campaigns.

    >>> one, two = Places(["shop"]), Places(["shop", "post"])
    >>> one.find("/decisions/7/page")
    Place(campaign='shop', route='/decisions/{number}/page')
    >>> two.find("/campaigns/post/decide"), two.find("/nowhere")
    (Place(campaign='post', route='/decide'), Place(campaign=None, route='other'))
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._only = names[0] if len(names) == 1 else None

    def find(self, path: str) -> Place:
        """Return the campaign and the route of a path."""
        if path.startswith(INSIDE):
            campaign, _, rest = path[len(INSIDE) :].partition("/")
            return Place(campaign, _route(f"/{rest}"))
        route = _route(path)
        return Place(None if route in _WIDE else self._only, route)


def below(scope: Scope) -> str:
    """Return the path of a request below the one at which the app is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path


def _route(path: str) -> str:
    if path.startswith(_DECISION):
        return "/decisions/{number}/page" if path.endswith("/page") else "/decisions/{number}"
    return path if path in NEEDED else OTHER
