"""Requests of a few types whose use of a network with many edges is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenhand.core.cached import cached_property
from evenhand.core.catalogue import named
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import counts, one_of, positive
from evenhand.environments._arms import ArmsWorld, instance_luck, linked
from evenhand.objectives import Linear
from evenhand.problem.constraints import Within
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.sets import Box, Halfspaces


@named("B11", source="Agrawal & Devanur 2014, Section 3 (network routing); instances are evenhand's own")
@dataclass(frozen=True, kw_only=True)
class Requests:
    """Admits a request of one of d types per round, or none; its use of N edges, N much larger than d, is learned.

    Equation: a request of type j takes a unit of bandwidth on all edges of its path with probability q_j, and nothing
    otherwise, as where a call is not answered. With x_j the rate at which type j takes bandwidth,
    S = {x : sum of x_j over the types j whose paths cross e <= capacity_e, for all edges e}, a set in d dimensions with
    N sides. What an admitted request pays is known, and as much as possible is to be earned.
    q and payments are uniform on [0.3, 1]; a path crosses an edge with probability 0.2, at least one, and each edge is
    on a path. Capacities are `scarcity` times what requests at random use.

    Outcomes are the d types' uses with a set of N half-spaces, or, as knapsacks state it, the uses of the N edges, each
    with a bound. Both describe the same rounds. The source's regret has ||1_d|| sqrt(ln d) for the first, and
    ||1_N|| sqrt(ln N) for the second, which is its point. Capacities are kept on average; `Routing` has hard ones.

    Args:
        types: d, at least 2.
        edges: N.
        outcomes: whether the outcomes are the uses by "types" or of "edges".
        scarcity: above 0; at 1 or more, few edges are short.

    >>> [len(Requests(types=6, edges=40, outcomes=by).problem.learned) for by in ("types", "edges")]
    [6, 40]
    """

    types: int = 8
    edges: int = 100
    outcomes: Literal["types", "edges"] = "types"
    instance: int = 0
    scarcity: float = 0.6
    horizon: int = 10_000

    def __post_init__(self) -> None:
        counts(self, {"types": 2, "edges": 1, "instance": 0})
        one_of("Requests.outcomes", self.outcomes, ("types", "edges"))
        positive("Requests.scarcity", self.scarcity)

    @cached_property
    def crosses(self) -> Floats:
        """Whether the path of each type crosses each edge, 0 or 1, `->(d,N)`."""
        luck = instance_luck(self.instance, 9, self.types * self.edges)
        return linked(luck.reshape(self.types, self.edges), 0.2).astype(float)

    @cached_property
    def uses(self) -> Floats:
        """The probability q that an admitted request of each type takes bandwidth, `->(d)`."""
        return 0.3 + 0.7 * instance_luck(self.instance, 10, self.types)

    @cached_property
    def capacities(self) -> Floats:
        """The capacity of every edge per round, `->(N)`."""
        return np.asarray(self.scarcity * (self.uses @ self.crosses) / self.types)

    @cached_property
    def problem(self) -> Problem:
        names = tuple(f"type {j}" for j in range(1, self.types + 1))
        actions, most = ("reject", *names), tuple(self.capacities.tolist())
        pays = 0.3 + 0.7 * instance_luck(self.instance, 11, self.types)
        if self.outcomes == "types":
            used = tuple(f"use by {name}" for name in names)
            learned = [Outcome(o, free=tuple(a for a in actions if a != n)) for n, o in zip(names, used, strict=True)]
            within = Within(used, Halfspaces(tuple(map(tuple, self.crosses.T.tolist())), most))
        else:
            used = tuple(f"edge {e}" for e in range(1, self.edges + 1))
            learned = [Outcome(name, free=("reject",)) for name in used]
            within = Within(used, Box.below(most))
        return Problem(
            actions=actions,
            outcomes=(*learned, Outcome("payment", known=dict(zip(names, pays.tolist(), strict=True)))),
            maximize=Linear({"payment": 1.0}),
            subject_to=(within,),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        return self.types

    def start(self, seed: int, replicas: Ints) -> ArmsWorld:
        effect = np.eye(self.types) if self.outcomes == "types" else self.crosses
        means = np.concatenate([np.zeros((1, effect.shape[1])), self.uses[:, None] * effect])
        return ArmsWorld(self.problem, means, True, seed, replicas)
