"""The style of pictures: colours, widths and dashes of curves, and the layout of texts.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish, without yellow and black.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple

from evenhand.core.errors import InvalidInput, MissingExtra

try:
    from matplotlib import rc_context as rc_context
    from matplotlib.artist import Artist as Artist
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis as Axis
    from matplotlib.colors import is_color_like
    from matplotlib.figure import Figure as Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.lines import Line2D as Line2D
    from matplotlib.patches import ConnectionPatch as ConnectionPatch
    from matplotlib.text import Text
    from matplotlib.textpath import text_to_path
    from matplotlib.ticker import (
        FuncFormatter as FuncFormatter,
        LogLocator as LogLocator,
        MaxNLocator as MaxNLocator,
        NullFormatter as NullFormatter,
        NullLocator as NullLocator,
    )
    from matplotlib.transforms import ScaledTranslation as ScaledTranslation
except ImportError as error:  # pragma: no cover
    raise MissingExtra("plots", "plot") from error

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # the first is that of the main policy
GREY, LEVEL, INK = "0.55", "0.15", "0.3"  # of references, of horizontal lines, of captions
MAIN, OTHER, REFERENCE = 3.0, 1.5, 1.3  # line widths in points
HEADLINE, TITLE, LABEL, TICK, CAPTION = 11.5, 10.0, 9.0, 8.5, 8.5  # font sizes in points
STYLES = {"": (), "-": (), "--": (5.0, 2.0), ":": (1.0, 1.5), "-.": (5.0, 1.5, 1.0, 1.5)}
LAPS = ((), (3.0, 1.0), (1.0, 1.0), (6.0, 1.0, 1.0, 1.0, 1.0, 1.0))  # dashes of a repeated colour
EDGE = 0.12  # free inches around a text
BESIDE = 1.35  # inches that the labels of ticks and axes take from a panel


class Look(NamedTuple):
    """The look of a line: colour, on-off lengths of dashes in line widths (none: solid), and width in points."""

    color: str
    dashes: tuple[float, ...] = ()
    width: float = OTHER

    def line(self) -> Line2D:
        line = Line2D([], [], color=self.color, lw=self.width)
        set_dashes(line, self.dashes)
        return line


def look(i: int) -> Look:
    """Return the look of the i-th curve; the first 24 are distinct.

    >>> look(0), look(7)
    (Look(color='#0072B2', dashes=(), width=1.5), Look(color='#D55E00', dashes=(3.0, 1.0), width=1.5))
    """
    return Look(PALETTE[i % len(PALETTE)], LAPS[i // len(PALETTE) % len(LAPS)])


def parse_look(text: str) -> Look:
    """Parse a line style: `C0`, `C1`, ... of the palette or a colour of matplotlib, then `-`, `--`, `-.` or `:`.

    Raises:
        InvalidInput: the text is not a colour with dashes.

    >>> parse_look("C1--")
    Look(color='#D55E00', dashes=(5.0, 2.0), width=1.5)
    """
    found = re.fullmatch(r"(.*?)(--|-\.|-|:|)", text)
    color, style = found.groups() if found else (text, "")
    if re.fullmatch(r"C\d+", color):
        own = look(int(color[1:]))
        return own._replace(dashes=own.dashes + STYLES[style])
    if not is_color_like(color):
        raise InvalidInput("look", 'a colour and dashes, such as "C0--"', text)
    return Look(color, STYLES[style])


def looks(
    names: Sequence[str], main: str, references: Sequence[str], own: Mapping[str, str] | None = None
) -> list[Look]:
    """Choose one look per name: the main one thickest and in the first colour, references grey, dotted and thin."""
    own = own or {}
    taken = {parse_look(text).color for text in own.values() if text} | {PALETTE[0]}
    free = chain((i for i, color in enumerate(PALETTE) if color not in taken), count(len(PALETTE)))
    found = []
    for name in names:
        text = own.get(name, "")
        if text:
            here = parse_look(text)
        elif name in references:
            here = Look(GREY, STYLES[":"], REFERENCE)
        else:
            here = look(0 if name == main else next(free))
        found.append(here._replace(width=MAIN) if name == main else here)
    return found


def set_dashes(line: Line2D, dashes: Sequence[float], offset: float = 0.0) -> None:
    """Give a line dashes, in line widths."""
    if dashes:
        line.set_linestyle((offset, tuple(dashes)))
        line.set_dash_capstyle("butt")


def width_of(text: str, size: float) -> float:
    """Measure the width of one line of text in inches."""
    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]) / 72.0


def wrap(text: str, inches: float, size: float) -> str:
    """Wrap text to lines of a width in inches; wider words are broken."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        whole, line = paragraph.lstrip(" "), ""
        if width_of(whole, size) <= inches:  # as most are, which are measured once
            lines.append(whole)
            continue
        for word in paragraph.split(" "):
            longer = f"{line} {word}" if line else word
            if width_of(longer, size) <= inches:
                line = longer
                continue
            if line:
                lines.append(line)
            line = ""
            for letter in word:
                if line and width_of(line + letter, size) > inches:
                    lines.append(line)
                    line = ""
                line += letter
        lines.append(line)
    return "\n".join(lines)


