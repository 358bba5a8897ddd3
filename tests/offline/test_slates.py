"""Values of lists: exact expectations over all lists of a small world, and errors on drawn logs."""

from itertools import permutations, product as pairs

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.offline import slates

ITEMS, PLACES = 4, 3
RNG = np.random.default_rng(5)
ALONE = RNG.random((PLACES, ITEMS))  # what an item brings in a position
TWO = RNG.random((PLACES, ITEMS, ITEMS))  # what it brings there below another one


class World:
    """All lists, and the chances of each item of a list given those above it, under a log and a policy."""

    def __init__(self, repeats):
        every = pairs(range(ITEMS), repeat=PLACES) if repeats else permutations(range(ITEMS), PLACES)
        self.lists = np.array(list(every))
        self.repeats = repeats
        rng = np.random.default_rng(11)
        self.logged, self.policy = (self._given(rng.random((PLACES, ITEMS)) + 0.2) for _ in range(2))
        self.chances, self.wanted = self.logged.prod(1), self.policy.prod(1)

    def _given(self, scores):
        """Draw from what is left, by scores of a position: the Plackett-Luce model, or independent positions."""
        found = np.ones(self.lists.shape)
        for i, items in enumerate(self.lists):
            for p, item in enumerate(items):
                left = scores[p].sum() - (0.0 if self.repeats else scores[p][items[:p]].sum())
                found[i, p] = scores[p][item] / left
        return found

    def at(self, chances):
        """The chance of every item in every position, `(L)->(P,A)`."""
        return np.array([np.bincount(self.lists[:, p], chances, ITEMS) for p in range(PLACES)])

    def marginal(self, chances):
        return self.at(chances)[np.arange(PLACES), self.lists]

    def expected(self, y):
        """What makes the mean over all lists, a row each, the expectation under the log."""
        return y * (len(self.lists) * self.chances).reshape(-1, *[1] * (y.ndim - 1))


def alone(lists):
    return ALONE[np.arange(PLACES), lists]


def below(lists):
    """What a position brings depends on the item above it."""
    found = alone(lists)
    found[:, 1:] += TWO[np.arange(1, PLACES), lists[:, :-1], lists[:, 1:]]
    return found


def mixed(lists):
    """What the first position brings depends on the last item."""
    found = alone(lists)
    found[:, 0] += 3.0 * TWO[0, lists[:, 0], lists[:, -1]]
    return found


@pytest.fixture(params=[True, False], ids=["items may repeat", "all items differ"])
def world(request):
    return World(request.param)


@pytest.mark.parametrize("y", [alone, below, mixed])
def test_values_of_all_lists(world, y):
    amounts = y(world.lists)
    truth = float(world.wanted @ amounts.sum(1))
    scaled = world.expected(amounts)
    given, own = (world.policy, world.logged), (world.marginal(world.wanted), world.marginal(world.chances))
    moments = slates.moments_of(world.lists, world.chances[None], ITEMS)
    shown = np.tile(world.at(world.wanted), (len(world.lists), 1, 1))
    found = {
        "whole": slates.cascade(*given, np.eye(PLACES)[-1] * scaled.sum(1, keepdims=True)).value,
        "cascade": slates.cascade(*given, scaled).value,
        "independent": slates.independent(*own, scaled).value,
        "pseudo_inverse": slates.pseudo_inverse(world.lists, shown, moments, scaled.sum(1)).value,
    }
    right = {name: value == pytest.approx(truth, rel=1e-9) for name, value in found.items()}
    assert right["whole"]
    assert right["cascade"] == (y is not mixed)
    assert right["independent"] == (y is alone)
    assert right["pseudo_inverse"] == (y is alone)


