"""Drafts of problem files: what is guessed, what is left open, and that they are read."""

import csv
import gzip
import io
import re
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.logs.problem_file import parse
from evenhand.offline import Evidence, assign
from evenhand.offline.values import policy_of
from evenhand.replay import draft, read_log
from tests.replay import shop

MONTHS = ("Jan", "Feb", "March", "April", "Mai", "June", "Juli", "Aug.", "Sept", "Okt", "Nov", "Dez")
VISITS = ["age", "rate", "since", "town", "letter", "visit"]
PAGE = (Path(__file__).parents[2] / "docs" / "from-a-log.md").read_text(encoding="utf-8")
DATA = Path(__file__).parents[3] / "shared" / "data"


def table(header, rows, cut=","):
    out = io.StringIO()
    csv.writer(out, delimiter=cut).writerows([header, *rows])
    return out.getvalue()


def write(folder, text, name="log.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def read(folder, log, found):
    """Read the log by the draft, which is written to a file of its own."""
    return read_log(log, found.write(folder / f"{log.name}.toml"))


def offers(count=2000, seed=3):
    """A German shop: decimal commas, umlauts, missing ages, dates, words, and a column that came after the offer."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        city = str(rng.choice(["München", "Köln", "Ulm, Donau", ""], p=[0.4, 0.3, 0.28, 0.02]))
        age = "NA" if rng.random() < 0.08 else str(rng.integers(18, 80))
        since = str(np.datetime64("2015-01-01") + np.timedelta64(rng.integers(0, 3000), "D"))
        offer = int(rng.choice(3, p=[0.5, 0.3, 0.2]))
        bought = rng.random() < 0.1 + 0.1 * offer
        yield [
            f"K{i:05d}", f"2026-03-{1 + i % 28:02d}T10:00", since, age, city,
            ["kein Angebot", "Brief", "Anruf"][offer], f"0,{[5, 3, 2][offer]}",
            "ja" if bought else "nein", f"{rng.exponential(30) * bought:.2f}".replace(".", ","),
        ]  # fmt: skip


SHOP = ["Kunde", "sent_at", "signup_date", "Alter", "Stadt", "offer", "propensity", "clicked", "revenue"]


def test_what_is_known_under_some_actions_alone_came_after_them(tmp_path):
    """The minutes of calls; ages are missing as well, but not by the action."""
    rows = [[*row, f"{5 + i % 9}" if row[5] == "Anruf" else ""] for i, row in enumerate(offers(600))]
    found = draft(write(tmp_path, table([*SHOP, "minutes"], rows)))
    why = "left out, as it has values under 'Anruf' alone, so it came after the action: perhaps an outcome"
    assert why in found.text.replace("\n#  ", "")
    assert "missing values of 'Alter', 'Stadt' are marked" in found.guessed
    assert not any("'minutes' comes after" in told for told in found.guessed)
    few = [[*row, "1" if i < 5 else ""] for i, row in enumerate(offers(40))]  # that no call is among five is chance
    assert "alone" not in draft(write(tmp_path, table([*SHOP, "minutes"], few), "few.csv")).text


def test_a_list_with_its_outcomes_is_a_log_again(tmp_path):
    """What was expected of a list is no outcome, and no feature."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(300):
        age, held = rng.integers(20, 70), rng.random() < 0.2
        rows.append([age, rng.choice(["none", "letter"]), 0.5, held, 0.1 + age / 1000, age / 10, int(age > 60)])
    head = ["age", "action", "probability", "held out", "expected sale", "expected minutes", "sale"]
    log = write(tmp_path, table(head, rows))
    found = draft(log)
    assert "outcomes: 'sale', of which 'sale' is maximised" in found.guessed
    assert "left out: 'held out', 'expected sale', 'expected minutes', for the reasons below" in found.guessed
    assert "numeric features: 'age'" in found.guessed
    assert not found.open
    assert len(read(tmp_path, log, found)) == 300
    other = draft(
        write(tmp_path, table(["age", "letter", "p", "expected wait", "sale"], [r[:3] + r[5:] for r in rows]), "o.csv")
    )
    assert "numeric features: 'age', 'expected wait'" in other.guessed


def test_numbers_with_units_or_separators_of_thousands_are_left_out_as_such(tmp_path):
    """They are texts to the reader, and more than a hundred of them, unless both marks tell what each is."""
    each = {
        "spent": lambda i: f"{i // 100}.{i % 100:02d}0,{i % 100:02d}" if i >= 100 else f"{i},50",
        "paid": lambda i: f"{i},00 €" if i else "0,50 $",
        "owed": lambda i: f"$1,{100 + i}.50",
        "part": lambda i: f"{i / 10}".replace(".", ",") + " %" * (i % 2),
        "code": lambda i: f"{i}.2.{i}",
    }
    rows = [[*(make(i) for make in each.values()), ("yes", "no")[i % 2], i % 3 == 0] for i in range(300)]
    found = draft(write(tmp_path, table([*each, "letter", "visit"], [*rows, *rows], ";"))).text.replace("\n#  ", "")
    for odd, name in ((", '0,50 $' unlike most", "paid"), ("", "owed"), (", '0,1 %' unlike most", "part")):
        assert f"in some rows alone{odd}: write 1850.38, or 1850,38 in a log with decimal commas: {name!r}" in found
    assert 'numeric = ["spent"]' in found  # whose points and commas leave no doubt
    assert "it has more than 100 names: 'code'" in found


def test_a_log_of_the_shop_is_clear(tmp_path):
    log, _ = shop.write(tmp_path, shop.rows(3000))
    found = draft(log)
    spec = parse(found.text, "draft.toml")
    assert found.open == ()
    assert (spec.action, spec.actions) == ("letter", {"": "none", "A": "A", "B": "B"})
    assert (spec.propensity, spec.numeric, spec.categorical) == ("p", ("age",), ("town",))
    assert (spec.maximize, spec.columns, spec.horizon) == ("visit", {"visit": "visit"}, "log")
    assert read(tmp_path, log, found).spec.horizon == 999  # of 3,000 rows by 0.333333
    older = parse(found.text.partition("[policy]")[0], "older.toml")  # which a campaign may have been started with
    assert (spec.settings.name, older.settings.name) == ("resolving", "pgd")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_file_of_a_german_spreadsheet(tmp_path, encoding):
    log = write(tmp_path, table(SHOP, offers(), ";"), encoding=encoding)
    found = draft(log)
    assert found.open == ()
    spec = parse(found.text, "draft.toml")
    assert (spec.form.decimal, spec.form.missing) == (",", ("", "NA"))
    assert (spec.numeric, spec.dates) == (("Alter", "signup_date"), ("signup_date",))
    assert spec.categorical == ("Stadt",)
    assert spec.missing == {"Alter": "indicator", "Stadt": "level"}
    assert list(spec.actions) == ["kein Angebot", "Anruf", "Brief"]  # what does nothing comes first
    assert (spec.propensity, spec.values) == ("propensity", {"clicked": {"ja": 1.0, "nein": 0.0}})
    for what in ("'Kunde'", "'sent_at'"):
        assert any(line.startswith("# left out") and what in line for line in found.text.splitlines())
    rows = read(tmp_path, log, found)
    assert (rows.bad.left_out, len(rows)) == (0, 2000)
    assert rows.encoded.coding.levels["Stadt"] == ("München", "Köln", "Ulm, Donau", "missing")
    assert sorted(set(rows.encoded.propensities)) == [0.2, 0.3, 0.5]
    value = eh.value(Evidence.of(rows, "draft.toml"))
    assert np.isfinite([p.value.value for p in value.policies]).all()


def test_a_packed_file_without_a_name_for_the_outcome(tmp_path):
    text = table(["x", "arm", "z"], [[i % 7, "ab"[i * i % 3 % 2], i % 2] for i in range(900)])
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    found = draft(path)
    assert [sentence.partition("?")[0] for sentence in found.open] == [
        "with which probabilities were actions drawn", "which column is the outcome",
    ]  # fmt: skip
    with pytest.raises(
        InvalidInput, match=r"outcomes.outcome: '\?': expected a column of log.csv.gz, line 1 \(x, arm, z\)"
    ):
        read(tmp_path, path, found)
    marked = [line for line in found.text.splitlines() if '"?"' in line and not line.startswith("#")]
    assert len(marked) == len(found.open) == found.text.count("# DECIDE: ")
    filled = found.text.replace('column = "?" # The column of the outcome.', 'column = "z"').replace('"x", "z"', '"x"')
    filled = filled.replace('column = "?" # The column of the probability', "constant = 0.5 # The probability")
    assert parse(filled, "draft.toml").columns == {"outcome": "z"}


def test_several_columns_that_may_be_the_action_are_left_to_the_user(tmp_path):
    rows = [["a" if i % 2 else "b", "c" if i % 3 else "d", i % 2] for i in range(400)]
    found = draft(write(tmp_path, table(["first offer", "second offer", "clicked"], rows)))
    assert found.open[0] == "which column is the action: one of 'first offer', 'second offer'?"
    assert "# left out, as it may be the action: 'first offer', 'second offer'" in found.text
    filled = found.text.replace('column = "?" # The column of the logged action.', 'column = "first offer"')
    filled = filled.replace('"?" = "none"', 'a = "a", b = "b"').replace(
        'column = "?" # The column of the prob', "constant = 0.5 # "
    )
    log = tmp_path / "log.csv"
    (tmp_path / "p.toml").write_text(filled)
    assert len(read_log(log, tmp_path / "p.toml")) == 400


def test_actions_that_occur_unequally_need_their_probabilities(tmp_path):
    rows = [["a" if i % 4 else "b", i % 2] for i in range(800)]
    (question,) = draft(write(tmp_path, table(["arm", "reward"], rows))).open
    assert question.endswith(
        "actions occur unequally ('a' 0.750, 'b' 0.250), and no column looks like their probabilities"
    )


def test_what_depends_on_the_action_is_no_feature(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(3000):
        arm, age = rng.integers(0, 2), rng.integers(20, 60)
        minutes = rng.exponential(3 + 2 * arm)
        rows.append(
            [
                age,
                f"{minutes:.3f}",
                ["stay", "go"][int(rng.random() < 0.3 + 0.3 * arm)],
                "ab"[arm],
                int(rng.random() < 0.2),
            ]
        )
    found = draft(write(tmp_path, table(["age", "minutes", "page", "arm", "reward"], rows)))
    spec = parse(found.text, "draft.toml")
    assert (spec.numeric, spec.categorical) == (("age",), ())
    comment = found.text.replace("\n#   ", " ")
    why = (
        "it differs between actions more than chance explains, so it came after them, or the probabilities of actions "
    )
    why += "depend on it"
    assert f"# left out, as {why}: 'minutes', 'page'" in comment


def test_outcomes_have_the_range_of_all_rows(tmp_path):
    """The largest is far behind the sample by which columns are told apart."""
    rows = [["ab"[i % 2], 5 if i < 11_990 else -700, "" if i == 3 else i % 2] for i in range(12_000)]
    log = write(tmp_path, table(["arm", "profit", "clicked"], rows))
    found = draft(log)
    profit, clicked = parse(found.text, "draft.toml").outcomes
    assert (profit.low, profit.high) == (-700.0, 5.0)
    assert (clicked.low, clicked.high) == (0.0, 1.0)
    assert "# 0.0% of the rows have none: the others are selected by it" in found.text
    kept = read(tmp_path, log, found)
    assert len(kept) == 11_999
    assert kept.encoded.checks["dropped"] == (
        "1 row was dropped for its 'clicked' (1 under 'b'): what is left is selected by it"
    )


def test_names_that_toml_has_to_quote(tmp_path):
    header = ['a "b"', "c.d = e", "[arm]", "reward\\"]
    rows = [[i % 5, f"x{i % 3}", ['say "yes"', "no\\"][i % 2], i % 2] for i in range(300)]
    log = write(tmp_path, table(header, rows))
    found = draft(log)
    rows_read = read(tmp_path, log, found)
    assert (rows_read.spec.numeric, rows_read.spec.categorical) == (('a "b"',), ("c.d = e",))
    assert rows_read.problem.actions == ("no\\", 'say "yes"')


def test_long_lists_are_wrapped_and_read(tmp_path):
    header = [f"feature number {i}" for i in range(60)]
    rows = [[*(i % (j + 2) for j in range(60)), "ab"[i % 2], i % 2] for i in range(200)]
    found = draft(write(tmp_path, table([*header, "arm", "reward"], rows)))
    taken = set(parse(found.text, "draft.toml").numeric)
    assert len(taken) > 20
    assert taken <= set(header)
    assert max(map(len, found.text.splitlines())) <= 120
    assert any("and" in sentence and "more" in sentence for sentence in found.guessed)


def test_the_command_prints_or_writes_a_new_file(tmp_path, capsys):
    log, _ = shop.write(tmp_path, shop.rows(600))
    assert main(["draft", str(log)]) == 0
    printed = capsys.readouterr().out
    assert printed == draft(log).text
    out = tmp_path / "new.toml"
    assert main(["draft", str(log), "--out", str(out)]) == 0
    assert out.read_text() == printed
    assert "to decide:\n- nothing" in capsys.readouterr().out
    assert main(["draft", str(log), "--out", str(out)]) == 2
    assert "expected a new file in an existing folder, got File exists" in capsys.readouterr().err
    assert out.read_text() == printed
    assert main(["draft", str(log), "--out", str(tmp_path / "none" / "new.toml")]) == 2
    assert main(["draft", "--schema"]) == 0
    assert '"$schema"' in capsys.readouterr().out
    for wrong in (["draft"], ["draft", str(log), "--schema"]):
        with pytest.raises(SystemExit):
            main(wrong)


@pytest.mark.parametrize("text", ["", "arm,reward\n"])
def test_a_log_without_rows_is_refused(tmp_path, text):
    with pytest.raises(InvalidInput, match=r"log\.csv: expected a"):
        draft(write(tmp_path, text))


def test_the_page_shows_what_can_be_run(capsys):
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    (block,) = (
        part.split("```")[0] for part in PAGE.split("```python\n")[1:] if "draft(frame)" in part.split("```")[0]
    )
    exec(block, {})
    printed = capsys.readouterr().out
    assert "the data frame: 600 usable rows of 600: none 300, mail 300" in printed
    assert "clicked per case" in printed


@pytest.mark.skipif(not (DATA / "hillstrom.csv").exists(), reason="needs the file of the e-mail challenge")
def test_the_page_shows_what_is_guessed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["draft", str(DATA / "hillstrom.csv"), "--out", "problem.toml"]) == 0
    assert f"```\n{capsys.readouterr().out}```" in PAGE


@pytest.mark.skipif(not (DATA / "hillstrom.csv").exists(), reason="needs the file of the e-mail challenge")
def test_the_log_of_the_e_mails_is_clear(tmp_path):
    log = DATA / "hillstrom.csv"
    found = draft(log)
    assert found.open == ()
    rows = read(tmp_path, log, found)
    assert rows.spec.action == "segment"
    assert list(rows.spec.columns) == ["visit", "conversion", "spend"]
    assert rows.spec.numeric == ("recency", "history", "mens", "womens", "newbie")
    assert (len(rows), rows.bad.left_out, rows.spec.horizon) == (64_000, 0, 21_333)


@pytest.mark.skipif(not (DATA / "open-bandit").exists(), reason="needs the Open Bandit data set")
@pytest.mark.parametrize("policy", ["random", "bts"])
def test_the_logs_of_open_bandit_are_clear(tmp_path, policy):
    log = DATA / "open-bandit" / f"men-{policy}.csv"
    found = draft(log)
    assert found.open == ()
    rows = read(tmp_path, log, found)
    assert (rows.spec.action, rows.spec.propensity, list(rows.spec.columns)) == (
        "item_id",
        "propensity_score",
        ["click"],
    )
    assert (len(rows), len(rows.problem.actions)) == (10_000, 34)


def czech(count=3000, seed=5):
    """A Czech shop: dates with points, dates with slashes, propensities that differ by case, and ano and ne."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        share = 0.6 if rng.random() < 0.4 else 0.35
        sent = rng.random() < share
        yield [
            str(i), "" if rng.random() < 0.1 else str(rng.integers(18, 90)), str(rng.choice(["Plzeň", "Ústí"])),
            f"{rng.integers(1, 29)}. {rng.integers(1, 13)}. {rng.integers(2001, 2026)}",
            f"{rng.integers(1, 13)}/{rng.integers(1, 29)}/{rng.integers(2001, 2026)}",
            f"{rng.gamma(2, 300):.2f}".replace(".", ","), "Dopis" if sent else "nic",
            f"{share if sent else 1 - share:.2f}".replace(".", ","), "ano" if rng.random() < 0.2 else "ne",
        ]  # fmt: skip


CZECH = ["Číslo zákazníka", "Věk", "Město", "Registrace", "Narozen", "Tržba", "Akce", "Pravděpodobnost", "Nákup"]


def test_a_file_of_a_czech_spreadsheet(tmp_path):
    log = write(tmp_path, table(CZECH, czech(), ";"), encoding="utf-8-sig")
    found = draft(log)
    assert found.open == ()
    assert "action: 'Akce', with 2 different values" in found.guessed
    assert "outcomes: 'Nákup', of which 'Nákup' is maximised" in found.guessed  # past sales are known before
    assert "numeric features: 'Věk', 'Tržba'" in found.guessed
    assert "features that are dates: 'Registrace', 'Narozen'" in found.guessed
    assert 'dates = "month/day/year" # The order of numbers in dates with slashes or hyphens.' in found.text
    assert 'values = { nic = "nic", Dopis = "Dopis" }' in found.text
    assert len(read(tmp_path, log, found)) == 3000


def visits(cut, decimal, percent, gap, date, count=600, seed=1):
    """A log with percentages, dates that `date` writes, and gaps that a text stands for, also in names."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        age, share = str(rng.integers(20, 70)), f"{rng.integers(0, 400) / 10}".replace(".", decimal) + percent
        since = date(rng.integers(1, 29), rng.integers(1, 13))
        row = [gap if i % every == 0 else z for z, every in ((age, 11), (share, 13), (since, 17))]
        rows.append([*row, rng.choice(["Ulm", "Köln", gap]), ("none", "letter")[rng.integers(2)], i % 3 // 2])
    return table(VISITS, rows, cut), rows


@pytest.mark.parametrize(
    ("cut", "decimal", "percent", "gap", "date", "order"),
    [
        (";", ",", " %", "k. A.", "{0}.{1}.26", None),
        (",", ".", "%", "N/A", "{1}/{0}/26", "month/day/year"),
        (",", ".", " %", "Unknown", "{0}/{1}/2026", "day/month/year"),
        (",", ".", "%", "N/A", "{0}-{1}-2026", "day/month/year"),
        (";", ",", "%", "keine Angabe", "{0}. {1}. 2026", None),
    ],
)
def test_percentages_short_dates_and_words_for_nothing(tmp_path, cut, decimal, percent, gap, date, order):
    text, rows = visits(cut, decimal, percent, gap, date.format)
    log = write(tmp_path, text)
    found = draft(log)
    assert found.open == ()
    spec = parse(found.text, "draft.toml")
    assert (spec.numeric, spec.dates, spec.categorical) == (("age", "rate", "since"), ("since",), ("town",))
    assert (spec.form.missing, spec.form.dates) == (("", gap), order)
    assert spec.missing == {"age": "indicator", "rate": "indicator", "since": "indicator", "town": "level"}
    assert "percentages are read as fractions, 12.5 % as 0.125: 'rate'" in found.guessed
    told = "years of two digits are those from 1950 to 2049: 'since'"
    assert (told in found.guessed) == ("2026" not in date)
    back = read(tmp_path, log, found)
    assert (back.bad.left_out, len(back)) == (0, len(rows))
    shares = [float(r[1].rstrip("% ").replace(decimal, ".")) / 100 if r[1] != gap else np.nan for r in rows]
    np.testing.assert_allclose(back.columns()["rate"], shares)
    since, day = back.columns()["since"], np.datetime64("2026-03-07").astype(int)
    assert [date.format(z.day, z.month) for z in map(as_date, since[~np.isnan(since)])] == [
        r[2] for r in rows if r[2] != gap
    ]
    evidence = Evidence.of(back, "draft.toml")
    chosen = policy_of(f"letter where rate < 12{decimal}5 %; else none", evidence)[:, 1]
    assert chosen.tolist() == [float(z < 0.125) for z in shares]
    sent = policy_of(f"letter where since < {date.format(7, 3)}; else none", evidence)[:, 1]
    assert sent.tolist() == (since < day).tolist()


def as_date(days):
    found = np.datetime64("1970-01-01") + np.timedelta64(int(days), "D")
    assert str(found).startswith("2026")
    return found.item()


@pytest.mark.parametrize(
    ("date", "why"),
    [
        (lambda day, month: f"{day % 12 + 1}/{month}/26", 'state dates = "day/month/year" or "month/day/year" und'),
        (lambda *both: "{}/{}/26".format(*both[:: 1 if both[0] % 2 else -1]), "do not say which number is the day"),
        (lambda day, month: f"{MONTHS[month - 1]} {day}", "its dates have no year, or the name of a month: write 2026"),
        (lambda day, month: f"{day}. {MONTHS[month - 1]} 2026", "its dates have no year, or the name of a month"),
        (lambda day, month: f"{day}.{month}.", "its dates have no year, or the name of a month"),
    ],
)  # fmt: skip
def test_dates_that_are_not_clear_are_left_out_with_what_to_write(tmp_path, date, why):
    text, _ = visits(",", ".", "%", "n. a.", date)
    found = draft(write(tmp_path, text))
    told = [z for z in found.text.replace("\n#   ", " ").splitlines() if z.startswith("# left out, as ") and why in z]
    assert [z.endswith(": 'since'") for z in told] == [True]
    assert parse(found.text, "draft.toml").dates == ()


def test_slashes_need_their_order_and_what_it_does_not_fit_is_bad(tmp_path):
    text, rows = visits(",", ".", "%", "NA", "{0}/{1}/26".format)
    log, drafted = write(tmp_path, text), draft(write(tmp_path, text)).text
    there = sum("/" in r[2] for r in rows)
    beyond = sum("/" in r[2] and int(r[2].split("/")[0]) > 12 for r in rows)
    said = r"'since' is not a date, .*\(log.dates says how those with slashes or hyphens are read\)"
    for order, bad in (("", there), ('dates = "month/day/year"', beyond)):
        path = write(tmp_path, drafted.replace('dates = "day/month/year"', order), "p.toml")
        with pytest.raises(InvalidInput, match=f"{bad} rows: {said}"):
            read_log(log, path)
    path = write(tmp_path, drafted.replace('dates = "day/month/year"', 'dates = "year"'), "p.toml")
    with pytest.raises(InvalidInput, match=r"log.dates: expected one of day/month/year, month/day/year, got '?year"):
        read_log(log, path)


def test_a_percentage_among_plain_numbers_is_bad(tmp_path):
    """It could mean a hundred times as much as its neighbours, or the same."""
    text, rows = visits(",", ".", "", "NA", "{0}.{1}.2026".format)
    log = write(tmp_path, text)
    path = draft(log).write(tmp_path / "p.toml")
    assert read_log(log, path).bad.left_out == 0
    rows[5][1] = "12.5 %"
    (message,) = read_log(write(tmp_path, table(VISITS, rows)), path).bad.messages()
    assert message == "1 row: 'rate' is not a finite number without %, as most rows have it (first in line 7: '12.5 %')"


@pytest.mark.parametrize(
    ("cut", "form", "comma"),
    [
        (",", "€ {}", False),
        (";", "{} €", True),
        (";", "-{}\u00a0EUR", True),
        (",", "${}", False),
        ("parquet", "£{}", 0),
    ],
)
def test_amounts_of_one_currency_are_numbers(tmp_path, cut, form, comma):
    rng = np.random.default_rng(4)
    sums = [f"{z:.2f}" for z in rng.uniform(1.0, 900.0, 400)]
    head, plain = ["spent", "arm", "margin"], [[z, "ab"[i % 2], sums[-i]] for i, z in enumerate(sums)]
    written = [z.replace(".", ",") if comma else z for z in sums]
    rows = [[form.format(z) if i % 9 else "", "ab"[i % 2], form.format(written[-i])] for i, z in enumerate(written)]
    log = write(tmp_path, table(head, rows, cut.replace("parquet", ",")))
    if cut == "parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        log = tmp_path / "log.parquet"
        parquet.write_table(pa.table([*map(pa.array, zip(*rows, strict=True))], head), log)
    found = draft(log)
    assert "numeric features: 'spent'" in found.guessed
    assert "amounts are read without their currency, as all rows have one: 'margin', 'spent'" in found.guessed
    back, sign = read(tmp_path, log, found), -1.0 if form[0] == "-" else 1.0
    assert back.bad.left_out == 0
    assert back.encoded.outcomes[:, 0].tolist() == [sign * float(row[2]) for row in plain]


@pytest.mark.parametrize("odd", ["$ 3.5", "3.5"])
def test_an_amount_of_another_currency_is_bad(tmp_path, odd):
    """It is worth another sum, and the row that has it is named, with its value."""
    rows = [["ab"[i % 2], f"€ {i}.5"] for i in range(1, 301)]
    path = draft(write(tmp_path, table(["arm", "margin"], rows))).write(tmp_path / "p.toml")
    rows[7][1] = odd
    told = rf"got 1 row: 'margin' is not a number in .* with €, .* .first in line 9: '{re.escape(odd)}'\)"
    with pytest.raises(InvalidInput, match=told):
        read_log(write(tmp_path, table(["arm", "margin"], rows)), path)


def test_files_of_one_log_have_the_same_currency(tmp_path):
    rows = [["ab"[i % 2], f"€ {i}.5"] for i in range(1, 301)]
    path = draft(write(tmp_path, table(["arm", "margin"], rows))).write(tmp_path / "p.toml")
    (parts := tmp_path / "parts").mkdir()
    for name in ("1.csv", "2.csv"):
        write(parts, table(["arm", "margin"], rows), name)
    assert len(read_log(parts, path)) == 600
    write(parts, table(["arm", "margin"], [[arm, z.replace("€", "$")] for arm, z in rows]), "2.csv")
    with pytest.raises(InvalidInput, match=r"^margin: expected the same currency, .* got '\$', '€'"):
        read_log(parts, path)


def test_a_list_has_the_currency_of_the_log(tmp_path):
    rows = [["ab"[i % 2], f"€ {i % 7}.5", i % 3 // 2] for i in range(300)]
    log = write(tmp_path, table(["arm", "income", "sale"], rows))
    path = draft(log).write(tmp_path / "p.toml")
    for sign in ("", "€ "):
        cases = write(tmp_path, table(["income"], [[f"{sign}3.5"]] * 9), "list.csv")
        assert len(assign(cases, path, learn_from=log).chosen) == 9
    with pytest.raises(InvalidInput, match=r"income: expected amounts in €, as in the log, got \$"):
        assign(write(tmp_path, table(["income"], [["$3.5"]] * 9), "list.csv"), path, learn_from=log)


def test_points_that_may_separate_thousands_are_unclear_beside_a_currency_too(tmp_path):
    rows = [["ab"[i % 2], i % 3, f"€ {1 + i % 7}.{100 + i}"] for i in range(300)]
    found = draft(write(tmp_path, table(["arm", "sale", "spent"], rows, ";")))
    assert "left out: 'spent', for the reasons below" in found.guessed
    assert "which may separate thousands" in found.text.replace("\n#   ", " ")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_probabilities_and_outcomes_may_be_percentages(tmp_path, kind):
    rng = np.random.default_rng(2)
    rows = [["ab"[i % 2], ("25 %", "75 %")[i % 2], f"{rng.integers(0, 100)} %"] for i in range(400)]
    log = write(tmp_path, table(["arm", "propensity", "margin"], rows))
    found = draft(log)
    assert "propensity: 'propensity'" in found.guessed
    assert "percentages are read as fractions, 12.5 % as 0.125: 'propensity', 'margin'" in found.guessed
    if kind == "parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        log = tmp_path / "log.parquet"
        parquet.write_table(pa.table([*map(pa.array, zip(*rows, strict=True))], ["arm", "propensity", "margin"]), log)
    back = read(tmp_path, log, found)
    assert sorted(set(back.encoded.propensities)) == [0.25, 0.75]
    assert back.encoded.outcomes[:, 0].tolist() == [float(r[2].rstrip("% ")) / 100 for r in rows]


def test_an_action_that_no_name_tells_has_its_values_ready_to_be_used(tmp_path):
    rows = [[str(20 + i % 50), "kein Brief" if i % 3 else "Brief", "ja" if i % 5 else "nein"] for i in range(300)]
    log = write(tmp_path, table(["age", "spalte2", "spalte3"], rows))
    found = draft(log)
    ready = 'values = { "kein Brief" = "kein Brief", Brief = "Brief" }'
    assert f"# {ready} # if it is 'spalte2'" in found.text.splitlines()
    with pytest.raises(InvalidInput, match=r"got nothing yet: the draft leaves this to you, as it does at every '[?]'"):
        read(tmp_path, log, found)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_a_draft_leaves_open_is_named_so(tmp_path, kind):
    log = write(tmp_path, table(["age", "spalte"], [[str(i), "ab"[i % 2]] for i in range(50)]))
    problem = draft(log).write(tmp_path / "problem.toml")
    if kind == "parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        log = tmp_path / "log.parquet"
        parquet.write_table(pa.table({"age": [1.0], "spalte": ["a"]}), log)
    with pytest.raises(InvalidInput, match=r"problem.toml, line \d+: .*: '[?]': .*got nothing yet: the draft leaves"):
        read_log(log, problem)


def test_yes_and_no_in_a_column_of_numbers_say_how_they_are_read(tmp_path):
    log = write(tmp_path, table(["offer", "bought"], [["ab"[i % 2], ["ja", "nein"][i % 3 == 0]] for i in range(60)]))
    path = write(tmp_path, 'maximize = "bought"\nhorizon = "log"\naction = { column = "offer", values = { a = "a", b = '
                 '"b" } }\npropensity = { constant = 0.5 }\noutcomes = { bought = {} }\n', "p.toml")  # fmt: skip
    with pytest.raises(InvalidInput, match=r"values = \{ ja = 1, nein = 0 \} in its table"):
        read_log(log, path)


@pytest.mark.parametrize(("yes", "no"), [("WAHR", "FALSCH"), ("on", "off")])
def test_words_for_true_and_false_are_read(tmp_path, yes, no):
    rows = [[20 + i % 50, ("letter", "none")[i % 2], (yes, no)[i % 3 == 0]] for i in range(300)]
    found = draft(write(tmp_path, table(["age", "offer", "clicked"], rows)))
    assert found.open == ()
    assert parse(found.text, "draft.toml").values == {"clicked": {yes: 1.0, no: 0.0}}


@pytest.mark.parametrize("key", ["maximize", "horizon", "features", "action", "outcomes", "budget", "cluster"])
@pytest.mark.parametrize("value", [[{"mail": 1}] * 10_000, ["a@b.de"] * 10_000, {"a" * 99_999: 1}, "x" * 99_999])
def test_what_is_no_problem_is_not_repeated_in_full(tmp_path, key, value):
    log = write(tmp_path, table(["offer", "bought"], [["a", 1], ["b", 0]] * 50))
    problem = {"maximize": "bought", "horizon": 50, "action": {"column": "offer", "values": ["a", "b"]}}
    problem |= {"propensity": {"constant": 0.5}, "outcomes": {"bought": {"range": [0, 1]}}}
    with pytest.raises(InvalidInput) as raised:
        read_log(log, problem | {key: value})
    assert len(str(raised.value)) < 4200


def test_what_is_no_log_is_not_repeated_in_full():
    with pytest.raises(InvalidInput, match="expected the path of a file or folder, got") as raised:
        draft([41] * 100_000)
    assert len(str(raised.value)) < 400
