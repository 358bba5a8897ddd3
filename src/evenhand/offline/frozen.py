"""The lotteries of a policy that learned, frozen as it is: with the state that it was saved in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.types import Floats
from evenhand.offline.evidence import Evidence
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState

Case = Mapping[str, Any]


def frozen(
    log: Evidence, policy: Policy, state: PolicyState, *, encode: Callable[[Case], Context] | None = None
) -> Floats:
    """Return the chances with which a policy plays each action in every row, if it learns no more, `->(N,A)`.

    The state is left as it is. Its prices, its model and what it has left of hard budgets are those of its next round,
    in every row. `value(log, policies={"saved": frozen(log, policy, state)})` judges it.

    Args:
        log: whose columns have the names of the policy's features; groups are stated by grouping.
        policy: whose chances are known: no draws from a posterior, and one play per round.
        state: of one replica, such as `policy.load` returns.
        encode: makes a context of a case, which has the columns of the log's features and groups; `policy.encode` by
            default. The `context` of a campaign's encoder does so for a policy of a problem file.

    Raises:
        InvalidInput: the policy has other actions, its chances are unknown, or it can play nothing in some row.
    """
    p = policy.problem
    if set(p.actions) != set(log.problem.actions):
        raise InvalidInput("policy", f"one with the actions {list(log.problem.actions)}", list(p.actions))
    if p.n_plays != 1 or len(state.t) != 1:
        raise InvalidInput("policy", "one play per round, and a state of one replica", f"{p.n_plays}, {len(state.t)}")
    found, read = np.empty((log.rows, len(p.actions))), encode or policy.encode
    for row, case in enumerate(_cases(log, policy if encode is None else None)):
        decision = policy.decide(state, read(case))
        chances = state.recent.chances
        if chances is None:
            raise InvalidInput("policy", "one whose chances are known", "one that draws from a posterior")
        if decision.plays[0, 0] < 0:
            raise InvalidInput("state", "one in which something can be played", f"nothing playable in row {row}")
        found[row] = chances[0]
    return found[:, [p.actions.index(name) for name in log.names]]


def _cases(log: Evidence, policy: Policy | None) -> list[dict[str, Any]]:
    """The rows as cases: the features and groupings of a policy, or all columns of features and groups."""
    columns = {name: values.tolist() for name, values in log.columns.items()}
    for grouping in log.problem.groups:
        column = grouping.name if policy is not None or log.spec is None else log.spec.groups[grouping.name].column
        columns[column] = np.array(grouping.names)[log.groups[grouping.name]].tolist()
    if policy is not None:
        wanted = [*(f.name for f in policy.problem.features), *(g.name for g in policy.problem.groups)]
        for name in wanted:
            if name not in columns:
                raise InvalidInput("log", f"a column {name!r}, which the policy asks for", list(columns))
        columns = {name: columns[name] for name in wanted}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
