"""A lease of budgets, in units that add up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evenhand.core.errors import InvalidInput
from evenhand.policy.after_horizon import unguarded_constraints
from evenhand.policy.policy import Policy
from evenhand.problem.constraints.base import total_constraints
from evenhand.problem.problem import Problem

Amounts = Mapping[str, int]  # whole numbers of units, by the outcome that is spent
_BITS = 40  # of a total: the unit is about 1e-12 of it
_NOTHING = 2.0**-20  # of a unit: budgets are above 0, and this is less than rounding leaves of one


def exponent(total: float) -> int:
    """Return the exponent of the unit in which parts of a total are counted.

    >>> exponent(50_000.0), 50_000 / 2.0 ** exponent(50_000.0) < 2**40
    (-24, True)
    """
    return math.frexp(total)[1] - _BITS


def units(amount: float, exponent: int) -> int:
    """Return the whole units that an amount has, none for a negative one.

    >>> units(1.75, -1), units(-3.0, 0)
    (3, 0)
    """
    return max(math.floor(math.ldexp(amount, -exponent)), 0)


def amount(units: int, exponent: int) -> float:
    """Return the amount of some units; that of none is too little for any play, as a budget has to be above 0.

    >>> amount(3, -1), amount(0, -24) < 1e-13
    (1.5, True)
    """
    return math.ldexp(units if units > 0 else _NOTHING, exponent)


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The part of a pool's totals that a campaign took, and the part that it gave back, since it began.

    Equation: its total is taken - returned. Neither counter ever falls, so a state of them is later than another one
    if no counter is smaller; what is said twice changes nothing.

    Args:
        pool: the name of the pool.
        pool_id: tells its log from another one of the same name.
        id: tells the log of this campaign from another one of the same name.
        exponents: of the units of each outcome that is spent.
        taken: the grants that the campaign took in, in units.
        returned: what it gave back, in units.

    >>> counters = {"taken": {"cents": 9}, "returned": {"cents": 4}}
    >>> lease = Lease(pool="spring", pool_id="a0", id="1f", exponents={"cents": -1}, **counters)
    >>> lease.totals
    {'cents': 2.5}
    >>> Lease.of(lease.to_dict()) == lease
    True
    """

    pool: str
    pool_id: str
    id: str
    exponents: Mapping[str, int]
    taken: Amounts
    returned: Amounts

    @staticmethod
    def of(kept: Mapping[str, Any]) -> Lease:
        """Read a lease from the encoding that a campaign stores."""
        return Lease(**kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the lease for JSON."""
        each = {name: dict(getattr(self, name)) for name in ("exponents", "taken", "returned")}
        return {"pool": self.pool, "pool_id": self.pool_id, "id": self.id, **each}

    @property
    def held(self) -> dict[str, int]:
        """The part that the campaign has, in units."""
        return {name: taken - self.returned[name] for name, taken in self.taken.items()}

    @property
    def totals(self) -> dict[str, float]:
        """The part that the campaign has, in units of the outcomes."""
        return {name: amount(units, self.exponents[name]) for name, units in self.held.items()}

    def follows(self, before: Lease) -> bool:
        """Return whether these are later counters of the same lease, or the same ones."""
        if replace(self, taken=before.taken, returned=before.returned) != before:
            return False
        later = (self.taken[n] >= before.taken[n] and self.returned[n] >= before.returned[n] for n in before.taken)
        return all(later)

    def lent(self, problem: Problem) -> Problem:
        """Return a problem whose budgets have the leased totals.

        Raises:
            InvalidInput: it has no budget of an outcome, or one per period.
        """
        found = list(problem.subject_to)
        for name, total in self.totals.items():
            own = [(place, budget.at_total(total)) for place, budget in total_constraints(found, name)]
            place, lent = own[0] if len(own) == 1 else (0, None)
            if lent is None:
                expected = f"one budget of {name!r} over the whole run, as the pool {self.pool!r} has a total of it"
                raise InvalidInput("budget", expected, f"{len(own)} of them" if len(own) != 1 else "one per period")
            found[place] = lent
        return replace(problem, subject_to=tuple(found))

    def check(self, policy: Policy) -> None:
        """Refuse a policy that plays under totals other than the leased ones, or does not keep them hard.

        Raises:
            InvalidInput: it does.
        """
        problem, soft = policy.problem, unguarded_constraints(policy)
        for name, total in self.totals.items():
            own = [budget for _, budget in total_constraints(problem.subject_to, name)]
            if [budget == budget.at_total(total) for budget in own] != [True]:
                expected = f"the total {total:g} that the campaign leases from the pool {self.pool!r}"
                raise InvalidInput(f"budget {name}", expected, own or "no budget")
            if own[0].rows(problem).names[0] in soft:
                raise InvalidInput(
                    f"budget {name}", "one that is kept hard, as a lease is", "one that no hard limit keeps"
                )


def lease_of(encoder: object) -> Lease | None:
    """Return the lease of a campaign whose cases this encodes, None if its budgets are its own."""
    found = getattr(encoder, "lease", None)
    return found if isinstance(found, Lease) else None
