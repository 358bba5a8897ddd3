"""The commands of the command line that read or serve the log of a campaign."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.core.validate import on_disk
from evenhand.live.auditing import Audit, audit
from evenhand.live.campaign import Campaign
from evenhand.live.coded import Stated, Text, of_stored
from evenhand.live.events import Unknown, read
from evenhand.live.exports import export
from evenhand.live.files import Rows, open_campaign, switch_campaign, weight_of
from evenhand.live.fold import OnExpiry
from evenhand.live.stores._sqlite_sessions import has_log
from evenhand.live.stores.base import Store
from evenhand.live.stores.opening import connect


def only_campaign(store: Store, campaign: str | None) -> str:
    """Return the name of the campaign to read, by default the only one in the store.

    Raises:
        Unknown: no such campaign.
        InvalidInput: there are several campaigns and none is named, or there is none.
    """
    found = list(store.campaigns())
    if campaign is None:
        if not found:
            raise InvalidInput("store", "one that has a campaign", "an empty one")
        if len(found) != 1:
            raise InvalidInput("campaign", f"one of {found}", "none")
        return found[0]
    if campaign not in found:
        raise Unknown(f"no campaign {campaign!r}; the store has {found}")
    return campaign


def policies(store: Store, campaign: str) -> list[Stated]:
    """Rebuild the policies of the problem files that a campaign stored, in the order in which they decided."""
    kept = [read(event)["encoding"] for event in store.scan(campaign, kinds=("opened", "switched"))]
    return [of_stored(z) for z in kept if "units" in z]


def existing(url: str) -> Store:
    """Connect to an existing store without writing to it.

    Raises:
        InvalidInput: there is no such file, or it belongs to another program.
    """
    if isinstance(url, str) and url.startswith("sqlite:///"):
        path = Path(url.removeprefix("sqlite:///"))
        if not path.is_file():
            raise InvalidInput("store", "a file that is there", url)
        if not has_log(path):
            raise InvalidInput("store", "a file of SQLite with the log of a campaign", str(path))
    return connect(url)


def _elsewhere(out: Path, url: str) -> None:
    """Refuse to write over the store, or in place of a file that SQLite or a worker makes beside it."""
    store = Path(url.removeprefix("sqlite:///"))
    own = [store.with_name(f"{store.name}{end}") for end in ("", "-wal", "-shm", "-journal", ".lock", ".gate")]
    if url.startswith("sqlite:///") and any(
        out.absolute() == z.absolute() or (z.exists() and out.exists() and out.samefile(z)) for z in own
    ):
        raise InvalidInput("out", "another file than the store", out)


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The options with which a campaign of a problem file is opened; see `open_campaign`."""

    campaign: str | None  # by default named after the problem file
    log_path: Path | None
    learn: bool | float  # the weight of a row, or whether rows are learned at all
    switch: bool  # whether a campaign that runs under another policy continues with this one
    seed: int | None = None  # None takes that of the campaign, or of `open_campaign` for a new one; so the next two
    patience: float | None = None
    on_expiry: OnExpiry | None = None

    def terms(self) -> dict[str, Any]:
        """Return the stated terms."""
        stated = {"seed": self.seed, "patience": self.patience, "on_expiry": self.on_expiry}
        return {name: value for name, value in stated.items() if value is not None}


class Address(NamedTuple):
    """The place and the guards of a server; see `evenhand.live.http.serve`."""

    host: str
    port: int
    token: str | None
    hosts: Sequence[str]
    known: bool = False


