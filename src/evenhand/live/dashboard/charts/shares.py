"""Area charts of the shares of actions over the rounds or over time."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.live.dashboard.charts.horizontal_axis import HorizontalAxis
from evenhand.report.drawing import Svg, axes, frame, svg, two_widths

_HEIGHT = 180.0
HUES = 7  # classes of colours, the last one for all others


def shares(about: str, parts_of: Sequence[Sequence[int]], ends: Sequence[float], across: HorizontalAxis) -> Svg:
    """Draw stacked shares of plays, the first at the bottom.

    Args:
        about: a description of the chart.
        parts_of: for every span, the plays of each action; the i-th action has the i-th colour.
        ends: the end of each span on the axis.
        across: the axis.

    >>> shares("two actions", [[1, 1], [2, 0]], [2, 4], HorizontalAxis(last=4.0)).count("<path")
    4
    """
    edges = [0.0, *ends]
    heights = [[0.0] * (1 + len(parts)) for parts in parts_of]
    for row, parts in zip(heights, parts_of, strict=True):
        whole = sum(parts) or 1
        for i, part in enumerate(parts):
            row[i + 1] = row[i] + part / whole

    def draw(width: float) -> Svg:
        at = frame(width, (0.0, across.last or 1.0), (0.0, 1.0), _HEIGHT, ["100%"])
        drawn = []
        for i in range(max((len(parts) for parts in parts_of), default=0)):
            steps = []
            for first, last, row in zip(edges, edges[1:], heights, strict=False):
                if last > first and row[i + 1] > row[i]:
                    x, y = at.x(first), at.y(row[i + 1])
                    steps.append(f"M{x:.1f} {y:.1f}H{at.x(last):.1f}V{at.y(row[i]):.1f}H{x:.1f}Z")
            drawn.append(f'<path class="hue{min(i, HUES - 1)}" d="{"".join(steps)}"/>')
        grid = axes(at, across.marks(), [(0.0, "0%"), (0.5, "50%"), (1.0, "100%")])
        return svg(about, width, _HEIGHT, [*grid, *drawn])

    return two_widths(draw)
