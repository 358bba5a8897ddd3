"""Missing values, dates, texts for numbers, what is minimised, and the horizon of a log."""

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.fold.column_encoder import Text, of_file, of_log
from evenhand.logs.problem_file import parse
from evenhand.logs.units import Units
from evenhand.objectives import Linear
from evenhand.offline import Evidence
from evenhand.replay import read_log, replay_log
from tests.replay import shop

QUICK = {"replicas": 2, "bootstrap": 0, "progress": False}


def changed(*pairs):
    text = shop.PROBLEM
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def gaps(column, share=0.2, count=600, value=""):
    """Rows of which some have no value in a column."""
    lines, rng = shop.rows(count), np.random.default_rng(5)
    for line in lines:
        if rng.random() < share:
            line[column] = value
    return lines


def read(tmp_path, lines, problem, header=shop.HEADER):
    return read_log(*shop.write(tmp_path, lines, problem, header))


@pytest.mark.parametrize("made", ["a file", "a frame of numbers", "a frame of texts"])
def test_a_number_may_stand_for_a_missing_one(tmp_path, made):
    """An age of -99 is none; it was read as an age, as every number of a column of numbers was."""
    lines = gaps(0, value="-99")
    marked = changed(("[action]", '[features.missing]\nage = "indicator"\n\n[log]\nmissing = ["", "-99"]\n\n[action]'))
    log, toml = shop.write(tmp_path, lines, marked, shop.HEADER)
    if made != "a file":
        pa = pytest.importorskip("pyarrow")
        each = {name: [line[i] for line in lines] for i, name in enumerate(shop.HEADER)}
        given = each if made == "a frame of texts" else each | {"age": [float(z) for z in each["age"]]}
        log = pa.table(given)
    found = read_log(log, toml)
    toml.write_text(marked.replace('age = "indicator"', 'town = "level"'))
    with pytest.raises(InvalidInput, match=r"'age' is not a finite number \(first in .*: '-99'\)"):
        read_log(log, toml)
    empty = read(tmp_path, gaps(0), changed(("[action]", '[features.missing]\nage = "indicator"\n\n[action]')))
    np.testing.assert_array_equal(found.encoded.units, empty.encoded.units)
    np.testing.assert_array_equal(found.columns()["age"], empty.columns()["age"])


def test_an_indicator_says_where_a_number_is_missing_and_the_mean_stands_for_it(tmp_path):
    lines = gaps(0)
    log = read(tmp_path, lines, changed(("[action]", '[features.missing]\nage = "indicator"\n\n[action]')))
    given = np.array([float(line[0]) if line[0] else math.nan for line in lines])
    there = given[~np.isnan(given)]
    assert log.encoded.coding.names == ("1", "age", "age missing", "town=north")
    assert (log.bad.count, len(log)) == (0, 600)
    expected = np.where(np.isnan(given), 0.0, (given - there.mean()) / there.std())
    np.testing.assert_allclose(log.encoded.units[:, 1], expected, atol=1e-12)
    assert (log.encoded.units[:, 2] == np.isnan(given)).all()
    np.testing.assert_array_equal(log.columns()["age"], given)


def test_a_case_without_a_number_is_encoded_as_its_row_is(tmp_path):
    stated = '[features.missing]\nage = "indicator"\ntown = "level"\n\n[action]'
    lines = gaps(0)
    for line in lines[::9]:
        line[1] = ""
    log, toml = shop.write(tmp_path, lines, changed(("[action]", stated), ('by = "town"', 'by = "p"')))
    problem = toml.read_text().replace('[[parity]]\noutcome = "post"\nby = "p"\ntolerance = 0.1\n', "")
    toml.write_text(problem)
    encoded = read_log(log, toml).encoded
    units = Units.of_dict(encoded.coding.to_dict())
    assert units == encoded.coding
    for line, row in zip(lines, encoded.units[:], strict=True):
        case = {"age": float(line[0]) if line[0] else None, "town": line[1] or None}
        assert units.row(case).tobytes() == row.tobytes()
        assert units.outside(case) == []
    with pytest.raises(InvalidInput, match="age: expected a finite number, got 'old'"):
        units.row({"age": "old", "town": None})


