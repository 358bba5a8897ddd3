"""Fair rankings of music under floors, parity and fees, compared with the optimum under these constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evenhand.environments import Ranking
from evenhand.experiments.experiment import Case, Point, Run, Section, Session
from evenhand.experiments.fair_ranking import FairRankingExperiment
from evenhand.experiments.fair_ranking.world import model, world
from evenhand.problem import Budget, Constraint, Floor, Parity
from evenhand.recipes import fw_linucb_rank, resolving
from evenhand.report.results import Measurement, Results
from evenhand.run.optimum import opt

LABELS = 5  # formed by popularity, so that some of them fall short
LEAST = 0.85  # the floor of every label, as a part of an even share of the exposures
FEE = 1.0  # the limit per round; two items in five cost 1 per exposure, and maximising clicks spends about 1.4
APART = 0.05  # the tolerance of the parity: clicks on a label over its share, above or below the average
SHARE_OF_OPTIMUM = "utility / optimum"


@dataclass(frozen=True, kw_only=True)
class Constrained(Section):
    """Measures the clicks of two recipes under each set of constraints, and how well the constraints are kept."""

    settings: FairRankingExperiment
    session: Session
    optima: dict[int, float] = field(default_factory=dict)  # by set

    @cached_property
    def world(self) -> Ranking:
        plain = world(self.settings)
        names, likes = plain.audience.names, plain.audience.chances.mean(0)
        rank = np.argsort(np.argsort(-likes, kind="stable"))
        labels = {name: f"label {rank[i] * LABELS // len(names)}" for i, name in enumerate(names)}
        fees = {name: 1.0 for i, name in enumerate(names) if i % 5 < 2}
        return replace(plain, maximize="click", labels=labels, fees=fees)

    @cached_property
    def sets(self) -> Mapping[str, tuple[Constraint, ...]]:
        floor = Floor("exposure", rate=LEAST * float(self.world.looked.sum()), by="label")
        fee, parity = Budget("fee", rate=FEE), Parity("click", by="label", tolerance=APART)
        sets = ((floor,), (fee,), (floor, fee), (floor, parity, fee))
        return {", ".join(type(c).__name__ for c in some): some for some in sets}

    @property
    def title(self) -> str:
        s = self.settings
        return (
            f"clicks under constraints after {s.rounds:,} rounds, {s.replicas} replicas, seed {s.seed}, {model(s)}\n"
            f"floor: {LEAST:g} of an even share of exposures for each of {LABELS} labels; parity: clicks of labels "
            f"within {APART:g}; fee: {FEE:g} per round, hard"
        )

    @property
    def points(self) -> Sequence[Point]:
        return [{"set": i} for i in range(len(self.sets))]

    def cases(self, point: Point) -> Iterator[Case]:
        i = int(point["set"])
        name, subject_to = list(self.sets.items())[i]
        here = replace(self.world, subject_to=subject_to)
        for recipe in (fw_linucb_rank, resolving):
            policy = recipe(here.problem, model(self.settings))
            yield Case(point, f"{policy.name}, {name}", here, policy)
        if not self.session.asked_to_stop():
            self.optima[i] = opt(here, replicas=1, progress=False).value

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        found = []
        for case, trace in runs:
            assert trace is not None  # nothing here is refused
            i = int(case.at["set"])
            utility = trace.objective()[-1]
            if i in self.optima:
                found.append(Measurement.of(case.system, {}, SHARE_OF_OPTIMUM, utility / self.optima[i], worst="low"))
            for c in case.world.problem.subject_to:
                kept = trace.measure(c)[-1]
                found.append(Measurement.of(case.system, {}, type(c).__name__, kept, worst=c.worst))
        return found

    def report(self, runs: Sequence[Run], results: Results) -> str:
        return results.table({}, (SHARE_OF_OPTIMUM, "Floor", "Parity", "Budget")) + "\n"
