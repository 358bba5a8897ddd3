"""A campaign in an app of your own."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from evenhand.live.campaign import Campaign
from evenhand.live.http.guard import let_in
from evenhand.live.http.routes import add_routes
from evenhand.live.http.served import Hall


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
    hall = Hall([campaign])
    made = APIRouter(dependencies=[Depends(let_in)], lifespan=hall.lifespan)
    allowed = [route for route, is_allowed in (("/switch", switches), ("/erase", erases)) if is_allowed]
    add_routes(made, hall, campaign.name, known, None, allowed=allowed)
    return made
