"""The ASGI app of one or several campaigns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.live.campaign import Campaign
from evenhand.live.http.direct import Direct
from evenhand.live.http.guard import Guard
from evenhand.live.http.one import one
from evenhand.live.http.places import OPEN, Place, Places
from evenhand.live.http.routes import answers
from evenhand.live.http.schemas import add_security
from evenhand.live.http.served import Hall
from evenhand.live.http.several import Inside, add_list, several
from evenhand.live.tokens import Tokens


def app(
    campaigns: Campaign | Sequence[Campaign],
    *,
    token: str | Tokens | None = None,
    hosts: Sequence[str] = ("127.0.0.1", "localhost"),
    known: bool = False,
    backups: Path | None = None,
) -> FastAPI:
    """Build the app that serves campaigns over HTTP, for `serve` or any ASGI server.

    One campaign has its routes at `/`, and at `/campaigns/NAME/` as well. Several have them at `/campaigns/NAME/` only.

    Args:
        campaigns: the campaign, or several with names that differ; they may have other workers.
        token: the token that every request must carry as `Authorization: Bearer TOKEN`, of at least 16 characters; or
            the tokens of which it must carry one; None accepts all requests.
        hosts: the names, without ports, by which clients call the server.
        known: whether clients may state known outcomes that declare no range, between the least and the greatest of
            their declared values. They spend the budgets by it.
        backups: the folder of the backups, whose age is a metric.

    Raises:
        InvalidInput: the token is too short, or it or a name cannot be in a header; or names of campaigns are the
            same, or cannot be in an address.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> made = app(Campaign.open("memory://", "shop", eh.uniform(shop, 1)), token="a long enough secret")
    >>> made.title
    'evenhand: shop'
    """
    made, outer = _parts(campaigns, token, hosts, known, backups)
    for layer in outer:
        made.add_middleware(layer)
    return made


def shell(
    campaigns: Campaign | Sequence[Campaign],
    *,
    token: str | Tokens | None,
    hosts: Sequence[str],
    known: bool,
    backups: Path | None = None,
) -> ASGIApp:
    """Build an app that answers as `app` does, for `serve`; only requests other than verbs go to FastAPI.

    The arguments and errors are those of `app`.
    """
    made, outer = _parts(campaigns, token, hosts, known, backups)
    found: ASGIApp = made
    for layer in outer:
        found = layer(app=found)
    return found


def _parts(
    campaigns: Campaign | Sequence[Campaign],
    token: str | Tokens | None,
    hosts: Sequence[str],
    known: bool,
    backups: Path | None,
) -> tuple[FastAPI, Sequence[partial[Any]]]:
    """Make an app without its outer layers, and what makes these, from the inside out."""
    tokens = token if token is None or isinstance(token, Tokens) else Tokens(single=token)
    if isinstance(hosts, str) or not hosts or not all(isinstance(z, str) and z for z in hosts):
        raise InvalidInput("hosts", "names, such as ('localhost',)", shown(hosts))
    hall = Hall(_checked(campaigns), backups)
    names = list(hall.each)
    each: Mapping[str, FastAPI]
    if len(names) == 1:
        made = one(hall, names[0], known, tokens, hall.lifespan)
        add_list(made, hall, in_schema=False)
        each = {names[0]: one(hall, names[0], known, tokens)}
    else:
        made, each = several(hall, hall.lifespan), {name: one(hall, name, known, tokens) for name in names}
    if tokens is not None:
        add_security(made, unless=OPEN)
        for below in each.values():
            add_security(below)
    made.add_middleware(Inside, each=each)
    direct = {Place(name, path): z for name in names for path, z in answers(hall, name, known).items()}
    guard = partial(Guard, tokens=tokens, hosts=hosts, places=Places(names), requests=hall.requests)
    return made, (partial(Direct, answers=direct), guard)


def _checked(campaigns: Campaign | Sequence[Campaign]) -> Sequence[Campaign]:
    """Return the campaigns of a server, whose names were checked."""
    if isinstance(campaigns, Campaign):
        return [campaigns]
    check_names([campaign.name for campaign in campaigns])
    return campaigns


def check_names(names: Sequence[str]) -> None:
    """Refuse names of campaigns that one server cannot have.

    Raises:
        InvalidInput: there is none, two are the same, or one cannot be in an address.
    """
    if not names:
        raise InvalidInput("campaigns", "at least one", "none")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("campaigns", "names that differ", f"{shown(name)} twice")
        if len(names) > 1 and ("/" in name or name in (".", "..")):
            raise InvalidInput("campaigns", "names without '/', as they are part of addresses", shown(name))
