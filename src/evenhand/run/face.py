"""What a trace shows of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.faces import count

if TYPE_CHECKING:  # the module of `Trace` imports this one
    from evenhand.run.trace import Trace


def title(trace: Trace) -> str:
    """Of which policy a trace is, and how long."""
    rounds = trace.interrupted or count(trace.problem.horizon, "round")
    return f"Trace of {trace.policy!r}: {count(len(trace.replicas), 'replica')}, {rounds}, seed {trace.seed}"


def rows(trace: Trace) -> list[tuple[str, str]]:
    """Averages at the end, and what a trace can be asked for."""
    m, problem = len(trace.elapsed), trace.problem
    names = (*problem.names, *(measure.name for measure in problem.measures)) if m else ()
    shown = [(f"average {n}", f"{trace.average(n)[-1].mean():.4g}") for n in names[:8]]
    if len(names) > 8:
        shown.append(("...", f"{len(names) - 8} more"))
    plays = [] if trace.plays is None else [("plays", "of every step, in `plays`")]
    return [*shown, *plays, ("see", "summary(), plot(), to_frame(), measure(constraint), objective()")]
