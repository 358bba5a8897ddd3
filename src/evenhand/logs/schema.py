"""The JSON Schema of problem files, for editors that check and complete TOML as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.logs.keys import NEEDED, Key, Schema, about, keys, schema_of, table_of
from evenhand.logs.settings import OF_MODELS, OF_RECIPES, models, recipes
from evenhand.objectives import Objective

DRAFT = "http://json-schema.org/draft-07/schema#"  # which editors of TOML read


def schema() -> dict[str, Any]:
    """Return the schema of a problem file, made of the same table of keys by which files are read.

    >>> schema()["properties"]["allow_bad"]["exclusiveMaximum"]
    1
    """
    found = _table(keys())
    found["properties"]["policy"] = _policy()
    maximize = found["properties"]["maximize"]
    maximize["anyOf"] = [*maximize["anyOf"], schema_of(Objective)]
    aims = [{"required": [key]} for key in ("maximize", "minimize", "minimise")]
    ends = [{"required": [key]} for key in ("horizon", "traffic")]
    needed = [name for name in found.pop("required", []) if name not in ("maximize", "horizon")]
    return {
        "$schema": DRAFT,
        "title": "Problem file of evenhand",
        **found,
        "required": [*needed, "action", "outcomes"],
        "allOf": [{"oneOf": aims}, {"anyOf": ends}],
    }


def _table(within: tuple[Key, ...]) -> dict[str, Any]:
    """The schema of a table; several keys in capitals of one name are tables of different kinds."""
    chosen = [_described(key) for key in within if key.is_open]
    if chosen:
        values = chosen[0] if len(chosen) == 1 else {"anyOf": chosen}
        return {"type": "object", "additionalProperties": values}
    needed = [key.name for key in within if key.default is NEEDED]
    return {
        "type": "object",
        "properties": {key.name: _described(key) for key in within},
        **({"required": needed} if needed else {}),
        "additionalProperties": False,
    }


def _described(key: Key) -> dict[str, Any]:
    told = key.about
    if key.told != "none":
        told += f" {key.told.capitalize()}." if key.told.startswith("needed") else f" Default: {key.told}."
    found = _table(key.within) if key.kind is None else dict(key.kind.schema)
    return {**found, "description": told}


def _policy() -> Schema:
    """The recipe, the model, and the arguments of all of them: which go together is checked when the file is read."""
    of_recipes = _arguments(recipes(), OF_RECIPES)
    of_models = _arguments(models(), OF_MODELS)
    of_models["width"] = {"anyOf": [{"type": "number", "minimum": 0}, of_models["width"]]}  # in units of the range
    model = {
        "type": "object",
        "properties": {"name": {"enum": sorted(models())}, **of_models},
        "additionalProperties": False,
    }
    names = [{"const": name, "description": about(part)} for name, part in sorted(recipes().items())]
    return {
        "type": "object",
        "description": "A recipe and a model, by name, with their arguments.",
        "properties": {
            **of_models,
            **of_recipes,
            "name": {"anyOf": names},
            "model": {"anyOf": [{"enum": sorted(models())}, model]},
        },
        "additionalProperties": False,
    }


def _arguments(parts: Mapping[str, Any], given: tuple[str, ...]) -> dict[str, Any]:
    """All arguments of some parts, each of any type that it has in one of them."""
    found: dict[str, list[Any]] = {}
    for part in parts.values():
        for name, schema_ in table_of(part, given)["properties"].items():
            each = found.setdefault(name, [])
            if schema_ not in each:
                each.append(schema_)
    return {name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in found.items()}
