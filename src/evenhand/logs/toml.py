"""TOML of problem files: strict reading by keys, lines of keys in errors; texts as TOML writes them.

Texts have limits of size and nesting, as the parser's time and memory grow with the square of a name's parts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.registry import snake, unknown_key
from evenhand.core.texts import clip
from evenhand.logs.columns import plain
from evenhand.logs.keys import NEEDED, OF_POLICY, TABLE, Key, named

Keys = list[str | int]
SIZE = 131_072  # bytes of a text; the slowest of those that were tried takes half a second
ROWS = 4_194_304  # bytes of the rows of a table that follow it; 10,000 rows of four columns, 0.7 MB, take half a second
PARTS = 8  # of a name, such as 2 of `tokens.clerk`

# Strings and comments, in which dots and quotes mean nothing; where one does not end, the text does.
_OPAQUE = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\\?\Z)'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+",
    re.DOTALL,
)
_LONG = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{PARTS}}}")


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


class Origin(NamedTuple):
    """The name and the text of a problem file."""

    file: str
    text: str


@contextmanager
def locate_errors(text: str, file: str) -> Iterator[None]:
    """Add the file and the line of the key to errors about a problem file.

    Raises:
        InvalidInput, InfeasibleProblem: replace the errors that name only the key.
    """
    try:
        yield
    except InfeasibleProblem as error:
        raise InfeasibleProblem(f"{file}: {error}") from error
    except InvalidInput as error:
        if error.field.startswith(file):  # the text is not TOML
            raise
        line = line_of(text, error.field, str(error.got))
        where = file if line is None else f"{file}, line {line}"
        raise InvalidInput(f"{where}: {error.field}", error.expected, error.got) from error


@contextmanager
def locate_keys(origin: Origin | None, log: str) -> Iterator[None]:
    """Add the problem file and the line to errors about its keys that turn up when a log is read.

    Raises:
        InvalidInput: replaces the errors that name only the key; those about the log stay as they are.
    """
    try:
        yield
    except InvalidInput as error:
        line = None if origin is None or error.field.startswith(log) else line_of(origin.text, error.field)
        if line is None or origin is None:
            raise
        raise InvalidInput(f"{origin.file}, line {line}: {error.field}", error.expected, error.got) from error


def line_of(text: str, field: str, got: str = "") -> int | None:
    """Find the line of a field, or of the table that lacks it; None for a missing key at the top level.

    >>> line_of('a = 1\\n[[budget]]\\nrate = 2\\n[[budget]]\\nrat = 3', "budget[1].rat")
    5
    >>> line_of('a = 1\\n[[budget]]\\nrate = 2\\n[[budget]]\\noutcome = "b"', "Budget('b').rate")
    4
    """
    text = text.replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except RecursionError:  # a few calls deeper than where the text was read
        return None
    keys = _keys(data, field, got)
    while keys and not _has(data, keys):
        keys.pop()
    name = next((str(key) for key in reversed(keys) if isinstance(key, str)), None)
    if name is None:
        return None
    where, counts = Keys(), Counter[tuple[str | int, ...]]()
    for number, statement in statements(text):
        part = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            where = _header(part, counts)
            holds = where[: len(keys)] == keys
        else:
            holds = where == keys[: len(where)] and _has(part, keys[len(where) :])
        if holds:
            lines = enumerate(statement.split("\n"), number)
            return next((i for i, line in lines if name in line.split("#")[0]), number)
    return None


def _header(part: dict[str, Any], counts: Counter[tuple[str | int, ...]]) -> Keys:
    """Return the path of the table that a line begins, where tables of the same name are counted."""
    path, inner = Keys(), part
    while inner:
        ((key, found),) = inner.items()
        path.append(key)
        if isinstance(found, list):
            counts[tuple(path)] += 1
        inner = found[0] if isinstance(found, list) else found
        if (before := counts[tuple(path)]) > 0:
            path.append(before - 1)
    return path


def _keys(data: dict[str, Any], field: str, got: str) -> Keys:
    """Convert a field of an error to a path of keys; the field states keys, or a part by its class and outcome."""
    part = re.match(r"(\w+)\('(.*?)'\)\.?(\w*)", field)
    field = field.removeprefix("Problem.")
    first = re.split(r"\W", field)[0]
    kind = snake(first)
    if part and kind in ("outcome", "groups"):
        key = "range" if part[3] in ("low", "high") else part[3]
        return ["outcomes" if kind == "outcome" else kind, part[2], key]
    if kind != first and isinstance(data.get(kind), list):
        name = part[2] if part else got.split(" (did you mean")[0]
        of_it = (i for i, z in enumerate(data[kind]) if name in (z.values() if isinstance(z, dict) else ()))
        return [kind, next(of_it, 0), part[3] if part else "outcome"]
    keys: Keys = []
    where, _, argument = field.partition(": ")  # such as "budget[0]: Budget('cost').rate"
    for key in re.findall(r"[\w\- ]+|\[\d+\]", where):
        keys.append(int(key[1:-1]) if key.startswith("[") else key)
    return [*keys, argument.rpartition(".")[2]] if argument else keys


def _has(data: Any, keys: Keys) -> bool:
    for key in keys:
        if isinstance(key, int):
            if not isinstance(data, list) or key >= len(data):
                return False
        elif not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return True


class Table:
    """A TOML table with its allowed keys.

    >>> from evenhand.logs.keys import PROPENSITY
    >>> table = Table({"constant": 0.5}, "propensity", PROPENSITY)
    >>> table.get("constant"), table.get("column")
    (0.5, None)
    >>> Table({"all": 5}, "propensity", PROPENSITY)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: propensity.all: expected one of the keys column, constant, estimated, \
