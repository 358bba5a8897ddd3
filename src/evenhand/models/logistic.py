"""Logistic regression of a binary outcome by penalised maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenhand.core.catalogue import named
from evenhand.models._linked import check_fit
from evenhand.models.generalized_linear import Fitted, FittedView, GeneralizedLinearState, fitted_view
from evenhand.models.links import Canonical
from evenhand.models.widths import Fixed, Width


@named("K6", source="Li & Stoltz 2022 and Faury et al. 2020 (Logistic-UCB1), as in Chzhen et al. 2023, Appendix G.1")
@dataclass(frozen=True, kw_only=True)
class Logistic(Fitted):
    """Logistic regression of one outcome in [0, 1], refitted each time the history has grown by a given factor.

    Equation: theta minimises sum [log(1 + exp(u)) - y u] + ridge/2 |theta|^2, u = x.theta; interval
    sigmoid(u) +- unit radius ||x||_{V^-1}, V = ridge I + sum x x^T, clipped to the outcome's range; unit is its length.
    Deviations: the paper prints sigmoid as 1/(1 + e^u) and omits a logarithm in the likelihood (typos). It uses
    ridge 0, for which the estimate need not exist; use a tiny ridge instead. It refits every round, as `growth=1` does,
    and to all observations, as this model does until there are more than `buffer` of them: see `GeneralizedLinear`, of
    which this is the logistic case.

    Args:
        ridge, width, growth, tolerance, buffer, clipped: as for `GeneralizedLinear`.

    >>> import numpy as np
    >>> model = Logistic(n_features=1)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> model.update(state, one, one, one > 0, price)
    >>> round(model.value(state, one, price, luck).mean.item(), 4)  # solves 1 - sigmoid(theta) = theta
    0.5989
    """

    n_features: int
    ridge: float = 1.0
    width: Width = field(default_factory=Fixed)
    growth: float = 1.1
    tolerance: float = 1e-4
    buffer: int = 2000
    clipped: bool = True
    link: Canonical = field(default="logistic", init=False, repr=False)

    def __post_init__(self) -> None:
        check_fit("Logistic", self.n_features, self.ridge, self.growth, self.tolerance, self.buffer)

    def view(self, state: GeneralizedLinearState) -> FittedView | None:
        return fitted_view(self, state)
