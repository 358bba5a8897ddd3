"""Two files in, a report out."""

import json
import math
import re
import tomllib
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.offline import value
from evenhand.replay import Runs, execution as running, read_log, replay_log, replay_several
from evenhand.run import simulate
from tests.replay import shop

QUICK = {"replicas": 3, "bootstrap": 4, "progress": False}
FLOORS = shop.PROBLEM.replace(
    '[[parity]]\noutcome = "post"\nby = "town"\ntolerance = 0.1', '[[floor]]\noutcome = "visit"\nrate = RATE'
)
SYSTEMS = ["pgd, budget and parity", "pgd, budget alone", "no constraints", "uniform"]


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    log, toml = shop.write(folder, shop.rows(1500))
    return replay_log(log, toml, out=folder / "out", seed=3, **QUICK), folder / "out"


def test_systems_and_metrics(result):
    found, _ = result
    assert [r.name for r in found.runs] == SYSTEMS
    assert list(found.measured["pgd, budget alone"]) == [
        "visit",
        "visit minus uniform",
        "post per round",
        "post used",
        "post of budget",
        "post left",
        "post gap by town",
        "post rate town=north",
        "post rate town=south",
        "rounds",
        "rounds served",
        "cases read",
    ]
    assert "visit minus uniform" not in found.measured["uniform"]


def test_budgets_hold_in_every_run(result):
    found, _ = result
    for run in found.runs:
        used = found.measured[run.name]["post used"][0].values
        assert len(used) == 3 + 4 * 3
        assert (used <= 90).all() == (run.name != "no constraints")
        assert (run.rounds == 300).all()
        assert (run.trace.offered_steps < 1500).all()
        assert (run.trace.offered_steps >= 300).all()


def test_numbers_against_a_direct_count(result):
    found, _ = result
    run = found.runs[1]
    trace, measured = run.trace, found.measured[run.name]
    north = found.problem.shares[0]
    for i in range(7):
        sent, visits = trace.totals[-1, i, 1], trace.totals[-1, i, 0]
        inside = trace.group_totals[-1, i, :, 1]
        gap = max(abs(inside[0] / (north * 300) - sent / 300), abs(inside[1] / ((1 - north) * 300) - sent / 300))
        assert math.isclose(measured["post gap by town"][0].values[i], gap)
        assert math.isclose(measured["post rate town=north"][0].values[i], inside[0] / trace.group_rounds[-1, i, 0])
        assert math.isclose(measured["visit"][0].values[i], visits / 300)
        assert math.isclose(measured["post left"][0].values[i], 90 - sent)


def test_summaries_compare_with_what_was_logged_and_with_everybody_alike(result):
    """By averages of the rows of each action, which were drawn alike, and of all."""
    found, _ = result
    rows = shop.rows(1500)
    mean = {a: np.mean([int(r[3]) for r in rows if r[2] == a]) for a in ("", "A", "B")}
    alike = ", ".join(f"{mean[a]:.4g} with {name!r}" for a, name in (("", "none"), ("A", "a"), ("B", "b")))
    logged = np.mean([int(r[3]) for r in rows])
    said = f"By the averages of the log, a round brings {logged:.4g} visit as logged; with one action for all, {alike}."
    assert said in found.summary()
    assert said in found.page().sentences


def test_averages_of_a_log_are_weighted_by_its_probabilities(tmp_path):
    rng, rows = np.random.default_rng(6), []
    for age, town, *_ in shop.rows(1200):
        chances = [0.6, 0.2, 0.2] if town == "north" else [0.2, 0.5, 0.3]
        a = int(rng.choice(3, p=chances))
        rows.append([age, town, ["", "A", "B"][a], str(int(rng.random() < 0.2 + 0.5 * (town == "north"))), chances[a]])
    problem = shop.PROBLEM.replace("constant = 0.333333", 'column = "p"')
    found = replay_log(*shop.write(tmp_path, rows, problem), replicas=1, bootstrap=0, progress=False)
    for text, name in (("", "none"), ("A", "a"), ("B", "b")):
        w, y = np.array([(1.0 / r[4], float(r[3])) for r in rows if r[2] == text]).T
        assert f"{(w * y).sum() / w.sum():.4g} with {name!r}" in found.averages


