"""The optimum of static policies: the fluid problem on sampled contexts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.progress import Work
from evenhand.core.types import Floats
from evenhand.core.validate import indices, whole
from evenhand.environments.base import Environment
from evenhand.objectives import Linear
from evenhand.planning.lists import Listed, Lists, is_linear_program, maximize_lists, pool, solve_lists
from evenhand.planning.mixing import Best, SetLimit, Truth, maximize
from evenhand.planning.program import Sample, solve
from evenhand.problem import Holdout
from evenhand.problem.constraints import constraint_rows, per_row, stated_rows
from evenhand.problem.holdout import KnownRounds, known_rounds
from evenhand.problem.problem import Problem
from evenhand.problem.rows import select
from evenhand.report.summary import standard_error
from evenhand.run.samples import (
    TruthSample,
    by_span,
    draw_sample,
    expected_rows,
    goes_by_time,
    mix_rounds,
    refuse_margin,
)


class Optimum(NamedTuple):
    """The value of the best static policy, and the prices at which it is reached."""

    value: float  # mean over the replicas
    se: float  # standard error of this mean
    prices: Floats  # (d,) mean over the replicas; of a row with spans of time, one for each span
    prices_se: Floats  # (d,)
    values: Floats  # (R,) of each replica, in the order of the argument
    gap: float = 0.0  # the most that values may be below the optimum; 0 where they are exact up to rounding


class PriceBound(NamedTuple):
    """The most that optimal prices can be, in units of the objective by units of the rows."""

    total: float  # of all prices together, and so of their Euclidean norm
    each: Floats  # (d,) of the price of each row
    gain: float  # OPT at the bounds minus OPT at the tighter ones, mean over the replicas


@named("K7", source="Chzhen et al. 2023, equation (4) and Appendix G.2")
def opt(
    environment: Environment,
    *,
    margin: float | Floats = 0.0,
    contexts: int = 10_000,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    progress: bool | None = None,
    holdout: float | Holdout | None = None,
    explore: float = 0.0,
) -> Optimum:
    """Compute the value and dual prices of the best static policy that knows the truth, per round.

    Equation: OPT(B) = max E sum_a pi_a(X) r(X, a) s.t. E sum_a pi_a(X) v(X, a) <= B, which by duality is
    min over lam >= 0 of E max_a [r - lam.(v - B)]; a concave objective f(E sum_a pi_a(X) y(X, a)) takes the place of r.
    Solved once per replica, on `contexts` contexts of its own, and averaged. Where replicas have truths of their own, a
    run is to be compared with the optimum of the same replicas and seed; both defaults are those of `simulate`. Where
    all have the same truth, replicas are independent samples, and any will do. (The optimum on a sample is biased
    upwards, by O(d / contexts).)

    Where a problem has budgets per period, or ends at a time, the contexts are those of the run itself, all that come
    before its end: it matters when they come. The optimum is then that of a policy which knows all cases and means in
    hindsight, within the allowance of every span, and `prices` has one for each span of a row. `contexts` is not read.

    With a holdout or a floor of probabilities, as `resolving` has them, the policy is the best of those that leave
    these rounds to their lottery. It has the floor in every round, as it never runs out of a budget.

    Where places differ, as in `Ranking`, the policies are those of lists, and all users are known: nothing is sampled
    unless items come and go by luck. Linear objectives and generalised Gini functions are solved exactly for up to
    100,000 users x items x places; for other objectives, and more, `gap` says how far the value can be below the
    optimum.

    A world of your own in `Stepped` draws and states every context in Python: the 20 x 10,000 of the defaults take most
    of a minute, and fewer `contexts` less.

    Args:
        environment: with a known truth.
        margin: taken off budgets per round: one number for all, or one per constraint.
        contexts: sampled per replica.
        replicas: how many, numbered from 0, or a list of their numbers, as in the run to compare with.
        seed: of truths and contexts, as in the run to compare with.
        progress: as for `simulate`.
        holdout: the share of the rounds in which a lottery plays, uniform or stated by a `Holdout`.
        explore: the least probability of every action that may be played.

    Raises:
        InvalidInput: the environment has no truth, the margin leaves nothing of a budget, or an objective over lists
            has no prox; or a margin, or lists, where the problem goes by time; a holdout or a floor out of range, or
            with several plays or lists.
        InfeasibleProblem: no static policy keeps to the constraints on a sample, with a holdout and a floor as stated.

    >>> from evenhand.environments import Court
    >>> 0.44 < opt(Court(tolerance=0.025), contexts=500, replicas=2).value < 0.50
    True
    """
    rounds, listed = known_rounds(environment.problem, holdout, explore), isinstance(environment, Listed)
    if rounds.reserve and listed:
        raise InvalidInput("holdout, explore", "an environment without lists", type(environment).__name__)
    if goes_by_time(environment.problem) and not listed:
        refuse_margin(margin)
        return _average(lambda replica: _in_hindsight(environment, seed, replica, rounds), replicas, seed, progress)
    solved = _solver(environment, contexts, seed, lambda lists: lists, lambda *of: mix_rounds(draw(*of), rounds))
    return solve_and_average(environment.problem, margin, contexts, replicas, seed, progress, solved)


@named("K7", source="Chzhen et al. 2023, Lemma 3 and Corollary 1")
def price_bound(
    environment: Environment,
    *,
    slack: Floats | None = None,
    margin: float | Floats = 0.0,
    contexts: int = 10_000,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    progress: bool | None = None,
) -> PriceBound:
    """Bound the optimal prices by the loss of the objective at tighter bounds, a guide to steps and radii of prices.

    Equation: OPT(B) is concave in the bounds B of the d rows, with the slope lam, so slack.lam <= OPT(B) - OPT(B -
    slack). As no price is negative, lam_j <= gain / slack_j for each row, and ||lam|| <= sum_j lam_j <= gain /
    min(slack), with gain = OPT(B) - OPT(B - slack). With an action that uses nothing, slack = B is allowed, and every
    lam_j is at most (OPT(B) - OPT(0)) / B_j. The prices of `opt` with the same arguments keep to it.
    Deviations: the lemma has the bound of the norm alone, and asks that some bounds below B - slack are feasible; here
    B - slack has to be. Its margin is `margin`.

    Args:
        environment: as for `opt`, with budgets over the whole horizon.
        slack: taken off the bound of every row, `(d)` above 0; by default half of each bound.
        margin, contexts, replicas, seed, progress: as for `opt`.

    Raises:
        InvalidInput: as for `opt`, or a slack of the wrong shape, or not above 0; there is no default for rows whose
            bound is not above 0, such as those of floors.
        InfeasibleProblem: no static policy keeps to B, or to B - slack.

    >>> from evenhand.environments import BernoulliKnapsacks
    >>> world = BernoulliKnapsacks(arms=4, resources=2)
    >>> bound, best = price_bound(world, replicas=1, contexts=1), opt(world, replicas=1, contexts=1)
    >>> bool(best.prices.sum() <= bound.total), bool((best.prices <= bound.each).all())
    (True, True)
    """
    _need_fluid(environment.problem, contexts)
    _, bound = stated_rows(environment.problem, margin=margin)
    off = _slack(bound, slack)

    def at(bounds: Floats) -> Optimum:
        solved = _solver(environment, contexts, seed, lambda lists: lists, draw)
        return _average(lambda replica: solved(replica, bounds), replicas, seed, progress)

    whole_bounds, tighter = at(bound), at(bound - off)
    gain = max(whole_bounds.value + whole_bounds.gap - tighter.value, 0.0)
    return PriceBound(gain / float(off.min()), gain / off, gain)


def _slack(bound: Floats, slack: Floats | None) -> Floats:
    """Check the amounts that are taken off bounds; half of each by default."""
    if not len(bound):
        raise InvalidInput("environment.problem", "constraints, which have prices", "none")
    off = 0.5 * bound if slack is None else np.asarray(slack, np.float64)
    if off.shape != bound.shape or not (np.isfinite(off) & (off > 0.0)).all():
        default = " (the default is half of each bound)" if slack is None else ""
        raise InvalidInput("slack", f"an amount above 0 for each of {len(bound)} rows", f"{off.tolist()}{default}")
    return off


def opt_without_contexts(
    environment: Environment,
    *,
    margin: float | Floats = 0.0,
    contexts: int = 10_000,
    replicas: int | Sequence[int] = 20,
    seed: int = 0,
    progress: bool | None = None,
) -> Optimum:
    """Compute the value and dual prices of the best lottery of actions that is the same in all contexts.

    Equation: max f(E sum_a p_a y(X, a)) s.t. E sum_a p_a v(X, a) <= B, over one lottery p.

    Args:
        environment, margin, contexts, replicas, seed, progress: as for `opt`, which sees contexts even where
            `WithoutContexts` hides them.

    Raises:
        InvalidInput: as for `opt`, or not the same actions are offered to everybody.
        InfeasibleProblem: no lottery keeps to the constraints.

    >>> from evenhand.environments import Court
    >>> court = Court(tolerance=0.025)
    >>> blind, seeing = (best(court, contexts=500, replicas=2).value for best in (opt_without_contexts, opt))
    >>> blind < seeing
    True
    """
    solved = _solver(environment, contexts, seed, pool, _pool)
    return solve_and_average(environment.problem, margin, contexts, replicas, seed, progress, solved)


def _solver(
    environment: Environment,
    contexts: int,
    seed: int,
    seen: Callable[[Lists], Lists],
    sample: Callable[[Environment, int, int, int], Truth],
) -> Callable[[int, Floats], Best]:
    """Return the function that solves the problem of a replica at given bounds.

    Policies of lists are those of `seen` cases, solved once for all replicas that share their cases; all others are
    solved on a `sample`.
    """
    problem = environment.problem
    if not isinstance(environment, Listed):
        return lambda replica, bound: best(problem, sample(environment, contexts, seed, replica), bound)
    world, (rows, _) = environment, constraint_rows(problem)
    last: list[tuple[Lists, Best]] = []

    def solved(replica: int, bound: Floats) -> Best:
        lists = seen(world.lists(contexts, seed, replica))
        if not last or not all(np.array_equal(a, b) for a, b in zip(lists, last[0][0], strict=True)):
            method = solve_lists if is_linear_program(problem.objective, lists) else maximize_lists
            last[:] = [(lists, method(problem.objective, problem, lists, rows, bound))]
        return last[0][1]

    return solved


def solve_and_average(
    problem: Problem,
    margin: float | Floats,
    contexts: int,
    replicas: int | Sequence[int],
    seed: int,
    progress: bool | None,
    solved: Callable[[int, Floats], Best],
) -> Optimum:
    """Solve for every replica at the bounds of the problem, and average."""
    _need_fluid(problem, contexts)
    _, bound = stated_rows(problem, margin=margin)
    return _average(lambda replica: solved(replica, bound), replicas, seed, progress)


def _need_fluid(problem: Problem, contexts: int) -> None:
    """Check the number of contexts, and that it does not matter when they come."""
    whole("contexts", contexts, 1)
    if goes_by_time(problem):
        expected = "budgets over the whole horizon, as only `opt` without lists knows when cases come"
        raise InvalidInput("environment.problem", expected, "until=, or a budget per period")


def _average(solved: Callable[[int], Best], replicas: int | Sequence[int], seed: int, progress: bool | None) -> Optimum:
    """Solve for every replica, and average."""
    ids = indices("replicas", replicas)
    check_seed(seed)
    with Work("OPT", "program", progress=progress) as work:
        found = [solved(replica) for replica in work.each(ids.tolist())]
    values, prices = np.array([z.value for z in found]), np.array([z.prices for z in found])
    spread = np.array([standard_error(p) for p in prices.T])
    gap = max(z.gap for z in found)
    return Optimum(float(values.mean()), standard_error(values), prices.mean(0), spread, values, gap)


def _in_hindsight(environment: Environment, seed: int, replica: int, rounds: KnownRounds) -> Best:
    """Find the best policy for the cases of one run, within the allowance of every span of time.

    Raises:
        InvalidInput: the environment has no truth.
        InfeasibleProblem: no policy keeps to the bounds.
    """
    problem = environment.problem
    steps = int(min(environment.start(seed, np.array([replica])).steps, problem.last_round))
    sample = draw_sample(environment, steps, seed, replica)
    truth, bound = by_span(problem, mix_rounds(_read(problem, sample), rounds), sample.time)
    return best(problem, truth, bound)


def best(problem: Problem, truth: Truth, bound: Floats) -> Best:
    """Find the best static policy on a sample.

    Raises:
        InfeasibleProblem: no static policy keeps to the bounds on this sample.
    """
    objective = problem.objective
    sets = tuple(SetLimit(r.label, r.within) for r in problem.demands.regions)
    if isinstance(objective, Linear) and not sets:
        reward = truth.outcomes @ np.array(list(objective.weights.values()))
        value, prices, _ = solve(Sample(reward, truth.rows, truth.offered, truth.n_plays, truth.labels), bound)
        return Best(value, prices, np.zeros(0), 0.0)
    return maximize(objective, truth, bound, np.array(problem.middle(tuple(objective.outcomes))), sets)


def draw(environment: Environment, contexts: int, seed: int, replica: int = 0) -> Truth:
    """Draw the first contexts of one replica, with the truth about every candidate.

    Raises:
        InvalidInput: the environment has no truth.
    """
    return _read(environment.problem, draw_sample(environment, contexts, seed, replica))


def _read(problem: Problem, sample: TruthSample) -> Truth:
    """Compute the outcomes of the objective and the rows of the constraints on a sample."""
    constrained = problem.demands.rows
    wanted = [problem.objective.outcomes, *(r.outcomes for r in problem.demands.regions)]
    needed = [constrained, *(select(problem, tuple(names)) for names in wanted)]
    rows, outcomes, *followed = (expected_rows(r, sample.cases, sample.shares, sample.truth) for r in needed)
    labels = tuple(per_row(problem.stated, lambda s: s.label))
    return Truth(outcomes, rows, sample.offered, problem.n_plays, tuple(followed), labels)


def _pool(environment: Environment, contexts: int, seed: int, replica: int) -> Truth:
    """Draw a sample and average it into a single context, in which candidates have their average outcomes and rows.

    Rows by group are reweighted from sampled frequencies to shares, so that one lottery for all keeps a parity exactly.

    Raises:
        InvalidInput: not the same actions are offered in all contexts.
    """
    problem, sample = environment.problem, draw_sample(environment, contexts, seed, replica)
    truth = _read(problem, sample)
    if (truth.offered != truth.offered[:1]).any():
        raise InvalidInput("environment", "one that offers everybody the same actions", "one that does not")
    constrained = problem.demands.rows
    weight = np.ones((contexts, len(constrained)))
    for j, grouping in enumerate(constrained.grouping):
        if grouping >= 0:
            if sample.cases.groups.shape[1] > 1:
                raise InvalidInput("environment", "one whose groups divide cases", "groups of candidates")
            column = sample.cases.groups[:, 0, grouping]
            weight[:, j] = sample.shares[0, column] / sample.frequencies[column]
    rows = np.einsum("sad,sd->ad", truth.rows, weight) / contexts
    followed = tuple(w.mean(0)[None] for w in truth.followed)
    return Truth(truth.outcomes.mean(0)[None], rows[None], truth.offered[:1], truth.n_plays, followed, truth.labels)
