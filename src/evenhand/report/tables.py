"""Tables of texts, to print and for pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from evenhand.report.summary import table


class Table(NamedTuple):
    """A head and rows of texts; the first column names the rows. Print it to see its columns.

    >>> print(Table(["policy", "value"], [["targeted", "0.13"]]))
    policy    value
    --------  -----
    targeted   0.13
    """

    head: list[str]
    rows: list[list[str]]

    def __str__(self) -> str:
        return table(self.head, self.rows)

    def html(self) -> str:
        """Return the table in HTML, with all texts escaped.

        >>> Table(["a<b"], []).html()
        '<table><thead><tr><th scope="col">a&lt;b</th></tr></thead><tbody></tbody></table>'
        """
        head = "".join(f'<th scope="col">{escape(z)}</th>' for z in self.head)
        body = "".join(f"<tr>{_row(row)}</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def join_tables(head: Iterable[str], tables: Iterable[Table], last: Sequence[str]) -> str:
    """Join the lines above some tables, the tables, and the lines below, with blank lines between."""
    blocks = ["\n".join(head), *map(str, tables), "\n".join(last)]
    return "\n\n".join(block for block in blocks if block)


def _row(cells: Sequence[str]) -> str:
    name, *rest = map(escape, cells)
    return f'<th scope="row">{name}</th>' + "".join(f"<td>{z}</td>" for z in rest)
