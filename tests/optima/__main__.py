"""Write docs/optima.md: `python -m tests.optima`. Write stated.json: `python -m tests.optima calibrate [RECIPE]`."""

import math
import sys
from pathlib import Path

from tests.optima.calls import CALLS
from tests.optima.page import page
from tests.optima.stated import CALIBRATED_ON, CHECKED_ON, STATED, write
from tests.optima.table import Refused, Row, measure, pairs
from tests.optima.worlds import WORLDS

PAGE = Path(__file__).parents[2] / "docs" / "optima.md"


def stated(row: Row | Refused) -> float | str:
    """One standard error below the mean, rounded down, and at most 1: nobody is asked to overspend."""
    return row.why if isinstance(row, Refused) else min(1.0, math.floor(100 * (row.share - row.se)) / 100)


def calibrate(recipes: list[str]) -> None:
    """Measure the recipes that are named, or else those without a row, and write their rows."""
    for recipe in recipes or [r for r in CALLS if list(STATED.get(r, ())) != list(WORLDS)]:
        STATED[recipe] = {name: stated(measure(recipe, name, CALIBRATED_ON)) for name in WORLDS}
        print(recipe, *(f"{name}: {value}" for name, value in STATED[recipe].items()), sep="\n  ")
    write({recipe: STATED[recipe] for recipe in CALLS})


if __name__ == "__main__":
    if sys.argv[1:2] == ["calibrate"]:
        calibrate(sys.argv[2:])
    else:
        PAGE.write_text(page({pair: measure(*pair, seed=CHECKED_ON) for pair in pairs()}), encoding="utf-8")