def test_without_a_treatment_nothing_may_be_missing_in_a_case():
    units = Units.fit({"age": np.array([20.0, 60.0])}, {})
    with pytest.raises(InvalidInput, match="age: expected a finite number, got None"):
        units.row({"age": None})


def test_a_level_stands_for_missing_names_also_as_a_group(tmp_path):
    lines = gaps(1)
    log = read(tmp_path, lines, changed(("[action]", '[features.missing]\ntown = "level"\n\n[action]')))
    gone = np.array([line[1] == "" for line in lines])
    assert log.encoded.coding.levels["town"] == ("south", "missing", "north")
    assert (log.encoded.units[:, log.encoded.coding.names.index("town=missing")] == gone).all()
    assert log.encoded.levels["town"]["missing"] == gone.mean()
    assert (log.columns()["town"] == "missing").tolist() == gone.tolist()


def test_a_level_is_there_although_no_row_of_this_log_needs_it(tmp_path):
    plain = changed(("[action]", '[features.missing]\ntown = "level"\n\n[action]'))
    assert read(tmp_path, shop.rows(200), plain).encoded.coding.levels["town"] == ("south", "north", "missing")
    stated = plain.replace("[features.missing]", '[features.levels]\ntown = ["north", "south"]\n\n[features.missing]')
    found = read(tmp_path, gaps(1), stated).encoded.coding.levels["town"]
    assert found == ("north", "south", "missing")


def test_bad_rows_that_are_allowed_change_the_population_as_well(tmp_path):
    lines = gaps(0)
    count = sum(not line[0] for line in lines)
    log = read(tmp_path, lines, "allow_bad = 0.3\n" + shop.PROBLEM)
    assert log.encoded.notes[0] == (
        f"{count} of 600 rows are bad and were left out, as allow_bad = 0.3 allows: the results are for another "
        "population, of the other rows"
    )
    few = read(tmp_path, gaps(0, share=0.005), shop.PROBLEM)
    assert few.bad.count
    assert not any("population" in note for note in few.encoded.notes)


def test_a_log_that_is_refused_for_empty_cells_names_the_key(tmp_path):
    hint = "; features.missing says what is done with rows without 'age'$"
    with pytest.raises(InvalidInput, match=hint):
        read(tmp_path, gaps(0), shop.PROBLEM)
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path, gaps(0, value="old"), shop.PROBLEM)
    assert "features.missing" not in str(refused.value)


def test_a_number_that_cases_are_grouped_by_has_no_indicator():
    text = changed(("[action]", '[features.missing]\nage = "indicator"\n\n[action]'), ('by = "town"', 'by = "age"'))
    for treatment in ("indicator", "level"):
        with pytest.raises(InvalidInput, match="expected one of drop, refuse, as cases are grouped by this number"):
            parse(text.replace('"indicator"', f'"{treatment}"'), "problem.toml")


def test_rows_are_dropped_where_the_file_says_so_and_the_population_is_named(tmp_path):
    lines = gaps(0)
    gone = sum(line[0] == "" for line in lines)
    log = read(tmp_path, lines, changed(("[action]", '[features.missing]\nage = "drop"\n\n[action]')))
    assert (len(log), log.bad.count, log.bad.left_out) == (600 - gone, 0, gone)
    (note,) = (note for note in log.encoded.notes if "population" in note)
    assert note.startswith(f"{gone} of 600 rows have no 'age' and were dropped, as the problem file asks for")
    assert note in str(log)
    kept = read(tmp_path, [line for line in lines if line[0]], shop.PROBLEM)
    assert log.encoded.units[:].tobytes() == kept.encoded.units[:].tobytes()


def test_the_texts_that_are_missing_may_be_stated(tmp_path):
    stated = '[log]\nmissing = ["NA", "-"]\n[features.missing]\nage = "indicator"\n\n[action]'
    lines = gaps(0, value="NA")
    lines[3][0] = "-"
    log = read(tmp_path, lines, changed(("[action]", stated)))
    assert log.encoded.units[:, 2].sum() == sum(line[0] in ("NA", "-") for line in lines)
    lines[4][0] = ""
    log = read(tmp_path, lines, changed(("[action]", stated)))
    assert log.bad.messages() == ["1 row: 'age' is not a finite number (first in line 6: '')"]


