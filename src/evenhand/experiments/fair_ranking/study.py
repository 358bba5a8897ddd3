"""Fair rankings of music: the paper's objectives over the rounds, and utility against inequality of exposures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.environments import LastFM, Listeners, Ranking
from evenhand.experiments.experiment import Case, Point, Run, Section, Session, traces
from evenhand.experiments.fair_ranking import FairRankingExperiment
from evenhand.models import BayesianBilinear, Bilinear, SelfNormalised
from evenhand.objectives import AlphaFair, EqualExposure, GeneralizedGini, Linear, Moreau, Objective, WeightedSum
from evenhand.problem import Budget, Constraint, Floor, Parity
from evenhand.recipes import fairlearn_rank, fw_linucb_rank, linucb_rank, resolving, unbiased_linucb_rank, uniform
from evenhand.report.leaders import leads
from evenhand.report.results import Measurement, Results
from evenhand.run.optimum import Optimum, opt
from evenhand.run.trace import Trace

if TYPE_CHECKING:
    from evenhand.report.plots import Curve


CLICK = "click"
SMOOTHING = Moreau(1.0)  # the paper's beta_0 = 1
POWER = 0.5
OFFSET = 1e-3  # bounds the slope of the welfare for items that were never exposed
RIDGE = 0.1
WIDTH = SelfNormalised(delta=0.1 / 3)


def world(settings: FairRankingExperiment) -> Ranking:
    """Build the rankings of 10 slots for the audience of the data, or for a synthetic one of the same shape."""
    wide = settings.items == "2k"
    if settings.data:
        audience = LastFM(path=settings.data, items="2k" if wide else 50, factors=settings.factors).audience
    else:
        users, items = (1880, 2500) if wide else (50, 50)
        audience = Listeners(users=users, items=items, factors=settings.factors).audience
    plain = Ranking(audience=audience, horizon=settings.rounds)
    return replace(plain, maximize=inequality(plain.exposures).objective)


def model(settings: FairRankingExperiment) -> Bilinear | BayesianBilinear:
    """Build the regression that all systems share."""
    if settings.model == "bayesian":
        return untuned(settings)
    return clipped(settings) if settings.model == "clipped" else printed(settings)


def printed(settings: FairRankingExperiment) -> Bilinear:
    """Build the ridge regression of the paper, whose confidence bounds are not clipped."""
    return Bilinear(
        n_user_features=settings.factors, n_item_features=settings.factors, ridge=RIDGE, width=WIDTH, clipped=False
    )


def clipped(settings: FairRankingExperiment) -> Bilinear:
    """Build the same regression with bounds clipped at 0 and 1, the range of a click."""
    return replace(printed(settings), clipped=True)


def untuned(settings: FairRankingExperiment) -> BayesianBilinear:
    """Build the Bayesian model, which has no width to set."""
    return BayesianBilinear(n_user_features=settings.factors, n_item_features=settings.factors)


class Aim(NamedTuple):
    """An objective f = utility + beta f_item."""

    name: str
    beta: float
    of_items: Objective
    smoothing: Moreau | None

    @property
    def objective(self) -> WeightedSum:
        return WeightedSum(((1.0, Linear({CLICK: 1.0})), (self.beta, self.of_items)))


def inequality(exposures: Sequence[str]) -> Aim:
    """Return the objective of equation 2: f_item is minus the mean absolute difference of exposures."""
    return Aim("eq. 2", 1.0, GeneralizedGini.difference(exposures), SMOOTHING)


def aim(name: str, exposures: Sequence[str], beta: float | None = None) -> Aim:
    """Return an objective of Section 5 and Appendix B.1 by name, by default at the beta of its figure over the rounds.

    >>> aim("gini welfare", ("a", "b")).objective.outcomes
    ('click', 'a', 'b')
    """
    printed = _printed_aim(name, exposures)
    return printed if beta is None else printed._replace(beta=beta)


def _printed_aim(name: str, exposures: Sequence[str]) -> Aim:
    m = len(exposures)
    if name == "eq. 2":
        return inequality(exposures)
    if name == "gini welfare":
        weights = tuple((m - j) / m for j in range(m))
        return Aim(name, 0.5, GeneralizedGini(tuple(exposures), weights), SMOOTHING)
    if name == "equal exposure":
        return Aim(name, 0.5, EqualExposure(tuple(exposures)), SMOOTHING)
    return Aim(name, 0.5, AlphaFair.welfare(exposures, POWER, OFFSET), None)


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


SHARE = 0.75  # FairLearn's c relative to its maximum k / m where objectives are compared: 0.15 for 50 artists
BETAS = {"50": (0.02, 0.05, 0.1, 0.2, 0.5, 1.0), "2k": (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)}  # by the items
SHARES = (0.1, 0.25, 0.5, 0.75, 0.95)  # of k / m
OPTIMUM, MISSING = "optimum", "% missing"
UNBIASED = "unbiased_linucb_rank"
BASELINES = ("linucb_rank", UNBIASED, f"{UNBIASED}, clipped", "fairlearn_rank")  # of the pictures


def most(ranking: Ranking) -> float:
    """Return k / m, the largest share of rounds in which every item can be ranked."""
    return ranking.slots / len(ranking.audience.items)


def value(trace: Trace, objective: Objective) -> Floats:
    """Compute an objective at the averages of a run, `->(G,R)`."""
    return replace(trace, problem=replace(trace.problem, maximize=objective)).objective()


@dataclass(frozen=True, kw_only=True)
class Objectives(Section):
    """Runs FW-LinUCBRank for each objective, and baselines without an objective, which are measured on all."""

    settings: FairRankingExperiment
    session: Session
    optima: dict[str, Optimum] = field(default_factory=dict)  # by objective

    @cached_property
    def world(self) -> Ranking:
        return world(self.settings)

    @cached_property
    def aims(self) -> list[Aim]:
        return [aim(name, self.world.exposures) for name in self.settings.aims]

    @property
    def title(self) -> str:
        s = self.settings
        users, items = self.world.audience.chances.shape
        return (
            f"rankings of {items:,} artists for {users:,} {'' if s.data else 'synthetic '}listeners, 10 slots, "
            f"{s.rounds:,} rounds, {s.replicas} replicas, seed {s.seed}, {model(s)}\n"
            "f: utility (clicks expected per round) + beta f_item (of realised exposures)"
        )

    def cases(self, point: Point) -> Iterator[Case]:
        learner, within = model(self.settings), clipped(self.settings)
        for a in self.aims:
            here = replace(self.world, maximize=a.objective)
            for name, own in {_fw(a): learner, _clipped(_fw(a)): within, _ours(a): untuned(self.settings)}.items():
                if name == _fw(a) or own != learner:
                    policy = fw_linucb_rank(here.problem, own, smoothing=a.smoothing, name=name)
                    yield Case(point, name, here, policy)
        problem = self.world.problem
        for policy in (
            linucb_rank(problem, learner),
            unbiased_linucb_rank(problem, learner),
            *((unbiased_linucb_rank(problem, within, name=_clipped(UNBIASED)),) if within != learner else ()),
            fairlearn_rank(problem, learner, share=SHARE * most(self.world)),
            uniform(problem, self.world.n_features),
        ):
            yield Case(point, policy.name, self.world, policy)
        for a in self.aims:
            if not self.session.asked_to_stop():
                self.optima[a.name] = opt(replace(self.world, maximize=a.objective), replicas=1, progress=False)

    @cached_property
    def times(self) -> list[int]:
        """The rounds at which objectives are measured: powers of ten, and the end."""
        end = self.settings.rounds
        return [*(10**e for e in range(3, 8) if 10**e < end), end]

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        end = self.settings.rounds
        found = [Measurement(OPTIMUM, {}, f"{name}, t={end:,}", best.value) for name, best in self.optima.items()]
        for trace in traces(runs):
            for a in self.aims:
                values = value(trace, a.objective)
                for t in self.times:
                    now = values[trace.at(t)]
                    found.append(Measurement.of(trace.policy, {}, f"{a.name}, t={t:,}", now, worst="low"))
                if a.name in self.optima:
                    missing = 100.0 * (1.0 - values[-1] / self.optima[a.name].value)
                    found.append(Measurement.of(trace.policy, {}, f"{a.name}, {MISSING}", missing, worst="high"))
        return found

    def report(self, runs: Sequence[Run], results: Results) -> str:
        tables = [
            results.table({}, (*(f"{a.name}, t={t:,}" for t in self.times), f"{a.name}, {MISSING}")) for a in self.aims
        ]
        return "\n\n".join(tables) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        found = {t.policy: t for t in traces(runs)}
        paths = []
        for a in self.aims:
            shown = [found[name] for name in (_ours(a), _fw(a), _clipped(_fw(a)), *BASELINES) if name in found]
            if shown:
                best = self.optima.get(a.name)
                paths.append(
                    picture(shown, a, best, out / f"fair-ranking-{a.name.replace(' ', '-').replace('.', '')}.png")
                )
        return paths


TRADE = "utility against inequality"


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """Measures utility and inequality at the end by beta of every objective, and by what FairLearn guarantees.

    The paper maximises equation 2 in Figure 1 and Gini welfare in Figure 4. These rank alike: as all items together
    have the same exposure in every list, Gini welfare at 2 beta differs from equation 2 at beta by a constant.
    """

    settings: FairRankingExperiment

    @cached_property
    def world(self) -> Ranking:
        return world(self.settings)

    @property
    def title(self) -> str:
        s = self.settings
        return (
            f"utility against inequality (mean absolute difference of exposures) after {s.rounds:,} rounds, "
            f"{s.replicas} replicas, seed {s.seed}"
        )

    @property
    def points(self) -> Sequence[Point]:
        return [{"rounds": self.settings.rounds}]

    def cases(self, point: Point) -> Iterator[Case]:
        learner = model(self.settings)
        for name in self.settings.aims:
            for beta in BETAS[self.settings.items]:
                a = aim(name, self.world.exposures, beta)
                here = replace(self.world, maximize=a.objective)
                policy = fw_linucb_rank(here.problem, learner, smoothing=a.smoothing)
                yield Case(point, f"{_fw(a)}, beta={beta:g}", here, policy)
        for share in (part * most(self.world) for part in SHARES):
            policy = fairlearn_rank(self.world.problem, learner, share=share)
            yield Case(point, f"fairlearn_rank, c={share:.3g}", self.world, policy)

    def ends(self, run: Run) -> tuple[Floats, Floats]:
        """Return inequality and utility at the end, `->(R),(R)`."""
        assert run.trace is not None  # nothing here is refused
        item = inequality(self.world.exposures).of_items
        return -value(run.trace, item)[-1], value(run.trace, Linear({CLICK: 1.0}))[-1]

    def measure(self, runs: Sequence[Run]) -> list[Measurement]:
        found = []
        for run in runs:
            unequal, useful = self.ends(run)
            found.append(Measurement.of(run.case.system, run.case.at, "utility", useful, worst="low"))
            found.append(Measurement.of(run.case.system, run.case.at, "inequality", unequal, worst="high"))
        return found

    def report(self, runs: Sequence[Run], results: Results) -> str:
        return results.table(self.points[0], ("utility", "inequality")) + "\n"

    def draw(self, runs: Sequence[Run], out: Path) -> list[Path]:
        from evenhand.report.plots import Curve, over_sweep, save  # matplotlib only when asked for

        curves = []
        for name in (*(_fw(aim(z, self.world.exposures)) for z in self.settings.aims), "fairlearn_rank"):
            ends = [self.ends(run) for run in runs if run.case.system.startswith(f"{name}, ")]
            if ends:
                at, useful = zip(*sorted(ends, key=lambda e: e[0].mean()), strict=True)
                curves.append(Curve(name, [float(x.mean()) for x in at], np.array(useful)))
        axes = over_sweep(
            {TRADE: curves}, "mean absolute difference of exposures", "clicks per round", headline=most_equal(curves)
        )
        return [save(axes, out / "fair-ranking-trade-off.png")]


def most_equal(curves: Sequence[Curve]) -> str:
    """State the clicks of each recipe where its exposures are the most equal."""
    found = [f"{c.name} {c.values[0].mean():.2f} clicks at {c.at[0]:.2g}" for c in curves]
    return f"With exposures as equal as each can make them: {', '.join(found)}"


def sections(settings: FairRankingExperiment, session: Session) -> Iterator[Objectives | TradeOff | Constrained]:
    """Yield the requested parts."""
    if "objectives" in settings.parts:
        yield Objectives(settings=settings, session=session)
    if "trade-off" in settings.parts:
        yield TradeOff(settings=settings)
    if "constraints" in settings.parts:
        yield Constrained(settings=settings, session=session)


def picture(traces: Sequence[Trace], a: Aim, best: Optimum | None, path: Path) -> Path:
    """Draw utility, the objective of items, and f over the rounds on a logarithmic axis."""
    from evenhand.report.plots import Panel, over_rounds, save  # matplotlib only when asked for

    line = {} if best is None else {OPTIMUM: best.value}
    items, both = f"items: their part of {a.name}", f"both: {a.name}, users + {a.beta:g} items"
    panels = [
        Panel(both, lambda t: value(t, a.objective), line, zoom=True, unit="objective"),
        Panel("users: clicks per round", lambda t: value(t, Linear({CLICK: 1.0})), {}, zoom=True, unit="clicks"),
        Panel(items, lambda t: value(t, a.of_items), {}, zoom=True, unit="objective of items"),
    ]
    ends = {t.policy: value(t, a.objective)[-1] for t in traces}
    said = leads(ends, 0.0 if best is None else best.value, f"the optimum of {a.name}")
    return save(over_rounds(traces, panels, 1, log_rounds=True, headline=said), path)


def _fw(a: Aim) -> str:
    return f"fw_linucb_rank, {a.name}"


def _clipped(name: str) -> str:
    return f"{name}, clipped"


def _ours(a: Aim) -> str:
    return f"{_fw(a)}, BayesianBilinear"
