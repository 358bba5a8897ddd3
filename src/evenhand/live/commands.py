"""What the command line does with the log of a campaign."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import on_disk
from evenhand.live.auditing import Audit, audit
from evenhand.live.events import Unknown, read
from evenhand.live.files import Rows, Stated, of_kept
from evenhand.live.history import decisions
from evenhand.live.store import Store, connect


def stated(store: Store, campaign: str, problem_path: Path) -> Stated:
    """The policy of a problem file, encoded as a campaign does.

    Raises:
        Unknown: no such campaign.
        InvalidInput: the campaign was not opened with a problem file.
    """
    opened = next(iter(store.scan(campaign)), None)
    if opened is None:
        raise Unknown(f"no campaign {campaign!r}; the store has {list(store.campaigns())}")
    encoding = read(opened)["encoding"]
    if "units" not in encoding:
        raise InvalidInput("campaign", "one that was opened with a problem file", f"{campaign!r}, which was not")
    return of_kept(problem_path, encoding)


def audited(
    url: str, campaign: str, problem_paths: Sequence[Path], log_path: Path | None = None, tolerance: float = 0.0
) -> Audit:
    """Audit a campaign of problem files: one per policy that decided.

    Raises:
        Unknown, InvalidInput: as for `stated`.
        Conflict: the policy learned from another log.
    """
    store = connect(url)
    each = [stated(store, campaign, path) for path in problem_paths]
    teacher = None if log_path is None else Rows(each[0], log_path)
    policies, encoders = [s.policy for s in each], [s.coded for s in each]
    return audit(store, campaign, policies, encoders=encoders, tolerance=tolerance, teacher=teacher)


def exported(url: str, campaign: str, problem_path: Path, out: Path) -> int:
    """Write the decisions of a campaign to a file, as CSV or, if its name ends in .jsonl, as lines of JSON.

    The columns are those of `history.decisions`; `action` and `probability` are what `evenhand replay` needs. Returns
    the number of decisions.
    """
    store = connect(url)
    rows = decisions(store.scan(campaign), stated(store, campaign, problem_path).policy.problem)
    with on_disk("out", "a file that can be written"):
        if out.suffix == ".jsonl":
            out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        else:
            _write(out, rows)
    return len(rows)


def _write(out: Path, rows: list[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
