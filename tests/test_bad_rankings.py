"""Rankings that cannot be are refused with one error that names the field, what was expected, and what came."""

import re
from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Audience, LastFM, Ranking, last_fm
from evenhand.models import Bilinear
from evenhand.problem.groups import Groups
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.recipes import fairlearn_rank, linucb_rank
from evenhand.run.simulation import simulate

ITEMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.2, 0.2]])
WORLD = Ranking(audience=Audience(users=np.eye(2), items=ITEMS), horizon=50, slots=3, position=(1.0, 0.5, 0.25))
MODEL = Bilinear(who=2, what=2)
NAN, INF = np.nan, np.inf


def stated(n_plays):
    """A problem of two articles, by publisher."""
    return Problem(
        actions=("a", "b"),
        outcomes=(Outcome("click"),),
        maximize="click",
        groups=(Groups("by", ("x", "y"), of={"a": "x", "b": "y"}),),
        horizon=5,
        n_plays=n_plays,
    )


def position(*b):
    return replace(WORLD, position=b)


NEVER = "Ranking.position: expected probabilities that never increase, got"
PROBABILITIES = "Ranking.position: expected 3 probabilities in (0, 1], got"
SHARE = "FairLearn.share: expected a number in [0, k / A] = [0, 0.75], got"
FACTORS = "a whole number of at least 1, got"

