"""Tables of texts, to print and for pages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import NamedTuple

from evenhand.report.summary import table

_TEX = str.maketrans(
    {c: f"\\{c}" for c in "{}$&#_%"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", "†": r"\dag{}", "€": r"\texteuro{}"}
)


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

    def latex(self, *, bold: Collection[tuple[int, int]] = (), caption: str = "", label: str = "") -> str:
        r"""Return the table in LaTeX, for the package `booktabs`, with all texts escaped; an empty row is a rule.

        Bold cells are given by row and column. An empty caption or label is none.

        >>> print(Table(["policy", "value"], [["a_b", "-0.13 ± 0.01"]]).latex(bold=[(0, 1)]).split("\n")[6])
        a\_b & \textbf{$-$0.13 $\pm$ 0.01} \\
        """
        rows = [[_tex(z) for z in row] for row in self.rows]
        for row, column in bold:
            rows[row][column] = rf"\textbf{{{rows[row][column]}}}"
        head, *lines = [" & ".join(z) + r" \\" if z else r"\midrule" for z in [[_tex(z) for z in self.head], *rows]]
        above = [rf"\caption{{{_tex(caption)}}}"] * bool(caption) + [rf"\label{{{label}}}"] * bool(label)
        above += [rf"\begin{{tabular}}{{l{'r' * (len(self.head) - 1)}}}", r"\toprule", head, r"\midrule"]
        below = [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
        return "\n".join([r"\begin{table}", r"\centering", *above, *lines, *below])


def join_tables(head: Iterable[str], tables: Iterable[Table], last: Sequence[str]) -> str:
    """Join the lines above some tables, the tables, and the lines below, with blank lines between."""
    blocks = ["\n".join(head), *map(str, tables), "\n".join(last)]
    return "\n\n".join(block for block in blocks if block)


def _tex(text: str) -> str:
    """Escape a text for LaTeX, where a minus is longer than a hyphen."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "$-$", text.translate(_TEX))


def _row(cells: Sequence[str]) -> str:
    name, *rest = map(escape, cells)
    return f'<th scope="row">{name}</th>' + "".join(f"<td>{z}</td>" for z in rest)
