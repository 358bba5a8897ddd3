"""What value, curve and assign leave: pages, tables and pictures that say the result, each file whole or not at all."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evenhand.cli import main
from evenhand.offline import Evidence, assign, curve, value
from evenhand.offline.scores import Estimate
from tests.offline.logs import draw
from tests.offline.test_assignments import BUDGET, PARITY, files
from tests.pages import self_contained

EVIL = "</title><script>alert(1)</script><img src=x onerror=alert(1)>&"


@pytest.fixture(scope="module")
def log():
    return draw(3000, 8).evidence


def test_the_page_of_values_states_the_result(log):
    found = value(log, rules=["small where x0 < 0; else none"])
    read = self_contained(found.page("evenhand value LOG.csv").html())
    assert read.of("title") == read.of("h1") == [found.headline()]
    assert read.of("pre") == ["evenhand value LOG.csv"]
    within = [p for p in found.policies if p.used["cents"].value - 3 * p.used["cents"].se <= 0.4]
    best = max(within, key=lambda p: p.value.value)
    assert found.headline().startswith(f"Within 1,200 cents in all (0.4 per case), {best.policy!r} ")
    assert f" of {len(within)} policies" in found.headline()
    assert f"{best.value.value:.4f} sale per case" in found.headline()
    for p in found.policies:  # what the chart shows is in the table beside it
        assert f"{p.value.value:.4f} ± {p.value.se:.4f}" in read.of("td")
        assert p.policy in read.of("th")
    charts = [t for t in read.tags if t == "svg"]
    assert len(charts) == 4  # differences, and budgets used, each in two widths


def test_headlines_of_values_without_a_policy_within_the_budget(log):
    found = value(log)
    dear = replace(found, policies=tuple(p for p in found.policies if p.policy in ("as logged", "all large")))
    assert dear.headline() == "No policy of the table keeps to 1,200 cents in all (0.4 per case)"
    assert "but it uses more than 1,200 cents in all (0.4 per case)" in dear.summary()
    allowed = "The budget is 1,200 cents for the 3,000 cases of the log, 0.4 per case."
    (whole,) = found.in_all()
    assert found.summary().startswith(f"{found.headline()}. {whole} {allowed} What was logged brought ")
    free = replace(found, limits={})
    best = max(found.policies, key=lambda p: p.value.value)
    assert free.headline().startswith(f"{best.policy!r} has the highest value of 6 policies")  # none is beyond a budget
    self_contained(free.page().html())


def test_a_winner_is_named_only_where_it_can_be_told_by_pairs_of_cases(log):
    """A policy that differs in a few cases is as good, and intervals overlap where pairs of cases tell it."""
    large = np.eye(3)[np.full(log.rows, 2)]
    twin = large.copy()
    twin[:30] = [1.0, 0.0, 0.0]
    found = value(log, policies={"twin": twin})
    free = replace(found, limits={}, policies=tuple(p for p in found.policies if not p.policy.startswith("targeted")))
    assert " has the highest value of 5 policies, but cannot be told apart from " in free.headline()
    best, _, near = free.headline().partition(": ")[0].partition(" has ")
    assert {"'twin'", "'all large'"} <= {best, *near.partition(" apart from ")[2].split(", ")}
    two = {p.policy: p for p in free.policies if p.policy in ("all none", "all large")}
    (pair,) = (p.less[q] for p in two.values() for q in two if q in p.less)
    assert abs(pair.value) > 1.96 * pair.se
    without = [p._replace(less={}) for p in two.values()]
    overlap = without[0].value.interval[1] > without[1].value.interval[0]
    told = replace(free, policies=tuple(two.values())).headline()
    assert told.startswith("'all large' is worth the most of 2 policies")
    told = replace(free, policies=tuple(without)).headline()
    assert overlap == ("cannot be told apart from 'all none'" in told)
    far = [p._replace(less={}, value=Estimate(i, 0.1)) for i, p in enumerate(two.values())]
    assert " is worth the most of 2 policies" in replace(free, policies=tuple(far)).headline()
    near = [p._replace(less={}, value=Estimate(i / 10, 0.1)) for i, p in enumerate(two.values())]
    assert " cannot be told apart from " in replace(free, policies=tuple(near)).headline()


def test_the_page_of_a_curve_states_the_result(log):
    found = curve(log, budgets=(0.2, 0.4, 0.8), tolerances=(0.05,))
    read = self_contained(found.page("x").html())
    singles = [line for line in found.lines if line.name.startswith("only")]
    best = max(singles, key=lambda line: line.value[1].value)
    assert read.of("h1") == [found.headline()]
    at = "At 1,200 cents in all (0.4 per case)"
    assert found.headline().startswith(f"{at}, targeting brings {best.less[1].value:+.4f} (95 %: ")
    assert found.headline().split(" per case beyond ")[1].split(",")[0] == best.name
    for line in found.lines:
        told = [z.within(found.bands[line.name].less)[0] > 0.0 for z in line.less]
        if line is not found.lines[0]:
            brings = f"more at {sum(told)} of 3 budgets" if any(told) else "nothing distinguishable"
            assert f"Beyond {line.name}, targeting brings {brings}" in found.summary()
        assert f"{line.price[1]:.4f}" in read.of("td")
    wide = replace(found, bands={name: z._replace(less=1e6) for name, z in found.bands.items()})
    assert "targeting brings more" not in wide.summary()
    alone = replace(found, lines=found.lines[:1])
    assert alone.headline().startswith(f"{at}, targeted is worth ")
    self_contained(alone.page().html())
    one = curve(log, budgets=(0.3,))
    assert one.headline().startswith("At 900 cents in all (0.3 per case)")  # the nearest to that of the file
    self_contained(one.page().html())


def test_the_page_of_a_list_states_the_result(tmp_path):
    cases, problem = files(tmp_path, BUDGET + PARITY)
    found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.1)
    read = self_contained(found.page("x").html())
    counts = {name: int((found.chosen == a).sum()) for a, name in enumerate(found.actions)}
    assert found.headline().startswith(f"Of 300 cases: {counts['none']} none, {counts['letter']} letter")
    assert f"post: {found.budgets[0].spent:,.6g} of 120" in found.headline()
    towns = np.array(found.texts["town"])
    for level in found.levels:
        if level.feature == "town":
            inside = towns == level.level
            assert level.share == pytest.approx(inside.mean())
            assert level.actions == pytest.approx([(found.chosen[inside] == a).mean() for a in range(3)])
    assert sum(z.share for z in found.levels if z.feature == "age") == pytest.approx(1.0)
    assert {"age", "town"} == {z.feature for z in found.levels}
    assert "town: A" in read.of("th")
    assert (
        f"So that the list can be judged, there are {int(found.held_out.sum())} cases held out: any" in found.summary()
    )
    who, budget, groups = (part.title for part in found.plot().charts)
    assert (who, budget[:17], groups) == (
        "Who gets what",
        "The budget: post,",
        "post per case by town, planned within 0.05",
    )
    assert found.headline() in found._repr_html_()


def test_texts_of_files_are_shown_and_never_run(tmp_path):
    cases, problem = files(tmp_path, BUDGET + PARITY)
    log = tmp_path / "log.csv"
    for path in (log, cases):
        head, *rows = path.read_text().splitlines()
        path.write_text(
            "\n".join([head.replace("town", f"<b>{EVIL}"), *(r.replace(",A", f",{EVIL}") for r in rows)]) + "\n"
        )
    quoted = json.dumps(f"<b>{EVIL}")
    text = problem.read_text().replace('"town"', quoted).replace("groups = { town", f"groups = {{ {quoted}")
    problem.write_text(
        text.replace('letter = "letter"', f"letter = {json.dumps('letter ' + EVIL)}").replace(
            "known = { letter = 1", f"known = {{ {json.dumps('letter ' + EVIL)} = 1"
        )
    )
    evidence = Evidence.read(log, problem)
    for found in (value(evidence), curve(evidence), assign(cases, problem, learn_from=log)):
        text = found.page(f"evenhand '{EVIL}'").html()
        read = self_contained(text)
        assert "b" not in read.tags
        assert "<script" not in text
        assert any(EVIL in z for z in read.of("th"))
        assert read.of("pre") == [f"evenhand '{EVIL}'"]
        assert "<script" not in found._repr_html_()


@pytest.mark.parametrize("command", ["value", "curve"])
def test_reports_of_commands_have_the_command(tmp_path, capsys, command):
    files(tmp_path)
    out = tmp_path / "out"
    args = [command, str(tmp_path / "log.csv"), "--problem", str(tmp_path / "problem.toml"), "--out", str(out)]
    assert main([*args, "--seed", "3"]) == 0
    assert f"{out / 'report.html'}" in capsys.readouterr().out
    read = self_contained((out / "report.html").read_text())
    assert read.of("pre") == [f"evenhand {' '.join(args)} --seed 3"]
    assert "3" in read.of("dd")


def test_the_report_of_a_list_lies_beside_it(tmp_path, capsys):
    cases, problem = files(tmp_path)
    args = ["assign", str(cases), "--problem", str(problem), "--learn-from", str(tmp_path / "log.csv"), "--out"]
    assert main([*args, str(tmp_path / "out.csv")]) == 0
    assert f"written: {tmp_path / 'out.csv'}, {tmp_path / 'out.html'}" in capsys.readouterr().out
    assert "Of 300 cases" in self_contained((tmp_path / "out.html").read_text()).of("h1")[0]
    assert main([*args, str(tmp_path / "out.html")]) == 2
    assert "out: expected a name that does not end in .html" in capsys.readouterr().err
