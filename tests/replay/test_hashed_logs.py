"""Logs with columns of very many names, texts and crosses: packed rows, replays, and what is refused."""

import re
from itertools import pairwise

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.core.row_pairs import Packed, unpack
from evenhand.logs.columns import Names, Packed as Held
from evenhand.logs.draft import draft
from evenhand.logs.log import read_log
from evenhand.logs.problem_file import parse
from evenhand.logs.units import Units
from evenhand.problem.hashes import bucket
from tests import wide
from tests.hashed import Unpacked

CASE = {"age": 30, "device": "phone", "site": "new.com", "query": "red shoes"}


def test_a_row_of_a_log_is_packed_by_hand(tmp_path):
    """1, age, the rarer device, then 64 columns of sites, 32 of sites by device, and 64 of words."""
    log = read_log(*wide.write(tmp_path))
    assert log.n_features == Packed(columns=3 + 64 + 32 + 64, pairs=1 + 1 + 1 + 1 + 1 + 8)
    _, device, site, query, *_ = wide.rows(600)[7]
    dense = np.zeros(163)
    dense[0], dense[1] = 1.0, log.encoded.units[:, 1][7]
    dense[2] = device == log.encoded.coding.levels["device"][1]
    dense[3 + bucket("site", site, 64)] = 1.0
    dense[67 + bucket("site x device", f"{site}\x1f{device}", 32)] = 1.0
    words = query.split()
    found = {bucket("query", z, 64) for z in [*words, *map(" ".join, pairwise(words))]}
    dense[[99 + column for column in found]] = 1.0 / np.sqrt(max(len(found), 1))
    assert unpack(log.encoded.units[7], 163).tolist() == dense.tolist()


def test_a_case_has_the_bits_of_its_row(tmp_path):
    """Also where only some rows are encoded, and where cases are encoded at once."""
    encoded, rows = read_log(*wide.write(tmp_path)).encoded, wide.rows(600)
    cases = [{"age": float(age), "device": d, "site": s, "query": q} for age, d, s, q, *_ in rows[40:60]]
    one = np.stack([encoded.coding.row(case) for case in cases])
    assert np.array_equal(one, encoded.coding.rows(cases))
    assert np.array_equal(one, encoded.units[40:60])
    assert np.array_equal(one, encoded.units[:][40:60])


def test_a_coding_is_stored_without_loss(tmp_path):
    coding = read_log(*wide.write(tmp_path)).encoded.coding
    restored = Units.of_dict(coding.to_dict())
    assert restored == coding
    assert np.array_equal(restored.row(CASE), coding.row(CASE))


def test_a_missing_name_is_a_level_where_the_file_says_so(tmp_path):
    problem = wide.PROBLEM.replace("[action]", 'missing = { site = "level" }\n\n[action]')
    coding = read_log(*wide.write(tmp_path, problem=problem)).encoded.coding
    assert np.array_equal(coding.row(CASE | {"site": None}), coding.row(CASE | {"site": "missing"}))
    assert not np.array_equal(coding.row(CASE | {"site": None}), coding.row(CASE))


def test_a_candidate_of_a_replay_is_the_number_of_its_action_and_the_row_of_its_case(tmp_path):
    """In Python and in compiled blocks; an own policy is told the size of rows."""

    def packed(problem, size):
        inner = Unpacked(inner=eh.Ridge(n_features=size.columns), packed=size)
        return eh.ucb(problem, eh.PerAction(inner=inner, actions=2), warmup=20, name="own")

    log, problem = wide.write(tmp_path)
    found = eh.replay_log(log, problem, policy=packed, replicas=2, bootstrap=0, progress=False)
    environment = read_log(log, problem).environment(shuffles=2)
    world = environment.start(0, np.arange(2))
    x = world.context(3).features
    assert x[:, :, 0].tolist() == [[0.0, 1.0]] * 2
    assert np.array_equal(x[0, 0, 1:], environment.units[world._row(3)[0]])
    assert np.array_equal(world.view().context(3)[0].features, x)
    assert {run.name for run in found.runs} == {"own", "uniform"}


@pytest.mark.parametrize(
    ("old", "new", "field", "expected"),
    [
        ('name = "uniform"', 'name = "ucb"\nmodel = "ridge"', "policy.model", "packed rows"),
        ("site = 64,", "town = 64,", "features.hashed.site x device", "one of"),
        ("site = 64,", "site = 1,", "features.hashed.site", "columns from 2"),
        ("words = 2", "words = 9", "Hashed('query').words", "from 1 to 5"),
        ("words = 2", "pairs = 2", "features.texts.query.pairs", "one of the keys"),
        ("[action]", 'levels = { site = ["a", "b"] }\n[action]', "features.levels.site", "hashed"),
        ("[action]", "[interactions]\nshoes = ['age']\n[action]", "interactions", "none where features are hashed"),
        ("{ site = 64,", "{ query = 8, site = 64,", "features", "hashed names or texts"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, old, new, field, expected):
    problem = wide.PROBLEM.replace(old, new)
    assert problem != wide.PROBLEM
    with pytest.raises(InvalidInput) as error:
        read_log(*wide.write(tmp_path, problem=problem))
    assert error.value.field.endswith(field)
    assert expected in error.value.expected


def test_a_column_of_many_names_is_refused_with_the_key_that_takes_it(tmp_path):
    problem = wide.PROBLEM.replace('hashed = { site = 64, "site x device" = 32 }', "")
    problem = problem.replace('categorical = ["device"]', 'categorical = ["device", "site"]')
    with pytest.raises(InvalidInput, match=r"any number with features.hashed.site = 262144"):
        read_log(*wide.write(tmp_path, problem=problem))


def test_texts_of_very_different_lengths_are_held_in_few_bytes():
    texts = ["short"] * 999 + ["long " * 4000]
    held = Held({"query": Names(np.arange(1000), tuple(texts))})
    assert held._texts["query"].dtype.itemsize < 100
    assert held["query"].tolist() == texts
    assert held.names("query", np.array([999])).text(0) == texts[-1]


def test_a_draft_proposes_to_hash_what_has_too_many_names(tmp_path):
    """In lines that are read once their first sign is taken off; texts are told apart by their words."""
    log, _ = wide.write(tmp_path, count=900)
    header, *rows = log.read_text().splitlines()
    many = (re.sub(r",(none|shoes),", rf" no {i % 200},\1,", row) for i, row in enumerate(rows))
    log.write_text("\n".join([header, *many]))
    text = draft(log).text
    assert "# hashed = { site = 262144 }" in text
    assert "# texts = { query = { words = 2 } }" in text
    features = re.sub("# (hashed|texts) =", r"\1 =", text).partition("[features]")[2].partition("[action]")[0]
    opened = wide.PROBLEM.partition("[features]")[0] + "[features]" + features + wide.PROBLEM.partition("[action]")[2]
    spec = parse(opened.replace('column = "ad"', '[action]\ncolumn = "ad"').replace(', "ad"]', "]"), "problem.toml")
    assert [h.name for h in spec.hashing] == ["site", "query"]
