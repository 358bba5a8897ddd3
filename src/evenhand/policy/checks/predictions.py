"""Checks of a model's predictions."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Worth
from evenhand.core.types import Floats

# Times the largest declared size of an outcome. A ridge of 1e-6 interpolates noise with predictions of thousands where
# it has as many observations as features; what is beyond this comes from a model that diverges.
FAR = 1e5


@kernel
def bad_worth(mean: Floats, bonus: Floats, w: Floats, reach: Floats) -> tuple[int, int]:
    """Replica and candidate of the first worth that no outcome near its range has, (-1, -1) where all are sound."""
    for r in range(len(mean)):
        for k in range(mean.shape[1]):
            most, bad = 0.0, 0
            if w.shape[2] == 1:  # prices are the same for all candidates, or per candidate
                for m in range(len(reach)):
                    if w[r, k, 0, m] != 0.0:
                        most += abs(w[r, k, 0, m]) * reach[m]
                for a in range(mean.shape[2]):
                    bad += not (abs(mean[r, k, a]) <= FAR * most and abs(mean[r, k, a] + bonus[r, k, a]) < np.inf)
                if bad == 0:  # and no search
                    continue
            for a in range(mean.shape[2]):
                if w.shape[2] > 1:
                    most = 0.0
                    for m in range(len(reach)):
                        if w[r, k, a, m] != 0.0:
                            most += abs(w[r, k, a, m]) * reach[m]
                if not (abs(mean[r, k, a]) <= FAR * most and np.isfinite(mean[r, k, a] + bonus[r, k, a])):
                    return r, a
    return -1, -1


def worth(name: str, said: Worth, w: Floats, reach: Floats, candidates: int, t: Floats) -> None:
    """Refuse predictions that cannot be right; `reach` is the largest size of each outcome."""
    shape, mean, bonus = (*w.shape[:2], candidates), said.mean, said.bonus
    if getattr(mean, "shape", ()) != shape or getattr(bonus, "shape", ()) != shape:
        now = f"{name} in round {int(t.max()) + 1}"
        raise InvalidInput(now, f"mean and bonus of shape {shape}", (np.shape(mean), np.shape(bonus)))
    r, a = bad_worth(mean, bonus, w, reach)
    if r >= 0:
        prices = w[r, :, a if w.shape[2] > 1 else 0].tolist()
        found = f"mean {mean[r, :, a]}, bonus {bonus[r, :, a]} at prices {prices}"
        expected = f"finite predictions, of outcomes within {FAR:g} times their declared range"
        raise InvalidInput(f"{name} in round {int(t[r]) + 1} of replica {r}, candidate {a}", expected, found)
