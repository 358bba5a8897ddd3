"""Samples of an environment with the truth about every candidate, and the rows of programs in spans of time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.environments.base import Environment
from evenhand.planning.mixing import Truth
from evenhand.policy.entries import believe
from evenhand.problem.actions import present
from evenhand.problem.holdout import KnownRounds
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Cases, Rows


class TruthSample(NamedTuple):
    """Contexts of one replica and their truth."""

    cases: Cases
    offered: Floats  # (S, A)
    truth: Floats  # (S, A, M)
    shares: Floats  # (1, C) of groups: declared, or their frequencies where not declared
    frequencies: Floats  # (C,) of groups in the sample
    time: Floats  # (S,) by the clock of the problem; the number of the round where cases have none


def draw_sample(environment: Environment, contexts: int, seed: int, replica: int) -> TruthSample:
    """Draw the first contexts of a replica, up to the end of the run.

    Raises:
        InvalidInput: the environment has no truth, or no case comes before the end of the run.
    """
    problem = environment.problem
    world = environment.start(seed, np.array([replica]))
    known, groups, offered, truths, times, rounds = [], [], [], [], [], 0.0
    came, may = np.zeros((1, len(problem.columns))), present(problem)
    for step in range(contexts):
        context = world.context(step)
        time = rounds if context.time is None else float(context.time[0])
        if problem.until is not None and time >= problem.clock.last:
            continue
        truth = world.expected(context, np.arange(context.features.shape[1])[None])
        if truth is None:
            expected = "one with a known truth, which its world states in a method `expected`"
            raise InvalidInput("environment", expected, f"{type(environment).__name__} without it")
        here = context.offered if may is None else context.offered & may
        believe(context.groups, context.offered, np.ones(1), came)
        times.append(time)
        rounds += float(here.any())  # a round in which nothing is offered is none
        known.append(context.known)
        groups.append(context.groups)
        offered.append(here)
        truths.append(truth[:, :, : len(problem.learned)])  # the means of noisy outcomes are known
    if not known:
        raise InvalidInput("environment", f"a case before {problem.until}, the end of the run", "none")
    cases = Cases(np.concatenate(known), np.concatenate(groups))
    came = came[0] / len(known)
    shares = np.where(np.isnan(problem.shares), came, problem.shares)[None]
    return TruthSample(
        cases, np.concatenate(offered).astype(float), np.concatenate(truths), shares, came, np.array(times)
    )


def expected_rows(rows: Rows, frame: Cases, shares: Floats, truth: Floats) -> Floats:
    """Compute the expected rows of every candidate, `(A,M)->(A,d)`."""
    prices, offset = rows.pull(frame, shares, np.tile(np.eye(len(rows)), (len(truth), 1, 1)))
    return np.swapaxes((prices * truth[:, None]).sum(3) + offset, 1, 2)


def mix_rounds(truth: Truth, rounds: KnownRounds) -> Truth:
    """Return the truth for the rounds that the policy decides: the mean outcomes of a case under each candidate.

    Equation: with k_a the chance that a known lottery plays a, and q what is played otherwise, p = k + (1 - sum k) q.
    As q sums to 1, p.y = sum_a q_a (k.y + (1 - sum k) y_a): a program over q alone, with the same bounds.
    """
    if rounds.reserve == 0.0:
        return truth
    chances = rounds.within(truth.offered)
    left = 1.0 - chances.sum(1)[:, None, None]
    outcomes, rows, *followed = (
        np.einsum("sa,sai->si", chances, y)[:, None] + left * y for y in (truth.outcomes, truth.rows, *truth.followed)
    )
    return truth._replace(outcomes=outcomes, rows=rows, followed=tuple(followed))


def goes_by_time(problem: Problem) -> bool:
    """Return whether the times of cases matter: because of budgets per period, or a run that ends at a time."""
    return problem.until is not None or any(s.spans is not None for s in problem.stated)


def by_span(problem: Problem, truth: Truth, time: Floats) -> tuple[Truth, Floats]:
    """Return the truth with a row for every span of a row, and their bounds per case, `(S)->,(d)`.

    Equation: of N cases with times t_i, span s of a row v allows mean_i 1{t_i in s} v_i <= allowance_s / N, or n_s / N
    times its bound on averages where n_s of the cases are in it. What is
    spent without spans may sum to its total over the horizon, however many cases come; everything else is a mean.

    Args:
        problem: its constraints in the order of the rows.
        truth: of the N cases of a run.
        time: of each of them, by the clock of the problem.
    """
    cases, rows, bounds, labels, place = len(time), [np.zeros((*truth.offered.shape, 0))], [np.zeros(0)], list[str](), 0
    for s in problem.stated:
        own, place = truth.rows[:, :, place : place + len(s.rows)], place + len(s.rows)
        if s.spans is not None:
            inside = s.spans.contain(s.spans.period(time))
            each = own[..., None] * inside[:, None, None]  # of every row in every span
            rows.append(each.reshape(*own.shape[:2], -1))
            bounds.append(np.tile(s.spans.allowed(inside.sum(0)) / cases, len(s.rows)))
        else:
            rows.append(own)
            bounds.append(s.bound * problem.horizon / cases if s.spends else s.bound)
        labels += [s.label] * len(bounds[-1])
    return truth._replace(rows=np.concatenate(rows, 2), labels=tuple(labels)), np.concatenate(bounds)


def refuse_margin(margin: float | Floats) -> None:
    """Refuse a margin, as it would apply to rounds and not to spans."""
    if np.any(margin):
        raise InvalidInput("margin", "0, where the problem has budgets per period or ends at a time", margin)