def test_nested_lists_are_arrays():
    by_arrays = slates.cascade(HALVES, HALVES, np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert slates.cascade(HALVES.tolist(), HALVES.tolist(), [[1, 0], [1, 1]], clusters=[7, 3]).value == by_arrays.value
    assert slates.independent(HALVES.tolist(), HALVES.tolist(), [[1, 0], [1, 1]]).pair == by_arrays.pair
    moments = slates.moments_of([[0, 0], [1, 1]], [[0.5, 0.5]], 2)
    assert slates.moments_of_independent(SHOWN.tolist()).tolist() == MOMENTS.tolist()
    found = slates.pseudo_inverse([[0, 0], [1, 1]], SHOWN.tolist(), moments.tolist(), [1.0, 0.0])
    assert found.value == slates.pseudo_inverse(np.array([[0, 0], [1, 1]]), SHOWN, SAME, np.array([1.0, 0.0])).value


def test_a_handful_of_clicks_has_no_error():
    rng, ones = np.random.default_rng(0), np.full((400, 2), 0.5)
    errors = {}
    for count in (0, 4, 40):
        y = np.zeros((400, 2))
        y[rng.choice(400, count, replace=False), 0] = 1.0
        errors[count] = slates.independent(ones, ones, y).se
    assert np.isnan([errors[0], errors[4]]).all()
    assert errors[40] == pytest.approx(np.sqrt(0.1 * 0.9 / 399.0))


def test_weights_of_independent_positions():
    world = World(repeats=True)
    shown, logged = world.at(world.wanted), world.at(world.chances)
    y, rows = RNG.random(len(world.lists)), len(world.lists)
    moments = slates.moments_of_independent(logged[None])
    assert moments == pytest.approx(slates.moments_of(world.lists, world.chances[None], ITEMS))
    found = slates.pseudo_inverse(world.lists, np.tile(shown, (rows, 1, 1)), moments, y)
    weights = 1.0 - PLACES + (world.marginal(world.wanted) / world.marginal(world.chances)).sum(1)
    assert found.value == pytest.approx(float((weights * y).mean()))
    assert found.se == pytest.approx(float((weights * y).std(ddof=1)) / np.sqrt(rows))
    by_row = slates.pseudo_inverse(world.lists, np.tile(shown, (rows, 1, 1)), np.tile(moments, (rows, 1, 1, 1, 1)), y)
    assert by_row.pair == pytest.approx(found.pair)


def test_orders_at_random():
    """Of all orders alike, and a policy with one order, the weight has a closed form (Swaminathan et al. 2017)."""
    lists = np.array(list(permutations(range(ITEMS))))
    moments = slates.moments_of(lists, np.full((1, len(lists)), 1.0 / len(lists)), ITEMS)
    shown = np.tile(np.eye(ITEMS)[[2, 0, 1, 3]], (len(lists), 1, 1))
    for i in (0, 5, 17):
        y = np.zeros(len(lists))
        y[i] = len(lists)
        matches = int((lists[i] == [2, 0, 1, 3]).sum())
        weight = (ITEMS - 1.0) * matches - ITEMS + 2.0
        assert slates.pseudo_inverse(lists, shown, moments, y).value == pytest.approx(weight)


def test_errors_of_drawn_logs():
    world = World(repeats=False)
    truth = float(world.wanted @ below(world.lists).sum(1))
    held, ses, values = 0, [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = rng.choice(len(world.lists), 400, p=world.chances)
        y = below(world.lists[rows]) + rng.standard_normal((400, PLACES))
        found = slates.cascade(world.policy[rows], world.logged[rows], y)
        held += found.interval[0] <= truth <= found.interval[1]
        ses.append(found.se)
        values.append(found.value)
    assert held >= 180  # of 200: two in a thousand fall below where 95 % hold
    assert np.mean(ses) == pytest.approx(np.std(values), rel=0.2)
    assert np.mean(values) == pytest.approx(truth, abs=4.0 * np.std(values) / np.sqrt(200.0))
    one, other = (
        (world.policy[rows], world.logged[rows], y),
        tuple(np.repeat(z, 2, 0) for z in (world.policy[rows], world.logged[rows], y)),
    )
    twice = slates.cascade(*other, clusters=np.repeat(np.arange(400), 2))
    assert twice.pair == pytest.approx(slates.cascade(*one).pair)


HALVES, Y = np.full((2, 2), 0.5), np.ones((2, 2))
SHOWN = np.full((2, 2, 2), 0.5)
MOMENTS = slates.moments_of_independent(SHOWN)
SAME = slates.moments_of(np.array([[0, 0], [1, 1]]), np.array([[0.5, 0.5]]), 2)  # lists of the same item twice
BOTH = np.tile(np.eye(2), (2, 1, 1))  # a list that is none of them, though each item is logged in its position
NEVER = slates.moments_of_independent(np.tile([1.0, 0.0], (1, 2, 1)))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: slates.cascade(HALVES, HALVES[:1], Y), "propensities: expected shape"),
        (lambda: slates.cascade(HALVES, 0.0 * HALVES, Y), "propensities: expected chances above 0"),
        (lambda: slates.cascade(3.0 * HALVES, HALVES, Y), "policy: expected chances from 0 to 1"),
        (lambda: slates.independent(HALVES, HALVES, Y[:, 0]), "y: expected a number by row and position"),
        (lambda: slates.cascade(HALVES, HALVES, np.nan * Y), "y: expected a number by row and position"),
        (lambda: slates.pseudo_inverse(np.full((2, 2), 2), SHOWN, MOMENTS, Y[0]), "items: expected numbers of items"),
        (lambda: slates.pseudo_inverse(np.zeros((2, 2), int), SHOWN, MOMENTS[0], Y[0]), "moments: expected shape"),
        (lambda: slates.pseudo_inverse(np.zeros((2, 2), int), SHOWN, NEVER, Y[0]), "moments: expected chances above 0"),
        (lambda: slates.pseudo_inverse(np.zeros((2, 2), int), BOTH, SAME, Y[0]), "of all lists that the policy shows"),
        (lambda: slates.pseudo_inverse(np.zeros((2, 2)), SHOWN, MOMENTS, Y[0]), "items: expected numbers of items"),
        (lambda: slates.pseudo_inverse(np.zeros((2, 2), int), SHOWN, np.nan * MOMENTS, Y[0]), "moments: exp.* finite"),
        (lambda: slates.cascade(HALVES, HALVES, Y, clusters=np.arange(3)), "clusters: expected 2 numbers"),
        (lambda: slates.cascade(HALVES, HALVES, Y, clusters=[1.0, np.nan]), "clusters: expected 2 numbers"),
        (lambda: slates.cascade(HALVES, HALVES, Y, clusters=[4, 4]), "clusters: expected at least two different ones"),
        (lambda: slates.cascade([[0.5], [0.5, 0.5]], HALVES, Y), "policy: expected an array of numbers"),
        (lambda: slates.independent(*[np.ones((2, 0))] * 3), "policy: expected a chance by row and position, of one"),
        (lambda: slates.moments_of_independent(np.ones((2, 0, 3))), "chances: expected chances by row, position and"),
        (lambda: slates.moments_of([0, 1], [[0.5, 0.5]], 2), "lists: expected numbers of items below 2, a row for"),
        (lambda: slates.moments_of(np.array([[0, 2]]), np.array([[1.0]]), 2), "lists: expected numbers of items"),
        (lambda: slates.pseudo_inverse(np.zeros((2, 2), int), SHOWN, MOMENTS, Y), "y: expected 2 finite numbers"),
        (lambda: slates.moments_of_independent(HALVES), "chances: expected chances by row, position and item"),
        (lambda: slates.moments_of(np.array([[0, 1]]), np.array([[0.5]]), 2), "chances: expected 1 chances"),
    ],
)
def test_lists_that_are_none(asked, message):
    with pytest.raises(InvalidInput, match=message):
        asked()
