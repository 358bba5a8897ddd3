"""Mixtures of a known lottery and another choice, against the formula and frequencies."""

import numpy as np
import pytest

from evenhand.choices import Floored, Gibbs, HeldOut, Random, TopK, Unbiased
from evenhand.choices.base import Offer, Worth
from evenhand.choices.held_out import sides
from evenhand.core.errors import InvalidInput

WORTH = np.array([0.1, 0.5, 0.3, 0.2])


def offered(playable, many=1):
    worth = Worth(np.tile(WORTH, (many, 1, 1)), np.zeros((many, 1, 4)), random=False)
    return worth, Offer(np.tile(np.array(playable, bool), (many, 1)), np.zeros((1, 4, 0)), np.zeros((many, 0)))


def picked(choice, playable=(1, 1, 1, 1), many=1, random=False):
    worth, offer = offered(playable, many)
    u = np.random.default_rng(1).random((many, choice.draws(4)))
    return choice.pick(choice.start(many), worth._replace(random=random), offer, np.full(many, 9.0), u)


@pytest.mark.parametrize("playable", [(1, 1, 1, 1), (1, 0, 1, 0), (0, 0, 1, 0)])
@pytest.mark.parametrize("then", [TopK(), Gibbs(0.2)])
def test_chances_are_those_of_the_mixture(then, playable):
    q, free = picked(then, playable).lottery[0], np.array(playable)
    held = picked(HeldOut(0.3, then, (0.0, 0.25, 0.75, 0.0)), playable).lottery[0]
    b = free * (0.0, 0.25, 0.75, 0.0)
    assert held == pytest.approx(0.3 * b / b.sum() + 0.7 * q)
    floored = picked(Floored(0.1, then), playable).lottery[0]
    assert floored == pytest.approx(0.1 * free + (1.0 - 0.1 * free.sum()) * q)


def test_plays_are_as_often_as_stated_and_held_out_rounds_are_forced():
    """Within five standard errors of 20,000 draws; a round held out draws by the weights."""
    n, choice = 20_000, HeldOut(0.3, Floored(0.05, TopK()), (1.0, 0.0, 3.0, 0.0))
    pick = picked(choice, many=n)
    often = np.bincount(pick.plays[:, 0], minlength=4) / n
    p = pick.lottery[0]
    assert p == pytest.approx(0.3 * np.array([0.25, 0.0, 0.75, 0.0]) + 0.7 * np.array([0.05, 0.85, 0.05, 0.05]))
    assert (np.abs(often - p) < 5.0 * np.sqrt(p * (1 - p) / n)).all()
    held = pick.carried[:, 0] == 2.0
    assert abs(held.mean() - 0.3) < 5.0 * np.sqrt(0.21 / n)
    assert (pick.forced[held] == 1.0).all()
    assert abs(pick.forced.mean() - (0.3 + 0.7 * 0.2)) < 5.0 * np.sqrt(0.25 / n)
    assert set(pick.plays[held, 0]) == {0, 2}
    assert abs((pick.plays[held, 0] == 2).mean() - 0.75) < 5.0 * np.sqrt(0.1875 / held.sum())
    assert pick.propensities[:, 0] == pytest.approx(p[pick.plays[:, 0]])


def test_nothing_is_held_out_where_none_of_its_actions_may_be_played():
    pick = picked(HeldOut(0.9, TopK(), (1.0, 0.0, 0.0, 0.0)), (0, 1, 1, 0), many=200)
    assert (pick.plays == 1).all()
    assert (pick.propensities == 1.0).all()
    assert (pick.forced == 0.0).all()


def test_no_probability_is_known_where_the_model_drew_its_worth():
    assert np.isnan(picked(HeldOut(0.5, TopK()), many=50, random=True).propensities).all()


def test_what_the_inner_choice_carries_reaches_it_and_marks_are_read_back():
    inner = Unbiased(1, candidates=4)
    pick, alone = picked(HeldOut(0.5, inner), many=30), picked(inner, many=30)
    assert pick.carried.shape[1] == (0 if alone.carried is None else alone.carried.shape[1]) + 1

    class Decided:
        carried, plays = pick.carried, pick.plays

    assert (sides(Decided).sum(1) == 1.0).all()
    Decided.carried = 0.0 * pick.carried  # of a policy before a switch
    assert (sides(Decided) == 0.0).all()


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: HeldOut(0.0, TopK()), "HeldOut.share"),
        (lambda: HeldOut(1.0, TopK()), "HeldOut.share"),
        (lambda: HeldOut(0.1, TopK(2)), "HeldOut.then"),
        (lambda: HeldOut(0.1, TopK(), (0.0, 0.0)), "Random.weights"),
        (lambda: Floored(0.0, TopK()), "Floored.floor"),
        (lambda: Floored(0.1, Random(n_plays=2)), "Floored.then"),
        (lambda: picked(Floored(0.3, TopK())), "Floored.floor"),
        (lambda: picked(HeldOut(0.3, TopK(), (1.0, 1.0))), "HeldOut.weights"),
    ],
)
def test_bad_input_is_refused_by_name(make, field):
    with pytest.raises(InvalidInput, match=field):
        make()
