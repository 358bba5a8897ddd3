"""Whatever the body of an event lacks or has wrong, with hashes made anew: the error is ours, and names an event."""

import json
import random
import re
import warnings
from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.live import Conflict, Unknown
from evenhand.live.log.events import digest, encode, is_erased, next_event
from evenhand.live.log.ids import restore_event
from evenhand.live.stores.memory import MemoryStore
from tests.live.http_campaign import CASE, SHOP

POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=2)
OTHER = replace(POLICY, problem=replace(SHOP, horizon=900))
POLICIES = [POLICY, OTHER]
WRONG = (None, True, -1, 1e300, "", "text", [], [None], [[]], {}, {"a": None})


def whole():
    """The events of a log that has one of each kind, but for `clock` and `upgraded`."""
    now = [1_900_000_000 * 10**6]
    store = MemoryStore(now=lambda: now[0])
    campaign = eh.Campaign.open(store, "shop", POLICY, patience=60.0, on_expiry="release")
    said = [campaign.decide(CASE | {"age": 20 + i}, key=f"{i}") for i in range(8)]
    for one in said[:4]:
        campaign.observe(one.id, {"answer": 1})
    campaign.cancel(said[4].id)
    campaign.pause(by="ada", why="chance")
    campaign.resume(by="ada", why="chance")
    campaign.change(patience=50.0, by="ada", why="chance")
    campaign.erase(["0"])
    campaign.observe(said[1].id, {"answer": 0}, revise=True)
    campaign.relearn()
    campaign.switch(OTHER, by="ada", why="chance")
    now[0] += 70 * 10**6
    campaign.observe(campaign.decide(CASE, key="last").id, {"answer": 1})
    return [*store.scan("shop"), restore_event(list(store.scan("shop"))[-1], "ada", "chance", now[0])]


def changed(luck, value):
    """A part of a body that was changed somewhere, and whether it was."""
    if isinstance(value, dict) and value and luck.random() < 0.9:
        name, new = luck.choice(sorted(value)), dict(value)
        if luck.random() < 0.4:
            del new[name]
        else:
            new[name] = changed(luck, value[name])
        return new
    if isinstance(value, list) and value and luck.random() < 0.5:
        new = list(value)
        at = luck.randrange(len(new))
        new[at] = changed(luck, new[at])
        return new
    return luck.choice(WRONG)


def damaged(log, luck):
    """A store with the log, of which one body was changed, and all hashes are those of what it has."""
    store, at = MemoryStore(), luck.randrange(len(log))
    events, before = [], b""
    for event in log:
        body, own = event.body, event.own
        if event is log[at]:
            if own not in (None, "{}") and luck.random() < 0.5:
                own = encode(changed(luck, json.loads(own)))
            else:
                body = json.dumps(changed(luck, json.loads(body)), separators=(",", ":"))
        new = next_event(event.seq - 1, before, event.at, event.kind, body, event.ref, event.key, own)
        if is_erased(event):
            new = new._replace(seal=event.seal, hash=digest(event._replace(body=body), before))
        before = new.hash
        events.append(new)
    store.adopt([("shop", events)])
    return store, log[at]


def uses(store, folder, event):
    """What reads a log."""
    number = event.ref or event.seq
    yield "audit", lambda: eh.live.audit(store, "shop", POLICIES)
    yield "open", lambda: eh.Campaign.open(store, "shop", POLICIES)
    yield "report", lambda: eh.Campaign.open(store, "shop", POLICIES).report()
    yield "explain", lambda: eh.Campaign.open(store, "shop", POLICIES).why(number)
    yield "page", lambda: eh.Campaign.open(store, "shop", POLICIES).save_report(folder / "page.html")
    yield "decisions", lambda: eh.Campaign.open(store, "shop", POLICIES).decisions()


def faults(seeds, folder):
    """What is said that is no error of ours, or names no event."""
    log, found = whole(), {}
    for seed in seeds:
        store, event = damaged(log, random.Random(seed))
        for name, use in uses(store, folder, event):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    use()
            except (Conflict, Unknown):  # of what was erased, and of an event that is no decision
                pass
            except EvenhandError as error:
                if re.search(r"event \d+", str(error)) is None:
                    found[seed, event.kind, name] = f"{type(error).__name__}: {error}"
            except Exception as error:
                found[seed, event.kind, name] = f"bare {type(error).__name__}: {error}"
    return found


def test_no_error_of_a_damaged_body_is_bare_or_names_no_event(tmp_path):
    assert faults(range(60), tmp_path) == {}


@pytest.mark.slow
def test_no_error_of_many_damaged_bodies_is_bare_or_names_no_event(tmp_path):
    assert faults(range(1000, 1400), tmp_path) == {}


def test_a_personal_part_that_was_removed_by_hand_is_named():
    log = whole()
    store = MemoryStore()
    store.adopt([("shop", [e._replace(key=None, own=None, salt=None) if e.key == "last" else e for e in log])])
    (number,) = (e.seq for e in log if e.key == "last")
    assert eh.live.audit(store, "shop", POLICIES).faults == (
        f"the personal part of event {number} is missing, and no erasure names it",
        f"its decisions cannot be recomputed: event {number} has lost its personal part, and no erasure names it",
    )
