"""The mixtures of plans (`Questions.mix`), as the compiled loop makes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Mix
from evenhand.core.types import Floats
from evenhand.core.views import apart
from evenhand.policy import checks, entries


@kernel
def _unmixed() -> Mix:
    return Mix(np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0))


class WithoutPlan(NamedTuple):
    """No goal mixes candidates."""

    replicas: int

    @kernel
    def mix(self, c: Context, shares: Floats, model: Any, mean: Floats, bonus: Floats) -> tuple[bool, Mix]:
        return True, _unmixed()


class NoGains(NamedTuple):
    """The empty list of goals beside a plan."""

    replicas: int

    @kernel
    def add_gain(self, c: Context, shares: Floats, model: Any, gain: Floats) -> bool:
        return True


@apart("others", "goal")
class Gains(NamedTuple):
    """A goal after others, with its rows, and the largest size of each outcome, by which predictions are checked."""

    others: Any
    goal: Any
    rows: Any
    reach: Floats

    @kernel
    def add_gain(self, c: Context, shares: Floats, model: Any, gain: Floats) -> bool:
        """Add what candidates gain at the prices of these goals alone; False where a prediction cannot be right."""
        if not self.others.part.add_gain(c, shares, model, gain):
            return False
        q, _ = self.goal.part.price()
        w, offset, _ = self.rows.pull(c.groups, shares, c.known, q, np.zeros((len(q), 1)))
        mean, bonus = model.value(c.features, w)
        if checks.bad_worth(mean, bonus, w, self.reach)[0] >= 0:
            return False
        net = entries.net(mean, bonus)
        for r in range(len(net)):
            for a in range(net.shape[1]):
                total = 0.0
                for k in range(offset.shape[1]):
                    total += offset[r, k, a]
                gain[r, a] += net[r, a] + total
        return True


@apart("plan", "others")
class WithPlan(NamedTuple):
    """A goal that plans, with the gains at the prices of all others."""

    plan: Any
    others: Any

    @kernel
    def mix(self, c: Context, shares: Floats, model: Any, mean: Floats, bonus: Floats) -> tuple[bool, Mix]:
        """Whether predictions are sound, and the mixture of a worth, as `Questions.mix`, `(K,A),(K,A)`."""
        heat = self.plan.part.heat()
        if not heat.any():
            return True, _unmixed()
        gain = np.zeros((len(mean), mean.shape[2]))
        sound = self.others.part.add_gain(c, shares, model, gain)
        return sound, Mix(gain, entries.net(mean, bonus), heat)
