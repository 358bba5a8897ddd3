"""The page that documents a server: its operations, as its OpenAPI description has them, without a script."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.signatures import value_text
from evenhand.live.dashboard.page import render
from evenhand.live.dashboard.view import Card, Section, Table

Schema = Mapping[str, Any]
_SHOWN = 12  # values of a list
_ENDS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "below {}"),
    ("minLength", "{} character or more"),
    ("maxLength", "at most {} characters"),
    ("maxItems", "at most {} of them"),
)


def reference(described: Schema, address: str) -> str:
    """Render the page.

    Args:
        described: the description in OpenAPI.
        address: of the server, for the examples.
    """
    cards = [
        _card(path, method, about, address, described.get("security", ()))
        for path, methods in described["paths"].items()
        for method, about in methods.items()
    ]
    values = {
        "title": described["info"]["title"],
        "policy": f"evenhand {described['info']['version']}",
        "line": f"{len(cards)} requests",
        "life": "",
        "tiles": [],
        "alarms": [],
        "sections": [Section(name="all", title="By path", cards=cards)],
        "style": None,
        "root": "",
    }
    return render("reference.html", values)


def rows(schema: Schema, name: str = "", needed: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name of each field of a schema, and its values in words.

    >>> at = {"type": "object", "properties": {"age": {"type": "number", "minimum": 0}}, "required": ["age"]}
    >>> list(rows({"type": "object", "properties": {"case": at}}))
    [('case', 'object'), ('case.age', 'needed; number, at least 0')]
    """
    schema, listed = _first(schema)
    if name:
        yield name, needed + _words(schema) + (", or a list of such" if listed else "")
    is_list = schema.get("type") == "array"
    inner = _first(schema["items"])[0] if is_list else schema
    below = f"{name}[]" if is_list and name else name
    choice = [z["required"][0] for z in inner.get("oneOf", ()) if set(z) == {"required"}]
    for field, of in inner.get("properties", {}).items():
        others = [z for z in choice if z != field]
        word = (
            f"needed, or {others[0]}; " if field in choice else "needed; " if field in inner.get("required", ()) else ""
        )
        yield from rows(of, f"{below}.{field}".lstrip("."), word)


def example(path: str, method: str, about: Schema, address: str, guarded: bool) -> str:
    """Return a request as a command for a shell."""
    parts = ["curl"]
    if guarded:
        parts.append('--header "Authorization: Bearer $TOKEN"')
    body = _json(about["requestBody"]).get("example") if "requestBody" in about else None
    if body is not None:
        parts.append(f"--json {shlex.quote(json.dumps(body, ensure_ascii=False))}")
    asked = "&".join(f"{z['name']}=order-17" for z in about.get("parameters", ()) if z["in"] == "query")
    filled = re.sub(r"\{\w+\}", "2", path)
    return " ".join([*parts, shlex.quote(f"{address.rstrip('/')}{filled}{'?' if asked else ''}{asked}")])


def _card(path: str, method: str, about: Schema, address: str, security: Sequence[Schema]) -> Card:
    tables = []
    parameters = [(z["name"], z["in"], _words(z["schema"])) for z in about.get("parameters", ())]
    tables.append(Table(("parameter", "in", "values"), parameters, texts=True))
    if "requestBody" in about:
        tables.append(_table("field", _json(about["requestBody"])["schema"]))
    answer = about["responses"].get("200", {})
    if "application/json" in answer.get("content", {}):
        tables.append(_table("answer", _json(answer)["schema"], "The answer"))
    listed = "requestBody" in about and _first(_json(about["requestBody"])["schema"])[1]
    return Card(
        name=f"{method}-{re.sub(r'[^a-z]+', '-', path).strip('-')}",
        title=f"{method.upper()} {path}",
        summary="One body, or a list of them in one transaction." if listed else "",
        tables=tables,
        text=example(path, method, about, address, bool(about.get("security", security))),
        wide=True,
    )


def _table(head: str, schema: Schema, title: str = "") -> Table:
    return Table((head, "values"), list(rows(schema)), title, texts=True, lines=True)


def _json(about: Schema) -> Schema:
    found: Schema = about["content"]["application/json"]
    return found


def _first(schema: Schema) -> tuple[Schema, bool]:
    """Return the schema of a single value where it may be a list of such as well, and whether it may."""
    either = [z for z in schema.get("oneOf", schema.get("anyOf", ())) if "type" in z]
    return (either[0], len(either) > 1 and either[1]["type"] == "array") if either else (schema, False)


def _words(schema: Schema) -> str:
    """Say in words which values a schema takes.

    >>> _words({"type": ["number", "null"], "minimum": 0, "maximum": 5.0}), _words({"enum": ["town", "land"]})
    ('number or null, at least 0, at most 5', "'town' or 'land'")
    >>> _words({"type": "integer", "maximum": 2**63 - 1})
    'integer, at most 9,223,372,036,854,775,807'
    """
    kinds = schema.get("type", ())
    found = [] if "enum" in schema else [" or ".join([kinds] if isinstance(kinds, str) else kinds) or "any value"]
    if "enum" in schema:
        found.append(_some(schema["enum"], " or "))
    if schema.get("type") == "array":
        found = [f"list of {_words(_first(schema['items'])[0])}"]
    found += [text.format(_number(schema[key])) for key, text in _ENDS if key in schema]
    found += [schema["description"]] if "description" in schema else []
    if "examples" in schema and schema.get("type") == "string":
        found.append(f"such as {_some(schema['examples'], ', ')}")
    return ", ".join(found)


def _some(values: Sequence[object], between: str) -> str:
    rest = len(values) - _SHOWN
    return between.join("null" if z is None else value_text(z) for z in values[:_SHOWN]) + (
        f" and {rest:,} more" if rest > 0 else ""
    )


def _number(value: float) -> str:
    """Format an end of a range; whole numbers have all of their digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
