"""The policies whose values a log is asked for, and the estimates of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.frontier import Frontier
from evenhand.offline.lines import TARGETED, limit_of, singles
from evenhand.offline.scores import (
    Estimate,
    direct,
    doubly_robust,
    effective,
    inverse,
    self_normalised,
    switch,
    weights,
)

LOGGED = "as logged"


class Valued(NamedTuple):
    """The estimates of a policy."""

    policy: str
    value: Estimate  # doubly robust
    inverse: Estimate  # by inverse propensities
    normalised: Estimate  # by weights divided by their sum
    direct: float  # by the model alone; without an interval, as its errors are not known
    switch: float  # by the model alone where weights exceed 10
    beyond: Estimate  # the difference to what was logged, by pairs of rows
    rows: float  # the effective number of rows that agree
    used: Mapping[str, Estimate]  # of every outcome with a budget, per row


def limits(evidence: Evidence) -> dict[str, float]:
    """Return the budgets of the problem per row, by outcome."""
    p = evidence.problem
    return {s.outcome: s.total / p.horizon for s in p.stated if s.spends and s.outcome is not None and s.by is None}


def policies_of(evidence: Evidence, tables: Mapping[str, Tables]) -> dict[str, Floats]:
    """Return the policies that need no asking: every action for everybody, and targeting within a known budget."""
    count = len(evidence.names)
    found = singles(evidence)
    if set(limits(evidence)) & set(evidence.problem.known):
        limit = limit_of(evidence)
        frontier = Frontier.of(evidence.worth(tables).predicted, tables[limit.outcome].predicted)
        if limit.rate >= frontier.least:
            point = frontier.at(limit.rate)
            found[f"{TARGETED}, {limit.outcome} {limit.rate:.4g}"] = point.probabilities(count)
    return found


def probabilities(name: str, policy: Floats, evidence: Evidence) -> Floats:
    """Return the probabilities of a policy, `->(N,A)`.

    Raises:
        InvalidInput: another shape, or rows that are no probabilities.
    """
    shape, field = (evidence.rows, len(evidence.names)), f"policies[{name!r}]"
    found = np.asarray(policy, float)
    if found.shape != shape:
        raise InvalidInput(field, f"probabilities of shape {shape}", f"shape {found.shape}")
    if not ((found >= 0.0).all() and np.allclose(found.sum(1), 1.0, rtol=0.0, atol=1e-9)):
        raise InvalidInput(field, "probabilities of at least 0 that add up to 1 in every row", "others")
    return found


def valued(evidence: Evidence, tables: Mapping[str, Tables], policies: Mapping[str, Floats]) -> Iterator[Valued]:
    """Yield the estimates of what was logged, and then of each policy.

    Raises:
        InvalidInput: no row agrees with a policy.
    """
    worth, y, rows = evidence.worth(tables), evidence.achieved, np.arange(evidence.rows)
    seen = evidence.played >= 0
    predicted = np.where(seen, worth.predicted[rows, evidence.played], y)  # of a withdrawn action nothing is known
    here = Estimate.of(y, float(y.mean()))
    used = {name: Estimate.of(z, float(z.mean())) for name, z in evidence.used(limits(evidence)).items()}
    alone = float(predicted.mean())
    yield Valued(LOGGED, here, here, here, alone, here.value, Estimate(0.0, 0.0), float(evidence.rows), used)
    for name, policy in policies.items():
        w = weights(policy, evidence.played, evidence.propensities)
        if not w.any():
            raise InvalidInput(f"policies[{name!r}]", "one that plays what was logged in some row", "none that agrees")
        difference = (policy * worth.scores).sum(1) - y
        yield Valued(
            policy=name,
            value=doubly_robust(policy, worth.scores),
            inverse=inverse(w, y),
            normalised=self_normalised(w, y),
            direct=direct(policy, worth.predicted),
            switch=switch(policy, worth.predicted, w, y - predicted),
            beyond=Estimate.of(difference, float(difference.mean())),
            rows=effective(w),
            used={limit: doubly_robust(policy, tables[limit].scores) for limit in used},
        )
