"""`python -m tests.optima` writes docs/optima.md, and prints its tables.

`python -m tests.optima calibrate [RECIPE]` writes targets.json.
"""

import math
import sys
from pathlib import Path

from tests.optima.calls import CALLS
from tests.optima.page import page, printed
from tests.optima.table import Refused, Row, measure, pairs
from tests.optima.targets import CALIBRATED_ON, CHECKED_ON, STATED, write
from tests.optima.worlds import WORLDS

PAGE = Path(__file__).parents[2] / "docs" / "optima.md"


def stated(row: Row | Refused) -> float | str:
    """One standard error below the mean, rounded down, and at most 1: nobody is asked to overspend."""
    return row.why if isinstance(row, Refused) else min(1.0, math.floor(100 * (row.share - row.se)) / 100)


def calibrate(recipes: list[str]) -> None:
    """Measure the recipes that are named, or else what rows lack, and write the rows."""
    for recipe in recipes or CALLS:
        row = {} if recipes else STATED.get(recipe, {})
        found = {name: stated(measure(recipe, name, CALIBRATED_ON)) for name in WORLDS if name not in row}
        if found:
            print(recipe, *(f"{name}: {value}" for name, value in found.items()), sep="\n  ", flush=True)
        STATED[recipe] = {name: found.get(name, row.get(name, "")) for name in WORLDS}
        write({recipe: row for recipe, row in STATED.items() if recipe in CALLS})


if __name__ == "__main__":
    if sys.argv[1:2] == ["calibrate"]:
        calibrate(sys.argv[2:])
    else:
        rows = {pair: measure(*pair, seed=CHECKED_ON) for pair in pairs() if pair[0] in STATED}
        PAGE.write_text(page(rows), encoding="utf-8")
        print(*printed(rows), sep="\n")
