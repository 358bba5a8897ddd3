"""The lotteries of a policy that learned, frozen as it is: with the state that it was saved in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.types import Floats
from evenhand.offline.evidence import Evidence
from evenhand.policy.after_horizon import decide_late
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.problem.end import After
from evenhand.problem.hashes import reads

Case = Mapping[str, Any]
_NOBODY = "nobody whom an earlier case was about"


@dataclass(frozen=True, kw_only=True, eq=False)
class Saved:
    """A policy in a saved state, which no longer learns; `value` evaluates it by its lotteries.

    Each row is taken to be about a unit that the state does not know, as `value` keeps to no cap.

    Args:
        policy: whose chances are known: no draws from a posterior, and one play per round.
        state: of one replica, such as `policy.load` returns.
        encode: makes a context of a case; `policy.encode` by default.
        columns: that `encode` reads; None stands for all columns of the log's features, groups and known outcomes.
        after: what is played after the horizon.
    """

    policy: Policy
    state: PolicyState
    encode: Callable[[Case], Context] | None = None
    columns: tuple[str, ...] | None = None
    after: After = "nothing"

    def lotteries(self, log: Evidence) -> Floats:
        """Return the probability of each action in every row, `->(N,A)`; the state is left as it is.

        Raises:
            InvalidInput: the policy has other actions, its chances are unknown, it can play nothing in some row, or the
                log has no column that it reads.
        """
        policy, state, p = self.policy, self.state, self.policy.problem
        if set(p.actions) != set(log.problem.actions):
            raise InvalidInput("policy", f"one with the actions {list(log.problem.actions)}", list(p.actions))
        if p.n_plays != 1 or len(state.t) != 1:
            got = f"{p.n_plays}, {len(state.t)}"
            raise InvalidInput("policy", "one play per round, and a state of one replica", got)
        found, read = np.empty((log.rows, len(p.actions))), self.encode or policy.encode
        for row, case in enumerate(self._cases(log)):
            context = read(case)
            decision = decide_late(policy, state, context) if self.after == "go on" else policy.decide(state, context)
            chances = state.recent.chances
            if chances is None:
                raise InvalidInput("policy", "one with known probabilities", "one that draws from a posterior")
            if decision.plays[0, 0] < 0:
                got = f"nothing playable in row {row}"
                raise InvalidInput("state", "one in which something can be played", got)
            found[row] = chances[0]
        return found[:, [p.actions.index(name) for name in log.names]]

    def _cases(self, log: Evidence) -> list[dict[str, Any]]:
        """The rows as cases that state what is read, with groups by grouping where the policy itself reads them."""
        p, own = self.policy.problem, self.encode is None
        columns = {name: _present(values) for name, values in log.columns.items()}
        for grouping in log.problem.groups:
            column = grouping.name if own or log.spec is None else log.spec.groups[grouping.name].column
            columns[column] = np.array(grouping.names)[log.groups[grouping.name]].tolist()
        columns |= {name: values.tolist() for name, values in _known(log).items()}
        unit = {} if p.unit is None else {p.unit.name: [_NOBODY] * log.rows}
        columns |= unit
        wanted = (*reads(p.features), *(g.name for g in p.groups), *unit) if own else self.columns
        if wanted is not None:
            for name in wanted:
                if name not in columns:
                    raise InvalidInput("log", f"a column {name!r}, which the policy asks for", list(columns))
            columns = {name: columns[name] for name in wanted}
        if not columns:
            return [{} for _ in range(log.rows)]
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def frozen(
    log: Evidence, policy: Policy, state: PolicyState, *, encode: Callable[[Case], Context] | None = None
) -> Floats:
    """Return the probability with which a policy plays each action in every row, if it no longer learns, `->(N,A)`.

    The state is left as it is. Its prices, its model and what it has left of hard budgets are those of its next round,
    in every row. `value(log, policies={"saved": frozen(log, policy, state)})` judges it.

    Args:
        log: whose columns have the names of the policy's features; groups are stated by grouping.
        policy, state: as for `Saved`.
        encode: makes a context of a case, which has the columns of the log's features, groups and known outcomes;
            `policy.encode` by default. The `context` of a campaign's encoder does so for a policy of a problem file.

    Raises:
        InvalidInput: as for `Saved.lotteries`.
    """
    return Saved(policy=policy, state=state, encode=encode).lotteries(log)


def _present(values: np.ndarray[Any, Any]) -> list[Any]:
    """The values of a column, None if a number is missing."""
    return [None if z != z else z for z in values.tolist()] if values.dtype.kind == "f" else values.tolist()


def _known(log: Evidence) -> dict[str, Floats]:
    """The columns of outcomes that are known by case, as they are read from a log."""
    by_case = {} if log.spec is None else log.spec.by_case
    p = log.problem
    return {
        column: log.known[:, p.actions.index(action), p.known.index(name)]
        for name, by in by_case.items()
        for action, column in by.items()
    }
