"""Commands of campaigns run one after the other, with servers in processes of their own."""

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from evenhand.cli import main
from tests.documents import folders
from tests.documents.pages import ROOT
from tests.documents.scenes import SCENES, TOKEN


class Scene:
    """What runs in a folder: servers by the port of their page, and what was printed last."""

    def __init__(self, folder, env):
        self.folder, self.env, self.urls, self.printed = folder, env, {}, ""
        self.servers = ExitStack()

    def run(self, command, capsys):
        words = shlex.split(command)
        if words[:2] == ["evenhand", "serve"]:
            self.urls[_port(words)] = self.servers.enter_context(self.server(words))
        elif words[0] == "curl":
            self.printed = self.asked(words[1:])
        elif words[0] == "evenhand":
            assert main(words[1:]) in (0, None)
            self.printed = capsys.readouterr().out
        elif words[0] == "export":
            self.env |= [words[1].split("=")]
        else:
            subprocess.run(["sh", "-c", command], env=self.env, check=True)

    @contextmanager
    def server(self, words):
        """A server at a free port; yields its address."""
        command = [sys.executable, "-m", "evenhand", *words[1:], "--port", "0"]
        process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.printed = ""
        for line in process.stdout:
            self.printed += line
            if found := re.match(r"(http://\S+) \(Ctrl-C stops\)$", line):
                yield found[1]
                process.send_signal(signal.SIGINT)
                break
        process.communicate(timeout=60)
        assert process.returncode == 0, self.printed

    def asked(self, words):
        """What curl would print."""
        given = {words.pop(0): words.pop(0) for _ in range(len(words) // 2)}
        (url,) = words
        headers = {"Content-Type": "application/json"}
        if "--header" in given:
            name, value = given["--header"].replace("$EVENHAND_TOKEN", TOKEN).split(": ")
            headers[name] = value
        port, path = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/.*)", url).groups()
        with httpx.Client(trust_env=False, timeout=120) as client:
            reply = client.post(self.urls[port] + path, content=given["--json"], headers=headers)
        assert reply.status_code == 200, reply.text
        return reply.text


def _port(words):
    return words[words.index("--port") + 1] if "--port" in words else "8000"


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """An empty scene beside the files that commands name."""
    folders.fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = Scene(tmp_path, {**os.environ, "PYTHONPATH": paths, "PATH": programs})
    with found.servers:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_commands_run_one_after_the_other(name, scene, capsys):
    for command in SCENES[name]:
        scene.run(command, capsys)
