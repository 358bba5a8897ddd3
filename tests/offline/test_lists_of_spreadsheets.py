"""Lists of a German spreadsheet: written as they came, and judged afterwards by the same problem file."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.offline import Evidence, assign
from evenhand.offline.values import policy_of

PROBLEM = """
maximize = "Erlös"
horizon = "log"
log = { decimal = "," }
features = { numeric = ["Alter", "Saldo"], categorical = ["Ort"], dates = ["Kunde seit"] }
action = { column = "Maßnahme", values = { "kein Brief" = "kein Brief", Brief = "Brief" } }
propensity = { constant = 0.5 }
outcomes = { "Erlös" = { range = [-5, 5] }, Porto = { known = { Brief = 1 } } }
budget = [{ outcome = "Porto", rate = 0.3 }]
"""


def written(folder, name, head, rows, encoding="cp1252"):
    lines = [";".join(head), *(";".join(row) for row in rows)]
    (folder / name).write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return folder / name


def read(path, encoding):
    return [line.split(";") for line in path.read_text(encoding=encoding).splitlines()]


def files(folder, encoding="cp1252"):
    rng = np.random.default_rng(4)
    cases, after = [], []
    for _ in range(400):
        day = f"{rng.integers(1, 29)}.{rng.integers(1, 13)}.{rng.integers(2015, 2026)}"
        town = str(rng.choice(["Köln", "Übersee"]))
        cases.append([str(rng.integers(20, 70)), f"{rng.normal(0, 9):.2f}".replace(".", ","), town, day])
        sent = rng.random() < 0.5
        gain = f"{rng.uniform(-3, -1) + sent:.2f}".replace(".", ",")
        after.append([("kein Brief", "Brief")[sent], gain])
    head = ["Alter", "Saldo", "Ort", "Kunde seit"]
    log = [c + a for c, a in zip(cases, after, strict=True)]
    (folder / "problem.toml").write_text(PROBLEM, encoding="utf-8")
    return (
        written(folder, "log.csv", [*head, "Maßnahme", "Erlös"], log, encoding),
        written(folder, "list.csv", head, cases[:200], encoding),
        folder / "problem.toml",
    )


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig", "utf-8"])
def test_a_list_is_written_as_it_came(tmp_path, encoding):
    log, cases, problem = files(tmp_path, encoding)
    found = assign(cases, problem, learn_from=log, holdout=0.2)
    out = found.write(tmp_path / "out.csv")
    assert out.read_bytes().startswith(b"\xef\xbb\xbf")  # as fields are separated by semicolons
    rows = read(out, "utf-8-sig")
    assert [row[:4] for row in rows] == read(cases, encoding)
    place = rows[0].index("expected Erlös")
    assert [row[place] for row in rows[1:]] == [f"{z:.6g}".replace(".", ",") for z in found.expected["Erlös"].tolist()]
    assert min(found.expected["Erlös"]) < 0.0  # and no apostrophe before it


def test_a_list_is_judged_by_the_same_file_once_outcomes_are_there(tmp_path):
    log, cases, problem = files(tmp_path)
    out = assign(cases, problem, learn_from=log, holdout=0.2).write(tmp_path / "out.csv")
    head, *rows = read(out, "utf-8-sig")
    after = written(tmp_path, "after.csv", [*head, "Erlös"], [[*row, "-0,5"] for row in rows])
    text = PROBLEM.replace("Maßnahme", "action").replace("constant = 0.5", 'column = "probability"')
    problem.write_text(text, encoding="utf-8")
    assert eh.value(after, problem).rows == 200


def test_rules_compare_dates(tmp_path):
    log, _, problem = files(tmp_path)
    evidence = Evidence.read(log, problem)
    for day in ("2020-03-01", "1.3.2020"):
        sent = policy_of(f"Brief where Kunde seit < {day}; else kein Brief", evidence)[:, 1]
        years = [line.split(";")[3].split(".")[::-1] for line in log.read_text(encoding="cp1252").splitlines()[1:]]
        assert sent.tolist() == [float([int(z) for z in year] < [2020, 3, 1]) for year in years]
    with pytest.raises(InvalidInput, match="rule: expected a date, such as 2026-11-23, to compare Kunde seit with"):
        policy_of("Brief where Kunde seit < yesterday; else kein Brief", evidence)
    with pytest.raises(InvalidInput, match="rule: expected a number to compare Alter with, got '1_0'"):
        policy_of("Brief where Alter < 1_0; else kein Brief", evidence)


def test_a_letter_far_down_a_list_tells_its_encoding(tmp_path):
    """Its fields have commas, so that nothing but this letter asks for a mark."""
    sent = ("no", "yes")
    log = [f"{20 + i % 40},{'AB'[i % 2]},{sent[i // 2 % 2]},{i % 3 // 2}" for i in range(400)]
    (tmp_path / "log.csv").write_text("\n".join(["age,town,sent,sale", *log, ""]))
    (tmp_path / "problem.toml").write_text(
        'maximize = "sale"\nhorizon = 100\nfeatures = { numeric = ["age"], categorical = ["town"] }\n'
        'action = { column = "sent", values = { no = "none", yes = "letter" } }\npropensity = { constant = 0.5 }\n'
        "outcomes = { sale = { range = [0, 1] } }\n"
    )
    rows = ["age,town,who", *(f"30,A,c{i}" for i in range(9000)), "30,A,Köln", ""]
    for encoding, mark in (("cp1252", True), ("utf-8", False)):
        (tmp_path / "list.csv").write_bytes("\n".join(rows).encode(encoding))
        found = assign(tmp_path / "list.csv", tmp_path / "problem.toml", learn_from=tmp_path / "log.csv")
        out = found.write(tmp_path / "out.csv")
        assert out.read_bytes().startswith(b"\xef\xbb\xbf") == mark
        assert "Köln" in out.read_text(encoding="utf-8-sig")
