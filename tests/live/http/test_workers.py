"""Several processes at one port: they share the log and its budgets, are replaced, and end together."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from evenhand.cli import main
from tests.live.campaigns.test_files import STATED
from tests.live.http.test_serve import CASE
from tests.polling import LONG, until
from tests.replay.shop import rows, write

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


class Served:
    """A server of three processes, with its address."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "evenhand.cli", "serve", *map(str, arguments), "--workers", "3", "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said = [self.process.stdout.readline() for _ in range(2)]
        self.url = re.match(r"(http://\S+) ", self.said[1])[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def workers(self):
        """The processes that serve, without that of multiprocessing."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(z) for z in children if "spawn_main" in Path(f"/proc/{z}/cmdline").read_text()]

    def decide(self, keys):
        """Ask at once, on a connection for each."""

        def ask(key):
            said = httpx.post(f"{self.url}/decide", json={**CASE, "key": key}, trust_env=False, timeout=60)
            return said.raise_for_status().json()["id"]

        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(ask, keys))


def gone(pids):
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.fixture
def begun(tmp_path):
    _, file = write(tmp_path, rows(300), STATED)
    return file, f"sqlite:///{tmp_path}/post.db"


def test_processes_share_a_log_are_replaced_and_stop_together(begun, capsys):
    file, store = begun
    with Served(file, "--store", store, "--new") as server:
        assert server.said[0] == "problem: pgd, budget and parity; new campaign, 0 of 300 decided\n"
        until(lambda: len(server.workers()) == 3)
        first = server.workers()
        ids = server.decide([f"key {i}" for i in range(40)])
        os.kill(first[0], signal.SIGKILL)
        until(lambda: set(server.workers()) - {*first})
        (second,) = {*server.workers()} - {*first}
        os.kill(second, signal.SIGKILL)  # before it is ready, which stops no others
        until(lambda: len(server.workers()) == 3 and not {first[0], second} & {*server.workers()})
        ids += server.decide([f"key {i}" for i in range(40, 60)])
        assert server.decide(["key 3"]) == [ids[3]]
        assert len(set(ids)) == 60
        last = server.workers()
        server.process.send_signal(signal.SIGTERM)
        rest, _ = server.process.communicate(timeout=LONG)
        assert server.process.returncode == 0
        assert rest.count("a worker ended (status -9); another one is started") == 2
        assert rest.endswith("stopped; the log has everything that was answered\n")
        assert gone([*first, *last])
    assert main(["audit", store]) == 0
    assert "60" in capsys.readouterr().out


def test_workers_end_with_the_process_that_started_them(begun):
    file, store = begun
    with Served(file, "--store", store) as server:
        until(lambda: len(server.workers()) == 3)
        each = server.workers()
        server.process.kill()
        until(lambda: gone(each))


def test_what_cannot_be_served_is_said_once_with_its_status(begun, tmp_path, capfd):
    file, store = begun
    file.write_text("no_key = 1\n" + STATED)
    assert main(["serve", str(file), "--store", store, "--workers", "2", "--port", "0"]) == 2
    assert capfd.readouterr().err.count("evenhand: problem.toml") == 1
    for more in (["--store", "memory://"], ["--store", store, "--lease", store]):
        with pytest.raises(SystemExit):
            main(["serve", str(file), *more, "--workers", "2"])
        assert "--workers: expected 1 with" in capfd.readouterr().err
