"""Reports in a browser: they ask for nothing, fit telephones and screens, and no text of a chart is on another."""

import pytest

from evenhand.offline import assign, curve, for_whom, value
from evenhand.report import charts
from evenhand.report.intervals import Interval
from evenhand.report.page import Page, Part
from tests import browser as chromium
from tests.offline.logs import draw
from tests.offline.test_assignments import BUDGET, PARITY, files

pytestmark = chromium.NEEDED

SMALLEST = """() => Math.min(...[...document.querySelectorAll("svg.chart")].filter((z) => z.checkVisibility())
  .map((z) => 11 * z.getBoundingClientRect().width / z.viewBox.baseVal.width))"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    log = draw(3000, 8).evidence
    cases, problem = files(folder, BUDGET + PARITY)
    rule = "small where x0 < 0.25 and x1 >= -0.5 and x2 != 0; large where x3 > 1; else none"
    long = [Interval("a policy with a name that has no room " * 3, 1e-5, -2e-5, 3e-5), Interval("b", -4e7, -5e7, 2.0)]
    odd = Part(title="odd " * 40, chart=charts.intervals(long))
    whom = for_whom(folder / "log.csv", problem)
    return [
        value(log, rules=[rule]).page("evenhand value " + "x" * 300),
        curve(log, tolerances=(0.0, 0.05, 0.2)).page(),
        assign(cases, problem, learn_from=folder / "log.csv", holdout=0.2).page(),
        Page(title="t" * 200, sentences=(), notes=("n" * 500,), parts=(odd, *whom.parts()), command="", settings={}),
    ]


@pytest.fixture(scope="module")
def browser():
    with chromium.started() as made:
        yield made


@pytest.mark.parametrize("width", [390, 800, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_readable(pages, browser, tmp_path, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab, asked, said = context.new_page(), [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: said.append(message.text))
    for i, page in enumerate(pages):
        path = page.write(tmp_path / f"{i}.html")
        tab.goto(f"file://{path}")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), i
        assert tab.evaluate(chromium.TEXTS) == []
        assert tab.evaluate(SMALLEST) > 9.0  # pixels of the letters of ticks
        seen = [tab.locator("svg.chart").nth(k).is_visible() for k in range(tab.locator("svg.chart").count())]
        assert sum(seen) == len(seen) // 2  # of the two widths, the one that fits
        dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 18, 21)"
        assert dark == (scheme == "dark")
    context.close()
    assert asked == [f"file://{tmp_path / f'{i}.html'}" for i in range(len(pages))]
    assert said == []
