"""Requests that use a network: of types whose use of its edges is unknown, and routed within capacities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.core.validate import counts, one_of, positive
from evenhand.environments._arms import ArmsWorld, draw_links, instance_luck, one_hot
from evenhand.environments._cases import Cases, means
from evenhand.objectives import AlphaFair, Linear
from evenhand.problem.constraints import Budget, Within
from evenhand.problem.groups import Groups
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
        return draw_links(luck.reshape(self.types, self.edges), 0.2).astype(float)

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


@named("B11", source="evenhand's own; network routing as in Agrawal & Devanur 2014, Section 3, with routes to choose")
@dataclass(frozen=True, kw_only=True)
class Routing:
    """Assigns a route to each request of one of d types, or none; every edge has a capacity for the horizon.

    Equation: maximise sum_j sqrt(z_j + 0.01) over the rates z_j of requests of type j that arrive, subject to
    use of edge e <= capacity_e T. A route uses its edges whether or not the request arrives.
    Types are equally likely; route k arrives with a probability that is uniform on [0.5, 1], and uses an edge with
    probability 0.2, at least one. Capacities are `scarcity` times the use if all took random routes of their type.
    Routes have one-hot features. In the source's example it is the usage of requests that has to be learned, and edges
    are many more than types: `Requests`. Here uses are declared, arrivals are learned, and capacities are hard.

    Args:
        routes: of every type.
        types, edges, scarcity: as for `Requests`.

    >>> len(Routing(types=3, routes=4, edges=12).problem.actions)
    13
    """

    types: int = 4
    routes: int = 4
    edges: int = 20
    instance: int = 0
    scarcity: float = 0.6
    horizon: int = 10_000

    def __post_init__(self) -> None:
        counts(self, {"types": 2, "routes": 1, "edges": 1, "instance": 0})
        positive("Routing.scarcity", self.scarcity)

    @cached_property
    def arrives(self) -> Floats:
        """The probability that a request on each route arrives, `->(d routes)`."""
        return 0.5 + 0.5 * instance_luck(self.instance, 4, self.types * self.routes)

    @cached_property
    def uses(self) -> Floats:
        """Whether each route uses each edge, 0 or 1, `->(d routes,N)`."""
        count = self.types * self.routes
        luck = instance_luck(self.instance, 5, count * self.edges).reshape(count, self.edges)
        return draw_links(luck, 0.2).astype(float)

    @cached_property
    def problem(self) -> Problem:
        kinds = tuple(f"type {j}" for j in range(1, self.types + 1))
        routes = tuple(f"{kind}, route {k}" for kind in kinds for k in range(1, self.routes + 1))
        edges = tuple(f"edge {e}" for e in range(1, self.edges + 1))
        used = [
            Outcome(e, known=dict(zip(routes, z.tolist(), strict=True)))
            for e, z in zip(edges, self.uses.T, strict=True)
        ]
        rates = self.scarcity * self.uses.mean(0)
        return Problem(
            actions=("reject", *routes),
            outcomes=(Outcome("arrives", free=("reject",)), *used),
            maximize=AlphaFair(tuple(f"arrives type={kind}" for kind in kinds), alpha=0.5, offset=0.01),
            subject_to=tuple(Budget(e, rate=rate) for e, rate in zip(edges, rates.tolist(), strict=True)),
            groups=(Groups("type", dict.fromkeys(kinds, 1.0 / self.types)),),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        return self.types * self.routes

    def start(self, seed: int, replicas: Ints) -> Cases:
        luck, theta, known = Luck(seed=seed, replicas=replicas), self.arrives[None], self.problem.declared[None]
        x = one_hot(len(self.arrives), len(replicas))
        own = np.repeat(np.arange(self.types), self.routes)[None] == np.arange(self.types)[:, None]
        offered = np.concatenate([np.ones((self.types, 1), bool), own], axis=1)

        def case(step: int) -> Context:
            u = luck.uniform(Stream.CONTEXT, np.array([step]), 1)[:, 0]
            kind = (u * self.types).astype(np.int64)
            return Context(x, known, kind[:, None, None], offered[kind])

        return Cases(self.horizon, luck, case, lambda x, plays: means(x, theta, plays))
