"""`check_choice` catches a choice that breaks a promise: one broken promise per row."""

from dataclasses import dataclass

import numpy as np
import pytest

from evenhand.choices import Pick, Random, TopK
from evenhand.testing import check_choice
from tests.contracts.faults import Twisted, after, caught
from tests.rows import for_each


@dataclass
class Memory:
    told: np.ndarray


def drawing(n_plays=1, **members):
    """A blind draw with a state."""
    inner = Random(n_plays=n_plays)
    own = {"start": lambda replicas: Memory(np.zeros(replicas)), "reads_bonus": False}
    return Twisted(inner, **(own | {"pick": lambda s, *asked: inner.pick(None, *asked)} | members))


def other(change, n_plays=1):
    """Another pick, made of the pick and of what was asked: state, worth, offer, rounds and luck."""
    return {"pick": after(lambda s, *asked: Random(n_plays=n_plays).pick(None, *asked), change)}


def field(name, change):
    return other(lambda pick, *asked: pick._replace(**{name: change(getattr(pick, name))}))


def of_two(change):
    """Of two plays: other plays and propensities."""

    def changed(pick, *asked):
        plays, odds = pick.plays.copy(), pick.propensities.copy()
        return pick._replace(**dict(zip(("plays", "propensities"), change(plays, odds), strict=True)))

    return other(changed, 2)


def tells(pick, state, *asked):
    state.told += 1
    return pick


def writes(pick, state, worth, *asked):
    worth.mean[:] = 0.0
    return pick


def stops(pick, state, worth, offer, t, u):
    late = u[:, :1] < 0.2
    return pick._replace(plays=np.where(late, -1, pick.plays), propensities=np.where(late, 1.0, pick.propensities))


def biased(pick, state, worth, offer, t, u):
    plays = np.where(offer.playable[:, :1], 0, pick.plays)
    odds = np.where(plays >= 0, np.take_along_axis(pick.lottery, np.maximum(plays, 0), 1), 1.0)
    return pick._replace(plays=plays, propensities=odds)


def mixes(state, worth, offer, t, u):
    pick = Random().pick(None, worth, offer, t, u)
    swapped = Random().pick(None, worth, offer, t, u[::-1])
    return swapped._replace(forced=pick.forced)


def rich(state, worth, offer, t, u):
    return Random(n_plays=2).pick(None, worth, offer._replace(left=offer.left + 9.0), t, u)


FAULTS = [
    (1, other(tells), "`pick` leaves the state as it is"),
    (1, other(writes), "`pick` leaves what it is handed as it is"),
    (1, field("plays", lambda z: 0 * z), "the first play is made wherever|what is played is playable"),
    (1, field("lottery", lambda z: z - 0.01), "chances are never negative"),
    (1, field("lottery", lambda z: np.full_like(z, 1 / z.shape[1])), "what is not playable has no chance"),
    (1, field("lottery", lambda z: 0.9 * z), "chances sum to 1"),
    (1, other(stops), "the first play is made wherever anything is playable"),
    (1, other(biased), "candidate 0 comes first with the stated 0.3333, not 1.0000"),
    (1, other(lambda pick, *asked: pick._replace(propensities=np.where(pick.plays >= 0, 0.9, 1.0) * pick.propensities)),
     "the propensity of the first play is its chance"),
    (1, field("propensities", lambda z: 0.0 * z), "propensities are above 0"),
    (1, other(lambda pick, *asked: pick._replace(propensities=np.where(pick.plays >= 0, pick.propensities, 0.5))),
     "where nothing can be played, that is certain"),
    (1, {"pick": mixes}, "a replica has the same plays in a batch and alone"),
    (1, {"pick": lambda s, *asked: TopK(1).pick(None, *asked)}, "has the same plays whatever the bonus"),
    (1, field("forced", lambda z: z - 0.5), "`forced` is 0 or 1"),
    (1, field("plays", lambda z: np.concatenate([z, np.full_like(z, -1)], 1)), "plays have shape"),
    (1, field("plays", lambda z: 1.0 * z), "plays are whole numbers, not f"),
    (1, field("forced", lambda z: None), "`forced` of what `pick` returns is an"),
    (1, other(lambda pick, *asked: tuple(pick)), "what `pick` returns is of type Pick, not tuple"),
    (1, {"draws": lambda candidates: None}, "draws is a whole number of at least 0, not None"),
    (2, of_two(lambda plays, odds: (plays[:, [0, 0]], odds)), "no candidate is played twice"),
    (2, of_two(lambda plays, odds: (plays, np.where([False, True] & (plays >= 0), 1.0, odds))),
     r"a list of plays begins with \[0, 2\] with the stated 0\.3333"),
    (2, of_two(lambda plays, odds: (np.where([False, True], -1, plays), np.where([False, True], 1.0, odds))),
     "a place stays empty only where nothing fits"),
    (2, of_two(lambda plays, odds: (plays[:, ::-1].copy(), odds)), "empty places come after"),
    (2, {"pick": rich}, "plays fit together"),
]  # fmt: skip


@pytest.mark.parametrize("n_plays", [1, 2])
def test_a_sound_choice_passes(n_plays):
    check_choice(drawing(n_plays))


def test_a_choice_says_how_many_it_plays():
    broken = drawing()
    broken.n_plays = None
    caught(check_choice, broken, "n_plays is a whole number of at least 0, not None")


@for_each(("n_plays", "members", "promise"), FAULTS, ids=lambda z: z if isinstance(z, str) else "")
def test_a_faulty_choice_is_caught(n_plays, members, promise):
    caught(check_choice, drawing(n_plays, **members), promise)


def test_an_error_of_a_choice_names_the_offer_on_which_it_was_raised():
    """An IndexError of code in a batch of 64 rounds says nothing of where nothing could be played."""

    def first(state, worth, offer, t, u):
        """The first that is playable, looked up without asking whether there is one."""
        plays = np.array([np.flatnonzero(one)[0] for one in offer.playable])
        return Pick(plays[:, None], np.ones((len(t), 1)), np.eye(offer.playable.shape[1])[plays], np.zeros(len(t)))

    caught(
        check_choice, drawing(pick=first), r"^`pick` answers where none of 4 candidates is playable, .*IndexError: ind"
    )
