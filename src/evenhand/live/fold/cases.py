"""Encoders, which turn the cases of a log into contexts, and teachers, which train a new policy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.signatures import has
from evenhand.core.types import Floats
from evenhand.core.validate import LARGEST
from evenhand.policy.cases import StatedCase
from evenhand.policy.policy import Policy
from evenhand.policy.reasons import origins
from evenhand.policy.state import PolicyState
from evenhand.problem.clock import Clock

Case = Mapping[str, Any]  # features and groups by name, as in JSON


class Encoder(Protocol):
    """Turns cases into contexts; equal cases always give equal contexts."""

    def context(
        self, case: Case, offered: Sequence[str] | None, known: Mapping[str, Mapping[str, float] | float] | None
    ) -> Context:
        """Return the context of one replica.

        Raises:
            InvalidInput: a case that does not fit the problem.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder's settings for JSON."""


@runtime_checkable
class Refuses(Protocol):
    """An encoder that accepts more from a log than from a client, because earlier versions accepted it."""

    def refuse(
        self, case: Case, offered: Sequence[str] | None, known: Mapping[str, Mapping[str, float] | float] | None
    ) -> None:
        """Refuse cases that `context` accepts, although no client may state them.

        Raises:
            InvalidInput: it names all fields that are wrong.
        """


@runtime_checkable
class Traces(Encoder, Protocol):
    """An encoder whose numbers come from names in the case."""

    @property
    def origins(self) -> Sequence[Sequence[str | None]]:
        """The name that each number of each action's features encodes, `(A,n)`; see `policy.reasons.origins`."""


@runtime_checkable
class RangeEncoder(Protocol):
    """An encoder that maps some values to others: numbers out of a range, and texts that are not among the levels."""

    @property
    def ranged(self) -> Sequence[str]:
        """The features for which some values are mapped to others."""

    def outside(self, case: Case) -> Sequence[str]:
        """Return the features whose value in a case, although `context` accepts it, is mapped to another."""


@runtime_checkable
class Declares(Protocol):
    """An encoder that can tell known outcomes without the case."""

    @property
    def declares(self) -> bool:
        """Whether known outcomes are those that the problem declares, where a request states none."""


def refuse(encoder: Encoder, body: Mapping[str, Any]) -> None:
    """Refuse a request that the log may have of earlier versions, but no client may make any longer."""
    if has(encoder, Refuses):
        encoder.refuse(body["case"], body.get("offered"), body.get("known"))


def context_of(encoder: Encoder, clock: Clock, body: Mapping[str, Any], at: int) -> Context:
    """Return the context of a logged decision that was requested at a given time, in microseconds since 1970.

    Decisions from before the start, by a policy that the campaign was switched from, count as made at the start.
    """
    context = encoder.context(body["case"], body.get("offered"), body.get("known"))
    time = time_at(clock, at)
    return context if time is None else context._replace(time=time)


def time_at(clock: Clock, at: int) -> Floats | None:
    """Return the time of contexts at microseconds since 1970, None where the problem has no dates, `->(1)`."""
    time = clock.of_micros(at)
    return None if time is None else np.array([max(time, 0.0)])


@runtime_checkable
class Batches(Encoder, Protocol):
    """An encoder that encodes many cases at once, with the same bits as one by one."""

    def contexts(self, cases: Sequence[Case]) -> Context:
        """Return the contexts of cases that offer all actions, at declared known outcomes, `(N)` before every shape.

        Raises:
            InvalidInput: a case that does not fit the problem.
        """


def contexts_of(encoder: Encoder, bodies: Sequence[Mapping[str, Any]]) -> Context:
    """Return the contexts of decisions of the log in a problem without dates, `(N)` before every shape."""
    if isinstance(encoder, Batches) and not any("offered" in body or "known" in body for body in bodies):
        return encoder.contexts([body["case"] for body in bodies])
    each = [encoder.context(body["case"], body.get("offered"), body.get("known")) for body in bodies]
    return Context(*(np.concatenate(z) for z in zip(*(context[:4] for context in each), strict=True)))


def refuse_unfit(policy: Policy) -> None:
    """Refuse a policy that no campaign can run.

    Its problem has known outcomes that no context can have, so that every decision would be refused; or an end that
    is not a date, although a campaign goes by the clock of its store.
    """
    for name, values in zip(policy.problem.known, policy.problem.declared.T, strict=True):
        if (worst := float(np.abs(values).max(initial=0.0))) > LARGEST:
            raise InvalidInput(f"policy: outcome {name}", f"known values from {-LARGEST:g} to {LARGEST:g}", worst)
    if policy.problem.until is not None and policy.problem.clock.since is None:
        raise InvalidInput("policy: problem.until", "a date beside since=, for a campaign", policy.problem.until)


def refuse_past(policy: Policy, at: int) -> None:
    """Refuse a policy whose run ends before a new campaign is opened, in microseconds since 1970."""
    time = policy.problem.clock.of_micros(at)
    if time is not None and time >= policy.problem.clock.last:
        now = datetime.fromtimestamp(at // 1_000_000, UTC).isoformat(" ")
        raise InvalidInput("policy: problem.until", f"an end after {now}, when it is opened", policy.problem.until)


def same_cases(encoder: Encoder, kept: Mapping[str, Any]) -> bool:
    """Return whether an encoder encodes cases as the stored one does; leases, too, may differ."""
    now = json.loads(json.dumps(encoder.to_dict()))
    return {**now, "file": None, "lease": None} == {**kept, "file": None, "lease": None}


def alike(encoder: Encoder, kept: Mapping[str, Any]) -> bool:
    """Return whether an encoder equals the stored one; the texts of their problem files may differ."""
    now = json.loads(json.dumps(encoder.to_dict()))
    return {**now, "file": None} == {**kept, "file": None}


def ranged_features(encoder: Encoder) -> Sequence[str]:
    """Return the features for which an encoder maps some values to others."""
    return encoder.ranged if has(encoder, RangeEncoder) else ()


class Teacher(Protocol):
    """Trains a new policy before its first decision."""

    @property
    def mark(self) -> str:
        """A hash of the training data."""

    def teach(self, policy: Policy, encoder: Encoder, state: PolicyState) -> None:
        """Train a new state of a policy whose cases this encoder encodes; every call trains on the same data."""


@dataclass(frozen=True)
class NameEncoder:
    """Reads the problem's features and groups by name; see `Policy.encode`."""

    policy: Policy

    def context(
        self, case: Case, offered: Sequence[str] | None, known: Mapping[str, Mapping[str, float] | float] | None
    ) -> Context:
        return self.policy._assembly.encoder.entered(StatedCase(case, offered, known))

    def refuse(
        self, case: Case, offered: Sequence[str] | None, known: Mapping[str, Mapping[str, float] | float] | None
    ) -> None:
        """Refuse true and false as numbers, and an action that is offered twice."""
        self.policy._assembly.encoder.refuse(StatedCase(case, offered, known))

    def contexts(self, cases: Sequence[Case]) -> Context:
        return self.policy._assembly.encoder.stacked(cases)

    @property
    def origins(self) -> Sequence[Sequence[str | None]]:
        return origins(self.policy)

    @property
    def ranged(self) -> Sequence[str]:
        return [feature.name for feature in self.policy._assembly.encoder.ranged]

    @property
    def declares(self) -> bool:
        return True

    def outside(self, case: Case) -> Sequence[str]:
        return self.policy._assembly.encoder.outside(case)

    def to_dict(self) -> dict[str, Any]:
        """Return an empty mapping: the problem states how cases are encoded."""
        return {}
