"""The app of one campaign: its routes and its pages."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from evenhand.live.dashboard.decision import decision_page
from evenhand.live.dashboard.page import page
from evenhand.live.events import Conflict
from evenhand.live.http.fixed import Lifespan, add_pages, bare
from evenhand.live.http.routes import GUARDED, add_routes, find_decision
from evenhand.live.http.schemas import add_operations
from evenhand.live.http.served import Hall
from evenhand.live.tokens import Tokens


def one(hall: Hall, name: str, known: bool, tokens: Tokens | None = None, lifespan: Lifespan | None = None) -> FastAPI:
    """Make the app of one campaign, without its guard.

    Args:
        hall: the campaigns of the server.
        name: of the campaign.
        known: whether clients may state known outcomes that declare no range.
        tokens: those of which requests carry one, None if they need none.
        lifespan: what begins and ends with the app.
    """
    served = hall.each[name]
    campaign = served.campaign
    made = bare(f"evenhand: {name}", lifespan)

    async def page_(_: Request) -> Response:
        return HTMLResponse(await served.reading(lambda: page(campaign, served.stand(), served.tally)))

    async def decision_(request: Request) -> Response:
        found = await find_decision(served, request)
        try:
            why = await served.explaining(lambda: campaign.why(found["id"]))
        except Conflict:  # another policy made it
            why = None
        return HTMLResponse(decision_page(name, found, why))

    add_routes(made.router, hall, name, known, tokens, allowed=() if tokens is None else GUARDED)
    add_operations(made, campaign)
    add_pages(made, {"/": page_, "/decisions/{number}/page": decision_})
    return made
