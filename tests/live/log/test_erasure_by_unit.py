"""An erasure by unit takes all decisions of a customer out of the log, or none, and her caps hold as before."""

from contextlib import closing
from datetime import date

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Conflict, Unknown
from evenhand.live.http import app
from evenhand.live.log.events import is_erased
from evenhand.live.stores.opening import connect
from evenhand.live.worker import erasure
from evenhand.problem import Cap, Unit
from tests.live.http_campaign import SHOP, serving
from tests.live.schedules import same_fold

PROBLEM = eh.Problem(
    actions=("nothing", "letter"),
    outcomes=(eh.Outcome("visit"), eh.Outcome("letter", known={"letter": 1})),
    features=(eh.Numeric("age", 0, 100),),
    maximize="visit",
    horizon=900,
    unit=Unit("customer", caps=[Cap("letter", at_most=2, within=500)]),
)
POLICY = eh.resolving(PROBLEM)
ASKED = {"by": "a clerk", "why": "asked to"}


def lived(store, waits=None):
    """Thirty letters to 15 customers, two to each; customer 7 is stated as a number at first, and as a text later."""
    campaign = eh.Campaign.open(store, "shop", POLICY)
    for i in range(30):
        who = (int if i < 15 else str)(i % 15)
        made = campaign.decide({"age": 20 + i, "customer": who}, key=f"{i}", offered=["letter"])
        if i != waits:
            campaign.observe(made.id, {"visit": float(i % 2)})
    return campaign


def erased(campaign):
    return [event.seq for event in campaign.store.scan("shop") if is_erased(event)]


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
def test_all_decisions_of_a_customer_are_erased_and_caps_hold(kind, tmp_path, request):
    url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/log.db"}.get(kind) or request.getfixturevalue("url")
    store = connect(url)
    campaign = lived(store)
    ids, before = [campaign.find(key)["id"] for key in ("7", "22")], campaign.status()
    assert str(campaign.erase(units=[7], **ASKED)) == "2 erased"
    assert erased(campaign) == ids
    with pytest.raises(Unknown, match="no decision of the customer '7' in campaign 'shop'"):
        campaign.erase(units=["8", "7"], **ASKED)
    assert erased(campaign) == ids  # customer 8 neither
    again = eh.Campaign.open(store, "shop", POLICY)
    same_fold(campaign, again)
    assert (again.status().averages, again.status().rounds) == (before.averages, before.rounds)
    for who, played in (("7", None), ("a stranger", "letter")):
        assert again.decide({"age": 40, "customer": who}, key=who * 2, offered=["letter"]).action == played
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_a_decision_that_waits_keeps_all_of_its_customer():
    campaign = lived(connect("memory://"), waits=22)
    number = campaign.find("22")["id"]
    with pytest.raises(Conflict, match=f"decision {number}, of the customer '7', waits .*: observe or cancel it first"):
        campaign.erase(units=["8", "7"], **ASKED)
    assert erased(campaign) == []
    campaign.observe("22", {"visit": 0.0})
    assert len(campaign.erase(units=["8", "7"], **ASKED).decisions) == 4


def test_more_decisions_than_one_transaction_takes(monkeypatch):
    monkeypatch.setattr(erasure, "MOST", 4)
    campaign = lived(connect("memory://"))
    assert len(campaign.erase(units=[1, 2, 3], **ASKED).decisions) == 6
    assert sum(event.kind == "erased" for event in campaign.events()) == 2


def test_wrong_requests_are_refused_by_name():
    campaign = lived(connect("memory://"))
    for stated, told in (
        ({"units": [7.0]}, "units: expected a text or a whole number"),
        ({"units": "7"}, "units: expected a list of at most 2,000 names"),
        ({"units": [7], "keys": ["1"]}, "units: expected none beside keys"),
        ({"units": [7], "before": date(2020, 1, 1)}, "before: expected none beside keys or units"),
    ):
        with pytest.raises(InvalidInput, match=told):
            campaign.erase(**stated, **ASKED)
    other = eh.Campaign.open("memory://", "shop", eh.uniform(SHOP, 1))
    with pytest.raises(InvalidInput, match="units: expected none, as the problem names no unit"):
        other.erase(units=[7], **ASKED)


def test_a_customer_is_erased_in_a_segment(tmp_path):
    store = connect(f"sqlite:///{tmp_path}/log.db")
    campaign = lived(store)
    campaign.seal(tmp_path, before=campaign.find("20")["id"], **ASKED)
    with pytest.raises(Conflict, match=r"some decisions are in segment shop-1-\d+.segment .*: state the folder"):
        campaign.erase(units=[7], **ASKED)
    assert len(campaign.erase(units=[7], segments=tmp_path, **ASKED).decisions) == 2
    assert [event.key for event in campaign.events(tmp_path) if event.kind == "decided"].count(None) == 2
    with pytest.raises(Unknown):
        campaign.erase(units=[7], segments=tmp_path, **ASKED)
    assert campaign.decide({"age": 27, "customer": "new"}, key="7").id == campaign.head().seq  # forgotten as a key
    same_fold(campaign, eh.Campaign.open(store, "shop", POLICY))


def test_over_http_unknown_customers_are_listed_so_that_a_request_can_be_repeated():
    campaign = lived(connect("memory://"))
    with serving(app(campaign, token="a secret of this test")) as client:
        client.headers["Authorization"] = "Bearer a secret of this test"
        for count, unknown in ((2, ["nobody"]), (0, ["7", "nobody"])):
            answer = client.post("/erase", json={"units": [7, "nobody"], **ASKED})
            assert answer.json() == {"erased": count, "waiting": 0, "unknown": unknown, "segments": []}
        answer = client.post("/erase", json={"units": [7], "keys": ["1"], **ASKED})
        assert (answer.status_code, answer.json()["field"]) == (422, "units")
        assert client.post("/erase", json={"units": [True], **ASKED}).json()["field"] == "units[0]"


def test_the_command_erases_a_customer(tmp_path, capsys):
    (tmp_path / "shop.toml").write_text(
        'maximize = "visit"\nhorizon = 90\naction = { values = ["nothing", "letter"] }\n'
        'features = { numeric = ["age"], ranges = { age = [0, 100] } }\n'
        "outcomes = { visit = { range = [0, 1] }, letter = { known = { letter = 1 } } }\n"
        '[unit]\nname = "customer"\ncaps = [{ outcome = "letter", at_most = 2, within = 50 }]\n'
    )
    url = f"sqlite:///{tmp_path}/log.db"
    with closing(eh.live.open_campaign(url, "shop", tmp_path / "shop.toml")) as campaign:
        for who in ("ann", "bob", "ann"):
            campaign.observe(
                campaign.decide({"age": 40, "customer": who}, key=f"{campaign.head().seq}").id, {"visit": 1}
            )
    assert main(["erase", url, "--unit", "ann", "--by", "a clerk", "--why", "asked to"]) == 0
    assert "2 erased" in capsys.readouterr().out
    assert main(["erase", url, "--unit", "ann", "--by", "a clerk", "--why", "asked to"]) == 2
    assert "no decision of the customer 'ann'" in capsys.readouterr().err
