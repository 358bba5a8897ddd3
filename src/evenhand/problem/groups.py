"""Groupings of cases or candidates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.signatures import typed


@typed
@dataclass(frozen=True)
class Groups:
    """A grouping of cases, or of candidates, with each group's share if that is known.

    A group belongs to a candidate. Where all candidates of a case are in the same group, it is the group of the case.
    Estimated shares are those of all cases so far, and the sums of constraints by group are restated as they move.

    Args:
        name: how `Parity(by=...)` refers to it.
        shares: a mapping from group to share (summing to 1), or just the names: then shares are estimated as cases
            come, or, with `of`, they are the groups' shares of the actions.
        of: the group of every action, for groups that divide the actions rather than the cases.

    Raises:
        InvalidInput: fewer than two groups, a share outside (0, 1), shares that do not sum to 1, or an action in a
            group that there is not.

    >>> Groups("district", {"north": 0.4, "south": 0.6}).names
    ('north', 'south')
    >>> Groups("district", ["north", "south"]).known
    False
    >>> Groups("label", ["major", "indie"], of={"a": "major", "b": "major", "c": "major", "d": "indie"}).share("indie")
    0.25
    """

    name: str
    shares: Mapping[str, float] | Sequence[str]
    of: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.shares, str):
            raise InvalidInput(f"Groups({self.name!r})", "a mapping from names to shares, or names", repr(self.shares))
        if len(set(self.names)) < max(2, len(self.names)):
            raise InvalidInput(f"Groups({self.name!r})", "at least two different groups", list(self.names))
        if isinstance(self.shares, Mapping):
            for group, share in self.shares.items():
                if not 0 < share < 1:
                    raise InvalidInput(f"Groups({self.name!r}).shares[{group!r}]", "a share in (0, 1)", share)
            if abs(sum(self.shares.values()) - 1) > 1e-6:
                raise InvalidInput(
                    f"Groups({self.name!r}).shares", "shares that sum to 1", f"a sum of {sum(self.shares.values())}"
                )
        known = set(self.names)
        for action, group in (self.of or {}).items():
            if group not in known:
                got = f"{group}{suggestion(group, self.names)}"
                raise InvalidInput(f"Groups({self.name!r}).of[{action!r}]", f"one of {some(self.names)}", got)

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, in the order in which they are numbered."""
        return tuple(self.shares)

    @property
    def known(self) -> bool:
        """Whether the shares are given rather than estimated as cases come."""
        return isinstance(self.shares, Mapping) or self.of is not None

    @cached_property
    def _sizes(self) -> Counter[str]:
        return Counter((self.of or {}).values())

    def size(self, group: str) -> float:
        """The number of actions in a group; infinite where groups divide cases."""
        return math.inf if self.of is None else self._sizes[group]

    def share(self, group: str) -> float:
        """The share of a group, NaN if it is to be estimated."""
        if isinstance(self.shares, Mapping):
            return self.shares[group]
        return math.nan if self.of is None else self._sizes[group] / len(self.of)


def some(names: Sequence[str]) -> str:
    """Return the first few names as text, for a message."""
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
