"""Plays and outcomes of lists that cannot have happened are refused by name; empty places are none of them."""

import numpy as np
import pytest

from evenhand.environments import Audience, Ranking
from evenhand.models import Bilinear
from evenhand.recipes import linucb_rank
from evenhand.run import simulate
from tests.malformed.tables import check, name
from tests.rows import for_each

ITEMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.2, 0.2]])
WORLD = Ranking(audience=Audience(users=np.eye(2), items=ITEMS), horizon=50, slots=3, position=(1.0, 0.5, 0.25))
MODEL = Bilinear(n_user_features=2, n_item_features=2)
NAN, INF = np.nan, np.inf


def decided(policy=None, offered=None):
    """A decision in two replicas, not committed; of 4 items, those offered in the second replica may be fewer."""
    policy = policy or linucb_rank(WORLD.problem, MODEL)
    state, context = policy.start(replicas=2), WORLD.start(0, np.arange(2)).context(0)
    if offered is not None:
        context = context._replace(offered=np.array([[True] * 4, offered]))
    return policy, state, context, policy.decide(state, context)


def commit(plays):
    policy, state, context, decision = decided()
    policy.commit(state, context, decision._replace(plays=np.array(plays)))


def learn(last=0.0, *, offered=None, y=None, shown=0, **said):
    """Tell zeros, but for the last place of the second replica; return how many plays taught the model."""
    policy, state, context, decision = decided(offered=offered)
    policy.commit(state, context, decision)
    if y is None:
        y = np.zeros((2, 3, 1))
        y[1, 2] = last
    policy.learn(state, decision._replace(plays=(decision.plays + shown) % 4) if shown else decision, y, **said)
    return state.model.count.tolist()


LOOKED = np.array([[True, True, True], [True, True, False]])
CLICK = "outcome 'click' of replica 1: expected"
NOBODY = f"{CLICK} 0 or NaN where nothing was played or a play was not exposed, got"
SHAPE = "exposed: expected true or false, of shape (2, 3), got"
TWO = [True, True, False, False]  # of four items are offered, so that the last of three places stays empty

ROWS = [
    (lambda: commit([[0, 1, 2], [2, 1, 2]]),
     "decision.plays[1]: expected different candidates below 4, or -1, got [2 1 2]"),
    (lambda: commit([[0, 1, 4], [0, 1, 2]]), "decision.plays[0]: expected different"),
    (lambda: learn(shown=1), "decision: expected the plays, groups, known outcomes and"),
    (lambda: learn(1.0, exposed=LOOKED), f"{NOBODY} [0. 0. 1.]"),
    (lambda: learn(1.0, offered=TWO), f"{NOBODY} [0. 0. 1.]"),
    (lambda: learn(INF, offered=TWO), f"{NOBODY} [ 0.  0. inf]"),
    (lambda: learn(-0.5, offered=TWO), f"{NOBODY} [ 0.   0.  -0.5]"),
    (lambda: learn(NAN), f"{CLICK} a finite number in [0, 1] (as declared), got [ 0.  0. nan]"),
    (lambda: learn(NAN, exposed=np.ones((2, 3), bool)), f"{CLICK} a finite number in [0, 1]"),
    (lambda: learn(1.5), f"{CLICK} a finite number in [0, 1] (as declared), got [0.  0.  1.5]"),
    (lambda: learn(y=np.zeros((2, 3))), "outcomes: expected shape (2, 3, 1), a column"),
    (lambda: learn(exposed=LOOKED[:, :2]), f"{SHAPE} bool of shape (2, 2)"),
    (lambda: learn(exposed=LOOKED.astype(int)), f"{SHAPE} int64 of shape (2, 3)"),
    (lambda: learn(exposed=2.0 * LOOKED), f"{SHAPE} float64 of shape (2, 3)"),
    (lambda: learn(exposed=LOOKED.tolist()), "exposed: expected an array, got list"),
]  # fmt: skip


@for_each("row", ROWS, ids=name)
def test_what_cannot_have_happened_is_named(row):
    check(*row)


@pytest.mark.parametrize("told", [0.0, -0.0, NAN])
@pytest.mark.parametrize("exposed", [None, np.ones((2, 3), bool), LOOKED])
def test_zero_and_nan_at_an_empty_place_are_ignored(told, exposed):
    assert learn(told, offered=TWO, exposed=exposed) == [3.0, 2.0]


@pytest.mark.parametrize(("items", "slots"), [(4, 4), (1, 1)])
def test_all_items_in_one_list_and_a_single_item_are_rankings(items, slots):
    audience = Audience(users=np.eye(2), items=ITEMS[:items])
    world = Ranking(audience=audience, horizon=50, slots=slots)
    trace = simulate(linucb_rank(world.problem, MODEL), world, replicas=2, record="all", progress=False)
    assert (np.sort(trace.plays.actions, axis=2) == np.arange(slots)).all()


def test_places_stay_empty_where_fewer_items_are_playable_than_there_are_places():
    plays = decided(offered=TWO)[3].plays
    assert (plays[0] >= 0).all()
    assert sorted(plays[1].tolist()) == [-1, 0, 1]
    assert plays[1, 2] == -1
