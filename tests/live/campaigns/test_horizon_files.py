"""What follows the horizon of a campaign of a problem file, as the file states it, `serve`, or `change`."""

from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.commands import policies
from evenhand.live.http import app
from evenhand.live.http.start import OpenOptions, _open_with_notes
from evenhand.live.log.events import read
from evenhand.live.log.life import Life
from evenhand.live.stores.memory import MemoryStore
from tests.live.campaigns.test_files import STATED
from tests.live.http_campaign import serving
from tests.live.worker.test_life import ANNA
from tests.replay.shop import write

HARD = STATED.replace("[[budget]]", "[[budget]]\nhard = true")
SPENDS = STATED.replace("[[budget]]", "[[budget]]\nhard = false")
NEW = OpenOptions(log_path=None, learn=False, switch=False)


def goes_on(text):
    return text.replace("horizon", 'after = "go on"\nhorizon')


def test_a_problem_file_says_what_follows_the_horizon_of_a_new_campaign(tmp_path, capsys):
    store, (_, file) = MemoryStore(), write(tmp_path, [], goes_on(HARD))
    campaign = eh.live.open_campaign(store, "post", file)
    assert campaign.life == Life(patience=86_400.0, on_expiry="hold", after="go on", since=campaign.life.since)
    assert read(next(campaign.events()))["after"] == "go on"
    for i in range(302):
        campaign.decide({"age": 33, "town": "north"}, key=f"{i}")
    assert read(list(campaign.events())[-1])["late"] == 1
    campaign.change(after="stop", **ANNA)
    assert _open_with_notes(file, store, "post", NEW, None).life.after == "stop"
    told = "note: after = 'go on' of problem.toml is not used: the campaign has 'stop', which `evenhand change --after`"
    assert told in capsys.readouterr().err
    each = policies(store, "post")
    assert eh.live.audit(store, "post", [z.policy for z in each], encoders=[z.coded for z in each]).clean


def test_serve_says_it_before_the_problem_file(tmp_path, capsys):
    store, (_, file) = MemoryStore(), write(tmp_path, [], goes_on(HARD))
    assert _open_with_notes(file, store, "post", replace(NEW, after="stop"), None).life.after == "stop"
    assert "note" not in capsys.readouterr().err
    assert _open_with_notes(file, store, "post", replace(NEW, after="nothing"), None).life.after == "stop"
    assert "note: --after nothing is not used: the campaign has stop" in capsys.readouterr().err
    write(tmp_path, [], HARD)
    assert _open_with_notes(file, store, "other", NEW, None).life.after == "nothing"
    assert _open_with_notes(file, store, "third", replace(NEW, after="go on"), None).life.after == "go on"
    assert "after" not in capsys.readouterr().err


@pytest.mark.parametrize("after", ['"go one"', "5"])
def test_a_problem_file_with_another_word_is_refused(tmp_path, after):
    _, file = write(tmp_path, [], HARD.replace("horizon", f"after = {after}\nhorizon"))
    with pytest.raises(
        InvalidInput, match=r"problem.toml, line 3: after: expected (one of nothing, stop, go on|a text)"
    ):
        eh.live.open_campaign(MemoryStore(), "post", file)


def test_nothing_is_begun_that_would_go_on_with_a_soft_budget(tmp_path):
    store, (_, file) = MemoryStore(), write(tmp_path, [], goes_on(SPENDS))
    with pytest.raises(
        InvalidInput, match=r"after: expected only budgets that are kept hard.*no hard limit keeps post"
    ):
        eh.live.open_campaign(store, "post", file)
    assert list(store.campaigns()) == []


def test_the_command_refuses_it_of_a_problem_file(tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/log.db"
    _, file = write(tmp_path, [], SPENDS)
    eh.live.open_campaign(url, "soft", file).close()
    command = ["change", url, "soft", "--after", "go on", "--by", "anna", "--why", "letters are left"]
    assert main(command) != 0
    assert "after: expected only budgets that are kept hard" in capsys.readouterr().err
    write(tmp_path, [], HARD)
    eh.live.open_campaign(url, "hard", file).close()
    command[2] = "hard"
    assert main(command) == 0
    assert capsys.readouterr().out.endswith("after the horizon go on\n")
    with eh.live.open_campaign(url, "hard", file) as campaign:
        assert campaign.life.after == "go on"


def test_a_switch_says_that_it_does_not_take_what_follows_the_horizon(tmp_path, capsys):
    """Where the file has another budget, where it differs in this alone, and where it states nothing or the same."""
    url, (_, file) = f"sqlite:///{tmp_path}/post.db", write(tmp_path, [], goes_on(HARD))
    eh.live.open_campaign(url, "post", file).close()
    less = HARD.replace("rate = 0.3", "rate = 0.2")
    note = (
        "note: after = 'stop' of problem.toml is not used: the campaign has 'go on', "
        "which `evenhand change --after` changes\n"
    )
    for text, said, told in (
        (less.replace("horizon", 'after = "stop"\nhorizon'), "adopted the state", note),
        (less.replace("horizon", 'after = "stop"\nhorizon'), "nothing to do", note),
        (HARD.replace("horizon", 'after = "stop"\nhorizon'), "adopted the state", note),
        (less, "adopted the state", ""),
        (goes_on(HARD), "adopted the state", ""),
    ):
        write(tmp_path, [], text)
        assert main(["switch", url, str(file), "--by", "Ada", "--why", "a test"]) == 0
        found = capsys.readouterr()
        assert said in found.out
        assert found.err == told
    with eh.live.open_campaign(url, "post", file) as campaign:
        assert campaign.life.after == "go on"


def test_a_switch_over_http_says_it_as_well(tmp_path):
    (_, file), who = write(tmp_path, [], HARD), {"by": "Ada", "why": "a test"}
    campaign = eh.live.open_campaign(MemoryStore(), "post", file)
    with serving(app(campaign, token="a long enough secret")) as client:
        client.headers["Authorization"] = "Bearer a long enough secret"
        said = client.post("/switch", json={"problem": goes_on(HARD), **who}).json()
        assert said["note"].startswith("after = 'go on' of problem.toml is not used: the campaign has 'nothing', which")
        assert (
            client.post("/switch", json={"problem": HARD.replace("rate = 0.3", "rate = 0.2"), **who}).json()["note"]
            is None
        )
    assert campaign.life.after == "nothing"
