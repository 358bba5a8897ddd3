"""Audiences: users, items, and the probability that each user likes each item; synthetic ones, and those of Last.fm."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import scikit_learn
from evenhand.core.luck import Stream, check_seed, uniform
from evenhand.core.signatures import checked
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import counts, number, whole
from evenhand.problem.groups import some

ROWS, ARTISTS, LISTENERS = 92_834, 17_632, 1_892  # of user_artists.dat, of artists.dat, and different users
WIDE = 2500  # artists of "2k"
PASSES, SEED = 200, 0  # of the factorisation
_COUNTS, _NAMES = "user_artists.dat", "artists.dat"
_WHERE = (
    "the file of hetrec2011-lastfm-2k.zip from https://grouplens.org/datasets/hetrec-2011/ "
    "(the HetRec 2011 data sets of GroupLens, for non-commercial use)"
)


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Audience:
    """Users and items with their factors, and the probability that a user likes an item.

    Equation: P(user j likes item i) = u_j.v_i, or the entry of a matrix that is given.

    Args:
        users: the users' factors U, `(N, r)`.
        items: the items' factors V, `(m, s)`.
        liked: probabilities, `(N, m)`; by default U V^T, which requires r = s.
        names: the names of the items; by default "item 0", "item 1", ...

    Raises:
        InvalidInput: a matrix is not finite, a probability is outside [0, 1], or there is no distinct name per item.

    >>> Audience(users=np.array([[1.0, 0.0]]), items=np.array([[0.5, 0.5], [0.0, 1.0]])).chances
    array([[0.5, 0. ]])
    """

    users: Floats
    items: Floats
    liked: Floats | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: tuple[tuple[str, Floats | None], ...] = (
            ("users", self.users),
            ("items", self.items),
            ("liked", self.liked),
        )
        for field, value in given:
            if value is not None:
                object.__setattr__(self, field, _matrix(f"Audience.{field}", value))
        n, m = len(self.users), len(self.items)
        if self.liked is None and self.users.shape[1] != self.items.shape[1]:
            expected = f"as many factors as items have, {self.items.shape[1]}, or `liked` as well"
            raise InvalidInput("Audience.users", expected, self.users.shape[1])
        if self.chances.shape != (n, m) or not ((self.chances >= 0.0) & (self.chances <= 1.0)).all():
            got = f"shape {self.chances.shape}, from {self.chances.min():g} to {self.chances.max():g}"
            raise InvalidInput("Audience.liked", f"probabilities in [0, 1] of shape {(n, m)}", got)
        names = tuple(self.names) or tuple(f"item {i}" for i in range(m))
        twice = [name for name, times in Counter(names).items() if times > 1]
        if len(names) != m or twice:
            got = f"{some(twice)} twice" if twice else f"{len(names)} names"
            raise InvalidInput("Audience.names", f"{m} names that differ from each other", got)
        object.__setattr__(self, "names", names)

    @cached_property
    def chances(self) -> Floats:
        """The probability that each user likes each item, `()->(N,m)`."""
        return np.ascontiguousarray(self.users @ self.items.T) if self.liked is None else self.liked


def _matrix(field: str, value: object) -> Floats:
    """Check a matrix of finite numbers with at least one row and one column."""
    try:
        found = np.array(value, float, order="C")
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise InvalidInput(field, "a matrix of finite numbers", f"shape {found.shape}")
    return found


@checked
@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Generates users with a few tastes each, and items of which a few are popular.

    Equation: factors are squares of exponential numbers, divided by their sum; those of the item of rank i = 1, 2, ...
    are multiplied by i^(-1/3). All are scaled so that the largest u.v is 1.

    With 50 users, 50 items, 10 factors and seed 0, a mean pair is liked with probability 0.13, and the ranking that is
    best for users has a Gini difference of exposures of 1.97, of at most 3.83 (0.11 and 1.91 with `LastFM`).

    Args:
        users: N.
        items: m.
        factors: r.
        seed: of the factors.

    >>> Listeners(users=3, items=4, factors=2).audience.chances.max().round(12)
    np.float64(1.0)
    """

    users: int = 50
    items: int = 50
    factors: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        counts(self, {"users": 1, "items": 1, "factors": 1})
        check_seed(self.seed)

    @cached_property
    def audience(self) -> Audience:
        u, v = (self._tastes(count, kind) for kind, count in enumerate((self.users, self.items)))
        v = v / np.cbrt(np.arange(1.0, self.items + 1.0))[:, None]
        scale = np.sqrt((u @ v.T).max())
        u, v = u / scale, v / scale
        return Audience(users=u, items=v, liked=np.minimum(u @ v.T, 1.0))  # the largest may exceed 1 by rounding

    def _tastes(self, count: int, kind: int) -> Floats:
        drawn = uniform(self.seed, Stream.TRUTH, np.arange(count), np.array([kind]), self.factors)
        squares = np.log1p(-drawn) ** 2
        return np.asarray(squares / squares.sum(1, keepdims=True))