STATEMENTS = {
    "more slots than items": (
        lambda: replace(WORLD, slots=5),
        "Ranking.slots: expected at most 4, the number of items, got 5",
    ),
    "more plays than articles": (lambda: stated(3), "n_plays: expected at most 2, the number of actions, as some"),
    "no slots": (lambda: replace(WORLD, slots=0), "Ranking.slots: expected a whole number of at least 1, got 0"),
    "no plays": (lambda: stated(0), "n_plays: expected a whole number of at least 1, got 0"),
    "increasing positions": (lambda: position(0.1, 0.5, 0.5), f"{NEVER} (0.1, 0.5, 0.5)"),
    "a position above 1": (lambda: position(1.2, 1.0, 1.0), f"{PROBABILITIES} (1.2, 1.0, 1.0)"),
    "a position of 0": (lambda: position(1.0, 0.5, 0.0), f"{PROBABILITIES} (1.0, 0.5, 0.0)"),
    "a position of nan": (lambda: position(1.0, 0.5, NAN), f"{PROBABILITIES} (1.0, 0.5, nan)"),
    "too few positions": (lambda: position(1.0, 0.5), f"{PROBABILITIES} (1.0, 0.5)"),
    "a share above k / m": (lambda: fairlearn_rank(WORLD.problem, MODEL, share=0.8), f"{SHARE} 0.8"),
    "a share below 0": (lambda: fairlearn_rank(WORLD.problem, MODEL, share=-0.1), f"{SHARE} -0.1"),
    "a share of nan": (lambda: fairlearn_rank(WORLD.problem, MODEL, share=NAN), f"{SHARE} nan"),
    "who is 0": (lambda: Bilinear(who=0, what=2), f"Bilinear.who: expected {FACTORS} 0"),
    "what is 0": (lambda: Bilinear(who=2, what=0), f"Bilinear.what: expected {FACTORS} 0"),
    "another number of factors": (
        lambda: simulate(linucb_rank(WORLD.problem, Bilinear(who=2, what=3)), WORLD, replicas=1, progress=False),
        "context.features: expected shape (1, A, 5), got (1, 4, 4)",
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_cannot_be_stated_is_named(name):
    make, message = STATEMENTS[name]
    with pytest.raises(InvalidInput, match="^" + re.escape(message)) as refused:
        make()
    assert "\n" not in str(refused.value)


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

ROUNDS = {
    "an item twice": (
        lambda: commit([[0, 1, 2], [2, 1, 2]]),
        "decision.plays[1]: expected different candidates below 4, or -1, got [2 1 2]",
    ),
    "an item that there is not": (lambda: commit([[0, 1, 4], [0, 1, 2]]), "decision.plays[0]: expected different"),
    "feedback on other items": (lambda: learn(shown=1), "decision: expected the plays, groups, known outcomes and"),
    "clicked but not exposed": (lambda: learn(1.0, exposed=LOOKED), f"{NOBODY} [0. 0. 1.]"),
    "clicked at an empty place": (lambda: learn(1.0, offered=TWO), f"{NOBODY} [0. 0. 1.]"),
    "infinity at an empty place": (lambda: learn(INF, offered=TWO), f"{NOBODY} [ 0.  0. inf]"),
    "below 0 at an empty place": (lambda: learn(-0.5, offered=TWO), f"{NOBODY} [ 0.   0.  -0.5]"),
    "nan": (lambda: learn(NAN), f"{CLICK} a finite number in [0, 1] (as declared), got [ 0.  0. nan]"),
    "nan that was exposed": (lambda: learn(NAN, exposed=np.ones((2, 3), bool)), f"{CLICK} a finite number in [0, 1]"),
    "too much": (lambda: learn(1.5), f"{CLICK} a finite number in [0, 1] (as declared), got [0.  0.  1.5]"),
    "outcomes of another shape": (lambda: learn(y=np.zeros((2, 3))), "outcomes: expected shape (2, 3, 1), a column"),
    "exposed of another shape": (lambda: learn(exposed=LOOKED[:, :2]), f"{SHAPE} bool of shape (2, 2)"),
    "exposed of 0 and 1": (lambda: learn(exposed=LOOKED.astype(int)), f"{SHAPE} int64 of shape (2, 3)"),
    "exposed of 0 and 2": (lambda: learn(exposed=2.0 * LOOKED), f"{SHAPE} float64 of shape (2, 3)"),
    "exposed as a list": (lambda: learn(exposed=LOOKED.tolist()), "exposed: expected an array, got list"),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_what_cannot_have_happened_is_named(name):
    act, message = ROUNDS[name]
    with pytest.raises(InvalidInput, match="^" + re.escape(message)) as refused:
        act()
    assert "\n" not in str(refused.value)


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


WHERE = "(the HetRec 2011 data sets of GroupLens, for non-commercial use)"
COUNTS, NAMES = "user_artists.dat", "artists.dat"
ROWS = "1\t10\t9", "1\t11\t1", "2\t10\t2", "2\t11\t3", "5\t10\t4", "5\t12\t8"


def changed(row, *, first="userID\tartistID\tweight"):
    """The file of counts with another last row, or several rows, or none."""
    return {COUNTS: "\n".join([first, *ROWS[:-1], *row, ""])}


FILES = {
    "no file of counts": ({COUNTS: None}, f"LastFM.path: expected a folder with {COUNTS}", "no file"),
    "no file of names": ({NAMES: None}, f"LastFM.path: expected a folder with {NAMES}", "no file"),
    "an empty file": ({COUNTS: ""}, COUNTS, "got columns ('',) in place of ('userID', 'artistID', 'weight')"),
    "a column missing": (changed(["5\t12\t8"], first="userID\tartistID"), COUNTS, "columns ('userID', 'artistID')"),
    "other names of columns": (changed(["5\t12\t8"], first="user\titem\tcount"), COUNTS, "columns ('user', 'item'"),
    "a field missing": (changed(["5\t12"]), COUNTS, "got 2 fields in line 7"),
    "a count that is a word": (changed(["5\t12\tx"]), COUNTS, "'x'"),
    "a count of nan": (changed(["5\t12\tnan"]), COUNTS, "'nan'"),
    "a broken count": (changed(["5\t12\t8.5"]), COUNTS, "'8.5'"),
    "a count beyond all numbers": (changed([f"5\t12\t{10**30}"]), COUNTS, "too large"),
    "a negative count": (changed(["5\t12\t-8"]), COUNTS, "counts from -8"),
    "a count of 0": (changed(["5\t12\t0"]), COUNTS, "counts from 0"),
    "a user less": ({COUNTS: changed(["5\t12\t8"])[COUNTS].replace("\n5", "\n2")}, COUNTS, "got 2 users, 3 artists"),
    "an artist less": (changed(["5\t11\t8"]), COUNTS, "got 3 users, 2 artists"),
    "a pair twice": ({COUNTS: changed(["5\t12\t8"])[COUNTS].replace("2\t10\t2", "2\t11\t2")}, COUNTS, "twice"),
    "a row less": (changed([]), COUNTS, "got 5 rows in place of 6"),
    "a row more": (changed(["5\t12\t8", "5\t11\t1"]), COUNTS, "got 7 rows in place of 6"),
    "a name less": ({NAMES: "id\tname\turl\tpictureURL\n10\tA\tu\tp\n"}, NAMES, "got 1 rows in place of 3"),
}


@pytest.mark.parametrize("name", FILES)
def test_data_that_are_missing_or_altered_are_named_with_where_to_get_them(name, tmp_path, monkeypatch):
    change, field, got = FILES[name]
    for size, value in (("ROWS", 6), ("ARTISTS", 3), ("LISTENERS", 3)):
        monkeypatch.setattr(last_fm, size, value)
    names = "id\tname\turl\tpictureURL\n10\tA\tu\tp\n11\tB\tu\tp\n12\tC\tu\tp\n"
    files = changed([ROWS[-1]]) | {NAMES: names}
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    data = {"path": tmp_path, "users": 3, "items": 3, "factors": 2}
    assert LastFM(**data).audience.chances.shape == (3, 3)
    for file, text in change.items():
        (tmp_path / file).unlink()
        if text is not None:
            (tmp_path / file).write_text(text)
    with pytest.raises(InvalidInput) as refused:
        _ = LastFM(**data).audience
    said = str(refused.value)
    assert said.startswith("LastFM.path")
    for part in (field, got, "hetrec2011-lastfm-2k.zip", WHERE):
        assert part in said


@pytest.mark.parametrize(("change", "most"), [({"users": 1893}, "users.*1,892"), ({"items": 17_633}, "items.*17,632")])
def test_more_than_the_data_have_cannot_be_asked_for(change, most):
    with pytest.raises(InvalidInput, match=most):
        LastFM(path="anywhere", **change)
