"""Features whose levels are hashed: their columns, packed rows, and what refuses them."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.core.row_pairs import Packed, unpack
from evenhand.problem.hashes import bucket
from tests.hashed import CASE, FEATURES, ridge, shop

COLUMNS = 2**14
NAMES = {
    "numbers": [str(i) for i in range(50_000)],
    "sites": [f"site{i}.com" for i in range(50_000)],
    "addresses": [f"https://example.com/{i % 300}/item?id={i * 7}" for i in range(50_000)],
}


@pytest.mark.parametrize("kind", NAMES)
def test_levels_spread_over_columns_as_if_drawn(kind):
    """Chi-square over columns is within five of its standard deviations, for names that follow a pattern as well."""
    counts = np.bincount([bucket("site", text, COLUMNS) for text in NAMES[kind]], minlength=COLUMNS)
    expected = len(NAMES[kind]) / COLUMNS
    chi = float(((counts - expected) ** 2).sum() / expected)
    assert abs(chi - (COLUMNS - 1)) < 5.0 * np.sqrt(2.0 * (COLUMNS - 1))


def test_columns_are_the_same_in_every_process():
    code = "from evenhand.problem.hashes import bucket; print(bucket('site', 'Zürich', 2**18))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(found.stdout) == bucket("site", "Zürich", 2**18) == 57874


def test_a_row_has_exact_columns_first_and_then_a_block_for_each_hashed_feature():
    """By hand: 1, age, two indicators of the device, 64 columns of sites, 32 of words, 16 of sites by device."""
    problem = shop()
    assert problem.packed == Packed(columns=1 + 1 + 2 + 64 + 32 + 16, pairs=1 + 1 + 1 + 1 + 6 + 1)
    assert (problem.n_features, problem.n_columns) == (22, 116)
    row = eh.ucb(problem, ridge(problem), warmup=1).encode(CASE).features[0, 1]
    assert row[0] == 1.0  # the number of the action, for `PerAction`
    dense = np.zeros(116)
    dense[0], dense[1], dense[3], dense[4 + bucket("site", "abc.com", 64)] = 1.0, -0.5, 1.0, 1.0
    words = {bucket("query", word, 32) for word in ("red", "running", "shoes", "red running", "running shoes")}
    dense[[68 + column for column in words]] = 1.0 / np.sqrt(len(words))
    dense[100 + bucket("site x device", "abc.com\x1ftablet", 16)] = 1.0
    assert unpack(row[1:], 116).tolist() == dense.tolist()


def test_many_cases_have_the_bits_of_each_alone():
    policy = eh.ucb(shop(), ridge(shop()), warmup=1)
    queries = ("", "a", "a a b", "one two three four five six seven", "Straße STRASSE")
    cases = [CASE | {"query": q, "site": f"s{i}", "age": 20 + i, "device": "phone"} for i, q in enumerate(queries)]
    with pytest.warns(eh.core.errors.EvenhandWarning, match="too long"):
        one = [policy.encode(case).features for case in cases]
    assert np.array_equal(np.concatenate(one), policy._assembly.encoder.stacked(cases).features)
    assert np.abs(one[0][0, 0, 1:].reshape(-1, 2)[4:10]).max() == 0.0  # without words: unused pairs


def test_blocks_may_reach_beyond_whole_numbers_of_32_bits():
    """Of three features of 2^30 columns, where only rows are made."""
    problem = shop(features=tuple(eh.Categorical(name, hashed=2**30) for name in "abc"))
    policy = eh.uniform(problem, problem.n_features)
    case = dict.fromkeys("abc", "level")
    one = policy.encode(case).features[0, 0]
    assert np.array_equal(policy._assembly.encoder.stacked([case]).features[0, 0], one)
    assert one[::2].tolist() == [0.0, *(1 + i * 2**30 + bucket(name, "level", 2**30) for i, name in enumerate("abc"))]


def test_what_a_text_has_too_much_of_is_out_of_range():
    query = eh.problem.Hashed("query", hashed=32, at_most=3)
    assert [query.outside(text) for text in ("a b c", "a b c c", "a b c d")] == [False, False, True]
    assert query.buckets("a b c d") == query.buckets("a b c")


def test_a_letter_and_its_accent_are_one_letter():
    """As some keyboards and files write them; apart, the accent would end the word."""
    query = eh.problem.Hashed("query", words=2)
    assert (
        query.tokens("Cafe\u0301 du Nord")
        == query.tokens("caf\u00e9 DU nord")
        == ("café", "du", "nord", "café du", "du nord")
    )


def test_long_texts_take_no_memory_once_they_are_read():
    """Each of 12 texts has 100,000 tokens, and each of 300 levels 100,000 characters: 90 MB in all."""
    query, site = eh.problem.Hashed("query", hashed=64, words=5), eh.Categorical("site", hashed=64)
    tracemalloc.start()
    for i in range(12):
        query.buckets(" ".join(f"{i}x{k}" for k in range(20_000)))
    for i in range(300):
        site.buckets(f"{i}" + "x" * 100_000)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 5e6


def test_whole_numbers_are_levels_and_frames_are_read():
    policy = eh.ucb(shop(), ridge(shop()), warmup=1)
    one, two = policy.encode_frame([CASE | {"site": 17}, CASE | {"site": "17"}])
    assert np.array_equal(one.features, two.features)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"site": 1.5}, "site"), ({"site": True}, "site"), ({"query": None}, "query"), ({"device": "fax"}, "device")],
)
def test_a_value_that_a_feature_cannot_have_is_refused(change, field):
    with pytest.raises(InvalidInput) as error:
        eh.ucb(shop(), ridge(shop()), warmup=1).encode(CASE | change)
    assert error.value.field == field


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: eh.Categorical("site", hashed=1), "Categorical('site').hashed"),
        (lambda: eh.Categorical("site", ("a", "b"), hashed=8), "Categorical('site').levels"),
        (lambda: eh.Categorical("site"), "Categorical('site').levels"),
        (lambda: eh.problem.Hashed("query", words=0), "Hashed('query').words"),
        (lambda: eh.problem.Hashed("query", at_most=10**6), "Hashed('query').at_most"),
        (lambda: eh.problem.Cross("site", "site"), "Cross"),
    ],
)
def test_a_feature_that_cannot_be_is_refused(make, field):
    with pytest.raises(InvalidInput) as error:
        make()
    assert error.value.field == field


def test_a_cross_alone_states_what_it_reads():
    policy = eh.ucb(shop(features=FEATURES[-1:]), ridge(shop(features=FEATURES[-1:])), warmup=1)
    assert policy.encode({"site": "a", "device": "b"}).features.shape == (1, 2, 1 + 2 * 2)


def test_models_of_dense_rows_are_refused_where_the_policy_is_made():
    problem = shop()
    for model in (eh.PerAction.of(problem, eh.BayesianRidge), eh.Ridge(n_features=problem.n_features)):
        with pytest.raises(InvalidInput, match=r"packed rows.*as features are hashed"):
            eh.ucb(problem, model)
    assert eh.uniform(problem, problem.n_features).encode(CASE).features.shape == (1, 2, 22)


def test_a_policy_learns_a_level_that_was_never_stated():
    problem = shop(features=(eh.Categorical("site", hashed=64),), horizon=1000)
    policy = eh.ucb(problem, ridge(problem), warmup=50)
    state = policy.start()
    for i in range(200):
        site = "good" if i % 2 else "bad"
        decision = policy.act(state, policy.encode({"site": site}))
        policy.observe(state, decision, {"click": float((decision.action == "ad") == (site == "good"))})
    assert [policy.act(state, policy.encode({"site": z})).action for z in ("good", "bad")] == ["ad", "none"]
