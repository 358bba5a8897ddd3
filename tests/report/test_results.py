"""The protocol of results: what is stated once comes out as text, table, frame, JSON, picture and page."""

import json
from dataclasses import dataclass
from typing import ClassVar
from xml.etree import ElementTree

import pandas as pd
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.offline.scores import Estimate
from evenhand.report import charts
from evenhand.report.charts import Bar
from evenhand.report.intervals import Interval
from evenhand.report.page import Page, Part
from evenhand.report.picture import Picture
from evenhand.report.results import Column, Evaluation, Records, cells_of, names_of
from evenhand.report.tables import Table
from tests.pages import self_contained

NASTY = '</style><script>alert("1")</script>\x01 & more'
COLUMNS = (
    Column(("worth", "se", "low", "high"), "sale", lambda z: Estimate(z, 0.1)),
    Column(("by model",), "sale by the model", lambda z: Estimate(z, 0.1)),
    Column((), "cost", lambda z: Estimate(2.0 * z, float("nan"))),
    Column(("used", "", "used from", "used to"), "used", lambda z: Estimate(z, 0.1)),
    Column(("cases",), "", lambda z: 10.0 * z),
    Column(("bound",), "bound", lambda z: None if z < 1.0 else 1.0),
)


@dataclass(frozen=True, repr=False)
class Sales(Evaluation):
    """As short as a result can be."""

    worth: dict[str, float]
    name = "sales"
    kind = "sales of a test"
    errors = "of nothing"
    notes = ("a note",)
    checks: ClassVar = {"overlap": "'none' was never drawn", "features": None}

    def headline(self):
        return f"{NASTY} sells"

    def sentences(self):
        yield "It is a sentence."

    def heading(self):
        yield "sales"

    def tables(self):
        yield Table(["policy", "sale"], [[name, f"{z:.2f}"] for name, z in self.worth.items()])

    def parts(self):
        drawn = charts.bars([Bar(name, z, f"{z:.2f}") for name, z in self.worth.items()])
        yield Part(
            title="Sales", reading="Bars are sales.", chart=drawn, keys=((NASTY, 0),), tables=tuple(self.tables())
        )

    def inputs(self):
        return {"seed": 3}

    def records(self):
        return Records(["policy", *names_of(COLUMNS)], [[p, *cells_of(COLUMNS, z)] for p, z in self.worth.items()])

    def measurements(self):
        yield from (row for p, z in self.worth.items() for c in COLUMNS for row in c.measurements(p, {}, z))


@pytest.fixture
def found():
    return Sales({NASTY: 0.25, "uniform": 1.5})


def test_a_column_is_declared_once_for_frames_and_json(found, tmp_path):
    frame = found.to_frame()
    used = ["used", "used from", "used to"]
    assert list(frame.columns) == ["policy", "worth", "se", "low", "high", "by model", *used, "cases", "bound"]
    assert frame["used to"].tolist() == frame.high.tolist()
    assert frame.iloc[1][["worth", "se", "by model", "cases", "bound"]].tolist() == [1.5, 0.1, 1.5, 15.0, 1.0]
    assert frame.bound.isna().tolist() == [True, False]
    written = {path.name: path for path in found.write(tmp_path / "new")}
    pd.testing.assert_frame_equal(pd.read_parquet(written["sales.parquet"]), frame)
    kept = json.loads(written["results.json"].read_text())
    assert (kept["settings"], kept["notes"], kept["se"]) == ({"seed": 3}, ["a note"], "of nothing")
    rows = {(row["system"], row["metric"]): row for row in kept["rows"]}
    assert rows["uniform", "sale"]["se"] == 0.1
    assert rows["uniform", "sale: 95 %, low"]["mean"] == frame.low[1]
    assert [metric for system, metric in rows if system == NASTY] == [
        *("sale", "sale: 95 %, low", "sale: 95 %, high", "sale by the model", "cost"),
        *("used", "used: 95 %, low", "used: 95 %, high"),
    ]
    assert rows["uniform", "sale by the model"]["se"] is None  # no error has a name


def test_texts_and_pages_say_what_is_stated(found):
    assert found.summary() == f"{NASTY} sells. It is a sentence."
    assert str(found).splitlines()[0] == "sales"
    assert str(found).splitlines()[-1].split() == ["uniform", "1.50"]
    assert "uniform</th><td>1.50" in found._repr_html_()
    read = self_contained(found.page("evenhand sales").html())
    assert read.of("li")[:2] == ["check: 'none' was never drawn", "a note"]
    assert read.of("pre") == ["evenhand sales"]


def test_a_picture_is_one_svg_in_which_nothing_runs(found, tmp_path):
    (path,) = [path for path in found.write(tmp_path) if path.suffix == ".svg"]
    drawing = ElementTree.parse(path).getroot()
    assert {z.tag.partition("}")[2] for z in drawing.iter()} == {"svg", "style", "rect", "text"}
    texts = ["".join(z.itertext()) for z in drawing.iter() if z.tag.endswith("text")]
    assert {"Sales", "Bars are sales.", "0.25", "1.50"} <= set(texts)
    assert NASTY.replace("\x01", "?") in "".join(texts)
    chart = next(z for z in drawing if z.tag.endswith("svg"))
    assert float(chart.get("y")) + float(chart.get("height")) < float(drawing.get("height"))
    assert found.plot()._repr_html_().count("<") == 1  # an image
    assert repr(found.plot()) == f"Picture of 1 charts: {found.headline()}"


def test_a_result_without_charts_leaves_no_picture(found, tmp_path, monkeypatch):
    monkeypatch.setattr(Sales, "parts", lambda self: iter(()))
    assert [path.name for path in found.write(tmp_path)] == ["results.json", "sales.parquet", "report.html"]


def test_nothing_half_written_stays(found, tmp_path, monkeypatch):
    found.write(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(self, path, *rest, **more):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    with pytest.raises(InvalidInput, match="No space left"):
        Sales({"new": 1.0}).write(tmp_path)
    assert (tmp_path / "sales.parquet").read_bytes() == before["sales.parquet"]
    assert {path.name for path in tmp_path.iterdir()} == set(before)
    monkeypatch.setattr(Page, "html", lambda self: "\ud800half")  # no text: written with a mark in its place
    assert found.page().write(tmp_path / "report.html").read_bytes() == b"?half"


def test_intervals_are_drawn_to_scale():
    each = [Interval("a", 0.2, 0.1, 0.3), Interval("b", -0.4, -0.8, 0.0)]
    svg = ElementTree.fromstring(Picture("", (Part(title="", chart=charts.intervals(each)),)).svg())
    ends = [[float(z.get(x)) for x in ("x1", "x2")] for z in svg.iter() if z.get("class", "").startswith("reach")]
    zero = next(float(z.get("x1")) for z in svg.iter() if z.get("class") == "total")
    unit = (ends[0][1] - ends[0][0]) / 0.2
    for (low, high), z in zip(ends, each, strict=True):
        assert (low - zero, high - zero) == pytest.approx((unit * z.low, unit * z.high), abs=0.2)
