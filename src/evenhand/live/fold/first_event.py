"""The first event of a campaign or of a pool, and a warning about hard budgets when a campaign is opened."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.goals.base import Accounts
from evenhand.live.fold.cases import Encoder
from evenhand.live.fold.fold import window_of
from evenhand.live.fold.phases import stated
from evenhand.live.log.events import Conflict, Event, read
from evenhand.live.log.life import OnExpiry
from evenhand.live.log.store import Readable
from evenhand.live.log.versions import here
from evenhand.policy.policy import Policy
from evenhand.problem.end import After


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
        """Refuse to open the campaign of these terms with a model trained on other data, or on none.

        Raises:
            Conflict: the hashes differ.
        """
        if taught != self.taught:
            same = "learned from a log: open it with the same one, at the same weight"
            raise Conflict(f"campaign {name!r} {same if self.taught else 'learned from no log'}")


def first_body(terms: Terms, policy: Policy, encoder: Encoder) -> dict[str, Any]:
    """Return the body of the first event: the terms, the encoding, and the versions that decisions may depend on."""
    return {
        **asdict(terms),
        "name": policy.name,
        "actions": list(policy.problem.actions),
        **stated(policy),
        "encoding": encoder.to_dict(),
        "versions": here(),
    }


def warn_of_jams(on_expiry: OnExpiry, policy: Policy, level: int = 3) -> None:
    """Warn of hard budgets that decisions without an outcome would reserve for good.

    With a total of 120 and many missing outcomes, 64 stayed reserved and were never spent. The warning is about the
    call so many levels up.
    """
    if on_expiry != "hold" or window_of(policy.problem):  # a window has an outcome at its end
        return
    for name, settled in _budgets_that_wait(policy):
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
    without = [name for name, settled in _budgets_that_wait(policy) if not settled]
    if without:
        expected = f'"hold" or "release", or a `fallback` of each outcome that budget {", ".join(without)} waits for'
        raise InvalidInput("on_expiry", expected, "fallback")


def _budgets_that_wait(policy: Policy) -> Iterator[tuple[str, bool]]:
    """Yield the hard budgets that wait for outcomes, and whether each of these outcomes has a fallback."""
    missing = np.isnan(policy.problem.fallback)
    for goal in policy.goals:
        if isinstance(goal, Accounts):
            rows = goal.rows
            reads = np.hstack([rows.learned, rows.known[:, rows.noisy]]) != 0.0
            for i in np.flatnonzero(~rows.is_known):
                yield rows.names[i], bool(reads[i].any() and not (reads[i] & missing).any())


def is_pool(store: Readable, name: str) -> bool:
    """Return whether a log of a store is that of a pool."""
    first = next(iter(store.scan(name)), None)
    return first is not None and first.kind == "leased"


def refuse_pool(store: Readable, name: str) -> None:
    """Refuse the name of a pool where that of a campaign is expected.

    Raises:
        InvalidInput: it is one.
    """
    if is_pool(store, name):
        raise InvalidInput("name", "that of a campaign", f"{name!r}, which is a pool of leases")


def campaigns_of(store: Readable) -> list[str]:
    """Return the names of the campaigns of a store, without pools."""
    return [name for name in store.campaigns() if not is_pool(store, name)]
