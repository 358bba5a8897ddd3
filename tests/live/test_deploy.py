"""The image and the compose file: what they run is a command of evenhand, and where Docker runs, they are tried."""

import json
import re
import secrets
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from evenhand.cli import build, main
from evenhand.live import open_campaign

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CASE = {"age": 33, "town": "north"}


def text(name):
    return (DEPLOY / name).read_text()


def commands():
    """The commands of both files."""
    (of_image,) = re.findall(r"^CMD (\[.*\])$", text("Dockerfile"), re.MULTILINE)
    (of_compose,) = re.findall(r"^    command: (\[.*\])$", text("compose.yaml"), re.MULTILINE)
    return {"image": json.loads(of_image), "compose": json.loads(of_compose)}


def docker(*arguments, **more):
    """Run a command of Docker, and return what it printed."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, cwd=ROOT, **more)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def runs(*arguments):
    """Whether Docker is there and answers."""
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", *arguments], capture_output=True, timeout=60).returncode == 0


@pytest.mark.parametrize("name", ["image", "compose"])
def test_the_commands_are_those_of_evenhand(name):
    program, *arguments = commands()[name]
    parsed = build().parse_args(arguments)
    assert (program, parsed.command, parsed.host, parsed.port) == ("evenhand", "serve", "0.0.0.0", 8000)
    assert [str(path) for path in parsed.problem] == ["/etc/evenhand/problem.toml"]
    if name == "image":
        volume = re.search(r"^VOLUME (\S+)$", text("Dockerfile"), re.MULTILINE)[1]
        assert parsed.store.startswith(f"sqlite:///{volume}/")
    else:
        assert parsed.store.startswith("postgresql://evenhand@database/")


@pytest.mark.parametrize("name", ["image", "compose"])
def test_the_commands_start_again_after_a_switch(name, tmp_path, monkeypatch, capsys):
    """With a file and a store that are here, whose names are those of the containers."""
    totals, store = [], f"sqlite:///{tmp_path}/campaign.db"
    monkeypatch.setattr("evenhand.live.http.serve", lambda each, **_: totals.append(each[0].status().accounts["post"]))
    monkeypatch.setenv("EVENHAND_TOKEN", "a long enough secret")
    start = commands()[name][1:]
    start[start.index("/etc/evenhand/problem.toml")] = str(DEPLOY / "problem.toml")
    start[start.index("--store") + 1] = store
    assert main(start) == 0
    less = tmp_path / "less.toml"
    less.write_text((DEPLOY / "problem.toml").read_text().replace("rate = 0.3", "rate = 0.2"))
    assert main(["switch", store, str(less), "--by", "ada", "--why", "less"]) == 0
    capsys.readouterr()
    assert main(start) == 0
    assert "problem.toml is superseded: continuing with event 2's, switched by ada (less)" in capsys.readouterr().err
    assert [z.total for z in totals] == pytest.approx([3000, 2000])


def test_no_secret_is_in_the_files():
    for name in ("Dockerfile", "compose.yaml", "entrypoint.sh"):
        assert not re.search(r"(PASSWORD|TOKEN)\s*[:=]\s*['\"]?[A-Za-z0-9]", text(name))
    assert re.search(r"^USER evenhand$", text("Dockerfile"), re.MULTILINE)


def test_the_problem_needs_no_log():
    with open_campaign("memory://", "letters", DEPLOY / "problem.toml") as campaign:
        assert campaign.decide(CASE, key="1").action in ("none", "a", "b")


def enter(told, *command):
    """Run a command as a container does, with what it was told as its environment."""
    whole = ["sh", str(DEPLOY / "entrypoint.sh"), *command]
    return subprocess.run(whole, capture_output=True, text=True, env=told)


@pytest.mark.parametrize("given", [True, False])
def test_the_entrypoint_reads_secrets_from_files(tmp_path, given):
    told = {"PATH": "/usr/bin:/bin"}
    for name in ("EVENHAND_TOKEN", "PGPASSWORD") if given else ():
        path = tmp_path / name
        path.write_text(f"of {name}\n")
        told[f"{name}_FILE"] = str(path)
    script = 'echo "${EVENHAND_TOKEN-none}, ${PGPASSWORD-none}"'
    done = enter(told, "sh", "-c", script)
    assert done.stdout == ("of EVENHAND_TOKEN, of PGPASSWORD\n" if given else "none, none\n")


def test_the_entrypoint_stops_where_a_secret_is_missing(tmp_path):
    told = {"PATH": "/usr/bin:/bin", "EVENHAND_TOKEN_FILE": str(tmp_path / "nothing")}
    done = subprocess.run(
        ["sh", str(DEPLOY / "entrypoint.sh"), "echo", "ran"], capture_output=True, text=True, env=told
    )
    assert done.returncode != 0
    assert done.stdout == ""


def test_compose_reads_its_file():
    if not runs("compose", "version"):
        pytest.skip("docker compose is not installed")
    found = json.loads(docker("compose", "-f", "deploy/compose.yaml", "config", "--format", "json"))
    assert set(found["services"]) == {"database", "evenhand"}
    assert found["services"]["evenhand"]["command"] == commands()["compose"]


@pytest.mark.slow
def test_the_image_decides_and_goes_on_after_a_restart(tmp_path):
    if not runs("info"):
        pytest.skip("no daemon of Docker answers")
    docker("build", "-f", "deploy/Dockerfile", "-t", "evenhand:test", ".")
    token = tmp_path / "token"
    token.write_text(secrets.token_urlsafe(32))
    volume = f"evenhand-test-{secrets.token_hex(4)}"
    run = ["run", "--detach", "--publish", "127.0.0.1::8000", "--volume", f"{volume}:/data"]
    run += ["--volume", f"{token}:/run/secrets/token:ro", "--env", "EVENHAND_TOKEN_FILE=/run/secrets/token"]
    try:
        said = []
        for _ in range(2):
            name = docker(*run, "evenhand:test")
            try:
                url = f"http://{docker('port', name, '8000').splitlines()[0]}"
                wait(lambda url=url: ask(url, "/readyz"))
                assert ask(url, "/report")[0] == 401
                assert docker("exec", name, "id", "-u") == "10001"
                said.append(ask(url, "/decide", {"key": "a", "case": CASE}, token.read_text()))
                wait(lambda name=name: (200 if health(name) == "healthy" else 0, None))
                docker("stop", name)
                assert docker("inspect", "--format", "{{.State.ExitCode}}", name) == "0"
            finally:
                docker("rm", "--force", name)
        assert [status for status, _ in said] == [200, 200]
        assert said[1][1] == {**said[0][1], "repeated": True}
    finally:
        docker("volume", "rm", "--force", volume)


@pytest.mark.slow
def test_compose_decides_in_postgresql():
    if not (runs("info") and runs("compose", "version")):
        pytest.skip("no daemon of Docker answers, or docker compose is not installed")
    kept = DEPLOY / "secrets"
    if kept.exists():
        pytest.skip("deploy/secrets is in use")
    kept.mkdir(mode=0o700)
    whole = ("compose", "-f", "deploy/compose.yaml", "--project-name", f"evenhand-test-{secrets.token_hex(4)}")
    try:
        for name in ("token", "password"):
            (kept / name).write_text(secrets.token_urlsafe(32))
        docker(*whole, "up", "--build", "--detach", "--wait")
        url, token = "http://127.0.0.1:8000", (kept / "token").read_text()
        first = ask(url, "/decide", {"key": "a", "case": CASE}, token)
        docker(*whole, "restart", "evenhand")
        wait(lambda: ask(url, "/readyz"))
        assert first[0] == 200
        assert ask(url, "/decide", {"key": "a", "case": CASE}, token) == (200, {**first[1], "repeated": True})
    finally:
        docker(*whole, "down", "--volumes", "--rmi", "local")
        shutil.rmtree(kept)


def health(name):
    return docker("inspect", "--format", "{{.State.Health.Status}}", name)


def ask(url, path, body=None, token=""):
    """The status and the JSON of an answer; 0 where there is none."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data, headers), timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code, None
    except OSError:
        return 0, None


def wait(asked, seconds=120.0):
    """Wait until what is asked is answered by 200."""
    until = time.monotonic() + seconds
    while asked()[0] != 200:
        assert time.monotonic() < until, "it was not ready in time"
        time.sleep(0.5)
