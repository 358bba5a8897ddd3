"""What a trace shows of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.faces import amount, count

if TYPE_CHECKING:  # the module of `Trace` imports this one
    from evenhand.report.summary import Line
    from evenhand.run.trace import Trace


def _said(line: Line) -> str:
    """A mean, beside its limit if it has one."""
    limit = "" if line.limit is None else f" (limit {amount(line.limit)}{', missed' if line.missed else ''})"
    return amount(line.mean) + limit


def title(trace: Trace) -> str:
    """Of which policy a trace is, and how long."""
    rounds = trace.interrupted or count(trace.problem.horizon, "round")
    return f"Trace of {trace.policy!r}: {count(len(trace.replicas), 'replica')}, {rounds}, seed {trace.seed}"


def rows(trace: Trace) -> list[tuple[str, str]]:
    """The means of the summary, and what a trace can be asked for."""
    lines = trace.summary().lines if len(trace.elapsed) else ()
    shown = [(line.name, _said(line)) for line in lines[:8]]
    if len(lines) > 8:
        shown.append(("...", f"{len(lines) - 8} more"))
    plays = [] if trace.plays is None else [("plays", "of every step, in `plays`")]
    return [*shown, *plays, ("see", "summary(), plot(), to_frame(), measure(constraint), objective()")]
