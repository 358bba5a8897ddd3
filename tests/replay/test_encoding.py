"""From text to numbers, against what one would compute by hand; bad rows are counted and reported."""

import re

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.logs.log import environment, read_rows
from evenhand.logs.problem_file import read_spec
from evenhand.problem import Ratio
from tests.replay import shop
from tests.rows import for_each


def encode(tmp_path, lines, problem=shop.PROBLEM, header=shop.HEADER):
    log, toml = shop.write(tmp_path, lines, problem, header)
    spec = read_spec(toml)
    read = read_rows(log, spec)
    encoded, bad = read.encoded, read.bad
    return spec, encoded, bad


def test_units_are_standardised_and_one_hot(tmp_path):
    lines = shop.rows(200)
    _, encoded, bad = encode(tmp_path, lines)
    age = np.array([float(line[0]) for line in lines])
    north = np.array([line[1] == "north" for line in lines])
    assert encoded.coding.names == ("1", "age", "town=north")  # the more frequent town is the reference
    np.testing.assert_allclose(encoded.units[:, 1], (age - age.mean()) / age.std(), atol=1e-12)
    assert (encoded.units[:, 0] == 1.0).all()
    assert (encoded.units[:, 2] == north).all()
    assert encoded.actions.tolist() == [["", "A", "B"].index(line[2]) for line in lines]
    assert encoded.outcomes[:, 0].tolist() == [float(line[3]) for line in lines]
    assert encoded.levels == {"town": {"north": north.mean(), "south": 1 - north.mean()}}
    ends = f"age {age.min():.1f} to {age.max():.1f}"
    note = f"numbers standardised by the log: {ends}"
    assert (bad.count, encoded.notes) == (0, [note])


def test_every_action_has_a_block_by_default(tmp_path):
    spec, encoded, _ = encode(tmp_path, shop.rows(60))
    log = environment(spec.problem(encoded.levels), encoded)
    x = log.start(0, np.array([0, 1])).context(3).features
    assert x.shape == (2, 3, 9)
    for a in range(3):
        block = x[:, a].reshape(2, 3, 3)
        assert (block[:, a, 0] == 1.0).all()
        assert (np.delete(block, a, 1) == 0.0).all()


def test_interactions_share_the_main_effects(tmp_path):
    text = shop.PROBLEM.replace("[policy]", '[interactions]\na = []\nb = ["town", "age"]\n[policy]')
    spec, encoded, _ = encode(tmp_path, shop.rows(60), text)
    assert encoded.layout.tolist() == [
        [0, 1, 2, -1, -1, -1, -1],  # shared: 1, age, town; then a: 1; then b: 1, town, age
        [0, 1, 2, 0, -1, -1, -1],
        [0, 1, 2, -1, 0, 2, 1],
    ]
    log = environment(spec.problem(encoded.levels), encoded)
    x = log.start(0, np.array([0])).context(0).features[0]
    assert (x[2] == [*x[0, :3], 0, 1, x[0, 2], x[0, 1]]).all()


def test_constant_columns_are_left_out_and_said(tmp_path):
    lines = [["0.1", "north", *line[2:], "x"] for line in shop.rows(60)]
    text = shop.PROBLEM.replace('"town"]', '"town", "c"]').replace("[[parity]]", "[[unused]]")
    text = text[: text.index("[[unused]]")] + "[interactions]\na = ['age']\n" + text[text.index("[policy]") :]
    _, encoded, _ = encode(tmp_path, lines, text, [*shop.HEADER, "c"])
    assert encoded.coding.names == ("1",)
    assert encoded.layout.tolist() == [[0, -1], [0, 0], [0, -1]]
    assert [n.split(" is ")[0] for n in encoded.notes] == ["'age'", "'town'", "'c'"]


def test_huge_numbers_stay_finite(tmp_path):
    lines = [["1e308" if i % 2 else "-1e308", *line[1:]] for i, line in enumerate(shop.rows(60))]
    _, encoded, _ = encode(tmp_path, lines)
    np.testing.assert_allclose(np.abs(encoded.units[:, 1]), 1.0)


