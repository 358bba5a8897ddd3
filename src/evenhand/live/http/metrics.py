"""The metrics of campaigns in the text format of Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evenhand.live.dashboard.report import KINDS
from evenhand.live.dashboard.tally import Tally
from evenhand.live.http.requests import Requests
from evenhand.policy.status import Status

Row = tuple[Mapping[str, str], float]


class Standing(NamedTuple):
    """Where a campaign stands."""

    name: str
    status: Status
    tally: Tally


class _Family(NamedTuple):
    """A metric, with its values by labels."""

    name: str
    kind: str
    text: str
    rows: list[Row]


def metrics(standings: Sequence[Standing], requests: Requests) -> str:
    """Format where campaigns stand, and the counts of requests, for Prometheus.

    Where a server has several campaigns, each value has the label `campaign`; requests of other campaigns than these
    are left out.
    """
    families: dict[str, _Family] = {}
    for standing in standings:
        label = {"campaign": standing.name} if requests.labelled else {}
        for family in _of_campaign(standing.status, standing.tally):
            found = families.setdefault(family.name, family._replace(rows=[]))
            found.rows.extend(({**label, **labels}, value) for labels, value in family.rows)
    names = {standing.name for standing in standings}
    return "\n".join(line for z in (*families.values(), *_of_requests(requests, names)) for line in _lines(z)) + "\n"


def _of_campaign(status: Status, tally: Tally) -> Iterator[_Family]:
    accounts = status.accounts.items()
    yield _Family("decisions_total", "counter", "Decisions that count.", [({}, status.rounds)])
    yield _Family("waiting", "gauge", "Decisions whose outcomes are still to come.", [({}, status.waiting)])
    for kind, text in KINDS.items():
        yield _Family(f"{kind}_total", "counter", text, [({}, tally.counts[kind])])
    credited: list[Row] = [({"budget": name}, tally.credited[name]) for name, _ in accounts]
    yield _Family("budget_credited_total", "counter", "Decisions that stated a use below 0.", credited)
    for field in ("spent", "held", "left", "total"):
        rows: list[Row] = [({"budget": name}, getattr(account, field)) for name, account in accounts]
        yield _Family(f"budget_{field}", "gauge", f"Of each budget: {field}.", rows)
    averages: list[Row] = [({"outcome": name}, x) for name, x in status.averages.items() if not math.isnan(x)]
    yield _Family("average", "gauge", "Averages of outcomes per round.", averages)


def _of_requests(requests: Requests, names: Iterable[str]) -> Iterator[_Family]:
    shown = {None, *names}
    counted: list[Row] = [
        ({**what.labels(), "route": what.route, "status": str(status)}, number)
        for what, status, number in requests.counts()
        if what.campaign in shown
    ]
    yield _Family("requests_total", "counter", "Requests by route and status.", counted)


def _lines(family: _Family) -> Iterator[str]:
    name = f"evenhand_{family.name}"
    yield f"# HELP {name} {family.text}"
    yield f"# TYPE {name} {family.kind}"
    for labels, value in family.rows:
        inner = ",".join(f'{label}="{_escape(z)}"' for label, z in labels.items())
        yield f"{name}{{{inner}}} {value!r}" if inner else f"{name} {value!r}"


def _escape(text: str) -> str:
    r"""Escape a label for Prometheus.

    >>> print(_escape('a "b"'))
    a \"b\"
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
