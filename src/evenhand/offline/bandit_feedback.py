"""Logs as the Open Bandit Pipeline has them: dictionaries of logged bandit feedback, read and made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import whole
from evenhand.logs.columns import Names
from evenhand.logs.units import Units
from evenhand.objectives import Linear
from evenhand.offline.evidence import Evidence
from evenhand.problem import Outcome, Problem

REWARD, POSITION = "reward", "position"
NEEDED = ("n_rounds", "n_actions", "context", "action", "reward", "pscore")


def from_bandit_feedback(feedback: Mapping[str, Any], problem: Problem | None = None) -> Evidence:
    """Read logged bandit feedback of the Open Bandit Pipeline.

    Every number of the context is a feature, standardised; where rows have several positions, the position is one too.
    Numbers that are the same in every row are left out.

    Args:
        feedback: `n_rounds` (N), `n_actions` (A), `context` `(N,d)`, `action` `(N)`, `reward` `(N)`, `pscore` `(N)` in
            (0, 1], and `position` `(N)` or None; also the names `actions` and `features`, as exports of campaigns have
            them. Other keys are not read.
        problem: has A actions, and one learned outcome, which is the reward; it may have known outcomes and budgets on
            them, and no groups of cases. By default actions have their numbers as names, and the reward is maximised.

    Raises:
        InvalidInput: a key is missing, an array has another shape or an invalid value, or the problem has other
            actions or outcomes.

    >>> rows = {"n_rounds": 4, "n_actions": 2, "context": [[0.5], [1.0], [1.5], [1.0]], "position": None}
    >>> log = from_bandit_feedback(rows | {"action": [0, 1, 1, 0], "reward": [0, 1, 1, 0], "pscore": [0.5] * 4})
    >>> log.problem.actions, log.achieved.tolist(), log.columns["x0"].tolist()
    (('0', '1'), [0.0, 1.0, 1.0, 0.0], [0.5, 1.0, 1.5, 1.0])
    """
    missing = [key for key in NEEDED if key not in feedback]
    if missing:
        raise InvalidInput("feedback", f"a dictionary with {', '.join(NEEDED)}", f"none with {', '.join(missing)}")
    rows, count = (_whole(feedback, key) for key in ("n_rounds", "n_actions"))
    context = _numbers("context", feedback["context"], (rows, None))
    reward = _numbers("reward", feedback["reward"], (rows,))
    pscore = _numbers("pscore", feedback["pscore"], (rows,))
    if not ((pscore > 0.0) & (pscore <= 1.0)).all():
        worst = pscore[~((pscore > 0.0) & (pscore <= 1.0))][0]
        raise InvalidInput("feedback['pscore']", "probabilities in (0, 1]", worst)
    actions = _places("action", feedback["action"], rows, count)
    given = feedback.get(POSITION)
    position = np.zeros(rows, np.int64) if given is None else _places(POSITION, given, rows, None)
    problem = _stated(feedback, count, reward) if problem is None else _checked(problem, count, reward)
    names = _texts(feedback, "features", context.shape[1]) or [f"x{i}" for i in range(context.shape[1])]
    numeric = dict(zip(names, context.T, strict=True))
    text = (
        {POSITION: Names.of(position.astype(str).tolist())} if position.any() and len(np.unique(position)) > 1 else {}
    )
    coding = Units.fit(numeric, text)
    columns: dict[str, Any] = {name: z for name, z in numeric.items() if name in coding.numeric}
    return Evidence(
        log="bandit feedback",
        problem_file="problem",
        problem=problem,
        features=coding.table(rows, numeric, text),
        columns=columns | {name: np.array(z.values)[z.codes] for name, z in text.items()},
        actions=actions,
        propensities=pscore,
        outcomes=reward[:, None],
        known=problem.declared[None],
        groups={},
        coding=coding,
    )


def to_bandit_feedback(log: Evidence, outcome: str | None = None) -> dict[str, Any]:
    """Make the logged bandit feedback of the Open Bandit Pipeline.

    Args:
        log: such as `Evidence.read` returns.
        outcome: the reward; by default the objective, as it was achieved in every row.

    Returns:
        `n_rounds`, `n_actions`, `context` (the features, of which the first is 1), `action_context` (an indicator per
        action), `action`, `position` (None), `reward` and `pscore`; and the names `actions` and `features`.

    Raises:
        InvalidInput: the outcome is not one of the problem's.
    """
    log.refuse_weights("to_bandit_feedback")
    log.refuse_hashed("to_bandit_feedback")
    names = log.problem.names
    if outcome is not None and outcome not in names:
        raise InvalidInput("outcome", f"one of {', '.join(names)}", outcome)
    features = log.coding.names if log.coding else ("1", *(f"x{i}" for i in range(log.features.shape[1] - 1)))
    return {
        "n_rounds": log.rows,
        "n_actions": len(log.problem.actions),
        "context": np.array(log.features),
        "action_context": np.eye(len(log.problem.actions)),
        "action": log.actions.copy(),
        POSITION: None,
        REWARD: log.achieved.copy() if outcome is None else log.used([outcome])[outcome].copy(),
        "pscore": log.propensities.copy(),
        "actions": list(log.problem.actions),
        "features": list(features),
    }


def _whole(feedback: Mapping[str, Any], key: str) -> int:
    value = feedback[key]
    found = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
    found = int(found) if isinstance(found, np.integer) else found
    whole(f"feedback[{key!r}]", found, 1)
    return int(found)


def _numbers(key: str, values: Any, shape: tuple[int | None, ...]) -> Floats:
    """Return finite numbers of a shape, in which None stands for any number.

    Raises:
        InvalidInput: they are others.
    """
    field, told = f"feedback[{key!r}]", " x ".join("d" if n is None else f"{n:,}" for n in shape)
    try:
        found = np.asarray(values, float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(field, f"{told} numbers", "others") from error
    if found.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, found.shape, strict=True)):
        raise InvalidInput(field, f"{told} numbers", f"shape {found.shape}")
    if not np.isfinite(found).all():
        raise InvalidInput(field, "finite numbers", "NaN or an infinite number")
    return found


def _places(key: str, values: Any, rows: int, count: int | None) -> Ints:
    """Return whole numbers from 0 on, below a count if there is one."""
    found = _numbers(key, values, (rows,))
    high = np.inf if count is None else count - 1
    bad = (found != np.floor(found)) | (found < 0) | (found > high)
    if bad.any():
        upto = "on" if count is None else f"to {count - 1}"
        raise InvalidInput(f"feedback[{key!r}]", f"whole numbers from 0 {upto}", found[bad][0])
    return found.astype(np.int64)


def _texts(feedback: Mapping[str, Any], key: str, count: int) -> list[str] | None:
    """Return names that feedback may have, None if it has none; a list of another length is an error."""
    if key not in feedback:
        return None
    found = [str(name) for name in feedback[key]]
    if len(found) != count or len(set(found)) != count:
        raise InvalidInput(f"feedback[{key!r}]", f"{count} different names", found)
    return found


def _stated(feedback: Mapping[str, Any], count: int, reward: Floats) -> Problem:
    low, high = min(0.0, float(reward.min())), max(1.0, float(reward.max()))
    actions = _texts(feedback, "actions", count) or [str(a) for a in range(count)]
    outcome = Outcome(REWARD, low=low, high=high)
    return Problem(actions=tuple(actions), outcomes=(outcome,), maximize=REWARD, horizon=len(reward))


def _checked(problem: Problem, count: int, reward: Floats) -> Problem:
    """Check a problem against the feedback.

    Raises:
        InvalidInput: it has other actions, outcomes or groups, or the reward is outside of its range.
    """
    if len(problem.actions) != count:
        raise InvalidInput("problem.actions", f"{count} actions, as the feedback has", len(problem.actions))
    if len(problem.observed) != 1 or len(problem.learned) != 1:
        raise InvalidInput("problem.outcomes", "one outcome that is learned, the reward", ", ".join(problem.observed))
    if divided := [g.name for g in problem.groups if g.of is None]:
        raise InvalidInput("problem.groups", "groups of actions alone, as the feedback has none of cases", divided[0])
    if not isinstance(problem.objective, Linear):
        raise InvalidInput("problem.maximize", "a weighted sum of outcomes", problem.objective)
    low, high = float(problem.low[0]), float(problem.high[0])
    if reward.min() < low or reward.max() > high:
        expected = f"{problem.learned[0]} within [{low:g}, {high:g}], its range in the problem"
        raise InvalidInput("feedback['reward']", expected, f"{reward.min():g} to {reward.max():g}")
    return problem