def test_digests(result):
    found, _ = result
    m, d = found.measured["uniform"]["visit"]
    assert math.isclose(d.mean, m.values[:3].mean())
    assert math.isclose(d.spread, m.values[:3].std(ddof=1))
    assert math.isclose(d.se_log, d.spread / math.sqrt(3))
    resampled = m.values[3:].reshape(4, 3)
    within = (resampled.var(1, ddof=1).sum() * 2 + m.values[:3].var(ddof=1) * 2) / (4 * 2 + 2)
    people = max(resampled.mean(1).var(ddof=1) - within / 3, 0.0)
    assert math.isclose(d.se, math.sqrt(people + within / 3))
    assert d.worst == m.values.min()
    assert found.measured["uniform"]["post used"][1].worst == found.measured["uniform"]["post used"][0].values.max()


def test_results_follow_the_schema(result):
    found, out = result
    written = json.loads((out / "results.json").read_text())
    assert written == json.loads(json.dumps(found.to_dict()))
    assert set(written) == {"experiment", "version", "se", "settings", "notes", "checks", "rows"}
    assert written["experiment"] == "replay"
    assert written["settings"]["seed"] == 3
    for row in written["rows"]:
        assert list(row) == ["system", "at", "metric", "mean", "se", "worst", "published"]
        assert row["at"] == {}
        assert row["published"] is None
        assert math.isfinite(row["mean"])
    assert {r["system"] for r in written["rows"]} == set(SYSTEMS)
    metrics = {r["metric"] for r in written["rows"]}
    assert {"visit: spread over shuffles", "visit: se over shuffles of this log"} <= metrics
    assert written["se"] == "of the mean over the shuffles, for the population behind the log"


def test_frames_and_faces(result):
    found, _ = result
    frame = found.to_frame()
    assert len(frame) == sum(map(len, found.measured.values()))
    row = frame[(frame.system == "pgd, budget alone") & (frame.measure == "visit minus uniform")].iloc[0]
    d = found.measured["pgd, budget alone"]["visit minus uniform"][1]
    assert (row["mean"], row.se, row.se_log) == (d.mean, d.se, d.se_log)
    assert np.isnan(row.limit)
    assert "<th>over uniform</th>" in found._repr_html_()
    assert len(repr(found).split("\n")) <= 12


def test_the_report_says_what_its_numbers_mean(result):
    text = result[0].text(errors=True)
    for words in (
        "log.csv: 1,500 rows",
        "horizon 300",
        "post: budget 90",
        "± se",
        "se      standard error of this mean for the population behind the log",
        "4 bootstrap resamples of the rows, each replayed in 3 orders",
        "se log  standard error of this mean for this one log",
        "blind lottery",
    ):
        assert words in text
    assert "left out" not in text
    assert max(len(line) for line in text.splitlines()) <= 120


def test_tables_have_intervals_unless_all_errors_are_asked_for(result, tmp_path, capsys):
    found, _ = result
    d = found.measured["uniform"]["visit"][1]
    low, high = (d.mean + sign * t.ppf(0.975, 3) * d.se for sign in (-1, 1))
    said = str(found)
    assert f"{d.mean:.4f}  {low:.4f} to {high:.4f}" in said
    for words in ("se log", "spread", "worst   of all runs"):
        assert words not in said
        assert words in found.text(errors=True)
    after = said[said.index("cases read") :].split("\n\n")
    assert after[1].startswith("95 %: for the population behind the log, by 4 resamples of its rows; ")
    assert "\n" not in after[1]
    assert "post: budget 90" in said
    log, toml = shop.write(tmp_path, shop.rows(600))
    command = ["replay", str(log), "--problem", str(toml), "--replicas", "2", "--bootstrap", "0"]
    assert main([*command, "--errors"]) == 0
    assert "se log" in capsys.readouterr().out
    assert main(command) == 0
    assert "No errors are known" in capsys.readouterr().out
    assert main([*command, "--errors", "--rates", "0.1,0.2"]) == 2
    assert "errors: expected one policy" in capsys.readouterr().err


