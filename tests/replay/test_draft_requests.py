"""Drafts by what a user asks: an action, what is maximised, budgets and known costs."""

import csv

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.logs.problem_file import parse
from evenhand.replay import draft
from tests.replay.test_draft import table, write

HEADER = ["segment", "tenure", "what", "probability", "stayed", "Cost (€)", "margin"]
HAND = """
maximize = {{ margin = 1, cost = -1 }}
horizon = "log"
features = {{ numeric = ["tenure"], categorical = ["segment"] }}
action = {{ column = "what", values = ["none", "call", "gift"] }}
propensity = {{ column = "probability" }}
[outcomes]
margin = {{ range = [0, {high}] }}
stayed = {{ values = {{ yes = 1, no = 0 }} }}
cost = {{ known = {{ call = 7.1, gift = 12 }} }}
[[budget]]
outcome = "cost"
total = 300
"""


def offers(count=600, seed=1, known=True):
    """Rows of an action that no name shows, and of a cost that is empty where nothing is done."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        tenure, a = int(rng.integers(1, 60)), int(rng.choice(3, p=[0.5, 0.3, 0.2]))
        cost = ["", "7.1", "12"][a] if known or a != 1 else f"{rng.uniform(5, 9):.2f}"
        margin = 20 + 30 * (a == 1) * (tenure < 12) + rng.uniform(0, 8)
        yield [
            str(rng.choice(["high", "low"])), tenure, ["none", "call", "gift"][a], [0.5, 0.3, 0.2][a],
            str(rng.choice(["yes", "no"])), cost, f"{margin:.3f}",
        ]  # fmt: skip


@pytest.fixture
def log(tmp_path):
    return write(tmp_path, table(HEADER, offers()))


ASKED = {"action": "what", "maximize": "margin - cost", "budgets": {"cost": 300}}


def test_a_draft_by_what_is_asked_gives_the_values_of_a_file_that_is_written_by_hand(tmp_path, log):
    found = draft(log, **ASKED)
    assert found.open == ()
    high = parse(found.text, "draft.toml").outcomes[0].high
    by_hand = write(tmp_path, HAND.format(high=high), "hand.toml")
    one, other = (eh.value(log, path).to_frame() for path in (found.write(tmp_path / "draft.toml"), by_hand))
    assert one.equals(other)
    assert "'cost' is known before acting: call 7.1, gift 12; 0 under other actions" in found.guessed
    assert "more outcomes, which are not maximised: 'stayed'" in found.guessed


def test_a_cost_that_differs_between_rows_is_learned_and_free_where_it_is_empty(tmp_path):
    spec = parse(draft(write(tmp_path, table(HEADER, offers(known=False))), **ASKED).text, "draft.toml")
    cost = next(o for o in spec.outcomes if o.name == "cost")
    assert (cost.is_learned, cost.free, spec.columns["cost"], spec.outside) == (True, ("none",), "Cost (€)", {})


def test_costs_that_no_column_has_are_stated_by_action(log):
    asked = draft(
        log, action="what", maximize="stayed - 0.5 * calls", budgets={"calls": 9.5}, known={"calls": {"call": 1}}
    )
    spec = parse(asked.text, "draft.toml")
    assert next(o for o in spec.outcomes if o.name == "calls").known == {"call": 1.0}
    assert (spec.maximize.weights, spec.subject_to[0].total) == ({"stayed": 1.0, "calls": -0.5}, 9.5)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"action": "waht"}, r"action: expected one of the columns .*'waht' \(did you mean what\?\)"),
        ({"action": "margin"}, "action: expected a column of 2 to 100 different values, got 'margin' with "),
        ({"maximize": "margin - "}, "maximize: expected outcomes joined by .*'margin - '"),
        ({"maximize": "margin - margin"}, "maximize: expected outcomes joined by"),
        ({"maximize": "profit-cost"}, "'profit-cost': it is outcomes joined by . and - with spaces around"),
        ({"maximize": "what"}, "maximize: expected a column of numbers, or of yes and no, got 'what' with 'none', "),
        ({"budgets": {"letters": 5}}, "budget: expected one of the .*; or state known 'letters', got 'letters'"),
        ({"budgets": {"cost": -1}}, "budget 'cost': expected a finite number of at least 0, got -1"),
        ({"known": {"mails": {"phone": 1}}, "action": "what"}, "known 'mails': expected values of the actions 'none'"),
        ({"known": {"mails": {"call": float("nan")}}}, "known 'mails': call: expected a finite number, got nan"),
    ],
)  # fmt: skip
def test_an_error_names_what_was_asked_the_columns_and_what_came(log, asked, said):
    with pytest.raises(InvalidInput, match=said):
        draft(log, **asked)


def test_the_command_writes_the_file_and_says_which_commands_follow(tmp_path, log, capsys):
    out, options = tmp_path / "p.toml", ["--action", "what", "--maximise", "margin - cost", "--budget", "cost=300"]
    assert main(["draft", str(log), *options, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    _, _, after = said.partition("\nnext:\n  evenhand ")
    first = after.splitlines()[0].split()
    assert main(first) == 0
    assert "Within 300 cost in all (0.5 per case)" in capsys.readouterr().out
    assert f"evenhand assign CASES.csv --problem {out} --learn-from {log} --out LIST.csv" in said
    for wrong in (["--budget", "cost"], ["--known", "call=7"], ["--known", "cost: call"]):
        with pytest.raises(SystemExit):
            main(["draft", str(log), *wrong])
        assert "such as" in capsys.readouterr().err


def test_an_export_of_euros_is_drafted_valued_and_planned(tmp_path):
    """Thousands are separated, some amounts are dollars, some names and customers are missing, and commas separate."""
    rng, rows = np.random.default_rng(5), []
    for i in range(900):
        spent, act = rng.uniform(0, 3000), ("none", "mail", "gift")[i % 3]
        euros = f"{spent:,.2f}".translate(str.maketrans(",.", ".,"))
        cost = {"none": "0,00 €", "mail": "0,40 €", "gift": "12,00 €"}[act] if i % 90 != 2 else "$12"
        name = f"shop-{i % 200}" if i % 20 else ""
        rows.append([f"K{i % 400}" if i % 30 else "", f"{euros} €", name, act, cost, f"{euros} €"])
    log = write(tmp_path, table(["Customer ID", "Spend", "Shop", "Action", "Cost", "Margin (€)"], rows))
    found = draft(log, maximize="margin - cost", budgets={"cost": 900}, unit="euros")
    text = found.text.replace("\n#  ", "")
    assert all(part in text for part in ('numeric = ["Spend"]', '\nCost = "drop"'))
    assert "cannot be the cluster: fill them, each with a name of its own: 'Customer ID'" in text
    assert 'also write Shop = "level" under [features.missing]' in text
    assert any("'Cost' is no number, or in another currency than most, such as '$12'" in line for line in found.guessed)
    read = eh.value(log, found.write(tmp_path / "p.toml"))
    margins = [float(row[5][:-2].replace(".", "").replace(",", ".")) for row in rows if "$" not in row[4]]
    assert read.rows == len(margins) == 890
    assert np.isclose(read.policies[0].value.value + read.policies[0].used["cost"].value, np.mean(margins))
    assert read.results().to_dict()["settings"]["budgets"][0]["unit"] == "euros"
    plan = eh.assign(log, tmp_path / "p.toml", learn_from=log)
    assert "`--baseline NAME` says" in plan.in_all()
    with plan.write(tmp_path / "list.csv").open(encoding="utf-8", newline="") as file:
        header, first, *_ = csv.reader(file)
    assert len(first) == len(header)
    assert first[header.index("expected margin")] == f"{plan.expected['margin'][0]:.6g}".replace(".", ",")


def test_customers_that_do_not_repeat_are_told_as_such(tmp_path):
    rows = [[f"K{i}" if i % 9 else "", i, ("yes", "no")[i % 2], i % 3 == 0] for i in range(300)]
    assert (
        "cannot be the cluster" not in draft(write(tmp_path, table(["customer", "age", "letter", "visit"], rows))).text
    )
