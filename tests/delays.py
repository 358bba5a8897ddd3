"""What is gained where outcomes come late, by delay, limit and model; `python -m tests.delays [REPLICAS [ROUNDS]]`.

Every cell has runs of `resolving` over the same cases and luck, in the world of letters and calls. What they gain over
uniform play is a share of what a policy gains that knows all chances: 0 is uniform play, and 1 the optimum.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from evenhand.environments import WithoutContexts
from evenhand.models import BayesianLogistic, BayesianRidge, Fixed, PerAction, Ridge, Stacked, Tabular
from evenhand.objectives import Linear
from evenhand.problem import Floor
from evenhand.recipes import resolving, uniform
from evenhand.run import opt, simulate
from tests.ignorance import Letters
from tests.tables import head, row

NEVER = 10**6
DELAYS = {  # in cases, for all plays or by action; and how many of the first cases answer at once
    "never": (NEVER, 0),
    "500": (500, 0),
    "500, first 1 at once": (500, 1),
    "500, first 3 at once": (500, 3),
    "500, first 10 at once": (500, 10),
    "500, first 30 at once": (500, 30),
    "none 0, letter 30, call 400": ((0, 30, 400), 0),
    "none 0, letter 200, call 10": ((0, 200, 10), 0),
    "100": (100, 0),
    "30": (30, 0),
    "0": (0, 0),
}
MODELS = {
    "BayesianLogistic": Stacked((PerAction(inner=BayesianLogistic(n_features=2), actions=3),) * 2),
    "BayesianRidge": PerAction(inner=BayesianRidge(n_features=2, n_outcomes=2), actions=3),
    "Ridge, Fixed(0.3)": PerAction(inner=Ridge(n_features=2, n_outcomes=2, width=Fixed(0.3)), actions=3),
    "Tabular(confidence=0.5)": Tabular(arms=3, n_outcomes=2, confidence=0.5),
}
BAYESIAN = tuple(MODELS)[:2]
ASKED, CENT = 0.2, 1e-3  # the answers a case that a floor asks for, and what a cent is worth, in answers
CONSTRAINTS = {
    "budget": {},
    "no limit": {"rate": None, "objective": Linear({"answer": 1.0, "cents": -CENT})},
    "floor": {"rate": None, "objective": Linear({"cents": -1.0}), "more": (Floor("answer", rate=ASKED),)},
}
CHANCE = 0.05  # that any comparison fails, if no run is worth less than it should be


def error(x):
    """The standard error of a mean, `(R)->()`."""
    return x.std(ddof=1) / math.sqrt(len(x))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The share of the gain in every replica, and the share of the plays whose stated probability was 1."""

    share: np.ndarray  # (R,)
    certain: float

    @property
    def said(self):
        return f"{self.share.mean():.2f} ± {error(self.share):.2f} ({self.share.min():.2f})"


@dataclass(frozen=True, kw_only=True)
class Study:
    """Cells of the same cases and luck."""

    replicas: int = 32
    horizon: int = 800
    seed: int = 0

    def cell(self, constraint, model, delay):
        world = self._world(constraint, delay)
        shown = WithoutContexts(world) if isinstance(MODELS[model], Tabular) else world
        trace = self._run(resolving(world.problem, MODELS[model]), shown)
        assert constraint != "budget" or (trace.total("cents") <= 50.0 * self.horizon + 1e-6).all()
        plain, best = self.ends(constraint)
        share = (self._worth(constraint, trace) - plain) / (best - plain.mean())
        return Cell(share=share, certain=float((trace.plays.propensities == 1.0).mean()))

    @cache  # noqa: B019, of a few studies
    def ends(self, constraint):
        """What uniform play and the optimum are worth a case, `->(R),()`."""
        world = self._world(constraint, "0")
        plain = self._worth(constraint, self._run(uniform(world.problem, n_features=3), world))
        best = opt(world, seed=self.seed, replicas=4, contexts=5000, progress=False).value
        return plain, ASKED + CENT * best if constraint == "floor" else best

    def _world(self, constraint, delay):
        late, at_once = DELAYS[delay]
        return Letters(horizon=self.horizon, delay=late, at_once=at_once, differ=True, **CONSTRAINTS[constraint])

    def _run(self, policy, world):
        return simulate(policy, world, replicas=self.replicas, seed=self.seed, record="all", progress=False)

    def _worth(self, constraint, trace):
        """The true chances of answers a case, without what exceeds a floor, and less the cents if they are not free."""
        answers, cents = trace.in_expectation().average("answer")[-1], trace.average("cents")[-1]
        answers = np.minimum(answers, ASKED) if constraint == "floor" else answers
        return answers if constraint == "budget" else answers - CENT * cents


def tells_more(delay, other):
    """Whether nothing arrives later with a delay than with another, and something earlier."""
    late, at_once = (np.broadcast_to(DELAYS[z][0], 3) for z in (delay, other)), [DELAYS[z][1] for z in (delay, other)]
    first, second = (np.where(np.arange(100)[:, None] < k, 0, z) for z, k in zip(late, at_once, strict=True))
    return bool((first <= second).all() and (first < second).any())


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What runs gain over others that should not gain more."""

    name: str
    gain: np.ndarray  # (R,)

    @property
    def errors(self):
        """The mean gain in standard errors of it."""
        return self.gain.mean() / error(self.gain) if self.gain.any() else 0.0


def more_and_less(cells) -> Iterator[Pair]:
    """Yield the pairs of cells of which one is told more than the other."""
    for more in cells:
        for less in cells:
            if tells_more(more, less):
                yield Pair(name=f"{more}, beside {less}", gain=cells[more].share - cells[less].share)


def beside_uniform(cells) -> Iterator[Pair]:
    """Yield every cell beside uniform play."""
    for delay, cell in cells.items():
        yield Pair(name=f"{delay}, beside uniform play", gain=cell.share)


def tolerance(pairs, replicas):
    """The standard errors within which all of so many pairs are with a chance of 1 - CHANCE: Bonferroni, Student."""
    return stats.t.ppf(1.0 - CHANCE / pairs, replicas - 1)


def _columns(name, cells):
    """Columns of a table, by their heads: shares of the gain, and how many plays were certain unless all were."""
    yield name, [cell.said for cell in cells.values()]
    certain = [f"{cell.certain:.2f}" for cell in cells.values()]
    if set(certain) != {"1.00"}:
        yield "certain", certain


def main(replicas: int = 32, horizon: int = 800, seed: int = 0) -> None:
    """Print shares and certain plays, and where less is gained, by more than two standard errors, than should be."""
    study, below, count = Study(replicas=replicas, horizon=horizon, seed=seed), [], 0
    for models in (BAYESIAN, tuple(m for m in MODELS if m not in BAYESIAN)):
        columns = {f"{c}: `{m}`": {d: study.cell(c, m, d) for d in DELAYS} for c in CONSTRAINTS for m in models}
        shown = [column for name, cells in columns.items() for column in _columns(name, cells)]
        head("delay, in cases", *(name for name, _ in shown))
        for i, delay in enumerate(DELAYS):
            row(delay, *(column[i] for _, column in shown))
        print(flush=True)
        for name, cells in columns.items():
            pairs = [*more_and_less(cells), *beside_uniform(cells)]
            count += len(pairs)
            below += [(name, pair) for pair in pairs if pair.errors < -2.0]
    print(
        f"{count} pairs, which are all within {tolerance(count, replicas):.1f} standard errors with chance {CHANCE:g}"
    )
    for name, pair in below:
        print(f"{name}: {pair.name}: {pair.gain.mean():+.3f} ± {error(pair.gain):.3f}, {pair.errors:.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
