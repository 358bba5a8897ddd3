"""The division of a round into cases, for plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from evenhand.core.types import Floats
from evenhand.planning.forecast import Forecast
from evenhand.planning.shared_arms import Shared
from evenhand.welfare._kernels import first_slope
from evenhand.welfare.curves import Curve


class Plannable(NamedTuple):
    """A forecast as a solver reads it."""

    worth: Floats  # (R, S, A) what one play is worth at most, which is the unit of temperatures
    gain: Floats  # (R, S, A) what it adds beside what is shared; -inf where not offered
    shared: Shared | None


class Rounds(Protocol):
    """The division of rounds into the cases for which a plan finds lotteries."""

    @property
    def arms(self) -> int:
        """The number of arms that the cases of a round share, 0 for none."""

    def cases(self, n_plays: int) -> int:
        """The number of cases in a round."""

    def places(self, position: Floats) -> Floats:
        """The probability that each place of a case is exposed, from the plays of a round, `(P)->(places)`."""

    def start(self, n_replicas: int) -> Floats:
        """Initial prices of the matches of arms, `->(A or 0)`."""

    def read(self, look: Forecast, n_plays: int) -> Plannable:
        """Return the forecast in the form that a solver maximises."""


@dataclass(frozen=True)
class Lists:
    """A round is one case, and its plays are a list of its candidates."""

    arms: ClassVar[int] = 0

    def cases(self, n_plays: int) -> int:
        return 1

    def places(self, position: Floats) -> Floats:
        return position

    def start(self, n_replicas: int) -> Floats:
        return np.zeros((n_replicas, 0))

    def read(self, look: Forecast, n_plays: int) -> Plannable:
        return Plannable(look.gain, look.gain, None)


@dataclass(frozen=True, kw_only=True)
class SharedArms:
    """A round is a case per user, who plays one of A arms; an arm is worth r_a of the sum of its users' matches.

    The sum that a plan reads is that of an average round. As rounds vary, a plan is worth a little more than rounds can
    be, and its prices are those of typical rounds.

    Args:
        curve: r.
        arms: A.
        may_stay: whether a user may stay without an arm, for nothing.
    """

    curve: Curve
    arms: int
    may_stay: bool = False

    def cases(self, n_plays: int) -> int:
        return n_plays

    def places(self, position: Floats) -> Floats:
        """One place, exposed as plays are on average."""
        return np.asarray(position.mean(1, keepdims=True))

    def start(self, n_replicas: int) -> Floats:
        """Prices somewhat below the worth of an arm's first match."""
        return np.tile(0.7 * self._slopes, (n_replicas, 1))

    def read(self, look: Forecast, n_plays: int) -> Plannable:
        """Share matches of at least 0, and add optimism beside them."""
        offered = look.gain > -np.inf
        match = np.where(offered, np.maximum(look.gain - look.bonus, 0.0), 0.0)
        worth = np.where(offered, self._slopes * match + look.bonus, -np.inf)
        shared = Shared(match, float(n_plays), self.may_stay, *self.curve.curves(self.arms))
        return Plannable(worth, np.where(offered, look.bonus, -np.inf), shared)

    @property
    def _slopes(self) -> Floats:
        curves = self.curve.curves(self.arms)
        return np.array([first_slope(curves, a) for a in range(self.arms)])
