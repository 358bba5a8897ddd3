"""`python -m tests.optima` writes docs/optima.md; with `calibrate` it prints shares to be stated instead."""

import math
import sys
from pathlib import Path

from tests.optima.page import page
from tests.optima.stated import CALIBRATED_ON, CHECKED_ON
from tests.optima.table import Refused, Row, measure, pairs

PAGE = Path(__file__).parents[2] / "docs" / "optima.md"


def stated(row: Row) -> float:
    """One standard error below the mean, rounded down, and at most 1: nobody is asked to overspend."""
    return min(1.0, math.floor(100 * (row.share - row.se)) / 100)


def main(arguments: list[str]) -> None:
    """Run the whole table, on the seed that what is asked for is for."""
    seed = CALIBRATED_ON if arguments == ["calibrate"] else CHECKED_ON
    rows = {pair: measure(*pair, seed=seed) for pair in pairs()}
    if arguments == ["calibrate"]:
        for (recipe, name), row in rows.items():
            print(f"{recipe:22} {name:28} {row.why if isinstance(row, Refused) else stated(row)}")
    else:
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
