"""Every section of the dashboard keeps its contract: before the first decision, and after some."""

from dataclasses import replace

import pytest

from evenhand.live.dashboard.sections import SECTIONS, Readings
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import Section
from evenhand.report.drawing import Svg
from tests.examples import sections as examples
from tests.live.http_campaign import CASE, opened


def sections(campaign):
    """The sections at present, by the names of their functions."""
    status, tally = campaign.status(), Tally(campaign)
    tally.update()
    return {show.__name__: show(Readings(campaign, status, tally, linked=True)) for show in SECTIONS}


@pytest.fixture
def found(tmp_path):
    """The sections of a new campaign, and those after one letter, its answer, a switch and a pause."""
    campaign = opened(tmp_path)
    new = sections(campaign)
    reply = campaign.decide(CASE, "key of the first case", offered=["letter"])
    campaign.observe(reply.id, {"answer": 1})
    campaign.switch(replace(campaign.policy, name="renamed"), why="a better name")
    campaign.pause(by="anna", why="the printer of letters is broken")
    return new, sections(campaign)


def texts(section):
    """All that a section shows as text."""
    for card in section.cards:
        yield from (card.title, card.summary, card.text, card.chart or "")
        yield from (getattr(cell, "text", cell) for table in card.tables for row in table.rows for cell in row)


@pytest.mark.parametrize("name", [show.__name__ for show in SECTIONS])
def test_sections_keep_their_contract(name, found):
    assert name in examples.SECTIONS, f"add an example of {name!r} to SECTIONS in tests/examples/sections.py"
    for section in (made[name] for made in found if made[name] is not None):
        assert isinstance(section, Section)
        assert (section.name, bool(section.title)) == (name, True)
        assert len({card.name for card in section.cards}) == len(section.cards) > 0
        for card in section.cards:
            assert card.chart is None or (isinstance(card.chart, Svg) and "aria-label" in card.chart)
            assert all(len(row) == len(table.head) for table in card.tables for row in table.rows)
    assert examples.SECTIONS[name] in " ".join(texts(found[1][name]))


def test_no_card_has_the_name_of_another(found):
    cards = [card.name for section in found[1].values() for card in section.cards]
    assert len(set(cards)) == len(cards)
