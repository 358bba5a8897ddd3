"""Lists that are drawn: the stated propensities multiply to the probability of the whole list."""

from itertools import permutations

import numpy as np
import pytest
from scipy.integrate import quad

from evenhand.choices import EpsilonGreedy, Gibbs, InverseGap, Random, Rate
from tests.choices import plain

WORTHS, PLAYS = np.array([0.3, 0.9, 0.3, 0.5]), 2
LISTS = list(permutations(range(4), PLAYS))
DRAWN = 120_000
CHOICES = {
    "epsilon": EpsilonGreedy(0.3, PLAYS),
    "gibbs": Gibbs(0.25, PLAYS),
    "gaps": InverseGap(Rate(7.0), PLAYS),
    "random": Random(n_plays=PLAYS),
}


def draw(choice, luck):
    """Plays and propensities, a replica per row of luck."""
    count = len(luck)
    worth = plain.worth(np.tile(WORTHS, (count, 1, 1)))
    pick = plain.pick(choice, worth, plain.offer(np.ones((count, 4), bool)), u=luck)
    return pick.plays, pick.propensities


def stated(choice):
    """The product of the propensities of every list; it must be the same whenever a list is drawn."""
    found = {}
    for shown, p in zip(*draw(choice, np.random.default_rng(0).random((5000, PLAYS))), strict=True):
        product = p.prod()
        assert found.setdefault(tuple(shown.tolist()), product) == product
    return np.array([found[shown] for shown in LISTS])


@pytest.mark.parametrize("name", CHOICES)
def test_the_product_of_the_places_is_how_often_a_list_is_drawn(name):
    """All 12 lists of 2 out of 4 items are counted; a probability p has standard error sqrt(p (1 - p) / n)."""
    choice = CHOICES[name]
    product = stated(choice)
    assert product.sum() == pytest.approx(1.0, abs=1e-12)
    plays, _ = draw(choice, np.random.default_rng(1).random((DRAWN, PLAYS)))
    often = np.array([(plays == shown).all(1).mean() for shown in LISTS])
    assert (np.abs(often - product) <= 4.0 * np.sqrt(product * (1.0 - product) / DRAWN)).all()


@pytest.mark.parametrize("name", CHOICES)
def test_luck_is_spent_on_lists_in_proportion_to_their_probability(name):
    """On a fine grid of luck in place of random numbers: each side of a list's part is right to one cell."""
    choice, n = CHOICES[name], 400
    cells = (np.arange(n) + 0.5) / n
    plays, _ = draw(choice, np.stack(np.meshgrid(cells, cells, indexing="ij"), -1).reshape(-1, 2))
    often = np.array([(plays == shown).all(1).mean() for shown in LISTS])
    np.testing.assert_allclose(often, stated(choice), atol=4.0 / n)


def gumbel_sorts(worths, temperature):
    """Exact: the chance that adding Gumbel noise to worths / temperature puts (a, b) first, by the value x of b.

    P(a > x) f_b(x) P(all others < x), integrated over x.
    """
    z = worths / temperature

    def below(x, a):
        return np.exp(-np.exp(z[a] - x))

    def density(x, a, b):
        others = [c for c in range(len(z)) if c not in (a, b)]
        at = np.exp(z[b] - x) * below(x, b)
        return (1.0 - below(x, a)) * at * np.prod([below(x, c) for c in others])

    return np.array([quad(density, -20.0, 60.0, (a, b), epsabs=1e-12, limit=400)[0] for a, b in LISTS])


@pytest.mark.parametrize("temperature", [0.05, 0.25, 2.0])
def test_gibbs_is_sorting_by_worth_with_gumbel_noise(temperature):
    """And Plackett-Luce: the weights w = exp(worth / temperature) give w_a / sum w, then w_b / (sum w - w_a)."""
    found = stated_exactly(Gibbs(temperature, PLAYS))
    np.testing.assert_allclose(found, gumbel_sorts(WORTHS, temperature), atol=1e-9)
    w = np.exp(WORTHS / temperature)
    np.testing.assert_allclose(found, [w[a] / w.sum() * w[b] / (w.sum() - w[a]) for a, b in LISTS], rtol=1e-9)


def stated_exactly(choice):
    """Propensities of every list, even of rare ones: luck is aimed at the middle of its part."""
    first = np.array([choice_of(choice, (), a) for a in range(4)])
    found = []
    for a, b in LISTS:
        second = np.array([choice_of(choice, (a,), c) for c in range(4)])
        luck = np.array([[first[:a].sum() + first[a] / 2, second[:b].sum() + second[b] / 2]])
        plays, p = draw(choice, luck)
        assert plays[0].tolist() == [a, b]
        found.append(p[0].prod())
    return np.array(found)


def choice_of(choice, before, a):
    """The softmax of item a where some were shown before."""
    w = np.exp((WORTHS - WORTHS.max()) / choice.temperature)
    w[list(before)] = 0.0
    return w[a] / w.sum()


def test_the_lottery_of_the_first_place_is_not_the_chance_to_be_shown():
    """An item is shown if it is at either place: the sum over lists, which is what weighs clicks at any place."""
    product = stated(CHOICES["gibbs"])
    shown = np.array([sum(p for p, at in zip(product, LISTS, strict=True) if a in at) for a in range(4)])
    assert shown.sum() == pytest.approx(PLAYS)
    w = np.exp(WORTHS / 0.25)
    assert (shown > w / w.sum() + 0.05).all()
