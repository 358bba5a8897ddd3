"""What the columns of the tables of a replay mean."""

from __future__ import annotations

from collections.abc import Collection

PLAIN = "95 %: for the population behind the log, by {bootstrap} resamples of its rows; rounds not served count as 0."
ALONE = "No errors are known without resamples; rounds not served count as 0."
EACH = {
    "mean": """\
mean    over the {shuffles} shuffles of this one log, per round of the horizon, or of the log if it ends first. Rounds
        that were not served, because no action fitted what was left of a budget, count as 0.""",
    "se": """\
se      standard error of this mean for the population behind the log: how far it would move had other people been in
        the log. Estimated from {bootstrap} bootstrap resamples of the rows, each replayed in {orders} orders.""",
    "se_log": """\
se log  standard error of this mean for this one log: how far it would move over other shuffles of the same cases. It is
        spread / sqrt({shuffles}), and says nothing of other people.""",
    "spread": "spread  standard deviation over the shuffles: how far a single replay of this one log is from another.",
    "worst": "worst   of all runs{kinds}.",
}


def plain(bootstrap: int) -> str:
    """Explain means with intervals in a line.

    >>> plain(0)
    'No errors are known without resamples; rounds not served count as 0.'
    """
    return PLAIN.format(bootstrap=bootstrap) if bootstrap else ALONE


def each(parts: Collection[str], shuffles: int, bootstrap: int, orders: int) -> str:
    """Explain the columns of all errors, of which `parts` are shown.

    >>> print(each(["worst"], 20, 40, 3))
    worst   of all runs, shuffled and resampled.
    """
    kinds = ", shuffled and resampled" if bootstrap else ""
    told = {"shuffles": shuffles, "bootstrap": bootstrap, "orders": orders, "kinds": kinds}
    return "\n".join(line.format(**told) for part, line in EACH.items() if part in parts)
