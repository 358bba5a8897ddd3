"""Encodes columns of text as numbers: standardised, one-hot encoded, and laid out for every action."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.faces import amount
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import LARGEST
from evenhand.environments.logged import blocks
from evenhand.problem.clock import Clock
from evenhand.replay.bad_rows import BadRows
from evenhand.replay.reading import Columns
from evenhand.replay.spec import Spec
from evenhand.replay.units import Units

MOST_GROUPS = 20  # with more groups, each has few cases, and tables are too wide to read


class Encoded(NamedTuple):
    """The usable rows of a log as numbers."""

    units: Floats  # (N, u)
    coding: Units  # the encoding of the columns
    layout: Ints  # (A, n)
    actions: Ints  # (N,)
    propensities: Floats  # (N,) NaN where none is stated
    outcomes: Floats  # (N, M + B) learned ones, then noisy ones
    known: Floats | None  # (N, A, L) known outcomes, None if they are as declared
    time: Floats | None  # (N,) times by the clock of the problem, None without a column of them
    groups: tuple[Ints, ...]  # per grouping (N,): index of the group
    levels: dict[str, Mapping[str, float] | tuple[str, ...]]  # per grouping: shares, or just the names of the groups
    notes: list[str]


def encode(spec: Spec, columns: Columns, bad: BadRows, name: str) -> Encoded:
    """Check every row, enter the bad ones in `bad`, and encode the rest.

    Raises:
        InvalidInput: too many rows are bad, an action or a declared group never occurs, or a column has too many
            different values to be categorical.
    """
    text = columns.text
    numeric = {c: _numbers(text[c]) for c in spec.numeric}
    for c, z in numeric.items():
        bad.keep(c, text[c], np.isfinite(z), _finite(text[c]))
    for c in spec.categorical:
        given = spec.levels.get(c, ())
        found = np.array([t in given if given else t != "" for t in text[c]], bool)
        bad.keep(c, text[c], found, f"one of the levels ({', '.join(given)})" if given else "a value")
    known = {c: _numbers(text[c]) for c in spec.known_columns}
    for c, z in known.items():
        bad.keep(c, text[c], np.abs(z) <= LARGEST, _finite(text[c]))
    index = {value: _names(spec).index(action) for value, action in spec.actions.items()}
    actions = np.array([index.get(t, -1) for t in text[spec.action]], np.int64)
    bad.keep(spec.action, text[spec.action], actions >= 0, f"one of the declared actions ({', '.join(index)})")
    propensities = _propensities(spec, columns, bad)
    outcomes = _outcomes(spec, columns, bad)
    time = None if spec.time is None else _times(spec, spec.time, columns, bad)
    for grouping in spec.groups.values():
        values = text[grouping.column]
        allowed = set(grouping.shares) if isinstance(grouping.shares, Mapping) else set(values) - {""}
        found = np.array([t in allowed for t in values], bool)
        bad.keep(grouping.column, values, found, f"one of the groups ({', '.join(sorted(allowed)[:10])})")
    bad.check(name, spec.allow_bad)

    good = bad.good
    kept = {c: [t for t, g in zip(text[c], good, strict=True) if g] for c in text}
    notes: list[str] = []
    numeric = {c: z[good] for c, z in numeric.items()}
    units = Units.fit(numeric, {c: kept[c] for c in spec.categorical}, spec.ranges, spec.levels)
    notes += [f"{c!r} is the same in every row and was left out of the features" for c in units.constant]
    ends = [f"{c} {amount(z.low)} to {amount(z.high)}" for c, z in units.numeric.items() if c not in spec.ranges]
    if ends:
        notes.append(f"numbers standardised by the log: {', '.join(ends)}")
    actions, propensities = actions[good], propensities[good]
    if time is not None:
        time = time[good]
        notes += _late(spec, time)
    for a, action in enumerate(_names(spec)):
        if not (actions == a).any():
            raise InvalidInput("action.values", f"every action to occur in {name}", f"no row with {action!r}")
    groups, levels = _groups(spec, kept, name)
    return Encoded(
        units=units.table(int(good.sum()), numeric, kept),
        coding=units,
        layout=layout(spec, units),
        actions=actions,
        propensities=propensities,
        outcomes=outcomes[good],
        known=spec.known(spec.problem(levels), {c: z[good] for c, z in known.items()}) if known else None,
        time=time,
        groups=groups,
        levels=levels,
        notes=notes,
    )


def _late(spec: Spec, time: Floats) -> list[str]:
    """Say how many rows come after the end of the run."""
    late = int((time >= spec.clock.last).sum())
    return [f"{late:,} rows come after {spec.until}, the end of the run, and are not played"] * (late > 0)


def _names(spec: Spec) -> tuple[str, ...]:
    return tuple(dict.fromkeys(spec.actions.values()))


def _finite(text: list[str]) -> str:
    """Describe the expected number, with a hint if the column has decimal commas."""
    comma = any(re.fullmatch(r"\s*[-+]?\d+,\d+\s*", t) for t in text[:1000])
    return "a finite number" + (", as decimal points are read, not decimal commas" if comma else "")


def _numbers(text: list[str]) -> Floats:
    """Parse texts as numbers; others become NaN."""

    def number(t: str) -> float:
        try:
            return float(t) if "_" not in t else np.nan
        except ValueError:
            return np.nan

    return np.array([number(t) for t in text], float)


def _times(spec: Spec, column: str, columns: Columns, bad: BadRows) -> Floats:
    """Read times by the clock of the problem; those that are none, or before the start, are bad."""
    text = columns.text[column]
    if spec.since is None:
        time, expected = _numbers(text), "a number of at least 0"
    else:
        time, expected = np.array([_time(spec.clock, t) for t in text], float), f"a date from {spec.since} on"
    bad.keep(column, text, (time >= 0.0) & (time < np.inf), expected)
    return time


def _time(clock: Clock, text: str) -> float:
    try:
        return clock.read("time", text)
    except InvalidInput:
        return np.nan


def _propensities(spec: Spec, columns: Columns, bad: BadRows) -> Floats:
    if spec.propensity is None:  # what only learns from a log needs none
        return np.full(len(columns.lines), np.nan)
    if isinstance(spec.propensity, float):
        return np.full(len(columns.lines), spec.propensity)
    text = columns.text[spec.propensity]
    z = _numbers(text)
    bad.keep(spec.propensity, text, (z > 0) & (z <= 1), "a number in (0, 1]")
    return z


def _outcomes(spec: Spec, columns: Columns, bad: BadRows) -> Floats:
    found = []
    learned, noisy = (o for o in spec.outcomes if o.is_learned), (o for o in spec.outcomes if o.is_noisy)
    for outcome in (*learned, *noisy):
        text = columns.text[spec.columns[outcome.name]]
        z = _numbers(text)
        inside: Bools = (z >= outcome.low) & (z <= outcome.high)
        expected = f"a number in [{outcome.low:g}, {outcome.high:g}]"
        if outcome.times is not None:
            expected += f", before it is multiplied by {outcome.times}"
        bad.keep(spec.columns[outcome.name], text, inside, expected)
        free = {a for a in _names(spec) if outcome.is_free(a)}
        paid: Bools = np.array([spec.actions.get(t) not in free for t in columns.text[spec.action]], bool)
        bad.keep(
            spec.columns[outcome.name], text, paid | (z == 0), f"0 under {', '.join(sorted(free))}, as declared free"
        )
        found.append(z)
    return np.stack(found, 1)


def layout(spec: Spec, units: Units) -> Ints:
    """Lay out features: a block per action or, with interactions, main effects and named columns per named action."""
    names, of_column = _names(spec), units.of_column
    if spec.interactions is None:
        return blocks(len(names), len(units.names))
    parts = [np.tile(np.arange(len(units.names)), (len(names), 1))]
    for action, columns in spec.interactions.items():
        own = [0, *(i for c in columns for i in of_column[c])]
        part = np.full((len(names), len(own)), -1)
        part[names.index(action)] = own
        parts.append(part)
    return np.concatenate(parts, 1)


def _groups(
    spec: Spec, text: dict[str, list[str]], name: str
) -> tuple[tuple[Ints, ...], dict[str, Mapping[str, float] | tuple[str, ...]]]:
    indices: list[Ints] = []
    levels: dict[str, Mapping[str, float] | tuple[str, ...]] = {}
    for grouping, g in spec.groups.items():
        values = np.array(text[g.column])
        found, where, counts = np.unique(values, return_inverse=True, return_counts=True)
        if isinstance(g.shares, Mapping):
            absent = [group for group in g.shares if group not in found]
            if absent:
                raise InvalidInput(
                    f"groups.{grouping}.shares", f"groups that occur in {name}", f"none of {absent[0]!r}"
                )
            order = list(g.shares)
            where = np.array([order.index(group) for group in found])[where]
            levels[grouping] = g.shares
        elif len(found) > MOST_GROUPS:
            expected = (
                f"at most {MOST_GROUPS} groups, each with cases enough to compare it: a column of bands, not of numbers"
            )
            raise InvalidInput(f"groups.{grouping}", expected, len(found))
        elif g.shares == "log":
            levels[grouping] = {str(f): float(c) / len(values) for f, c in zip(found, counts, strict=True)}
        else:
            levels[grouping] = tuple(str(f) for f in found)
        rare = int(counts.argmin())
        if counts[rare] * spec.horizon < len(values):
            expected = f"groups that {spec.horizon:,} rounds can be expected to have a case of"
            got = f"{counts[rare]} of {len(values):,} rows with {str(found[rare])!r}"
            raise InvalidInput(f"groups.{grouping}", expected, got)
        indices.append(np.asarray(where, np.int64))
    return tuple(indices), levels
