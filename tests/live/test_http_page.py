"""The page of a campaign: what it shows, and that no text of a user is more than text."""

from html.parser import HTMLParser

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.http import app
from tests.live.served import asked, opened, serving

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
    for text in ("Budgets", "cents per round", "letter", "Constraints", "Averages per round", "Actions so far"):
        assert text in empty.text
        assert text in found.text
    said = [z["aria-label"] for z in found.of("svg")]
    assert "cents per round: 80 of 8,000 spent, 0 held; the plan is 8" in said
    assert "letter: 1" in said
    assert len(found.of("svg")) == 4
    assert len(found.of("table")) >= len(found.of("svg"))


def test_the_page_loads_from_its_own_server_alone_and_runs_nothing_inline(tmp_path):
    with serving(app(opened(tmp_path))) as client:
        found = shown(client)
        loaded = [z["href"] for z in found.of("link")] + [z["src"] for z in found.of("script")]
        assert loaded == ["/static/page.css", "/static/page.js"]
        for path in loaded:
            said = client.get(path)
            assert said.status_code == 200
            assert "http" not in said.text
        assert said.headers["content-type"].startswith("text/javascript")
    assert not [attrs for _, attrs in found.found if any(z == "style" or z.startswith("on") for z in attrs)]
    assert found.of("style") == []


def test_names_that_are_html_are_shown_as_text():
    shop = eh.Problem(
        actions=(SCRIPT, '"><img src=x onerror=alert(1)>'),
        outcomes=(eh.Outcome("a<b>&'c"), eh.Outcome("<i>", known={SCRIPT: 1})),
        maximize="a<b>&'c",
        subject_to=(eh.Budget("<i>", total=5), eh.Floor("a<b>&'c", 0.1)),
        horizon=10,
    )
    campaign = Campaign.open("memory://", SCRIPT, eh.uniform(shop, 1, name="<b>policy</b>"))
    with serving(app(campaign)) as client:
        client.post("/decide", json={"key": SCRIPT, "case": {}})
        found = shown(client)
        assert client.get("/metrics").status_code == 200
    assert len(found.of("script")) == 1
    assert not [tag for tag, _ in found.found if tag in ("img", "i")]
    assert SCRIPT in found.text
