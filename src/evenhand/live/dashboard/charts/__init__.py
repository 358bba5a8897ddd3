"""Charts as SVG, drawn by the server: styled by classes alone, with descriptions for screen readers."""

from evenhand.live.dashboard.charts.bars import bars, histogram
from evenhand.live.dashboard.charts.courses import course, pace
from evenhand.live.dashboard.charts.groups import dots
from evenhand.live.dashboard.charts.shares import HUES, shares

__all__ = ["HUES", "bars", "course", "dots", "histogram", "pace", "shares"]
