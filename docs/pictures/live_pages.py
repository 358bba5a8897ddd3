"""Take docs/live-email.png and docs/live-dashboard.png: `PYTHONPATH=. python docs/pictures/live_pages.py`.

It needs playwright. The customers of both campaigns are simulated, on a clock of their own: every decision gets its
outcome, hours later.
"""

import heapq
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

import evenhand as eh
from evenhand.live.http import app
from evenhand.live.stores.memory import MemoryStore
from tests.live.http_campaign import serving

HOUR = 3_600_000_000  # microseconds
NARROW, BROAD = 600, 1280  # pixels of the page; the texts of the first can be read on a telephone
Case = dict[str, Any]
Outcomes = Mapping[str, float]
START = int(datetime(2026, 11, 2, 8, tzinfo=UTC).timestamp() * 1e6)

EMAIL = eh.Problem(
    actions=("none", "mens", "womens"),
    features=(
        eh.Numeric("recency", 1, 12),
        eh.Numeric("history", 30, 1000),
        eh.Categorical("bought", ("nothing", "mens", "womens", "both")),
        eh.Categorical("channel", ("Web", "Phone", "Multichannel")),
    ),
    outcomes=(eh.Outcome("visit"), eh.Outcome("email", known={"mens": 1, "womens": 1})),
    maximize="visit",
    subject_to=(eh.Budget("email", rate=0.3), eh.Parity("email", by="zip_code", tolerance=0.05)),
    groups=(eh.Groups("zip_code", {"Surburban": 0.45, "Urban": 0.4, "Rural": 0.15}),),
    horizon=9000,
)
CARE = eh.Problem(
    actions=("nothing", "letter", "call", "visit"),
    features=(eh.Numeric("age", 20, 80), eh.Categorical("channel", ("web", "phone"))),
    outcomes=(
        eh.Outcome("answer"),
        eh.Outcome("euros", known={"letter": 1, "call": 4, "visit": 12}),
        eh.Outcome("minutes", high=90, free=("nothing", "letter"), mean={"call": 12, "visit": 40}),
    ),
    maximize="answer",
    subject_to=(
        eh.Budget("euros", total=250, per="day"),
        eh.Budget("minutes", total=24_000),
        eh.Floor("answer", rate=0.15, by="zone"),
        eh.Parity("euros", by="zone", tolerance=0.5),
    ),
    groups=(eh.Groups("zone", ("town", "suburb", "village", "farm")),),
    since="2026-11-02",
    until="2026-12-02",
    traffic=eh.problem.Traffic(120, per="day"),
)


def customer(luck: np.random.Generator) -> Case:
    """Draw a customer of the shop."""
    return {
        "recency": int(luck.integers(1, 13)),
        "history": float(np.round(30 + 970 * luck.beta(1, 4), 2)),
        "bought": str(luck.choice(["nothing", "mens", "womens", "both"], p=[0.3, 0.3, 0.3, 0.1])),
        "channel": str(luck.choice(["Web", "Phone", "Multichannel"], p=[0.45, 0.45, 0.1])),
        "zip_code": str(luck.choice(["Surburban", "Urban", "Rural"], p=[0.45, 0.4, 0.15])),
    }


def visits(case: Case, action: str | None, luck: np.random.Generator) -> Outcomes:
    """Draw whether a customer visits: an e-mail about what was bought before helps those who were there of late."""
    fits = action in (case["bought"], "mens" if case["bought"] == "both" else None)
    helps = 0.0 if action == "none" else 0.28 * (case["recency"] < 7) if fits else 0.02
    return {"visit": float(luck.random() < 0.06 + 0.06 * (case["channel"] == "Multichannel") + helps)}


def patient(luck: np.random.Generator) -> Case:
    """Draw a person whom a service cares for."""
    zone = str(luck.choice(["town", "suburb", "village", "farm"], p=[0.5, 0.2, 0.2, 0.1]))
    return {"age": int(luck.integers(20, 80)), "channel": ("web", "phone")[int(luck.integers(2))], "zone": zone}


def answers(case: Case, action: str | None, luck: np.random.Generator) -> Outcomes:
    """Draw whether a person answers, and the minutes that it took: calls are for the old, letters for the young."""
    old = (case["age"] - 20) / 60
    chance = {"nothing": 0.08, "letter": 0.3 - 0.2 * old, "call": 0.15 + 0.35 * old, "visit": 0.3 + 0.35 * old}
    mean = {"nothing": 0, "letter": 0, "call": 12, "visit": 40}[action or "nothing"]
    return {
        "answer": float(luck.random() < chance[action or "nothing"]),
        "minutes": round(float(min(luck.gamma(4.0, mean / 4.0), 90.0)), 1) if mean else 0.0,
    }


def played(
    name: str,
    policy: eh.Policy,
    cases: int,
    days: float,
    draw: Callable[[np.random.Generator], Case],
    outcome: Callable[[Case, str | None, np.random.Generator], Outcomes],
) -> eh.Campaign:
    """Decide so many cases in so many days; the outcome of each comes some hours later."""
    now, luck, coming = [START], np.random.default_rng(4), list[tuple[int, int, Outcomes]]()
    store = MemoryStore(lambda: now[0])
    campaign = eh.Campaign.open(store, name, policy, patience=3 * 86_400.0, on_expiry="fallback")
    for i, gap in enumerate(luck.exponential(days * 24 * HOUR / cases, cases).tolist()):
        case, due = draw(luck), now[0] + int(gap)
        while coming and coming[0][0] <= due:
            now[0], number, y = heapq.heappop(coming)
            campaign.observe(number, y)
        now[0] = due
        said = campaign.decide(case, key=f"customer-{i + 1}")
        if said.action is not None:
            wait = int(luck.gamma(2.0, 3.0 * HOUR))
            heapq.heappush(coming, (now[0] + wait, said.id, outcome(case, said.action, luck)))
    return campaign


def picture(campaign: eh.Campaign, path: Path, last: str, width: int) -> None:
    """Take a picture of the page in a width, down to a part of it."""
    with serving(app(campaign)) as client, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        sharp = 1.5 if width == NARROW else 1.0
        page = browser.new_page(
            viewport={"width": width, "height": 900}, device_scale_factor=sharp, color_scheme="light"
        )
        page.goto(str(client.base_url))
        end = page.locator(last).bounding_box()
        assert end is not None
        size = {"x": 0.0, "y": 0.0, "width": float(width), "height": end["y"] + end["height"] + 20.0}
        page.screenshot(path=path, full_page=True, clip=size)
        browser.close()


def main(folder: Path) -> None:
    """Take both pictures."""
    model, lottery = eh.PerAction.of(EMAIL), {"none": 0.7, "mens": 0.15, "womens": 0.15}
    email = eh.resolving(EMAIL, model, holdout=eh.Holdout(0.1, lottery=lottery))
    shop = played("autumn e-mail", email, 6200, 21, customer, visits)
    picture(shop, folder / "live-email.png", "#constraints", NARROW)
    care = eh.resolving(CARE, eh.PerAction.of(CARE), holdout=eh.Holdout(0.1, lottery={"nothing": 1}))
    service = played("home care", care, 2300, 19.2, patient, answers)
    picture(service, folder / "live-dashboard.png", "#constraints", BROAD)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
