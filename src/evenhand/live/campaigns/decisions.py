"""The decisions of a campaign as a log, which replays, values and curves read as they read files."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.commands import sole_campaign
from evenhand.live.campaigns.history import History, outcome_columns
from evenhand.live.log.events import read
from evenhand.live.log.proof import prove, refuse
from evenhand.live.log.replies import reply
from evenhand.live.log.store import Store
from evenhand.live.stores.opening import connect_to_read
from evenhand.logs.columns import Columns, Names, plain
from evenhand.logs.problem_file import parse
from evenhand.logs.spec import Spec

_OWN = "decision: "  # before the names of columns that are not names in cases
_FEWER = "in which only some actions were offered"
ACTION, PROBABILITY, TIME = (f"{_OWN}{name}" for name in ("action", "probability", "time"))
ADAPTIVE = (
    "the campaign learned while it decided: its propensities depend on earlier rows, which standard errors ignore"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Decided:
    """The decisions of a campaign that a log can have: observed, of one play, and with a probability that is known.

    A log says that every action could be drawn, at what the case says that it uses. Decisions whose requests stated
    otherwise, in `offered` or `known`, are not among them.

    Args:
        name: of the campaign.
        cases: what each case stated.
        plays: the action of each, its probability, and when it was decided, in microseconds since 1970.
        outcomes: by outcome, of each decision.
        notes: what was left out, and what to heed.
    """

    name: str
    cases: tuple[Mapping[str, Any], ...]
    plays: tuple[tuple[str, float, int], ...]
    outcomes: tuple[Mapping[str, float], ...]
    notes: tuple[str, ...]

    def restated(self, spec: Spec) -> Spec:
        """Return a specification that reads these decisions: cases as in the given one, all else by columns of its own.

        Raises:
            InvalidInput: a feature, group or known outcome is read from a column of such a name.
        """
        for column in (
            *spec.numeric,
            *spec.categorical,
            *spec.known_columns,
            *(g.column for g in spec.groups.values()),
        ):
            if column.startswith(_OWN):
                raise InvalidInput(spec.places[column], f"a name that does not begin with {_OWN!r}", repr(column))
        names = [o.name for o in spec.outcomes if o.is_learned or o.is_noisy]
        stated = {*spec.numeric, *spec.categorical, *([] if spec.unit is None else [spec.unit.name])}
        return replace(
            spec,
            action=ACTION,
            actions={name: name for name in spec.actions.values()},
            propensity=PROBABILITY,
            columns={name: f"{_OWN}{name} as outcome" for name in names},
            values={},
            time=None if spec.until is None else TIME,
            cluster=spec.cluster if spec.cluster in stated else None,
        )

    def read(self, spec: Spec) -> Columns:
        """Return the columns that a restated specification reads.

        Raises:
            InvalidInput: no case has one of them.
        """
        given = dict[str, list[str]]()
        given[ACTION], given[PROBABILITY] = [a for a, _, _ in self.plays], [plain(p) for _, p, _ in self.plays]
        given[TIME] = [datetime.fromtimestamp(at / 1e6, UTC).isoformat() for _, _, at in self.plays]
        free = {o.name: {a for a in spec.actions.values() if o.is_free(a)} for o in spec.outcomes}
        for name, column in spec.columns.items():
            pairs = zip(self.outcomes, given[ACTION], strict=True)
            given[column] = [_text(y.get(name, 0.0 if a in free[name] else None)) for y, a in pairs]
        stated = {name for case in self.cases for name in case}
        for column, place in spec.places.items():
            if column not in given:
                if column not in stated:
                    raise InvalidInput(f"{place}: {column!r}", f"a name in the cases of {self.name}", sorted(stated))
                given[column] = [_text(case.get(column)) for case in self.cases]
        each = {column: Names.of(given[column]) for column in spec.places}
        return Columns(each=each, lines=np.arange(1, len(self.plays) + 1), unit="decision", notes=self.notes)


def decisions(store: str | Path, campaign: str | None = None) -> Decided:
    """Return the decisions of a campaign as a log; `replay_log`, `value` and `curve` take it with its problem file.

    The problem file names what cases state. Actions, probabilities and outcomes are those of the campaign, whatever
    columns the file names for them. The store is only read.

    Args:
        store: its URL, such as "sqlite:///shop.db", or the file of a store of SQLite.
        campaign: its name, by default the only one in the store.

    Raises:
        Unknown, InvalidInput: there is no such store or campaign, or there are several and none is named; or decisions
            have several plays, or none was observed with a probability that is known.
        Damaged: the log is damaged.
    """
    place = str(store)
    with closing(connect_to_read(place if "://" in place else f"sqlite:///{place}")) as found:
        name = sole_campaign(found, campaign)
        refuse(name, prove(found, name))
        history = History.of(found, name)
        if history.plays > 1:
            raise InvalidInput("store", "a campaign with one play per decision", f"{history.plays} in {name!r}")
        rows, out = list[tuple[Mapping[str, Any], tuple[str, float, int], dict[str, float]]](), Counter[str]()
        for row in _rows(history, _playable(found, name), out):
            rows.append(row)
    left_out = tuple(_omission(count, why) for why, count in sorted(out.items()))
    if not rows:
        got = "; ".join(left_out) or "no decision"
        raise InvalidInput("store", "a campaign with observed decisions of known probability", got)
    cases, plays, outcomes = zip(*rows, strict=True)
    return Decided(name=name, cases=cases, plays=plays, outcomes=outcomes, notes=(*left_out, ADAPTIVE))


def _playable(store: Store, name: str) -> list[tuple[int, frozenset[str]]]:
    """Return the actions that were not withdrawn, each time with the event from which on that holds."""
    found, actions = list[tuple[int, frozenset[str]]](), ()
    for event in store.scan(name, kinds=("opened", "switched")):
        body = read(event)
        actions = body.get("actions", actions)
        file = body["encoding"].get("file")  # none where a program stated the problem
        withdrawn = () if file is None else parse(file[1], file[0]).withdrawn
        found.append((event.seq, frozenset(actions).difference(withdrawn)))
    return found


def _rows(
    history: History, playable: Sequence[tuple[int, frozenset[str]]], out: Counter[str]
) -> Iterator[tuple[Mapping[str, Any], tuple[str, float, int], dict[str, float]]]:
    """Yield the case, the play and the outcome of each decision that a log can have; count the others."""
    for event in history.decisions():
        state, outcomes = history.end(event)
        if state != "observed":
            out[state if state != "nothing played" else "without a play"] += 1
            continue
        body = read(event)
        told = reply(event, body, history.actions, history.ids)
        if told.probability is None or not np.isfinite(told.probability):
            out["by an unknown chance"] += 1
            continue
        _, actions = playable[bisect(playable, event.seq, key=lambda each: each[0]) - 1]
        if not actions.issubset(body.get("offered", actions)):
            out[_FEWER] += 1
            continue
        if "known" in body:
            out["made with known outcomes of their own"] += 1
            continue
        own = {name.removeprefix("outcome "): float(z) for name, z in outcome_columns(outcomes)}
        yield body.get("case", {}), (str(told.action), float(told.probability), event.at), own


def _omission(count: int, why: str) -> str:
    """Say how many decisions were left out, and why."""
    one = count == 1
    whose = why if why == _FEWER else f"that {'was' if one else 'were'} {why}"
    return f"left out: {count:,} decision{'' if one else 's'} {whose}"


def _text(value: Any) -> str:
    """Write a value as a file would have it."""
    if isinstance(value, float):
        return plain(value)
    return "" if value is None else str(value)
