"""Campaigns under one pool for tests: their problem file, and the books as raw events say them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import NamedTuple

TOTAL = 3000.0
WORST = 3.0  # what a letter can cost
PROBLEM = """
maximize = "answer"
horizon = 5000

[features]
numeric = ["age"]

[features.ranges]
age = [20, 60]

[action]
column = "sent"
values = { "" = "none", "L" = "letter" }

[outcomes.answer]
range = [0, 1]

[outcomes.cents]
range = [0, 3]
free = ["none"]
fallback = 3

[[budget]]
outcome = "cents"
rate = 1
hard = true

[policy]
name = "resolving"
warmup = 0
"""


class Moved(NamedTuple):
    """An event that changed the lease of a campaign."""

    at: int
    taken: int
    returned: int
    unit: float

    @property
    def held(self):
        return (self.taken - self.returned) * self.unit


def leases(log):
    """The leases of a campaign, read from its raw events."""
    for event in log:
        if event.kind in ("opened", "switched"):
            lease = json.loads(event.body)["encoding"]["lease"]
            (name,) = lease["taken"]
            yield Moved(event.at, lease["taken"][name], lease["returned"][name], 2.0 ** lease["exponents"][name])


def check_pool(log, unit, total=TOTAL):
    """Counters of a pool never fall, and what it lent is never more than its total; returns its lines by campaign."""
    lines, seen = {}, {}
    for event in log[1:]:
        body = json.loads(event.body)
        before = lines.get(body["campaign"])
        now = body["granted"]["cents"], body["collected"]["cents"]
        if before is not None:
            assert min(now[0] - before[0], now[1] - before[1]) >= 0, f"a counter fell in event {event.seq}"
        lines[body["campaign"]] = now
        seen.setdefault(body["campaign"], [(0, 0)]).append(now)
        lent = sum(granted - collected for granted, collected in lines.values()) * unit
        assert lent <= total, f"event {event.seq} of the pool lends {lent} of {total}"
    return lines, seen


def check_campaign(log, seen):
    """A campaign took in what was granted, returned before it was collected, and never used more than it had."""
    moves = list(leases(log))
    for before, after in pairwise(moves):
        assert min(after.taken - before.taken, after.returned - before.returned) >= 0, "a counter fell"
    granted, collected = ({z[i] for z in seen} for i in (0, 1))
    assert {m.taken for m in moves} <= granted, "a grant was taken in that was never made"
    assert collected <= {m.returned for m in moves}, "a return was collected that was never made"
    used, total, held = 0.0, 0.0, {}
    at = iter(moves)
    for event in log:
        body = json.loads(event.body)
        if event.kind in ("opened", "switched"):
            total = next(at).held
        elif event.kind == "decided" and body["n"] and body["a"][0] > 0:
            held[event.seq] = WORST
            used += WORST
        elif event.kind == "observed" and event.ref in held:
            used += body["y"]["cents"] - held.pop(event.ref)
        assert used <= total * (1 + 1e-9) + 1e-6, f"event {event.seq} may use {used} of {total}"
    return used, moves


def check_together(every, total=TOTAL):
    """What all campaigns have is never more than the total, in the order of time."""
    moves = sorted((move.at, i, n) for i, each in enumerate(every) for n, move in enumerate(each))
    have = [0.0] * len(every)
    for _, i, n in moves:
        have[i] = every[i][n].held
        assert sum(have) <= total, f"campaigns have {have} of {total}"
