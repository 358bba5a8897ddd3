"""Whether a log can tell what other actions would have brought, and how many rounds it lasts for."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.core.types import Floats
from evenhand.replay.spec import Spec

_SURE = 1.0 - 1e-9
_SHORT = 0.9  # of the horizon


def overlap(spec: Spec, propensities: Floats) -> Iterator[str]:
    """Yield notes on what a log cannot carry, `(N)->`.

    Where an action was sure, no other one can be judged: averages are then over other cases than those that come. Many
    rows are like that in the log of a campaign whose policy knew what it wanted.

    Args:
        spec: of the problem file.
        propensities: of the logged actions.
    """
    rows, least = len(propensities), float(propensities.min())
    sure = int((propensities >= _SURE).sum())
    if sure and len(set(spec.actions.values())) > 1:
        yield (
            f"in {sure:,} of {rows:,} rows the logged action was sure, so that no other one can be judged in such "
            "cases: a replay is biased by them, as is that of the log of a campaign whose recipe does not `explore`"
        )
    lasts = rows * least
    if spec.until is None and lasts < _SHORT * spec.rounds:
        yield (
            f"this log lasts for some {lasts:,.0f} rounds of {spec.rounds:,}: its rows times {least:.3g}, the least "
            "probability that it has"
        )
