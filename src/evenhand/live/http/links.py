"""Links in the description of an app: which requests may follow a decision, by what of its answer they carry."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

Schema = dict[str, Any]
_FIRST = "/decide"
_ID, _KEY = "$response.body#/id", "$response.body#/key"
_NEXT: dict[str, tuple[str, str, Schema]] = {
    "observe": ("/observe", "post", {"requestBody": {"id": _ID}}),
    "cancel": ("/cancel", "post", {"requestBody": {"id": _ID}}),
    "decision": ("/decisions/{number}", "get", {"parameters": {"number": _ID}}),
    "by key": ("/decisions", "get", {"parameters": {"key": _KEY}}),
}


def add_links(made: FastAPI) -> None:
    """State in the description of an app of your own which requests may follow a decision.

    They are found by their paths, with whatever prefixes the app has for the routes of campaigns.

    Args:
        made: the app, with or without its routes.

    >>> import evenhand as eh
    >>> from evenhand.live.http import router
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> mine = FastAPI()
    >>> mine.include_router(router(eh.Campaign.open("memory://", "shop", eh.uniform(shop, 1))), prefix="/shop")
    >>> add_links(mine)
    >>> sorted(mine.openapi()["paths"]["/shop/decide"]["post"]["responses"]["200"]["links"])
    ['by key', 'cancel', 'decision', 'observe']
    """
    plain = made.openapi

    def openapi() -> Schema:
        found = plain()
        link(found["paths"])
        return found

    made.openapi = openapi  # type: ignore[method-assign]


def link(paths: Schema) -> None:
    """Add the links of each campaign to the paths of a description."""
    for path, methods in paths.items():
        answer = methods.get("post", {}).get("responses", {}).get("200")
        links = _links(paths, path.removesuffix(_FIRST)) if path.endswith(_FIRST) else {}
        if answer is not None and links:
            answer["links"] = links


def _links(paths: Schema, prefix: str) -> Schema:
    """Return what may follow a decision, nothing where the routes with a prefix are not those of a campaign."""
    found: Schema = {}
    for name, (path, method, carried) in _NEXT.items():
        operation = paths.get(f"{prefix}{path}", {}).get(method)
        if operation is None:
            return {}
        found[name] = {"operationId": operation["operationId"], **carried}
        if "requestBody" in carried:  # besides the decision, what the example of the request has, such as outcomes
            rest = {key: z for key, z in _example(operation).items() if key != "key"}
            found[name]["requestBody"] = {**rest, **carried["requestBody"]}
    return found


def _example(operation: Schema) -> Schema:
    """Return the example of a request, empty where the description has none."""
    found: Schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example", {})
    return found
