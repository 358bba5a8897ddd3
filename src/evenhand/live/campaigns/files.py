"""Campaigns of problem files: cases are encoded as `evenhand replay` encodes the log of the same file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.validate import as_weight, file, on_disk
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.problem_files import encoding, first_actions, last_encoding, of_campaign, refusal
from evenhand.live.fold.cases import Encoder, Teacher, alike
from evenhand.live.fold.column_encoder import (
    ColumnEncoder,
    FilePolicy,
    Text,
    of_file,
    of_log,
    policy_of_campaign,
    with_totals_of,
)
from evenhand.live.fold.event_schema import naming_damage
from evenhand.live.fold.first_event import Terms, refuse_no_fallback
from evenhand.live.fold.lease import Lease
from evenhand.live.fold.training import Taught
from evenhand.live.log.events import Conflict
from evenhand.live.log.life import OnExpiry
from evenhand.live.log.store import Store
from evenhand.live.stores.opening import open_or_use
from evenhand.live.worker.start import DAY, New, begin
from evenhand.logs.log import read_rows
from evenhand.logs.problem_file import parse
from evenhand.policy.adoption import refuse_weight
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.problem.end import After

_AT = " at weight "


@dataclass(frozen=True)
class Rows:
    """Trains policies of problem files on the rows of a log; only models learn, and no budget is spent.

    Raises:
        InvalidInput: a weight outside of [1e-6, 1e6].
    """

    path: Path
    weight: float | None = None  # of a row, in observations; None leaves it to the problem file

    def __post_init__(self) -> None:
        if self.weight is not None:
            as_weight("weight", self.weight)

    @cached_property
    def mark(self) -> str:
        with on_disk("log", "a file that can be read"):
            own = hashlib.sha256(self.path.read_bytes()).hexdigest()
        return own if self.weight is None else f"{own}{_AT}{float(self.weight)!r}"

    def teach(self, policy: Policy, encoder: Encoder, state: PolicyState) -> None:
        """Train a new state on every row, in order."""
        if not isinstance(encoder, ColumnEncoder):
            raise InvalidInput("policy", "one of a problem file, as it learns from a log", policy.name)
        coded, problem = encoder, policy.problem
        encoded = read_rows(self.path, coded.spec.untimed, problem.actions).encoded  # some may be appended since
        everything = np.ones((1, len(problem.actions)), bool)
        weight = coded.spec.log_weight if self.weight is None else self.weight
        groups = np.stack(encoded.groups, 1) if encoded.groups else np.zeros((len(encoded.actions), 0), np.int64)
        units, start = encoded.units[:], None if problem.until is None else np.zeros(1)  # nothing is charged to a span
        for i, action in enumerate(encoded.actions.tolist()):
            columns = problem.groups_of((groups[i] + problem.ends[:-1])[None])
            known = problem.declared[None] if encoded.known is None else encoded.known[i : i + 1]
            context = Context(coded.features(units[i]), known, columns, everything, start)
            outcomes = dict(zip(problem.observed, encoded.outcomes[i].tolist(), strict=True))
            policy.teach(state, context, problem.actions[action], outcomes, weight=weight)


def open_campaign(
    store: str | Store,
    name: str,
    problem_path: str | Path | None = None,
    *,
    log_path: str | Path | None = None,
    learn: bool | float = True,
    seed: int = 0,
    patience: float = DAY,
    on_expiry: OnExpiry = "hold",
) -> Campaign:
    """Begin a campaign of a problem file in the format of `evenhand replay`, or continue one as its log has it.

    The log or the problem file fixes the encoding of cases once: ranges, levels, groups and their shares. The campaign
    stores the file, the encoding, and what the policy learned from the log, so it can be opened again by its name
    alone. A file that is given again has to be its present one, or an earlier one: a warning then says which event
    superseded it. A policy that learned from at least as many rows as its warm-up is long has no warm-up.

    Args:
        store, name, seed, patience, on_expiry: as for `Campaign.open`.
        problem_path: a TOML file that states the problem, the policy, and what a new campaign answers after the
            horizon; None continues a campaign.
        log_path: a CSV file with a header, for a new campaign whose problem file leaves ranges, levels or groups to it.
        learn: whether the policy learns from the log before the first decision, without spending budgets. A
            number says as how many observations a row counts; True leaves that to the campaign if it was opened with a
            number, else to `log_weight` of the problem file.

    Raises:
        Unknown: there is no such campaign, and no problem file to begin it.
        InvalidInput: a file cannot be used, or leaves ranges, levels or groups to a log that is not given; a weight
            that is none, or of a log that is not learned; or a new campaign is to settle by fallbacks, and a hard
            budget waits for an outcome without one.
        Conflict: the campaign never had this problem file, or was opened with another log or weight.
        Busy: the store cannot be written.
    """
    stated = {"seed": seed, "patience": patience, "on_expiry": on_expiry}
    return open_with_settings(store, name, problem_path, log_path=log_path, learn=learn, stated=stated)


def open_with_settings(
    store: str | Store,
    name: str,
    problem_path: str | Path | None,
    *,
    log_path: str | Path | None,
    learn: bool | float,
    stated: Mapping[str, Any],
    lease: Lease | None = None,
    switch: bool = False,
) -> Campaign:
    """Open a campaign as `open_campaign` does, with any settings of `New`.

    Args:
        store, name, problem_path, log_path, learn: as for `open_campaign`.
        stated: settings of a new campaign by name, before those of the problem file.
        lease: of a new campaign whose budgets are not its own; one that is there has that of its log.
        switch: whether the campaign continues with a problem file that it never had.
    """
    text = None if problem_path is None else Text.of(file("problem_path", problem_path))
    log = _log(log_path)

    def made(place: Store) -> Campaign:
        is_new = text is not None and last_encoding(place, name) is None
        found = _new(text, log, learn, lease) if text is not None and is_new else of_campaign(place, name, text, log)
        if found is None:
            assert text is not None  # else it is that of the log
            if switch:
                return _switch(place, name, text, log, learn)
            raise refusal(place, name, text)
        rows, spec = _rows(log, learn, place, name), found.coded.spec
        if rows is not None:
            refuse_weight(found.policy.model, spec.log_weight if rows.weight is None else rows.weight)
        teacher = taught(place, name, rows)
        if is_new:
            if stated.get("on_expiry") == "fallback":
                refuse_no_fallback(found.policy)
            own = {} if spec.after is None else {"after": spec.after}
            worker = begin(place, name, found.policy, New(**{**own, **stated}), found.coded, teacher)
            campaign = Campaign(worker, worker.terms)
        else:
            campaign = continue_campaign(place, name, teacher)
        if teacher is not None:
            teacher.keep()
        return campaign

    with open_or_use(store) as place, naming_damage(place, name):
        return _own_store(store, _retry(place, name, partial(made, place)))


def _new(
    text: Text, log: Path | None, learn: bool | float, lease: Lease | None, first: Sequence[str] | None = None
) -> FilePolicy:
    """Return the policy of a problem file and the encoding of a log, or else that of the file, under a lease."""
    found = of_file(text) if log is None else of_log(text, log, learn, first)
    return found if lease is None else with_totals_of(found, lease)


def continue_campaign(store: Store, name: str, teacher: Teacher | None) -> Campaign:
    """Continue a campaign with the problem file that its log has, even if others switch or erase meanwhile.

    Args:
        store, name: of the campaign.
        teacher: see `taught`.

    Raises:
        Unknown: there is no such campaign.
        InvalidInput: it was not opened with a problem file.
        Conflict: it was switched to a policy that was written in Python, learned from another log, or decides under a
            later version of evenhand.
        Busy: the store cannot be written.
    """

    def made() -> Campaign:
        stated = policy_of_campaign(encoding(store, name))
        worker = begin(store, name, stated.policy, New(), stated.coded, teacher)
        return Campaign(worker, worker.terms)

    return _retry(store, name, made)


def _retry(store: Store, name: str, call: Callable[[], Campaign]) -> Campaign:
    """Open a campaign, and do so again if it fails as others began, switched or erased in between."""
    while True:
        before = _last_event_to_read(store, name)
        try:
            return call()
        except Conflict:
            if _last_event_to_read(store, name) == before:
                raise


def _last_event_to_read(store: Store, name: str) -> int:
    """Return the number of the last event that an opened campaign has to have read, 0 if there is none."""
    *_, last = 0, *(event.seq for event in store.scan(name, kinds=("opened", "switched", "erased")))
    return last


def switch_campaign(
    store: str | Store,
    name: str,
    problem_path: str | Path,
    *,
    log_path: str | Path | None = None,
    learn: bool | float = True,
    by: str | None = None,
    why: str | None = None,
    expected: str | None = None,
) -> Campaign:
    """Open a campaign from a problem file, and continue it with the policy of another one.

    Servers that run take the new file from the log at their next request.

    Args:
        store, name, problem_path, log_path, learn: as for `open_campaign`. Cases are encoded as the
            new log fixes it, by default as before.
        by, why, expected: as for `Campaign.switch`.

    Raises:
        Unknown: there is no such campaign.
        InvalidInput: as for `open_campaign`, or as for `Campaign.switch`.
        Conflict: the problem file has other columns, the policy learned from another log, or somebody else was first.
        Busy: the store cannot be written.
    """
    text, log = Text.of(file("problem_path", problem_path)), _log(log_path)
    with open_or_use(store) as place:
        return _own_store(store, _switch(place, name, text, log, learn, by, why, expected))


def _switch(
    store: Store,
    name: str,
    text: Text,
    log: Path | None,
    learn: bool | float,
    by: str | None = None,
    why: str | None = None,
    expected: str | None = None,
) -> Campaign:
    """Switch a campaign as `switch_campaign` does."""
    kept = encoding(store, name)
    before = policy_of_campaign(kept)
    if log is None:
        stated = policy_of_campaign(kept, text)
    else:
        stated = _new(text, log, before.coded.taught, before.coded.lease, first_actions(store, name))
    teacher = taught(store, name, _rows(log, learn, store, name))
    campaign = continue_campaign(store, name, teacher)
    same = stated.policy.fingerprint() == campaign.policy.fingerprint()
    if not same or not alike(stated.coded, campaign.encoder.to_dict()):
        mark = expected or before.policy.fingerprint()
        campaign.switch(stated.policy, stated.coded, by=by, why=why, expected=mark)
    if teacher is not None:
        teacher.keep()
    return campaign


def horizon_difference(text: Text, now: After) -> str | None:
    """Return a sentence if the setting for cases after the horizon differs from the problem file, else None.

    A file states it for a new campaign. Later it is changed by a request of its own, which a switch does not undo.
    """
    stated = parse(text.text, text.name).after
    if stated is None or stated == now:
        return None
    told = f"the campaign has {now!r}, which `evenhand change --after` changes"
    return f"after = {stated!r} of {text.name} is not used: {told}"


def _own_store(store: str | Store, campaign: Campaign) -> Campaign:
    """Let a campaign close the store that was opened for it."""
    return campaign if campaign.store is store else Campaign(campaign._worker, campaign.terms, owner=True)


def _log(path: str | Path | None) -> Path | None:
    return None if path is None else file("log_path", path)


def taught(store: Store, name: str, rows: Rows | None) -> Taught | None:
    """Return the teacher of a campaign's policy, from rows of a log or data in the store; None if there are none."""
    if rows is not None:
        return Taught(store, name, rows.mark, rows)
    first = next(iter(store.scan(name)), None)
    mark = None if first is None else Terms.of(first).taught
    return None if mark is None else Taught(store, name, mark, None)


def teacher_of(store: Store, name: str, log: Path | None) -> Taught | None:
    """Return the teacher of an existing campaign's policy, by default from the data in its store."""
    return taught(store, name, _rows(log, True, store, name))


def _rows(log: Path | None, learn: bool | float, store: Store, name: str) -> Rows | None:
    if isinstance(learn, bool):
        return Rows(log, weight_of(store, name)) if learn and log is not None else None
    if log is None:
        raise InvalidInput("weight", "none without a log to learn from", learn)
    return Rows(log, learn)


def weight_of(store: Store, campaign: str) -> float | None:
    """Return the weight that a campaign was opened with for the rows of its log, None if none was stated."""
    first = next(iter(store.scan(campaign)), None)
    taught = None if first is None else Terms.of(first).taught
    _, _, stated = (taught or "").partition(_AT)
    return float(stated) if stated else None
