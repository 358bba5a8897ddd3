"""Checks at the boundary: what is wrong is refused before it can reach a state, and what is doubtful is warned of."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.choices.base import Choice, greedy
from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision, Worth, distinct
from evenhand.core.signatures import value_text
from evenhand.core.texts import amount
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import LARGEST, whole
from evenhand.models.base import Model
from evenhand.models.tabular import NullModel
from evenhand.policy.state import PolicyState
from evenhand.problem.end import past
from evenhand.problem.problem import Problem

NUMBERS = frozenset(np.dtype(kind) for kind in "?bBhHiIlLqQfd")  # types of arrays that kernels can read

EVERYWHERE = np.zeros((0, 0, 0), bool)  # to kernels, a mask of outcomes that is true everywhere
EVERY_PLAY = np.zeros((0, 0), bool)  # and one of plays
NOTHING = np.zeros((0, 0, 0), bool)  # what was not observed, where everything was
# Times the largest declared size of an outcome. A ridge of 1e-6 interpolates noise with predictions of thousands where
# it has as many observations as features; what is beyond this comes from a model that diverges.
FAR = 1e5
_FLOAT, _INT, _BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)
_AXES = [1, 2, 2, 1, 1, 1, 1, 3, 3, 3, 2, 4, 2, 2]  # of the arrays of a decision
_USUAL = [_INT if f in ("id", "plays", "groups") else _FLOAT for f in Decision._fields[:-1]]


def readable(field: str, z: object, kinds: str = "iufb") -> np.ndarray[Any, Any]:
    """Return an array that kernels can read, converted where that changes no number.

    Other byte orders and half precision are converted; numbers with more than 64 bits are not.

    Args:
        field: its name, for messages.
        z: as it was given.
        kinds: the kinds of its type, as numpy abbreviates them.
    """
    if not isinstance(z, np.ndarray) or isinstance(z, np.ma.MaskedArray):
        raise InvalidInput(field, "an array", type(z).__name__)
    if z.dtype.kind not in kinds or z.dtype.itemsize > 8:
        expected = "numbers" if "f" in kinds else "whole numbers" if "i" in kinds else "true or false"
        raise InvalidInput(field, expected, z.dtype)
    if z.dtype not in NUMBERS:
        z = z.astype(np.float64 if z.dtype.itemsize == 2 and z.dtype.kind == "f" else z.dtype.newbyteorder("="))
    return np.asarray(z)


def mask(name: str, given: Bools, shape: tuple[int, ...]) -> None:
    """Refuse anything but an array of true and false of this shape."""
    if not isinstance(given, np.ndarray) or isinstance(given, np.ma.MaskedArray):
        raise InvalidInput(name, "an array", type(given).__name__)
    if given.shape != shape or given.dtype.kind != "b":
        raise InvalidInput(name, f"true or false, of shape {shape}", f"{given.dtype} of shape {given.shape}")


def replica(place: int, count: int) -> None:
    """Require a position in a batch.

    >>> replica(0, 1)
    """
    whole("replica", place, 0)
    if place >= count:
        raise InvalidInput("replica", f"a place in the batch, from 0 to {count - 1}", place)


def state(s: object, owner: str) -> None:
    """Refuse anything but a state of this policy: kernels would read beyond its arrays."""
    if not isinstance(s, PolicyState):
        raise InvalidInput("state", "a PolicyState, as `start` and `load` return them", value_text(s))
    if s.owner != owner:
        expected = "one of this policy, as its `start` and `load` return them"
        raise InvalidInput("state", expected, "one of another policy")


@kernel
def bad_worth(mean: Floats, bonus: Floats, w: Floats, reach: Floats) -> tuple[int, int]:
    """Replica and candidate of the first worth that no outcome near its range has, (-1, -1) where all are sound."""
    for r in range(len(mean)):
        for k in range(mean.shape[1]):
            most, bad = 0.0, 0
            if w.shape[2] == 1:  # prices are the same for all candidates, or per candidate
                for m in range(len(reach)):
                    if w[r, k, 0, m] != 0.0:
                        most += abs(w[r, k, 0, m]) * reach[m]
                for a in range(mean.shape[2]):
                    bad += not (abs(mean[r, k, a]) <= FAR * most and abs(mean[r, k, a] + bonus[r, k, a]) < np.inf)
                if bad == 0:  # and no search
                    continue
            for a in range(mean.shape[2]):
                if w.shape[2] > 1:
                    most = 0.0
                    for m in range(len(reach)):
                        if w[r, k, a, m] != 0.0:
                            most += abs(w[r, k, a, m]) * reach[m]
                if not (abs(mean[r, k, a]) <= FAR * most and np.isfinite(mean[r, k, a] + bonus[r, k, a])):
                    return r, a
    return -1, -1


def worth(name: str, said: Worth, w: Floats, reach: Floats, candidates: int, t: Floats) -> None:
    """Refuse predictions that cannot be right; `reach` is the largest size of each outcome."""
    shape, mean, bonus = (*w.shape[:2], candidates), said.mean, said.bonus
    if getattr(mean, "shape", ()) != shape or getattr(bonus, "shape", ()) != shape:
        now = f"{name} in round {int(t.max()) + 1}"
        raise InvalidInput(now, f"mean and bonus of shape {shape}", (np.shape(mean), np.shape(bonus)))
    r, a = bad_worth(mean, bonus, w, reach)
    if r >= 0:
        prices = w[r, :, a if w.shape[2] > 1 else 0].tolist()
        found = f"mean {mean[r, :, a]}, bonus {bonus[r, :, a]} at prices {prices}"
        expected = f"finite predictions, of outcomes within {FAR:g} times their declared range"
        raise InvalidInput(f"{name} in round {int(t[r]) + 1} of replica {r}, candidate {a}", expected, found)


@kernel
def _bad_value(z: Floats) -> int:
    """Position of the first number that is not usable, -1 where all are."""
    flat = z.ravel()
    for i in range(len(flat)):
        if not abs(flat[i]) <= LARGEST:
            return i
    return -1


@kernel
def _bad_group(groups: Ints, bounds: Ints) -> tuple[int, int, int]:
    """Replica, candidate and grouping of the first invalid group, (-1, -1, -1) where all are sound."""
    for r in range(len(groups)):
        for a in range(max(groups.shape[1], len(bounds))):
            here, own = a if groups.shape[1] > 1 else 0, a if len(bounds) > 1 else 0
            for g in range(groups.shape[2]):
                if not bounds[own, g, 0] <= groups[r, here, g] < bounds[own, g, 1]:
                    return r, a, g
    return -1, -1, -1


@kernel
def sound(features: Floats, known: Floats, groups: Ints, bounds: Ints) -> bool:
    """Whether a context passes all checks of values: a single call if nothing is wrong, without a search."""
    x, z, bad = features.ravel(), known.ravel(), 0
    for i in range(len(x)):
        bad += not abs(x[i]) <= LARGEST
    for i in range(len(z)):
        bad += not abs(z[i]) <= LARGEST
    return bad == 0 and _bad_group(groups, bounds)[0] < 0


def context(c: Context, replicas: int, features: int, problem: Problem, last: Context | None = None) -> Context:
    """Return a context that kernels can read; refuse one that does not fit the problem and its model.

    Args:
        c: as it was given.
        replicas, features, problem: what it must fit; 0 features for a model that takes any number of them.
        last: a context that was returned before.
    """
    if last is None or type(c) is not Context or not _alike(c, last):
        if not _is_usual(c):
            c = _readable(c)
        _shapes(c, replicas, features, problem)
    if c.time is not None or problem.until is not None:
        problem.clock.check("context.time", c.time, replicas)
    if problem.noisy:
        _means(c.known[:, :, : len(problem.noisy)], problem)
    if sound(distinct(c.features), c.known, c.groups, problem.bounds):
        if problem.edges is not None:
            problem.edges.check(c.known, c.offered)
        return c
    for field, values in (("features", c.features), ("known", c.known)):
        bad = _bad_value(values)
        if bad >= 0:
            where = tuple(int(i) for i in np.unravel_index(bad, values.shape))
            expected = f"a finite number, of size at most {LARGEST:g}"
            raise InvalidInput(f"context.{field}{list(where)}", expected, values[where])
    r, a, i = _bad_group(c.groups, problem.bounds)
    columns = list(range(*problem.bounds[a if len(problem.bounds) > 1 else 0, i]))
    expected = f"columns {columns} of {problem.groups[i].name!r}"
    if problem.by_action[i]:
        expected += f" for {problem.actions[a]!r}"
    place = [r, a if c.groups.shape[1] > 1 else 0, i]
    raise InvalidInput(f"context.groups{place}", expected, c.groups[tuple(place)])


def _alike(c: Context, last: Context) -> bool:
    """Whether the arrays of a context are those of another one, or of their kinds and shapes."""
    return all(map(_same_kind, c[:4], last[:4]))


def _same_kind(x: object, before: np.ndarray[Any, Any]) -> bool:
    return x is before or (type(x) is np.ndarray and x.shape == before.shape and x.dtype is before.dtype)


def _is_usual(c: Context) -> bool:
    """Whether arrays are of the usual types: to check each by itself takes 3 us."""
    if type(c) is not Context:
        return False
    x, z, groups, offered, *_ = c
    arrays = type(x) is np.ndarray and type(z) is np.ndarray and type(groups) is np.ndarray
    if not (arrays and type(offered) is np.ndarray):
        return False
    return x.dtype == _FLOAT and z.dtype == _FLOAT and groups.dtype == _INT and offered.dtype == _BOOL


def _readable(c: Context) -> Context:
    if not isinstance(c, Context):
        raise InvalidInput("context", "a Context, such as policy.encode(case) makes", value_text(c))
    x, known = readable("context.features", c.features), readable("context.known", c.known)
    groups, offered = readable("context.groups", c.groups, "iu"), readable("context.offered", c.offered, "b")
    time = None if c.time is None else readable("context.time", c.time)
    if x is c.features and known is c.known and groups is c.groups and offered is c.offered and time is c.time:
        return c
    return Context(x, known, groups, offered, time, c.unit)


def _shapes(c: Context, replicas: int, features: int, problem: Problem) -> None:
    x, z, may = c.features.shape, c.known.shape, c.offered.shape
    if len(x) != 3 or x[0] != replicas or features not in (0, x[2]):
        hint = "; a model or a recipe states n_features, for a world as n_features=world.n_features"
        got = f"{x}{hint}" if x[:1] == (replicas,) and len(x) == 3 else x
        raise InvalidInput("context.features", f"shape ({replicas}, A, {features or 'n'})", got)
    if z[1:] != (x[1], len(problem.known)) or z[0] not in (1, replicas):
        raise _shape_error("context.known", z, (replicas, x[1], len(problem.known)))
    if may[1:] != (x[1],) or may[0] not in (1, replicas):
        raise _shape_error("context.offered", may, (replicas, x[1]))
    if x[1] != len(problem.actions) and problem.names_candidates:
        why = "as some actions are free, have ranges of their own, or are divided into groups"
        expected = f"{len(problem.actions)} candidates, {why}"
        raise InvalidInput("context.features", expected, x)
    g = c.groups.shape
    if len(g) != 3 or g[0] != replicas or g[1] not in (1, x[1]) or g[2] != len(problem.groups):
        shapes = f"shape {(replicas, 1, len(problem.groups))} or {(replicas, x[1], len(problem.groups))}"
        raise InvalidInput("context.groups", shapes, g)


def alike(c: Context, model: Model) -> bool:
    """Warn of candidates with the same features, `(A,n)`, which no model tells apart, if outcomes have to be learned.

    It calls for a look at the first context that offers two candidates. Returns whether this was it, or none is needed.
    """
    if model.n_outcomes == 0 or isinstance(model, NullModel) or getattr(model, "selects", False):
        return True
    if c.offered.sum(1).max() < 2:
        return False
    x = distinct(c.features)
    if (x == x[:, :1]).all():
        text = (
            f"all {x.shape[1]} candidates have the same features, so {type(model).__name__} predicts the same learned "
            "outcomes for all of them: wrap the model in PerAction, which gives actions coefficients of their own, or "
            "give each candidate features of its own"
        )
        warnings.warn(text, EvenhandWarning, stacklevel=4)
    return True


def _means(z: Floats, problem: Problem) -> None:
    low, high = problem.span_by_action[:, :, len(problem.learned) :]
    outside = (z < low) | (z > high)
    if problem.free.any():
        outside &= ~problem.free[:, len(problem.learned) :]
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        ends = problem.span_by_action[:, where[1] if len(low) > 1 else 0, len(problem.learned) + where[2]]
        expected = f"a mean of {problem.noisy[where[2]]!r} in [{ends[0]:g}, {ends[1]:g}], its range"
        raise InvalidInput(f"context.known{list(where)}", expected, z[where])


def _shape_error(field: str, got: tuple[int, ...], expected: tuple[int, ...]) -> InvalidInput:
    return InvalidInput(field, f"shape {expected} or {(1, *expected[1:])}", got)


def receipt(d: object) -> None:
    """Refuse anything but a decision made of arrays of numbers."""
    if not isinstance(d, Decision):
        raise InvalidInput("decision", "a Decision, as `decide` and `act` return them", value_text(d))
    arrays: tuple[Any, ...] = d[:-1]  # the last field is names
    try:
        if [z.dtype for z in arrays] == _USUAL:
            return
    except AttributeError:  # of something that is not an array
        pass
    for field, z in zip(d._fields, arrays, strict=False):
        if readable(f"decision.{field}", z) is not z:
            raise InvalidInput(f"decision.{field}", "an array as `decide` and `act` return them", z.dtype)


def decision(d: Decision, replicas: int, plays: int, features: int, problem: Problem) -> None:
    """Refuse a decision of another state or policy, as kernels do not check this."""
    receipt(d)
    if [z.ndim for z in d[:-1]] != _AXES:
        found = [getattr(d, field).ndim for field in d._fields[:-1]]
        i = next(i for i, axes in enumerate(_AXES) if found[i] != axes)
        raise InvalidInput(f"decision.{d._fields[i]}", f"an array of {_AXES[i]} axes", f"one of {found[i]}")
    if d.id.shape != (3,):
        raise InvalidInput("decision.id", "shape (3,)", d.id.shape)
    shape, x, z, groups = d.plays.shape, d.features.shape, d.known.shape, d.groups.shape
    each = len(d.counted) == len(d.forced) == len(d.time) == groups[0] == replicas
    if not each or not shape == x[:2] == z[:2] == (replicas, plays) or groups[1] not in (1, plays):
        raise InvalidInput("decision", f"one of this state, with plays of shape {(replicas, plays)}", shape)
    widths = x[2], z[2], d.prices.shape[3], groups[2]
    expected = features or x[2], len(problem.known), len(problem.learned), len(problem.groups)
    if widths != expected:
        names = "features, known outcomes, learned outcomes and groupings"
        raise InvalidInput("decision", f"one of this policy, with {expected} {names}", widths)


def wrong_decision(d: Decision, r: int, field: int, candidates: int, problem: Problem) -> InvalidInput:
    """Return the error of a decision that was changed before it was committed, by the field that `standing` found."""
    if field == 0:
        return InvalidInput(f"decision.counted[{r}]", "0 or 1, and 0 where nothing is played", d.counted[r])
    if field == 1:
        return InvalidInput(f"decision.plays[{r}]", f"different candidates below {candidates}, or -1", d.plays[r])
    return InvalidInput(f"decision.groups[{r}]", f"columns below {len(problem.columns)}", d.groups[r])


def pair(c: Context, d: Decision, n_rows: int) -> None:
    """Refuse a context in which a decision cannot have been made."""
    if d.plays.max() >= c.features.shape[1]:
        raise InvalidInput("decision", f"plays among the {c.features.shape[1]} candidates of the context", d.plays)
    if d.row_prices.shape != (len(d.plays), n_rows):
        raise InvalidInput("decision", f"one of this policy, with {n_rows} priced rows", d.row_prices.shape)


def outcomes(y: Floats, observed: Bools | None, exposed: Bools | None, d: Decision, problem: Problem) -> Floats:
    """Return outcomes that kernels can read, `(P,M+B)`; refuse those that do not belong to a decision."""
    expected = (*d.plays.shape, len(problem.observed))
    if type(y) is not np.ndarray or y.dtype not in NUMBERS:
        y = readable("outcomes", y)
    if y.shape != expected:
        raise InvalidInput("outcomes", f"shape {expected}, a column for each of {problem.observed}", y.shape)
    if observed is not None:
        mask("observed", observed, expected)
    if exposed is not None:
        mask("exposed", exposed, d.plays.shape)
    return y


def substitution(name: str, value: object) -> str:
    """Say that a feature has a value that it was not declared to have, so that another one counts in its place.

    >>> substitution("age", 150)
    'age: 150 is out of its range, so the nearest end counts'
    >>> substitution("channel", "fax")
    "channel: 'fax' is none of its levels, so another counts"
    """
    if isinstance(value, str) and " " in value.strip():
        return f"{name}: {value_text(value)} is none of its levels, or too long, so another counts, or its first words"
    if isinstance(value, str):
        return f"{name}: {value_text(value)} is none of its levels, so another counts"
    return f"{name}: {value_text(value)} is out of its range, so the nearest end counts"


def refunds(problem: Problem, known: Floats) -> dict[str, str]:
    """Say which known outcomes of a budget are below 0, although they were not declared so, `(A,L)->`, by name.

    An outcome is declared so by its `low`, or by one of its declared values.

    >>> from evenhand.environments import Court
    >>> problem = Court().problem
    >>> list(refunds(problem, -problem.declared).values())
    ['ride: -1 is below 0, so a budget gets it back', 'voucher: -1 is below 0, so a budget gets it back']
    """
    lows = {outcome.name: outcome.widest[0] for outcome in problem.outcomes}
    found = dict[str, str]()
    for name in dict.fromkeys(s.outcome for s in problem.stated if s.spends and s.outcome in problem.known):
        column = problem.known.index(str(name))
        least = float(known[:, column].min(initial=0.0))
        if least < 0.0 <= min(lows[str(name)], float(problem.declared[:, column].min())):
            found[str(name)] = f"{name}: {amount(least)} is below 0, so a budget gets it back"
    return found


def horizon_caution(problem: Problem) -> str:
    """Say that a decision comes after the horizon, or after the end of a run that has dates."""
    return f"the horizon of {problem.horizon:,} rounds is over" if problem.until is None else "the run has ended"


def substitutions(case: Mapping[str, object], outside: Sequence[str]) -> dict[str, str]:
    """Say which features of a case have values that count as others, by name."""
    return {name: substitution(name, case[name]) for name in outside}


def warn_of_end(problem: Problem, state: PolicyState, context: Context) -> None:
    """Warn once of a state if the run is over for all its replicas, so that none plays anything."""
    if state.recent.over or not _is_over(problem, state, context):
        return
    state.recent.over = True
    text = f"{horizon_caution(problem)}: nothing is played any longer (policy.late.decide_late goes on)"
    warnings.warn(text, EvenhandWarning, stacklevel=4)


def _is_over(problem: Problem, state: PolicyState, context: Context) -> bool:
    if problem.until is None:
        return bool((state.t >= problem.horizon).all())
    return context.time is not None and past(problem, float(context.time.min()))


def never_explores(model: Model, state: object, choice: Choice, x: Floats) -> bool:
    """Return whether a choice plays the best action by a model that adds no bonus, in a state before any data, `(A,n)`.

    Such a policy can lock in: it never plays again what looked bad at first. A model has no bonus if it adds none at a
    price of 1, nor at one of -1, on all outcomes, as a bonus that its range cuts off at one end is left at the other.
    """
    candidates, m = x.shape[1], model.n_outcomes
    if not greedy(choice) or m == 0 or isinstance(model, NullModel) or getattr(model, "selects", False):
        return False
    if model.draws(candidates) or (x == x[:, :1]).all():  # candidates that are all the same are another matter
        return False
    x, none = np.ascontiguousarray(x), np.zeros((len(x), 0))
    return not any(model.value(state, x, np.full((len(x), 1, 1, m), price), none).bonus.any() for price in (1.0, -1.0))


def warn_of_greed(model: Model, state: object, choice: Choice, x: Floats) -> None:
    """Warn of a policy that never explores, before any data, `(A,n)`."""
    if never_explores(model, state, choice, x):
        text = (
            f"this policy never explores: {type(model).__name__} adds no width to what it predicts, and the choice "
            "plays what looks best, so an action that was unlucky at first may never be played again: give the model a "
            "width, such as width=Fixed(0.3), use a Bayesian model, or a choice that draws, such as InverseGap"
        )
        warnings.warn(text, EvenhandWarning, stacklevel=4)
