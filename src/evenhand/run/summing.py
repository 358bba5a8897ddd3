"""The summary of a run at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.policy.held_out import comparisons
from evenhand.problem.constraints.outlook import chance, missed
from evenhand.problem.constraints.stated import Stated
from evenhand.report.credit_lines import credits_of, with_credit
from evenhand.report.quantities import quantities
from evenhand.report.span_lines import spans_of
from evenhand.report.summary import Ending, Line, Summary

if TYPE_CHECKING:
    from evenhand.run.trace import Trace


def summarise(trace: Trace) -> Summary:
    """Summarise the end of a run, as `Trace.summary` says."""
    problem, elapsed, lines = trace.problem, trace.elapsed[-1], []
    promised = [s for s, _ in with_credit(problem, trace.credits)]
    used = elapsed / problem.horizon  # of the horizon
    went_on = trace.finished & np.isnan(trace.ran_out)  # a replica that stopped early had the other rounds, too
    for q in quantities(trace):
        values = q.value(trace)[-1]
        error = np.inf if q.stated is None else _chance(trace, q.stated)
        per_round = np.where(went_on, values * used, values) if q.spends else values
        line = Line.of(q.name, per_round, worst=q.worst, limit=q.limit, error=error)
        if q.spends and trace.finished and q.limit is not None:  # the total is limited, whatever the rounds it took
            line = line._replace(missed=missed(float((values * used).mean()), q.limit, q.worst, error))
        lines.append(line._replace(missed=False) if q.stated in promised else line)
    lines += credits_of(problem, trace.credits)
    lines += spans_of(problem, trace.by_period)
    return Summary(
        policy=trace.policy,
        replicas=len(trace.replicas),
        interrupted=trace.interrupted,
        under_way=(int(np.ceil(trace.under_way[-1].min())), int(np.ceil(trace.under_way[-1].max()))),
        stopped=Ending.of(trace.stopped),
        restricted=Ending.of(trace.restricted_after),
        lines=tuple(lines),
        ran_out=Ending.of(trace.ran_out),
        horizon=problem.horizon,
        held_out=() if trace.held_out is None else comparisons(problem.names, trace.held_out),
    )


def _chance(trace: Trace, stated: Stated) -> float:
    """The standard error of a constraint's measure at the end, as a mean over replicas, at most."""
    per = stated.per(trace)
    return chance(stated, trace.problem, trace.elapsed[-1], None if per is None else per[-1])