def test_shares_may_be_given_or_estimated(tmp_path):
    given = shop.PROBLEM.replace("[policy]", "[groups.town]\nshares = { south = 0.6, north = 0.4 }\n[policy]")
    lines = shop.rows(60)
    spec, encoded, _ = encode(tmp_path, lines, given)
    log = environment(spec.problem(encoded.levels), encoded)
    assert log.problem.shares.tolist() == [0.6, 0.4]
    assert log.groups[:, 0].tolist() == [["south", "north"].index(line[1]) for line in lines]
    unknown = shop.PROBLEM.replace("[policy]", "[groups.town]\nshares = 'estimated'\n[policy]")
    spec, encoded, _ = encode(tmp_path, lines, unknown)
    assert np.isnan(spec.problem(encoded.levels).shares).all()
    assert spec.problem(encoded.levels).groups[0].names == ("north", "south")


COLUMN = shop.PROBLEM.replace("constant = 0.333333", 'column = "p"').replace(
    "[policy]", "[groups.town]\nshares = { north = 0.3, south = 0.7 }\n[policy]"
)
BAD = [
    (0, "", "'age' is not a finite number"),
    (0, "old", "'age' is not a finite number"),
    (0, "nan", "'age' is not a finite number"),
    (0, "-inf", "'age' is not a finite number"),
    (0, "1_0", "'age' is not a finite number"),
    (1, "", "'town' is not a value"),
    (1, "west", "'town' is not one of the groups (north, south)"),
]


@for_each(("column", "value", "reason"), BAD, ids=[f"{shop.HEADER[c]}={v}" for c, v, _ in BAD])
def test_a_bad_row_is_left_out_and_reported(tmp_path, column, value, reason):
    lines = shop.rows(300)
    for i in (200, 7):
        lines[i][column] = value
    _, encoded, bad = encode(tmp_path, lines, COLUMN)
    assert len(encoded.actions) == 298
    assert bad.messages() == [f"2 rows: {reason} (first in line 9: {value!r})"]
    assert encoded.outcomes[:, 0].tolist() == [float(line[3]) for i, line in enumerate(lines) if i not in (7, 200)]


NEEDED = [
    (2, "C", "'letter' is not one of the declared actions (, A, B)"),
    (3, "", "'visit' is not a number in [0, 1]"),
    (3, "yes", "'visit' is not a number in [0, 1]"),
    (3, "nan", "'visit' is not a number in [0, 1]"),
    (3, "2", "'visit' is not a number in [0, 1]"),
    (4, "0", "'p' is not a number in (0, 1]"),
    (4, "1.1", "'p' is not a number in (0, 1]"),
    (4, "-0.2", "'p' is not a number in (0, 1]"),
    (4, "nan", "'p' is not a number in (0, 1]"),
    (4, "", "'p' is not a number in (0, 1]"),
]


@for_each(("column", "value", "reason"), NEEDED, ids=[f"{shop.HEADER[c]}={v}" for c, v, _ in NEEDED])
def test_what_was_played_and_what_followed_is_needed_in_every_row(tmp_path, column, value, reason):
    """What is left of a log without such rows is selected by them, so that a rule of the column has to ask for it."""
    lines = shop.rows(300)
    for i in (200, 7):
        lines[i][column] = value
    name = shop.HEADER[column]
    expected = "log.csv: expected an action, a propensity and outcomes that can be used in every row, got 2 rows: "
    told = f"{reason} (first in line 9: {value!r}); outside.{name} says what else is done with such rows"
    told += ': "drop" leaves them out'
    with pytest.raises(InvalidInput, match=f"^{re.escape(expected + told)}$"):
        encode(tmp_path, lines, COLUMN)
    _, encoded, bad = encode(tmp_path, lines, f'{COLUMN}\n[outside]\n{name} = "drop"\n')
    assert (len(encoded.actions), bad.count, bad.messages()) == (298, 0, [])
    assert encoded.outcomes[:, 0].tolist() == [float(line[3]) for i, line in enumerate(lines) if i not in (7, 200)]
    assert encoded.checks["dropped"].startswith(f"2 rows were dropped for their {name!r} (")
    assert encoded.checks["dropped"].endswith("what is left is selected by it")


