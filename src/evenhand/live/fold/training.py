"""The stored result of a policy's training on a log before its first decision, so that the log is read once."""

from __future__ import annotations

import io
import warnings
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandWarning
from evenhand.live.fold.cases import Encoder, Teacher
from evenhand.live.fold.phases import mark_in
from evenhand.live.log.events import Busy, Conflict, read
from evenhand.live.log.store import Readable, Store
from evenhand.policy.policy import Policy
from evenhand.policy.saving import fill, flatten, refusals
from evenhand.policy.state import PolicyState


@dataclass
class Taught:
    """Trains a policy with data from the store, or by a teacher if the store has none.

    Args:
        store: of the campaign.
        campaign: its name.
        mark: the hash of the data that it learned from.
        teacher: reads these data; None if they are not there.
    """

    store: Store
    campaign: str
    mark: str
    teacher: Teacher | None
    _learned: dict[str, dict[str, np.ndarray[Any, Any]]] = field(default_factory=dict)  # by policy

    def teach(self, policy: Policy, encoder: Encoder, state: PolicyState) -> None:
        """Train a new state.

        Raises:
            Conflict: the store keeps nothing of this policy, and there is no teacher.
        """
        own = policy.fingerprint()
        kept = self._learned.get(own) or self._load(own, state)
        if kept is not None:
            fill(state, {name: array.copy() for name, array in kept.items()})
            return
        if self.teacher is None:
            told = "learned from a log: open it with the same one, at the same weight"
            raise Conflict(f"campaign {self.campaign!r} {told}, as the store does not keep what policy {own} learned")
        self.teacher.teach(policy, encoder, state)
        if not any(True for _ in refusals(state)):
            self._learned[own] = {name: array.copy() for name, array in flatten(state)}

    def _load(self, own: str, state: PolicyState) -> dict[str, np.ndarray[Any, Any]] | None:
        """Read the stored training; None if there is none, or if it is damaged or of a version with other states."""
        kept = self.store.snapshot(self.campaign, self._place(own))
        if kept is None:
            return None
        try:
            with np.load(io.BytesIO(kept[1]), allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
            fill(deepcopy(state), found)
        except Exception:  # damaged bytes can raise any error in readers of archives and arrays
            return None
        self._learned[own] = found
        return found

    def keep(self) -> None:
        """Store the trained state, once; warn if the store is busy, as the next start then needs the log again."""
        try:
            for own, arrays in self._learned.items():
                if not self.store.snapshots(self.campaign, self._place(own)):
                    file = io.BytesIO()
                    np.savez_compressed(file, allow_pickle=False, **arrays)
                    self.store.keep(self.campaign, self._place(own), 1, file.getvalue())
        except Busy as error:
            text = (
                f"campaign {self.campaign!r} continues, but the store does not keep what was learned from the log "
                f"({error}): give the log again at the next start, which tries again"
            )
            warnings.warn(text, EvenhandWarning, stacklevel=3)

    def _place(self, policy: str) -> str:
        return _place(policy, self.mark)


def copy_training(source: Readable, store: Store, campaign: str) -> None:
    """Copy the trained states of a campaign's policies to a store that has, or will have, its events."""
    mark = read(next(iter(source.scan(campaign)))).get("taught")
    if mark is None:
        return
    for event in source.scan(campaign, kinds=("opened", "switched")):
        place = _place(mark_in(event), mark)
        kept = source.snapshot(campaign, place)
        if kept is not None:
            store.keep(campaign, place, *kept)


def _place(policy: str, data: str) -> str:
    """The mark under which a policy's training on some data is stored."""
    return f"taught {policy} {data}"