def test_what_was_not_served_is_said_at_the_top(tmp_path):
    """Learned costs that any action may have end runs when the budget does."""
    lines = [[*line[:4], "0.333333", "1"] for line in shop.rows(1500)]
    problem = FLOORS[: FLOORS.index("[[floor]]")] + '[policy]\nname = "ucb"\n'
    paid = problem.replace("known = { a = 1, b = 1 }", 'column = "paid"\nrange = [0, 1]')
    found = replay_log(*shop.write(tmp_path, lines, paid, [*shop.HEADER, "paid"]), replicas=2, bootstrap=0)
    assert found.checks["ends"] == (
        "every action may use post, so that a run ends when the budget of 90 is spent: "
        "outcomes.post.free names actions that use none"
    )
    blind = next(run for run in found.runs if run.name == "uniform")
    part = found.measured["uniform"]["rounds served"][1].mean
    assert part == pytest.approx((blind.rounds / 300).mean()) == pytest.approx(0.3)
    assert found.parts_served["uniform"] == part
    alone = replace(found, runs=(blind,))
    assert alone.headline().endswith("visit per round; it served 30.0% of the rounds")
    assert "uniform served 30.0% of the rounds, until nothing fitted; the others count 0." in found.summary()
    assert alone.headline() in str(alone)
    assert "Rounds served: rounds served" in found.page().html()
    free = replay_log(*shop.write(tmp_path, lines, problem, [*shop.HEADER, "paid"]), replicas=2, bootstrap=0)
    assert free.checks["ends"] is None
    assert free.parts_served == {}
    assert "it served" not in free.headline()
    every = problem.replace("known = { a = 1, b = 1 }", "known = { none = 0.1, a = 1, b = 1 }")
    found = replay_log(*shop.write(tmp_path, lines, every, [*shop.HEADER, "paid"]), replicas=2, bootstrap=0)
    assert found.checks["ends"].startswith("every action uses post, so that a run ends when the budget of 90")


def test_the_same_seed_gives_the_same_numbers(tmp_path, result):
    log, toml = shop.write(tmp_path, shop.rows(1500))
    assert replay_log(log, toml, seed=3, **QUICK).to_dict() == result[0].to_dict()
    assert replay_log(log, toml, seed=4, **QUICK).to_dict()["rows"] != result[0].to_dict()["rows"]


def test_a_shuffle_does_not_depend_on_how_many_there_are(tmp_path, result):
    log, toml = shop.write(tmp_path, shop.rows(1500))
    fewer = replay_log(log, toml, seed=3, replicas=2, bootstrap=0, progress=False)
    for a, b in zip(fewer.runs, result[0].runs, strict=True):
        assert (a.trace.totals[-1] == b.trace.totals[-1, :2]).all()
    assert {row["se"] for row in fewer.to_dict()["rows"]} == {None}
    text = fewer.text(errors=True)
    assert "per system 2 shuffles, seed 3" in text
    assert "bootstrap" not in text
    assert "resampled" not in text
    assert "±" not in text
    assert not re.search(r"^se  |  se  ", text, re.MULTILINE)
    assert "se log" in text
    assert "note: numbers standardised by the log: age 20" in text


def test_a_floor_of_everybody_is_compared_with_its_limit(tmp_path):
    for rate, said in (
        ("0.1", r"kept\."),
        ("0.9", r"missed, by more than chance explains \(3 standard errors, of at most 0\.0\d+ each\)\."),
    ):
        log, toml = shop.write(tmp_path, shop.rows(900), FLOORS.replace("RATE", rate))
        text = str(replay_log(log, toml, replicas=2, bootstrap=0, progress=False))
        line = rf"visit per round, at least, is 0\.\d+ on average; limit {re.escape(rate)},\n{said}"
        assert re.search(line, text)


