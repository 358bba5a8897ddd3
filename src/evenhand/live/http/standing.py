"""Where a campaign stands, as JSON and as text for Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from evenhand.live.campaign import Campaign
from evenhand.live.http.alarms import alarms
from evenhand.live.http.guard import Requests
from evenhand.live.http.tally import Tally
from evenhand.policy.status import Status

KINDS = {
    "observed": "Decisions whose outcomes came.",
    "late": "Decisions whose outcomes came after they had expired.",
    "expired": "Decisions whose outcomes were overdue.",
    "cancelled": "Decisions that were taken back.",
    "revised": "Outcomes that were replaced.",
}


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
        **{kind: tally.counts[kind] for kind in KINDS},
        "delay": {"median": tally.delays.quantile(0.5), "90%": tally.delays.quantile(0.9)},
        "reference": tally.reference()[0],
        "alarms": alarms(campaign, status, tally),
        "actions": actions,
    }


def metrics(status: Status, tally: Tally, requests: Requests) -> str:
    """A status in the text format of Prometheus."""
    accounts = status.accounts.items()
    lines = [
        *_family("decisions_total", "counter", "Decisions that count.", [({}, status.rounds)]),
        *_family("waiting", "gauge", "Decisions whose outcomes are still to come.", [({}, status.waiting)]),
    ]
    for kind, text in KINDS.items():
        lines += _family(f"{kind}_total", "counter", text, [({}, tally.counts[kind])])
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
