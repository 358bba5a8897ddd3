"""What a decision and its update cost where cases have one of very many levels: dense and diagonal regressions."""

from __future__ import annotations

import sys
import time

import numpy as np

from evenhand.core.records import Context
from evenhand.core.row_pairs import Packed
from evenhand.core.types import Floats
from evenhand.models import BayesianRidge, DiagonalRidge, PerAction
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem import Budget, Outcome, Problem
from evenhand.recipes import pgd, resolving, ucb
from evenhand.report.summary import table

ACTIONS = 10
_OFFERED, _GROUPS = np.ones((1, ACTIONS), bool), np.zeros((1, 1, 0), np.int64)
_RATES = 0.1 + 0.08 * np.arange(ACTIONS)


def wide_table(rounds: int = 2000) -> str:
    """Microseconds of a core for a decision and its update, 10 actions: models by levels, and recipes."""
    found = list[list[str]]()
    for levels, least in ((100, 60), (300, 12)):
        dense = _each(BayesianRidge(n_features=1 + levels))
        found.append(_line(ucb(_problem(), dense), levels, 1 + levels, min(least, rounds)))
    found.append(_line(ucb(_problem(), _each(DiagonalRidge(n_features=1001))), 1000, 1001, rounds))
    for levels, columns in ((1000, 1001), (100_000, 2**18)):
        model = _each(DiagonalRidge(packed=Packed(columns=columns, pairs=2)))
        for policy in (ucb(_problem(), model), pgd(_problem(), model), resolving(_problem(), model)):
            found.append(_line(policy, levels, columns, rounds))
    return table(["policy", "model", "levels, columns", "us"], found)


def _problem() -> Problem:
    names = tuple(f"action {i}" for i in range(ACTIONS))
    cost = Outcome("cost", known={name: float(i > 0) for i, name in enumerate(names)})
    budget = Budget("cost", total=3000)
    return Problem(actions=names, outcomes=(Outcome("won"), cost), maximize="won", subject_to=(budget,), horizon=10_000)


def _each(model: Model) -> PerAction:
    return PerAction(inner=model, actions=ACTIONS)


def _line(policy: Policy, levels: int, columns: int, rounds: int) -> list[str]:
    rng, state, spent = np.random.default_rng(0), policy.start(), np.zeros(rounds)
    known = policy.problem.declared[None]
    for t in range(rounds):
        x = _case(policy.model.n_features - 1, 1 + rng.integers(levels))
        began = time.process_time()
        decision = policy.act(state, Context(x, known, _GROUPS, _OFFERED))
        spent[t] += time.process_time() - began
        y = (rng.random((1, 1, 1)) < _RATES[decision.plays.item()]).astype(float)
        began = time.process_time()
        policy.learn(state, decision, y)
        spent[t] += time.process_time() - began
    inner = getattr(policy.model, "inner", policy.model)
    cost = 1e6 * spent[rounds // 2 :].mean()
    return [policy.name, type(inner).__name__, f"{levels:,}, {columns:,}", f"{cost:,.0f}"]


def _case(n: int, level: int) -> Floats:
    """One row for all actions after the index of each: packed where it is short."""
    row = np.array([0.0, 1.0, float(level), 1.0]) if n == 4 else np.eye(1, n)[0] + np.eye(1, n, level)[0]
    each = np.broadcast_to(row, (1, ACTIONS, n))
    return np.concatenate([np.arange(ACTIONS, dtype=float)[None, :, None], each], 2)


if __name__ == "__main__":
    print(wide_table(*map(int, sys.argv[1:])))
