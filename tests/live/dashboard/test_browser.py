"""The dashboard in a browser: it loads nothing from elsewhere, runs nothing of a user, and is readable everywhere."""

import re

import pytest

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.dashboard.page import render_file
from evenhand.live.http import app
from tests import browser as chromium
from tests.live.dashboard.worked import worked
from tests.live.http_campaign import serving

pytestmark = chromium.NEEDED
SECTIONS = ("Budgets", "Fairness and limits", "Actions", "Outcomes", "Cases", "Latest decisions")
EVIL = "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"

# Which cells of tables that are printed in columns reach into the next column.
CELLS = """() => [...document.querySelectorAll("details table")].flatMap((table) => {
  const columns = [...table.getClientRects()];
  const inside = (b) => columns.some((c) => b.left >= c.left - 1 && b.right <= c.right + 1);
  return [...table.querySelectorAll("td")].filter((z) => !inside(z.getBoundingClientRect())).map((z) => z.textContent);
})"""

# Which names of rows take more than one line.
BROKEN = """() => [...document.querySelectorAll("tbody th")].filter((z) => {
  const range = document.createRange();
  range.selectNodeContents(z);
  return new Set([...range.getClientRects()].map((b) => Math.round(b.top))).size > 1;
}).map((z) => z.textContent)"""


@pytest.fixture(scope="module")
def campaign():
    return worked(rounds=420)


@pytest.fixture(scope="module")
def server(campaign):
    with serving(app(campaign)) as client:
        yield str(client.base_url)


@pytest.fixture(scope="module")
def browser():
    with chromium.started() as made:
        yield made


class Watched:
    """A page, with all that it asked for and complained about."""

    def __init__(self, browser, width=1280, **settings):
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
        self.page = self.context.new_page()
        self.asked, self.said = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message) or dialog.dismiss())

    def close(self, origin):
        """Nothing was asked of anybody else, and nothing was complained about."""
        self.context.close()
        assert [url for url in self.asked if not url.startswith(origin)] == []
        assert self.said == []


@pytest.fixture
def watched(browser, server):
    made = []

    def make(path="/", width=1280, **settings):
        made.append(Watched(browser, width, **settings))
        made[-1].page.goto(server + path)
        return made[-1].page

    yield make
    for one in made:
        one.close(server)


def test_all_sections_are_shown_each_chart_with_a_table(watched):
    page = watched()
    assert page.locator("h2").all_inner_texts() == list(SECTIONS)
    charts = page.locator("article:has(svg.chart)")
    assert charts.count() == 7
    assert page.locator("svg.chart").count() == 14
    assert page.locator("svg.chart:visible").count() == 7  # of the two widths, the one that fits
    for i in range(charts.count()):
        card = charts.nth(i)
        assert card.locator("table").count() >= 1
        assert len(card.locator("svg.chart:visible").get_attribute("aria-label")) > 10
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.line')).stroke") != "none"
    )  # the style sheet is there


@pytest.mark.parametrize("width", [320, 375, 760, 1280])
def test_no_page_scrolls_sideways_and_no_text_is_cut(watched, campaign, width):
    number = next(e.ref for e in campaign.events() if e.kind == "revised")
    for path in ("/", f"/decisions/{number}/page"):
        page = watched(path, width)
        page.evaluate("document.querySelectorAll('details').forEach((z) => z.open = true)")
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert page.evaluate(chromium.TEXTS) == []
        assert page.evaluate("[...document.querySelectorAll('pre')].every((z) => z.scrollWidth <= z.clientWidth)")


@pytest.mark.parametrize("width", [390, 600, 760, 1280])
def test_names_of_fields_are_on_one_line(watched, width):
    page = watched("/docs", width)
    page.evaluate("document.querySelectorAll('details').forEach((z) => z.open = true)")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.locator("tbody th").count() > 50
    assert page.evaluate(BROKEN) == []


def test_a_decision_is_a_click_away(watched, campaign):
    page = watched()
    link = page.locator("#latest a").first
    number = link.inner_text()
    link.click()
    page.wait_for_url(f"**/decisions/{number}/page")
    assert page.locator("h1").inner_text() == f"Decision {number}"
    assert page.locator("#chances svg:visible .label").count() == 2 * len(campaign.policy.problem.actions)
    assert "worth" in page.locator("pre").inner_text()
    page.locator(".up a").click()
    assert page.locator("h1").inner_text() == campaign.name


