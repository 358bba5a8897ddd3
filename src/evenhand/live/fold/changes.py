"""Requests that change the life of a campaign, each with who asks and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from evenhand.core.errors import CannotErase, InvalidInput
from evenhand.core.signatures import value_text
from evenhand.core.validate import number, one_of
from evenhand.live.fold.cases import context_of
from evenhand.live.fold.phases import Phase
from evenhand.live.log.events import Kind, encode, is_erased, read
from evenhand.live.log.life import FATES, SETTINGS, STATES, Ended, Life, OnExpiry
from evenhand.live.log.store import ErasureTransaction, Readable, Transaction
from evenhand.policy.corrections import forget
from evenhand.policy.saving import refusals
from evenhand.problem.end import AFTERS, After

_PATIENCE = "seconds above 0 and below 1e9"
_DAYS = 'days above 0 and at most 36,500, or "off"'
_LONGEST = 200  # characters of a name or a reason


def check_patience(value: object) -> float:
    """Return a patience, a number of seconds above 0 and below 1e9."""
    if isinstance(value, bool):
        raise InvalidInput("patience", _PATIENCE, value)
    return number("patience", value, _PATIENCE, lambda x: 0 < x < 1e9)


def check_retention(value: object) -> float:
    """Return the days after which cases are erased, a number above 0 and at most 36,500."""
    if isinstance(value, bool):
        raise InvalidInput("retention", _DAYS, value)
    return number("retention", value, _DAYS, lambda x: 0 < x <= 36_500)


def check_line(field: str, value: object) -> None:
    """Refuse a name or reason that a log or terminal cannot show on one line."""
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST or not value.isprintable():
        raise InvalidInput(
            field, f"a text of 1 to {_LONGEST} printable characters that is not blank", value_text(value)
        )


@dataclass(frozen=True)
class Ask:
    """A request to pause, resume, end or change a campaign.

    Args:
        kind: of the event that it becomes: "paused", "resumed", "ended" or "changed".
        by: who asks, a text of 1 to 200 printable characters.
        why: the reason, such a text.
        patience, on_expiry, after, retention: for "changed" alone, what is to change; None leaves a setting as it is.

    Raises:
        InvalidInput: an invalid text, a setting out of its range, or a change of no setting.

    >>> Ask("paused", "anna", "no letters left").body(Life(patience=60.0, on_expiry="hold"))
    '{"by":"anna","why":"no letters left"}'
    """

    kind: Kind
    by: str
    why: str
    patience: float | None = None
    on_expiry: OnExpiry | None = None
    after: After | None = None
    retention: float | Literal["off"] | None = None

    def __post_init__(self) -> None:
        for name in ("by", "why"):
            check_line(name, getattr(self, name))
        if self.patience is not None:
            check_patience(self.patience)
        if self.on_expiry is not None:
            one_of("on_expiry", self.on_expiry, FATES)
        if self.after is not None:
            one_of("after", self.after, AFTERS)
        if self.retention not in (None, "off"):
            object.__setattr__(self, "retention", check_retention(self.retention))
        if self.kind == "changed" and not self._settings:
            raise InvalidInput("change", f"a value for one of {SETTINGS}", "none")

    @property
    def _settings(self) -> dict[str, Any]:
        return {name: value for name in SETTINGS if (value := getattr(self, name)) is not None}

    def body(self, life: Life) -> str | None:
        """Return the body of the event; None if the campaign is already in the requested state.

        Raises:
            Ended: the campaign has ended, and is asked to continue or to pause.
        """
        told = {"by": self.by, "why": self.why}
        if self.kind == "changed":
            new = {name: value for name, value in self._settings.items() if value != getattr(life, name)}
            return encode({**new, **told}) if new else None
        if STATES[self.kind] == life.state:
            return None
        if life.state == "ended":
            raise Ended(f"the campaign is {life.summary}; it makes no more decisions, and cannot be {self.kind}")
        return encode(told)


def days_of(text: str) -> float | str:
    """Read a number of days, or "off".

    Raises:
        InvalidInput: it is neither.

    >>> days_of("90 days"), days_of("1 day"), days_of("0.5"), days_of("off")
    (90.0, 1.0, 0.5, 'off')
    """
    if text.strip() == "off":
        return "off"
    try:
        return float(text.strip().removesuffix("s").removesuffix("day"))
    except ValueError:
        raise InvalidInput("retention", 'a number of days, such as "90 days", or "off"', value_text(text)) from None


def refuse_unerasable(store: Readable, name: str, log: Transaction, phase: Phase) -> None:
    """Refuse a rule that nobody could carry out.

    Raises:
        InvalidInput: the store cannot erase.
        CannotErase: the state of the policy cannot be kept, or no case can be taken out of it.
    """
    if not isinstance(log, ErasureTransaction):
        raise InvalidInput("retention", "a store that can erase", type(store).__name__)
    state = phase.policy.start(seed=0)
    for reason in refusals(state):
        raise CannotErase(f"retention: the state that an erasure keeps cannot be written: {reason}")
    event = next((e for e in store.scan(name, kinds=("decided",)) if not is_erased(e)), None)
    if event is not None:
        body = read(event)
        context = context_of(phase.encoder, phase.policy.problem.clock, body, event.at)
        forget(phase.policy, state, [(context, np.array(body["a"], np.int64))])
