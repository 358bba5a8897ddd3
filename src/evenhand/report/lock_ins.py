"""Replicas that play one action alone and gain clearly less than the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.core.faces import amount, few

if TYPE_CHECKING:
    from evenhand.run.trace import Trace

_FEWEST = 20  # rounds of a run that is judged
_OTHERS = 5  # replicas that others are compared with, at least
_FAR = 3.0  # standard deviations of these, from their mean
_NAMED = 40  # characters of the numbers of replicas


class LockIn(NamedTuple):
    """Replicas that played the same action in all rounds of the second half of a run, though others fitted as well."""

    action: str
    replicas: tuple[int, ...]
    objective: float  # their mean at the end
    others: float  # that of all replicas that did not play this action alone

    @property
    def said(self) -> str:
        """The finding in words.

        >>> print(LockIn("none", (3, 7), 0.2, 0.45).said)
        2 may be locked in: replicas 3, 7 played 'none' alone in the second half, and end at 0.2 where others have 0.45
        """
        n, who = len(self.replicas), few(self.replicas, _NAMED)
        alone = f"replica{'s' * (n > 1)} {who} played {self.action!r} alone in the second half"
        ends = f"end{'s' * (n == 1)} at {amount(self.objective)} where others have {amount(self.others)}"
        return f"{n} may be locked in: {alone}, and {ends}"


def lock_ins(trace: Trace) -> tuple[LockIn, ...]:
    """Find replicas that are likely to be locked in, by the action that they play.

    Equation: a replica that plays action a alone is named if its objective is below m - 3 s, with m and s the mean and
    the standard deviation of the replicas that do not, of which there are five at least. Where one action is right for
    everybody, nobody is named. A round in which something was masked counts as one with a choice of its own.
    """
    if trace.same is None or trace.same_since is None or not len(trace.elapsed):
        return ()
    elapsed, value = trace.elapsed[-1], trace.objective()[-1]
    alone = (elapsed - trace.same_since >= 0.5 * elapsed) & (elapsed >= _FEWEST) & np.isnan(trace.stopped)
    found, actions = list[LockIn](), trace.problem.actions
    for a in np.unique(trace.same[alone]).tolist():
        these = alone & (trace.same == a)
        others = value[~these & np.isfinite(value)]
        if len(others) >= _OTHERS:
            below = these & (value < others.mean() - _FAR * others.std(ddof=1) - 1e-9 * np.abs(others).max())
            if below.any():
                who = tuple(trace.replicas[below].tolist())
                name = actions[a] if a < len(actions) else f"candidate {a}"
                found.append(LockIn(name, who, float(value[below].mean()), float(others.mean())))
    return tuple(found)
