"""The tables of docs/convex*.md that no experiment prints, each by its name in `TABLES`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.environments import Environment, MixedArms, Requests, Sensors
from evenhand.experiments.concave_convex.study import SCALE, rate, settings
from evenhand.models import BayesianRidge, Tabular
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import Within
from evenhand.recipes import bwcr, greedy_bwk, pd_bwk, resolving, ucb_bwk
from evenhand.recipes.bwcr import theoretical_gamma
from evenhand.report.summary import standard_error
from evenhand.run.optimum import opt
from evenhand.run.simulation import simulate
from evenhand.run.trace import Trace
from evenhand.sets import Ball, Halfspaces, Intersection
from tests.ads import CLICKS, Ads
from tests.tables import decimal, line

MIX = Halfspaces(((-0.2, 0.8, -0.2), (-0.3, -0.3, 0.7), (0.6, -0.4, -0.4)), (0.0, 0.0, 0.05))
SETS = {
    "a ball of radius 0.04": Ball((0.16, 0.12, 0.1), 0.04),
    "a ball of radius 0.06 and three half-spaces": Intersection((Ball((0.2, 0.12, 0.06), 0.06), MIX)),
    "three half-spaces": MIX,
}


def sets(rounds: str = "20000") -> Iterator[str]:
    """`resolving` on visitors of three ages, whose clicks must lie in a set; four replicas, seed 1."""
    shares = ("clicks / optimum", "worst", "expected clicks / optimum", "worst")
    yield line("S", "optimum", *shares, "distance from S, worst", "spending, worst")
    yield line(*["---"] * 8)
    for name, within in SETS.items():
        world = Ads(horizon=int(rounds), extra=(Within(CLICKS, within),))
        best = opt(world, contexts=5000, replicas=2, progress=False).value
        policy = resolving(world.problem, BayesianRidge(n_features=25))
        trace = simulate(policy, world, replicas=4, seed=1, progress=False)
        share = trace.average("click")[-1] / best
        far = trace.measure(world.problem.subject_to[1])[-1]
        truth = trace.objective()[-1] / best
        shares = tuple(f"{x:.3f}" for x in (share.mean(), share.min(), truth.mean(), truth.min()))
        yield line(name, f"{best:.4f}", *shares, f"{far.max():.5f}", f"{trace.average('spend')[-1].max():.4f}")


def mixture(rounds: str = "4000") -> Iterator[str]:
    """Regret on `MixedArms` over all rounds and four times as many, at a confidence of 0.5; 20 replicas, seed 0."""
    lengths = (int(rounds), 4 * int(rounds))
    yield line("recipe", *(z for horizon in lengths for z in (f"T = {horizon:,}", "share", "overspent")))
    yield line(*["---"] * 7)
    for recipe in (ucb_bwk, bwcr, pd_bwk, greedy_bwk):
        cells = [f"`{recipe.__name__}`"]
        for horizon in lengths:
            world = MixedArms(horizon=horizon)
            best = opt(world, contexts=1, replicas=1, progress=False).value
            policy = recipe(world.problem, Tabular(arms=world.n_features, n_outcomes=3, confidence=0.5))
            trace = simulate(policy, world, replicas=20, progress=False)
            reached = trace.objective()[-1]
            regret = horizon * (best - reached)
            over = max(float((trace.total(c.outcome) - c.total_over(horizon)).max()) for c in world.problem.spending)
            cells.append(f"{regret.mean():,.0f} ({standard_error(regret):.0f})")
            cells += [f"{reached.mean() / best:.3f}, {reached.min() / best:.3f}", f"{max(over, 0.0):g}"]
        yield line(*cells)


class Cell(NamedTuple):
    """A recipe in one world of `evenhand reproduce concave-convex`."""

    world: str
    recipe: Callable[..., Policy]


CELLS = (Cell("knapsacks", bwcr), Cell("arms", bwcr), Cell("gini", bwcr), Cell("knapsacks", ucb_bwk))


def gamma(cells: str = "0123", scales: str = "0.25,1,4", replicas: str = "8", rounds: str = "100000") -> Iterator[str]:
    """Hard regret per round, and the exponent from each length to the next, with gamma a quarter and four times it."""
    lengths = [int(rounds) // part for part in (64, 16, 4, 1)]
    longer = (f"{t:,}" for t in lengths[1:])
    yield line(
        "world, recipe", "gamma", f"T = {lengths[0]:,}", *longer, "worst", "exponents, one length to the next", "all"
    )
    yield line(*["---"] * 9)
    for cell in (CELLS[int(i)] for i in cells):
        setting = next(settings((cell.world,), 1))
        best = opt(setting.at(1000), contexts=1, replicas=1, progress=False).value
        for scale in map(float, scales.split(",")):
            found = np.stack([best - _hard(cell.recipe, setting.at(t), scale, int(replicas)) for t in lengths])
            local = [rate(np.array(lengths[i : i + 2], float), found[i : i + 2]) for i in range(len(lengths) - 1)]
            whole = rate(np.array(lengths, float), found)
            regrets = (f"{x:.4f}" for x in (*found.mean(1), found[-1].max()))
            *each, over_all = (f"{decimal(x.exponent, 2)} ({decimal(x.se, 2)})" for x in (*local, whole))
            name = f"{cell.world}, `{cell.recipe.__name__}`"
            yield line(name, f"times {scale:g}", *regrets, ", ".join(each), over_all)


def _hard(recipe: Callable[..., Policy], world: Environment, scale: float, replicas: int) -> Floats:
    """What hard policies reach, `->(R)`."""
    confidence = scale * SCALE * theoretical_gamma(world.problem)
    model = Tabular(arms=world.n_features, n_outcomes=len(world.problem.learned), confidence=confidence)
    return np.asarray(simulate(recipe(world.problem, model), world, replicas=replicas, progress=False).objective()[-1])


def dimensions(rounds: str = "4000", instances: str = "5") -> Iterator[str]:
    """The same points seen, with sensors or points as outcomes: shortfalls and energies; five replicas, seed 0."""
    kinds: tuple[Literal["sensors", "points"], ...] = ("sensors", "points")
    for points, horizon, replicas in ((100, int(rounds), 5), (1000, int(rounds) // 4, 2)):
        for instance in range(int(instances)):
            for how in ("primal", "dual"):
                for kind in kinds:
                    world = Sensors(points=points, outcomes=kind, instance=instance, horizon=horizon)
                    yield (
                        f"N = {points}, instance {instance}, {how}, {kind}: {_missing(world, how, replicas)}"  # type: ignore[arg-type]
                    )


def _missing(world: Sensors, how: Literal["primal", "dual"], replicas: int) -> str:
    """The largest shortfall of a point, the norm of all shortfalls, and how far energy is below the optimum's."""
    learned = len(world.problem.learned)
    confidence = SCALE * theoretical_gamma(world.problem)
    model = Tabular(arms=world.sensors, n_outcomes=learned, confidence=confidence)
    policy = bwcr(world.problem, model, objective_by=how, constraints_by=how, hard=False)
    trace = simulate(policy, world, replicas=replicas, progress=False)
    short = np.maximum(world.rate - _seen(world, trace), 0.0)
    best = opt(world, contexts=1, replicas=1, progress=False).value
    saved = trace.objective()[-1] - best
    most, norm = short.max(1), np.sqrt((short**2).sum(1))
    return (
        f"shortfall {most.mean():.4f} ({standard_error(most):.4f}) of {world.rate:.4f}, norm {norm.mean():.4f}, "
        f"energy saved {saved.mean():.4f}"
    )