def test_dropped_and_clipped_rows_are_counted_by_action_and_by_their_part_of_the_total(tmp_path):
    """The total of all rows is 300 less the rows of a, which have nothing, and 100 more of a and of b each."""
    lines = [[*line[:3], "0" if line[2] == "A" else "1", line[4]] for line in shop.rows(300)]
    one, other = (next(i for i, line in enumerate(lines) if line[2] == arm) for arm in "AB")
    lines[one][3] = lines[other][3] = "101"
    total = sum(float(line[3]) for line in lines)
    _, encoded, bad = encode(tmp_path, lines, COLUMN + '\n[outside]\nvisit = "drop"\n')
    said = "2 rows were dropped for their 'visit' (1 under 'a', 1 under 'b'), with"
    assert encoded.checks["dropped"] == f"{said} {202 / total:.1%} of its total: what is left is selected by it"
    assert encoded.checks["clipped"] is None
    assert bad.notes() == []
    _, encoded, bad = encode(tmp_path, lines, COLUMN + '\n[outside]\nvisit = "clip"\n')
    said = "'visit' was clipped in 2 rows (1 under 'a', 1 under 'b'), by"
    assert encoded.checks["clipped"] == f"{said} {200 / total:.1%} of its total: results are of the clipped outcome"
    assert (encoded.checks["dropped"], len(encoded.actions)) == (None, 300)
    assert encoded.outcomes[[one, other], 0].tolist() == [1.0, 1.0]
    lines[5][3] = ""
    with pytest.raises(InvalidInput, match=r"1 row: 'visit' is not a number in \[0, 1\] \(first in line 7: ''\)"):
        encode(tmp_path, lines, COLUMN + '\n[outside]\nvisit = "clip"\n')


def test_one_column_may_be_wrong_for_two_reasons(tmp_path):
    """Outcomes beyond the range of all actions and beyond that of their own; a row of a bad age is in no total."""
    ranges = "range = { none = [0, 5], a = [0, 0.5], b = [0, 1] }"
    lines = [[*line[:3], "0", line[4]] for line in shop.rows(300)]
    first, second, third = (next(i for i, line in enumerate(lines) if line[2] == arm) for arm in ("A", "B", ""))
    for place, y in ((first, "1"), (second, "7"), (third, "inf")):
        lines[place][3] = y
    lines[third + 1][3] = "0.5"
    old = next(i for i in range(200, 300) if lines[i][2] == "")
    lines[old][0], lines[old][3] = "old", "4"
    text = shop.PROBLEM.replace("range = [0, 1]", ranges)
    _, encoded, bad = encode(tmp_path, lines, text + '\n[outside]\nvisit = "drop"\n')
    assert (bad.dropped, bad.count) == ({"visit": 3}, 1)
    said, _, rest = encoded.checks["dropped"].partition(" (")
    parts, _, rest = rest.partition(")")
    assert said == "3 rows were dropped for their 'visit'"
    assert set(parts.split(", ")) == {"1 under 'none'", "1 under 'a'", "1 under 'b'"}
    assert rest == f", with {8 / 8.5:.1%} of its total: what is left is selected by it"


