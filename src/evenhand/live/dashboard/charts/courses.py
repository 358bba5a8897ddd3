"""Line charts over the rounds or over time: the spending of a budget against its plan, and the objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.live.dashboard.charts.horizontal_axis import HorizontalAxis
from evenhand.report.drawing import Svg, axes, box, brief, frame, line, svg, ticks, two_widths, with_texts

_HEIGHT = 180.0
Course = Sequence[tuple[float, float]]  # rounds, or days after the start, and values


@dataclass(frozen=True, kw_only=True)
class Spending:
    """A budget over a run.

    Args:
        spent: the amount spent at the end of every span; the last point is now.
        held: the amount reserved at present for outcomes to come.
        total: the budget's total.
        projected: the projected spending at the end of the run, None before the first round.
        plan: the amount to be spent by when.
    """

    spent: Course
    held: float
    total: float
    projected: float | None
    plan: Course


def pace(about: str, budget: Spending, across: HorizontalAxis) -> Svg:
    """Draw a budget: spent, held, the plan, and the projection at the current pace.

    >>> half = Spending(spent=[(5, 2.0)], held=0.5, total=4.0, projected=4.0, plan=[(0, 0), (10, 4)])
    >>> pace("half is spent", half, HorizontalAxis(last=10.0)).count("<polyline")
    4
    """
    spent, held, total, projected = budget.spent, budget.held, budget.total, budget.projected
    now, last = spent[-1] if spent else (0.0, 0.0)
    low = min([0.0, *(y for _, y in spent)])
    high = 1.06 * max(total, last + held, projected or 0.0, *(y for _, y in spent), 1e-300)
    ys = ticks(low, high)

    def draw(width: float) -> Svg:
        at = frame(width, (0.0, across.last), (low, high), _HEIGHT, [brief(y) for y in ys])
        level = at.y(total)
        parts = axes(at, across.marks(), with_texts(ys))
        parts.append(line("total", at.left, level, at.right, level))
        parts.append(f'<polyline class="plan" points="{at.points(budget.plan)}"/>')
        course = [(0.0, 0.0), *spent]
        parts.append(f'<polygon class="wash" points="{at.points([*course, (now, 0.0)])}"/>')
        if projected is not None and now < across.last:
            parts.append(line("ahead", at.x(now), at.y(last), at.x(across.last), at.y(projected)))
        parts.append(f'<polyline class="spent line" points="{at.points(course)}"/>')
        if held > 0.0:
            top = at.y(last + held)
            parts.append(box("held", at.x(now) - 3.5, top, 7.0, max(at.y(last) - top, 1.0)))
        parts.append(f'<circle class="now" cx="{at.x(now):.1f}" cy="{at.y(last):.1f}" r="3.5"/>')
        return svg(about, width, _HEIGHT, parts)

    return two_widths(draw)


def course(about: str, values: Course, across: HorizontalAxis, reference: float | None = None) -> Svg:
    """Draw a number beside a reference; the first tenth of the axis does not set the scale.

    >>> course("it rises", [(1, 0.1), (2, 0.2)], HorizontalAxis(last=2.0), reference=0.15).count('class="reference"')
    2
    """
    settled = [y for x, y in values if x >= 0.1 * across.last]
    shown = settled + ([] if reference is None else [reference])
    low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
    room = 0.15 * (high - low) or 0.15 * abs(high) or 1.0
    low, high = low - room, high + room
    ys = ticks(low, high)

    def draw(width: float) -> Svg:
        at = frame(width, (0.0, across.last or 1.0), (low, high), _HEIGHT, [brief(y) for y in ys])
        parts = axes(at, across.marks(), with_texts(ys))
        if reference is not None:
            parts.append(line("reference", at.left, at.y(reference), at.right, at.y(reference)))
        inside = [low <= y <= high for _, y in values]
        first = max((i + 1 for i, ok in enumerate(inside) if not ok), default=0)
        if first < len(values):
            x, y = values[-1]
            parts.append(f'<polyline class="spent line" points="{at.points(values[first:])}"/>')
            parts.append(f'<circle class="now" cx="{at.x(x):.1f}" cy="{at.y(y):.1f}" r="3.5"/>')
        return svg(about, width, _HEIGHT, parts)

    return two_widths(draw)
