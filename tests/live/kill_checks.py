"""What has to hold after workers were killed: replies, the log, budgets, backups and folds, each beside the others."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from unittest.mock import patch

from evenhand.live import Campaign, Conflict, Place, audit
from evenhand.live.log.events import is_erased, read
from evenhand.live.stores.opening import connect, whole
from tests.live.killers import replies
from tests.live.schedules import WORST, plain, same_fold

TOTALS = {"killed": 150.0, "killed later": 170.0}
POLICIES = [plain(name, total, 10**6) for name, total in TOTALS.items()]


def segments(folder):
    """Where seals move old events."""
    return folder / "segments"


@contextmanager
def often_erased():
    """Runs of retention as often as some decisions are due, a few at a time."""
    place = "evenhand.live.worker.erasure"
    with patch(f"{place}.MANY", 12), patch(f"{place}.TURN", 8), patch(f"{place}._LOOKS", 0):
        yield


def of_seals(log):
    """How often events were moved and erased by rule, and how switches were made: by what the policy adopted."""
    bodies = [(e.kind, json.loads(e.body)) for e in log if e.kind in ("erased", "switched")]
    by_rule = sum(len(z["decisions"]) for kind, z in bodies if kind == "erased" and "until" in z)
    found = Counter(f"switched {z.get('adopts', False)}" for kind, z in bodies if kind == "switched")
    return {"sealed": sum(e.kind == "sealed" for e in log), "by rule": by_rule, **found}


def refuse_sealed(campaign, log, moved, most=200):
    """The keys of decisions in segments are refused as such, and decide nothing; also those that were refused before.

    Args:
        campaign: the campaign.
        log: all its events.
        moved: the keys that were refused.
        most: the number of keys that are asked for.
    """
    end = max((json.loads(e.body)["last"] for e in log if e.kind == "sealed"), default=0)
    inside = {e.key: e for e in log if e.kind == "decided" and e.seq <= end and not is_erased(e)}
    assert moved <= inside.keys(), f"{moved - inside.keys()} are in no segment"
    before, refused, stays, asked = campaign.head().seq, 0, 0, [*moved, *list(inside)[-most:]]
    for key in asked:
        try:
            found = campaign.decide(read(inside[key])["case"], key=key)
        except Conflict as error:
            refused += "is in segment" in str(error)
        else:  # it is in the store as well
            stays += 1
            assert found.id == inside[key].seq, f"{key} was decided twice"
    assert refused + stays == len(asked), "a key was refused for another reason"
    assert all(e.kind != "decided" for e in campaign.store.scan(campaign.name, before))
    return refused


def check(folder, url):
    """Compare replies with the log, the log with the budget, and folds with each other."""
    store = connect(url)
    log = list(whole(store, segments(folder)).scan("one"))
    assert [e.seq for e in log] == list(range(1, len(log) + 1))
    decided = {e.seq: e for e in log if e.kind == "decided"}
    keys = [e.key for e in decided.values() if not is_erased(e)]
    assert len(set(keys)) == len(keys), "a key has one decision, unless it was erased"
    first: dict[tuple[str, int], int] = {}
    told = busy = tried = 0
    said = dict.fromkeys(("paused", "resumed", "changed", "switched", "sealed"), 0)  # what workers were told
    moved = set()
    erased, copies, met = 0, 0, []
    for kind, ref, *rest in replies(folder):
        if kind == "busy":
            busy += 1
            continue
        if kind == "copying":
            tried += 1
            continue
        if kind == "moved":
            moved.add(rest[0])
            continue
        if kind in said:
            said[kind] += ref
            met += [rest] if kind == "switched" else []
            continue
        if kind == "backup":
            copies += 1
            _same(folder / ref, log, segments(folder))
            continue
        if kind == "erased":
            erased += ref
            assert all(is_erased(decided[seq]) for seq in rest), f"one of the decisions {rest} was not erased"
            continue
        assert ref in decided, f"decision {ref} was replied, and is in no log"
        told += 1
        if kind == "decided":
            actions = POLICIES[0].problem.actions
            play = json.loads(decided[ref].body)["a"][0]
            key = rest[0] if is_erased(decided[ref]) else decided[ref].key
            assert [key, actions[play] if play >= 0 else None, decided[ref].at] == rest
        elif rest[0]:
            first[kind, ref] = first.get((kind, ref), 0) + 1
    for (kind, ref), times in first.items():
        kinds = ("observed", "revised") if kind == "observed" else (kind,)
        found = sum(e.ref == ref and e.kind in kinds for e in log if e.ref is not None) if times > 1 else 1
        assert times <= found, f"decision {ref} was {kind} {times} times"
    switched = [json.loads(e.body) for e in log if e.kind == "switched"]
    own = {(z["name"], z["by"], z["why"]) for z in switched}
    for policy, *who in met:  # none of its own where another worker had switched to the same policy
        assert (policy, *who) in own or any(z["name"] == policy and z["by"] != who[0] for z in switched)
    for kind, times in said.items():
        if kind == "switched":
            continue
        found = sum(e.kind == kind for e in log)
        assert times <= found, f"{times} were told that they {kind} the campaign, and the log has {found}"
    _paused_decides_nothing(log)
    about = {(e.kind, e.ref) for e in log}
    assert all((kind, ref) in about for kind, ref in first), "what was taken in is in the log"
    within_budget(log)
    proven = audit(Place(store, segments(folder)), "one", POLICIES)
    assert proven.clean, str(proven)
    alone = audit(store, "one", POLICIES)
    assert alone.clean, str(alone)
    present = [p for p in POLICIES if p.name == _names(log)[-1]]
    policies = [p for p in POLICIES if p not in present] + present
    kept = _snapshots(store)
    if not kept:  # an erasure has dropped them, or the campaign was young
        Campaign.open(store, "one", policies).snapshot()
        assert _snapshots(store)
    refused = refuse_sealed(Campaign.open(store, "one", policies), log, moved)
    resumed = Campaign.open(store, "one", policies)
    resumed.refresh()
    store.snapshot = lambda campaign, mark, before=None: None
    again = Campaign.open(store, "one", policies)
    again.refresh()
    resumed.refresh()
    again.refresh()
    same_fold(resumed, again)
    told_of = {"replies": told, **said, "erased": erased, "backups": copies, "backups killed": tried - copies}
    told_of |= {"log": of_seals(log), "refused as sealed": refused}
    return {**told_of, "events": len(log), "decisions": len(decided), "snapshots": kept, "busy": busy}


def _snapshots(store):
    """The number of those that are kept, under the policy of whichever opening or switch began the fold."""
    marks = [policy.fingerprint() for policy in POLICIES]
    return sum(len(store.snapshots("one", mark)) for mark in marks)


def _same(path, log, segments):
    """A backup has the first events of the log, but for what was erased later, and stands by itself."""
    url = f"sqlite:///{path}"
    copied = list(whole(connect(url), segments).scan("one"))
    facts = [[(e.seq, e.at, e.kind, e.body) for e in some] for some in (copied, log[: len(copied)])]
    assert facts[0] == facts[1], f"{path.name} has another log"
    proven = audit(Place(url, segments), "one", POLICIES)
    assert proven.clean, f"{path.name}: {proven}"


def _names(log):
    """The policies that decided, one after another."""
    return [json.loads(e.body)["name"] for e in log if e.kind in ("opened", "switched")]


def _paused_decides_nothing(log):
    paused = False
    for event in log:
        paused = event.kind == "paused" or (paused and event.kind != "resumed")
        assert not (paused and event.kind == "decided"), f"decision {event.seq} was made while the campaign was paused"


def within_budget(log):
    """What was spent and what may yet be spent never exceeds the total by a decision."""
    spent, held = {}, {}
    sums, total = [0.0, 0.0], 0.0  # of the two

    def put(ref, cents, worst):
        sums[0] += cents - spent.get(ref, 0.0)
        sums[1] += worst - held.get(ref, 0.0)
        spent[ref], held[ref] = cents, worst

    for event in log:
        if event.kind in ("opened", "switched"):
            total = TOTALS[_names([event])[0]]
        elif event.kind == "decided":
            if json.loads(event.body)["a"][0] > 0:
                put(event.seq, 0.0, WORST)
                assert sum(sums) <= total + 1e-6, f"decision {event.seq} may spend {sum(sums)} of {total}"
        elif event.kind in ("observed", "revised"):
            put(event.ref, float(json.loads(event.body)["y"]["cents"]), 0.0)
        elif event.kind == "cancelled":
            put(event.ref, 0.0, 0.0)
        elif event.kind == "expired" and held.get(event.ref):
            fate = json.loads(event.body).get("on_expiry", "fallback")
            if fate != "hold":
                put(event.ref, 1.0 if fate == "fallback" else 0.0, 0.0)
