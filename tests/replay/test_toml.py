"""Kinds of values, and messages that name the key."""

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.logs import keys as kinds, toml
from evenhand.logs.keys import NEEDED, Key
from evenhand.logs.problem_file import parse
from evenhand.logs.toml import Table

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


TEXT = """a = "[#" # "
b.c = [ # [
  1, '''
  ]
b.d'''
]
[t]
b.d = 1
[[u.v]]
w = 1
[[u.v.x]]
[[u.v]]
w = {y = 2}
[[u.v.x]]
z = 3
"""
LINES = {
    "a": 1, "b.c": 2, "t": 7, "t.b.d": 8, "u.v[0].w": 10, "u.v[0].x": 11, "u.v[1]": 12, "u.v[1].w.y": 13,
    "u.v[1].x[0].z": 15, "u.v[1].x[1]": 14, "b.d": 2, "e": None,
}  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_keys_among_brackets_in_strings_and_comments(end):
    text = TEXT.replace("\n", end)
    assert {field: toml.line_of(text, field) for field in LINES} == LINES


def test_a_line_is_found_in_two_readings(monkeypatch):
    """Each beginning of the text was read anew: a fifth of a megabyte took hours."""
    text, sizes, loads = "[[budget]]\nrate = 1\n" * 900 + "x = 1", [], toml.tomllib.loads
    monkeypatch.setattr(toml.tomllib, "loads", lambda part: sizes.append(len(part)) or loads(part))
    assert toml.line_of(text, "budget[899].x") == 1801
    assert sum(sizes) <= 2 * len(text)


@pytest.mark.parametrize("name", ["a", "'a'", '"a.b"', '"\\""'])
@pytest.mark.parametrize("dot", [".", " . ", "\t."])
def test_names_have_at_most_so_many_parts(name, dot):
    text = f"x = 'a{'.a' * 50}' # {'a.' * 50}\n{dot.join([name] * toml.PARTS)} = 1"
    assert len(toml.parse(text, "file")) == 2
    longer = dot.join([name] * (toml.PARTS + 1))
    for text in (f"{longer} = 1", f"[{longer}]", f"[[{longer}]]", f"x = {{{longer} = 1}}"):
        with pytest.raises(InvalidInput, match=r"^file, line 2: expected a name of at most 8 parts"):
            toml.parse(f"x = 1\n{text}", "file")


def test_no_text_is_looked_through_more_than_twice():
    """A text that ends in a backslash was looked through anew from every quote: a fifth of that took 4.5 s."""
    text = '"""\n\\' * 25_000
    assert toml._OPAQUE.match('"""a\\')[0] == '"""a\\'  # to its end, so that nothing in it is looked at again
    with pytest.raises(ValueError, match="Expected '=' after a key"):
        toml.parse(text, "file")


def test_a_text_that_is_nested_as_deeply_as_can_be_is_refused():
    for depth in range(300, 340):
        with pytest.raises(InvalidInput, match=r"an unknown key|nested too deeply"):
            parse(f"x = {'{a=' * depth}1{'}' * depth}", "file")
