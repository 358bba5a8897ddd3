"""Campaigns of problem files: cases are encoded as `evenhand replay` encodes the log of the same file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.validate import as_weight, file, on_disk
from evenhand.live.beginning import DAY, New, begin
from evenhand.live.campaign import Campaign
from evenhand.live.cases import Encoder, alike
from evenhand.live.coded import Coded, Text, leased, of_file, of_log, of_stored
from evenhand.live.events import Conflict, Unknown, read
from evenhand.live.leases.books import refuse_pool
from evenhand.live.leases.lease import Lease
from evenhand.live.life import OnExpiry
from evenhand.live.opening import Terms
from evenhand.live.phases import begins, mark_in
from evenhand.live.stores.base import Store
from evenhand.live.stores.opening import opened
from evenhand.live.taught import Taught
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.policy.teaching import refuse_weight
from evenhand.problem.ended import After
from evenhand.replay.log import read_rows
from evenhand.replay.problem_file import parse

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
        if not isinstance(encoder, Coded):
            raise InvalidInput("policy", "one of a problem file, as it learns from a log", policy.name)
        coded, problem = encoder, policy.problem
        encoded = read_rows(self.path, coded.spec.untimed, problem.actions).encoded  # some may be appended since
        everything = np.ones((1, len(problem.actions)), bool)
        weight = coded.spec.log_weight if self.weight is None else self.weight
        groups = np.stack(encoded.groups, 1) if encoded.groups else np.zeros((len(encoded.actions), 0), np.int64)
        start = None if problem.until is None else np.zeros(1)  # nothing is charged to a span
        for i, action in enumerate(encoded.actions.tolist()):
            columns = problem.groups_of((groups[i] + problem.ends[:-1])[None])
            known = problem.declared[None] if encoded.known is None else encoded.known[i : i + 1]
            context = Context(coded.features(encoded.units[i]), known, columns, everything, start)
            outcomes = dict(zip(problem.observed, encoded.outcomes[i].tolist(), strict=True))
            policy.teach(state, context, problem.actions[action], outcomes, weight=weight)


def open_campaign(
    store: str | Store,
    name: str,
    problem_path: str | Path,
    *,
    log_path: str | Path | None = None,
    learn: bool | float = True,
    seed: int = 0,
    patience: float = DAY,
    on_expiry: OnExpiry = "hold",
) -> Campaign:
    """Open a campaign from a problem file in the format of `evenhand replay`.

    The log or the problem file fixes the encoding of cases once: ranges, levels, groups and their shares. The campaign
    stores the encoding, and what the policy learned from the log, so it can be opened again without the log. A policy
    that learned from at least as many rows as its warm-up is long has no warm-up.

    Args:
        store, name, seed, patience, on_expiry: as for `Campaign.open`.
        problem_path: a TOML file that states the problem, the policy, and what a new campaign answers after the
            horizon.
        log_path: a CSV file with a header, for a new campaign whose problem file leaves ranges, levels or groups to it.
        learn: whether the policy learns from the log before the first decision, without spending budgets. A
            number says as how many observations a row counts; True leaves that to the campaign if it was opened with a
            number, else to `log_weight` of the problem file.

    Raises:
        InvalidInput: a file cannot be used, or leaves ranges, levels or groups to a log that is not given; a weight
            that is none, or of a log that is not learned.
        Conflict: the campaign was opened with another problem file, log or weight.
        Busy: the store cannot be written.
    """
    stated = {"seed": seed, "patience": patience, "on_expiry": on_expiry}
    return open_stated(store, name, problem_path, log_path=log_path, learn=learn, stated=stated)


def open_stated(
    store: str | Store,
    name: str,
    problem_path: str | Path,
    *,
    log_path: str | Path | None,
    learn: bool | float,
    stated: Mapping[str, Any],
    lease: Lease | None = None,
) -> Campaign:
    """Open a campaign as `open_campaign` does, with any settings of `New`.

    Args:
        store, name, problem_path, log_path, learn: as for `open_campaign`.
        stated: settings of a new campaign by name, before those of the problem file.
        lease: of a new campaign whose budgets are not its own; one that is there has that of its log.
    """
    text, log = _files(problem_path, log_path)
    with opened(store) as place:
        kept = last_encoding(place, name)
        if kept is None:
            found = of_file(text) if log is None else of_log(text, log, learn)
            found = found if lease is None else leased(found, lease)
        else:
            found = of_stored(kept, text)
            plain = {key: value for key, value in kept.items() if key not in ("taught", "lease")}
            if log is not None and not alike(of_log(text, log, first=_first(place, name)).coded, plain):
                raise Conflict(f"campaign {name!r} encodes cases as another log did: leave out {log.name}")
        rows, spec = _rows(log, learn, place, name), found.coded.spec
        if rows is not None:
            refuse_weight(found.policy.model, spec.log_weight if rows.weight is None else rows.weight)
        teacher = taught(place, name, rows)
        own = {} if spec.after is None else {"after": spec.after}
        worker = begin(place, name, found.policy, New(**{**own, **stated}), found.coded, teacher)
        if teacher is not None:
            teacher.keep()
    return _owned(store, Campaign(worker, worker.terms))


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
    text, log = _files(problem_path, log_path)
    with opened(store) as place:
        kept = last_encoding(place, name)
        if kept is None:
            raise Unknown(f"no campaign {name!r}; the store has {list(place.campaigns())}")
        before = of_stored(kept)
        stated = of_stored(kept, text) if log is None else of_log(text, log, before.coded.taught, _first(place, name))
        if before.coded.lease is not None and log is not None:
            stated = leased(stated, before.coded.lease)
        teacher = taught(place, name, _rows(log, learn, place, name))
        try:
            campaign = Campaign.open(place, name, before.policy, encoder=before.coded, teacher=teacher)
        except Conflict:
            if mark_in(begins(place, name)[-1]) != stated.policy.fingerprint():
                raise
            campaign = Campaign.open(place, name, stated.policy, encoder=stated.coded, teacher=teacher)  # just switched
        encoded_alike = alike(stated.coded, before.coded.to_dict())
        if stated.policy.fingerprint() != campaign.policy.fingerprint() or not encoded_alike:
            campaign.switch(stated.policy, stated.coded, by=by, why=why, expected=expected)
        if teacher is not None:
            teacher.keep()
    return _owned(store, campaign)


def unused(text: Text, now: After) -> str | None:
    """Say that the setting for cases after the horizon differs from the problem file; None if it is.

    A file states it for a new campaign. Later it is changed by a request of its own, which a switch does not undo.
    """
    stated = parse(text.text, text.name).after
    if stated is None or stated == now:
        return None
    told = f"the campaign has {now!r}, which `evenhand change --after` changes"
    return f"after = {stated!r} of {text.name} is not used: {told}"


def _owned(store: str | Store, campaign: Campaign) -> Campaign:
    """Let a campaign close the store that was opened for it."""
    return campaign if campaign.store is store else Campaign(campaign._worker, campaign.terms, owner=True)


def _files(problem: str | Path, log: str | Path | None) -> tuple[Text, Path | None]:
    """Read a problem file, and find a log."""
    return Text.of(file("problem_path", problem)), None if log is None else file("log_path", log)


def taught(store: Store, name: str, rows: Rows | None) -> Taught | None:
    """Return what trains the policy of a campaign: rows of a log, or data in the store; None if nothing does."""
    if rows is not None:
        return Taught(store, name, rows.mark, rows)
    first = next(iter(store.scan(name)), None)
    mark = None if first is None else Terms.of(first).taught
    return None if mark is None else Taught(store, name, mark, None)


def _rows(log: Path | None, learn: bool | float, store: Store, name: str) -> Rows | None:
    if isinstance(learn, bool):
        return Rows(log, weight_of(store, name)) if learn and log is not None else None
    if log is None:
        raise InvalidInput("weight", "none without a log to learn from", learn)
    return Rows(log, learn)


def _first(store: Store, campaign: str) -> Sequence[str] | None:
    """Return the actions with which a campaign was opened, of which its log has rows; None if that is not kept."""
    found: list[str] | None = read(next(iter(store.scan(campaign)))).get("actions")
    return found


def weight_of(store: Store, campaign: str) -> float | None:
    """Return the weight that a campaign was opened with for the rows of its log, None if none was stated."""
    first = next(iter(store.scan(campaign)), None)
    taught = None if first is None else Terms.of(first).taught
    _, _, stated = (taught or "").partition(_AT)
    return float(stated) if stated else None


def last_encoding(store: Store, campaign: str) -> Mapping[str, Any] | None:
    """Return the stored encoding of a campaign's current policy; None if there is no such campaign.

    Raises:
        InvalidInput: the campaign was not opened with a problem file, or is a pool.
    """
    *_, last = None, *store.scan(campaign, kinds=("opened", "switched"))
    if last is None:
        refuse_pool(store, campaign)
        return None
    found: Mapping[str, Any] = read(last)["encoding"]
    if "units" not in found:
        raise InvalidInput("name", "a campaign that was opened with a problem file", f"{campaign!r}, which was not")
    return found
