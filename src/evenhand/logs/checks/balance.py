"""The check of balance: columns that depend on the action cannot have been known before it."""

from __future__ import annotations

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.logs.checks.rows import Drawn, quantile, reach
from evenhand.logs.column_guesses import Look, is_gap
from evenhand.logs.columns import Columns, Names

_SURE = 1e-6  # the chance of such a difference, if there were none
_ERRORS = 4.0  # standard errors that chance is allowed
_NEAR = 1e-6  # the error of probabilities by rounding
_PARTS = 10  # into which numbers are divided
_SMALL = 0.02  # standard deviations: differences up to this bias no number that matters


def unbalanced(columns: Columns, action: Names, found: tuple[Look, ...], decimal: str, rows: Ints) -> list[str]:
    """Return the names of the columns that depend on the action, by chi-squared tests of some rows' values."""
    return [look.name for look in found if _depends(_parts(columns, look, decimal)[rows], action.codes[rows])]


def stated_under(columns: Columns, action: Names, found: tuple[Look, ...]) -> dict[str, list[str]]:
    """Return the actions under which columns have values, for those that have none under others.

    The minutes of a call are an example. Columns that are so often empty that chance may explain it are not among them.
    """
    rows = np.bincount(action.codes, minlength=len(action.values))
    some: dict[str, list[str]] = {}
    for look in found:
        names = columns.names(look.name)
        empty = names.are(tuple(filter(is_gap, names.values)))
        there = np.bincount(action.codes[~empty], minlength=len(action.values))
        never = (there == 0) & (empty.mean() ** rows < _SURE)
        if never.any() and there.any():
            some[look.name] = sorted(action.values[a] for a in np.flatnonzero(there))
    return some


def drawn_by(columns: Columns, action: str, chances: str, decimal: str) -> bool:
    """Whether a column may hold draws with the probabilities of another one.

    Equation: mean_i 1[a_i = a] / p_i is 1 for every action a that can always be drawn, up to four standard errors.
    """
    names, p = columns.names(action), columns.names(chances).numbers(decimal)
    there = np.flatnonzero(p > 0.0)
    w, count = 1.0 / p[there], len(names.values)
    sums, squares = (np.bincount(names.codes[there], z, count) for z in (w, w**2))
    used = sums > 0.0
    mean = sums[used] / len(there)
    se = np.sqrt((squares[used] / len(there) - mean**2) / len(there))
    return bool((np.abs(mean - 1.0) <= _ERRORS * se + _NEAR).all())


def _parts(columns: Columns, look: Look, decimal: str) -> Ints:
    """Divide the rows by the values of a column: names as they are, numbers by their size."""
    names = columns.names(look.name)
    if look.kind != "number" or len(look.values) <= _PARTS:
        return names.codes
    z = names.numbers(decimal)
    ends = np.nanquantile(z, np.linspace(0, 1, _PARTS + 1)[1:-1])
    return np.where(np.isnan(z), _PARTS, np.searchsorted(ends, np.nan_to_num(z), side="right"))


def _depends(parts: Ints, actions: Ints) -> bool:
    counts = np.zeros((int(parts.max()) + 1, int(actions.max()) + 1))
    np.add.at(counts, (parts, actions), 1.0)
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    if min(counts.shape) < 2:
        return False
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    return chance(counts, expected, (counts.shape[0] - 1) * (counts.shape[1] - 1)) < _SURE


def chance(counts: Floats, expected: Floats, freedom: int) -> float:
    """Return the p-value of the difference of counts from what is expected, by the chi-squared distribution.

    >>> round(chance(np.array([60.0, 40.0]), np.array([50.0, 50.0]), 1), 4)
    0.0455
    """
    from scipy.special import chdtrc  # slow to import

    return float(chdtrc(freedom, ((counts - expected) ** 2 / expected).sum()))


def balance(log: Drawn) -> str | None:
    """Say which column is not balanced between actions given the propensities, as if recorded after the action.

    Equation: sum_i w_i (f_i - m_a) / sum_i w_i over the rows of an action, with w = 1 / p, f standardised over all rows
    and m_a its average where the action could be drawn, is 0 within its error. The variance of a term is
    E[(f - m_a)^2 / p_a] - v_a with the variance v_a of f there, of which the larger of two estimates is taken: that of
    1{a_i = a} (f_i - m_a)^2 / p_i^2, and v_a (E[1 / p_a] - 1) as if f did not depend on p_a. Clusters multiply it by as
    much as they do the variance of the mean of (1{a_i = a} / p_i - 1) (f_i - m_a). Features, and known outcomes that
    differ between cases, are compared.
    """
    w = 1.0 / log.propensities
    first, second, third = log.sums(w), log.sums(w * w), log.sums(w**3)
    seen, rows = first > 0.0, log.drawable(np.ones(len(w)))
    inverse, square = (np.divide(z, first, out=np.ones_like(z), where=seen) for z in (second, third))
    z = quantile(len(log.names) * (log.count + len(log.foreseen)))
    worst, told, others = 1.0, None, 0
    for column in log.columns():
        spread = float(column.values.std())
        if spread <= 1e-12 * float(np.abs(column.values).max()):
            continue
        f = (column.values - column.values.mean()) / spread
        middle = log.drawable(f) / rows
        off_middle = f - middle[log.actions]
        wf = w * off_middle
        mean = np.divide(log.sums(wf), first, out=np.zeros(len(first)), where=seen)
        varied = np.maximum(log.drawable(f * f) / rows - middle**2, 0.0)
        variance = np.maximum(log.sums(wf * wf) / rows, varied * inverse) - varied
        cubes = log.drawable(np.abs(f) ** 3) / rows
        cubed = np.maximum(log.sums(np.abs(wf) ** 3) / rows, square * cubes)
        each = [
            log.excess(((log.actions == a) * w - log.could(a)) * (f - middle[a]))
            for a in range(len(log.names) if log.clusters else 0)
        ]
        more, third_more = np.array(each)[:, :, 0].T if each else (1.0, 1.0)
        far = reach(z, rows, np.maximum(variance, 0.0) * more, cubed * third_more)
        off = np.abs(mean) / np.maximum(far, _SMALL)
        others += bool((off > 1.0).any())
        a = int(off.argmax())
        if off[a] > worst:
            worst = float(off[a])
            side = "above" if mean[a] > 0.0 else "below"
            told = (
                f"{column.name!r} differs between actions given the propensities: under {log.names[a]!r} it is "
                f"{abs(mean[a]):.2f} standard deviations {side} the average, of which chance explains {far[a]:.2f}"
            )
            what = column.what
    if told is None:
        return None
    more = f" ({others - 1} other columns differ, too)" if others > 1 else ""
    return f"{told}{more}: a column recorded after the action is not {what}, and wrong propensities look the same"
