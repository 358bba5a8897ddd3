"""A campaign in an event loop: calls wait for the log in threads, and share transactions."""

import asyncio
import inspect
import threading

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.live import AsyncCampaign, Campaign, Conflict
from tests.live.http_campaign import CASE, events, opened

VERBS = {
    "decide": (CASE, "one"),
    "observe": ("one", {"answer": 1}),
    "observe_unit": ("ann", {"answer": 1}, "order 1"),
    "cancel": ("one",),
    "find": ("one",),
    "status": (),
    "close": None,
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_loop_runs_on_while_a_call_waits(tmp_path, monkeypatch, verb):
    written = threading.Event()
    monkeypatch.setattr(Campaign, verb, lambda *_, **__: written.wait(5.0))
    shop = AsyncCampaign(opened(tmp_path))

    async def write():
        written.set()

    async def both():
        asked = shop.__aexit__() if VERBS[verb] is None else getattr(shop, verb)(*VERBS[verb])
        call = asyncio.create_task(asked)
        await asyncio.sleep(0.05)  # in which the call begins
        assert not call.done()
        await write()
        return await call

    assert asyncio.run(both()) in (True, None)
    assert written.is_set()


def test_calls_are_those_of_the_campaign(tmp_path):
    async def played():
        async with AsyncCampaign(opened(tmp_path)) as shop:
            replies = await asyncio.gather(*(shop.decide(CASE, f"key {i}") for i in range(20)))
            assert [await shop.observe(z.id, {"answer": 1}) for z in replies[:3]] == [True] * 3
            assert await shop.cancel("key 9")
            assert (await shop.find("key 9"))["state"] == "cancelled"
            assert (await shop.status()).rounds == 20
            assert await shop.call(lambda z: z.pause(by="us", why="stock"))
            with pytest.raises(Conflict):
                await shop.decide({**CASE, "age": 21}, "key 1")
            return shop.campaign, {z.id for z in replies}

    campaign, ids = asyncio.run(played())
    assert {e.seq for e in events(campaign)} == ids
    for name in ("decide", "observe", "observe_unit", "cancel", "find", "status"):
        one, other = (inspect.signature(getattr(kind, name)) for kind in (AsyncCampaign, Campaign))
        assert one == other, name


def test_a_call_that_is_cancelled_counts_and_its_key_has_the_same_reply(tmp_path):
    async def cancelled():
        shop = AsyncCampaign(opened(tmp_path))
        call = asyncio.create_task(shop.decide(CASE, "one"))
        await asyncio.sleep(0)  # it is begun, and left
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return shop, await shop.decide(CASE, "one")

    shop, reply = asyncio.run(cancelled())
    assert [event.seq for event in events(shop.campaign)] == [reply.id]
    with pytest.raises(InvalidInput):
        asyncio.run(shop.decide({}, "two"))


def test_what_is_no_campaign_is_refused_at_once():
    with pytest.raises(
        InvalidInput, match=r"^campaign: expected an open Campaign, as open_campaign returns, got 'sqlite:///x.db'"
    ):
        AsyncCampaign("sqlite:///x.db")


def test_an_entry_that_is_no_call_is_named(tmp_path):
    with (
        opened(tmp_path) as campaign,
        pytest.raises(InvalidInput, match=r"^verbs\[1\]: expected a function of the verbs, or a Deciding"),
    ):
        campaign.many([lambda verbs: verbs.decide(CASE, "one"), CASE])
    assert not events(campaign)