def _seen(world: Sensors, trace: Trace) -> Floats:
    """How often each point was seen per round, `->(R,N)`."""
    names = [o.name for o in world.problem.outcomes[: len(world.problem.learned)]]
    rates = np.stack([trace.average(name)[-1] for name in names], 1)
    return rates @ world.covers if world.outcomes == "sensors" else rates


def requests(rounds: str = "2000", instances: str = "3", replicas: str = "3") -> Iterator[str]:
    """The same network, with uses by type of request or of edges as outcomes: the largest use beyond a capacity."""
    kinds: tuple[Literal["types", "edges"], ...] = ("types", "edges")
    for instance in range(int(instances)):
        for how in ("primal", "dual"):
            for kind in kinds:
                world = Requests(outcomes=kind, instance=instance, horizon=int(rounds))
                yield f"instance {instance}, {how}, {kind}: {_beyond(world, how, int(replicas))}"  # type: ignore[arg-type]


def _beyond(world: Requests, how: Literal["primal", "dual"], replicas: int) -> str:
    """The largest excess of an edge, as a part of its capacity too, and payments beside the optimum's."""
    learned = world.problem.learned
    model = Tabular(arms=world.types, n_outcomes=len(learned), confidence=SCALE * theoretical_gamma(world.problem))
    policy = bwcr(world.problem, model, objective_by=how, constraints_by=how, hard=False)
    trace = simulate(policy, world, replicas=replicas, progress=False)
    rates = np.stack([trace.average(name)[-1] for name in learned], 1)
    edges = rates @ world.crosses if world.outcomes == "types" else rates
    most = np.maximum(edges - world.capacities, 0.0).max(1)
    part = (edges / world.capacities).max(1)
    best = opt(world, contexts=1, replicas=1, progress=False).value
    return (
        f"beyond {most.mean():.4f} ({standard_error(most):.4f}), {part.mean():.3f} times the capacity, "
        f"payments {trace.objective()[-1].mean() / best:.3f} of the optimum"
    )


TABLES = {f.__name__: f for f in (sets, mixture, gamma, dimensions, requests)}

if __name__ == "__main__":
    for printed in TABLES[sys.argv[1]](*sys.argv[2:]):
        print(printed, flush=True)
