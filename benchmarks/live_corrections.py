"""What corrections cost: revisions of early outcomes in a long log, others' decisions meanwhile, and the audit.

python -m benchmarks.live_corrections 10000 1000
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.live_logs import with_outcomes
from benchmarks.live_worlds import NAME, POLICY, case, opened, timed
from evenhand.live.campaigns.audits import Audit, audit
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.report.summary import table


def corrections_table(folder: Path, decisions: int, revisions: int) -> str:
    """Revise outcomes of the first tenth of a log, with a decision of another client after each, then audit the log."""
    path = folder / "corrected.db"
    lived(opened(path), range(decisions // 2), 0)
    plain = opened(folder / "plain.db")
    with_outcomes(plain, range(decisions))
    without, _ = audited(folder / "plain.db")
    one = opened(path)
    lived(one, range(decisions // 2, decisions), revisions // 2)
    other = opened(path)
    natural, _ = audited(path)
    ids = [e.seq for e in one.events() if e.kind == "decided"][: max(decisions // 10, revisions)]
    begun, waited, work = time.process_time(), list[float](), list[float]()
    for i in range(revisions):
        work.append(timed(lambda i=i: revised(one, ids[i % len(ids)])))
        waited.append(timed(lambda i=i: other.decide(case(i), key=f"meanwhile {i}")))
    at_once = time.process_time() - begun
    one.relearn()
    spent = time.process_time() - begun
    again, found = audited(path)
    rows = [
        ["all revisions and others' decisions", f"{at_once:.1f} s of a core"],
        ["with all of it learned", f"{spent:.1f} s of a core"],
        ["a decision of another client meanwhile, the longest", f"{1e3 * max(waited):,.0f} ms"],
        ["a revision, the longest", f"{1e3 * max(work):,.0f} ms"],
        [f"an audit of {decisions:,} decisions without corrections", f"{without:.1f} s of a core"],
        [f"one with {revisions // 2:,} of random decisions", f"{natural:.1f} s of a core"],
        [f"one with {revisions:,} more, {found.differing} decisions differ", f"{again:.1f} s of a core"],
    ]
    marks = [e.seq for e in one.store.scan(NAME, kinds=("refolded",))]
    return table([f"{revisions:,} corrections, marks at {marks}", ""], rows)


def audited(path: Path) -> tuple[float, Audit]:
    """An audit, and the seconds of a core that it takes."""
    begun = time.process_time()
    found = audit(SqliteStore(path), NAME, [POLICY])
    return time.process_time() - begun, found


def lived(campaign: Campaign, numbers: range, revisions: int) -> None:
    """Decide and observe, and revise outcomes of random earlier decisions meanwhile."""
    luck, step = random.Random(0), max(1, len(numbers) // max(revisions, 1))
    ids = [e.seq for e in campaign.events() if e.kind == "decided"]
    for start in range(numbers.start, numbers.stop, step):
        with_outcomes(campaign, range(start, min(start + step, numbers.stop)))
        if revisions:
            revised(campaign, luck.choice(ids))


def revised(campaign: Campaign, number: int) -> None:
    """Replace the outcome of a decision by the other one."""
    found = campaign.store.about(campaign.name, number)
    said = next(e for e in reversed(found) if e.kind in ("observed", "revised"))
    campaign.observe(number, {"answer": float('"answer":false' in said.body or '"answer":0' in said.body)}, revise=True)


if __name__ == "__main__":
    sizes = [int(z) for z in sys.argv[1:]] or [2_000, 100]
    with tempfile.TemporaryDirectory() as folder:
        print(corrections_table(Path(folder), *sizes))