def serve_file(problem_path: Path, url: str, opening: Opening, at: Address) -> None:
    """Open or continue a campaign of a problem file, and serve it until the process is told to stop.

    Raises:
        InvalidInput, Conflict, Busy: as for `open_campaign` and `evenhand.live.http.serve`.
        MissingExtra: a package that the server needs is not installed.
    """
    from evenhand.live.http import serve  # before a long log is read

    if url.startswith("sqlite:///"):
        with on_disk("store", "a folder that can be written"):
            Path(url.removeprefix("sqlite:///")).absolute().parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", EvenhandWarning)
        made = _opened(problem_path, url, opening)
    for note in notes:
        print(f"note: {note.message}", file=sys.stderr)
    for name, value in opening.terms().items():
        kept = getattr(made.terms, name)
        if value != kept:
            option = name.replace("_", "-")
            print(f"note: --{option} {value} is not used: the campaign was opened with {kept}", file=sys.stderr)
    print(f"{made.name}: {made.policy.name}; {made.status().rounds:,} of {made.policy.problem.horizon:,} decided")
    serve(made, **at._asdict(), ready=lambda url: print(f"{url} (Ctrl-C stops)", flush=True))


def _opened(problem_path: Path, url: str, opening: Opening) -> Campaign:
    """Open a campaign; no store is made for a problem file that cannot be read."""
    name = problem_path.stem if opening.campaign is None else opening.campaign
    if opening.switch:
        with suppress(Unknown):
            return switch_campaign(url, name, problem_path, log_path=opening.log_path, learn=opening.learn)
    return open_campaign(
        url,
        name,
        problem_path,
        log_path=opening.log_path,
        learn=opening.learn,
        **opening.terms(),
    )


def write_report(url: str, campaign: str | None, out: Path, log_path: Path | None = None) -> None:
    """Write the dashboard of a campaign of a problem file.

    Raises:
        Unknown, InvalidInput: as for `only_campaign`; or the file cannot be written, or is the store.
        Conflict: the policy learned from another log.
    """
    store = existing(url)
    _elsewhere(out, url)
    name = only_campaign(store, campaign)
    each = policies(store, name)
    if not each:
        expected = "one that was opened with a problem file; others have `Campaign.save_report`"
        raise InvalidInput("campaign", expected, f"{name!r}, which was not")
    teacher = None if log_path is None else Rows(log_path, weight_of(store, name))
    Campaign.open(store, name, each[-1].policy, encoder=each[-1].coded, teacher=teacher).save_report(out)


def audit_files(
    url: str,
    campaign: str | None = None,
    problem_paths: Sequence[Path] = (),
    log_path: Path | None = None,
    tolerance: float = 0.0,
) -> Audit:
    """Audit a campaign of problem files, by default with the files that it stored.

    Raises:
        Unknown, InvalidInput: as for `only_campaign`; or no policy is known.
        Conflict: the policy learned from another log.
    """
    store = existing(url)
    name = only_campaign(store, campaign)
    each = policies(store, name)
    if problem_paths and each:
        kept = each[0].coded.to_dict()
        each = [of_stored(kept, Text.of(path)) for path in problem_paths]
    if not each:
        expected = "one that was opened with a problem file; `evenhand.audit` takes policies of Python"
        raise InvalidInput("campaign", expected, f"{name!r}, which was not")
    own = {stated.policy.fingerprint(): stated for stated in each}.values()
    return audit(
        store,
        name,
        [stated.policy for stated in own],
        encoders=[stated.coded for stated in own],
        tolerance=tolerance,
        teacher=None if log_path is None else Rows(log_path, weight_of(store, name)),
    )


def write_decisions(
    url: str,
    campaign: str | None,
    out: Path,
    kind: str | None = None,
    outcome: str | None = None,
    observed: bool = False,
    verbatim: bool = False,
) -> int:
    """Write the decisions of a campaign to a file; returns their number. See `evenhand.live.exports.export`.

    Raises:
        Unknown, InvalidInput, MissingExtra: as for `only_campaign` and `export`; or the file is the store.
    """
    store = existing(url)
    _elsewhere(out, url)
    name = only_campaign(store, campaign)
    return export(store, name, out, kind=kind, outcome=outcome, observed=observed, verbatim=verbatim)
