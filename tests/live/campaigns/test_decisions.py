"""The decisions of a campaign, read as a log: the same rows as its export, and said where it has none."""

import csv
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Unknown, decisions, open_campaign
from evenhand.logs.log import read_log
from tests.replay.shop import HEADER, PROBLEM, rows, write

UNIFORM = PROBLEM.replace("[policy]\nstep = 0.01\nwarmup = 20", '[policy]\nname = "uniform"')
COLUMNS = (
    UNIFORM.replace('values = { "" = "none", "A" = "a", "B" = "b" }', "values = { none = 'none', a = 'a', b = 'b' }")
    .replace('column = "letter"', 'column = "action"')
    .replace("constant = 0.333333", 'column = "probability"')
    .replace("[outcomes.visit]", '[outcomes.visit]\ncolumn = "outcome visit"')
)


def played(folder, problem_text=UNIFORM, count=240, name="post", **stated):
    """A campaign that draws letters by chance; every tenth waits, every tenth is cancelled."""
    log, problem = write(folder, rows(400), problem_text)
    url, rng = f"sqlite:///{folder}/{name}.db", np.random.default_rng(2)
    with open_campaign(url, name, problem, log_path=log, learn=False, seed=1) as campaign:
        for i in range(count):
            age, town = float(rng.uniform(20, 80)), ("north", "south")[i % 2]
            reply = campaign.decide({"age": age, "town": town}, key=f"{i}")
            if i % 10 == 1 and reply.action is not None:
                campaign.cancel(reply.id)
            elif i % 10 and reply.action is not None:
                campaign.observe(reply.id, {"visit": int(rng.random() < 0.2 + 0.5 * (reply.action == "b"))})
    return url, problem


def test_rows_are_those_of_the_export(tmp_path):
    url, problem = played(tmp_path)
    out = tmp_path / "decided.csv"
    assert main(["export", url, "--out", str(out), "--observed", "--verbatim"]) == 0
    other = tmp_path / "columns.toml"
    other.write_text(COLUMNS)
    for source in (url, tmp_path / "post.db"):
        mine, theirs = read_log(decisions(source), problem), read_log(out, other)
        assert mine.name == "post"
        for field in ("units", "actions", "propensities", "outcomes"):
            assert np.array_equal(getattr(mine.encoded, field), getattr(theirs.encoded, field)), field
        assert all(map(np.array_equal, mine.encoded.groups, theirs.encoded.groups))
    with out.open(newline="") as file:
        assert len(mine) == len(list(csv.DictReader(file))) > 100


def test_values_and_curves_take_a_campaign_of_their_own(tmp_path):
    url, problem = played(tmp_path)
    log = decisions(url)
    found = eh.value(log, problem, rules=["b where age < 50; else none"])
    y = np.array([each["visit"] for each in log.outcomes])
    assert found.policies[0].value.value == pytest.approx(y.mean())
    assert found.policies[-1].doubt.cases > 20
    assert any(note.startswith("the campaign learned while it decided") for note in found.notes)
    assert any(note.startswith("left out: 24 decisions that were waiting") for note in found.notes)
    assert any(note.startswith("left out: 24 decisions that were cancelled") for note in found.notes)


