"""Results in the user's units: totals over the rows, their intervals, and a baseline of choice."""

import re

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.core.texts import amount
from tests.replay.test_draft import table, write
from tests.replay.test_draft_requests import ASKED, HEADER, offers

ROWS = 600


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    from evenhand.replay import draft

    folder = tmp_path_factory.mktemp("totals")
    log = write(folder, table(HEADER, offers(ROWS)))
    keep = [HEADER.index(name) for name in ("segment", "tenure")]
    cases = table([HEADER[i] for i in keep], [[row[i] for i in keep] for row in offers(200, seed=5)])
    return log, draft(log, **ASKED, unit="euros").write(folder / "p.toml"), write(folder, cases, "next.csv")


def by_name(found):
    return {p.policy: p for p in found.policies}


def test_a_baseline_is_compared_by_pairs_of_cases_with_the_errors_of_a_log_in_which_it_was_the_reference(files):
    log, problem, _ = files
    logged, beyond = (by_name(eh.value(log, problem, **more)) for more in ({}, {"baseline": "call"}))
    assert list(beyond)[:2] == ["as logged", "all call"]
    for name, p in beyond.items():
        assert p.value == logged[name].value
        one = logged[name].beyond.value - logged["all call"].beyond.value
        assert p.beyond.value == pytest.approx(one, abs=1e-12)
    pair = logged["all gift"].less["all call"]  # the same difference, stated without a baseline
    assert beyond["all gift"].beyond.pair == pytest.approx(pair.pair)
    assert beyond["as logged"].beyond.se == pytest.approx(logged["all call"].beyond.se)
    assert beyond["all call"].beyond.pair == (0.0, 0.0)


def test_totals_are_values_per_case_times_the_rows_in_text_frame_and_json(files):
    log, problem, _ = files
    found = eh.value(log, problem, baseline="none")
    p = by_name(found)["all call"]
    frame = found.to_frame().set_index("policy").loc["all call"]
    assert frame["low total"] == pytest.approx(ROWS * p.value.interval[0])
    assert frame["total beyond"] == pytest.approx(ROWS * p.beyond.value)
    rows = {(r.system, r.metric): r.mean for r in found.results().rows}
    assert rows["all call", "euros in all, beyond all none"] == pytest.approx(ROWS * p.beyond.value)
    assert rows["all call", "euros in all, beyond all none: 95 %, high"] == pytest.approx(ROWS * p.beyond.interval[1])
    assert found.to_dict()["settings"]["baseline"] == "all none"
    text = str(found)
    assert re.search(
        r"Over the 600 cases of the log, 'targeted.*' brings [\d,]+ euros .*, \+[\d,.]+ euros .* beyond all none\.",
        text,
    )
    assert f"all call {ROWS * p.value.value:,.0f}" in " ".join(text.split())
    assert "budget: 300 euros of cost for the 600 cases" in text


def test_a_curve_states_its_total_beyond_the_line_that_is_asked_for(files):
    log, problem, _ = files
    found = eh.curve(log, problem, budgets=[0.5, 1.0], baseline="gift")
    line = next(z for z in found.lines if z.name == "only gift")
    assert found.headline().endswith("euros per case beyond only gift")
    assert f"+{amount(ROWS * line.less[0].value)} euros (95 %" in str(found)
    assert "beyond all none" in eh.curve(log, problem, budgets=[0.5, 1.0], baseline="none").headline()


def test_a_list_states_what_it_is_predicted_to_bring_beyond_an_action_for_all(files):
    log, problem, cases = files
    found = eh.assign(cases, problem, learn_from=log, baseline="none")
    alone = eh.assign(cases, problem, learn_from=log, budget=0.0)
    total = found.expected[found.objective].sum()
    assert found.beyond == ("all none", pytest.approx(total - alone.expected[alone.objective].sum()))
    assert found.objective == "(margin - cost)"
    assert re.search(r"In all, [\d,]+ euros are predicted, \+[\d,.]+ beyond all none", str(found))


@pytest.mark.parametrize("command", ["value", "curve", "assign"])
def test_an_unknown_baseline_is_refused_with_those_that_there_are(files, command, capsys):
    log, problem, cases = files
    where = [cases, "--learn-from", log, "--out", problem.with_name("l.csv")] if command == "assign" else [log]
    assert main([*map(str, [command, *where, "--problem", problem]), "--baseline", "cal"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("evenhand: baseline: expected")
    assert said.endswith("got cal (did you mean call?)\n")


def test_a_baseline_that_the_log_cannot_judge_is_refused(files, tmp_path):
    rows = [row for row in offers(ROWS) if row[2] != "gift" or row[0] == "high"]
    log = write(tmp_path, table(HEADER, rows))
    text = (
        files[1]
        .read_text()
        .replace('[propensity]\ncolumn = "probability"', '[propensity]\nunchecked = true\ncolumn = "probability"')
    )
    with pytest.raises(InvalidInput, match="baseline: expected a policy of which the log says enough, got all gift"):
        eh.value(log, write(tmp_path, text, "p.toml"), baseline="gift")