def test_a_floor_that_is_missed_is_never_called_kept(tmp_path):
    """Nobody visits; chance by the variance of outcomes in [0, 1] whose mean is the limit."""
    rows = [[age, town, letter, "0", p] for age, town, letter, _, p in shop.rows(900)]
    shown = {}
    for rate in (0.001, 0.02, 0.3):
        log, toml = shop.write(tmp_path, rows, FLOORS.replace("RATE", str(rate)))
        result = replay_log(log, toml, replicas=2, bootstrap=0, progress=False)
        text, rounds = str(result), result.runs[0].rounds.mean()  # of one run, as all runs read one log
        (found,) = re.findall(r"visit per round, at least, is 0\.0000 on average; limit [\d.]+,\n(.*)\n", text + "\n")
        shown[rate] = found
    error = math.sqrt(0.02 * 0.98 / rounds)
    assert shown[0.02] == f"missed, by no more than chance explains (3 standard errors, of at most {error:.4f} each)."
    assert shown[0.001].startswith("missed, by no more than chance explains")
    assert shown[0.3].startswith("missed, by more than chance explains")


def test_a_floor_on_what_is_multiplied_by_a_price_claims_nothing_of_chance(tmp_path):
    lines = [[*row, str(3 + i % 2)] for i, row in enumerate(shop.rows(900))]
    problem = FLOORS.replace("RATE", "2.5").replace("range = [0, 1]", 'range = [0, 1]\ntimes = "price"')
    problem = problem.replace(
        "[outcomes.post]", '[outcomes.price]\ncolumn = "price"\nknown = { a = 4, b = 4, none = 4 }\n\n[outcomes.post]'
    )
    files = shop.write(tmp_path, lines, problem, [*shop.HEADER, "price"])
    text = str(replay_log(*files, replicas=2, bootstrap=0, progress=False))
    assert re.search(r"visit per round, at least, is [01]\.\d+ on average; limit 2\.5,\nmissed\.\n", text + "\n")


