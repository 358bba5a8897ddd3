"""An HTTP client of `evenhand serve`, which retries with the same key until the server answers."""

from evenhand.core.errors import MissingExtra

try:
    import httpx
except ImportError as error:
    raise MissingExtra("clients", "client") from error

from evenhand.client.async_client import AsyncClient
from evenhand.client.client import Client, Decision, Erased
from evenhand.client.entries import Deciding, Observing
from evenhand.client.requests import NoAnswer, RequestRefused

__all__ = ["AsyncClient", "Client", "Deciding", "Decision", "Erased", "NoAnswer", "Observing", "RequestRefused"]

del httpx
