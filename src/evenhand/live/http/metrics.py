"""The metrics of a campaign in the text format of Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from evenhand.live.dashboard.report import KINDS
from evenhand.live.dashboard.tally import Tally
from evenhand.live.http.requests import Requests
from evenhand.policy.status import Status


def metrics(status: Status, tally: Tally, requests: Requests) -> str:
    """Format a status, a tally and the counts of requests for Prometheus."""
    accounts = status.accounts.items()
    lines = [
        *_family("decisions_total", "counter", "Decisions that count.", [({}, status.rounds)]),
        *_family("waiting", "gauge", "Decisions whose outcomes are still to come.", [({}, status.waiting)]),
    ]
    for kind, text in KINDS.items():
        lines += _family(f"{kind}_total", "counter", text, [({}, tally.counts[kind])])
    credited = [({"budget": name}, tally.credited[name]) for name, _ in accounts]
    lines += _family("budget_credited_total", "counter", "Decisions that stated a use below 0.", credited)
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
        inner = ",".join(f'{label}="{_escape(z)}"' for label, z in labels.items())
        yield f"evenhand_{name}{{{inner}}} {value!r}" if inner else f"evenhand_{name} {value!r}"


def _escape(text: str) -> str:
    r"""Escape a label for Prometheus.

    >>> print(_escape('a "b"'))
    a \"b\"
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
