"""Drafts of logs whose numbers have marks that may separate thousands or fractions."""

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.replay import draft, read_log
from tests.replay.test_draft import read, table, write

HEADER = ["age", "letter", "clicked", "revenue"]


def log(values, ages=("41",), cut=","):
    return table(
        HEADER,
        [[ages[i % len(ages)], ("yes", "no")[i % 2], i % 3 == 0, values[i % len(values)]] for i in range(300)],
        cut,
    )


@pytest.mark.parametrize(
    ("values", "cut"),
    [(["0", "853", "1,515"], ","), (["0", "1,515,000"], ","), (["0", "853", "1.515"], ";"), (["1,515", "853"], "\t")],
)
def test_numbers_that_may_have_separators_of_thousands_are_left_out(tmp_path, values, cut):
    found = draft(write(tmp_path, log(values, ["41", "30"], cut)))
    said = found.text.replace("\n#   ", " ")
    assert "decimal =" not in found.text
    assert "remove the separators of thousands (1515 for 1,515): 'revenue'" in said
    assert "revenue" not in found.text.split("[features]")[1].split("# left out")[0]
    assert not any("revenue" in told and "outcomes" in told for told in found.guessed)


def test_an_outcome_with_separators_is_named_where_there_is_no_other(tmp_path):
    rows = [[i % 50, ("yes", "no")[i % 2], ("853", "1,515")[i % 3 == 0]] for i in range(300)]
    found = draft(write(tmp_path, table(["age", "letter", "revenue"], rows)))
    assert found.open == (
        "which column is the outcome? 'revenue' may be it, once its numbers have no separators of thousands",
    )


@pytest.mark.parametrize(
    ("values", "cut", "largest"),
    [(["0,515", "-0,125"], ",", 0.515), (["1,515", "12,5"], ",", 12.5), (["1,515", "0"], ";", 1.515)],
)
def test_decimal_commas_are_among_what_was_guessed(tmp_path, values, cut, largest):
    path = write(tmp_path, log(values, cut=cut))
    found = draft(path)
    assert "decimal: ',' is between whole numbers and fractions" in found.guessed
    at = found.text.index("[outcomes.revenue]")
    assert f", {largest:g}]" in found.text[at:]


def test_decimal_points_among_semicolons_are_read_where_a_number_rules_thousands_out(tmp_path):
    path = write(tmp_path, log(["1.515", "0"], ["41.5", "30"], ";"))
    log_read = read(tmp_path, path, draft(path))
    assert log_read.encoded.outcomes.max() == 1.515


def test_thousands_that_are_read_as_numbers_are_refused_as_such(tmp_path):
    path = write(tmp_path, log(["853", "1,515"], ["41", "30"]))
    text = draft(path).text + "\n[outcomes.revenue]\nrange = [0, 2000]\n"
    (tmp_path / "log.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"a number in \[0, 2000\] without separators of thousands"):
        read_log(path, tmp_path / "log.toml")
