"""What every recipe is to reach in every environment, or the refusal that it answers with, as in `targets.json`.

Shares are of the optimum: those of 20 replicas on one seed, less one standard error, rounded down, and at most 1, as
nobody is asked to overspend. They are checked on another seed, where the mean may miss them by three standard errors.
`python -m tests.optima calibrate` writes what rows lack; a row that is there is restated only if its recipe is named,
as a share that falls is a defect to be explained first. A recipe without a row is held against uniform draws.
"""

import json
from pathlib import Path

CALIBRATED_ON, CHECKED_ON = 1, 2  # seeds
FILE = Path(__file__).with_name("targets.json")

Stated = dict[str, dict[str, float | str]]
STATED: Stated = json.loads(FILE.read_text(encoding="utf-8"))


def write(found: Stated) -> None:
    """Write the rows in the order of their recipes."""
    FILE.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")