@pytest.mark.parametrize("command", ["value", "curve"])
def test_commands_take_a_campaign_of_their_own(tmp_path, capsys, command):
    url, problem = played(tmp_path)
    assert main([command, url, "--problem", str(problem)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"post: {len(decisions(url).plays)} rows; visit per case")
    assert main([command, str(tmp_path / "post.db"), "--problem", str(problem), "--campaign", "post"]) == 0
    assert capsys.readouterr().out == said
    assert main([command, url, "--problem", str(problem), "--campaign", "other"]) == 2
    assert "other" in capsys.readouterr().err
    assert main([command, str(tmp_path / "log.csv"), "--problem", str(problem), "--campaign", "post"]) == 2
    assert "campaign: expected none where no store is named, got post" in capsys.readouterr().err


def test_a_replay_reads_a_store(tmp_path, capsys):
    url, problem = played(tmp_path)
    asked = ["--problem", str(problem), "--replicas", "2", "--bootstrap", "0", "--policy", "uniform,pgd"]
    problem.write_text(UNIFORM.replace("horizon = 300", "horizon = 40"))
    before = (tmp_path / "post.db").read_bytes()
    assert main(["replay", url, *asked]) == 0
    first = capsys.readouterr().out
    assert main(["replay", str(tmp_path / "post.db"), *asked, "--campaign", "post"]) == 0
    assert capsys.readouterr().out == first
    assert first.startswith("post: ")
    assert "left out: 24 decisions that were waiting" in first
    assert (tmp_path / "post.db").read_bytes() == before
    assert main(["replay", str(tmp_path / "log.csv"), *asked, "--campaign", "post"]) == 2
    assert "campaign: expected none where no store is named, got post" in capsys.readouterr().err


def test_costs_and_missing_numbers_of_cases_are_read(tmp_path):
    text = UNIFORM.replace('numeric = ["age"]', 'numeric = ["age"]\nmissing = { age = "indicator" }')
    text = text.replace("known = { a = 1, b = 1 }", 'known = { a = 1, b = 1 }\ncolumn = { a = "porto" }')
    log, problem = write(tmp_path, [[*row, "2"] for row in rows(400)], text, [*HEADER, "porto"])
    url = f"sqlite:///{tmp_path}/post.db"
    ages = [None, 30.5, 40, 50.25]
    with open_campaign(url, "post", problem, log_path=log, learn=False) as campaign:
        for i in range(200):
            case = {"age": ages[i % 4], "town": ("north", "south")[i % 2], "porto": 1 + i % 3}
            reply = campaign.decide(case, key=f"{i}")
            if reply.action is not None:
                campaign.observe(reply.id, {"visit": i % 5 == 0})
    found = decisions(url)
    read = read_log(found, problem)
    kept = np.array([np.nan if case["age"] is None else case["age"] for case in found.cases])
    assert np.array_equal(read.columns()["age"], kept, equal_nan=True)
    assert read.encoded.known[:, 1, 0].tolist() == [case["porto"] for case in found.cases]
    assert read.encoded.outcomes[:, 0].tolist() == [each["visit"] for each in found.outcomes]


def test_outcomes_that_a_file_has_as_texts_are_the_numbers_of_the_campaign(tmp_path):
    url, problem = played(tmp_path, count=60)
    text = problem.read_text().replace("[outcomes.visit]", "[outcomes.visit]\nvalues = { yes = 1, no = 0 }")
    problem.write_text(text)
    found = decisions(url)
    read = read_log(found, problem)
    assert read.encoded.outcomes[:, 0].tolist() == [each["visit"] for each in found.outcomes]
    assert len(read) == len(found.plays) > 30


def test_times_are_those_of_decisions_where_a_run_has_dates(tmp_path):
    today = datetime.now(UTC).date()
    dates = f'since = "{today - timedelta(days=9)}"\nuntil = "{today + timedelta(days=90)}"\nhorizon = 300'
    url, problem = played(tmp_path, UNIFORM.replace("horizon = 300", dates), count=60)
    found = decisions(url)
    read = read_log(found, problem)
    wanted = [read.problem.clock.of_micros(at) for _, _, at in found.plays]
    assert read.encoded.time == pytest.approx(wanted, abs=1e-6)
    assert read.encoded.time.min() > 8.0


def asked(folder, problem_text, requests):
    """A campaign of requests that state more than a case; returns its log, of decisions that are all observed."""
    log, problem = write(folder, rows(400), problem_text)
    with open_campaign(f"sqlite:///{folder}/post.db", "post", problem, log_path=log, learn=False, seed=1) as campaign:
        for i, more in enumerate(requests):
            reply = campaign.decide({"age": 40.0, "town": "north"}, key=f"{i}", **more)
            campaign.observe(reply.id, {"visit": i % 2})
    return decisions(f"sqlite:///{folder}/post.db")


def test_decisions_that_could_not_draw_every_action_are_left_out(tmp_path):
    text = UNIFORM.replace("horizon = 300", "horizon = 3000").replace("rate = 0.3", "rate = 0.9")
    each = [{}, {"offered": ["none", "a"]}, {"offered": ["b", "a", "none"]}]
    found = asked(tmp_path, text, each * 40)
    assert len(found.plays) == 80
    assert found.notes[:-1] == ("left out: 40 decisions in which only some actions were offered",)
    assert all(each["visit"] == i // 2 % 2 for i, each in enumerate(found.outcomes))


def test_what_was_withdrawn_need_not_be_offered(tmp_path):
    text = UNIFORM.replace("horizon = 300", "horizon = 3000").replace("rate = 0.3", "rate = 0.9")
    text = text.replace("[features]", 'withdrawn = ["b"]\n[features]')
    found = asked(tmp_path, text, [{"offered": ["none", "a"]}, {"offered": ["a", "none", "b"]}, {"offered": ["a"]}])
    assert len(found.plays) == 2
    assert found.notes[0] == "left out: 1 decision in which only some actions were offered"


def test_decisions_with_known_outcomes_of_their_own_are_left_out(tmp_path):
    text = UNIFORM.replace("horizon = 300", "horizon = 3000").replace("rate = 0.3", "rate = 0.9")
    found = asked(tmp_path, text, [{"known": {"post": {"a": 2.0, "b": 3.0}}}, {}] * 20)
    assert len(found.plays) == 20
    assert found.notes[0] == "left out: 20 decisions that were made with known outcomes of their own"


@pytest.mark.parametrize("own", ["action", "probability", "time"])
def test_no_column_of_a_case_has_a_name_of_the_decisions(tmp_path, own):
    url, problem = played(tmp_path, count=30)
    problem.write_text(UNIFORM.replace('numeric = ["age"]', f'numeric = ["age", "decision: {own}"]'))
    with pytest.raises(InvalidInput, match=f"features.numeric: expected a name .* 'decision: ', got 'decision: {own}'"):
        read_log(decisions(url), problem)


def test_what_is_no_log(tmp_path):
    url, problem = played(tmp_path, count=1)
    with pytest.raises(
        InvalidInput, match="observed decisions of known probability, got left out: 1 decision that was"
    ):
        decisions(url)
    with pytest.raises(Unknown, match="no campaign 'autumn'"):
        decisions(url, "autumn")
    with pytest.raises(InvalidInput, match="store: expected"):
        decisions(tmp_path / "none.db")
    (tmp_path / "more").mkdir()
    url, problem = played(tmp_path / "more", count=60)
    text = UNIFORM.replace('numeric = ["age"]', 'numeric = ["age", "height"]')
    problem.write_text(text)
    with pytest.raises(InvalidInput, match=r"features.numeric: 'height': expected a name in the cases of post, got"):
        read_log(decisions(url), problem)