@pytest.mark.parametrize("first", ["visit", "other"])
def test_one_column_may_serve_two_outcomes(tmp_path, first):
    """In any order of the outcomes, a row is clipped by the narrower range."""
    lines = [[*line[:3], "0", line[4]] for line in shop.rows(300)]
    lines[3][3], lines[4][3] = "7", "3"
    lines[9][0], lines[9][3] = "old", "9"
    wide = '[outcomes.other]\ncolumn = "visit"\nrange = [0, 5]\n'
    text = (
        shop.PROBLEM.replace("[outcomes.visit]", f"{wide}[outcomes.visit]")
        if first == "other"
        else f"{shop.PROBLEM}{wide}"
    )
    _, encoded, _ = encode(tmp_path, lines, text + '\n[outside]\nvisit = "clip"\n')
    assert encoded.checks["clipped"].startswith("'visit' was clipped in 2 rows (")  # the row of a bad age is left out
    assert encoded.checks["clipped"].endswith(f"by {8 / 10:.1%} of its total: results are of the clipped outcome")


def test_rules_of_columns_that_have_none(tmp_path):
    for rule, message in (
        ('age = "drop"', r"outside.age: expected one of letter, p, visit, got age"),
        ('letter = "clip"', r"outside.letter: expected one of drop, refuse, as it is no outcome, got clip"),
        ('visit = "cap"', r"outside.visit: expected one of drop, clip, refuse"),
    ):
        with pytest.raises(InvalidInput, match=message):
            encode(tmp_path, shop.rows(60), f"{COLUMN}\n[outside]\n{rule}\n")


def test_a_row_is_counted_once_and_torn_rows_are_too(tmp_path):
    lines = shop.rows(500)
    lines[3] = ["x", "", "C", "9", "0"]
    lines[4] = ["1", "north"]
    _, encoded, bad = encode(tmp_path, lines, COLUMN)
    assert (bad.count, bad.total, len(encoded.actions)) == (2, 500, 498)
    assert bad.messages() == [
        "1 row: 'age' is not a finite number (first in line 5: 'x')",
        "1 row: more or fewer fields than the header (first in line 6)",
    ]


def test_too_many_bad_rows_are_one_error(tmp_path):
    lines = shop.rows(100)
    for i in range(2):
        lines[i][0] = "?"
    with pytest.raises(
        InvalidInput, match=r"log.csv: expected at most 1 % bad rows \(allow_bad = 0.01\), got 2 of 100; 2"
    ):
        encode(tmp_path, lines)
    allowing = shop.PROBLEM.replace("horizon", "allow_bad = 0.02\nhorizon")
    assert encode(tmp_path, lines, allowing)[2].count == 2
    for line in lines:
        line[1] = ""
    with pytest.raises(InvalidInput, match=r"got 100 of 100; 2 rows: 'age' .*; 98 rows: 'town' is not a value"):
        encode(tmp_path, lines, shop.PROBLEM.replace("horizon", "allow_bad = 0.999\nhorizon"))


def test_logs_that_cannot_be_replayed(tmp_path):
    lines = shop.rows(60)
    with pytest.raises(InvalidInput, match=r"groups.town.shares: expected groups that occur in log.csv, .* of 'west'"):
        encode(tmp_path, lines, shop.PROBLEM + "[groups.town]\nshares = { north = 0.2, south = 0.7, west = 0.1 }\n")
    spec, encoded, _ = encode(tmp_path, [[line[0], "north", *line[2:]] for line in lines])
    with pytest.raises(InvalidInput, match=r"Groups\('town'\): expected at least two different groups"):
        spec.problem(encoded.levels)
    many = [[line[0], f"town {i}", *line[2:]] for i, line in enumerate(shop.rows(150))]
    with pytest.raises(InvalidInput, match=r"groups.town: expected at most 20 groups, each .*: a column of bands, not"):
        encode(tmp_path, many, shop.PROBLEM.replace('categorical = ["town"]', ""))


