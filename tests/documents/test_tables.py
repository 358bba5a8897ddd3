"""Every table of measurements on a page is what its command printed, as docs/tables keeps it."""

import re
from typing import NamedTuple

from tests.documents.exceptions import EXCEPTIONS
from tests.documents.pages import BLOCK, PAGES, ROOT
from tests.tables import lines, main, outputs, read

OUTPUTS = outputs()


class Table(NamedTuple):
    """A table of a page: its first line, and all lines."""

    page: str
    head: str
    lines: list[str]


def measurement(text):
    """Whether at least a third of the cells of a Markdown table are numbers.

    >>> measurement("| | a |\\n|---|---|\\n| b | .98 (.95) |"), measurement("| | a |\\n|---|---|\\n| b | at 2 |")
    (True, False)
    """
    cells = [cell.strip() for line in text.splitlines()[2:] for cell in line.strip().strip("|").split("|")[1:]]
    cells = [cell.strip("* ") for cell in cells if cell]
    return 3 * sum(bool(re.match(r"[-+]?\.?\d", cell)) for cell in cells) >= max(len(cells), 1)


def tables(page):
    """Tables of measurements of a page, and blocks of text that have a rule of dashes under a head."""
    text = page.read_text(encoding="utf-8")
    found = [m[0] for m in re.finditer(r"(?:^ *\|.*\|\n)+", BLOCK.sub("", text), re.MULTILINE) if measurement(m[0])]
    found += [m[2] for m in BLOCK.finditer(text) if re.search(r"^ *---+(  +---+)+ *$", m[2], re.MULTILINE)]
    for table in found:
        shown = list(lines(table))
        yield Table(str(page.relative_to(ROOT)), shown[0], shown)


def holds(printed, shown):
    """Whether all lines are printed, in this order."""
    left = iter(printed)
    return all(line in left for line in shown)


def sources(table):
    """Stores whose command, or whose script, the page of a table has."""
    text = " ".join((ROOT / table.page).read_text(encoding="utf-8").split())
    scripts = {
        name: [word for word in output.command.split() if word.endswith(".py")] for name, output in OUTPUTS.items()
    }
    return [name for name, output in OUTPUTS.items() if any(z in text for z in (output.command, *scripts[name]))]


def reasons(table):
    """What the list of exceptions has for a table: the page, or the page and the beginning of the first line."""
    return [
        key for key in EXCEPTIONS if table.page == key or (table.page, True) == (key[0], table.head.startswith(key[1]))
    ]


ALL = [table for page in PAGES for table in tables(page)]
SAME = [z for z in ALL if any(holds(lines(OUTPUTS[name].printed), z.lines) for name in sources(z))]


def test_a_table_is_what_its_command_printed():
    assert [table[:2] for table in ALL if table not in SAME and not reasons(table)] == []


def test_what_is_stored_is_on_a_page():
    shown = [name for name, output in OUTPUTS.items() if any(holds(lines(output.printed), z.lines) for z in SAME)]
    assert shown == list(OUTPUTS)


def test_exceptions_are_tables_that_are_not_stored():
    needed = {key for table in ALL if table not in SAME for key in reasons(table)}
    assert [key for key in EXCEPTIONS if key not in needed] == []


def test_a_number_that_was_not_printed_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.documents.test_tables.ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text("| | b |\n|---|---:|\n| c | **1.5** |\n\n- d\n\n  | | e |\n  |---|---|\n  | f | text |\n")
    (found,) = tables(page)
    assert found == ("a.md", "| | b |", ["| | b |", "| c | 1.5 |"])
    assert holds(lines("| | b |\n|---|---|\n| before | 2 |\n|  c |  1.5 |\n"), found.lines)
    assert not holds(lines("| | b |\n|---|---|\n| c | 1.6 |\n"), found.lines)
    assert not holds(lines("| c | 1.5 |\n| | b |\n"), found.lines)


def test_what_a_command_prints_is_stored_and_stored_again(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.tables.ROOT", tmp_path)
    monkeypatch.setattr("tests.tables.STORE", tmp_path)
    (tmp_path / "count").write_text("1")
    command = f"python -c \"print('| ' + open('{tmp_path / 'count'}').read() + ' |'); open('made.png', 'w')\""
    main(["a", command])
    assert read(tmp_path / "a.txt")[::2] == (command, "| 1 |\n")
    assert (tmp_path / "out" / "tables" / "a" / "made.png").exists()
    (tmp_path / "count").write_text("2")
    main(["a"])
    assert read(tmp_path / "a.txt")[::2] == (command, "| 2 |\n")
