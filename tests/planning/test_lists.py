"""The optimum over lists: the linear program and the primal-dual method, against all lotteries of all rankings."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.environments import Audience, Listeners, Ranking
from evenhand.numerics.permutahedron import ascend, best_lists
from evenhand.objectives import AlphaFair, EqualExposure, GeneralizedGini, Linear, WeightedSum
from evenhand.planning.lists import is_linear_program, maximize_lists, pool, solve_lists
from evenhand.planning.mixing import Truth, maximize
from evenhand.problem import Budget, Floor, Outcome, Parity
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.rows import select

RNG = np.random.default_rng(4)
SMALL = Ranking(
    audience=Audience(users=np.eye(3), items=np.ones((4, 1)), liked=RNG.random((3, 4))),
    horizon=100,
    slots=2,
    users=(1.0, 2.0, 1.5),
    labels={"item 0": "a", "item 1": "a", "item 2": "b", "item 3": "b"},
    fees={"item 0": 1.0, "item 2": 3.0},
)
CLICKS = Linear({"click": 1.0})
EQ2 = WeightedSum(((1.0, CLICKS), (0.4, GeneralizedGini.difference(SMALL.exposures))))
WELFARE = WeightedSum(((1.0, CLICKS), (0.5, GeneralizedGini.welfare(SMALL.exposures))))
SPREAD = (Floor("exposure", rate=0.8, by="label"), Budget("fee", rate=0.7))
EQUAL = (Parity("click", by="label", tolerance=0.01),)


def stated(world):
    rows, limit = constraint_rows(world.problem)
    return world.problem.objective, world.problem, world.lists(10**6, 0, 0), rows, limit


def by_hand(world, lists, rows):
    """What every ranking of every user brings to the objective and to the rows, with the user."""
    problem, columns = world.problem, []
    read = [*_each(select(problem, problem.objective.outcomes)), *_each(rows)]
    for s, weight in enumerate(lists.weight):
        items = np.flatnonzero(lists.offered[s if len(lists.offered) > 1 else 0])
        for ranking in permutations(items, min(world.slots, len(items))):
            total = np.zeros(len(read))
            for a, b in zip(ranking, lists.position[s if len(lists.position) > 1 else 0], strict=False):
                known = np.where(problem.sure, 1.0, b) * lists.known[0, a]
                total += [_adds(row, problem, lists.groups[0, a], b * lists.learned[s, a, 0], known) for row in read]
            columns.append((s, weight * total))
    return columns


def _each(rows):
    return [rows.take(np.array([j])) for j in range(len(rows))]


def _adds(row, problem, groups, click, known):
    inside = row.column[0] in groups
    factor = row.always[0] + inside * row.inside[0] / (problem.shares[row.column[0]] if row.by_share[0] else 1.0)
    return factor * (row.learned[0, 0] * click + row.known[0] @ known)


def best_mixture(world, lists):
    """A linear program over chances of rankings, with every permutation of a Gini's weights as a row of its own."""
    objective, _, _, rows, limit = stated(world)
    columns = by_hand(world, lists, rows)
    n, m = len(columns), len(objective.outcomes)
    brings = np.array([z for _, z in columns]).T
    linear, above = np.zeros(m), []
    for c, part in objective.terms if isinstance(objective, WeightedSum) else ((1.0, objective),):
        at = [objective.outcomes.index(name) for name in part.outcomes]
        if isinstance(part, Linear):
            linear[at] += c * np.array(list(part.weights.values()))
        else:
            above += [(at, c * np.array(w)) for w in set(permutations(part.weights))]
    t = np.array([[*(-(w @ brings[at])), 1.0] for at, w in above]).reshape(-1, n + 1)
    sums = np.array([[float(s == user) for s, _ in columns] + [0.0] for user in range(len(lists.weight))])
    found = linprog(
        -np.append(linear @ brings[:m], 1.0 if above else 0.0),
        np.concatenate([t, np.column_stack([brings[m:], np.zeros(len(limit))])]),
        np.concatenate([np.zeros(len(t)), limit]),
        sums,
        np.ones(len(lists.weight)),
        bounds=[(0, None)] * n + [(None, None) if above else (0, 0)],
    )
    return -found.fun if found.status == 0 else None


@pytest.mark.parametrize("objective", [CLICKS, EQ2, WELFARE], ids=["clicks", "eq2", "welfare"])
@pytest.mark.parametrize("subject_to", [(), SPREAD, EQUAL], ids=["free", "spread", "equal"])
@pytest.mark.parametrize("slots", [1, 2, 4])
def test_the_linear_program_against_all_rankings(objective, subject_to, slots):
    if subject_to == SPREAD and slots != 2:
        subject_to = (Floor("exposure", rate=0.3, by="label"), Budget("fee", rate=0.7 if slots == 1 else 3.0))
    world = replace(SMALL, maximize=objective, subject_to=subject_to, slots=slots)
    given = stated(world)
    found, expected = solve_lists(*given), best_mixture(world, given[2])
    assert found.value == pytest.approx(expected, abs=1e-6)
    assert (found.prices >= 0).all()
    near = maximize_lists(*given)
    assert near.value - 1e-6 <= expected <= near.value + near.gap + 1e-9
    assert near.gap <= 2e-5


