"""The metrics of campaigns in the text format of Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from time import time as now
from typing import NamedTuple

from evenhand.live.dashboard.report import KINDS
from evenhand.live.dashboard.tally import Tally
from evenhand.live.http.requests import ENDS, Requests, Times
from evenhand.policy.status import Status


class Row(NamedTuple):
    """A value of a metric."""

    labels: Mapping[str, str]
    value: float
    end: str = ""  # of the name, in histograms


class Standing(NamedTuple):
    """Where a campaign stands."""

    name: str
    status: Status
    tally: Tally
    actions: Sequence[str]
    queue: int  # calls that wait for a transaction


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
        for family in _of_campaign(standing):
            found = families.setdefault(family.name, family._replace(rows=[]))
            found.rows.extend(row._replace(labels={**label, **row.labels}) for row in family.rows)
    names = {standing.name for standing in standings}
    return "\n".join(line for z in (*families.values(), *_of_requests(requests, names)) for line in _lines(z)) + "\n"


def _of_campaign(standing: Standing) -> Iterator[_Family]:
    status, tally = standing.status, standing.tally
    accounts = status.accounts.items()
    yield _Family("decisions_total", "counter", "Decisions that count.", [Row({}, status.rounds)])
    yield _Family("waiting", "gauge", "Decisions whose outcomes are still to come.", [Row({}, status.waiting)])
    for kind, text in KINDS.items():
        yield _Family(f"{kind}_total", "counter", text, [Row({}, tally.counts[kind])])
    credited = [Row({"budget": name}, tally.credited[name]) for name, _ in accounts]
    yield _Family("budget_credited_total", "counter", "Decisions that stated a use below 0.", credited)
    for field in ("spent", "held", "left", "total"):
        rows = [Row({"budget": name}, getattr(account, field)) for name, account in accounts]
        yield _Family(f"budget_{field}", "gauge", f"Of each budget: {field}.", rows)
    averages = [Row({"outcome": name}, x) for name, x in status.averages.items() if not math.isnan(x)]
    yield _Family("average", "gauge", "Averages of outcomes per round.", averages)
    plays = [Row({"action": name}, tally.played[name]) for name in standing.actions]
    yield _Family("plays_total", "counter", "Plays of each action.", plays)
    age = max(now() - tally.latest / 1e6, 0.0)
    yield _Family("last_event_age_seconds", "gauge", "Seconds since the last event of the log.", [Row({}, age)])
    yield _Family("queue_length", "gauge", "Calls that wait for a transaction.", [Row({}, standing.queue)])


def _of_requests(requests: Requests, names: Iterable[str]) -> Iterator[_Family]:
    shown = {None, *names}
    found = [(what.labels(), times) for what, times in requests.counts() if what.campaign in shown]
    counted = [
        Row({**labels, "status": str(status)}, n) for labels, z in found for status, n in sorted(z.statuses.items())
    ]
    yield _Family("requests_total", "counter", "Requests by route and status.", counted)
    times = [row for labels, z in found for row in _histogram(labels, z)]
    yield _Family("request_seconds", "histogram", "Seconds until requests were answered.", times)


def _histogram(labels: Mapping[str, str], times: Times) -> Iterator[Row]:
    sums = list(accumulate(times.bins))
    for end, total in zip((*map(str, ENDS), "+Inf"), sums, strict=True):
        yield Row({**labels, "le": end}, total, "_bucket")
    yield Row(labels, times.seconds, "_sum")
    yield Row(labels, sums[-1], "_count")


def _lines(family: _Family) -> Iterator[str]:
    name = f"evenhand_{family.name}"
    yield f"# HELP {name} {family.text}"
    yield f"# TYPE {name} {family.kind}"
    for labels, value, end in family.rows:
        inner = ",".join(f'{label}="{_escape(z)}"' for label, z in labels.items())
        yield f"{name}{end}{{{inner}}} {value!r}" if inner else f"{name}{end} {value!r}"


def _escape(text: str) -> str:
    r"""Escape a label for Prometheus.

    >>> print(_escape('a "b"'))
    a \"b\"
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