unchecked, got an unknown key
    """

    def __init__(self, data: Mapping[str, Any], where: str, keys: tuple[Key, ...]) -> None:
        """Build the table at `where`; one key in capitals stands for any names that the user chooses."""
        self._data, self._where, self._keys = data, where, named(keys)
        self._open = next((key for key in keys if key.is_open), None)
        for key in data if self._open is None else ():
            if key not in self._keys:
                if not where and key in OF_POLICY:
                    got = f"a setting of a recipe: write {key} = ... under [policy]"
                    raise InvalidInput(key, "a key of the top level", got)
                raise unknown_key(self.field(key), tuple(self._keys), key)

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def field(self, key: str) -> str:
        """Return the full name of a key, for messages."""
        return f"{self._where}.{key}" if self._where else key

    def raw(self, key: str) -> Any:
        """Return the value of a key as the file has it; None if the key is missing."""
        return self._data.get(key)

    def get(self, key: str) -> Any:
        """Return the value of a key, or its default.

        Raises:
            InvalidInput: a value of another kind, or a key that is needed and missing.
        """
        known = self._known(key)
        kind = known.kind or TABLE
        if key in self._data:
            return kind.read(self.field(key), self._data[key])
        if known.default is NEEDED:
            raise InvalidInput(self.field(key), kind.expected, "nothing")
        return known.default

    def each(self) -> dict[str, Any]:
        """Return the values of all keys."""
        return {key: self.get(key) for key in self._data}

    def table(self, key: str, within: tuple[Key, ...] | None = None) -> Table:
        """Return a table within this one, by its own keys or by some of several; it is empty if the key is missing."""
        found = TABLE.read(self.field(key), self._data.get(key, {}))
        return Table(found, self.field(key), self._known(key).within if within is None else within)

    def tables(self, key: str) -> list[dict[str, Any]]:
        """Return an array of tables as the file has them; it is empty if the key is missing."""
        found = self._data.get(key, [])
        if not isinstance(found, list) or not all(isinstance(z, dict) for z in found):
            raise InvalidInput(self.field(key), f"tables under [[{key}]]", clip(repr(found)))
        return found

    def _known(self, key: str) -> Key:
        found = self._open or self._keys.get(key)
        assert found is not None, key
        return found


def load(text: str, file: str, keys: tuple[Key, ...]) -> Table:
    """Parse the text of a file whose top level allows the given keys.

    Raises:
        InvalidInput: the text is not TOML, too large, or has another key.
    """
    try:
        return Table(parse(text.replace("\r\n", "\n"), file), "", keys)
    except InvalidInput:
        raise
    except ValueError as error:  # also for a number with thousands of digits
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), .*|end of document)\)", str(error), re.DOTALL)
        if found is None:
            raise InvalidInput(file, "a TOML file", error) from error
        lines = text.splitlines()
        number = int(found[2] or len(lines))
        line = lines[number - 1] if 0 < number <= len(lines) else ""
        key, is_key, _ = line.partition("=")
        if found[1] == "Cannot overwrite a value" and is_key:
            raise InvalidInput(f"{file}, line {number}", "each key once", f"{key.strip()} a second time") from error
        got = found[1] + _hint(line)
        raise InvalidInput(f"{file}, line {number}", "a TOML file", got) from error


def _hint(line: str) -> str:
    """Return a hint at the probable meaning of a line that is not TOML; an empty text if that is not clear.

    >>> _hint("rate = 0,3")
    ' (numbers have a decimal point here, such as 0.3)'
    >>> _hint("column = Kauf"), _hint("rate = true")
    (' (texts stand in quotes, such as "letter")', '')
    """
    rest = re.sub(r"\"[^\"]*\"|'[^']*'", '""', line).partition("#")[0]
    if re.search(r"=\s*[-+]?\d+,\d+\s*$", rest):
        return " (numbers have a decimal point here, such as 0.3)"
    if re.search(r"=\s*(?!(?:true|false|inf|nan)\b)[^\W\d]", rest):
        return ' (texts stand in quotes, such as "letter")'
    if not rest.isascii() or re.search(r"\w +\w[^=]*=", rest):
        return ' (names with spaces or letters other than a to z stand in quotes, such as "größer")'
    return ""


def parse(text: str, file: str) -> dict[str, Any]:
    """Parse a TOML text whose names have at most `PARTS` parts and which is not deeply nested.

    It has at most `SIZE` bytes, and `ROWS` more of rows of actions, from the first of these on.

    Raises:
        InvalidInput: the text exceeds a bound.
        ValueError: it is not TOML.

    >>> parse('a.b = "c.d"', "a file")
    {'a': {'b': 'c.d'}}
    >>> parse(".".join("a" * 9) + " = 1", "a file")
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: a file, line 1: expected a name of at most 8 parts, got one of more
    """
    for part, most in zip(text.partition("\n[actions.rows.")[::2], (SIZE, ROWS), strict=True):
        if (size := len(part.encode("utf-8", "surrogatepass"))) > most:
            raise InvalidInput(file, f"a TOML file of at most {most:,} bytes", f"{size:,}")
    if (found := _LONG.search(_OPAQUE.sub(_blank, text))) is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise InvalidInput(f"{file}, line {line}", f"a name of at most {PARTS} parts", "one of more")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidInput(file, "a TOML file", "lists or tables that are nested too deeply") from None


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a TOML text that a line begins and ends, and the number of that line.

    >>> list(statements("[a]\\nb = [1,\\n 2]\\nc = 3"))
    [(1, '[a]'), (2, 'b = [1,\\n 2]'), (4, 'c = 3')]
    """
    first, begin, depth = 1, 0, 0
    for found in re.finditer(r"[\[\]{}\n]", _OPAQUE.sub(_blank, text) + "\n"):
        if found[0] != "\n":
            depth += 1 if found[0] in "[{" else -1
        elif depth == 0:
            part, begin = text[begin : found.start()], found.end()
            if part.strip() and part.lstrip()[0] != "#":
                yield first, part
            first += part.count("\n") + 1


def _blank(found: re.Match[str]) -> str:
    """Letters in place of a string, which may be a part of a name, and blanks in place of a comment."""
    return (" " if found[0][0] == "#" else "x") * len(found[0])