@pytest.mark.parametrize("subject_to", [(), SPREAD, EQUAL], ids=["free", "spread", "equal"])
@pytest.mark.parametrize("fee_per", ["impression", "placement"])
def test_users_who_look_at_places_in_ways_of_their_own(subject_to, fee_per):
    own = ((1.0, 0.2), (0.6, 0.6), (0.9, 0.5))
    world = replace(SMALL, maximize=EQ2, subject_to=subject_to, position=own, fee_per=fee_per)
    given = stated(world)
    found, expected = solve_lists(*given), best_mixture(world, given[2])
    assert found.value == pytest.approx(expected, abs=1e-6)
    if fee_per == "impression":
        near = maximize_lists(*given)
        assert near.value - 1e-6 <= expected <= near.value + near.gap + 1e-9
        assert near.gap <= 2e-5


@pytest.mark.parametrize("objective", [CLICKS, EQ2], ids=["clicks", "eq2"])
@pytest.mark.parametrize("sure", [True, False])
def test_what_a_click_pays_is_a_factor_of_its_chance(objective, sure):
    """A known payment per item is the same as clicks in units of payments, whatever payments count by themselves."""
    pays = np.array([3.0, 1.0, 0.0, 2.0])
    world = replace(SMALL, maximize=objective, subject_to=(*SPREAD, Floor("click", rate=0.6)))
    _, problem, lists, rows, limit = stated(world)
    click, *others = problem.outcomes
    pay = Outcome("pay", known=dict(zip(problem.actions, pays.tolist(), strict=True)), sure=sure)
    paid = replace(problem, outcomes=(replace(click, times="pay"), *others, pay))
    known = np.concatenate([lists.known, pays[None, :, None]], 2)
    mine = constraint_rows(paid)[0]
    scaled = lists._replace(learned=lists.learned * pays[:, None])
    for method, gap in ((solve_lists, 1e-7), (maximize_lists, 1e-5)):
        expected = method(objective, problem, scaled, rows, limit)
        assert method(objective, paid, lists._replace(known=known), mine, limit).value == pytest.approx(
            expected.value, abs=gap
        )
    assert expected.value > 0.1


def test_fees_per_placement_make_an_assignment():
    for fee_per in ("impression", "placement"):
        world = replace(SMALL, fee_per=fee_per, subject_to=(Budget("fee", rate=1.2),))
        given = stated(world)
        assert solve_lists(*given).value == pytest.approx(best_mixture(world, given[2]), abs=1e-6)
    with pytest.raises(InvalidInput, match="count only where a play is exposed"):
        maximize_lists(*given)


def test_items_that_are_not_offered_and_lists_that_are_short():
    offered = np.array([[True, True, False, True], [False, False, True, False], [True, False, True, True]])
    world = replace(SMALL, maximize=EQ2)
    objective, problem, lists, rows, limit = stated(world)
    lists = lists._replace(offered=offered)
    expected = best_mixture(world, lists)
    assert solve_lists(objective, problem, lists, rows, limit).value == pytest.approx(expected, abs=1e-6)
    near = maximize_lists(objective, problem, lists, rows, limit)
    assert near.value - 1e-6 <= expected <= near.value + near.gap + 1e-9


def test_bounds_of_both_methods_agree_on_an_audience():
    world = Ranking(audience=Listeners(users=12, items=15, factors=3).audience, horizon=10, slots=4)
    world = replace(world, labels={n: str(i % 3) for i, n in enumerate(world.audience.names)})
    gini = GeneralizedGini.difference(world.exposures)
    for subject_to in ((), (Floor("click", rate=0.3, by="label"),)):
        goal = WeightedSum(((1.0, CLICKS), (1.0, gini)))
        given = stated(replace(world, maximize=goal, subject_to=subject_to))
        exact, near = solve_lists(*given), maximize_lists(*given)
        assert near.value - 1e-6 <= exact.value <= near.value + near.gap + 1e-7
        assert near.gap <= 1e-4
        np.testing.assert_allclose(near.prices, exact.prices, atol=2e-2)
        z = exact.end
        assert goal.value(z) == pytest.approx(exact.value)
        assert z[1:].sum() == pytest.approx(world.looked.sum())  # everybody looks at every list


