"""Whether several rows are of the same customer or household, though no cluster is declared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.logs.bad_rows import BadRows
from evenhand.logs.checks.drawn import quantile
from evenhand.logs.clusters import Clusters, whole
from evenhand.logs.columns import Columns, Names
from evenhand.logs.looks import is_gap, words_of

FEW = 50  # different values below which a column is not taken for one of clusters
_ALIKE = 1.1  # the factor of a variance from which on clusters that nobody declared are told
_ALONE = 0.95  # clusters per row up to which values repeat
_MARKS = ("id", "uuid", "guid", "key", "number", "nr", "no", "nummer", "cislo")
_OWNERS = ("customer", "client", "user", "person", "household", "patient", "member", "account", "subscriber", "visitor",
           "student", "kunde", "kundin", "nutzer", "haushalt", "mitglied", "konto", "patientin",
           "zakaznik", "klient", "uzivatel", "osoba", "domacnost", "pacient", "clen", "ucet")  # fmt: skip


def is_owner(column: str) -> bool:
    """Whether a column is named like whom a row is about.

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
    """Return by how much clusters multiply the variance of the mean of some terms, `(N)` each; 1 if chance explains it.

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
    """Return what rows have in common with those of the same value of a column, and say so; None if nothing is found.

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
