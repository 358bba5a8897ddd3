"""Many clients at once that hold up what they ask keep nobody out while a server has room for connections."""

import asyncio
import selectors
import socket
import threading
from contextlib import ExitStack, contextmanager, suppress
from types import SimpleNamespace

import pytest

from evenhand.live.http import app, bodies, guard
from tests.live.http_campaign import asked, serving
from tests.polling import LONG, until

TOKEN = "a secret of this test"
RIGHT = {"Authorization": f"Bearer {TOKEN}"}
WRONG = b"GET /report HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong-wrong-wrong-wrong\r\n\r\n"
HEAD = b"Host: localhost\r\nAuthorization: Bearer %s\r\n" % TOKEN.encode()
BODY = b"POST /decide HTTP/1.1\r\n" + HEAD + b"Content-Length: 99\r\n\r\n{"
UNREAD = (b"GET /docs HTTP/1.1\r\n" + HEAD + b"\r\n") * 400


@contextmanager
def crowd(client, sent, number=24):
    """Connections that send the same."""
    with ExitStack() as each:
        lines = [each.enter_context(socket.socket()) for _ in range(number)]
        for line in lines:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.settimeout(0.5)
            line.connect((client.base_url.host, client.base_url.port))
            with suppress(TimeoutError):  # the server reads no more
                line.sendall(sent)
            line.settimeout(LONG)
        yield lines


@pytest.mark.parametrize("sent", [BODY, UNREAD], ids=["half bodies", "answers that are not read"])
def test_a_crowd_keeps_nobody_out(campaign, sent):
    with serving(app(campaign, token=TOKEN)) as client, crowd(client, sent, 24 if sent is BODY else 2):
        said = client.post("/decide", json=asked(f"{len(sent)}"), headers={**RIGHT, "Connection": "close"})
        assert said.status_code == 200


def test_half_a_body_is_refused_in_time(campaign, monkeypatch):
    monkeypatch.setattr(bodies, "SECONDS", 0.2)
    with serving(app(campaign, token=TOKEN)) as client, crowd(client, BODY, 1) as (line,):
        assert line.recv(20).startswith(b"HTTP/1.1 408")


def test_beyond_the_most_connections_a_request_is_refused_and_its_connection_closed(campaign):
    with serving(app(campaign), most=3) as client, crowd(client, BODY[:20], 2) as lines:
        said = client.get("/healthz")
        assert (said.status_code, said.headers["connection"]) == (503, "close")
        lines[0].close()
        until(lambda: client.get("/healthz").status_code == 200)


def readable(lines):
    with selectors.DefaultSelector() as selector:  # `select.select` takes no number of a file above 1,023
        for line in lines:
            selector.register(line, selectors.EVENT_READ)
        return len(selector.select(0))


def test_a_wrong_token_has_one_guess_per_connection_and_few_of_them_wait(campaign, monkeypatch):
    over = threading.Event()

    async def sleep(_seconds):
        while not over.is_set():
            await asyncio.sleep(0.01)

    stand_in = SimpleNamespace(Lock=asyncio.Lock, CancelledError=asyncio.CancelledError, sleep=sleep)
    monkeypatch.setattr(guard, "asyncio", stand_in)
    with serving(app(campaign, token=TOKEN)) as client, crowd(client, WRONG * 3, 60) as lines:
        until(lambda: readable(lines) == 40)  # 20 wait
        over.set()
        for line in lines:
            found = b""
            with suppress(ConnectionError):
                while part := line.recv(10_000):
                    found += part
            assert found.count(b"HTTP/1.1 401") == 1
