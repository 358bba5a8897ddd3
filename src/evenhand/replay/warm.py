"""Compiles the kernels of a problem file's replay ahead of time, on a synthetic log of a few rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from evenhand.environments.logged import Logged, blocks
from evenhand.policy.ahead import compile_ahead
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.replay.problem_file import read_spec
from evenhand.replay.systems import systems
from evenhand.run.simulation import simulate

_ROWS, _UNITS = 60, 3


def of_problem_file(path: Path) -> dict[str, Callable[[], object]]:
    """Return, by name, a replay of a few rows for every system that `replay_log` runs.

    The first system is that of a campaign, of which what decides many cases at one state is compiled as well.

    Raises:
        InvalidInput: as for `read_spec`; or the recipe refuses the problem.
    """
    found = policies(path)
    log = _made_up(found[0].problem)
    jobs: dict[str, Callable[[], object]] = {
        p.name: partial(simulate, p, replace(log, problem=p.problem), replicas=2, progress=False) for p in found
    }
    return jobs | {f"{found[0].name}, many at once": partial(compile_ahead, found[0])}


def policies(path: Path) -> list[Policy]:
    """Return the systems that `replay_log` runs, that of a campaign first, with groups and features that are made up.

    Raises:
        InvalidInput: as for `of_problem_file`.
    """
    spec = read_spec(path)
    problem = spec.problem(dict.fromkeys(spec.groups, ("one", "other")))
    return systems(problem, spec.settings, _UNITS * len(problem.actions))


def _made_up(problem: Problem) -> Logged:
    """Make a log of all actions in turn; varying propensities ensure that rows are rejected at random."""
    luck, actions = np.random.default_rng(0), np.arange(_ROWS) % len(problem.actions)
    ends = problem.span_by_action[:, actions if problem.span_by_action.shape[1] > 1 else 0]
    low, high = np.nan_to_num(ends, posinf=1.0, neginf=-1.0)
    outcomes = luck.uniform(low, np.maximum(high, low), (_ROWS, len(problem.observed)))
    ends = np.cumsum([0, *(len(g.names) for g in problem.groups)])
    columns = [luck.integers(a, b, _ROWS) for a, b in pairwise(ends)]
    return Logged(
        problem=problem,
        units=luck.standard_normal((_ROWS, _UNITS)),
        layout=blocks(len(problem.actions), _UNITS),
        actions=actions,
        propensities=np.where(np.arange(_ROWS) % 2 == 0, 0.5, 0.4),
        outcomes=outcomes,
        groups=np.stack(columns, 1) if columns else np.zeros((_ROWS, 0), np.int64),
        time=None if problem.until is None else np.linspace(0.0, problem.clock.last, _ROWS, endpoint=False),
        shuffles=1,
    )