def sheet(
    panels: int, columns: int, width: float, height: float, *, shared: str = "", square: bool = False
) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels of a size in inches; `shared` names the axes that all share, "x", "y" or "xy"."""
    columns = min(panels, columns)
    rows = -(-panels // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="compressed" if square else "constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex="x" in shared, sharey="y" in shared).ravel()
    for axes in grid[panels:]:
        axes.remove()
    for axes in grid[max(panels - columns, 0) : panels]:
        axes.tick_params(labelbottom=True)  # also above an empty place of the last row
    for axes in grid[:panels]:
        axes.tick_params(labelsize=TICK)
        axes.grid(alpha=0.25, lw=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, list(grid[:panels])


def title(axes: Axes, text: str, inches: float, size: float = TITLE) -> None:
    """Set the title of a panel of a width in inches."""
    axes.set_title(wrap(text, inches - BESIDE, size), fontsize=size)


def labels(axes: Axes, x: str, y: str, width: float, height: float) -> None:
    """Label the axes of a panel of a size in inches."""
    axes.set_xlabel(wrap(x, width - BESIDE, LABEL), fontsize=LABEL)
    axes.set_ylabel(wrap(y, height - BESIDE, LABEL), fontsize=LABEL)


def finish(
    figure: Figure, caption: str = "", legend: Mapping[str, Artist] | None = None, *, headline: str = ""
) -> None:
    """Write a headline above, a caption and a legend below, make room for all texts, and show every text literally."""
    width, height = figure.get_size_inches()
    told, more = wrap(caption, width - 2 * EDGE, CAPTION), 0.0
    for text, size in ((told, CAPTION), (wrap(headline, width - 2 * EDGE, HEADLINE), HEADLINE)):
        more += size * 1.3 * len(text.split("\n")) if text else 0.0
    if headline:
        figure.suptitle(wrap(headline, width - 2 * EDGE, HEADLINE), fontsize=HEADLINE)
    if caption and not legend:
        figure.supxlabel(told, fontsize=CAPTION, color=INK)
    if legend:
        sample = 0.7  # inches of line and gaps per entry
        names = [wrap(name, width - 2 * EDGE - sample, LABEL) for name in legend]
        widest = sample + max(width_of(line, LABEL) for name in names for line in name.split("\n"))
        columns = max(1, min(len(names), int((width - 2 * EDGE) / widest)))
        columns = -(-len(names) // -(-len(names) // columns))  # no more columns than its rows need
        box = figure.legend(
            list(legend.values()),
            [str(i) for i in range(len(names))],  # a name that starts with _ would be omitted
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            fontsize=LABEL,
            handlelength=3.0,
            title=told,  # two texts below the panels would lie on each other
            title_fontproperties={"size": CAPTION},
        )
        box.get_title().set_color(INK)
        for entry, name in zip(box.get_texts(), names, strict=True):
            entry.set_text(name)
        rows = -(-len(names) // columns)
        tallest = [max(len(n.split("\n")) for n in names[c * rows : (c + 1) * rows] or [""]) for c in range(columns)]
        more += (LABEL * 1.75) * rows * max(tallest) + 10.0
    titles = [len(a.get_title().split("\n")) - 1 for a in figure.axes]
    rows_of_panels = len({round(float(a.get_position().y0), 3) for a in figure.axes})
    more += (TITLE * 1.3) * max(titles, default=0) * rows_of_panels
    figure.set_size_inches(width, height + more / 72.0)
    literal(figure)


def literal(figure: Figure) -> None:
    """Turn off mathematical notation in all texts except the labels of ticks."""
    ticks = {t for a in figure.axes for axis in (a.xaxis, a.yaxis) for t in axis.get_ticklabels(which="both")}
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text not in ticks:
            text.set_parse_math(False)
