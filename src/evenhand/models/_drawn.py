"""Members of models whose optimism is drawn in every round, one draw per block of candidates."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from evenhand.core.types import Floats
from evenhand.models._shared import check_blocks, normals_by_block, numbers_for
from evenhand.models.base import Posterior, Worth, Wraps


class Drawn(Wraps, Protocol):
    """The inner model's mean, and a bonus that depends on luck; without luck, as in plans, the bonus is 0."""

    n_blocks: int

    def _bonus(self, state: Any, x: Floats, w: Floats, u: Floats, mean: Floats) -> Floats:
        """Return the drawn addition to the mean, `(A,n),(K,1|A,M),(draws),(K,A)->(K,A)`."""

    def value(self, state: Any, x: Floats, w: Floats, u: Floats) -> Worth:
        """Return the inner model's mean, and the drawn bonus, `(A,n),(K,1|A,M),(draws)->(K,A),(K,A)`."""
        mean = self.inner.value(state, x, w, u[:, :0]).mean
        if u.shape[1] == 0:
            return Worth(mean, np.zeros(mean.shape))
        check_blocks(type(self).__name__, self.n_blocks, x.shape[1])
        return Worth(mean, self._bonus(state, x, w, u, mean), random=True)


class Scaled(Drawn, Protocol):
    """A bonus by normal numbers for each block and parameter, scale times as wide as the posterior."""

    inner: Posterior
    scale: float

    def draws(self, candidates: int) -> int:
        """One number per block and parameter, made even, as normal numbers come in pairs; 0 for scale 0."""
        return numbers_for(self.n_blocks * self.inner.n_parameters) if self.scale > 0 else 0

    def _z(self, u: Floats) -> Floats:
        return self.scale * normals_by_block(u, self.n_blocks, self.inner.n_parameters)