@named("C9", source="Do et al. 2023, Section 4 and Appendix B.1.1; data by Cantador, Brusilovsky & Kuflik 2011")
@dataclass(frozen=True, kw_only=True)
class LastFM:
    """Last.fm listeners and artists, with factors that predict listening counts.

    Equation: X = log(1 + count) ~ U V^T with U, V >= 0 in least squares; P(like) = min(u.v / s, 1).

    The paper states neither the factors nor the scale. The choices here, and what they give:

    - "50": the users and the artists with the largest sums of counts (the lowest id of those that tie). 18 % of X are
      not 0. With 10 factors |X - UV^T| / |X| is 0.525 (0.624 with 5). s is the largest u.v, so nothing is clipped, and
      a mean pair is liked with probability 0.113.
    - "2k": the 2,500 artists with the most listeners (the last of them have 5; the lowest ids of 411 that tie), and all
      1,880 users who listen to one of them. 1.5 % of X are not 0, the error is 0.871 with 10 factors. With the largest
      u.v as s, a mean pair would be liked with probability 0.005. s is therefore the 0.9 quantile of u.v over the pairs
      in which the user listens to the artist: 0.18 % of all pairs are clipped, the mean is 0.024. Clipping makes the
      truth slightly nonlinear: the best model that is bilinear in the factors explains 94 % of the variance, and users
      would lose 0.1 % of their clicks if they were shown what it predicts to be best.

    The factorisation is that of scikit-learn: coordinate descent from NNDSVDa, 200 passes, with a fixed seed. The
    columns of U and V then get equal norms.

    Args:
        path: the folder with `user_artists.dat` and `artists.dat` of the HetRec 2011 Last.fm data set, which evenhand
            does not ship; `Listeners` is a synthetic audience of the same shape.
        users: the number of users; ignored with "2k", which takes all who listen to one of the artists.
        items: the number of artists, or "2k".
        factors: the number of factors r.
        quantile: of u.v over the pairs with listening counts, which becomes the probability 1; by default the largest
            u.v, and 0.9 for "2k".

    Raises:
        InvalidInput: sizes out of range; from `audience`, a file that is missing or is not as published.
        MissingExtra: from `audience`, scikit-learn is not installed.

    >>> LastFM(path="data/lastfm", items="2k").factors
    10
    """

    path: str | Path
    users: int = 50
    items: int | Literal["2k"] = 50
    factors: int = 10
    quantile: float | None = None

    def __post_init__(self) -> None:
        whole("LastFM.users", self.users, 1)
        if isinstance(self.items, str) and self.items != "2k":
            raise InvalidInput("LastFM.items", "a number of artists, or '2k'", repr(self.items))
        if not isinstance(self.items, str):
            whole("LastFM.items", self.items, 1)
        for field, most in (("users", LISTENERS), ("items", ARTISTS)):
            value = getattr(self, field)
            if not isinstance(value, str) and value > most:
                raise InvalidInput(f"LastFM.{field}", f"at most {most:,}, as many as the data set has", value)
        whole("LastFM.factors", self.factors, 1)
        if self.quantile is not None:
            number("LastFM.quantile", self.quantile, "a number in (0, 1]", lambda x: 0 < x <= 1)

    @cached_property
    def audience(self) -> Audience:
        """The audience of listeners and artists, with the artists' names."""
        x, factored = self.listening, scikit_learn("decomposition", "factors of Last.fm")
        if self.factors > min(x.shape):
            raise InvalidInput("LastFM.factors", f"at most {min(x.shape)}", self.factors)
        from scipy.sparse import csr_matrix

        fit = factored.NMF(self.factors, init="nndsvda", max_iter=PASSES, tol=0.0, random_state=SEED)
        u = fit.fit_transform(csr_matrix(x))
        v = fit.components_.T
        balance = np.sqrt(np.linalg.norm(v, axis=0) / np.linalg.norm(u, axis=0))
        u, v = u * balance, v / balance
        predicted = u @ v.T
        share = self.quantile if self.quantile is not None else 0.9 if self.items == "2k" else None
        s = float(predicted.max() if share is None else np.quantile(predicted[x > 0.0], share))
        u, v = u / np.sqrt(s), v / np.sqrt(s)
        return Audience(users=u, items=v, liked=np.minimum(u @ v.T, 1.0), names=self._names)

    @cached_property
    def listening(self) -> Floats:
        """The matrix X = log(1 + count) of the selected users and artists, `()->(N,m)`."""
        who, what, count = self._counts.T
        users, artists = self._selection
        inside = np.isin(who, users) & np.isin(what, artists)
        x = np.zeros((len(users), len(artists)))
        row, column = (np.argsort(ids) for ids in (users, artists))
        i = row[np.searchsorted(users, who[inside], sorter=row)]
        x[i, column[np.searchsorted(artists, what[inside], sorter=column)]] = np.log1p(count[inside])
        return x

    @cached_property
    def _selection(self) -> tuple[Ints, Ints]:
        """The ids of the selected users and artists, the largest first."""
        who, what, count = self._counts.T
        if self.items != "2k":
            return _largest(who, count, self.users), _largest(what, count, int(self.items))
        artists = _largest(what, np.ones_like(count), WIDE)
        return np.unique(who[np.isin(what, artists)]), artists

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The names of the artists; ids are added to equal names."""
        lines = self._lines(_NAMES, ARTISTS, ("id", "name", "url", "pictureURL"))
        called = {line[0]: line[1] for line in lines}
        missing = [str(i) for i in self._selection[1] if str(i) not in called]
        if missing:
            raise self._bad_file(_NAMES, f"no artist {missing[0]}")
        names = [called[str(i)] for i in self._selection[1]]
        often = Counter(names)
        return tuple(n if often[n] == 1 else f"{n} ({i})" for n, i in zip(names, self._selection[1], strict=True))

    @cached_property
    def _counts(self) -> Ints:
        """All rows (user, artist, listening count), `()->(rows,3)`."""
        lines = self._lines(_COUNTS, ROWS, ("userID", "artistID", "weight"))
        try:
            found = np.array(lines, np.int64)
        except (OverflowError, ValueError) as error:
            raise self._bad_file(_COUNTS, str(error)) from error
        listeners, artists = (len(np.unique(found[:, i])) for i in (0, 1))
        if (listeners, artists) != (LISTENERS, ARTISTS) or (found[:, 2] < 1).any():
            raise self._bad_file(_COUNTS, f"{listeners:,} users, {artists:,} artists, counts from {found[:, 2].min()}")
        if len(np.unique(found[:, :2], axis=0)) < len(found):
            raise self._bad_file(_COUNTS, "the same user and artist twice")
        return found

    def _lines(self, name: str, rows: int, columns: tuple[str, ...]) -> list[list[str]]:
        """Read the fields of all lines below the heading."""
        file = Path(self.path) / name
        if not file.is_file():
            raise InvalidInput("LastFM.path", f"a folder with {name}, {_WHERE}", f"no file {file}")
        read = file.read_text(encoding="utf-8", errors="replace").splitlines()
        heading, *lines = [z.split("\t") for z in read or [""]]
        if tuple(heading) != columns:
            raise self._bad_file(name, f"columns {tuple(heading)} in place of {columns}")
        uneven = next((i for i, z in enumerate(lines) if len(z) != len(columns)), None)
        if uneven is not None:
            raise self._bad_file(name, f"{len(lines[uneven])} fields in line {uneven + 2}")
        if len(lines) != rows:
            raise self._bad_file(name, f"{len(lines):,} rows in place of {rows:,}")
        return lines

    def _bad_file(self, name: str, what: str) -> InvalidInput:
        return InvalidInput(f"LastFM.path, {name}", f"{_WHERE}, as published", what)


def _largest(ids: Ints, weight: Ints, count: int) -> Ints:
    """Select the ids with the largest sums of weights; ties go to the lowest id, `(rows),(rows)->(count)`."""
    different, at = np.unique(ids, return_inverse=True)
    sums = np.bincount(at, weights=weight)
    return np.asarray(different[np.argsort(-sums, kind="stable")[:count]])
