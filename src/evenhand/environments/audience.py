"""Audiences: users, items, and the probability that each user likes each item."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.problem.groups import some


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Audience:
    """Users and items with their factors, and the probability that a user likes an item.

    Equation: P(user j likes item i) = u_j.v_i, or the entry of a matrix that is given.

    Args:
        users: the users' factors U, `(N, r)`.
        items: the items' factors V, `(m, s)`.
        liked: probabilities, `(N, m)`; by default U V^T, which requires r = s.
        names: the names of the items; by default "item 0", "item 1", ...

    Raises:
        InvalidInput: a matrix is not finite, a probability is outside [0, 1], or there is no distinct name per item.

    >>> Audience(users=np.array([[1.0, 0.0]]), items=np.array([[0.5, 0.5], [0.0, 1.0]])).chances
    array([[0.5, 0. ]])
    """

    users: Floats
    items: Floats
    liked: Floats | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: tuple[tuple[str, Floats | None], ...] = (
            ("users", self.users),
            ("items", self.items),
            ("liked", self.liked),
        )
        for field, value in given:
            if value is not None:
                object.__setattr__(self, field, _matrix(f"Audience.{field}", value))
        n, m = len(self.users), len(self.items)
        if self.liked is None and self.users.shape[1] != self.items.shape[1]:
            expected = f"as many factors as items have, {self.items.shape[1]}, or `liked` as well"
            raise InvalidInput("Audience.users", expected, self.users.shape[1])
        if self.chances.shape != (n, m) or not ((self.chances >= 0.0) & (self.chances <= 1.0)).all():
            got = f"shape {self.chances.shape}, from {self.chances.min():g} to {self.chances.max():g}"
            raise InvalidInput("Audience.liked", f"probabilities in [0, 1] of shape {(n, m)}", got)
        names = tuple(self.names) or tuple(f"item {i}" for i in range(m))
        twice = [name for name, times in Counter(names).items() if times > 1]
        if len(names) != m or twice:
            got = f"{some(twice)} twice" if twice else f"{len(names)} names"
            raise InvalidInput("Audience.names", f"{m} names that differ from each other", got)
        object.__setattr__(self, "names", names)

    @cached_property
    def chances(self) -> Floats:
        """The probability that each user likes each item, `()->(N,m)`."""
        return np.ascontiguousarray(self.users @ self.items.T) if self.liked is None else self.liked


def _matrix(field: str, value: object) -> Floats:
    """Check a matrix of finite numbers with at least one row and one column."""
    try:
        found = np.array(value, float, order="C")
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise InvalidInput(field, "a matrix of finite numbers", f"shape {found.shape}")
    return found
