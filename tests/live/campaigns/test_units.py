"""Caps and kept actions of customers in a campaign: over a restart, a switch and an audit, as counted by hand."""

import contextlib
import json
from collections import defaultdict

import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.audits import audit
from evenhand.live.dashboard.page import render_file
from evenhand.live.dashboard.tally import Tally
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.http.metrics import campaign_metrics
from evenhand.live.log.events import Conflict
from evenhand.live.stores.memory import MemoryStore
from tests.live.campaigns.test_audit import Clock

FILE = """
maximize = "visit"
since = 2026-12-01
until = 2027-03-01
traffic = { cases = 20, per = "day" }
action = { values = ["nothing", "letter", "call"] }
features = { numeric = ["age"], ranges = { age = [0, 100] } }

[outcomes]
visit = { range = [0, 1], free = ["nothing"] }
letter = { known = { letter = 1 } }
calls = { known = { call = 1 } }

[[budget]]
outcome = "letter"
total = 12
per = "day"

[unit]
name = "customer"
sticky = 14
caps = [
    { outcome = "letter", at_most = 3, within = 7 },
    { outcome = "calls", at_most = 1, within = 30 },
]

[policy]
name = "resolving"
explore = 0.1
"""
DAY, START = 86_400 * 10**6, 1_796_083_200 * 10**6  # 2026-12-01, in microseconds


@pytest.fixture
def file(tmp_path):
    (tmp_path / "letters.toml").write_text(FILE)
    return tmp_path / "letters.toml"


def test_caps_hold_over_restarts_and_switches_and_audits_find_the_same_decisions(file, tmp_path):
    clock = Clock()
    clock.now = START
    store = MemoryStore(clock)
    campaign, sent, kept = eh.live.open_campaign(store, "letters", file), defaultdict(list), {}
    for i in range(500):
        clock.now += DAY // 10
        day, who = (clock.now - START) / DAY, f"customer {i * i % 11}"
        made = campaign.decide({"age": 40, "customer": who}, key=str(i))
        had = [a for d, a in sent[who] if day - 7 < d], [a for d, a in sent[who] if day - 30 < d]
        assert not (made.action == "letter" and had[0].count("letter") >= 3)
        assert not (made.action == "call" and had[1].count("call") >= 1)
        if who in kept and day - kept[who][1] < 14 and made.action == kept[who][0]:
            assert made.probability == kept[who][2]
            assert made.explanation.startswith("kept")
        else:
            kept[who] = made.action, day, made.probability
        chances = campaign.find(made.id)["chances"]
        assert chances is None or chances[made.action] == made.probability
        if i % 9 == 4:
            campaign.cancel(made.id)
            if kept[who][1] == day:
                del kept[who]
        else:
            sent[who].append((day, made.action))
            campaign.observe(made.id, {"visit": float(i % 3 == 0 and made.action != "nothing")})
        if i == 200:
            campaign = eh.live.open_campaign(store, "letters")
        if i == 300:
            file.write_text(FILE.replace("total = 12", "total = 11"))
            eh.live.switch_campaign(store, "letters", file)
    use, tally = campaign.status().unit, Tally(campaign)
    tally.update()
    families = {z.name: z for z in campaign_metrics(campaign, campaign.status(), tally, 0)}
    counts = [use.known, *(z.reached for z in use.caps), use.kept]
    assert min(counts) > 5
    names = ("evenhand_units", "evenhand_caps_reached", "evenhand_kept_actions")
    assert [z.value for name in names for z in families[name].samples] == counts
    assert families[names[1]].samples[0].labels == {"cap": "letter in 7 days"}
    page = render_file(campaign)
    for text in (f"{use.known} units are known", "letter at most 3 in 7 days: reached", "action kept for 14 days"):
        assert text in page
    assert json.loads(json.dumps(campaign.report()))["unit"]["kept"] == use.kept
    first, second = (of_file(Text("letters.toml", text)) for text in (FILE, file.read_text()))
    found = audit(store, "letters", [first.policy, second.policy], encoders=[first.coded, second.coded])
    assert (found.decisions, found.differing, found.unknown) == (500, 0, 0)
    assert sum(a == "letter" for each in sent.values() for _, a in each) > 30


def test_a_switch_to_a_longer_window_counts_what_customers_had_before(file):
    clock = Clock()
    clock.now = START
    store = MemoryStore(clock)
    campaign = eh.live.open_campaign(store, "letters", file)
    with pytest.raises(InvalidInput, match="customer: expected a value, as the problem file names the column"):
        campaign.decide({"age": 40}, key="1")
    assert campaign.decide({"age": 40, "customer": 7}, key="1", offered=["call"]).action == "call"
    file.write_text(FILE.replace('"customer"', '"person"'))
    with pytest.raises(Conflict, match="unit"):
        eh.live.switch_campaign(store, "letters", file)
    file.write_text(FILE.replace("within = 30", "within = 45"))
    eh.live.switch_campaign(store, "letters", file)
    for days, played in ((40, None), (6, "call")):
        clock.now += days * DAY
        assert campaign.decide({"age": 40, "customer": 7}, key=str(clock.now), offered=["call"]).action == played


def test_a_campaign_is_valued_and_replayed_as_a_log_of_its_customers(tmp_path, file):
    url, text = f"sqlite:///{tmp_path / 'store.db'}", FILE.replace("within = 30", "within = 9000")
    outcomes, unit = text[text.index("action =") : text.index("[[budget]]")], text[text.index("[unit]") :]
    file.write_text('maximize = "visit"\nhorizon = 300\n' + outcomes + unit)
    with contextlib.closing(eh.live.open_campaign(url, "letters", file)) as campaign:
        for i in range(200):
            made = campaign.decide({"age": i % 80, "customer": i * i % 13}, key=str(i))
            campaign.observe(made.id, {"visit": float(i % 2 and made.action != "nothing")})
    log = eh.live.decisions(url)
    assert "200 rows in 7 clusters by 'customer'" in str(eh.value(log, file))
    found = eh.replay_log(log, file, replicas=2, bootstrap=2, progress=False)
    assert "in 7 clusters by 'customer'" in str(found)
    assert (found.runs[0].trace.total("calls") <= 7).all()  # one to each


def test_a_log_is_replayed_with_caps_by_its_column(tmp_path, file):
    file.write_text(
        FILE.replace("since = 2026-12-01\nuntil = 2027-03-01\n", "horizon = 60\n")
        .replace('traffic = { cases = 20, per = "day" }\n', "")
        .replace('per = "day"\n', "")
        .replace("within = 30", "within = 9000")
        .replace("values =", 'column = "sent", values =')
        .replace("[outcomes]", "[propensity]\nconstant = 0.3333333333333333\n\n[outcomes]")
    )
    lines = ["age,customer,sent,visit"]
    for i in range(900):
        action = ("nothing", "letter", "call")[(i * 7 // 6) % 3]
        lines.append(f"{20 + i % 60},c{i % 6},{action},{int(action != 'nothing' and i % 2)}")
    (tmp_path / "log.csv").write_text("\n".join(lines))
    found = eh.replay_log(tmp_path / "log.csv", file, replicas=4, bootstrap=2, progress=False)
    assert found.measured[found.runs[0].name]["letter used"][0].values.max() <= 12
    assert "in 6 clusters by 'customer'" in str(found)
    calls = found.runs[0].trace.total("calls")
    assert (calls <= 6).all()  # each of six customers once