def test_a_column_without_any_number_is_refused(tmp_path):
    problem = changed(("[action]", '[features.missing]\nage = "indicator"\n\n[action]'))
    with pytest.raises(InvalidInput, match=r"features.numeric: 'age': expected a value in one row at least, got none"):
        read(tmp_path, gaps(0, share=1.1), problem)


def dated(lines):
    """The age as a date of birth."""
    return [[str(np.datetime64("2000-01-01") - int(float(line[0]) * 365)), *line[1:]] for line in lines]


def test_dates_are_days(tmp_path):
    lines = shop.rows(300)
    as_days = [
        [str((np.datetime64(line[0]) - np.datetime64("1970-01-01")).astype(int)), *line[1:]] for line in dated(lines)
    ]
    problem = changed(('numeric = ["age"]', 'dates = ["age"]'))
    log, numbers = read(tmp_path, dated(lines), problem), read(tmp_path, as_days, shop.PROBLEM)
    assert log.encoded.units[:].tobytes() == numbers.encoded.units[:].tobytes()
    first, last = min(line[0] for line in dated(lines)), max(line[0] for line in dated(lines))
    assert log.encoded.notes == [f"numbers standardised by the log: age {first} to {last}"]
    case = {"age": dated(lines)[7][0], "town": lines[7][1]}
    assert log.encoded.coding.row(case).tobytes() == log.encoded.units[[7]][0].tobytes()
    assert log.encoded.coding.outside({**case, "age": "1850-01-01"}) == ["age"]
    with pytest.raises(InvalidInput, match=r"age: expected a date, such as \"2026-11-23\", got 'soon'"):
        log.encoded.coding.row({**case, "age": "soon"})
    ranged = problem.replace("[action]", '[features.ranges]\nage = ["1900-01-01", "2000-01-01"]\n\n[action]')
    assert read(tmp_path, dated(lines), ranged).encoded.coding.numeric["age"].low == -25_567


def test_a_date_that_is_none_is_a_bad_row(tmp_path):
    lines = dated(shop.rows(300))
    lines[8][0] = "32.12.99"
    log = read(tmp_path, lines, changed(('numeric = ["age"]', 'dates = ["age"]')))
    assert log.bad.messages() == [
        "1 row: 'age' is not a date, such as 2026-11-23 or 23.11.2026 (first in line 10: '32.12.99')"
    ]


def test_texts_may_stand_for_numbers_of_outcomes(tmp_path):
    lines = shop.rows(400)
    words = [[*line[:3], {"0": "no", "1": "yes"}[line[3]], line[4]] for line in lines]
    words[5][3] = ""
    stated = changed(("range = [0, 1]", 'values = { yes = 1, no = 0, "" = 0 }'))
    expected = [float(line[3]) for line in lines]
    expected[5] = 0.0
    assert read(tmp_path, words, stated).encoded.outcomes[:, 0].tolist() == expected
    words[6][3] = "maybe"
    with pytest.raises(
        InvalidInput, match=r"1 row: 'visit' is not one of 'yes', 'no', '' \(first in line 8: 'maybe'\)"
    ):
        read(tmp_path, words, stated)
    for rule in ("drop", "clip"):  # a text has no end of a range
        asked = f'{stated}\n[outside]\nvisit = "{rule}"\n'
        if rule == "drop":
            log = read(tmp_path, words, asked)
            assert log.encoded.checks["dropped"].startswith("1 row was dropped for its 'visit' (1 under ")
            assert len(log) == 399
        else:
            with pytest.raises(InvalidInput, match="'visit' is not one of"):
                read(tmp_path, words, asked)
    with pytest.raises(InvalidInput, match=r"outcomes.visit.values.yes: expected a number in \[0, 1\], the range of"):
        parse(stated.replace("yes = 1", "yes = 2"), "problem.toml")


