"""Drafts of logs whose numbers have marks that may separate thousands or fractions."""

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.offline import assign, value
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


GERMAN = [f"{z:,}".replace(",", ".") for z in range(203, 6000, 37)]  # 203 to 999, and 1.017 to 5.975
STATED = """
maximize = "revenue"
horizon = 100
action = { column = "letter", values = { yes = "letter", no = "none" } }
propensity = { constant = 0.5 }
outcomes = { revenue = { range = [0, 6000] } }
"""


@pytest.mark.parametrize(
    ("values", "ages", "cut", "refused"),
    [
        (GERMAN, ["41"], ";", True),
        (GERMAN, ["41"], ",", True),  # as whole numbers of hundreds are beside, and none is larger
        (GERMAN, ["41.5"], ";", True),
        (["1.515", "2.250"], ["41"], ";", True),  # may be either
        (["1.515", "2.250"], ["41.5"], ";", False),
        (["1.515", "2.250"], ["41"], ",", False),
        (["1.515", "0.250"], ["41"], ";", False),
        ([*GERMAN, "1017"], ["41"], ",", False),
        (["853", "1.515", "1.5"], ["41"], ",", False),
    ],
)
@pytest.mark.parametrize("gap", [False, True])
def test_thousands_with_points_are_refused_unless_the_file_says_what_points_are(
    tmp_path, values, ages, cut, refused, gap
):
    path, stated = write(tmp_path, log(values, ages, cut)), tmp_path / "problem.toml"
    if gap:  # so that parts are read text by text
        path.write_text(path.read_text() + cut.join(["41", "no", "False", "1_0"]) + "\n")
    text = STATED + 'features = { numeric = ["age"] }\nallow_bad = 0.5\noutside = { revenue = "drop" }\n'
    stated.write_text(text)
    if refused:
        with pytest.raises(InvalidInput, match=r"outcomes.revenue: 'revenue': expected numbers without separators"):
            read_log(path, stated)
        stated.write_text(text + 'log = { decimal = "." }\n')
    found = read_log(path, stated).encoded.outcomes
    assert found.max() == max(map(float, values[: len(found)]))


def test_the_values_of_a_log_with_thousands_are_no_fractions(tmp_path):
    """The mean of 203 to 5,975 is about 3,100, where it was read as 80."""
    path, stated = write(tmp_path, log(GERMAN, ["41"], ";")), tmp_path / "problem.toml"
    stated.write_text(STATED + 'features = { numeric = ["age"] }\n')
    with pytest.raises(InvalidInput, match="as three digits follow every point"):
        value(path, stated)


def test_lists_with_thousands_are_refused(tmp_path):
    path, stated = (
        write(tmp_path, log(["1500", "900"], [str(i) for i in range(150, 3000, 19)])),
        tmp_path / "problem.toml",
    )
    stated.write_text(STATED + 'features = { numeric = ["age"] }\n')
    cases = tmp_path / "list.csv"
    cases.write_text("age\n853\n1.515\n")
    with pytest.raises(InvalidInput, match=r"features.numeric: 'age': expected numbers without separators"):
        assign(cases, stated, learn_from=path)
    cases.write_text("age\n853\n1515\n")
    assert len(assign(cases, stated, learn_from=path).chosen) == 2


def test_a_draft_states_points_that_could_separate_thousands(tmp_path):
    path = write(tmp_path, log(["1.515", "2.250"], ["41.5", "30"], ";"))
    found = draft(path)
    assert "decimal: '.' is between whole numbers and fractions" in found.guessed
    assert read(tmp_path, path, found).encoded.outcomes.max() == 2.25
