"""Random worlds with zones, groups, units, delays, cancels and restarts: `python -m tests.zone_worlds COUNT SEED`.

Every world runs around a change of a clock. Its books are its own: days begin where a walk through time in quarters of
an hour finds them, and every play counts at the moment of its decision, for its group and for its unit.
"""

from __future__ import annotations

import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

import evenhand as eh
from evenhand.core.records import Context
from evenhand.problem import Cap, Traffic, Unit
from evenhand.recipes import fw_dual
from tests.problem.test_zones import DAY, ODD, QUARTER, changes, counted

REPLICAS, CASES, SIDES = 2, 110, ("east", "west")
LETTER, CALL = 1, 2  # actions beside the first one, which is free


def draw(rng, zone, begin, end):
    """Draw a policy, with the budgets, as (outcome, group, period, window, total), and the caps of its problem."""
    actions = ("none", "letter", "call")
    outcomes = (
        eh.Outcome("ok", free=("none",)),
        eh.Outcome("usd", high=2, free=("none",)),
        eh.Outcome("fee", known={"letter": 1, "call": 3}),
    )
    budgets, stated = [], []
    for outcome in ("usd", "fee"):
        for group in (*rng.permutation(SIDES)[: int(rng.integers(1, 3))].tolist(), None):
            per, window = (("hour", 1), ("day", 1), ("day", 2), ("day", 0), ("week", 1))[int(rng.integers(5))]
            total = float(rng.uniform(2.0, 9.0)) * (3.0 if group is None else 1.0)
            terms = {"carry": True} if window == 0 else {"window": window}  # 0 for all periods up to now
            name = outcome if group is None else f"{outcome} side={group}"
            budgets.append((outcome, group, per, window, total))
            stated.append(eh.Budget(name, total=total, per=per, hard=True, **terms))
    caps = [Cap("fee", at_most=float(rng.integers(3, 6)), within=float(rng.choice([0.5, 1.0, 3.0]))) for _ in range(2)]
    sticky = float(rng.choice([0.5, 2.0])) if rng.random() < 0.5 else None
    closed = [datetime.fromtimestamp((begin + end) // 2, zone).date()] if rng.random() < 0.3 else []
    problem = eh.Problem(
        actions=actions,
        outcomes=outcomes,
        maximize="ok",
        subject_to=tuple(stated),
        groups=(eh.Groups("side", dict.fromkeys(SIDES, 0.5)),),
        features=(eh.Numeric("x", 0, 1),),
        since=datetime.fromtimestamp(begin, zone).isoformat(),
        until=datetime.fromtimestamp(end, zone).isoformat(),
        zone=zone.key,
        traffic=Traffic(float(rng.uniform(10, 60)), per="day", trust=float(rng.choice([5, 100])), closed=closed),
        unit=Unit("who", caps=caps, sticky=sticky),
    )
    recipe = int(rng.integers(3))
    model = eh.PerAction.of(problem)
    make = (eh.resolving, fw_dual, partial(eh.pgd, hard=True))[recipe]
    return make(problem, model), budgets, caps


def run(number):
    """Run a world; return the largest part of any budget and of any cap that was used, and what happened."""
    rng = np.random.default_rng([54, 2, number])
    zone = ZoneInfo(ODD[number % len(ODD)])
    at = int(rng.choice(changes(zone, 1980)))
    begin, end = (at + sign * QUARTER * int(rng.integers(97, 300)) for sign in (-1, 1))
    policy, budgets, caps = draw(rng, zone, begin, end)
    state, starts, events = policy.start(seed=number, replicas=REPLICAS), counted(zone, begin, end), Counter()
    uses, fees, waiting = [], defaultdict(list), []

    def settle(place):
        decision, y = waiting.pop(place)
        if rng.random() < 0.1:
            policy.expire(state, decision)
            events["expired"] += 1
        else:
            policy.learn(state, decision, y)

    for second in np.sort(rng.integers(begin, end, CASES)).tolist():
        side, who, past = str(rng.choice(SIDES)), f"unit {int(rng.integers(6))}", (second - begin) / DAY
        case = {"x": float(rng.random()), "side": side, "who": who}
        made = policy.encode(case, time=datetime.fromtimestamp(second, UTC).isoformat())
        whole = [np.repeat(z, REPLICAS, axis=0) for z in made[:4]]
        decision = policy.act(state, Context(*whole, time=made.time, unit=made.unit))
        play = np.where(decision.counted > 0.0, decision.plays[:, 0], 0)
        if rng.random() < 0.1:
            policy.cancel(state, decision)
            events["cancelled"] += 1
            continue
        y = (play > 0)[:, None, None] * rng.choice([0.0, 1.0], (REPLICAS, 1, 2), p=[0.3, 0.7]) * [1.0, 2.0]
        fee = np.array([0.0, 1.0, 3.0])[play]
        uses.append((second, side, {"usd": y[:, 0, 1], "fee": fee}))
        fees[who].append((past, fee))
        waiting.append((decision, y))
        while len(waiting) > rng.integers(0, 9):
            settle(int(rng.integers(len(waiting))))
        if rng.random() < 0.03:
            with tempfile.TemporaryDirectory() as folder:
                policy.save(state, file := Path(folder) / "state.npz")
                state = policy.load(file)
            events["restarted"] += 1
    return _largest(budgets, starts, uses), _largest_of_units(caps, fees), events


def _largest(budgets, starts, uses):
    """The largest part of its total that a budget used in any span of any replica."""
    found = 0.0
    for outcome, group, per, window, total in budgets:
        used = np.zeros((REPLICAS, len(starts[per]) + 2))
        for second, side, amounts in uses:
            used[:, 1 + bisect_right(starts[per], second)] += amounts[outcome] * (group in (None, side))
        sums = np.cumsum(used, 1)
        allowed = total if window else total * np.arange(1, sums.shape[1])
        last = sums[:, 1:] if window == 0 else sums[:, window:] - sums[:, :-window]
        found = max(found, float((last / allowed).max()))
    return found


def _largest_of_units(caps, fees):
    """The largest part of its cap that any unit had in any window of any replica."""
    found = 0.0
    for cap in caps:
        for each in fees.values():
            for now, _ in each:
                inside = sum(fee for then, fee in each if now - cap.within < then <= now)
                found = max(found, float(np.max(inside)) / cap.at_most)
    return found


def main(count: int = 400, seed: int = 0) -> None:
    begun, parts, events = time.process_time(), [], Counter()
    for number in range(seed, seed + count):
        *largest, happened = run(number)
        parts.append(largest)
        events += happened
    budgets, units = np.array(parts).T
    print(
        f"{count} worlds from {seed} on: {(budgets > 1 + 1e-9).sum()} budgets and {(units > 1 + 1e-9).sum()} caps over"
    )
    print(f"largest parts on average {budgets.mean():.3f} and {units.mean():.3f}; {dict(events)}")
    print(f"{time.process_time() - begun:.0f} seconds of a core")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
