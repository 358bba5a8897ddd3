"""The routes of a campaign for a FastAPI app of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.http.guard import let_in
from evenhand.live.http.places import OPEN
from evenhand.live.http.routes import operations
from evenhand.live.http.schemas import link, name_of
from evenhand.live.http.service import Hall

if TYPE_CHECKING:
    from fastapi import APIRouter, FastAPI


def router(campaign: Campaign, *, known: bool = False, switches: bool = False, erases: bool = False) -> APIRouter:
    """Make the routes of a campaign for a FastAPI app of your own, whose errors `add_errors` answers.

    They are those of `app`, without its pages. Who may ask is up to the app: the routes check the bodies of requests
    and their `Content-Type`, and neither tokens nor the names and origins of hosts. What waits for a transaction is
    finished when the app ends.

    Args:
        campaign: the campaign; it may have other workers.
        known: whether clients may state known outcomes that declare no range.
        switches: whether clients may send another problem file, as only those should whom the app knows.
        erases: whether clients may erase decisions, as only such should.

    Raises:
        MissingExtra: FastAPI is not installed.
        InvalidInput: no campaign.

    >>> import evenhand as eh
    >>> from fastapi import FastAPI
    >>> from evenhand.live.http import add_errors
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> mine = FastAPI()
    >>> mine.include_router(router(Campaign.open("memory://", "shop", eh.uniform(shop, 1))), prefix="/shop")
    >>> add_errors(mine)
    >>> "/shop/decide" in mine.openapi()["paths"]
    True
    """
    try:
        from fastapi import APIRouter, Depends
    except ImportError as error:
        raise MissingExtra("routers of campaigns", "fastapi") from error
    if not isinstance(campaign, Campaign):
        raise InvalidInput("campaign", "an open Campaign, as open_campaign returns", repr(campaign))

    hall = Hall([campaign])
    made = APIRouter(dependencies=[Depends(let_in)], lifespan=hall.lifespan)
    allowed = [route for route, is_allowed in (("/switch", switches), ("/erase", erases)) if is_allowed]
    for method, path, handler, described in operations(hall, campaign.name, known, None, allowed=allowed):
        stated: dict[str, Any] = {"name": name_of(path), "response_class": Response, "openapi_extra": described}
        made.add_api_route(path, handler, methods=[method], **stated)
        if path in OPEN:  # as some probes ask
            made.add_api_route(path, handler, methods=["HEAD"], include_in_schema=False)
    return made


def add_links(made: FastAPI) -> None:
    """State in the description of an app of your own which requests may follow a decision.

    They are found by their paths, with whatever prefixes the app has for the routes of campaigns.

    Args:
        made: the app, with or without its routes.

    >>> import evenhand as eh
    >>> from fastapi import FastAPI
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> mine = FastAPI()
    >>> mine.include_router(router(Campaign.open("memory://", "shop", eh.uniform(shop, 1))), prefix="/shop")
    >>> add_links(mine)
    >>> sorted(mine.openapi()["paths"]["/shop/decide"]["post"]["responses"]["200"]["links"])
    ['by key', 'cancel', 'decision', 'observe']
    """
    plain = made.openapi

    def openapi() -> dict[str, Any]:
        found = plain()
        link(found["paths"])
        return found

    made.openapi = openapi  # type: ignore[method-assign]
