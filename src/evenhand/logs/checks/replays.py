"""Checks of a log before a replay: propensities far from the shares of actions are refused; averages as logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.texts import amount, few
from evenhand.core.types import Floats
from evenhand.logs.checks.budgets import budget, ends, horizon, lasts, most_of
from evenhand.logs.checks.common import Checks, of_log
from evenhand.logs.checks.propensities import misfit
from evenhand.logs.checks.rows import Drawn, foreseen
from evenhand.logs.encoding import Encoded
from evenhand.logs.spec import Spec
from evenhand.logs.toml import locate_keys
from evenhand.problem.problem import Problem
from evenhand.report.quantities import objective_name


def drawn_of(problem: Problem, encoded: Encoded) -> Drawn:
    """Return the data of an encoded log that checks read."""
    return Drawn(
        names=problem.actions,
        actions=encoded.actions,
        propensities=encoded.propensities,
        units=encoded.units,
        coding=encoded.coding,
        groups=dict(zip((g.name for g in problem.groups), encoded.groups, strict=True)),
        group_names={g.name: g.names for g in problem.groups},
        clusters=encoded.clusters or encoded.repeats,
        foreseen={} if encoded.known is None else foreseen(problem, encoded.known, encoded.spec.by_case),
    )


def refuse_misfit(name: str, spec: Spec, problem: Problem, encoded: Encoded) -> None:
    """Refuse propensities that are far from the shares of a log, unless its problem file insists on them.

    Raises:
        InvalidInput: they are; the error names the shares.
    """
    found = None if spec.unchecked else misfit(drawn_of(problem, encoded), by_row=isinstance(spec.propensity, str))
    if found is None:
        return
    told = f"the probabilities by which the log drew actions, in {spec.logged!r}"
    expected = f"{told} (unchecked = true uses others all the same)"
    with locate_keys(spec.origin, name):
        raise InvalidInput("propensity", expected, f"the {_stated(spec)}, while the shares in {name} are {found}")


def _stated(spec: Spec) -> str:
    if isinstance(spec.propensity, Mapping):
        return "constants " + few(f"{name} {amount(chance, 6)}" for name, chance in spec.propensity.items())
    if isinstance(spec.propensity, float):
        return f"constant {amount(spec.propensity, 6)}"
    return f"column {spec.propensity!r}"


def of_replay(problems: Sequence[Problem], encoded: Encoded) -> Checks:
    """Check a log and how long it lasts, for a problem or for several that differ only in their budgets."""
    p = problems[0]
    log = drawn_of(p, encoded)
    known = p.declared[None] if encoded.known is None else encoded.known
    most = most_of(log, p, _logged(p, encoded), known)
    rounds = min(float(p.horizon), lasts(log))
    idle = (budget(problem, most, rounds) for problem in problems)
    return {
        **encoded.checks,
        **of_log(log),
        "horizon": horizon(log, p.horizon) if p.until is None else None,
        "ends": ends(p, known, most, rounds),
        "budget": next((sentence for sentence in idle if sentence is not None), None),
    }


def averages(p: Problem, encoded: Encoded) -> str:
    """State the average of a round as logged, and under each single action by averages that are weighted by 1 / p."""
    name, w, logged = objective_name(p), 1.0 / encoded.propensities, _logged(p, encoded)
    y = np.stack([logged[outcome] for outcome in p.objective.outcomes], 1)
    whole = amount(float(p.objective.value(y.mean(0))))
    each = [(action, encoded.actions == a) for a, action in enumerate(p.actions)]
    alike = [
        f"{amount(float(p.objective.value(np.average(y[mine], 0, w[mine]))))} with {action!r}"
        for action, mine in each
        if mine.any()
    ]
    return f"By the averages of the log, a round brings {whole} {name} as logged; with one action for all, {few(alike)}"


def _logged(p: Problem, encoded: Encoded) -> dict[str, Floats]:
    """Return the logged values of every outcome, `(N)` each."""
    known = p.declared[None] if encoded.known is None else encoded.known
    of_played = known[np.arange(len(encoded.actions)) % len(known), encoded.actions]
    amounts = p.amounts(of_played, encoded.outcomes)
    return dict(zip((*p.learned, *p.known), (*amounts.T[: len(p.learned)], *of_played.T), strict=True))
