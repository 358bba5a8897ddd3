"""What campaigns refuse of programs: one row per field and kind of mistake, before anything is written."""

from datetime import date
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live import audit, restore
from evenhand.live.stores.memory import MemoryStore

SHOP = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
POLICY = eh.uniform(SHOP, 1)
ANNA = {"by": "anna", "why": "the printer is broken"}
TEXT = "expected a text of 1 to 200 printable characters"
DAYS = "retention: expected days above 0 and at most 36,500"
TOLERANCE, NAN = "tolerance: expected a finite number of at least 0", float("nan")
CHANGES = [
    ("pause", {"by": "", "why": "so"}, f"by: {TEXT}"),
    ("resume", {"by": "anna", "why": 5}, f"why: {TEXT}"),
    ("end", {"by": "anna", "why": "x" * 201}, f"why: {TEXT}"),
    ("end", {"by": "anna\x1b[2J", "why": "so"}, f"by: {TEXT}"),
    ("change", ANNA, "change: "),
    *(("change", {**ANNA, "patience": z}, "patience: ") for z in (0, NAN, True, "5")),
    ("change", {**ANNA, "on_expiry": "relaese"}, "on_expiry: "),
    ("change", {**ANNA, "after": "gone on"}, "after: "),
    *(("change", {**ANNA, "retention": z}, DAYS) for z in (0, -1, NAN, 40_000, "ever", True)),
    *(("switch", {"policy": POLICY, "by": z}, f"by: {TEXT}") for z in ("", 3, "a\0b", "a\nb")),
    *(("switch", {"policy": POLICY, "why": z}, f"why: {TEXT}") for z in ("x" * 201, "\x1b[2J")),
    ("erase", {"keys": "one"}, "keys: "),
    ("erase", {"keys": [""]}, "keys: "),
    ("erase", {"keys": [str(i) for i in range(2001)]}, "keys: "),
    ("erase", {"keys": ["a"], "before": date(2026, 1, 1)}, "before: "),
    ("erase", {"before": "2026-01-01"}, "before: "),
    ("erase", {"keys": ["a"], "by": "x\0"}, "by: "),
]
CALLS = [
    *((lambda z=z: audit(MemoryStore(), "shop", [POLICY], tolerance=z), TOLERANCE) for z in (NAN, -1.0, "0", None)),
    *((lambda z=z: audit(MemoryStore(), "shop", z), "policies: expected a list of") for z in (POLICY, ["x"], None)),
    *((lambda z=z: audit(z, "shop", []), "store: expected sqlite:///FILE") for z in (Path("shop.db"), None, 5)),
    *((lambda z=z: eh.Campaign.open(z, "x", POLICY), "store: expected sqlite:///FILE") for z in (Path("x.db"), None)),
    *((lambda z=z: restore(Path("x"), MemoryStore(), **ANNA | {z: " "}), f"{z}: expected a text") for z in ANNA),
]


@pytest.mark.parametrize(("verb", "request_", "message"), CHANGES)
def test_a_campaign_refuses_a_change(verb, request_, message):
    campaign = eh.Campaign.open("memory://", "shop", POLICY)
    with pytest.raises(InvalidInput, match=f"^{message}"):
        getattr(campaign, verb)(**request_)
    assert [event.kind for event in campaign.events()] == ["opened"]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_a_function_refuses_a_call(call, message):
    with pytest.raises(InvalidInput, match=f"^{message}"):
        call()
