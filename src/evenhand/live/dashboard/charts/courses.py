"""Line charts over the rounds: the spending of a budget against its plan, and the objective."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from evenhand.live.dashboard.charts.frame import axes, box, brief, frame, labelled, line, svg, ticks

_HEIGHT = 180.0
Course = Sequence[tuple[float, float]]  # rounds and values


def pace(
    about: str,
    spent: Course,
    held: float,
    total: float,
    horizon: float,
    projected: float | None,
    plan: Course = (),
    unit: str = "round",
) -> Markup:
    """Draw a budget over the rounds or over time: spent, held, the plan, and the projection at the current pace.

    Args:
        about: a description of the chart.
        spent: the amount spent at the end of every span; the last point is now.
        held: the amount reserved at present for outcomes to come.
        total: the budget's total.
        horizon: the number of rounds, or the end of the run.
        projected: the projected spending at the end of the horizon, None before the first round.
        plan: the amount to be spent by when; by default evenly.
        unit: of the horizon.

    >>> pace("half is spent", [(5, 2.0)], 0.5, 4.0, 10, 4.0).count("<polyline")
    1
    """
    now, last = spent[-1] if spent else (0.0, 0.0)
    low = min([0.0, *(y for _, y in spent)])
    high = 1.06 * max(total, last + held, projected or 0.0, *(y for _, y in spent), 1e-300)
    ys = ticks(low, high)
    at = frame((0.0, float(horizon)), (low, high), _HEIGHT, [brief(y) for y in ys])
    level, zero = at.y(total), at.y(0.0)
    parts = axes(at, ticks(0.0, horizon), labelled(ys), unit)
    parts.append(line("total", at.left, level, at.right, level))
    if plan:
        parts.append(f'<polyline class="plan" points="{at.points(plan)}"/>')
    else:
        parts.append(line("plan", at.x(0), zero, at.x(horizon), level))
    course = [(0.0, 0.0), *spent]
    around = [*course, (now, 0.0)]
    parts.append(f'<polygon class="wash" points="{at.points(around)}"/>')
    if projected is not None and now < horizon:
        parts.append(line("ahead", at.x(now), at.y(last), at.x(horizon), at.y(projected)))
    parts.append(f'<polyline class="spent line" points="{at.points(course)}"/>')
    if held > 0.0:
        top = at.y(last + held)
        parts.append(box("held", at.x(now) - 3.5, top, 7.0, max(at.y(last) - top, 1.0)))
    parts.append(f'<circle class="now" cx="{at.x(now):.1f}" cy="{at.y(last):.1f}" r="3.5"/>')
    return svg(about, _HEIGHT, parts)


def course(about: str, values: Course, reference: float | None = None) -> Markup:
    """Draw a number over the rounds beside a reference; the first tenth of the rounds does not set the scale.

    >>> course("it rises", [(1, 0.1), (2, 0.2)], reference=0.15).count("reference")
    1
    """
    now = values[-1][0] if values else 0.0
    settled = [y for x, y in values if x >= 0.1 * now]
    shown = settled + ([] if reference is None else [reference])
    low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
    room = 0.15 * (high - low) or 0.15 * abs(high) or 1.0
    low, high = low - room, high + room
    ys = ticks(low, high)
    at = frame((0.0, now or 1.0), (low, high), _HEIGHT, [brief(y) for y in ys])
    parts = axes(at, ticks(0.0, at.high_x), labelled(ys), "round")
    if reference is not None:
        parts.append(line("reference", at.left, at.y(reference), at.right, at.y(reference)))
    inside = [low <= y <= high for _, y in values]
    first = max((i + 1 for i, ok in enumerate(inside) if not ok), default=0)
    if first < len(values):
        x, y = values[-1]
        parts.append(f'<polyline class="spent line" points="{at.points(values[first:])}"/>')
        parts.append(f'<circle class="now" cx="{at.x(x):.1f}" cy="{at.y(y):.1f}" r="3.5"/>')
    return svg(about, _HEIGHT, parts)