@pytest.mark.parametrize("name", ["pgd_adaptive", "uniform"])
def test_policies_by_name(tmp_path, name):
    log, toml = shop.write(tmp_path, shop.rows(1500))
    found = replay_log(log, toml, policy=name, **QUICK)
    assert found.runs[0].name.startswith(name)
    assert len(found.runs) == (1 if name == "uniform" else 4)
    assert str(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resolving", "lin_cbwk", "primal_lp", "fw_dual"])
def test_any_recipe_is_compared_with_less_and_none_of_the_constraints(tmp_path, name):
    text = shop.PROBLEM[: shop.PROBLEM.index("[policy]")] + f'[policy]\nname = "{name}"\nmodel = "ridge"\nwidth = 0.3\n'
    log, toml = shop.write(tmp_path, shop.rows(1500), text)
    found = replay_log(log, toml, out=tmp_path / "out", **QUICK)
    assert [r.name for r in found.runs] == [
        f"{name}, budget and parity", f"{name}, budget alone", "no constraints", "uniform"
    ]  # fmt: skip
    for run in found.runs:
        assert (found.measured[run.name]["post used"][0].values <= 90).all() == (run.name != "no constraints")
    mean = {r.name: found.measured[r.name]["visit"][1].mean for r in found.runs}
    assert mean["no constraints"] > mean["uniform"]
    assert found.to_dict()["settings"]["policy"] == {"name": name, "model": {"name": "ridge", "width": 0.3}}


def test_a_concave_objective_with_constraints(tmp_path):
    """Visits and calls are to keep up with each other; whoever only gets visits does worse by that measure."""
    gini = '{ kind = "generalized_gini", outcomes = ["visit", "call"], weights = [1, 0.25] }'
    text = shop.PROBLEM.replace('maximize = "visit"', f"maximize = {gini}")
    text = text.replace("[outcomes.post]", "[outcomes.call]\nrange = [0, 1]\n\n[outcomes.post]")
    text = text[: text.index("[policy]")] + '[policy]\nname = "fw_dual"\nmodel = "ridge"\nwidth = 0.3\n'
    rng = np.random.default_rng(5)
    lines = [[*line, str(int(rng.random() < 0.1 + 0.5 * (line[2] == "A")))] for line in shop.rows(1500)]
    log, toml = shop.write(tmp_path, lines, text, [*shop.HEADER, "call"])
    found = replay_log(log, toml, out=tmp_path / "out", **QUICK)
    first = found.measured["fw_dual, budget and parity"]
    visits, calls = (first[f"{name} per round"][0].values for name in ("visit", "call"))
    low, high = np.minimum(visits, calls), np.maximum(visits, calls)
    np.testing.assert_allclose(first["objective"][0].values, low + 0.25 * high)
    assert (first["post used"][0].values <= 90).all()
    assert first["objective"][1].mean > found.measured["uniform"]["objective"][1].mean
    assert "objective per round" in str(found)


def test_a_recipe_that_needs_constraints_gives_way_where_there_are_none(tmp_path):
    gini = '{ kind = "generalized_gini", outcomes = ["visit", "call"] }'
    text = without(shop.PROBLEM, "[[budget]]", "[[parity]]").replace('maximize = "visit"', f"maximize = {gini}")
    text = text.replace("[outcomes.post]", '[outcomes.call]\ncolumn = "visit"\n\n[outcomes.post]')
    log, toml = shop.write(tmp_path, shop.rows(900), text)
    assert [r.name for r in replay_log(log, toml, **QUICK).runs] == ["no constraints", "uniform"]


@pytest.mark.slow
def test_another_recipe_on_the_command_line_says_what_it_leaves_out(tmp_path):
    log, toml = shop.write(tmp_path, shop.rows(1500))
    found = replay_log(log, toml, policy="resolving", **QUICK)
    assert [r.name for r in found.runs][:2] == ["resolving, budget and parity", "resolving, budget alone"]
    assert "is not an argument of resolving and was left out" in str(found)


def test_a_model_of_another_size_than_the_log_is_refused(tmp_path):
    text = shop.PROBLEM[: shop.PROBLEM.index("[policy]")] + '[policy.model]\nname = "tabular"\nconfidence = 0.5\n'
    log, toml = shop.write(tmp_path, shop.rows(300), text)
    with pytest.raises(InvalidInput, match=r"policy.model: expected one of 9 features, .* got tabular of 3"):
        replay_log(log, toml, **QUICK)


def without(text, *starts):
    """The problem file without some of its tables."""
    tables = text.split("\n\n")
    return "\n\n".join(t for t in tables if not t.strip().startswith(starts))


@pytest.mark.parametrize(
    ("dropped", "first"),
    [
        (("[[parity]]",), "pgd, budget"),
        (("[[budget]]",), "pgd, parity"),
        (("[[budget]]", "[[parity]]"), "no constraints"),
    ],
)
def test_problems_with_fewer_constraints(tmp_path, dropped, first):
    log, toml = shop.write(tmp_path, shop.rows(1500), without(shop.PROBLEM, *dropped))
    found = replay_log(log, toml, out=tmp_path / "out", **QUICK)
    assert found.runs[0].name == first
    assert found.runs[-1].name == "uniform"
    assert str(found)


def test_several_outcomes_and_a_learned_budget(tmp_path):
    text = shop.PROBLEM.replace('maximize = "visit"', "maximize = { visit = 1, post = -0.1 }")
    text = text.replace("[outcomes.post]", '[outcomes.call]\ncolumn = "p"\nrange = [0, 0.5]\n\n[outcomes.post]')
    text = text.replace("[[parity]]", '[[budget]]\noutcome = "call"\ntotal = 40\n\n[[parity]]')
    log, toml = shop.write(tmp_path, shop.rows(1500), text)
    found = replay_log(log, toml, **QUICK)
    measured = found.measured["pgd, budget and parity"]
    visits, post = measured["visit per round"][0].values, measured["post per round"][0].values
    np.testing.assert_allclose(measured["(visit - 0.1 post)"][0].values, visits - 0.1 * post)
    assert (measured["call used"][0].values <= 40).all()
    # every action may cost a call: when none is left, nothing fits
    assert "of 15 runs, 15 stopped because nothing fitted any more (after round" in str(found)
    assert (measured["rounds"][0].values < 300).all()
    np.testing.assert_allclose(measured["call per round"][0].values, measured["call used"][0].values / 300)
    np.testing.assert_allclose(measured["rounds served"][0].values, measured["rounds"][0].values / 300)


def test_a_log_that_ends_first_is_reported(tmp_path):
    log, toml = shop.write(tmp_path, shop.rows(400))
    found = replay_log(log, toml, **QUICK)
    assert (found.runs[0].rounds < 300).all()
    assert (found.runs[0].trace.offered_steps == 400).all()
    assert "of 15 runs, 15 reached the end of the log before the horizon of 300 (after rounds 1" in str(found)
    assert "; on average, post left" in str(found)


def test_bad_rows_are_reported(tmp_path):
    lines = shop.rows(1500)
    lines[10][0] = "maybe"
    log, toml = shop.write(tmp_path, lines)
    found = replay_log(log, toml, **QUICK)
    assert "left out of 1,500 rows:\n  1 row: 'age' is not a finite number (first in line 12" in str(found)
    assert found.to_dict()["settings"]["left_out"] == list(found.left_out)


def test_what_a_log_cannot_carry_is_said_first(tmp_path):
    lines = [[*line[:4], "1" if i % 3 == 0 else "0.25"] for i, line in enumerate(shop.rows(600))]
    problem = shop.PROBLEM.replace("constant = 0.333333", 'column = "p"')
    found = replay_log(*shop.write(tmp_path, lines, problem), **QUICK)
    assert found.checks["overlap"].startswith(
        "in 200 of 600 rows the logged action was certain, so no other one can be judged"
    )
    assert found.checks["horizon"].startswith("this log lasts for some 150 rounds of 300: its rows times 0.25")
    assert str(found).split("\n")[2].startswith("check: in 200 of 600 rows")
    assert found.to_dict()["checks"] == dict(found.checks)
    several = replay_several(
        *shop.write(tmp_path, lines, problem), policies=["pgd"], runs=Runs(replicas=1, bootstrap=0)
    )
    assert several.checks == found.checks
    plain = replay_log(*shop.write(tmp_path, shop.rows(1500)), **QUICK)
    assert plain.checks["overlap"] is plain.checks["horizon"] is None


def test_an_interrupt_keeps_what_is_done(tmp_path, monkeypatch):
    log, toml = shop.write(tmp_path, shop.rows(1500))

    def interrupted(policy, environment, **options):
        trace = simulate(policy, environment, **options)
        return replace(trace, finished=False) if policy.name == "no constraints" else trace

    monkeypatch.setattr(running, "simulate", interrupted)
    found = replay_log(log, toml, out=tmp_path / "out", **QUICK)
    assert [r.name for r in found.runs] == SYSTEMS[:2]
    assert found.interrupted
    assert str(found).startswith("INTERRUPTED: nothing is known about no constraints; uniform\n")
    assert json.loads((tmp_path / "out" / "results.json").read_text())["settings"]["interrupted"] is True


def test_an_interrupt_at_once(tmp_path, monkeypatch):
    log, toml = shop.write(tmp_path, shop.rows(300))
    monkeypatch.setattr(running, "simulate", lambda p, e, **o: replace(simulate(p, e, **o), finished=False))
    found = replay_log(log, toml, out=tmp_path / "out", **QUICK)
    assert found.runs == ()
    assert str(found).startswith("INTERRUPTED")


@pytest.mark.parametrize(
    ("field", "value"), [("replicas", 0), ("bootstrap", 1), ("bootstrap", -1), ("policy", "best"), ("seed", -1)]
)
def test_bad_arguments(tmp_path, field, value):
    log, toml = shop.write(tmp_path, shop.rows(300))
    with pytest.raises(InvalidInput) as caught:
        replay_log(log, toml, **(QUICK | {field: value}))
    assert caught.value.field == field


def test_bills_of_a_log_are_planned_at_their_means_and_counted_as_logged(tmp_path):
    """Every letter of kind "b" costs 0.5 or 1.5 in the log, and every "a" 0.25 or 0.75."""
    lines = [
        [*row, str({"": 0.0, "A": 0.5, "B": 1.0}[row[2]] * (0.5 + i % 2))] for i, row in enumerate(shop.rows(1500))
    ]
    bill = 'column = "bill"\nrange = [0, 2]\nmean = { a = 0.5, b = 1.0 }'
    text = shop.PROBLEM.replace("known = { a = 1, b = 1 }", bill)
    log, toml = shop.write(tmp_path, lines, text, [*shop.HEADER, "bill"])
    found = replay_log(log, toml, seed=3, **QUICK)
    assert found.problem.noisy == ("post",)
    for run in found.runs[:2]:
        used = run.trace.total("post")
        assert (used <= 90).all()
        assert (used > 80).all()
        assert (used % 0.25 == 0).all()


def test_a_mean_outside_of_its_range_names_the_key(tmp_path):
    text = shop.PROBLEM.replace("known = { a = 1, b = 1 }", 'column = "visit"\nmean = { a = 1.5, b = 1 }')
    log, toml = shop.write(tmp_path, shop.rows(30), text)
    with pytest.raises(InvalidInput, match=r"post.*mean.*a mean in \[0, 1\]"):
        replay_log(log, toml, **QUICK)


def test_a_replay_says_when_budgets_and_logs_ended(tmp_path):
    """A budget of 10 letters and a fee for everybody: nothing fits any more; a short log ends before the horizon."""
    log, toml = shop.write(tmp_path, shop.rows(300))
    found = replay_log(log, toml, **QUICK)
    said = str(found)
    for run in found.runs:
        ends = run.rounds[(run.rounds < found.problem.horizon) & np.isnan(run.trace.stopped)]
        first, last = int(ends.min()), int(ends.max())
        when = f"round {first}" if first == last else f"rounds {first} to {last}"
        assert (
            f"{run.name}: of 15 runs, {len(ends)} reached the end of the log before the horizon of 300 (after {when})"
            in said
        )
        masked = run.trace.restricted_after[np.isfinite(run.trace.restricted_after)]
        ended = f"{run.name}: of 15 runs, {len(masked)} ended with actions masked that no longer fitted"
        assert (ended in said) == bool(len(masked))
    assert "ended with actions masked" in str(replay_log(*shop.write(tmp_path, shop.rows(1500)), **QUICK))


def test_a_ratio_below_its_limit_is_not_missed_while_its_credit_holds(tmp_path):
    usual = "[outcomes.usual]\nknown = { none = 0.9, a = 0.9, b = 0.9 }\n\n"
    limit = '[[never_worse]]\noutcome = "visit"\nthan = "usual"\nalpha = 0.1\nslack = 500\n\n'
    text = shop.PROBLEM[: shop.PROBLEM.index("[[budget]]")] + usual + limit + '[policy]\nname = "resolving"\n'
    found = replay_log(*shop.write(tmp_path, shop.rows(300), text), replicas=2, bootstrap=0, progress=False)
    said = " ".join(found._promises())
    assert "visit / usual" in said
    assert "kept, with a credit of" in said
    assert "missed" not in said
    trace = found.runs[0].trace
    broken = replace(found.runs[0], trace=replace(trace, credits=trace.credits - 1000.0))
    assert "missed: the credit is overdrawn by" in " ".join(replace(found, runs=(broken,))._promises())


def test_a_problem_may_be_a_mapping(tmp_path, result):
    """As `tomllib` reads a file; its name is all that differs."""
    log, toml = shop.write(tmp_path, shop.rows(600))
    stated, few = tomllib.loads(shop.PROBLEM), {"replicas": 1, "bootstrap": 0, "progress": False}
    mine, theirs = replay_log(log, stated, **few), replay_log(log, toml, **few)
    assert mine.problem_file == "the problem"
    assert mine.to_dict()["rows"] == theirs.to_dict()["rows"]
    assert value(log, stated).policies == value(log, toml).policies
    assert len(read_log(log, stated)) == 600
    several = replay_several(log, stated, policies=["pgd"], runs=Runs(replicas=1, bootstrap=0))
    assert several.problem_file == "the problem"
    with pytest.raises(InvalidInput, match=r"^budget\[0\]\.rat: expected"):
        replay_log(log, stated | {"budget": [{"outcome": "post", "rat": 0.3}]}, **few)
    with pytest.raises(InvalidInput, match="problem_path: expected a text or a path or a mapping"):
        replay_log(log, 3, **few)
