"""The page of a campaign: what it shows, and that no text of a user is more than text."""

from html.parser import HTMLParser

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.http import app
from tests.live.http_campaign import SHOP, asked, opened, serving

SCRIPT = "<script>alert(1)</script>"


class Tags(HTMLParser):
    """All tags of a page, and whether each one that was opened was closed."""

    ALONE = ("meta", "link", "rect", "line")

    def __init__(self, text):
        super().__init__()
        self.found, self.open, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def of(self, tag):
        return [attrs for name, attrs in self.found if name == tag]


def shown(client):
    said = client.get("/")
    assert said.status_code == 200
    assert said.headers["content-type"].startswith("text/html")
    return Tags(said.text)


def test_the_page_shows_where_the_campaign_stands(tmp_path):
    with serving(app(opened(tmp_path))) as client:
        empty = shown(client)
        number = client.post("/decide", json=asked("one", offered=["letter"])).json()["id"]
        client.post("/observe", json={"id": number, "outcomes": {"answer": 1}})
        found = shown(client)
    for text in ("Budgets", "cents", "letter", "cents gap by zone", "Objective: average answer", "town"):
        assert text in empty.text
        assert text in found.text
    said = [z["aria-label"] for z in found.of("svg")]
    assert "cents: 80 of 8,000 spent, 0 held; the plan is 8" in said
    assert "shares of plays over the rounds: letter 100%, none 0%" in said
    assert len(said) == 2 * 5  # in two widths
    assert len(empty.of("svg")) == 2 * 4  # no objective yet
    assert len(found.of("table")) >= len(found.of("svg")) / 2


def test_the_page_loads_from_its_own_server_alone_and_runs_nothing_inline(tmp_path):
    with serving(app(opened(tmp_path))) as client:
        found = shown(client)
        loaded = [z["href"] for z in found.of("link")] + [z["src"] for z in found.of("script")]
        assert loaded == ["static/page.css", "static/icon.svg", "static/page.js"]
        for path in loaded:
            said = client.get(path)
            assert said.status_code == 200
            assert "http" not in said.text.replace("http://www.w3.org/2000/svg", "")
        assert said.headers["content-type"].startswith("text/javascript")
    assert not [attrs for _, attrs in found.found if any(z == "style" or z.startswith("on") for z in attrs)]
    assert found.of("style") == []


def test_the_page_of_a_decision(tmp_path):
    with serving(app(opened(tmp_path))) as client:
        number = client.post("/decide", json=asked("one <b>", offered=["letter"])).json()["id"]
        path = f"/decisions/{number}"
        found = Tags(client.get(f"{path}/page").text)
        assert client.get(path).json()["chances"] == {"none": 0.0, "letter": 1.0}
        client.post("/cancel", json={"id": number})
        assert "cancelled" in client.get(f"{path}/page").text
        assert (client.get("/decisions/99/page").status_code, client.get("/decisions/x/page").status_code) == (404, 404)
        counted = client.get("/metrics").text
    assert 'route="/decisions/{number}/page",status="200"} 2' in counted
    assert [z["aria-label"] for z in found.of("svg")] == ["probabilities: letter 100%, none 0%"] * 2
    for text in ("one <b>", "price of answer", "worth", "waiting", "land", "letter"):
        assert text in found.text


def test_a_decision_of_an_earlier_policy_is_shown_without_its_reasons(tmp_path):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        number = client.post("/decide", json=asked("one")).json()["id"]
        campaign.switch(eh.uniform(SHOP, SHOP.n_features))
        page = client.get(f"/decisions/{number}/page").text
        assert "A policy that this server does not have made this decision" in page
        assert client.get(f"/decisions/{number}").json()["policy"] == "resolving"
        assert "resolving" in page
        later = client.post("/decide", json=asked("two")).json()["id"]
        assert client.get(f"/decisions/{later}").json()["policy"] == "uniform"
        assert client.get("/").status_code == 200


def test_names_that_are_html_are_shown_as_text():
    shop = eh.Problem(
        actions=(SCRIPT, '"><img src=x onerror=alert(1)>'),
        outcomes=(eh.Outcome("a<b>&'c"), eh.Outcome("<i>", known={SCRIPT: 1})),
        maximize="a<b>&'c",
        subject_to=(eh.Budget("<i>", total=5), eh.Floor("a<b>&'c", rate=0.1)),
        horizon=10,
    )
    campaign = Campaign.open("memory://", SCRIPT, eh.uniform(shop, 1, name="<b>policy</b>"))
    with serving(app(campaign)) as client:
        client.post("/decide", json={"key": SCRIPT, "case": {}})
        found = shown(client)
        assert client.get("/metrics").status_code == 200
    assert len(found.of("script")) == 1
    assert not [tag for tag, attrs in found.found if tag == "img" or (tag == "i" and not attrs)]
    assert SCRIPT in found.text
