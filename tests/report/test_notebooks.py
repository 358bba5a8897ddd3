"""What results and campaigns show of themselves in notebooks: escaped tables without styles, so that any theme does."""

import re
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.logs import log
from evenhand.offline import curve_table, targeting, value_table
from evenhand.offline.lists import table
from evenhand.replay import comparison, report
from evenhand.run import sweeps, trace

NASTY = '<i>"a & b"</i>'
ESCAPED = "&lt;i&gt;&quot;a &amp; b&quot;&lt;/i&gt;"
FILE = """
maximize = "sale"
horizon = 40
features = { numeric = ["age"] }
action = { column = "sent", values = { no = "none", yes = '<i>"a & b"</i>' } }
propensity = { constant = 0.5 }
outcomes = { sale = { range = [0, 1] }, cents = { known = { '<i>"a & b"</i>' = 80 } } }
budget = [{ outcome = "cents", rate = 20 }]
"""


def safe(html):
    """Whether a text is of plain tables, in which nothing of what users named is HTML."""
    assert html.startswith("<table><caption>")
    assert not re.search(r"<(?!/?(table|caption|thead|tbody|tr|th|td)>)", html), html  # nor an attribute or a style
    assert NASTY not in html
    return html


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A log and its problem file."""
    folder, luck = tmp_path_factory.mktemp("log"), np.random.default_rng(0)
    rows = [f"{luck.integers(20, 60)},{luck.choice(['no', 'yes'])},{luck.integers(2)}" for _ in range(120)]
    (folder / "log.csv").write_text("\n".join(["age,sent,sale", *rows]), encoding="utf-8")
    (folder / "problem.toml").write_text(FILE, encoding="utf-8")
    return folder / "log.csv", folder / "problem.toml"


@pytest.mark.parametrize(
    "kind",
    [
        eh.Problem,
        eh.Policy,
        eh.Campaign,
        eh.core.records.Decision,
        eh.live.Reply,
        trace.Trace,
        sweeps.Sweep,
        eh.run.Comparison,
        eh.run.Theory,
        log.Log,
        report.Replay,
        comparison.Replays,
        value_table.Value,
        curve_table.Curve,
        table.Assignment,
        targeting.ForWhom,
    ],
)
def test_every_result_has_a_table_and_a_short_text(kind):
    for name in ("_repr_html_", "__repr__"):
        assert Path(getattr(kind, name).__code__.co_filename).exists()  # not that of all dataclasses


def test_what_a_log_says_is_escaped(files):
    read = log.read_log(*files)
    assert safe(read._repr_html_()).count(ESCAPED) == 1
    shown = [read, eh.value(*files), eh.curve(*files, budgets=(10.0, 20.0))]
    for found in shown:
        assert ESCAPED in safe(found._repr_html_())
        assert len(repr(found).splitlines()) <= 12
        assert "array(" not in repr(found)
    listed = eh.assign(files[0], files[1], learn_from=files[0])
    assert ESCAPED in safe(listed._repr_html_())


def test_a_campaign_shows_its_status_and_what_it_was_once_it_is_closed(tmp_path):
    problem = eh.Problem(actions=("none", NASTY), outcomes=(eh.Outcome("sale"),), maximize="sale", horizon=9)
    campaign = eh.Campaign.open(f"sqlite:///{tmp_path / 'shop.db'}", NASTY, eh.uniform(problem, 1))
    reply = campaign.decide({}, key=NASTY)
    assert repr(campaign) == f"Campaign {NASTY!r}: decided by 'uniform', 2 events"
    assert "2 events: 1 of 9 rounds decided" in safe(campaign._repr_html_())
    plays = f"Decision 2 of {NASTY!r}\n  {reply.action:<{len('why')}}  with probability 0.5"
    assert repr(reply).startswith(plays)
    assert "<td>with probability 0.5</td>" in safe(reply._repr_html_())
    campaign.close()
    assert "which was closed" in safe(campaign._repr_html_())


def test_comparisons_and_sweeps_show_names_and_differences():
    worlds = {rides: eh.environments.Court(horizon=40, ride=rides) for rides in (0.05, 0.1)}

    def two(problem):
        return [eh.uniform(problem, 5), eh.uniform(problem, 5, name=NASTY)]

    swept = eh.sweep(two, "rides", worlds, replicas=2, progress=False)
    assert safe(swept._repr_html_()).count(ESCAPED) == 2
    assert swept.table().splitlines()[0].split() == re.findall("<th>(.*?)</th>", swept._repr_html_())[:6]
    shown = safe(swept[0.1]._repr_html_())
    assert shown.count("<table>") == 2
    assert f"<th>{ESCAPED}</th><td>0.0000</td>" in shown  # it draws alike
