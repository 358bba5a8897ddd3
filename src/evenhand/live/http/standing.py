"""Where a campaign stands, as JSON and as text for Prometheus."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from evenhand.live.campaign import Campaign
from evenhand.live.events import read
from evenhand.live.http.guard import Requests
from evenhand.policy.status import Status


class Tally:
    """What the log says beyond the status: how often each action was played, and how many decisions expired.

    It reads what is new since it was asked last.

    Args:
        campaign: whose log it reads.
    """

    def __init__(self, campaign: Campaign) -> None:
        """Nothing read yet."""
        self._campaign, self._lock, self._last = campaign, threading.Lock(), 0
        self.expired, self.played = 0, Counter[str | None]()
        self._sums, self._stated = Counter[str | None](), Counter[str | None]()

    def update(self) -> None:
        """Read on."""
        actions, store = self._campaign.policy.problem.actions, self._campaign._worker.store
        with self._lock:
            for event in store.scan(self._campaign.name, self._last, ("decided", "expired")):
                self._last = event.seq
                if event.kind == "expired":
                    self.expired += 1
                    continue
                body = read(event)
                for a, p in zip(body["a"], body["p"], strict=True):
                    name = actions[a] if a >= 0 else None
                    self.played[name] += 1
                    if a >= 0 and p is not None:
                        self._sums[name] += p
                        self._stated[name] += 1

    def probability(self, action: str | None) -> float | None:
        """The mean of an action's probabilities where it was played, None where none was stated."""
        count = self._stated[action]
        return self._sums[action] / count if count else None


def report(campaign: Campaign, status: Status, tally: Tally) -> dict[str, Any]:
    """A status as JSON, which has null where there is no number."""
    found: dict[str, Any] = _finite(asdict(status))
    for name, standing in status.standings.items():
        found["standings"][name]["kept"] = standing.kept
    found["budgets"] = found.pop("accounts")
    actions = {"": tally.played[None]} if tally.played[None] else {}
    actions |= {name: tally.played[name] for name in campaign.policy.problem.actions}
    return {
        "campaign": campaign.name,
        "policy": campaign.policy.name,
        **found,
        "expired": tally.expired,
        "actions": actions,
    }


def metrics(status: Status, tally: Tally, requests: Requests) -> str:
    """A status in the text format of Prometheus."""
    accounts = status.accounts.items()
    lines = [
        *_family("decisions_total", "counter", "Decisions that count.", [({}, status.rounds)]),
        *_family("waiting", "gauge", "Decisions whose outcomes are still to come.", [({}, status.waiting)]),
        *_family("expired_total", "counter", "Decisions whose outcomes were overdue.", [({}, tally.expired)]),
    ]
    for field in ("spent", "held", "left", "total"):
        rows = [({"budget": name}, getattr(account, field)) for name, account in accounts]
        lines += _family(f"budget_{field}", "gauge", f"Of each budget: {field}.", rows)
    averages = [({"outcome": name}, x) for name, x in status.averages.items() if not math.isnan(x)]
    lines += _family("average", "gauge", "Averages of outcomes per round.", averages)
    counted = [({"route": route, "status": str(code)}, n) for (route, code), n in requests.counts()]
    lines += _family("requests_total", "counter", "Requests by route and status.", counted)
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, text: str, rows: Iterable[tuple[Mapping[str, str], float]]) -> Iterator[str]:
    yield f"# HELP evenhand_{name} {text}"
    yield f"# TYPE evenhand_{name} {kind}"
    for labels, value in rows:
        inner = ",".join(f'{label}="{_escaped(z)}"' for label, z in labels.items())
        yield f"evenhand_{name}{{{inner}}} {value!r}" if inner else f"evenhand_{name} {value!r}"


def _escaped(text: str) -> str:
    r"""A label as Prometheus reads it.

    >>> print(_escaped('a "b"'))
    a \"b\"
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _finite(value: Any) -> Any:
    """Mappings of numbers without those that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(z) for name, z in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
