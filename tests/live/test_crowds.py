"""As many connections as a server takes do not keep others out, whatever they wait for."""

import socket
import time
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest

from evenhand.live.http import app
from tests.live.served import asked, opened, serving

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
def client(campaign):
    with serving(app(campaign, token=TOKEN), most=MOST) as found:
        yield found


@contextmanager
def crowd(client, sent, number=MOST):
    """Connections that send the same, of which some may be closed for others meanwhile."""
    with ExitStack() as each:
        lines = [each.enter_context(socket.socket()) for _ in range(number)]
        for line in lines:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.settimeout(5)
            line.connect((client.base_url.host, client.base_url.port))
        for line in lines:
            line.settimeout(0.02)
            with suppress(OSError):  # the server reads no more
                line.sendall(sent)
            line.settimeout(5)
        yield lines


@pytest.mark.parametrize("sent", [WRONG * 50, BODY], ids=["wrong tokens", "half bodies"])
def test_a_crowd_keeps_nobody_out(client, sent):
    with crowd(client, sent):
        for i in range(4):
            before = time.monotonic()
            assert client.get("/healthz", headers={"Connection": "close"}).status_code == 200
            said = client.post("/decide", json=asked(f"{sent[:99]} {i}"), headers={**RIGHT, "Connection": "close"})
            assert said.status_code == 200
            assert time.monotonic() - before < 10.0  # 30 where a body is waited for


def test_clients_that_read_no_answers_keep_nobody_out(campaign):
    with serving(app(campaign, token=TOKEN), most=2) as client, crowd(client, UNREAD * 400, 2):
        until = time.monotonic() + 30
        while True:  # the first answers are underway until what takes them is full
            with suppress(httpx.TransportError):
                assert client.get("/healthz", headers={"Connection": "close"}).status_code == 200
                break
            assert time.monotonic() < until
            time.sleep(0.1)


def test_a_body_that_comes_in_pieces_is_taken_where_nobody_is_in_need(client):
    with crowd(client, BODY, 1) as (line,):
        line.sendall(b" " * 97)
        time.sleep(0.1)
        line.sendall(b"}")
        assert line.recv(20).startswith(b"HTTP/1.1 422")


def test_a_wrong_token_has_one_guess_per_connection_and_few_of_them_wait(client):
    before = time.monotonic()
    with crowd(client, WRONG * 3, 60) as lines:
        answered = 0
        for line in lines:
            found = b""
            with suppress(ConnectionError):
                while part := line.recv(10_000):
                    found += part
            assert found.count(b"HTTP/1.1 401") <= 1  # 0 where it gave way
            answered += found.count(b"HTTP/1.1 401")
        assert answered >= 20
    assert time.monotonic() - before < 5.0  # 18 where all wait for a tenth of a second
