"""Kinds of values, and messages that name the key."""

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.replay import kinds
from evenhand.replay.keys import NEEDED, Key
from evenhand.replay.toml import Table

INF, NAN = float("inf"), float("nan")
SHARE = kinds.fraction("a share", {}, lambda x: 0 <= x < 1)
READ = {  # by kind: values with what they are read as, and values that are refused
    "share": (SHARE, [(0, 0.0), (0.5, 0.5)], [1, -0.1, True, "0", NAN]),
    "whole": (kinds.WHOLE, [(3, 3)], [3.0, True]),
    "text": (kinds.TEXT, [("a", "a")], ["", 1]),
    "texts": (kinds.TEXTS, [(["a", "b"], ("a", "b")), ([], ())], [["a", "a"], ["a", 1], "a", ["a", ""]]),
    "any texts": (kinds.ANY_TEXTS, [(["a", ""], ("a", ""))], [["a", 1], "a"]),
    "numbers": (kinds.NUMBERS, [({"a": 1}, {"a": 1.0})], [{"a": "1"}, [1]]),
    "names": (kinds.NAMES, [({"": "a"}, {"": "a"})], [{"a": 1}]),
    "text or numbers": (kinds.TEXT_OR_NUMBERS, [("a", "a"), ({"a": 2}, {"a": 2.0})], [2]),
    "range": (
        kinds.RANGE,
        [([0, 1], (0.0, 1.0)), (["1970-01-02", "1970-01-11"], (1.0, 10.0))],
        [[1, 0], [0, 1, 2], [0, INF], ["a", "b"], ["1970-01-11", "1970-01-02"]],
    ),
    "choice": (kinds.choice("a", "b"), [("a", "a")], ["c", 1, ["a"]]),
}
KEYS = (
    Key("key", "A text.", kinds.TEXT, NEEDED),
    Key("other", "A number.", kinds.WHOLE, 7),
    Key("one", "A table.", within=(Key("a", "A text.", kinds.TEXT), Key("b", "A text.", kinds.TEXT))),
    Key("many", "Tables.", kinds.TABLE),
    Key("free", "Names.", within=(Key("NAME", "A whole number.", kinds.WHOLE),)),
)


@pytest.mark.parametrize("name", READ)
def test_values(name):
    kind, right, wrong = READ[name]
    keys = (Key("key", "Any.", kind),)
    for value, expected in right:
        assert Table({"key": value}, "place", keys).get("key") == expected
    for value in wrong:
        with pytest.raises(InvalidInput, match=r"place\.key: expected .*, got"):
            Table({"key": value}, "place", keys).get("key")


def test_defaults_and_missing_keys():
    table = Table({}, "", KEYS)
    assert table.get("other") == 7
    assert table.tables("many") == []
    assert list(table.table("one")) == []
    with pytest.raises(InvalidInput, match="key: expected a text, got nothing"):
        table.get("key")


def test_names_that_the_user_chooses():
    assert Table({"free": {"x": 1, "y": 2}}, "", KEYS).table("free").each() == {"x": 1, "y": 2}
    with pytest.raises(InvalidInput, match=r"free\.y: expected a whole number, got '2'"):
        Table({"free": {"x": 1, "y": "2"}}, "", KEYS).table("free").each()


def test_unknown_keys_within():
    table = Table({"one": {"x": 1}, "many": {"y": 1}}, "", KEYS)
    with pytest.raises(InvalidInput, match=r"one\.x: expected one of the keys a, b, got an unknown key"):
        table.table("one")
    with pytest.raises(InvalidInput, match=r"many: expected tables under \[\[many\]\]"):
        table.tables("many")
    with pytest.raises(InvalidInput, match="one: expected a table"):
        Table({"one": 3}, "", KEYS).table("one")
