"""A stack of a ridge regression and boosted trees, which see interactions, and what the trees brought."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenhand.core.extras import scikit_learn
from evenhand.core.types import Floats
from evenhand.offline.evidence import Evidence
from evenhand.offline.outcome_models import RidgeByErrors, members_of

_PARTS, _LEAST = 3, 60  # of the rows, and the rows below which it is the ridge


class Stack:
    """A ridge regression and boosted trees of scikit-learn, weighted by their errors in rows that they have not seen.

    Equation: (1 - w) ridge + w trees, where w in [0, 1] minimises sum_i (y_i - prediction_i)^2 over three parts of the
    rows, each predicted by models of the others (Wolpert 1992, "Stacked generalization"). At 0 it is the ridge, so that
    it is never worse there. The seeds of the parts and of the trees are 0.

    Raises:
        MissingExtra: scikit-learn is not installed.

    >>> x = np.column_stack([np.ones(400), np.tile([0.0, 0.0, 1.0, 1.0], 100), np.tile([0.0, 1.0], 200)])
    >>> model = Stack().fit(x, x[:, 1] * x[:, 2])
    >>> model.predict(x[:4]).round(1).tolist(), round(model.weight, 2)
    ([0.0, 0.0, 0.0, 1.0], 1.0)
    """

    def __init__(self) -> None:
        self._ensemble = scikit_learn("ensemble", "boosted trees of outcomes")

    def fit(self, x: Floats, y: Floats) -> Stack:
        """Fit both and their weight, `(N,n),(N)->`."""
        self.weight, self.losses, rows = 0.0, np.zeros(2), np.arange(len(y))
        if len(y) >= _LEAST:
            apart = np.empty((2, len(y)))
            for mine in members_of(rows, _PARTS, 0):
                seen = np.setdiff1d(rows, mine)
                apart[0, mine] = RidgeByErrors().fit(x[seen], y[seen]).predict(x[mine])
                apart[1, mine] = self._trees(x[seen], y[seen]).predict(x[mine])
            step, left = apart[1] - apart[0], y - apart[0]
            self.weight = float(np.clip(step @ left / max(float(step @ step), 1e-300), 0.0, 1.0))
            self.losses = np.array(
                [(left**2).mean(), ((left - self.weight * step) ** 2).mean()]
            )  # of the ridge, of both
        self._ridge = RidgeByErrors().fit(x, y)
        self._boosted = self._trees(x, y) if self.weight else self._ridge
        return self

    def predict(self, x: Floats) -> Floats:
        """Predict outcomes, `(N,n)->(N)`."""
        ridge = self._ridge.predict(x)
        return np.asarray(ridge + self.weight * (self._boosted.predict(x) - ridge))

    def _trees(self, x: Floats, y: Floats) -> RidgeByErrors:
        made = self._ensemble.HistGradientBoostingRegressor
        found: RidgeByErrors = made(max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=0).fit(x, y)
        return found


def stack_notes(evidence: Evidence, model: object) -> Iterator[str]:
    """Yield what the trees of stacks brought to each learned outcome, in rows that they have not seen; else nothing."""
    for m, name in enumerate(evidence.problem.learned if model is Stack else ()):
        seen = [rows for rows in (evidence.actions == a for a in evidence.playable) if rows.sum() >= _LEAST]
        fits = [Stack().fit(evidence.features[rows], evidence.outcomes[rows, m]) for rows in seen]
        shares = np.array([rows.sum() for rows in seen]) / max(sum(rows.sum() for rows in seen), 1)
        if fits:
            ridge, both = np.sqrt(shares @ np.stack([fit.losses for fit in fits])).tolist()
            weight = float(shares @ [fit.weight for fit in fits])
            yield f"boosted trees took weight {weight:.2f} of {name}; error {both:.4g} in place of {ridge:.4g}"
