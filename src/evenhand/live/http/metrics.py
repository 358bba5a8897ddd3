"""Metrics for Prometheus, and counts of requests."""

from __future__ import annotations

import collections
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from platform import python_version
from time import time as now

from prometheus_client import (
    GC_COLLECTOR,
    PROCESS_COLLECTOR,
    CollectorRegistry,
    Counter,
    Histogram,
    Metric,
    generate_latest,
)
from prometheus_client.registry import Collector

from evenhand.live.dashboard.alarms import NAMES, all_alarms
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.dashboard.report import KINDS
from evenhand.live.dashboard.tally import Tally
from evenhand.live.fold.cases import ranged_features
from evenhand.live.http.places import OTHER, Place
from evenhand.live.http.quotas import Quotas
from evenhand.live.log.store import SizedStore
from evenhand.policy.status import Status
from evenhand.policy.units import UnitUse
from evenhand.version import __version__

ENDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # of the histogram, in seconds
_MOST = 1_000  # places and statuses that are looked up once: clients can ask for any


class Requests:
    """Counts answered requests by campaign, route and status; all unknown paths share one line.

    Args:
        names: of the campaigns; requests of a single one are counted without its name.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.labelled = frozenset(names), len(names) > 1
        self._all, labels = CollectorRegistry(), ("campaign", "route")
        text = "Requests by route and status."
        self._counts = Counter("evenhand_requests", text, (*labels, "status"), registry=self._all)
        text = "Seconds until requests were answered."
        self._times = Histogram("evenhand_request_seconds", text, labels, buckets=ENDS, registry=self._all)
        self._each: dict[tuple[Place, int], tuple[Counter, Histogram]] = {}  # to look labels up takes longer

    def add(self, place: Place, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._each.get(key := (place, status))
        if found is None:
            found = self._of(place, status)
            if len(self._each) < _MOST:
                self._each[key] = found
        count, times = found
        count.inc()
        times.observe(seconds)

    def _of(self, place: Place, status: int) -> tuple[Counter, Histogram]:
        """Look up the counters of a request; unknown names of campaigns share one, as there is no end of them."""
        known = place.campaign is None or place.campaign in self.names
        campaign = (place.campaign or "") if self.labelled and known else ""
        route = place.route if known else OTHER
        return self._counts.labels(campaign, route, status), self._times.labels(campaign, route)

    def metrics(self, names: Iterable[str]) -> Iterator[Metric]:
        """Yield the counts and times of requests of some campaigns, and of those that are of none."""
        campaigns = {"", *names}
        for family in self._all.collect():
            found = Metric(family.name, family.documentation, family.type)
            for name, labels, value, *_ in family.samples:
                if labels["campaign"] in campaigns and not name.endswith("_created"):
                    found.add_sample(name, {label: z for label, z in labels.items() if z}, value)
            yield found


CONTENT = "text/plain; version=0.0.4; charset=utf-8"
_Row = tuple[Mapping[str, str], float]  # labels, and the value


class _RequestCollector(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def metrics(
    standings: Mapping[str, Sequence[Metric]], requests: Requests, quotas: Quotas, backups: Path | None = None
) -> str:
    """Format the states of campaigns, the counts of requests, and the resources of the process, for Prometheus.

    Where a server has several campaigns, each value has the label `campaign`; requests of other campaigns than these
    are left out, and so are tokens that are for none of them.

    Args:
        standings: what `campaign_metrics` says about each campaign, by its name.
        requests: the counts of requests.
        quotas: of tokens.
        backups: the folder of backups, of which the age of the latest one is told; infinite if there is none.
    """
    families: dict[str, Metric] = {}
    for name, standing_ in standings.items():
        label = {"campaign": name} if requests.labelled else {}
        for family in standing_:
            found = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for sample in family.samples:
                found.add_sample(sample.name, {**label, **sample.labels}, sample.value)
    refused = [({"token": z.name}, n) for z, n in quotas.refused.values() if any(map(z.is_for, standings))]
    text = "Requests that were beyond the quota of their token."
    quota = _family("quota_refusals_total", text, refused, "counter")
    build = _family("build_info", "Versions.", [({"version": __version__, "python": python_version()}, 1.0)])
    told = "Seconds since the latest file of the folder of backups was written."
    age = [] if backups is None else [_one("backup_age_seconds", told, _age(backups))]
    process = (*PROCESS_COLLECTOR.collect(), *GC_COLLECTOR.collect())
    registry = CollectorRegistry()
    registry.register(
        _RequestCollector([*families.values(), *requests.metrics(standings), quota, build, *age, *process])
    )
    return generate_latest(registry).decode()


def _age(folder: Path) -> float:
    """The seconds since the latest file of a folder was written; those that are being written are hidden."""
    latest = -math.inf
    with suppress(OSError):  # a volume that is not there, or a file that is removed just now
        for file in os.scandir(folder):
            if not file.name.startswith(".") and file.is_file():
                latest = max(latest, file.stat().st_mtime)
    return now() - latest


def campaign_metrics(campaign: CampaignView, status: Status, tally: Tally, queue: int) -> Iterator[Metric]:
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
    yield _one("waiting_bytes", "Memory that these decisions take.", campaign.waiting_bytes)
    yield _one("paused", "1 while the campaign is paused.", int(tally.life.state == "paused"))
    yield _one("ended", "1 once the campaign has ended.", int(tally.life.state == "ended"))
    text = "Restores from a backup; decisions after each backup may be missing, and counters fall."
    yield _one("restores", text, len(tally.ids.restores))
    for kind, text in KINDS.items():
        yield _one(f"{kind}_total", text, tally.counts[kind], "counter")
    clipped = [({"feature": name}, tally.clipped.counts[name]) for name in ranged_features(campaign.encoder)]
    yield _family("clipped", "Decisions that stated a value out of its range, of those that the log has.", clipped)
    found = collections.Counter(alarm.name for alarm in all_alarms(campaign, status, tally))
    yield _one("alarms", "Alarms, as the page has them.", found.total())
    named = [({"name": name}, found[name]) for name in NAMES]
    yield _family("alarm", "Alarms by what they are about.", named)
    yield _one("log_ahead_seconds", "How far the log is ahead of the clock.", campaign.ahead)
    certain = tally.certain()
    shares: list[_Row] = [] if certain is None else [({}, certain)]
    yield _family("certain_share", "Share of the latest plays that had probability 1.", shares)
    credited = [({"budget": name}, tally.credited[name]) for name, _ in accounts]
    yield _family("budget_credited_total", "Decisions that stated a use below 0.", credited, "counter")
    for field in ("spent", "held", "left", "total"):
        rows = [({"budget": name}, getattr(account, field)) for name, account in accounts]
        yield _family(f"budget_{field}", f"Of each budget: {field}.", rows)
    left_now = [({"budget": name}, a.left_now) for name, a in accounts if a.left_now is not None]
    text = "Of each budget by spans of time: left in those of the latest decision."
    yield _family("budget_left_now", text, left_now)
    yield from _unit(status.unit)
    averages = [({"outcome": name}, x) for name, x in status.averages.items() if not math.isnan(x)]
    yield _family("average", "Averages of outcomes per round.", averages)
    plays = [({"action": name}, tally.played[name]) for name in campaign.policy.problem.actions]
    yield _family("plays_total", "Plays of each action.", plays, "counter")
    yield _one("last_event_age_seconds", "Seconds since the last event of the log.", _seconds_since(tally.latest))
    yield _one("queue_length", "Calls that wait for a transaction.", queue)
    lags = campaign.lags
    text = "Events after the latest snapshot, which a server folds when it starts."
    yield _one("unsaved_events", text, lags.unsaved)
    yield _one("unsaved_seconds", "Seconds since the first of these events.", _seconds_since(lags.unsaved_since))
    text = "Seconds since the first correction that prices and the model have not learned."
    yield _one("unlearned_seconds", text, _seconds_since(lags.unlearned_since))
    if isinstance(campaign.store, SizedStore):
        yield _one("store_bytes", "Size of the store, which campaigns may share.", campaign.store.size())


def _unit(use: UnitUse | None) -> Iterator[Metric]:
    """Yield counts of units, their caps and the actions that they keep; none without units."""
    if use is not None:
        yield _one("units", "Units that are known, such as customers.", use.known)
        reached = [({"cap": f"{z.outcome} in {z.within}"}, z.reached) for z in use.caps]
        yield _family("caps_reached_total", "Decisions for which a cap forbade an action.", reached, "counter")
        yield _one("kept_actions_total", "Decisions that kept the action of their unit.", use.kept, "counter")


def _seconds_since(microseconds: int | None) -> float:
    """The seconds since a time, 0 if there is none."""
    return 0.0 if microseconds is None else max(now() - microseconds / 1e6, 0.0)


def _one(name: str, text: str, value: float, kind: str = "gauge") -> Metric:
    """Make a metric of one value."""
    return _family(name, text, [({}, value)], kind)


def _family(name: str, text: str, rows: Iterable[_Row], kind: str = "gauge") -> Metric:
    own = name.removesuffix("_total") if kind == "counter" else name
    found = Metric(f"evenhand_{own}", text, kind)
    for labels, value in rows:
        found.add_sample(f"evenhand_{name}", dict(labels), value)
    return found
