"""Two servers and eight clients while the budget is changed and an action is added: no request is lost or refused."""

import json
import threading
import time

import httpx
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.live.campaigns.commands import audit_files
from evenhand.live.http import app
from tests.live.campaigns.test_files import STATED
from tests.live.campaigns.test_switches_of_files import stated_interactions
from tests.live.http_campaign import serving
from tests.live.schedules import same_fold

TOKEN = "a long enough secret"
CLIENTS = 8
VALUES, COSTS = '"B" = "b" }', "known = { a = 1, b = 1 }"


def with_action(text):
    assert VALUES in text
    assert COSTS in text
    return text.replace(VALUES, '"B" = "b", "C" = "c" }').replace(COSTS, "known = { a = 1, b = 1, c = 1 }")


class Client(threading.Thread):
    """Asks the servers in turn, and sends every outcome to the other one."""

    def __init__(self, number, urls, stop):
        super().__init__()
        self.number, self.urls, self.stop = number, urls, stop
        self.said, self.statuses, self.longest = [], [], 0.0

    def run(self):
        with httpx.Client(trust_env=False, timeout=30, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
            i = 0
            while not self.stop.is_set():
                key = f"client {self.number}, case {i}"
                case = {"age": 20 + (7 * i) % 40, "town": "north" if i % 3 else "south"}
                one = self.ask(client, self.urls[i % 2] + "/decide", {"key": key, "case": case})
                if one.status_code == 200:
                    self.said.append(one.json())
                    body = {"id": one.json()["id"], "outcomes": {"visit": i % 2}}
                    self.ask(client, self.urls[1 - i % 2] + "/observe", body)
                i += 1

    def ask(self, client, url, body):
        begun = time.monotonic()
        found = client.post(url, json=body)
        self.longest = max(self.longest, time.monotonic() - begun)
        self.statuses.append(found.status_code)
        return found


@pytest.mark.slow
@pytest.mark.parametrize("text", [STATED, stated_interactions()], ids=["folded anew", "adopted"])
def test_a_change_of_budget_and_an_added_action_are_no_outage(tmp_path, text):
    text = text.replace("horizon = 300", "horizon = 100000")
    file, store = tmp_path / "post.toml", f"sqlite:///{tmp_path}/post.db"
    file.write_text(text)
    less = text.replace("rate = 0.3", "rate = 0.2")
    with eh.live.open_campaign(store, "post", file) as one, eh.live.open_campaign(store, "post", file) as two:
        with serving(app(one, token=TOKEN)) as first, serving(app(two, token=TOKEN)) as second:
            stop = threading.Event()
            clients = [Client(i, [f"{z.base_url}".rstrip("/") for z in (first, second)], stop) for i in range(CLIENTS)]
            for client in clients:
                client.start()
            try:
                time.sleep(1.0)
                file.write_text(less)
                assert main(["switch", store, str(file), "--by", "Ada", "--why", "a smaller budget"]) == 0
                time.sleep(1.0)
                headers = {"Authorization": f"Bearer {TOKEN}"}
                said = first.post(
                    "/switch", json={"problem": with_action(less), "by": "Ada", "why": "one more"}, headers=headers
                )
                assert said.status_code == 200, said.text
                time.sleep(1.0)
                assert [z.get("/readyz", headers=headers).status_code for z in (first, second)] == [200, 200]
            finally:
                stop.set()
                for client in clients:
                    client.join()
        print(f"{sum(len(z.statuses) for z in clients)} requests, the longest {max(z.longest for z in clients):.2f} s")
        assert {status for z in clients for status in z.statuses} == {200}
        log = list(one.events())
        keys = [e.key for e in log if e.kind == "decided"]
        assert sorted(keys) == sorted(z["key"] for client in clients for z in client.said)
        refs = [e.ref for e in log if e.kind == "observed"]
        assert sorted(refs) == sorted(z["id"] for client in clients for z in client.said if z["action"] is not None)
        adopted = [json.loads(e.body)["adopts"] for e in log if e.kind == "switched"]
        assert adopted == [True, "[interactions]" in text]
        assert one.policy.problem.actions == two.policy.problem.actions == ("none", "a", "b", "c")
        two.refresh()
        one.refresh()
        same_fold(one, two)
        account = one.status().accounts["post"]
        assert account.spent <= account.total == pytest.approx(20_000.0)
    assert audit_files(store).clean
