"""Last.fm: what is read and chosen, how a missing or altered file is answered, and the synthetic twin."""

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.environments import LastFM, Listeners, audience
from tests.rows import for_each

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
        monkeypatch.setattr(audience, name, value)
    return tmp_path


def write(folder, counts, names):
    lines = ["userID\tartistID\tweight", *("\t".join(map(str, row)) for row in counts)]
    (folder / "user_artists.dat").write_bytes("\r\n".join([*lines, ""]).encode())
    (folder / "artists.dat").write_bytes("\n".join(["id\tname\turl\tpictureURL", *names, ""]).encode())


def test_users_and_artists_with_the_largest_sums_are_kept_and_the_lowest_id_of_a_tie(small):
    """Sums by user: 10, 6, 15; by artist: 11, 4, 7, 9."""
    x = LastFM(path=small, users=2, items=3, factors=2)
    counts = np.array([[0, 8, 4], [9, 0, 0]])  # users 5 and 1, artists 10, 13 and 12
    np.testing.assert_array_equal(x.listening, np.log(1.0 + counts))
    assert x.audience.names == ("Moon (10)", "Été", "Moon (12)")


def test_the_wide_set_has_the_artists_with_most_listeners_and_all_their_users(small):
    """Every artist has two listeners: the two lowest ids are kept, and with them all three users."""
    x = LastFM(path=small, users=1, items="2k", factors=1)
    np.testing.assert_array_equal(x.listening, np.log1p(np.array([[9, 1], [2, 0], [0, 3]])))
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
    assert np.median(products[x.listening > 0]) == pytest.approx(1.0)
    np.testing.assert_allclose(x.audience.chances, np.minimum(products, 1.0))


def test_factors_are_the_same_every_time_and_in_another_process(small):
    x = LastFM(path=small, users=3, items=4, factors=2)
    twin = pickle.loads(pickle.dumps(LastFM(path=small, users=3, items=4, factors=2)))
    np.testing.assert_array_equal(x.audience.users, twin.audience.users)


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
    assert (x.listening > 0).sum() == 442
    a = x.audience
    product = a.users @ a.items.T
    fit = product * (product * x.listening).sum() / (product**2).sum()
    assert np.linalg.norm(x.listening - fit) / np.linalg.norm(x.listening) == pytest.approx(error, abs=1e-4)
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
    assert x.listening.shape == (1880, 2500)
    assert (x.listening > 0).sum() == 69_786
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


WHERE = "(the HetRec 2011 data sets of GroupLens, for non-commercial use)"
COUNTS, NAMES = "user_artists.dat", "artists.dat"
ARTISTS = "id\tname\turl\tpictureURL\n10\tA\tu\tp\n11\tB\tu\tp\n12\tC\tu\tp\n"
LINES = "1\t10\t9", "1\t11\t1", "2\t10\t2", "2\t11\t3", "5\t10\t4", "5\t12\t8"


def changed(row, *, first="userID\tartistID\tweight"):
    """The file of counts with another last row, or several rows, or none."""
    return {COUNTS: "\n".join([first, *LINES[:-1], *row, ""])}


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
    "other columns of names": ({NAMES: ARTISTS.replace("name", "title")}, NAMES, "columns"),
    "another name": ({NAMES: ARTISTS.replace("11", "15")}, NAMES, "no artist 11"),
    "a name less": ({NAMES: "id\tname\turl\tpictureURL\n10\tA\tu\tp\n"}, NAMES, "got 1 rows in place of 3"),
}


@for_each("name", FILES)
def test_data_that_are_missing_or_altered_are_named_with_where_to_get_them(name, tmp_path, monkeypatch):
    change, field, got = FILES[name]
    for size, value in (("ROWS", 6), ("ARTISTS", 3), ("LISTENERS", 3)):
        monkeypatch.setattr(audience, size, value)
    files = changed([LINES[-1]]) | {NAMES: ARTISTS}
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
    for part in (field, got, "hetrec2011-lastfm-2k.zip", WHERE, "" if got == "no file" else "as published"):
        assert part in said
