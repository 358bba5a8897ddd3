"""Whether columns are known before the action: then they have the same averages under every action."""

from __future__ import annotations

import numpy as np

from evenhand.replay.checks.drawn import Drawn, quantile, reach

_SMALL = 0.02  # standard deviations: differences up to this bias no number that matters


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
