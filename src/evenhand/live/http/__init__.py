"""Campaigns over HTTP: decisions, outcomes and reports as JSON, for clients in any language."""

from evenhand.core.errors import MissingExtra

try:
    import httptools
    import jinja2
    import starlette
    import uvicorn
except ImportError as error:
    raise MissingExtra("live campaigns", "live") from error

from evenhand.live.http.app import add_errors, app
from evenhand.live.http.lines import to_stderr
from evenhand.live.http.router import add_links, router
from evenhand.live.http.server import serve

__all__ = ["add_errors", "add_links", "app", "router", "serve", "to_stderr"]

del httptools, jinja2, starlette, uvicorn