def test_a_log_that_charges_for_what_is_free_is_refused(tmp_path):
    """A limit holds nothing back for a free action, so that a bill of one would go beyond the budget."""
    text = shop.PROBLEM.replace("[outcomes.visit]\n", '[outcomes.visit]\nfree = ["none"]\n')
    lines = shop.rows(300)
    charged = sum(line[2] == "" and line[3] == "1" for line in lines)
    assert charged > 5
    with pytest.raises(InvalidInput, match=f"{charged} rows: 'visit' is not 0 under none, as declared free"):
        encode(tmp_path, lines, text)
    _, encoded, _ = encode(tmp_path, lines, text + '\n[outside]\nvisit = "drop"\n')
    assert len(encoded.actions) == 300 - charged
    assert encode(tmp_path, lines, text + '\n[outside]\nvisit = "clip"\n')[1].checks["clipped"] is not None
    assert not encoded.outcomes[encoded.actions == 0].any()


def test_a_ratio_needs_no_other_rate_where_the_horizon_is_that_of_the_log(tmp_path):
    ratio = '[[ratio]]\nof = "post"\nover = "visit"\nat_most = 2\n\n[policy]'
    text = shop.PROBLEM.replace("horizon = 300", 'horizon = "log"').replace("[policy]", ratio)
    spec, encoded, _ = encode(tmp_path, shop.rows(300), text)
    assert encoded.spec.subject_to[-1] == spec.subject_to[-1] == Ratio("post", over="visit", at_most=2)


def test_the_refusal_of_costs_that_are_never_there_under_some_actions_names_them(tmp_path):
    """Nobody writes down what it costs to do nothing."""
    lines = [[*line[:3], "" if line[2] == "" else line[3], *line[4:]] for line in shop.rows(300)]
    with pytest.raises(InvalidInput, match=r'never there under none: outcomes\.visit\.free = \["none"\] if it is 0'):
        encode(tmp_path, lines)
    lines[next(i for i, line in enumerate(lines) if line[2] == "")][3] = "0"
    with pytest.raises(InvalidInput, match=r"'visit' is not a number in \[0, 1\] \(first in line"):
        encode(tmp_path, lines)


def test_a_log_with_outcomes_outside_the_range_of_their_action_is_refused(tmp_path):
    ranges = "range = { none = [0, 1], a = [0, 0.5], b = [0, 1] }"
    text = shop.PROBLEM.replace("range = [0, 1]", ranges)
    lines = shop.rows(300)
    beyond = sum(line[2] == "A" and line[3] == "1" for line in lines)
    assert beyond > 5
    with pytest.raises(InvalidInput, match=rf"{beyond} rows: 'visit' is not a number in \[0, 0.5\] under a"):
        encode(tmp_path, lines, text)
    _, encoded, _ = encode(tmp_path, lines, text + '\n[outside]\nvisit = "drop"\n')
    assert not encoded.outcomes[encoded.actions == 1].any()
    _, encoded, _ = encode(tmp_path, lines, text + '\n[outside]\nvisit = "clip"\n')
    assert encoded.outcomes[encoded.actions == 1].max() == 0.5


def test_groups_of_numbers_and_groups_without_cases_are_refused(tmp_path):
    """Parity by age has a group and a column per age; a group of one row in 400 has no case in most runs of 300."""
    by_age = shop.PROBLEM.replace('by = "town"', 'by = "age"').replace('numeric = ["age"]\n', "")
    with pytest.raises(InvalidInput, match=r"^groups.age: expected at most 20 groups, .* got \d+"):
        encode(tmp_path, shop.rows(400), by_age)
    lines = shop.rows(400)
    lines[7][1] = "island"
    with pytest.raises(
        InvalidInput, match=r"groups that 300 rounds can be expected to have a case of, got 1 of 400 rows"
    ):
        encode(tmp_path, lines)
    lines[8][1] = "island"
    assert len(encode(tmp_path, lines)[1].levels["town"]) == 3


def test_ranges_that_are_stated_are_not_told_as_learned(tmp_path):
    stated = shop.PROBLEM.replace("[action]", "[features.ranges]\nage = [18, 90]\n\n[action]")
    assert not any("standardised" in note for note in encode(tmp_path, shop.rows(200), stated)[1].notes)
