"""Requests that share a transaction: what they share, and what they do not."""

import asyncio
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.core.errors import MissingExtra
from evenhand.live import Busy, Campaign, Conflict
from evenhand.live.http import app
from evenhand.live.http.bodies import decide
from evenhand.live.http.commits import Commits
from evenhand.live.stores.memory import MemoryStore
from tests.live.http_campaign import events, serving
from tests.polling import LONG

ROOT = Path(__file__).parents[3]
SHOP = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=100)


class Failing(MemoryStore):
    """A store whose next commits fail, as on a full disk."""

    fails = 0

    @contextmanager
    def write(self, campaign):
        with super().write(campaign) as log:
            yield log
            if self.fails:
                self.fails -= 1
                raise Busy("no space left in /secret/log.db")


def opened(store=None):
    return Campaign.open(store or MemoryStore(), "shop", eh.uniform(SHOP, 1))


@pytest.fixture
def commits():
    found = Commits(opened(Failing()))
    yield found
    found.close()


def asked(key):
    return decide({"key": key, "case": {}})


def blocked(commits):
    """A commit that is under way until the event is set."""
    begun, gate = threading.Event(), threading.Event()

    def verb(_verbs):
        begun.set()
        gate.wait(LONG)
        return {}

    commits.submit([verb])
    assert begun.wait(LONG)
    return gate


def test_what_waits_for_a_commit_goes_into_the_next_one_together(commits, monkeypatch):
    sizes, many = [], commits._campaign.many
    monkeypatch.setattr(commits._campaign, "many", lambda verbs: [sizes.append(len(verbs)), many(verbs)][1])
    gate = blocked(commits)
    waiting = [commits.submit([asked(f"{i}")]) for i in range(5)]
    gate.set()
    assert [job.result(30)[0]["key"] for job in waiting] == list("01234")
    assert sizes == [1, 5]


def test_a_request_that_breaks_a_transaction_breaks_its_own_alone(commits):
    def broken(verbs):
        verbs.decide({}, "of the broken one", None, None)
        raise RuntimeError("a bug")

    def late(verbs):
        verbs.decide({}, "of the late one", None, None)
        raise Conflict("after it wrote")

    gate = blocked(commits)
    jobs = [commits.submit(verbs) for verbs in ([asked("a")], [broken], [asked("b"), late], [asked("c")])]
    gate.set()
    assert jobs[0].result(30)[0]["key"] == "a"
    assert jobs[3].result(30)[0]["key"] == "c"
    with pytest.raises(RuntimeError):
        jobs[1].result(30)
    with pytest.raises(Conflict):
        jobs[2].result(30)
    assert [event.key for event in events(commits._campaign)] == ["a", "c"]


def test_an_error_of_its_own_is_told_to_who_made_it(commits):
    gate = blocked(commits)
    jobs = [commits.submit([asked("a")]), commits.submit([asked("k" * 201)]), commits.submit([asked("b")])]
    gate.set()
    assert [type(job.result(30)[0]).__name__ for job in jobs] == ["dict", "InvalidInput", "dict"]


def test_who_left_before_a_commit_began_decides_nothing(commits):
    gate = blocked(commits)
    left, stays = commits.submit([asked("left")]), commits.submit([asked("stays")])
    assert left.cancel()
    gate.set()
    stays.result(30)
    assert [event.key for event in events(commits._campaign)] == ["stays"]


def test_a_coroutine_that_was_cancelled_before_a_commit_began_decides_nothing(commits):
    gate = blocked(commits)

    async def ask():
        left, stays = (asyncio.create_task(commits.ask([asked(key)])) for key in ("left", "stays"))
        await asyncio.sleep(0)
        left.cancel()
        gate.set()
        return [await stays, *await asyncio.gather(left, return_exceptions=True)]

    (found,), left = asyncio.run(ask())
    assert (found["key"], type(left)) == ("stays", asyncio.CancelledError)
    assert [event.key for event in events(commits._campaign)] == ["stays"]


def test_an_error_of_the_store_is_raised_where_it_is_waited_for(commits):
    commits._campaign.store.fails = 2

    async def ask():
        return await asyncio.gather(commits.ask([asked("a")]), return_exceptions=True)

    (found,) = asyncio.run(ask())
    assert isinstance(found, Busy)


def test_a_loop_that_ended_stops_no_commits(commits):
    gate = blocked(commits)

    async def leave():
        asyncio.create_task(commits.ask([asked("left")]))  # noqa: RUF006
        await asyncio.sleep(0)
        asyncio.get_running_loop().stop()
        await asyncio.sleep(60)

    loop = asyncio.new_event_loop()
    task = loop.create_task(leave())
    loop.run_forever()
    for each in asyncio.all_tasks(loop):
        each._log_destroy_pending = False
    loop.close()
    gate.set()
    assert commits.submit([asked("after")]).result(30)[0]["key"] == "after"
    assert not task.done()


def test_what_waits_is_done_before_the_end(commits):
    gate = blocked(commits)
    job = commits.submit([asked("a")])
    threading.Timer(0.05, gate.set).start()
    commits.close()
    assert job.done()
    commits.close()
    assert commits.submit([asked("b")]).result(30)[0]["key"] == "b"


def test_nothing_is_told_before_the_commit():
    store = Failing()
    campaign = opened(store)
    with serving(app(campaign)) as client:
        store.fails = 1
        said = client.post("/decide", json={"key": "one", "case": {}})
        assert (said.status_code, said.headers["retry-after"]) == (503, "1")
        assert "secret" not in said.text
        assert events(campaign) == []
        assert client.post("/decide", json={"key": "one", "case": {}}).json()["repeated"] is False
    assert campaign.status().rounds == 1


@pytest.mark.parametrize("missing", ["httptools", "jinja2", "starlette", "uvicorn"])
def test_without_the_extra_the_error_says_what_to_install(missing, monkeypatch):
    monkeypatch.delitem(sys.modules, "evenhand.live.http")
    monkeypatch.setitem(sys.modules, missing, None)
    told = r"^live campaigns need an optional dependency: pip install 'evenhand\[live\]'$"
    with pytest.raises(MissingExtra, match=told):
        import_module("evenhand.live.http")


def test_campaigns_need_no_package_of_the_server():
    """Only the server names the extra, rather than a package that campaigns do without."""
    code = """
import sys
for package in ("fastapi", "httptools", "httpx", "jinja2", "markupsafe", "starlette", "uvicorn"):
    sys.modules[package] = None
from evenhand.cli import main
from evenhand.live import open_campaign
with open_campaign("memory://", "post", "deploy/problem.toml") as campaign:
    print(campaign.name, campaign.report()["rounds"])
print(main(["serve", "deploy/problem.toml", "--store", "memory://"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "post 0\n2\n"
    assert done.stderr == "evenhand: live campaigns need an optional dependency: pip install 'evenhand[live]'\n"
