"""Values of policies that show lists, by a log of lists, by weights of positions.

A list of P items has as many forms as the product of what each position can show, so that hardly any logged list is one
that another policy would show. Each function takes something for granted of what follows, and multiplies the weights of
fewer positions. An estimate has a value, a standard error and an interval.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats, Ints
from evenhand.logs.clusters import Clusters
from evenhand.offline.events import Occurrences
from evenhand.offline.scores import Average, Estimate

__all__ = ["cascade", "independent", "moments_of", "moments_of_independent", "pseudo_inverse"]

_ROUNDED = 1e-9
_SHOWN = 1e-6  # of the chances of a policy: what may be outside of all lists of the log, by rounding
_ONE = 1.0 + _ROUNDED


@named("X18", source="McInerney et al. 2020, reward interaction inverse propensity scoring (RIPS)")
def cascade(policy: Floats, propensities: Floats, y: Floats, *, clusters: Ints | None = None) -> Estimate:
    """Estimate what a policy brings where the outcome of a position depends on its item and on those above it.

    Equation: mean_i sum_p y_ip prod_(k <= p) pi_ik / p_ik, with the chances of logged items given those above them.

    Source: McInerney, Brost, Chandar, Mehrotra and Carterette 2020, "Counterfactual evaluation of slate
    recommendations with sequential reward interactions", without the division by sums of weights.

    Args:
        policy: `(N,P)` the chance of each logged item under the policy, given those above it.
        propensities: `(N,P)` that with which it was logged, given those above it.
        y: `(N,P)` what followed, by position; of a whole list in its last position, where nothing is taken for granted.
        clusters: `(N)` of rows that are not independent, such as the numbers of users.

    Raises:
        InvalidInput: another shape, or numbers that are no chances.

    >>> ones, halves = np.array([[1.0, 1.0], [1.0, 0.0]]), np.full((2, 2), 0.5)
    >>> cascade(ones, halves, np.ones((2, 2))).value  # 2 + 4 and 2 + 0
    4.0
    """
    ratios, amounts = _ratios(policy, propensities, y)
    return _mean((ratios.cumprod(1) * amounts).sum(1), amounts.sum(1), clusters)


@named("X18", source="Li et al. 2018, the item-position click model: independent positions (IIPS)")
def independent(policy: Floats, propensities: Floats, y: Floats, *, clusters: Ints | None = None) -> Estimate:
    """Estimate what a policy brings where the outcome of a position depends on its own item alone.

    Equation: mean_i sum_p y_ip pi_ip / p_ip, with the chances of the logged item of position p in all lists.

    Source: Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen 2018, "Offline evaluation of ranking policies with
    click models".

    Args:
        policy: `(N,P)` the chance of each logged item in its position under the policy, whatever is above it.
        propensities: `(N,P)` that with which it was logged there, whatever was above it.
        y, clusters: as for `cascade`.

    Raises:
        InvalidInput: as for `cascade`.

    >>> ones, halves = np.array([[1.0, 1.0], [1.0, 0.0]]), np.full((2, 2), 0.5)
    >>> independent(ones, halves, np.ones((2, 2))).value  # 4 and 2
    3.0
    """
    ratios, amounts = _ratios(policy, propensities, y)
    return _mean((ratios * amounts).sum(1), amounts.sum(1), clusters)


@named("X18", source="Swaminathan et al. 2017, the pseudo-inverse estimator (PI), Equation 3")
def pseudo_inverse(
    items: Ints, policy: Floats, moments: Floats, y: Floats, *, clusters: Ints | None = None
) -> Estimate:
    """Estimate what a policy brings where a list is worth the sum of what its positions add; y is of whole lists.

    Equation: mean_i y_i q_i' G_i^+ 1_i. Here 1_i has a 1 for each pair of a position and the item that was logged
    there, q_i is its mean under the policy, and G_i^+ the pseudo-inverse of the mean G_i of 1 1' under the log.

    Source: Swaminathan, Krishnamurthy, Agarwal, Dudik, Langford, Jose and Zitouni 2017, "Off-policy evaluation for
    slate recommendation". Where positions were drawn independently, the weight is 1 - P + sum_p pi_ip / p_ip.

    Args:
        items: `(N,P)` the number of the item that was logged in each position.
        policy: `(N,P,A)` the chance of every item in every position under the policy.
        moments: `(N,P,A,P,A)` or, where rows do not differ, `(1,P,A,P,A)`: the chances with which the log has one item
            in one position and another one in another; see `moments_of` and `moments_of_independent`.
        y: `(N)` what followed each list.
        clusters: as for `cascade`.

    Raises:
        InvalidInput: another shape; numbers that are no chances; or the policy shows an item in a position, or was
            logged with one, that the log never has there, or lists that it never has.

    >>> halves = np.full((1, 2, 2), 0.5)
    >>> first = np.tile([1.0, 0.0], (3, 2, 1))  # item 0 in both positions
    >>> lists, y = np.array([[0, 0], [0, 1], [1, 1]]), np.array([1.0, 1.0, 1.0])
    >>> round(pseudo_inverse(lists, first, moments_of_independent(halves), y).value, 9)  # 3, 1 and -1
    1.0
    """
    policy, moments, y = _array("policy", policy), _array("moments", moments), _array("y", y)
    (n, places, count), items = _positions("policy", policy), np.asarray(items)
    right = items.shape == (n, places) and items.dtype.kind in "iu" and bool(((items >= 0) & (items < count)).all())
    _check("items", right, f"numbers of items below {count}, of shape {(n, places)}", items)
    pairs = places, count, places, count
    right = moments.shape in ((n, *pairs), (1, *pairs)) and bool(np.isfinite(moments).all())
    _check("moments", right, f"shape {(n, *pairs)}, or of one row, of finite numbers", moments)
    _check("y", y.shape == (n,) and bool(np.isfinite(y).all()), f"{n} finite numbers", y)
    there, size = np.zeros((n, places, count)), places * count
    there[np.arange(n)[:, None], np.arange(places), items] = 1.0
    never = np.einsum("npapa->npa", moments) <= 0.0
    known = not (never & (np.maximum(policy, there) > _ROUNDED)).any()
    _check("moments", known, "chances above 0 of all that the policy shows or that was logged", moments)
    inverse = np.linalg.pinv(moments.reshape(-1, size, size), rcond=_ROUNDED, hermitian=True)
    shown = policy.reshape(n, 1, size) @ inverse
    missed = np.abs(shown @ moments.reshape(-1, size, size) - policy.reshape(n, 1, size)).max(initial=0.0)
    _check("moments", missed <= _SHOWN, "chances above 1e-9 of all lists that the policy shows", moments)
    weights = (shown @ there.reshape(n, size, 1))[:, 0, 0]
    return _mean(weights * y, y, clusters)


def moments_of_independent(chances: Floats) -> Floats:
    """Return the moments of lists whose positions are drawn independently, `(N,P,A)->(N,P,A,P,A)`.

    >>> moments_of_independent(np.array([[[0.5, 0.5], [0.2, 0.8]]]))[0, 0, 0].tolist()
    [[0.5, 0.0], [0.1, 0.4]]
    """
    chances = _array("chances", chances)
    _, places, count = _positions("chances", chances)
    found: Floats = np.einsum("npa,nqb->npaqb", chances, chances)
    for p in range(places):
        found[:, p, :, p, :] = chances[:, p, :, None] * np.eye(count)
    return found


def moments_of(lists: Ints, chances: Floats, count: int) -> Floats:
    """Return the moments of lists that are drawn with some chances, such as all orders of a few items.

    Args:
        lists, chances: `(L,P)` the items of each list, and `(N,L)` or `(1,L)` the chance of each in every row.
        count: A, how many items there are.

    Raises:
        InvalidInput: chances that do not add up to 1, or an item that there is not.

    >>> moments_of(np.array([[0, 1], [1, 0]]), np.array([[0.25, 0.75]]), 2)[0, 0, 0].tolist()
    [[0.25, 0.0], [0.0, 0.25]]
    """
    chances, lists = _array("chances", chances), np.asarray(lists)
    right = chances.ndim == 2 and chances.shape[1] == len(lists) and bool((abs(chances.sum(1) - 1.0) <= _ROUNDED).all())
    right = right and bool((chances >= 0.0).all())
    _check("chances", right, f"{len(lists)} chances in every row that add up to 1", chances)
    right = lists.ndim == 2 and lists.dtype.kind in "iu" and bool(((lists >= 0) & (lists < count)).all())
    _check("lists", right, f"numbers of items below {count}, a row for each list", lists)
    shown = np.eye(count)[lists]  # (L,P,A)
    return np.asarray(np.einsum("nl,lpa,lqb->npaqb", chances, shown, shown, optimize=True))


def _array(field: str, values: Floats) -> Floats:
    """Return numbers, such as nested lists, as an array."""
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(field, "an array of numbers", type(values).__name__) from error


def _ratios(policy: Floats, propensities: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the weights of logged items by position, and what followed, `(N,P),(N,P),(N,P)->(N,P),(N,P)`."""
    policy, propensities, y = _array("policy", policy), _array("propensities", propensities), _array("y", y)
    _check("policy", policy.ndim == 2 and policy.shape[1] > 0, "a chance by row and position, of one or more", policy)
    _check("propensities", propensities.shape == policy.shape, f"shape {policy.shape}", propensities)
    _check("propensities", bool(((propensities > 0.0) & (propensities <= _ONE)).all()), "chances above 0", propensities)
    _check("policy", bool(((policy >= 0.0) & (policy <= _ONE)).all()), "chances from 0 to 1", policy)
    _check("y", y.shape == policy.shape and bool(np.isfinite(y).all()), "a number by row and position", y)
    return policy / propensities, y


