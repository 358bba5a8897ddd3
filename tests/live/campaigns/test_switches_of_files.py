"""Campaigns of problem files are switched without a restart: every worker takes the next file from the log."""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.live.campaigns.commands import policies
from evenhand.live.campaigns.history import History
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.fold.limits import exhausted_budgets
from evenhand.live.http import app
from evenhand.live.stores.memory import MemoryStore
from tests.live.campaigns.test_files import INTERACTIONS, STATED
from tests.live.fold.test_switch import OLD
from tests.live.http_campaign import serving
from tests.live.schedules import same_fold

SAID = ("--by", "Ada", "--why", "so")
SIGNED = {"by": "Ada", "why": "so"}


def switched(campaign):
    return [json.loads(e.body) for e in campaign.events() if e.kind == "switched"]


def write(folder, text):
    file = folder / "problem.toml"
    file.write_text(text)
    return file


def lived(campaign, count, first=0):
    for i in range(first, first + count):
        said = campaign.decide({"age": 25 + i % 40, "town": "south" if i % 3 else "north"}, key=f"{i}")
        campaign.observe(said.id, {"visit": i % 2})


def test_workers_of_a_problem_file_go_on_with_the_next_one(tmp_path):
    store, file = MemoryStore(), write(tmp_path, STATED)
    one, two = (eh.live.open_campaign(store, "post", file) for _ in range(2))
    lived(one, 20)
    two.refresh()
    old, state = two.policy, two._worker.fold.state
    write(tmp_path, STATED.replace("rate = 0.3", "rate = 0.2"))
    eh.live.switch_campaign(store, "post", file, by="Ada", why="half of the post")
    assert [(z["adopts"], z["by"], z["why"]) for z in switched(one)] == [(True, "Ada", "half of the post")]
    two.refresh()
    assert two.status().accounts["post"].total == pytest.approx(60.0)
    new = of_file(Text.of(file)).policy
    assert two.policy.fingerprint() == new.fingerprint()
    assert two.policy.status(two._worker.fold.state) == new.status(new.adopt(state, of=old))
    lived(two, 10, 100)
    lived(one, 10, 200)
    assert two.report() | {"alarms": []} == one.report() | {"alarms": []}
    store._kept.clear()
    again = eh.live.open_campaign(store, "post", file)
    for worker in (one, two):
        worker.refresh()
        same_fold(worker, again)
    each = policies(store, "post")
    assert eh.live.audit(store, "post", [z.policy for z in each], encoders=[z.coded for z in each]).clean


def test_a_file_that_differs_is_refused_by_the_setting(tmp_path):
    store, file = MemoryStore(), write(tmp_path, STATED)
    eh.live.open_campaign(store, "post", file)
    for old, new, told in (
        (
            "rate = 0.3",
            "rate = 0.2",
            r"^'post': budget post: rate 0.3 there, 0.2 here: it never had problem.toml: leave ",
        ),
        ("tolerance = 0.1", "tolerance = 0.05", r"^'post': parity post: tolerance 0.1 there, 0.05 here: "),
        ("step = 0.01", "step = 0.02", r"^'post': goals\.\d\.step.*: 0.01 there, 0.02 here: .*evenhand switch STORE "),
    ):
        write(tmp_path, STATED.replace(old, new))
        with pytest.raises(eh.live.Conflict, match=told):
            eh.live.open_campaign(store, "post", file)


def test_who_switched_and_why_is_in_reports_pages_audits_and_histories(tmp_path):
    store, file = MemoryStore(), write(tmp_path, STATED)
    campaign = eh.live.open_campaign(store, "post", file)
    assert campaign.report()["switches"] == []
    campaign.save_report(tmp_path / "page.html")
    assert "Other policies" not in (tmp_path / "page.html").read_text()
    lived(campaign, 5)
    write(tmp_path, STATED.replace("rate = 0.3", "rate = 0.2"))
    eh.live.switch_campaign(store, "post", file, by="<b>Ada</b>", why="half of the post")
    said = campaign.report()
    (found,) = said["switches"]
    assert (found["by"], found["why"], found["adopts"]) == ("<b>Ada</b>", "half of the post", True)
    assert said["mark"] == campaign.policy.fingerprint()
    assert [z.why for z in History.of(store, "post").switches] == ["half of the post"]
    campaign.save_report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for text in ("Other policies, the newest first", "&lt;b&gt;Ada&lt;/b&gt;", "half of the post", "its state"):
        assert text in page
    each = policies(store, "post")
    told = str(eh.live.audit(store, "post", [z.policy for z in each], encoders=[z.coded for z in each]))
    assert "switched to policy 'pgd, budget and parity' by <b>Ada</b> (half of the post); it adopted the state" in told


