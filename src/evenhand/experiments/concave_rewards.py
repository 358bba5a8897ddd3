"""Multi-objective bandits with generalised Gini functions: Figure 1 (left) and Figure 5 of Do et al. 2023."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from evenhand.choices import Gamma
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.environments import MultiObjective
from evenhand.models import Fixed, Ridge, Scalarised
from evenhand.models.ridge import RidgeState
from evenhand.objectives import Randomized
from evenhand.policy.policy import Policy
from evenhand.recipes import fw_epsilon_greedy, fw_linucb, fw_squarecb, molincb
from evenhand.report.results import Results, Row, prepare
from evenhand.run.optimum import best, draw
from evenhand.run.parallel import bar_disabled, deferred_interrupt
from evenhand.run.simulation import simulate
from evenhand.run.trace import Trace

ROUNDS = 2000
EARLY = 50
RIDGE = 0.1
WIDTH = 0.1  # the paper's sqrt(epsilon), alpha_t being taken as 1
GAMMA = 1e4
SOLVED = 20  # replicas whose optimum is found
OPTIMUM = "optimum in hindsight"


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """A model that knows each replica's parameters and learns nothing: what Frank-Wolfe reaches without uncertainty."""

    theta: Floats  # (R, M, n)

    @property
    def n_features(self) -> int:
        """How many features it reads."""
        return int(self.theta.shape[2])

    @property
    def n_outcomes(self) -> int:
        """How many outcomes it predicts."""
        return int(self.theta.shape[1])

    def start(self, replicas: int, low: Floats, high: Floats) -> RidgeState:
        """The state of a ridge that has converged.

        Raises:
            InvalidInput: other replicas than those whose parameters it has.
        """
        if replicas != len(self.theta):  # a chunk of them would be handed the parameters of the first ones
            raise InvalidInput("replicas", f"all {len(self.theta)} in one process", replicas)
        state = Ridge(n_features=self.n_features, n_outcomes=self.n_outcomes).start(replicas, low, high)
        state.theta[:] = self.theta
        return state

    def value(self, state: Any, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        """True worth, `(A,n),(K,M)->(K,A),(K,A)`."""
        return Ridge(n_features=self.n_features, n_outcomes=self.n_outcomes).value(state, x, w)

    def update(self, state: Any, x: Floats, y: Floats, rounds: Floats, w: Floats) -> None:
        """Nothing to learn."""


def policies(world: MultiObjective, replicas: int, seed: int) -> list[Policy]:
    """Frank-Wolfe that knows the truth, and the paper's algorithms with one ridge of 0.1 for all."""
    p, n, m = world.problem, world.n_features, world.n_outcomes
    known = Truth(theta=world.start(seed, np.arange(replicas)).theta)
    ridge = Ridge(n_features=n, n_outcomes=m, ridge=RIDGE)
    wide = replace(ridge, width=Fixed(WIDTH))
    scalarised = Scalarised(n_features=n, n_outcomes=m, ridge=RIDGE, width=Fixed(WIDTH))
    return [
        replace(fw_linucb(p, known), name="truth"),
        fw_linucb(p, wide),
        replace(fw_linucb(p, scalarised, optimism="net"), name="fw_linucb, scalarised"),
        replace(fw_linucb(p, wide, smoothing=Randomized(0.01)), name="fw_linucb, random smoothing"),
        fw_squarecb(p, ridge, rate=Gamma(GAMMA, 0.5)),
        fw_epsilon_greedy(p, ridge),
        molincb(p, ridge),
    ]


@named("C9", source="Do et al. 2023, Figure 1 (left), Figure 5 and Appendix B.2")
def reproduce(
    *,
    arms: tuple[int, ...] = (50,),
    outcomes: tuple[int, ...] = (5, 20),
    replicas: int = 100,
    rounds: int = ROUNDS,
    seed: int = 0,
    out: Path | None = None,
    progress: bool | None = None,
    log: Callable[[str], None] = print,
) -> Results:
    """Run every system for every number of arms and outcomes; print the objective early and late, JSON and plots.

    Each replica has parameters of its own, so that standard errors are over instances; `share` is the objective over
    that of the truth in the same replica. The optimum in hindsight is the best that a policy could have made of the
    contexts that came, had it known the parameters and all of them; it is found for the first 20 replicas. Ctrl-C ends
    early; what is finished is printed and written.
    """
    if out is not None:
        prepare(out)
    settings = {"arms": list(arms), "outcomes": list(outcomes), "replicas": replicas, "rounds": rounds, "seed": seed}
    results = Results("concave-rewards", settings)
    with deferred_interrupt() as asked:  # Ctrl-C may also come between two runs
        for a, m in [(a, m) for a in dict.fromkeys(arms) for m in dict.fromkeys(outcomes)]:
            world = MultiObjective(arms=a, n_outcomes=m, horizon=rounds)
            log(f"generalised Gini of {m} outcomes, {a} arms, {rounds} rounds, {replicas} replicas, seed {seed}")
            traces, values = _run(world, replicas, seed, progress, asked)
            results.interrupted = len(values) == 0
            at = {"arms": a, "outcomes": m}
            for trace in traces:
                results.rows += _rows(trace, traces[0], at)
            if len(values):
                share = values / traces[0].objective()[-1, : len(values)]
                results.rows.append(Row.of(OPTIMUM, at, "share late", share, worst="low"))
            log(results.table(at, (f"t={min(EARLY, rounds)}", "share early", f"t={rounds}", "share late")) + "\n")
            if out is not None:
                results.write(out)
                if traces:
                    picture(traces, values, out / f"concave-rewards-arms={a}-outcomes={m}.png")
            if results.interrupted:
                log("interrupted: the systems above are complete, the others are missing")
                break
    return results


def _run(
    world: MultiObjective, replicas: int, seed: int, progress: bool | None, asked: Callable[[], bool]
) -> tuple[list[Trace], Floats]:
    """Traces of all systems, and the optima in hindsight; fewer traces and no optima where somebody asks to stop."""
    traces: list[Trace] = []
    for policy in policies(world, replicas, seed):
        trace = None if asked() else simulate(policy, world, replicas=replicas, seed=seed, progress=progress)
        if trace is None or not trace.finished:
            return traces, np.zeros(0)
        traces.append(trace)
    values: list[float] = []
    for r in tqdm(
        range(min(replicas, SOLVED)), desc=OPTIMUM, unit="replica", leave=False, disable=bar_disabled(progress)
    ):
        if asked():
            return traces, np.zeros(0)
        values.append(best(world.problem, draw(world, world.horizon, seed, replica=r), np.zeros(0))[0])
    return traces, np.array(values)


def picture(traces: list[Trace], values: Floats, path: Path) -> Path:
    """The objective over the rounds as a share of the truth's, and its distance from it on logarithmic axes."""
    from evenhand.report.plots import Panel, over_rounds, save  # matplotlib only when asked for

    end = traces[0].objective()[-1]
    lines = {OPTIMUM: float((values / end[: len(values)]).mean())} if len(values) else {}
    share = Panel("objective, share of the truth's at the end", lambda t: t.objective() / end, lines)
    gap = Panel("what is missing, in percent", lambda t: 100.0 * (1.0 - t.objective() / end), {})
    left, right = over_rounds(traces, [share, gap])
    for axes in (left, right):
        axes.set_xscale("log")
    left.set_ylim(0.8, 1.02)
    right.set_yscale("log")
    right.set_ylim(0.03, 30.0)
    return save([left], path)


def _rows(trace: Trace, truth: Trace, at: Mapping[str, float]) -> list[Row]:
    """The objective early and at the end, and as a share of the truth's."""
    rows = []
    rounds = int(trace.times[-1])
    value, end = trace.objective(), truth.objective()[-1]
    for when, t in (("early", min(EARLY, rounds)), ("late", rounds)):
        i = int(np.searchsorted(trace.times, t))
        rows.append(Row.of(trace.policy, at, f"t={t}", value[i], worst="low"))
        rows.append(Row.of(trace.policy, at, f"share {when}", value[i] / end, worst="low"))
    return rows
