"""The first event of a campaign, and a warning about hard budgets when it is opened."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import CannotSave, EvenhandWarning, InvalidInput
from evenhand.goals.base import Accounts
from evenhand.live.cases import Encoder
from evenhand.live.events import Busy, Conflict, Event, encode, read
from evenhand.live.fold import Rewritten
from evenhand.live.life import OnExpiry
from evenhand.live.runs import fold_runs
from evenhand.live.versions import here, refuse_later
from evenhand.policy.entering import MOST_WAITED
from evenhand.policy.policy import Policy
from evenhand.problem.ended import After
from evenhand.version import __version__

if TYPE_CHECKING:
    from evenhand.live.worker import Worker


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The settings with which a campaign was opened; they are in the log and the same for all workers."""

    seed: int
    patience: float  # seconds
    on_expiry: OnExpiry
    after: After = "nothing"
    first: str  # the fingerprint of the policy that it was opened with
    taught: str | None  # a hash of what the policy learned before the first decision

    @staticmethod
    def of(opened: Event) -> Terms:
        """Read the terms from the first event of a log."""
        kept = read(opened)
        return Terms(**{f.name: kept[f.name] for f in fields(Terms) if f.name in kept})

    def refuse_taught(self, name: str, taught: str | None) -> None:
        """Refuse to open the campaign of these terms with what was learned from other data, or from none.

        Raises:
            Conflict: the hashes differ.
        """
        if taught != self.taught:
            same = "learned from a log: open it with the same one, at the same weight"
            raise Conflict(f"campaign {name!r} {same if self.taught else 'learned from no log'}")


def opening(terms: Terms, policy: Policy, encoder: Encoder) -> dict[str, Any]:
    """Return the body of the first event: the terms, the encoding, and the versions that decisions may depend on."""
    return {
        **asdict(terms),
        "name": policy.name,
        "actions": list(policy.problem.actions),
        "encoding": encoder.to_dict(),
        "versions": here(),
    }


def take_over(worker: Worker) -> None:
    """Let this version of evenhand decide from now on; workers of earlier versions then end with `Conflict`.

    They answer while the log is folded: no lock is held until few events are left.

    Raises:
        Conflict: a later version decides.
        Busy: the store cannot be written.
    """
    if worker.fold.version == __version__:
        return
    with suppress(Busy, CannotSave):  # snapshots of the earlier version may say nothing here
        worker.folding.keep(worker.fold)
    while not _took_over(worker):
        try:
            fold_runs(worker.fold, worker.store.scan(worker.name, worker.fold.seq), MOST_WAITED)
        except Rewritten:  # they corrected or erased something meanwhile
            worker.refold()


def _took_over(worker: Worker) -> bool:
    """Fold the last events and take over in one transaction; returns False if they are many, or demand another fold."""
    refuse_later(worker.name, worker.fold.version)
    with worker.store.write(worker.name) as log:
        if log.last - worker.fold.seq > worker.near:
            return False
        try:
            worker.fold.fold(log.tail(worker.fold.seq))
        except Rewritten:
            return False
        refuse_later(worker.name, worker.fold.version)
        if worker.fold.version != __version__:  # no other worker was first
            worker.fold.apply(log.append("upgraded", encode({"versions": here()})))
    return True


def warn_of_jams(on_expiry: OnExpiry, policy: Policy, level: int = 3) -> None:
    """Warn of hard budgets that decisions without an outcome would reserve for good.

    With a total of 120 and many missing outcomes, 64 stayed reserved and were never spent. The warning is about the
    call so many levels up.
    """
    if on_expiry != "hold":
        return
    for name, settled in _waiting(policy):
        fates = '"fallback" or "release"' if settled else '"release"'
        text = (
            f"budget {name!r}: a decision whose outcome never arrives holds its worst case for good, and nothing else "
            f"can spend it: use on_expiry={fates} if outcomes may fail to arrive"
        )
        warnings.warn(text, EvenhandWarning, stacklevel=level)


def refuse_no_fallback(policy: Policy) -> None:
    """Refuse on_expiry="fallback" where a hard budget waits for an outcome without a fallback, as it would stay held.

    Raises:
        InvalidInput: there is such a budget.
    """
    without = [name for name, settled in _waiting(policy) if not settled]
    if without:
        expected = f'"hold" or "release", or a `fallback` of each outcome that budget {", ".join(without)} waits for'
        raise InvalidInput("on_expiry", expected, "fallback")


def _waiting(policy: Policy) -> Iterator[tuple[str, bool]]:
    """Yield the hard budgets that wait for outcomes, and whether each of these outcomes has a fallback."""
    missing = np.isnan(policy.problem.fallback)
    for goal in policy.goals:
        if isinstance(goal, Accounts):
            rows = goal.rows
            reads = np.hstack([rows.learned, rows.known[:, rows.noisy]]) != 0.0
            for i in np.flatnonzero(~rows.is_known):
                yield rows.names[i], bool(reads[i].any() and not (reads[i] & missing).any())
