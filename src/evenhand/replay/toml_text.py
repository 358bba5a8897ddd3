"""Names and values as TOML writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from evenhand.replay.columns import plain


def key(name: str) -> str:
    """Write the name of a key: bare where TOML allows it.

    >>> key("age"), key("first visit")
    ('age', '"first visit"')
    """
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else value(name)


def value(found: object) -> str:
    """Write a text, a number, a list or a table.

    >>> value(["a", 2.0, {"b": 0.5}])
    '["a", 2, { b = 0.5 }]'
    """
    if isinstance(found, str):
        return json.dumps(found, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(found, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {value(z)}" for name, z in found.items()) + " }"
    if isinstance(found, list):
        return "[" + ", ".join(map(value, found)) + "]"
    return plain(float(found)) if isinstance(found, int | float) else str(found)