def test_the_command_switches_a_campaign_that_servers_go_on_with(tmp_path, capsys):
    file, store = write(tmp_path, STATED), f"sqlite:///{tmp_path}/post.db"
    with eh.live.open_campaign(store, "post", file) as campaign:
        lived(campaign, 10)
        write(tmp_path, STATED.replace("rate = 0.3", "rate = 0.2"))
        assert main(["switch", store, str(file), "--why", "half of the post", "--by", "Ada"]) == 0
        told = capsys.readouterr()
        assert told.out == (
            "event 22: switched to policy 'pgd, budget and parity' by Ada (half of the post); it adopted the state\n"
        )
        assert told.err == ""
        write(tmp_path, STATED.replace("rate = 0.3", "rate = 0.4"))
        with pytest.raises(
            eh.live.Conflict, match=r"0\.4 here, since event 22, switched by Ada \(half of the post\): it never had "
        ):
            eh.live.open_campaign(store, "post", file)
        write(tmp_path, STATED.replace("rate = 0.3", "rate = 0.2"))
        assert main(["switch", store, str(file), *SAID]) == 0
        assert capsys.readouterr() == ("nothing to do: the campaign runs under this problem file\n", "")
        assert campaign.status().accounts["post"].total == pytest.approx(60.0)
        lived(campaign, 10, 100)
    assert main(["audit", store]) == 0
    assert "switched to policy" in capsys.readouterr().out
    assert main(["switch", f"sqlite:///{tmp_path}/none.db", str(file), *SAID]) == 2
    assert not (tmp_path / "none.db").exists()
    assert main(["switch", store, str(file), *SAID, "--campaign", "past"]) == 2
    assert "no campaign 'past'; the store has ['post']" in capsys.readouterr().err


TOKEN = "a long enough secret"


def test_a_problem_file_over_http(tmp_path):
    campaign = eh.live.open_campaign(MemoryStore(), "post", write(tmp_path, STATED))
    lived(campaign, 5)
    less, least = (STATED.replace("rate = 0.3", f"rate = {x}") for x in (0.2, 0.1))
    with serving(app(campaign)) as client:
        said = client.post("/switch", json={"problem": less})
        assert (said.status_code, "token" in said.json()["error"]) == (403, True)
    assert not switched(campaign)
    with serving(app(campaign, token=TOKEN)) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        mark = client.get("/report").json()["mark"]
        said = client.post("/switch", json={"problem": less, "by": "Ada", "why": "less", "expected": mark})
        assert said.status_code == 200
        assert (said.json()["adopts"], said.json()["by"], said.json()["why"]) == (True, "Ada", "less")
        assert said.json()["mark"] == client.get("/report").json()["mark"] != mark
        same = less.replace('"A" = "a"', '"C" = "a"')  # names of a log, which no live campaign reads
        assert less != same
        again = client.post("/switch", json={"problem": same, "by": "Bob", "why": "other names"}).json()
        assert again == {**said.json(), "new": False}
        assert said.json()["new"]
        assert client.get("/readyz").status_code == 200
        late = client.post("/switch", json={"problem": least, "by": "Bob", "why": "least", "expected": mark})
        assert late.status_code == 409
        assert "since event 12, switched by Ada (less), not under" in late.json()["error"]
        for body, field in (
            ({"problem": 3, **SIGNED}, "problem"),
            ({**SIGNED}, "problem"),
            ({"problem": less, "by": "Ada"}, "why"),
            ({"problem": less, "why": "less"}, "by"),
            ({"problem": less, "as": "x", **SIGNED}, "as"),
            ({"problem": least, **SIGNED, "why": ""}, "why"),
            ({"problem": least, **SIGNED, "by": "  "}, "by"),
            ([], "body"),
            ({"problem": "maximize = 3", **SIGNED}, None),
        ):
            said = client.post("/switch", json=body)
            assert said.status_code == 422, body
            assert field is None or said.json()["field"] == field
        other = client.post("/switch", json={"problem": STATED.replace('["age"]', '["age", "height"]'), **SIGNED})
        assert other.status_code in (409, 422)
    assert len(switched(campaign)) == 1


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_after_a_switch_of_the_zone_every_play_counts_on_its_day_there(tmp_path, zone):
    """Also those before it: three letters a day, of which some fell on another date."""
    dated = 'since = 2099-03-01\nuntil = 2099-04-01\nzone = "Europe/Prague"\ntraffic = { cases = 72 }'
    daily = STATED.replace("horizon = 300\n", "").replace("rate = 0.3", 'total = 3\nper = "day"')
    clock, sent = [datetime(2099, 3, 1, tzinfo=UTC)], {"Europe/Prague": Counter(), zone: Counter()}
    store = MemoryStore(now=lambda: int(clock[0].timestamp() * 1e6))
    file = write(tmp_path, dated + daily)
    campaign = eh.live.open_campaign(store, "post", file)
    for i in range(4 * 24 * 2):
        clock[0] += timedelta(minutes=30)
        if i == 99:
            assert max(sent["Europe/Prague"].values()) == 3
            write(tmp_path, (dated + daily).replace("Europe/Prague", zone))
            campaign = eh.live.switch_campaign(store, "post", file, by="Ada", why="moved")
            assert switched(campaign)[0]["adopts"] is False
        said = campaign.decide({"age": 30, "town": "north"}, key=f"{i}", offered=["a"])
        for name, count in sent.items():
            count[clock[0].astimezone(ZoneInfo(name)).date()] += said.action == "a"
    by_day = list(sent[zone].values())
    assert max(by_day) <= 3
    assert by_day[-3:-1] == [3, 3]
    assert max(sent["Europe/Prague"].values()) > 3


