"""Encodes columns of text as numbers: standardised, one-hot encoded, and laid out for every action."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.row_pairs import CaseRows, Size
from evenhand.core.texts import amount, few
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import LARGEST
from evenhand.environments.logged import blocks
from evenhand.logs import toml
from evenhand.logs.bad_rows import BadRows, absent, drop, is_name, marked, missing, with_levels
from evenhand.logs.checks.repeats import FEW, is_owner, scales, undeclared
from evenhand.logs.clusters import Clusters, declared
from evenhand.logs.column_guesses import is_gap, yes_no
from evenhand.logs.columns import POINT, Columns, Names, Packed, as_number, grouped, narrow
from evenhand.logs.dates import days, offset, slashed
from evenhand.logs.files import misread
from evenhand.logs.keys import CLIP, DROP, REFUSE
from evenhand.logs.spec import Spec
from evenhand.logs.units import Features, Units
from evenhand.problem.clock import Clock
from evenhand.problem.constraints import groups_named, of_one_outcome

MOST_GROUPS = 20  # with more groups, each has few cases, and tables are too wide to read


class Encoded(NamedTuple):
    """The usable rows of a log, as numbers."""

    spec: Spec  # with the horizon of the log, where the file leaves it to the log
    units: Features  # (N, u)
    coding: Units  # the encoding of the columns
    columns: Packed  # the features as the log has them
    layout: Ints  # (A, n)
    scales: Floats | None  # (A, n) None if all are 1
    actions: Ints  # (N,)
    propensities: Floats  # (N,) NaN where none is stated
    outcomes: Floats  # (N, M + B) learned ones, then noisy ones
    known: Floats | None  # (N, A, L) known outcomes, None if they are as declared
    time: Floats | None  # (N,) times by the clock of the problem, None without a column of them
    groups: tuple[Ints, ...]  # per grouping (N,): index of the group
    levels: dict[str, Mapping[str, float] | tuple[str, ...]]  # per grouping: shares, or just the names of the groups
    notes: list[str]
    checks: Mapping[str, str | None]  # of the rows that were dropped for their outcome, or clipped
    clusters: Clusters | None  # that the file declares
    repeats: Clusters | None  # those that nobody declared, where rows are alike in them


def encode(spec: Spec, columns: Columns, bad: BadRows, name: str, absent: Collection[str] = ()) -> Encoded:
    """Check every row, enter the bad ones in `bad`, and encode the rest.

    Args:
        spec, columns, bad: what is read, and how.
        name: of the log, for messages.
        absent: the actions that may have no row.

    Raises:
        InvalidInput: too many rows are bad, one has no action or outcome that can be used, an action or a declared
            group never occurs, or a column has too many different values to be categorical.
    """
    refuse_thousands(spec, columns)
    drop(spec, columns, bad)
    columns = with_levels(spec, columns)
    numeric = {c: narrow(feature(spec, columns, bad, c)) for c in spec.numeric}
    for c in spec.categorical:
        given = spec.names_of(c)
        if c in spec.texts:
            continue  # which may be empty
        found = columns.names(c).are(given) if given else is_name(spec, columns, c)
        bad.keep(
            c,
            found,
            f"one of the levels ({few(given, 300)}){_elsewhere(given, columns.names(c))}" if given else "a value",
        )
    known = {c: columns.numbers(c) for c in spec.known_columns}
    for c, z in known.items():
        bad.keep(c, np.abs(z) <= LARGEST, _finite(columns, c))
    chosen, index = columns.names(spec.logged), list(spec.actions)
    logged = chosen.places(index)
    rule = spec.outside.get(spec.logged, REFUSE)
    bad.need(
        spec.logged, logged >= 0, f"one of the declared actions ({few(index, 300)}){_elsewhere(index, chosen)}", rule
    )
    actions = np.array([*(_names(spec).index(action) for action in spec.actions.values()), -1])[logged]
    propensities = _propensities(spec, columns, bad, actions)
    outcomes = _outcomes(spec, columns, bad)
    time = None if spec.time is None else _times(spec, spec.time, columns, bad)
    for grouping in spec.groups.values():
        values = columns.names(grouping.column)
        nothing = {"", *spec.form.missing}
        allowed = set(grouping.shares) if isinstance(grouping.shares, Mapping) else set(values.values) - nothing
        bad.keep(
            grouping.column,
            values.are(allowed),
            f"one of the groups ({few(sorted(allowed), 300)}){_elsewhere(allowed, values)}",
        )
    if spec.weight is not None:
        z = columns.numbers(spec.weight)
        bad.need(spec.weight, (z > 0.0) & (z <= LARGEST), "a number above 0", REFUSE)
    bad.check(name, spec.allow_bad, _empty(spec, columns, bad))
    checks = bad.checks(columns.names(spec.logged), spec.actions, set(spec.columns.values()))
    clusters = None if spec.cluster is None else declared(spec.cluster, columns, bad, spec.form.missing)
    weights = None if spec.weight is None else bad.kept(columns.numbers(spec.weight))

    kept = {c: Names(bad.kept(z.codes), z.values) for c, z in columns.each.items() if isinstance(z, Names)}
    notes = [*columns.notes, *bad.notes()]
    numeric, known = ({c: bad.kept(z) for c, z in each.items()} for each in (numeric, known))
    names = {c: kept[c] for c in spec.categorical}
    packed = Packed({**numeric, **names})
    marks = {"missing": marked(spec), "dates": spec.dates}
    units = Units.fit(Packed(numeric), names, spec.ranges, spec.levels, **marks, hashed=spec.hashing)
    notes += [f"{c!r} is the same in every row and was left out of the features" for c in units.constant]
    learned = [(c, z) for c, z in units.numeric.items() if c not in spec.ranges]
    ends = [f"{c} {units.said(c, z.low)} to {units.said(c, z.high)}" for c, z in learned]
    if ends:
        notes.append(f"numbers standardised by the log: {few(ends, 1000)}")
    notes += [*_merged(spec), *_zones(spec, kept)]
    actions, propensities, outcomes = bad.kept(actions), bad.kept(propensities), bad.kept(outcomes)
    owners = [c for c in columns.each if c not in spec.places and is_owner(c)]
    alike, said = undeclared(owners, columns, bad, actions, outcomes, spec.form.missing)
    if clusters is not None and clusters.count < FEW:
        said = (
            f"the {len(actions):,} rows are of {clusters.count} clusters, and errors by fewer than {FEW} are too small"
        )
    if time is not None:
        time = bad.kept(time)
        notes += [*_late(spec, time), *_doubtful(spec, columns, bad)]
    for a, action in enumerate(_names(spec)):
        if action not in absent and not (actions == a).any():
            raise InvalidInput("action.values", f"every action to occur in {name}", f"no row with {action!r}")
    least = 1.0 if spec.estimated else float(propensities.min())
    lasting = spec.lasting(len(columns), len(propensities) * least)
    notes += _totals(spec, lasting, len(columns))
    spec = replace(lasting, signs={c: columns.each[c].sign for c in (*spec.numeric, *spec.known_columns)})
    groups, levels = _groups(spec, kept, name, weights)
    if weights is not None:
        clusters = (Clusters.of(np.arange(len(actions))) if clusters is None else clusters).weighted(weights)
        alike = None if alike is None else alike.weighted(weights)
        notes.append(f"rows count by {spec.weight!r}, which is from {weights.min():g} to {weights.max():g}")
    return Encoded(
        spec=spec,
        units=Features(units, packed, len(actions)),
        coding=units,
        columns=packed,
        layout=layout(spec, units),
        scales=scales_of(spec, units),
        actions=actions,
        propensities=propensities,
        outcomes=outcomes,
        known=spec.known(spec.problem(levels), known) if known else None,
        time=time,
        groups=groups,
        levels=levels,
        notes=notes,
        checks={**checks, "clusters": said, "scales": scales(Packed(numeric | known), spec.ranges, units, bad)},
        clusters=clusters,
        repeats=alike,
    )


def refuse_thousands(spec: Spec, columns: Columns) -> None:
    """Refuse numbers whose points separate thousands, or may, as 1.515 would be read as less than 2.

    Raises:
        InvalidInput: a column has such numbers, and the file does not state what points are.
    """
    for column, text in columns.thousands(sorted(spec.numbers & columns.each.keys())).items():
        expected = (
            'numbers without separators of thousands, or decimal = "." under [log] if its points are between whole '
            "numbers and fractions"
        )
        raise InvalidInput(
            f"{spec.places[column]}: {column!r}", expected, f"{text}, as three digits follow every point"
        )


def feature(spec: Spec, columns: Columns, bad: BadRows, column: str) -> Floats:
    """Read a column of numbers or dates, NaN if a value is missing and may be, and enter other rows in `bad`."""
    gone = absent(spec, columns, column)
    if column in spec.dates:
        z = columns.names(column).floats(partial(days, order=spec.form.dates))
        bad.keep(column, np.isfinite(z) | gone, "a date, such as 2026-11-23 or 23.11.2026" + _ordered(columns, column))
    else:
        z = columns.numbers(column)
        bad.keep(column, np.isfinite(z) | gone, _finite(columns, column))
    return np.where(gone, np.nan, z) if gone.any() else z


def _elsewhere(names: Iterable[str], column: Names) -> str:
    """Say which of some names a column has, if it were read in another code page."""
    return next(filter(None, (misread(name, column.values) for name in names)), "")


def _ordered(columns: Columns, name: str) -> str:
    """Say how dates with slashes or hyphens are read, if a column has some that could be read otherwise."""
    some = any(map(slashed, columns.names(name).values))
    return " (log.dates says how those with slashes or hyphens are read)" if some else ""


def _empty(spec: Spec, columns: Columns, bad: BadRows) -> list[str]:
    """Return the features and groups for whose missing values rows are bad."""
    before = {*spec.numeric, *spec.categorical, *(g.column for g in spec.groups.values())}
    found = dict.fromkeys(reason.column for reason in bad.reasons if reason.column in before)
    return [column for column in found if missing(spec, columns, column).any()]


def _merged(spec: Spec) -> Iterator[str]:
    """Say which actions stand for several logged values, as their propensities have to be sums."""
    for action in _names(spec):
        values = [value for value, of in spec.actions.items() if of == action]
        if len(values) > 1:
            told = ", ".join(map(repr, values))
            yield f"{action!r} stands for {told}: its propensity has to be that of any of them, the sum of theirs"


def _zones(spec: Spec, text: Mapping[str, Names]) -> Iterator[str]:
    """Say which columns have dates of several time zones."""
    for column in spec.dates:
        found = sorted({offset(value) for value in text[column].counted()[0]} - {""})
        if len(found) > 1:
            yield f"{column!r} has dates of several time zones ({few(found)}): each is the day that is written there"


def _totals(spec: Spec, lasting: Spec, rows: int) -> Iterator[str]:
    """Say which totals of a file that leaves the horizon to the log are for all rows of it."""
    pairs = zip(spec.subject_to, lasting.subject_to, strict=True)
    for one in of_one_outcome(one for stated, one in pairs if one != stated):
        if groups_named([one], str(one.by)):
            yield f"the totals of {one.outcome} by {one.by} are for the {rows:,} rows of the log"
            continue
        total = f"the total of {amount(one.total_over(rows), 6)} {one.outcome}"
        yield f"{total} is for the {rows:,} rows of the log, {amount(one.limit(rows))} per row"


def _late(spec: Spec, time: Floats) -> list[str]:
    """Say how many rows come after the end of the run."""
    late = int((time >= spec.clock.last).sum())
    return [f"{late:,} rows come after {spec.until}, the end of the run, and are not played"] * (late > 0)


def _doubtful(spec: Spec, columns: Columns, bad: BadRows) -> Iterator[str]:
    """Say how many rows have local times that a change of the clock makes doubtful, and how these are read."""
    if spec.zone is None or spec.time is None:
        return
    column = columns.names(spec.time)
    doubtful = np.array([spec.clock.is_doubtful(text) for text in column.values])
    if rows := int(doubtful[bad.kept(column.codes)].sum()):
        told = "read as the earlier one, or as much later as the clock is set forward"
        yield f"{rows:,} rows have times that come twice or never in {spec.zone}, as the clock changes: {told}"


def _names(spec: Spec) -> tuple[str, ...]:
    return tuple(dict.fromkeys(spec.actions.values()))


def _finite(columns: Columns, name: str) -> str:
    """Describe the expected number, with a hint if the column has decimal commas or separators of thousands."""
    comma = columns.decimal == POINT and any(re.fullmatch(r"[-+]?\d+,\d+", t) for t in _odd(columns, name))
    return f"a finite number{_thousands(columns, name) or ', as decimal points are read, not decimal commas' * comma}"


def _thousands(columns: Columns, name: str) -> str:
    """Say that numbers are read without separators of thousands, if those that cannot be read may have some."""
    odd = [t for t in _odd(columns, name) if not is_gap(t) and np.isnan(as_number(t, columns.decimal))]
    return " without separators of thousands" if grouped(odd) else ""


def _odd(columns: Columns, name: str) -> list[str]:
    """The texts of a column, or some of those that are no numbers."""
    column = columns.each[name]
    return list(column.values if isinstance(column, Names) else itertools.islice(column.odd.values(), 1000))


def _times(spec: Spec, column: str, columns: Columns, bad: BadRows) -> Floats:
    """Read times by the clock of the problem; those that are none, or before the start, are bad."""
    if spec.since is None:
        time, expected = columns.numbers(column), "a number of at least 0"
    else:
        time, expected = columns.names(column).floats(partial(_time, spec.clock)), f"a date from {spec.since} on"
    bad.keep(column, (time >= 0.0) & (time < np.inf), expected)
    return time


def _time(clock: Clock, text: str) -> float:
    try:
        return clock.read("time", text)
    except InvalidInput:
        return np.nan


def _propensities(spec: Spec, columns: Columns, bad: BadRows, actions: Ints) -> Floats:
    if spec.propensity is None:  # what only learns from a log needs none
        return np.full(len(columns), np.nan)
    if isinstance(spec.propensity, float):
        return np.full(len(columns), spec.propensity)
    if isinstance(spec.propensity, Mapping):  # rows of other actions are left out, whatever stands there
        return np.array([spec.propensity[name] for name in _names(spec)])[actions]
    z = columns.numbers(spec.propensity)
    bad.need(spec.propensity, (z > 0) & (z <= 1), "a number in (0, 1]", spec.outside.get(spec.propensity, REFUSE))
    return z


def _outcomes(spec: Spec, columns: Columns, bad: BadRows) -> Floats:
    found = []
    learned, noisy = (o for o in spec.outcomes if o.is_learned), (o for o in spec.outcomes if o.is_noisy)
    for outcome in (*learned, *noisy):
        column, values = spec.columns[outcome.name], spec.values.get(outcome.name)
        free = {a for a in _names(spec) if outcome.is_free(a)}
        under = columns.names(spec.logged).are([t for t, a in spec.actions.items() if a in free])
        zero = under & missing(spec, columns, column)  # nobody writes down the minutes of a call that was not made
        rule = spec.outside.get(column, REFUSE)
        if values is not None:
            told = f"one of {few(map(repr, values), 300)}{_elsewhere(values, columns.names(column))}"
            bad.need(column, zero | columns.names(column).are(values), told, DROP if rule == DROP else REFUSE)
        z = columns.numbers(column) if values is None else columns.names(column).floats(partial(_stated, values))
        z = np.where(zero, 0.0, z) if zero.any() else z
        told = _thousands(columns, column)
        if outcome.times is not None:
            told += f", before it is multiplied by {outcome.times}"
        told += _in_words(columns, column) + _empty_under(spec, columns, outcome.name, free)
        before, everywhere = z, np.ones(len(z), bool)
        ranges = [(everywhere, *outcome.widest, f"{told}")]
        for action in (a for a in _names(spec) if outcome.ranges_by_action and a not in free):
            played = columns.names(spec.logged).are([t for t, a in spec.actions.items() if a == action])
            ranges.append((played, *outcome.ends(action), f" under {action}{told}"))
        for played, low, high, where in ranges:
            z = np.where(played, np.clip(z, low, high), z) if rule == CLIP else z
            bad.need(column, ~played | ((z >= low) & (z <= high)), f"a number in [{low:g}, {high:g}]{where}", rule)
        z = np.where(under & (z == z), 0.0, z) if rule == CLIP and free else z
        bad.need(column, ~(under & (z != 0)), f"0 under {', '.join(sorted(free))}, as declared free", rule)
        if rule == CLIP:
            bad.clip(column, before, z)
        found.append(z)
    return np.stack(found, 1)


def _in_words(columns: Columns, name: str) -> str:
    """Say how texts such as yes and no are read, if a column has these and no numbers."""
    if np.isfinite(columns.numbers(name)).any():
        return ""
    texts = {*_odd(columns, name)} - {""}
    numbers = ", ".join(f"{text} = {value:g}" for text, value in yes_no(sorted(texts)).items())
    return f" (texts are read as numbers by values = {{ {numbers} }} in its table)" if numbers else ""


def _empty_under(spec: Spec, columns: Columns, outcome: str, free: Collection[str]) -> str:
    """Say which actions never have a value of an outcome, which nobody writes down where it is 0."""
    empty = missing(spec, columns, spec.columns[outcome])
    if not empty.any():
        return ""
    logged = columns.names(spec.logged)
    under = {a: logged.are([t for t, action in spec.actions.items() if action == a]) for a in _names(spec)}
    never = [a for a, rows in under.items() if a not in free and rows.any() and empty[rows].all()]
    if not never or len(never) == len(under):
        return ""
    keys = f"outcomes.{toml.key(outcome)}.free = {toml.value([a for a in _names(spec) if a in free or a in never])}"
    return f" (it is never there under {', '.join(never)}: {keys} if it is 0 there)"


def _stated(values: Mapping[str, float], text: str) -> float:
    return values.get(text, np.nan)


def layout(spec: Spec, units: Units) -> Ints:
    """Lay out features: a block per action or, with interactions, main effects and named columns per named action.

    Packed rows, and those of many described actions, are of the case, after the number of the action. Where fewer are
    described, it is every number of a case by every number of an action's profile; see `scales_of`.
    """
    names, of_column = _names(spec), units.of_column
    if units.packing is not None:
        return np.tile(np.arange(-1, 2 * units.packing.size.pairs), (len(names), 1))
    if _is_many(spec, units):
        return np.tile(np.arange(-1, len(units.names)), (len(names), 1))
    if (scales := scales_of(spec, units)) is not None:
        each = np.arange(scales.shape[1]) % len(units.names)
        return np.where(scales != 0.0, each, -1)
    if spec.interactions is None:
        return blocks(len(names), len(units.names))
    parts = [np.tile(np.arange(len(units.names)), (len(names), 1))]
    for action, columns in spec.interactions.items():
        own = [0, *(i for c in columns for i in of_column[c])]
        part = np.full((len(names), len(own)), -1)
        part[names.index(action)] = own
        parts.append(part)
    return np.concatenate(parts, 1)


def scales_of(spec: Spec, units: Units) -> Floats | None:
    """Return what multiplies the numbers of a layout, None where actions are not described, `->(A,n)`."""
    if spec.described is None or _is_many(spec, units):
        return None
    return np.repeat(spec.described.profiles, len(units.names), 1)


def size_of(spec: Spec, units: Units) -> Size:
    """Return the number of features of a candidate, or the size of its row, as for `Settings.build`.

    Where actions are described and there are many, rows are those of the case, and `advised` reads them.
    """
    if units.packing is not None:
        return units.packing.size
    return CaseRows(len(units.names)) if _is_many(spec, units) else int(layout(spec, units).shape[1])


def _is_many(spec: Spec, units: Units) -> bool:
    described = spec.described if spec.settings.model == "advised" else None
    return described is not None and described.is_many(len(units.names))


def _groups(
    spec: Spec, text: Mapping[str, Names], name: str, weights: Floats | None
) -> tuple[tuple[Ints, ...], dict[str, Mapping[str, float] | tuple[str, ...]]]:
    indices: list[Ints] = []
    levels: dict[str, Mapping[str, float] | tuple[str, ...]] = {}
    for grouping, g in spec.groups.items():
        found, where, counts = text[g.column].counted()
        rows = len(where)
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
            shares = counts / rows if weights is None else np.bincount(where, weights) / weights.sum()
            levels[grouping] = dict(zip(found, shares.tolist(), strict=True))
        else:
            levels[grouping] = tuple(found)
        rare = int(counts.argmin())
        if counts[rare] * spec.rounds < rows:
            expected = f"groups that {spec.rounds:,} rounds can be expected to have a case of"
            got = f"{counts[rare]} of {rows:,} rows with {found[rare]!r}"
            raise InvalidInput(f"groups.{grouping}", expected, got)
        indices.append(np.asarray(where, np.int64))
    return tuple(indices), levels
