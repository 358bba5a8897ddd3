"""The shipped check of objectives catches those that break their promises: one fault per promise."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.objectives import AlphaFair
from evenhand.testing import check_objective

INNER = AlphaFair(("a", "b", "c"), alpha=1.0, offset=0.2)


@dataclass(frozen=True)
class Faulty:
    """Nash welfare, with one fault."""

    fault: str = ""
    outcomes: tuple[str, ...] = INNER.outcomes
    smooth: bool = True

    @property
    def lipschitz(self):
        return 0.1 if self.fault == "steeper" else INNER.lipschitz

    def check(self, z, place):
        INNER.check(z, place)

    def value(self, z):
        if self.fault == "convex":
            return (z * z).sum(-1)
        if self.fault == "mixes replicas":
            return INNER.value(z) + 1e-15 * z.mean()
        if self.fault == "not finite":
            return INNER.value(z) * math.inf
        return INNER.value(z)[..., None] if self.fault == "shape" else INNER.value(z)

    def supergradient(self, z):
        if self.fault == "moves what it is handed":
            z *= 1.5
        slope = 2 * z if self.fault == "convex" else INNER.supergradient(z)
        return slope * 1.01 if self.fault == "gradient" else slope

    def prox(self, z, beta):
        if self.fault == "refuses to answer":
            raise InvalidInput("Faulty.prox", "another objective", "this one")
        return INNER.prox(z, 1.02 * beta if self.fault == "prox" else beta)

    def maximizer(self, theta, low=0.0, high=1.0):
        best = INNER.maximizer(theta, low, high)
        if self.fault == "outside the cube":
            return best * 1.1
        return np.clip(best * 0.99, 0, 1) if self.fault == "maximizer" else best

    def able(self, ability):
        return ability.__name__ not in self.fault

    def intercept(self, slope):
        exact = (INNER.offset * slope - np.log(slope) - 1.0).sum(-1)  # the most of ln(z + offset) - slope z
        return exact + 0.01 if self.fault == "tangent" else exact


def test_the_objective_without_a_fault_passes():
    check_objective(Faulty())


@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        ("steeper", r"\|f\(y\) - f\(z\)\| <= L"),
        ("convex", r"f\(y\) <= f\(z\) \+ g"),
        ("mixes replicas", "a replica has in a batch what it has alone"),
        ("not finite", "answers are finite"),
        ("shape", "values and supergradients have shapes"),
        ("moves what it is handed", "leaves what it is handed as it is"),
        ("gradient", r"f\(y\) <= f\(z\) \+ g"),
        ("prox", "the prox is no worse"),
        ("outside the cube", "the maximizer is in the unit cube"),
        ("maximizer", "the maximizer is no worse"),
        ("denies that it is Proximal", "what is not Proximal, as `able` says, refuses"),
        ("denies that it is Conjugate", "what is not Conjugate, as `able` says, refuses"),
        ("refuses to answer", "what is Proximal, as `able` says, answers"),
        ("tangent", r"f\(z\) = g\.z \+ intercept\(g\)"),
    ],
)
def test_a_fault_is_caught_and_named(fault, promise):
    with pytest.raises(AssertionError, match=promise):
        check_objective(Faulty(fault))
