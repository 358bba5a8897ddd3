"""The contract of estimators: a sample of a log and a policy, and the average that they return."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from evenhand.core.registry import closest, exports
from evenhand.core.types import Floats, Ints
from evenhand.logs.clusters import Clusters
from evenhand.offline.scores import STILL, Average, scores, weights

PRINTED = ("ips", "snips", "direct_method", "switch")  # by default, beside the doubly robust value


class FoldMoves(NamedTuple):
    """The amounts by which folds change totals of a policy planned by the log, `(K,K)` each, as of `planned.moves`."""

    scored: Floats = STILL  # of the outcome, by scores
    weighted: Floats = STILL  # of the outcome, by weights
    weights: Floats = STILL  # of the weights themselves


STEADY = FoldMoves()  # of policies that were not planned by the log


@dataclass(frozen=True, eq=False)
class Sample:
    """An outcome of a log, and a policy whose average of it is to be estimated.

    Args:
        policy: `(N,A)` its probabilities of all actions in every row.
        actions: `(N)` that were logged; -1 for one that cannot be played any more.
        propensities: `(N)` with which they were logged.
        y: `(N)` the outcome.
        predicted: `(N,A)` by models that have not seen the row, or `(1,A)` where rows do not differ.
        scores: of the same shape, by `scores`.
        clusters: of the rows, None where each is one.
        moves: of a policy that was planned by the log.
        groups: `(A)` of the actions, None where the problem states none.

    >>> both = np.full((2, 2), 0.5)
    >>> Sample.of(both, np.array([0, 1]), both[0], np.array([1.0, 3.0]), both).missed.tolist()
    [0.5, 2.5]
    """

    policy: Floats
    actions: Ints
    propensities: Floats
    y: Floats
    predicted: Floats
    scores: Floats
    clusters: Clusters | None = None
    moves: FoldMoves = STEADY
    groups: Ints | None = None

    @staticmethod
    def of(policy: Floats, actions: Ints, propensities: Floats, y: Floats, predicted: Floats) -> Sample:
        """Return a sample of rows that are a cluster each, with its scores; arguments as above."""
        return Sample(policy, actions, propensities, y, predicted, scores(predicted, actions, propensities, y))

    @cached_property
    def weights(self) -> Floats:
        """The number of rows that each row represents under the policy, `->(N)`."""
        return weights(self.policy, self.actions, self.propensities)

    @cached_property
    def model(self) -> Floats:
        """The predicted outcome of the policy in every row, `->(N)`."""
        return np.asarray((self.policy * self.predicted).sum(1))

    @cached_property
    def scored(self) -> Floats:
        """The score of the policy in every row, by `scores`, `->(N)`."""
        return np.asarray((self.policy * self.scores).sum(1))

    @cached_property
    def missed(self) -> Floats:
        """The outcome minus its prediction, 0 where an action cannot be played any more, `->(N)`."""
        rows = np.arange(len(self.y)) % len(self.predicted)
        return np.where(self.actions >= 0, self.y - self.predicted[rows, self.actions], 0.0)


class Estimator(Protocol):
    """Estimates the average outcome of a policy.

    Args:
        label: in heads of tables; with "the model alone", the column is "model alone".
        meaning: a sentence for readers.
        unbiased: whether it is, but for terms of 1 / N, if propensities are right; only then is an error stated.
        corrects: whether it reads what was logged; one that does not has no right average even of the logged policy.
    """

    label: ClassVar[str]
    meaning: ClassVar[str]
    unbiased: ClassVar[bool]
    corrects: ClassVar[bool]

    def average(self, sample: Sample) -> Average:
        """Return the value with the influence of every row on it, summed over clusters if there are any."""
        ...


def all_estimators() -> dict[str, Estimator]:
    """Return an estimator of every kind, with its default arguments, by the names that commands use.

    >>> {"direct_method", "ips", "switch"} <= set(all_estimators())
    True
    """
    kinds: dict[str, Any] = exports("evenhand.offline.estimators")
    return {name: kind() for name, kind in kinds.items()}


def columns_of(more: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of the estimators that are printed by default, and of more.

    Raises:
        InvalidInput: an unknown name.
    """
    for name in (names := tuple(more)):
        closest("estimator", all_estimators(), name)
    return tuple(dict.fromkeys((*PRINTED, *names)))
