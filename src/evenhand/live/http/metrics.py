"""The metrics of campaigns in the text format of Prometheus."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from time import time as now
from typing import NamedTuple

from evenhand.live.cases import ranged
from evenhand.live.dashboard.alarms import NAMES, raised
from evenhand.live.dashboard.report import KINDS
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.watched import Watched
from evenhand.live.http.requests import ENDS, Requests, Times
from evenhand.policy.status import Status


class Row(NamedTuple):
    """A value of a metric."""

    labels: Mapping[str, str]
    value: float
    end: str = ""  # of the name, in histograms


class Family(NamedTuple):
    """A metric, with its values by labels."""

    name: str
    kind: str
    text: str
    rows: list[Row]


def metrics(standings: Mapping[str, Sequence[Family]], requests: Requests) -> str:
    """Format where campaigns stand, and the counts of requests, for Prometheus.

    Where a server has several campaigns, each value has the label `campaign`; requests of other campaigns than these
    are left out.

    Args:
        standings: what `standing` says about each campaign, by its name.
        requests: the counts of requests.
    """
    families: dict[str, Family] = {}
    for name, standing_ in standings.items():
        label = {"campaign": name} if requests.labelled else {}
        for family in standing_:
            found = families.setdefault(family.name, family._replace(rows=[]))
            found.rows.extend(row._replace(labels={**label, **row.labels}) for row in family.rows)
    shown = (*families.values(), *_of_requests(requests, standings))
    return "\n".join(line for family in shown for line in _lines(family)) + "\n"


def standing(campaign: Watched, status: Status, tally: Tally, queue: int) -> Iterator[Family]:
    """Return the state of a campaign.

    Args:
        campaign: the campaign.
        status: its status.
        tally: its tally, which is up to date.
        queue: the calls that wait for a transaction.
    """
    accounts = status.accounts.items()
    yield _one("decisions_total", "Decisions that count.", status.rounds, "counter")
    yield _one("waiting", "Decisions whose outcomes are still to come.", status.waiting)
    yield _one("paused", "1 while the campaign is paused.", int(tally.life.state == "paused"))
    yield _one("ended", "1 once the campaign has ended.", int(tally.life.state == "ended"))
    text = "Restores from a backup; decisions after each backup may be missing, and counters fall."
    yield _one("restores", text, len(tally.ids.restores))
    for kind, text in KINDS.items():
        yield _one(f"{kind}_total", text, tally.counts[kind], "counter")
    clipped = [Row({"feature": name}, tally.clipped.counts[name]) for name in ranged(campaign.encoder)]
    yield Family("clipped_total", "counter", "Decisions that stated a value out of its range.", clipped)
    found = Counter(alarm.name for alarm in raised(campaign, status, tally))
    yield _one("alarms", "Alarms, as the page has them.", found.total())
    named = [Row({"name": name}, found[name]) for name in NAMES]
    yield Family("alarm", "gauge", "Alarms by what they are about.", named)
    yield _one("log_ahead_seconds", "How far the log is ahead of the clock.", campaign.ahead)
    certain = tally.certain()
    shares = [] if certain is None else [Row({}, certain)]
    yield Family("certain_share", "gauge", "Share of the latest plays that had probability 1.", shares)
    credited = [Row({"budget": name}, tally.credited[name]) for name, _ in accounts]
    yield Family("budget_credited_total", "counter", "Decisions that stated a use below 0.", credited)
    for field in ("spent", "held", "left", "total"):
        rows = [Row({"budget": name}, getattr(account, field)) for name, account in accounts]
        yield Family(f"budget_{field}", "gauge", f"Of each budget: {field}.", rows)
    left_now = [Row({"budget": name}, a.left_now) for name, a in accounts if a.left_now is not None]
    text = "Of each budget by spans of time: left in those of the latest decision."
    yield Family("budget_left_now", "gauge", text, left_now)
    averages = [Row({"outcome": name}, x) for name, x in status.averages.items() if not math.isnan(x)]
    yield Family("average", "gauge", "Averages of outcomes per round.", averages)
    plays = [Row({"action": name}, tally.played[name]) for name in campaign.policy.problem.actions]
    yield Family("plays_total", "counter", "Plays of each action.", plays)
    age = max(now() - tally.latest / 1e6, 0.0)
    yield _one("last_event_age_seconds", "Seconds since the last event of the log.", age)
    yield _one("queue_length", "Calls that wait for a transaction.", queue)


def _one(name: str, text: str, value: float, kind: str = "gauge") -> Family:
    """Make a metric of one value."""
    return Family(name, kind, text, [Row({}, value)])


def _of_requests(requests: Requests, names: Iterable[str]) -> Iterator[Family]:
    shown = {None, *names}
    found = [(what.labels(), times) for what, times in requests.counts() if what.campaign in shown]
    counted = [
        Row({**labels, "status": str(status)}, n) for labels, z in found for status, n in sorted(z.statuses.items())
    ]
    yield Family("requests_total", "counter", "Requests by route and status.", counted)
    times = [row for labels, z in found for row in _histogram(labels, z)]
    yield Family("request_seconds", "histogram", "Seconds until requests were answered.", times)


def _histogram(labels: Mapping[str, str], times: Times) -> Iterator[Row]:
    sums = list(accumulate(times.bins))
    for end, total in zip((*map(str, ENDS), "+Inf"), sums, strict=True):
        yield Row({**labels, "le": end}, total, "_bucket")
    yield Row(labels, times.seconds, "_sum")
    yield Row(labels, sums[-1], "_count")


def _lines(family: Family) -> Iterator[str]:
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