def test_what_is_used_up_is_refused_or_said(tmp_path, capsys):
    file, store = write(tmp_path, STATED), f"sqlite:///{tmp_path}/post.db"
    campaign = eh.live.open_campaign(store, "post", file)
    for i in range(5):
        campaign.decide({"age": 33, "town": "north"}, key=f"{i}", offered=["a"])
    over = {
        "problem.horizon": STATED.replace("horizon = 300", "horizon = 5"),
        "problem.until": STATED.replace("horizon = 300", "horizon = 300\nsince = 2020-01-01\nuntil = 2020-02-01"),
    }
    with campaign, serving(app(campaign, token=TOKEN)) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        for field, text in over.items():
            said = client.post("/switch", json={"problem": text, **SIGNED})
            assert (said.status_code, said.json()["field"]) == (422, f"policy: {field}")
            write(tmp_path, text)
            assert main(["switch", store, str(file), *SAID]) == 2
        assert "expected more than the 5 rounds that are decided" in capsys.readouterr().err
        less = STATED.replace("rate = 0.3", "total = 2")
        told = "budget post: 5 of 2 is spent and held, so that nothing that uses it is played"
        said = client.post("/switch", json={"problem": less, **SIGNED}).json()
        assert said["used_up"] == [told]
        assert any("overspent" in z for z in client.get("/report").json()["alarms"])
        write(tmp_path, STATED.replace("rate = 0.3", "total = 3"))
        assert main(["switch", store, str(file), *SAID]) == 0
        assert capsys.readouterr().err.startswith(f"note: {told.replace('of 2', 'of 3')}\n")
        campaign.refresh()
        equal = STATED.replace("rate = 0.3", "total = 5")
        said = client.post("/switch", json={"problem": equal, **SIGNED}).json()
        assert said["used_up"] == [told.replace("of 2", "of 5")]
        assert campaign.decide({"age": 33, "town": "north"}, key="none left", offered=["a"]).action is None
        mark = client.get("/report").json()["mark"]
        said = client.post("/switch", json={"problem": STATED, **SIGNED, "expected": mark})
        assert said.json()["used_up"] == []
        client.post("/end", json=SIGNED)
        said = client.post("/switch", json={"problem": less, **SIGNED})
        assert (said.status_code, "ended by Ada" in said.json()["error"]) == (410, True)


def test_a_budget_without_a_total_at_present_is_used_up_once_something_is_spent(tmp_path):
    """As one of some months is before them."""
    campaign = eh.live.open_campaign(MemoryStore(), "post", write(tmp_path, STATED))
    status = campaign.status()
    nothing = replace(status.accounts["post"], total=0.0)
    assert nothing.spent == nothing.held == 0.0
    assert exhausted_budgets(replace(status, accounts={"post": nothing})) == []
    for more in ({"spent": 1.0}, {"held": 1.0}):
        (told,) = exhausted_budgets(replace(status, accounts={"post": replace(nothing, **more)}))
        assert told.startswith("budget post: 1 of 0 is spent and held")


