"""Counts and times of answered requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, Metric

from evenhand.live.http.places import OTHER, Place

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
        """Look up what counts requests; names of campaigns that are not there would be without end."""
        known = place.campaign is None or place.campaign in self.names
        campaign = (place.campaign or "") if self.labelled and known else ""
        route = place.route if known else OTHER
        return self._counts.labels(campaign, route, status), self._times.labels(campaign, route)

    def shown(self, names: Iterable[str]) -> Iterator[Metric]:
        """Yield the counts and times of requests of some campaigns, and of those that are of none."""
        campaigns = {"", *names}
        for family in self._all.collect():
            found = Metric(family.name, family.documentation, family.type)
            for name, labels, value, *_ in family.samples:
                if labels["campaign"] in campaigns and not name.endswith("_created"):
                    found.add_sample(name, {label: z for label, z in labels.items() if z}, value)
            yield found
