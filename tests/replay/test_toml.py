"""Types of values, and messages that name the key."""

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.replay.toml import Table

READ = [
    ("number", 1, 1.0),
    ("number", 0.5, 0.5),
    ("number", True, None),
    ("number", "1", None),
    ("number", float("nan"), None),
    ("number", float("inf"), None),
    ("whole", 3, 3),
    ("whole", 3.0, None),
    ("whole", True, None),
    ("text", "a", "a"),
    ("text", "", None),
    ("text", 1, None),
    ("texts", ["a", "b"], ("a", "b")),
    ("texts", [], ()),
    ("texts", ["a", "a"], None),
    ("texts", ["a", 1], None),
    ("texts", "a", None),
    ("numbers", {"a": 1}, {"a": 1.0}),
    ("numbers", {"a": "1"}, None),
    ("numbers", [1], None),
    ("names", {"": "a"}, {"": "a"}),
    ("names", {"a": 1}, None),
    ("text_or_numbers", "a", "a"),
    ("text_or_numbers", {"a": 2}, {"a": 2.0}),
    ("text_or_numbers", 2, None),
    ("pair", [0, 1], (0.0, 1.0)),
    ("pair", [1, 0], None),
    ("pair", [0, 1, 2], None),
    ("pair", [0, float("inf")], None),
]


@pytest.mark.parametrize(("method", "value", "expected"), READ)
def test_values(method, value, expected):
    read = getattr(Table({"key": value}, "place", ("key",)), method)
    if expected is not None:
        assert read("key") == expected
    else:
        with pytest.raises(InvalidInput, match=r"place\.key: expected .*, got"):
            read("key")


def test_defaults_and_missing_keys():
    table = Table({}, "", ("key",))
    assert table.number("key", None) is None
    assert table.tables("key", ()) == []
    assert table.table("key", ()).keys == ()
    with pytest.raises(InvalidInput, match="key: expected a text, got nothing"):
        table.text("key")


def test_unknown_keys_within():
    table = Table({"one": {"x": 1}, "many": [{"y": 1}, {"z": 1}]}, "", ("one", "many"))
    with pytest.raises(InvalidInput, match=r"one\.x: expected one of the keys a, b, got an unknown key"):
        table.table("one", ("a", "b"))
    with pytest.raises(InvalidInput, match=r"many\[1\]\.z"):
        table.tables("many", ("y",))
    for key, read in (("many", table.table), ("one", table.tables)):
        with pytest.raises(InvalidInput, match=key):
            read(key, ("y",))
