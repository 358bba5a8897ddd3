"""The client for event loops: it asks what the other client asks, and sends again until there is an answer."""

import asyncio
import inspect

import pytest

from evenhand.client import AsyncClient, Client, Deciding, NoAnswer, Observing, RequestRefused, requests as sending
from evenhand.core.errors import InvalidInput
from evenhand.live.http import app
from tests.live.http.test_client import through
from tests.live.http_campaign import CASE, events, opened, serving


@pytest.fixture
def slept(monkeypatch):
    """The seconds that clients wait, which pass at once."""
    found = []

    async def pass_at_once(seconds):
        found.append(seconds)

    monkeypatch.setattr(sending, "pause", pass_at_once)
    return found


async def decisions(url):
    async with AsyncClient(url) as client:
        each = await asyncio.gather(*(client.decide(CASE, f"key {i}") for i in range(8)))
        assert len({z.id for z in each}) == 8
        assert (await client.decide(CASE, "key 3")).repeated
        assert await client.observe("key 3", {"answer": 1})
        assert not await client.observe(each[3].id, {"answer": 1})
        assert (await client.find("key 3"))["state"] == "observed"
        assert await client.cancel("key 4")
        many = await client.decide_many([Deciding(CASE, "one", offered=["letter"]), Deciding({"zone": "land"}, "two")])
        assert (many[0].action, many[1].field) == ("letter", "age")
        assert await client.observe_many([Observing("one", {"answer": 1})]) == [True]
        with pytest.raises(RequestRefused, match="nobody"):
            await client.find("nobody")
        return await client.report()


def test_an_event_loop_asks_many_at_once(tmp_path):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as server:
        assert asyncio.run(decisions(str(server.base_url)))["campaign"] == "shop"
    assert len(events(campaign)) == 9


def test_the_same_request_is_sent_until_there_is_an_answer(tmp_path, slept):
    async def ask(url, tries=6):
        async with AsyncClient(url, tries=tries) as client:
            return await client.decide(CASE, "one")

    campaign = opened(tmp_path)
    plan = ["cut", (503, {"Retry-After": "7"}), "lost"]
    found, seen = through(campaign, plan, lambda client: asyncio.run(ask(client.url)))
    assert (len(seen), len(set(seen)), found.repeated) == (4, 1, True)
    assert [event.seq for event in events(campaign)] == [found.id]
    assert [seconds >= 7.0 for seconds in slept] == [False, True, False]
    with pytest.raises(NoAnswer, match="at 2 tries; the last one: status 503"):
        through(campaign, [(503, {}), (503, {})], lambda client: asyncio.run(ask(client.url, tries=2)))
    with pytest.raises(NoAnswer, match="no connection to"):
        asyncio.run(ask("http://127.0.0.1:9", tries=1))


def test_both_clients_take_the_same_arguments():
    for name, method in vars(AsyncClient).items():
        if inspect.iscoroutinefunction(method) and not name.startswith("_"):
            assert inspect.signature(method) == inspect.signature(getattr(Client, name)), name
    assert inspect.signature(AsyncClient) == inspect.signature(Client)
    with pytest.raises(InvalidInput, match="begins with http"):
        AsyncClient("shop.example")
