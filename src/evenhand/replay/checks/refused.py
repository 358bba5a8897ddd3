"""Refuses a log whose stated propensities are far from the shares of its actions."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.errors import InvalidInput
from evenhand.core.faces import amount, few
from evenhand.problem.problem import Problem
from evenhand.replay.checks.drawn import Drawn, foreseen
from evenhand.replay.checks.propensities import misfit
from evenhand.replay.encoding import Encoded
from evenhand.replay.spec import Spec
from evenhand.replay.toml import locate_keys


def drawn_of(problem: Problem, encoded: Encoded) -> Drawn:
    """Return what checks read of an encoded log."""
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
    expected = "the probabilities by which the log drew actions (unchecked = true uses others all the same)"
    with locate_keys(spec.origin, name):
        raise InvalidInput("propensity", expected, f"the {_stated(spec)}, while the shares in {name} are {found}")


def _stated(spec: Spec) -> str:
    if isinstance(spec.propensity, Mapping):
        return "constants " + few(f"{name} {amount(chance, 6)}" for name, chance in spec.propensity.items())
    if isinstance(spec.propensity, float):
        return f"constant {amount(spec.propensity, 6)}"
    return f"column {spec.propensity!r}"
