"""Campaigns of problem files: the file that replays a log also serves cases, encoded as the log was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.registry import meant
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import file, on_disk
from evenhand.live.campaign import DAY, Campaign
from evenhand.live.cases import Case
from evenhand.live.events import Conflict, read
from evenhand.live.fold import OnExpiry
from evenhand.live.store import Store, connect
from evenhand.policy.encode import group_of, known_of, offered_of
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem
from evenhand.replay.encoding import layout
from evenhand.replay.problem_file import read_spec
from evenhand.replay.run import read_log
from evenhand.replay.spec import Spec
from evenhand.replay.systems import systems
from evenhand.replay.units import Units


@dataclass(frozen=True)
class Coded:
    """Makes contexts of cases that state the columns of a log, bit for bit as `evenhand replay` does of its rows.

    Numbers beyond those of the log count as the nearest of them.

    Args:
        spec: the problem file.
        problem: the problem that it states, with the groups and shares of the log.
        units: how columns become numbers.
    """

    spec: Spec
    problem: Problem
    units: Units

    def context(
        self, case: Case, offered: Sequence[str] | None, known: Mapping[str, Mapping[str, float] | float] | None
    ) -> Context:
        """The context of one replica.

        Raises:
            InvalidInput: a column that is missing or unknown, or a value that it cannot have.
        """
        if not isinstance(case, Mapping):
            raise InvalidInput("case", f"a mapping from {list(self._names)} to values", shown(case))
        for name in self._names:
            if name not in case:
                raise InvalidInput(name, "a value, as the problem file names the column", "none")
        for name in case:
            if name not in self._names:
                expected = f"one of {list(self._names)}, which the problem file names"
                raise InvalidInput(str(name), expected, f"an unknown name{meant(name, self._names)}")
        groups = [group_of(self.problem, name, case[g.column]) for name, g in self.spec.groups.items()]
        return Context(
            self.features(self.units.row(case)),
            known_of(self.problem, known),
            self.problem.groups_of(np.array([groups], np.int64).reshape(1, -1)),
            offered_of(self.problem, offered),
        )

    def features(self, units: Floats) -> Floats:
        """The features of every action, `(u)->(1,A,n)`."""
        return np.append(units, 0.0)[self.layout][None]  # of -1 it is the last, which is 0

    @cached_property
    def layout(self) -> Ints:
        """Which of the numbers of a case are the features of every action, -1 for 0, `->(A,n)`."""
        return layout(self.spec, self.units)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        grouped = (grouping.column for grouping in self.spec.groups.values())
        return tuple(dict.fromkeys([*self.spec.numeric, *self.spec.categorical, *grouped]))

    def to_dict(self) -> dict[str, Any]:
        """What the log fixed, for JSON; lists keep the order of groups."""
        groups = [[g.name, [[name, share] for name, share in _shares(g.shares)]] for g in self.problem.groups]
        return {"units": self.units.to_dict(), "groups": groups}


def _shares(shares: Mapping[str, float] | Sequence[str]) -> Iterator[tuple[str, float | None]]:
    for name in shares:
        yield name, shares[name] if isinstance(shares, Mapping) else None


class Stated(NamedTuple):
    """The policy of a problem file, and how its cases are encoded."""

    policy: Policy
    coded: Coded


def of_log(problem_path: Path, log_path: Path) -> Stated:
    """The policy of a problem file, with features and groups as they are in a log.

    Raises:
        InvalidInput: as for `replay_log`.
    """
    spec = read_spec(problem_path)
    encoded, _ = read_log(log_path, spec)
    return _stated(spec, encoded.levels, encoded.coding)


def of_kept(problem_path: Path, kept: Mapping[str, Any]) -> Stated:
    """The same, with features and groups as they were when a campaign was opened.

    Raises:
        InvalidInput: as for `replay_log`.
    """
    levels: dict[str, Mapping[str, float] | tuple[str, ...]] = {}
    for name, groups in kept["groups"]:
        known = all(share is not None for _, share in groups)
        levels[name] = {group: float(share) for group, share in groups} if known else tuple(g for g, _ in groups)
    return _stated(read_spec(problem_path), levels, Units.of_dict(kept["units"]))


def _stated(spec: Spec, levels: Mapping[str, Mapping[str, float] | Sequence[str]], units: Units) -> Stated:
    policy = systems(spec.problem(levels), spec.settings, layout(spec, units).shape[1])[0]
    return Stated(policy, Coded(spec, policy.problem, units))


@dataclass(frozen=True)
class Rows:
    """The rows of the log that fixed an encoding, as a teacher of a policy: outcomes alone, as nothing was spent.

    Args:
        stated: the policy and the encoding.
        path: of the log.
    """

    stated: Stated
    path: Path

    @cached_property
    def mark(self) -> str:
        """A hash of the file."""
        with on_disk("log", "a file that can be read"):
            return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def teach(self, policy: Policy, state: PolicyState) -> None:
        """Teach a fresh state every row, in their order."""
        coded, problem = self.stated.coded, policy.problem
        encoded, _ = read_log(self.path, coded.spec)
        known, everything = problem.declared[None], np.ones((1, len(problem.actions)), bool)
        groups = np.stack(encoded.groups, 1) if encoded.groups else np.zeros((len(encoded.actions), 0), np.int64)
        for i, action in enumerate(encoded.actions.tolist()):
            columns = problem.groups_of((groups[i] + problem.ends[:-1])[None])
            context = Context(coded.features(encoded.units[i]), known, columns, everything)
            outcomes = dict(zip(problem.observed, encoded.outcomes[i].tolist(), strict=True))
            policy.teach(state, context, problem.actions[action], outcomes)


def open_campaign(
    store: str | Store,
    name: str,
    problem_path: str | Path,
    *,
    log_path: str | Path | None = None,
    learn: bool = True,
    seed: int = 0,
    patience: float = DAY,
    on_expiry: OnExpiry = "hold",
) -> Campaign:
    """Open a campaign of a problem file, which `evenhand replay` reads as well.

    The log fixes, once, how cases are encoded: ranges, levels, groups and their shares. The campaign keeps that, and is
    opened again without the log, unless it learned from it.

    Args:
        store, name, seed, patience, on_expiry: as for `Campaign.open`.
        problem_path: a TOML file that says what is decided, and how.
        log_path: a CSV file with a header, for a new campaign.
        learn: whether the policy learns the outcomes of the log before the first decision; nothing is spent by that.

    Raises:
        InvalidInput: a file that cannot be used, or a new campaign without a log.
        Conflict: the campaign was opened with another problem file or log.
        Busy: the store cannot be written.
    """
    place, problem_path = connect(store) if isinstance(store, str) else store, file("problem_path", problem_path)
    log = None if log_path is None else file("log_path", log_path)
    first = next(iter(place.scan(name)), None)
    kept = None if first is None else read(first)["encoding"]
    if kept is None:
        if log is None:
            raise InvalidInput("log_path", "the path of a log, which fixes how cases are encoded", "none")
        stated = of_log(problem_path, log)
    else:
        stated = of_kept(problem_path, kept)
        if log is not None and of_log(problem_path, log).coded.to_dict() != kept:
            raise Conflict(f"campaign {name!r} encodes cases as another log did: leave out {log.name}")
    return Campaign.open(
        place,
        name,
        stated.policy,
        seed=seed,
        patience=patience,
        on_expiry=on_expiry,
        encoder=stated.coded,
        teacher=Rows(stated, log) if learn and log is not None else None,
    )
