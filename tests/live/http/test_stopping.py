"""A server that is told to stop ends soon, whatever its clients do."""

import os
import signal
import socket
import time

import pytest

from evenhand.cli import main
from tests.live.campaigns.test_files import STATED
from tests.live.http.test_serve import CASE, server
from tests.replay.shop import rows, write

TOKEN = "a secret of this test"
HEAD = b"Host: localhost\r\nAuthorization: Bearer %s\r\n"
RIGHT, WRONG = HEAD % TOKEN.encode(), HEAD % b"wrong-wrong-wrong-wrong"
SENT = {
    "half a body": b"POST /decide HTTP/1.1\r\n" + RIGHT + b"Content-Length: 99\r\n\r\n{",
    "answers that are not read": (b"GET /docs HTTP/1.1\r\n" + RIGHT + b"\r\n") * 200,
    "a wrong token": b"GET /report HTTP/1.1\r\n" + WRONG + b"\r\n",
}


@pytest.mark.slow
def test_a_server_ends_before_its_clients_do(tmp_path):
    _, file = write(tmp_path, rows(300), STATED)
    store = f"sqlite:///{tmp_path}/post.db"
    lines = []
    try:
        env, also = {**os.environ, "EVENHAND_TOKEN": TOKEN}, "refused 1 request with a wrong token, .*\n(ERROR: .*\n)*"
        with server(file, "--store", store, stop=signal.SIGTERM, env=env, also=also) as client:
            right = {"Authorization": f"Bearer {TOKEN}"}
            assert client.post("/decide", json=CASE, headers=right).status_code == 200
            wrong = {"Authorization": "Bearer wrong-wrong-wrong-wrong"}
            assert client.get("/report", headers=wrong).status_code == 401  # it is sure to print a line of it
            for what, number in {"half a body": 3, "answers that are not read": 1, "a wrong token": 300}.items():
                for _ in range(number):
                    line = socket.create_connection((client.base_url.host, client.base_url.port))
                    line.sendall(SENT[what])
                    if what == "a wrong token":
                        line.close()
                    else:
                        lines.append(line)
            before = time.monotonic()
        assert time.monotonic() - before < 25.0  # 30 where half a body is waited for
        assert lines[0].recv(100).startswith(b"HTTP/1.1 503 ")
    finally:
        for line in lines:
            line.close()
    assert not (tmp_path / "post.db-wal").exists()  # all is in the file
    assert main(["audit", store, "--head", client.rest.splitlines()[-2].split()[2]]) == 0
