"""Last.fm: what is read and chosen, how a missing or altered file is answered, and the synthetic twin."""

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.environments import LastFM, Listeners, last_fm

DATA = Path(os.environ.get("EVENHAND_DATA", Path(__file__).parents[3] / "shared" / "data")) / "lastfm"
needs_data = pytest.mark.skipif(
    not (DATA / "user_artists.dat").exists(),
    reason="lastfm/user_artists.dat is absent: set EVENHAND_DATA to its folder",
)
PLACES = 1.0 / np.log2(1.0 + np.arange(1, 11))


def greedy(chances):
    """Utility and Gini difference of exposures if every user is shown the ten items they like most."""
    order = np.argsort(-chances, axis=1, kind="stable")[:, :10]
    shown = np.zeros(chances.shape)
    np.put_along_axis(shown, order, np.tile(PLACES, (len(chances), 1)), 1)
    exposure, m = np.sort(shown.mean(0)), chances.shape[1]
    return (shown * chances).sum(1).mean(), -((m - 1 - 2 * np.arange(m)) / m * exposure).sum()


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A file as if published with 8 rows: 3 users, 4 artists, of which two have the same name."""
    counts = [(1, 10, 9), (1, 11, 1), (2, 10, 2), (2, 12, 3), (2, 13, 1), (5, 11, 3), (5, 12, 4), (5, 13, 8)]
    write(tmp_path, counts, ["10\tMoon\tu\tp", "11\tSun\tu\tp", "12\tMoon\tu\tp", "13\tÉté\tu\tp"])
    for name, value in (("ROWS", 8), ("ARTISTS", 4), ("LISTENERS", 3), ("WIDE", 2)):
        monkeypatch.setattr(last_fm, name, value)
    return tmp_path


def write(folder, counts, names):
    lines = ["userID\tartistID\tweight", *("\t".join(map(str, row)) for row in counts)]
    (folder / "user_artists.dat").write_bytes("\r\n".join([*lines, ""]).encode())
    (folder / "artists.dat").write_bytes("\n".join(["id\tname\turl\tpictureURL", *names, ""]).encode())


def test_users_and_artists_with_the_largest_sums_are_kept_and_the_lowest_id_of_a_tie(small):
    """Sums by user: 10, 6, 15; by artist: 11, 4, 7, 9."""
    x = LastFM(path=small, users=2, items=3, factors=2)
    counts = np.array([[0, 8, 4], [9, 0, 0]])  # users 5 and 1, artists 10, 13 and 12
    np.testing.assert_array_equal(x.listened, np.log(1.0 + counts))
    assert x.audience.names == ("Moon (10)", "Été", "Moon (12)")


def test_the_wide_set_has_the_artists_with_most_listeners_and_all_their_users(small):
    """Every artist has two listeners: the two lowest ids are kept, and with them all three users."""
    x = LastFM(path=small, users=1, items="2k", factors=1)
    np.testing.assert_array_equal(x.listened, np.log1p(np.array([[9, 1], [2, 0], [0, 3]])))
    assert x.audience.names == ("Moon", "Sun")


def test_factors_are_balanced_and_predict_probabilities(small):
    a = LastFM(path=small, users=3, items=4, factors=2).audience
    np.testing.assert_allclose(np.linalg.norm(a.users, axis=0), np.linalg.norm(a.items, axis=0))
    assert (a.users >= 0).all()
    assert (a.items >= 0).all()
    assert a.chances.max() == pytest.approx(1.0)
    np.testing.assert_allclose(a.chances, a.users @ a.items.T)


def test_a_quantile_of_what_is_listened_to_becomes_certain(small):
    x = LastFM(path=small, users=3, items=4, factors=2, quantile=0.5)
    products = x.audience.users @ x.audience.items.T
    assert np.median(products[x.listened > 0]) == pytest.approx(1.0)
    np.testing.assert_allclose(x.audience.chances, np.minimum(products, 1.0))


def test_factors_are_the_same_every_time_and_in_another_process(small):
    x = LastFM(path=small, users=3, items=4, factors=2)
    twin = pickle.loads(pickle.dumps(LastFM(path=small, users=3, items=4, factors=2)))
    np.testing.assert_array_equal(x.audience.users, twin.audience.users)


def test_a_missing_file_is_answered_with_where_it_is(tmp_path):
    with pytest.raises(
        InvalidInput, match=r"user_artists.dat, the file of hetrec2011-lastfm-2k.zip from https://group"
    ):
        _ = LastFM(path=tmp_path).audience


@pytest.mark.parametrize(
    ("name", "before", "after", "match"),
    [
        ("user_artists.dat", "userID", "user", "columns"),
        ("user_artists.dat", "1\t11\t1\r\n", "", "7 rows in place of 8"),
        ("user_artists.dat", "1\t11\t1\r\n", "1\t11\r\n", "2 fields in line 3"),
        ("user_artists.dat", "1\t11\t1\r\n", "1\t11\tx\r\n", "invalid literal"),
        ("user_artists.dat", "1\t11\t1\r\n", "1\t11\t0\r\n", "counts from 0"),
        ("user_artists.dat", "1\t11\t1\r\n", "7\t11\t1\r\n", "4 users"),
        ("artists.dat", "name", "title", "columns"),
        ("artists.dat", "11\tSun\tu\tp\n", "", "3 rows in place of 4"),
        ("artists.dat", "11\tSun", "15\tSun", "no artist 11"),
    ],
)
def test_an_altered_file_is_refused(small, name, before, after, match):
    file = small / name
    text = file.read_bytes().decode()
    assert before in text
    file.write_bytes(text.replace(before, after, 1).encode())
    with pytest.raises(InvalidInput, match=match) as refused:
        _ = LastFM(path=small, users=3, items=4, factors=2).audience
    assert name in str(refused.value)
    assert "as published" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"users": 0}, "users"),
        ({"users": 2000}, "at most 1,892"),
        ({"items": "3k"}, "'2k'"),
        ({"items": 20_000}, "at most 17,632"),
        ({"items": 1.5}, "items"),
        ({"factors": 0}, "factors"),
        ({"quantile": 0.0}, "quantile"),
        ({"quantile": 1.1}, "quantile"),
    ],
)
def test_what_it_refuses(change, match):
    with pytest.raises(InvalidInput, match=match):
        LastFM(path="anywhere", **change)


def test_more_factors_than_users_or_items(small):
    with pytest.raises(InvalidInput, match="at most 2"):
        _ = LastFM(path=small, users=3, items=2, factors=3).audience


def test_without_scikit_learn_it_says_what_to_install(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    with pytest.raises(MissingExtra, match=r"^factors of Last.fm need .*pip install 'evenhand\[sklearn\]'"):
        _ = LastFM(path=small, users=3, items=4).audience


@needs_data
@pytest.mark.parametrize(("factors", "error"), [(5, 0.6238), (10, 0.5251)])
def test_the_top_fifty(factors, error):
    """The facts that the docstring states."""
    x = LastFM(path=DATA, factors=factors)
    assert (x.listened > 0).sum() == 442
    a = x.audience
    product = a.users @ a.items.T
    fit = product * (product * x.listened).sum() / (product**2).sum()
    assert np.linalg.norm(x.listened - fit) / np.linalg.norm(x.listened) == pytest.approx(error, abs=1e-4)
    assert a.names[:2] == ("Britney Spears", "Depeche Mode")
    if factors == 10:
        assert a.chances.mean() == pytest.approx(0.1126, abs=1e-4)
        utility, inequality = greedy(a.chances)
        assert utility == pytest.approx(1.916, abs=1e-3)
        assert inequality == pytest.approx(1.910, abs=1e-3)


@needs_data
def test_the_wide_set():
    """The facts that the docstring states."""
    x = LastFM(path=DATA, items="2k")
    assert x.listened.shape == (1880, 2500)
    assert (x.listened > 0).sum() == 69_786
    product = x.audience.users @ x.audience.items.T
    assert (product > 1.0).mean() == pytest.approx(0.00177, abs=1e-5)
    assert x.audience.chances.mean() == pytest.approx(0.0242, abs=1e-4)


def test_the_twin_has_a_ranking_that_is_unfair():
    """The facts that the docstring states."""
    chances = Listeners().audience.chances
    assert chances.shape == (50, 50)
    assert chances.mean() == pytest.approx(0.129, abs=1e-3)
    assert greedy(chances)[1] == pytest.approx(1.968, abs=1e-3)
    assert np.corrcoef(chances.mean(0), np.arange(50))[0, 1] < -0.5  # the first items are the popular ones


def test_the_twin_depends_on_its_seed_alone():
    a, b, c = (Listeners(users=6, items=9, factors=3, seed=s).audience.users for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


@pytest.mark.parametrize("change", [{"users": 0}, {"items": 0}, {"factors": 0}, {"seed": -1}])
def test_what_the_twin_refuses(change):
    with pytest.raises(InvalidInput):
        Listeners(**change)