@pytest.mark.parametrize("key", ["minimize", "minimise"])
def test_what_is_minimised_is_maximised_with_the_other_sign(key):
    text = changed(('maximize = "visit"', f"{key} = {{ visit = 2, post = 0.5 }}"))
    assert parse(text, "problem.toml").maximize == Linear({"visit": -2.0, "post": -0.5})
    alone = parse(changed(('maximize = "visit"', f'{key} = "visit"')), "problem.toml")
    assert alone.maximize == Linear({"visit": -1.0})


def test_a_log_may_state_its_horizon(tmp_path):
    lines = shop.rows(900)
    problem = changed(("horizon = 300", 'horizon = "log"'))
    log = read(tmp_path, lines, problem)
    assert (log.spec.horizon, log.problem.horizon) == (299, 299)  # of 900 rows by 0.333333
    stated = changed(("horizon = 300", "horizon = 299"))
    files = shop.write(tmp_path, lines, problem)
    found = replay_log(*files, **QUICK)
    files[1].write_text(stated)
    assert str(found) == str(replay_log(*files, **QUICK))
    dear = problem.replace("rate = 0.3", "total = 0.5").replace(
        '[[budget]]\noutcome = "post"', '[[budget]]\noutcome = "cents"'
    )
    dear = dear.replace("[outcomes.post]", '[outcomes.cents]\nrange = [0, 9]\ncolumn = "visit"\n\n[outcomes.post]')
    with pytest.raises(InvalidInput, match="kept hard: expected a total of at least 9"):
        read(tmp_path, lines, dear)


def test_a_horizon_of_the_log_needs_a_log_and_no_end():
    problem = changed(("horizon = 300", 'horizon = "log"'))
    with pytest.raises(InvalidInput, match=r"line 4: horizon: expected a number of rounds, as until or traffic"):
        parse('until = "2026-12-01"\nsince = "2026-11-01"\n' + problem.lstrip(), "problem.toml")
    stated = '[features.ranges]\nage = [20, 80]\n[features.levels]\ntown = ["north", "south"]\n[groups.town]\nshares'
    text = problem.replace("[action]", f'{stated} = "estimated"\n[action]')
    with pytest.raises(InvalidInput, match=r'horizon: expected a number of rounds, as there is no log .*, got "log"'):
        of_file(Text("problem.toml", text))
    with pytest.raises(InvalidInput, match=r"line 31: policy.stp: .*did you mean step"):
        parse(problem.replace("step =", "stp =").lstrip(), "problem.toml")


def test_a_campaign_takes_cases_whose_values_are_missing(tmp_path):
    lines = gaps(1)
    for line in lines[::7]:
        line[0] = ""
    stated = '[features.missing]\ntown = "level"\nage = "indicator"\n\n[action]'
    log, toml = shop.write(tmp_path, lines, changed(("[action]", stated)))
    coded = of_log(Text.of(toml), log).coded
    context = coded.context({"age": None, "town": None}, None, None)
    assert context.features[0, 0, :5].tolist() == [1.0, 0.0, 1.0, 1.0, 0.0]
    names = next(g.names for g in coded.problem.groups if g.name == "town")
    assert context.groups[0, 0].tolist() == [names.index("missing")]
    with pytest.raises(InvalidInput, match="town"):
        coded.context({"age": None, "town": ""}, None, None)


def test_values_and_curves_read_such_logs_too(tmp_path):
    lines = gaps(0, count=3000)
    problem = changed(("[action]", '[features.missing]\nage = "indicator"\n\n[action]'), ("300", '"log"'))
    evidence = Evidence.read(*shop.write(tmp_path, lines, problem))
    found = eh.value(evidence, rules=["a where age < 40; else none"])
    assert np.isfinite([p.value.value for p in found.policies]).all()
    assert evidence.problem.horizon == 999


def test_the_treatments_are_told_apart_before_the_log_is_read():
    for stated, message in (
        ('age = "level"', "features.missing.age: expected one of indicator, drop, refuse, as the column has numbers"),
        ('town = "indicator"', "features.missing.town: expected one of level, drop, refuse, as the column has names"),
        ('twn = "level"', r"features.missing.twn: expected one of age, town, town, got twn \(did you mean town"),
        ('age = "mean"', "features.missing.age: expected one of indicator, level, drop, refuse, got 'mean'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            parse(changed(("[action]", f"[features.missing]\n{stated}\n\n[action]")), "problem.toml")
