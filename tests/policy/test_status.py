"""A status against books that are kept by hand: lists of two, of groups of cases and of actions, partly observed."""

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.models import BayesianRidge
from tests.rows import for_each

ACTIONS, KIND = ("a", "b", "c", "d"), {"a": "own", "b": "own", "c": "other", "d": "other"}
SHOP = eh.Problem(
    actions=ACTIONS,
    features=(eh.Numeric("size", 0, 1),),
    outcomes=(
        eh.Outcome("click"),
        eh.Outcome("cents", high=9.0, mean={"a": 2.0, "b": 3.0, "c": 4.0, "d": 1.0}),
        eh.Outcome("minutes", known={"a": 3, "b": 1, "c": 2, "d": 5}),
    ),
    maximize="click",
    subject_to=(
        eh.Budget("minutes", total=900),
        eh.Budget("minutes", total=350, hard=False),
        eh.Budget("cents", total=600, hard=False),
        eh.Budget("cents", total=5000),
        eh.Floor("click", rate=0.1, by="zone"),
        eh.Floor("click", rate=0.2, by="kind"),
        eh.Floor("click", rate=0.05),
    ),
    groups=(eh.Groups("zone", {"town": 0.75, "land": 0.25}), eh.Groups("kind", {"own": 0.5, "other": 0.5}, of=KIND)),
    n_plays=2,
    horizon=100,
)
SHARES = {"town": 0.75, "land": 0.25, "own": 0.5, "other": 0.5}
POLICY = eh.resolving(SHOP, BayesianRidge(n_features=8), warmup=100)


class Books:
    """One replica: every play that arrived, with the groups that it counts for, its outcomes and what was observed."""

    def __init__(self):
        self.decided, self.rounds, self.plays, self.held = 0, 0.0, [], {}

    def sum_of(self, m, group=None):
        """Of an outcome, with plays of which it was not observed at the average of those of which it was."""
        own = [(y, seen) for groups, y, seen in self.plays if group is None or group in groups]
        known = [y[m] for y, seen in own if seen[m]]
        return sum(known) / len(known) * len(own) if known else 0.0

    def arrived(self, m):
        return sum(y[m] for _, y, seen in self.plays if seen[m])


def lived(seed, rounds=60):
    """A state of two replicas after decisions with late, missing, cancelled and expired outcomes, and its books."""
    rng, state, books, waiting = (
        np.random.default_rng(seed),
        POLICY.start(seed=seed, replicas=2),
        [Books(), Books()],
        [],
    )
    for t in range(rounds):
        units = np.zeros((2, 4, 8))
        for a in range(4):
            units[:, a, 2 * a : 2 * a + 2] = rng.random((2, 2))
        zones = rng.integers(0, 2, (2, 1))
        offered = np.ones((2, 4), bool)
        offered[1, rng.integers(4)] = False
        context = eh.Context(units, SHOP.declared[None], SHOP.groups_of(zones), offered)
        decision = POLICY.act(state, context)
        for book in books:
            book.decided += 1
        if rng.random() < 0.1:
            POLICY.cancel(state, decision)
            continue
        waiting.append((t, decision, zones))
        if rng.random() < 0.7:
            settle(rng, state, books, waiting.pop(rng.integers(len(waiting))))
    return state, books, waiting


def settle(rng, state, books, of):
    t, decision, zones = of
    y = np.stack([(rng.random((2, 2)) < 0.4).astype(float), 9.0 * rng.random((2, 2))], 2)
    observed = rng.random(y.shape) < 0.7
    if t % 7 == 0:
        observed[:] = False
        POLICY.expire(state, decision)
    elif t % 3 == 0:
        observed[:] = True
        POLICY.learn(state, decision, y)
    else:
        POLICY.learn(state, decision, np.where(observed, y, np.nan), observed)
    for r, book in enumerate(books):
        book.rounds += 1
        for p in range(2):
            action = ACTIONS[decision.plays[r, p]]
            minutes = SHOP.declared[decision.plays[r, p], SHOP.known.index("minutes")]
            groups = {("town", "land")[zones[r, 0]], KIND[action]}
            book.plays.append((groups, [*y[r, p], minutes], [*observed[r, p], True]))


