"""As many connections as a server takes do not keep others out, whatever they wait for."""

import asyncio
import select
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from types import SimpleNamespace

import httpx
import pytest

from evenhand.live.http import app, bodies, guard
from tests.live.served import asked, opened, serving
from tests.waits import LONG, until

TOKEN = "a secret of this test"
RIGHT = {"Authorization": f"Bearer {TOKEN}"}
MOST = 24
WRONG = b"GET /report HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong-wrong-wrong-wrong\r\n\r\n"
BODY = (
    b"POST /decide HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 99\r\n\r\n{"
    % TOKEN.encode()
)
UNREAD = b"GET /docs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % TOKEN.encode()


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return opened(tmp_path_factory.mktemp("crowds"))


@pytest.fixture
def client(campaign, monkeypatch):
    monkeypatch.setattr(bodies, "SECONDS", 10 * LONG)
    with serving(app(campaign, token=TOKEN), most=MOST) as found:
        yield found


@contextmanager
def crowd(client, sent, number=MOST):
    """Connections that send the same, of which some may be closed for others meanwhile."""
    with ExitStack() as each:
        lines = [each.enter_context(socket.socket()) for _ in range(number)]
        for line in lines:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.settimeout(LONG)
            line.connect((client.base_url.host, client.base_url.port))
        for line in lines:
            line.settimeout(0.02)
            with suppress(OSError):  # the server reads no more
                line.sendall(sent)
            line.settimeout(LONG)
        yield lines


@pytest.mark.parametrize("sent", [WRONG * 50, BODY], ids=["wrong tokens", "half bodies"])
def test_a_crowd_keeps_nobody_out(client, sent):
    """However long the server waits for a body, or for a guess."""
    with crowd(client, sent):
        for i in range(4):
            assert client.get("/healthz", headers={"Connection": "close"}).status_code == 200
            said = client.post("/decide", json=asked(f"{sent[:99]} {i}"), headers={**RIGHT, "Connection": "close"})
            assert said.status_code == 200


def test_clients_that_read_no_answers_keep_nobody_out(campaign):
    with serving(app(campaign, token=TOKEN), most=2) as client, crowd(client, UNREAD * 400, 2):

        def answered():  # the first answers are underway until what takes them is full
            with suppress(httpx.TransportError):
                return client.get("/healthz", headers={"Connection": "close"}).status_code == 200

        until(answered)


def test_a_body_that_comes_in_pieces_is_taken_where_nobody_is_in_need(client):
    with crowd(client, BODY, 1) as (line,):
        line.sendall(b" " * 97)
        time.sleep(0.1)
        line.sendall(b"}")
        assert line.recv(20).startswith(b"HTTP/1.1 422")


def test_a_wrong_token_has_one_guess_per_connection_and_few_of_them_wait(campaign, monkeypatch):
    over = threading.Event()

    async def sleep(_seconds):
        while not over.is_set():
            await asyncio.sleep(0.01)

    monkeypatch.setattr(guard, "asyncio", SimpleNamespace(Lock=asyncio.Lock, sleep=sleep))
    with serving(app(campaign, token=TOKEN)) as client, crowd(client, WRONG * 3, 60) as lines:
        until(lambda: len(select.select(lines, [], [], 0)[0]) == 40)  # 20 wait
        over.set()
        for line in lines:
            found = b""
            with suppress(ConnectionError):
                while part := line.recv(10_000):
                    found += part
            assert found.count(b"HTTP/1.1 401") == 1
