"""Cases as the log has them, made into contexts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from evenhand.core.records import Context
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState

Case = Mapping[str, Any]  # features and groups by name, as JSON has them


class Encoder(Protocol):
    """Makes the context of a case; the same case always has the same context."""

    def context(
        self, case: Case, offered: Sequence[str] | None, known: Mapping[str, Mapping[str, float] | float] | None
    ) -> Context:
        """The context of one replica.

        Raises:
            InvalidInput: a case that does not fit the problem.
        """

    def to_dict(self) -> dict[str, Any]:
        """What it has to remember, for JSON."""


def alike(encoder: Encoder, kept: Mapping[str, Any]) -> bool:
    """Whether an encoder is the one that is kept; the text of a problem file may have other comments, say."""
    now = json.loads(json.dumps(encoder.to_dict()))
    return {**now, "file": None} == {**kept, "file": None}


class Teacher(Protocol):
    """Lets a fresh policy learn what is known before the first decision."""

    @property
    def mark(self) -> str:
        """A hash of what it teaches."""

    def teach(self, policy: Policy, encoder: Encoder, state: PolicyState) -> None:
        """Teach a fresh state of a policy whose cases are encoded so; the same each time."""


@dataclass(frozen=True)
class Named:
    """The problem's features and groups by name; see `Policy.encode`."""

    policy: Policy

    def context(
        self, case: Case, offered: Sequence[str] | None, known: Mapping[str, Mapping[str, float] | float] | None
    ) -> Context:
        """The context of one replica."""
        return self.policy.encode(case, offered=offered, known=known)

    def to_dict(self) -> dict[str, Any]:
        """Nothing: the problem has it all."""
        return {}