@for_each("seed", range(4))
def test_a_status_is_what_books_by_hand_say(seed):
    state, books, waiting = lived(seed)
    for r, book in enumerate(books):
        status = POLICY.status(state, r)
        assert status.rounds == book.decided == 60
        assert status.waiting == len(waiting)
        for m, name in enumerate(("click", "cents", "minutes")):
            assert math.isclose(status.averages[name], book.sum_of(m) / book.rounds)
        assert math.isclose(status.objective, status.averages["click"])
        each = list(status.accounts.items())
        hard, soft, cents, bills = (account for _, account in each)
        assert [name for name, _ in each] == [
            "minutes in all",
            "minutes in all, soft",
            "cents in all, soft",
            "cents in all",
        ]
        due = sum(SHOP.declared[d.plays[r, p], SHOP.known.index("minutes")] for _, d, _ in waiting for p in range(2))
        assert math.isclose(hard.spent, book.arrived(2) + due)  # known costs are spent when they are decided
        assert hard.held == 0.0
        assert math.isclose(hard.pace, hard.spent / 900 / (60 / 100))
        assert math.isclose(soft.spent, book.arrived(2))
        assert math.isclose(soft.left, 350 - soft.spent)
        assert math.isclose(soft.pace, soft.spent / 350 / (book.rounds / 100))
        assert math.isclose(cents.spent, book.arrived(1))
        assert math.isclose(bills.left + bills.held + bills.spent, 5000.0)
        assert bills.held >= 18.0 * len(waiting)  # nine for each of two plays, and what never came
        zone, kind, all_of_them = status.standings.values()
        assert list(status.standings) == ["least click by zone", "least click by kind", "click per round, at least"]
        for standing, groups in ((zone, ("town", "land")), (kind, ("own", "other"))):
            least = min(book.sum_of(0, g) / SHARES[g] / book.rounds for g in groups)
            assert math.isclose(standing.value, least)
            assert math.isclose(standing.average, book.sum_of(0) / book.rounds)
            assert list(standing.groups) == list(groups)
            for g in groups:
                assert math.isclose(standing.groups[g], book.sum_of(0, g) / SHARES[g] / book.rounds)
        assert math.isclose(all_of_them.value, book.sum_of(0) / book.rounds)
        assert (all_of_them.average, all_of_them.groups) == (None, {})
        assert [account.hard for _, account in each] == [True, False, False, True]


def test_replicas_have_their_own_numbers_and_prices():
    state, *_ = lived(0)
    one, two = (POLICY.status(state, r) for r in range(2))
    assert one.averages != two.averages
    assert one.prices != two.prices
    assert one.accounts["cents in all"].held != two.accounts["cents in all"].held


def test_prices_of_a_row_add_up_over_the_goals_that_read_it():
    problem = eh.Problem(
        actions=("a", "b"),
        outcomes=(eh.Outcome("gain"), eh.Outcome("cost", known={"a": 1.0, "b": 0.5})),
        maximize=eh.objectives.Linear({"gain": 1.0, "cost": -0.1}),
        subject_to=(eh.Budget("cost", rate=0.6),),
        horizon=400,
    )
    policy = eh.pgd(problem, BayesianRidge(n_features=2), step=0.5, warmup=0)
    state = policy.start()
    for _ in range(20):
        policy.observe(state, policy.act(state, policy.encode({}, offered=["a"])), {"gain": 1})
    price = policy.status(state).prices["cost"]
    stated = [goal.price(s)[0].sum(1)[0].tolist() for goal, s in zip(policy.goals, state.goals, strict=True)]
    (gain, cost), (dual,) = stated
    assert (gain, cost) == (1.0, -0.1)
    assert dual < -0.01
    assert math.isclose(price, cost + dual)


def test_a_part_of_a_list_is_in_the_averages_once():
    state = POLICY.start()
    context = POLICY.encode({"zone": "town", "size": 0.5})
    for _ in range(3):
        decision = POLICY.act(state, context)
        y = np.array([[[1.0, 2.0], [0.0, 0.0]]])
        POLICY.learn(state, decision, y, pending=np.array([[False, True]]))
        POLICY.learn(state, decision, np.array([[[0.0, 0.0], [0.5, 4.0]]]))
    status = POLICY.status(state)
    assert math.isclose(status.averages["click"], 1.5)
    assert math.isclose(status.objective, 1.5)
    assert math.isclose(status.averages["cents"], 6.0)


def test_before_the_rest_of_a_list_arrives_a_part_counts_as_its_share_of_a_round():
    state = POLICY.start()
    decision = POLICY.act(state, POLICY.encode({"zone": "town", "size": 0.5}))
    POLICY.learn(state, decision, np.array([[[1.0, 2.0], [0.0, 0.0]]]), pending=np.array([[False, True]]))
    status = POLICY.status(state)
    assert status.averages["click"] == status.objective == 2.0
    assert "missed so far" not in str(POLICY.status(POLICY.start()))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_what_is_kept_does_not_depend_on_units(unit):
    """A tenth short of a floor, and a distance of rounding alone."""
    problem = eh.Problem(
        actions=("a", "b"),
        outcomes=(eh.Outcome("x", high=unit), eh.Outcome("y", high=unit)),
        maximize="x",
        subject_to=(
            eh.Floor("x", rate=0.5 * unit),
            eh.Within(("x", "y"), eh.sets.Box((0.0, 0.0), (0.5 * unit, 0.1 * unit))),
            eh.Within(("y",), eh.sets.Box((0.0,), (0.1 * unit,))),
        ),
        horizon=20,
    )
    policy = eh.ucb(problem, BayesianRidge(n_features=1, n_outcomes=2))
    state = policy.start()
    case = eh.Context(
        np.array([[[1.0], [0.5]]]), problem.declared[None], np.zeros((1, 1, 0), np.int64), np.ones((1, 2), bool)
    )
    for _ in range(10):
        policy.learn(state, policy.act(state, case), np.array([[[0.45, 0.1]]]) * unit)
    floor, both, one = policy.status(state).standings.values()
    assert (floor.kept, both.kept, one.kept) == (False, True, True)
