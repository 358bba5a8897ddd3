"""Charts as SVG, which the server draws: styled by classes alone, and named for readers who do not see them."""

from evenhand.live.dashboard.charts.bars import bars, histogram
from evenhand.live.dashboard.charts.courses import course, pace
from evenhand.live.dashboard.charts.groups import dots
from evenhand.live.dashboard.charts.shares import HUES, shares

__all__ = ["HUES", "bars", "course", "dots", "histogram", "pace", "shares"]