@pytest.mark.parametrize(
    "part",
    [lambda names: AlphaFair.welfare(names, 0.5, 1e-3), lambda names: AlphaFair(names, alpha=1.0), EqualExposure],
)
def test_other_objectives_against_tangents_where_places_are_alike(part):
    """With places that are all looked at, lists are sets, whose optimum the column generation finds."""
    world = Ranking(
        audience=Listeners(users=6, items=7, factors=2).audience, horizon=10, slots=3, position=(1.0, 1.0, 1.0)
    )
    goal = WeightedSum(((1.0, CLICKS), (0.5, part(world.exposures))))
    world = replace(world, maximize=goal)
    given = stated(world)
    assert not is_linear_program(goal, given[2])
    near = maximize_lists(*given)
    outcomes = np.concatenate([given[2].learned, np.tile(np.eye(7), (6, 1, 1))], 2)
    truth = Truth(outcomes, np.zeros((6, 7, 0)), np.ones((6, 7)), 3)
    middle = np.array(world.problem.middle(tuple(goal.outcomes)))
    exact = maximize(goal, truth, np.zeros(0), middle)
    assert near.gap <= 2e-4
    assert near.value <= exact.value + exact.gap
    assert exact.value <= near.value + near.gap


def test_limits_that_no_list_keeps_to():
    world = replace(SMALL, subject_to=(Floor("click", rate=1.9),))
    with pytest.raises(InfeasibleProblem, match="no policy of lists keeps"):
        solve_lists(*stated(world))
    with pytest.raises(InfeasibleProblem, match="no policy of lists was found"):
        maximize_lists(*stated(world), passes=2000)


def test_an_objective_without_a_prox_is_refused():
    twice = GeneralizedGini.welfare(SMALL.exposures)
    world = replace(SMALL, maximize=WeightedSum(((1.0, twice), (1.0, EqualExposure(SMALL.exposures)))))
    with pytest.raises(InvalidInput, match="have a prox"):
        maximize_lists(*stated(world))


def test_the_same_list_for_everybody():
    lists = stated(SMALL)[2]
    one = pool(lists)
    np.testing.assert_allclose(one.learned[0, :, 0], SMALL.shares_of_users @ SMALL.audience.chances)
    assert one.weight == 1.0
    with pytest.raises(InvalidInput, match="look at places alike"):
        pool(lists._replace(position=np.array([[1.0, 0.5], [1.0, 0.5], [0.9, 0.5]])))
    with pytest.raises(InvalidInput, match="offers everybody the same"):
        pool(lists._replace(offered=np.array([[True] * 4, [False] * 4, [True] * 4])))


@pytest.mark.parametrize(("items", "slots"), [(1, 1), (3, 3), (6, 2), (30, 10)])
@pytest.mark.parametrize("step", [1e-3, 0.3, 20.0])
@pytest.mark.parametrize("own", [False, True])
def test_a_pass_ends_at_the_closest_points(items, slots, step, own):
    """x is closest to v among lists' mixtures if no list is better than x at v - x; ties and absences included."""
    rng = np.random.default_rng(items)
    cases = 40
    position = -np.sort(-rng.random((cases if own else 1, slots)), 1)
    learned = rng.random((cases, items, 2)).round(1)  # with ties
    offered = rng.random((cases, items)) < 0.8
    x, weight = rng.random((cases, items)) * offered, np.full(cases, 1 / cases)
    price, offset = np.array([[1.0, -0.5]]), rng.random(items).round(1)
    v = np.where(offered, x + step * (learned @ price[0] + offset), 0.0)
    y, exposed = ascend(learned, offered, weight, position, price, offset, step, x)
    assert (x >= -1e-12).all()
    assert (x[~offered] == 0.0).all()
    np.testing.assert_allclose(exposed, weight @ x, atol=1e-12)
    np.testing.assert_allclose(y, np.einsum("s,sa,sam->am", weight, x, learned), atol=1e-12)
    for s in range(cases):
        here, count = (v - x)[s, offered[s]], min(slots, int(offered[s].sum()))
        b = position[s if own else 0, :count]
        assert x[s].sum() == pytest.approx(b.sum(), abs=1e-9)
        best = b @ np.sort(here)[::-1][:count]
        assert best <= here @ x[s, offered[s]] + 1e-9 * (1 + step)


@pytest.mark.parametrize(
    "position", [[[1.0, 0.6, 0.2]], [[1.0, 0.6, 0.2], [0.5] * 3, [1.0, 0.1, 0.05], [0.9] * 3, [1.0] * 3]]
)
def test_the_best_lists_by_sorting(position):
    rng = np.random.default_rng(0)
    learned, position = rng.random((5, 8, 1)), np.array(position)
    price, offset, weight = rng.random((8, 1)), rng.random(8), rng.dirichlet(np.ones(5))
    offered = rng.random((5, 8)) < 0.5
    offered[2] = [True] + [False] * 7
    worth = np.where(offered, learned[:, :, 0] * price[:, 0] + offset, -np.inf)
    top = -np.sort(-worth, 1)[:, :3]
    expected = weight @ np.where(top > -np.inf, top * position, 0.0).sum(1)
    assert best_lists(learned, offered, weight, position, price, offset) == pytest.approx(expected)
