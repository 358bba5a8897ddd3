"""Checks for rows of the same customer without a declared cluster, and for a single value that sets a scale."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.logs.bad_rows import BadRows
from evenhand.logs.checks.rows import ERROR, quantile
from evenhand.logs.clusters import Clusters, whole
from evenhand.logs.column_guesses import is_gap, words_of
from evenhand.logs.columns import Columns, Names
from evenhand.logs.units import Units

FEW = 50  # different values below which a column is not taken for one of clusters
_ALIKE = 1.1  # the factor of a variance from which on clusters that nobody declared are told
_ALONE = 0.95  # clusters per row up to which values repeat
_MARKS = ("id", "uuid", "guid", "key", "number", "nr", "no", "nummer", "cislo")
_OWNERS = ("customer", "client", "user", "person", "household", "patient", "member", "account", "subscriber", "visitor",
           "student", "kunde", "kundin", "nutzer", "haushalt", "mitglied", "konto", "patientin",
           "zakaznik", "klient", "uzivatel", "osoba", "domacnost", "pacient", "clen", "ucet")  # fmt: skip
_ROUNDING = 1e-9  # of a logarithm: closer ones are of values as far to either side


def is_owner(column: str) -> bool:
    """Whether the name of a column suggests that it identifies customers.

    >>> is_owner("customer_id"), is_owner("userId"), is_owner("id"), is_owner("customer_age"), is_owner("campaign_id")
    (True, True, False, False, False)
    """
    rest = [word for word in words_of(column) if word not in _MARKS]
    return rest[-1:] != [] and rest[-1] in _OWNERS


def repeats(names: Names, missing: Collection[str] = ()) -> Clusters | None:
    """Return the clusters of a column whose values repeat: 50 of them at least, at most 95 % as many as their rows.

    A row without a value is a cluster of its own.

    Args:
        names: of all rows.
        missing: what stands for no value, beside what often does.
    """
    names = whole(names)
    owned = ~names.are({text for text in names.values if is_gap(text) or text in missing})
    if not FEW <= len(np.unique(names.codes[owned])) <= _ALONE * np.count_nonzero(owned):
        return None
    own = np.where(owned, names.codes, len(names.values) + np.arange(len(owned)))
    return Clusters.of(np.unique(own, return_inverse=True)[1])


def alike(clusters: Clusters, terms: Mapping[str, Floats]) -> float:
    """Return the factor by which clusters multiply the variance of the mean of some terms; 1 if chance explains it.

    Equation: with the sums S_g and e_i of a term less its mean, sum_g S_g^2 / sum_i e_i^2. Without anything in common,
    the sum of products of pairs has mean 0, and the variance 2 sum_g [(sum_i e_i^2)^2 - sum_i e_i^4].
    """
    most, z = 1.0, quantile(len(terms))
    for term in terms.values():
        e = term - term.mean()
        total, squares, fourth = (
            np.bincount(clusters.numbers, weights=e**k, minlength=clusters.count) for k in (1, 2, 4)
        )
        pairs, chance = float(total @ total - squares.sum()), 2.0 * float(squares @ squares - fourth.sum())
        if pairs > z * np.sqrt(max(chance, 0.0)):
            most = max(most, 1.0 + pairs / float(squares.sum()))
    return most if most >= _ALIKE else 1.0


def undeclared(
    owners: Iterable[str],
    columns: Columns,
    bad: BadRows,
    actions: Ints,
    outcomes: Floats,
    missing: Collection[str] = (),
) -> tuple[Clusters | None, str | None]:
    """Return the clusters of a column whose rows have something in common, with a sentence; None if nothing is found.

    Compared are whether the most frequent action was played, and the outcomes less their means under the action played.

    Args:
        owners: the columns that are named like whom a row is about; the one in which rows are most alike counts.
        columns, bad: what was read, and which rows are usable.
        actions, outcomes: `(N)`, `(N,M)` of usable rows.
        missing: what stands for no value, beside nothing.
    """
    rows = np.bincount(actions)
    terms = {"action": (actions == rows.argmax()).astype(float)}
    for m, y in enumerate(outcomes.T):
        sums = np.bincount(actions, weights=y)
        terms[f"outcome {m}"] = y - np.divide(sums, rows, out=np.zeros(len(rows)), where=rows > 0)[actions]
    factor, found, column = 1.0, None, ""
    for owner in owners:
        names = columns.names(owner)
        clusters = repeats(Names(bad.kept(names.codes), names.values), missing)
        own = 1.0 if clusters is None else alike(clusters, terms)
        if clusters is not None and own > factor:
            factor, found, column = own, replace(clusters, column=owner), owner
    if found is None:
        return None, None
    return found, (
        f"the {len(actions):,} rows are in {found.count:,} clusters by {column!r}, and rows of the same one are more "
        f"alike than chance explains: errors by rows are too small, some by a factor of {factor**0.5:.1f}; state "
        f"cluster = {column!r} in the problem file"
    )


def alone(z: Floats) -> tuple[float, float] | None:
    """Return a value that outweighs all others, and the chance that a tail has one so far out; None without one.

    Equation: with the different distances d_1 > d_2 > ... from the median, i log(d_i / d_{i+1}) are independent and
    exponential with the same mean in the tail of any power law (Renyi 1953), and the first is smaller than the others
    in lighter tails. So the chance is (1 + E_1 / (E_2 + ... + E_{k+1}))^-k at most, for k the root of their number. A
    value is looked at if its rows have more than half of the variance.

    >>> alone(np.array([18.0, 30.0, 41.0, 44.0, 52.0, 69.0, 1e21]))[0], alone(np.array([1.0, 2.0, 4.0]))
    (1e+21, None)
    """
    middle, mean, variance = float(np.median(z)), float(z.mean()), float(z.var())
    end = float(max(z.max(), z.min(), key=lambda one: abs(one - middle)))
    if not np.count_nonzero(z == end) * (end - mean) ** 2 > 0.5 * len(z) * variance:
        return None
    far = np.unique(np.abs(z - middle))
    far = np.log(far[far > 0.0])[::-1]
    far = far[np.diff(far, prepend=np.inf) < -_ROUNDING]
    count = min(int(np.ceil(np.sqrt(len(far)))), len(far) - 2)
    if count < 1:
        return None
    spacings = np.arange(1, count + 2) * -np.diff(far[: count + 2])
    return end, float((1.0 + spacings[0] / spacings[1:].sum()) ** -count)


def scales(numbers: Mapping[str, Floats], stated: Mapping[str, object], coding: Units, bad: BadRows) -> str | None:
    """Say which value of a column is alone, with its row; None if there is none.

    Args:
        numbers: `(N)` by column, of usable rows, NaN if one is missing.
        stated: the columns whose range is stated, to which numbers are clipped.
        coding: of the features; other columns are known before acting.
        bad: which rows are usable.
    """
    for column, z in numbers.items():
        there = z[~np.isnan(z)]
        found = alone(there / max(float(np.abs(there).max(initial=0.0)), 1e-300)) if column not in stated else None
        if found is None or found[1] > ERROR / len(numbers):
            continue
        end = float(there.max() if found[0] > 0.0 else there.min())
        rows, others = np.flatnonzero(bad.good)[z == end], there[there != end]
        where = bad.columns.where(int(rows[0])) + f" and {len(rows) - 1:,} other rows" * (len(rows) > 1)
        told = ", or state its range in features.ranges, to which it is clipped" if column in coding.numeric else ""
        value, low, high = (coding.said(column, float(one)) for one in (end, others.min(), others.max()))
        return (
            f"{column!r} is {value} in {where}, and {low} to {high} elsewhere: it outweighs all other rows, and no "
            f"tail of theirs reaches so far; correct it{told}"
        )
    return None