def test_the_horizon_that_is_reached_is_an_alarm(tmp_path):
    text = STATED.replace("horizon = 300", "horizon = 5")
    campaign = eh.live.open_campaign(MemoryStore(), "post", write(tmp_path, text))
    with serving(app(campaign, token=TOKEN)) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        lived(campaign, 4)
        assert client.get("/report").json()["alarms"] == []
        lived(campaign, 1, 4)
        (said,) = client.get("/report").json()["alarms"]
        assert said.startswith("The horizon of 5 rounds is reached. Nothing more is played")
        assert said.replace("`", "") in client.get("/").text.replace("`", "")
        assert 'evenhand_alarm{name="over"} 1' in client.get("/metrics").text
        client.post("/end", json=SIGNED)
        assert client.get("/report").json()["alarms"] == []


def test_the_command_switches_from_the_policy_that_was_expected(tmp_path, capsys):
    file, store = write(tmp_path, STATED), f"sqlite:///{tmp_path}/post.db"
    with eh.live.open_campaign(store, "post", file) as campaign:
        mark = campaign.report()["mark"]
        write(tmp_path, STATED.replace("rate = 0.3", "rate = 0.2"))
        assert main(["switch", store, str(file), *SAID, "--expected", mark]) == 0
        write(tmp_path, STATED.replace("rate = 0.3", "rate = 0.1"))
        assert main(["switch", store, str(file), "--by", "Bob", "--why", "less", "--expected", mark]) == 2
        assert "switched by Ada (so), not under" in capsys.readouterr().err
        assert campaign.status().accounts["post"].total == pytest.approx(60.0)
        for left_out in (0, 2):
            with pytest.raises(SystemExit):
                main(["switch", store, str(file), *SAID[left_out : left_out + 2]])


def test_a_campaign_of_python_takes_no_problem_file():
    campaign = eh.Campaign.open("memory://", "shop", OLD)
    with serving(app(campaign, token=TOKEN)) as client:
        said = client.post("/switch", json={"problem": STATED, **SIGNED}, headers={"Authorization": f"Bearer {TOKEN}"})
        assert said.status_code == 422
        assert "opened with a problem file" in said.json()["error"]


def test_two_switches_at_once_one_wins_and_the_other_is_told(tmp_path):
    store, file = MemoryStore(), write(tmp_path, STATED)
    one, two, three = (eh.live.open_campaign(store, "post", file) for _ in range(3))
    less, least = (of_file(Text("p.toml", STATED.replace("rate = 0.3", f"rate = {x}"))) for x in (0.2, 0.1))
    one.switch(*less, by="Ada", why="less")
    with pytest.raises(eh.live.Conflict, match=r"runs under policy .* since event 2, switched by Ada \(less\), not"):
        two.switch(*least, by="Bob")
    three.switch(*less, by="Cy")  # the same one: there is nothing to tell
    assert [z["by"] for z in switched(one)] == ["Ada"]
    two.switch(*least, by="Bob")  # knowing of the first one
    assert [z["by"] for z in switched(one)] == ["Ada", "Bob"]
    with pytest.raises(eh.live.Conflict, match="switched by Bob, not under"):
        two.switch(*less, expected=less.policy.fingerprint())


@pytest.mark.parametrize("swapped", [False, True])
def test_features_that_mean_something_else_are_not_adopted(tmp_path, swapped):
    """Interactions of other actions have the same number of coefficients."""
    text = stated_interactions()
    store, file = MemoryStore(), write(tmp_path, text)
    campaign = eh.live.open_campaign(store, "post", file)
    lived(campaign, 10)
    other = text.replace('a = ["age"]\nb = ["town"]', 'b = ["town"]\na = ["age"]') if swapped else text
    write(tmp_path, other.replace("rate = 0.3", "rate = 0.2"))
    before = campaign.policy.model
    after = eh.live.switch_campaign(store, "post", file)
    assert after.policy.model.n_features == before.n_features
    (event,) = switched(campaign)
    assert event["adopts"] is not swapped
    assert event.get("because") == ("cases are encoded in another way" if swapped else None)
    campaign.refresh()
    same_fold(campaign, after)


def stated_interactions():
    assert "[interactions]" in INTERACTIONS
    return STATED.replace("[action]", '[interactions]\na = ["age"]\nb = ["town"]\n\n[action]')
