"""Campaigns of problem files with budgets by group: shared by workers, shown, and switched."""

import json

import evenhand as eh
from evenhand.live.dashboard.page import render_file
from evenhand.live.stores.memory import MemoryStore

FILE = """maximize = "sale"
horizon = 200
features = { numeric = ["age"], ranges = { age = [18, 80] } }
action = { values = ["none", "call"] }
groups = { tier = { shares = { free = 0.7, pro = 0.3 } } }
outcomes = { sale = { free = ["none"] }, cost = { free = ["none"] } }
budget = [
    { outcome = "cost", by = "tier", total = { free = 3, pro = 10 } },
    { outcome = "cost tier=free", total = 2, per = 100 },
]
"""


def test_workers_of_a_campaign_share_the_budgets_of_groups_and_pages_show_them(tmp_path):
    store, file = MemoryStore(), tmp_path / "problem.toml"
    file.write_text(FILE)
    one, two = (eh.live.open_campaign(store, "calls", file, on_expiry="release") for _ in range(2))
    said = [
        (one, two)[i % 2].decide({"age": 30 + i, "tier": "free"}, key=f"{i}", offered=["call"]).action for i in range(5)
    ]
    assert said == ["call", "call", None, None, None]  # two wait, of whom each may cost 1 of the present 2
    other = two.decide({"age": 30, "tier": "pro"}, key="pro", offered=["call"])
    assert other.action == "call"
    accounts = two.status().accounts
    assert eh.live.open_campaign(store, "calls", file).status().accounts == accounts
    assert list(accounts) == ["cost tier=free in all", "cost tier=pro", "cost tier=free per 100 rounds"]
    assert [z.left for z in accounts.values()] == [1.0, 9.0, 2.0]
    assert "cost tier=free per 100 rounds: 0 of 2 left" in two.explain(other.id)
    shown = render_file(one)
    assert all(name in shown for name in ("cost tier=pro", "cost tier=free per 100 rounds"))
    assert {"cost tier=free in all", "cost tier=pro"} <= set(json.loads(json.dumps(one.report()))["budgets"])
    file.write_text(FILE.replace("pro = 10", "pro = 1"))
    eh.live.switch_campaign(store, "calls", file, by="Ada", why="fewer calls")
    assert one.decide({"age": 31, "tier": "pro"}, key="last", offered=["call"]).action is None
    assert one.status().accounts["cost tier=pro"].held == 1.0