def test_the_page_of_a_decision_has_every_event_about_it(watched, campaign):
    number = next(e.ref for e in campaign.events() if e.kind == "revised")
    kinds = ["decided"] + [e.kind for e in campaign.events() if e.ref == number]
    page = watched(f"/decisions/{number}/page")
    rows = page.locator("#events tbody tr")
    assert [rows.nth(i).locator("td").first.inner_text() for i in range(rows.count())] == kinds
    for text in ("age", "channel", "zone", "answer"):
        assert text in page.locator("main").inner_text()


def test_the_page_updates_by_itself_and_leaves_the_reader_where_he_was(browser):
    campaign = worked(rounds=120)
    with serving(app(campaign)) as client:
        watched = Watched(browser, width=375)
        page = watched.page
        page.clock.install()
        page.goto(str(client.base_url))
        page.locator("#actions-over-time summary").click()
        page.evaluate("window.scrollTo(0, 1500)")
        decided = page.locator(".tiles div:has(dt:text-is('Decided')) dd").first
        before = decided.inner_text()
        campaign.decide({"age": 33, "channel": "web", "zone": "farm"}, key="one more", offered=["nothing"])
        page.clock.fast_forward(11_000)
        page.locator("#latest", has_text="one more").wait_for()
        assert decided.inner_text() == str(int(before) + 1)
        assert page.locator("#actions-over-time details").get_attribute("open") is not None
        assert page.evaluate("window.scrollY") == 1500
        assert page.locator("#stale").is_hidden()
        origin = str(client.base_url)
    page.clock.fast_forward(11_000)  # the server is gone
    page.locator("#stale").wait_for(state="visible")
    watched.said = [text for text in watched.said if "ERR_CONNECTION" not in text]
    watched.close(origin)


def test_without_scripts_the_page_is_there_and_comes_again(watched):
    page = watched(java_script_enabled=False)
    assert page.locator("h2").all_inner_texts() == list(SECTIONS)
    assert page.locator("noscript meta").count() + page.locator("meta[http-equiv=refresh]").count() >= 1


def test_nothing_that_a_user_named_runs(browser):
    shop = eh.Problem(
        actions=(EVIL, "</svg><script>document.title='ran'</script>"),
        features=(eh.Categorical(EVIL, (EVIL, "plain")),),
        outcomes=(eh.Outcome("won" + EVIL), eh.Outcome("cost" + EVIL, known={EVIL: 1})),
        maximize="won" + EVIL,
        subject_to=(eh.Budget("cost" + EVIL, total=5), eh.Parity("won" + EVIL, by="zone" + EVIL, tolerance=0.1)),
        groups=(eh.Groups("zone" + EVIL, (EVIL, "land")),),
        horizon=10,
    )
    campaign = Campaign.open("memory://", EVIL, eh.pgd(shop, eh.PerAction.of(shop), name=EVIL))
    case = {EVIL: EVIL, "zone" + EVIL: EVIL}
    numbers = [campaign.decide(case, key=f"{EVIL}{i}").id for i in range(4)]
    campaign.observe(numbers[0], {"won" + EVIL: 1})
    with serving(app(campaign)) as client:
        origin = str(client.base_url)
        for path in ("/", f"/decisions/{numbers[0]}/page"):
            watched = Watched(browser, width=375)
            watched.page.goto(origin + path)
            assert watched.page.title() != "ran"
            assert watched.page.locator("img").count() == 0
            assert watched.page.locator("script").count() == 1
            assert EVIL in watched.page.locator("main").inner_text()
            assert watched.page.evaluate("document.scrollingElement.scrollWidth") <= 375
            watched.close(origin)


def test_a_saved_report_is_one_file_that_asks_for_nothing(browser, server, campaign, tmp_path):
    place = tmp_path / "report.html"
    place.write_text(render_file(campaign), encoding="utf-8")
    shots = []
    for url in (place.as_uri(), server):
        watched = Watched(browser)
        watched.page.goto(url)
        assert watched.page.locator("h2").all_inner_texts() == list(SECTIONS)
        shots.append([watched.page.locator(z).screenshot() for z in ("#budgets", "#constraints", "#actions")])
        if url == place.as_uri():
            assert watched.asked == [url]
            assert watched.page.locator("script, a, link").count() == 0
        watched.close(url)
    assert shots[0] == shots[1]


@pytest.mark.slow
def test_print_shows_everything(watched):
    page = watched(width=760)
    page.emulate_media(media="print", color_scheme="dark")
    folded = page.locator("details tbody tr")
    assert folded.count() > 20
    assert all(folded.nth(i).bounding_box()["height"] > 5 for i in range(0, folded.count(), 9))
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 760
    assert page.evaluate(chromium.TEXTS) == []
    assert page.evaluate(CELLS) == []
    assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))) < 12
