"""Charts as SVG, drawn by the server: styled by classes alone, with descriptions for screen readers."""

from evenhand.live.dashboard.charts.bars import bars, histogram, signed_bars
from evenhand.live.dashboard.charts.courses import Spending, course, pace
from evenhand.live.dashboard.charts.groups import dots
from evenhand.live.dashboard.charts.horizontal_axis import HorizontalAxis
from evenhand.live.dashboard.charts.shares import HUES, shares

__all__ = ["HUES", "HorizontalAxis", "Spending", "bars", "course", "dots", "histogram", "pace", "shares", "signed_bars"]
