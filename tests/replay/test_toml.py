"""Types of values, and messages that name the key."""

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.replay.toml import Table

INF, NAN = float("inf"), float("nan")
READ = {  # by type: values with what they are read as, and values that are refused
    "number": ([(1, 1.0), (0.5, 0.5)], [True, "1", NAN, INF]),
    "whole": ([(3, 3)], [3.0, True]),
    "text": ([("a", "a")], ["", 1]),
    "texts": ([(["a", "b"], ("a", "b")), ([], ())], [["a", "a"], ["a", 1], "a"]),
    "numbers": ([({"a": 1}, {"a": 1.0})], [{"a": "1"}, [1]]),
    "names": ([({"": "a"}, {"": "a"})], [{"a": 1}]),
    "text_or_numbers": ([("a", "a"), ({"a": 2}, {"a": 2.0})], [2]),
    "pair": ([([0, 1], (0.0, 1.0))], [[1, 0], [0, 1, 2], [0, INF]]),
}


@pytest.mark.parametrize("method", READ)
def test_values(method):
    right, wrong = READ[method]
    for value, expected in right:
        assert getattr(Table({"key": value}, "place", ("key",)), method)("key") == expected
    for value in wrong:
        with pytest.raises(InvalidInput, match=r"place\.key: expected .*, got"):
            getattr(Table({"key": value}, "place", ("key",)), method)("key")


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