def _positions(field: str, chances: Floats) -> tuple[int, int, int]:
    """Return the numbers of rows, positions and items."""
    right = (
        chances.ndim == 3
        and chances.shape[1] > 0
        and bool((chances >= 0.0).all() and (abs(chances.sum(2) - 1.0) <= _ROUNDED).all())
    )
    _check(field, right, "chances by row, position and item, (N,P,A), that add up to 1 over items", chances)
    n, places, count = chances.shape
    return n, places, count


def _check(field: str, holds: bool, expected: str, got: Floats | Ints) -> None:
    if not holds:
        raise InvalidInput(field, expected, f"other numbers of shape {got.shape}")


def _mean(terms: Floats, y: Floats, clusters: Ints | None) -> Estimate:
    """Return the mean of terms of outcomes y; without an error where it rests on too few lists, such as rare clicks."""
    _check("y", len(terms) > 0, "at least one list", terms)
    numbers = None
    if clusters is not None:
        each = np.asarray(clusters)
        right = each.shape == terms.shape and (each.dtype.kind != "f" or bool(np.isfinite(each).all()))
        _check("clusters", right, f"{len(terms)} numbers, of whom each row is", each)
        names, of_row = np.unique(each, return_inverse=True)
        _check("clusters", len(names) > 1, "at least two different ones", each)
        numbers = Clusters.of(of_row)
    rows = Clusters.of(np.arange(len(terms))) if numbers is None else numbers
    few = Occurrences.of(y, -np.inf, np.inf, None, True).are_few(np.abs(terms), rows)
    found = Average.of(terms, numbers)
    return (found.guess() if few else found).estimate
