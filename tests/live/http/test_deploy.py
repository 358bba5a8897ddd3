"""The image, the compose file and the unit: what they run is a command of evenhand; where Docker runs, it is tried."""

import configparser
import json
import os
import re
import secrets
import shlex
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from evenhand.cli import build, main
from evenhand.live import open_campaign

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
CASE = {"age": 33, "town": "north"}
SITE = "${EVENHAND_SITE:-localhost}"  # what compose puts in
NAMES = ("image", "compose", "unit")


def text(name):
    return (DEPLOY / name).read_text()


def commands():
    """The commands of the files."""
    (of_image,) = re.findall(r"^CMD (\[.*\])$", text("Dockerfile"), re.MULTILINE)
    of_compose, _ = re.findall(r"^    command: (\[.*\])$", text("compose.yaml"), re.MULTILINE)
    of_unit = shlex.split(unit()["ExecStart"].removeprefix("/opt/evenhand/bin/"))
    found = {"image": json.loads(of_image), "compose": json.loads(of_compose), "unit": of_unit}
    return {name: [z.replace(SITE, "localhost") for z in command] for name, command in found.items()}


def unit():
    """The settings of the service of systemd; of those that are stated twice, the last."""
    found = configparser.RawConfigParser(strict=False, delimiters="=", comment_prefixes="#")
    found.optionxform = str
    found.read_string(text("evenhand.service"))
    return found["Service"]


def services():
    """The services of the compose file."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    return yaml.safe_load(text("compose.yaml"))["services"]


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


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_are_those_of_evenhand(name, monkeypatch):
    monkeypatch.delenv("EVENHAND_PORT")
    program, *arguments = commands()[name]
    parsed = build().parse_args(arguments)
    host = "127.0.0.1" if name == "unit" else "0.0.0.0"  # where the proxy of the machine asks
    assert (program, parsed.command, parsed.host, parsed.port) == ("evenhand", "serve", host, 8000)
    assert [str(path) for path in parsed.problem] == ["/etc/evenhand/problem.toml"]
    if name == "image":
        volume = re.search(r"^VOLUME (\S+)$", text("Dockerfile"), re.MULTILINE)[1]
        assert parsed.store.startswith(f"sqlite:///{volume}/")
    elif name == "unit":
        assert parsed.store.startswith(f"sqlite:////var/lib/{unit()['StateDirectory']}/")
    else:
        assert parsed.store.startswith("postgresql://evenhand@database/")


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_start_again_after_a_switch(name, tmp_path, monkeypatch, capsys):
    """With a file and a store that are here, whose names are those of the containers."""
    totals, store = [], f"sqlite:///{tmp_path}/campaign.db"
    monkeypatch.setattr(
        "evenhand.live.http.start.serve", lambda each, **_: totals.append(each[0].status().accounts["post"])
    )
    monkeypatch.setenv("EVENHAND_TOKEN", "a long enough secret")
    start = commands()[name][1:]
    start[start.index("/etc/evenhand/problem.toml")] = str(DEPLOY / "problem.toml")
    start[start.index("--store") + 1] = store
    if "--backups" in start:
        place = start.index("--backups") + 1
        assert f"backups:{start[place]}:ro" in services()["evenhand"]["volumes"]
        start[place] = str(tmp_path / "none")
        assert main(start) == 2
        assert "backups: expected a folder that exists" in capsys.readouterr().err
        start[place] = str(tmp_path)
    assert main(start) == 0
    less = tmp_path / "less.toml"
    less.write_text((DEPLOY / "problem.toml").read_text().replace("rate = 0.3", "rate = 0.2"))
    assert main(["switch", store, str(less), "--by", "ada", "--why", "less"]) == 0
    capsys.readouterr()
    assert main(start) == 0
    assert "problem.toml is superseded: continuing with event 2's, switched by ada (less)" in capsys.readouterr().err
    assert [z.total for z in totals] == pytest.approx([3000, 2000])


def test_no_container_may_do_more_than_it_has_to():
    for name, service in services().items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}, name
        assert all(service[limit] for limit in ("mem_limit", "cpus", "pids_limit")), name
        assert re.fullmatch(r"evenhand|\w+:\d+\.\d+", service["image"]), name
    assert {name for name, z in services().items() if "ports" in z or "cap_add" in z} == {"proxy"}
    assert {name for name, z in services().items() if z["networks"] != ["inner"]} == {"proxy"}
    assert re.search(r"^FROM python:\d+\.\d+-slim-\w+$", text("Dockerfile"), re.MULTILINE)


def test_the_backup_of_compose_is_a_command_of_evenhand():
    job, server = services()["backup"], services()["evenhand"]
    assert (job["profiles"], job["image"], job["restart"]) == (["backup"], server["image"], "no")
    shell, _, script = job["command"]
    asked, _ = script.replace("$$(date -u +%Y-%m-%dT%H%M%SZ)", "now").split(" && ")
    parsed = build().parse_args(shlex.split(asked)[1:])
    assert (shell, parsed.command, str(parsed.file)) == ("sh", "backup", "/backups/now.db")
    assert parsed.store == build().parse_args(commands()["compose"][1:]).store
    assert job["volumes"] == ["backups:/backups"]
    assert re.search(r"install -d -o evenhand .* /backups\b", text("Dockerfile"))  # new volumes take its owner


def test_no_secret_is_in_the_files():
    for name in ("Dockerfile", "compose.yaml", "entrypoint.sh", "Caddyfile"):
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


@pytest.mark.parametrize("may", [True, False])
def test_kernels_that_cannot_be_written_are_copied(may):
    """As Numba reads kernels only where it can write; with a read-only file system their folder is not writable."""
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o777)
        kernels, script = Path(top, "kernels"), Path(top, "entrypoint.sh")
        kernels.mkdir()
        (kernels / "one.nbc").write_text("machine code")
        script.write_text(text("entrypoint.sh"))
        script.chmod(0o755)
        kernels.chmod(0o777 if may else 0o555)
        told = {"PATH": "/usr/bin:/bin", "TMPDIR": top, "NUMBA_CACHE_DIR": str(kernels)}
        command = ["sh", str(script), "sh", "-c", 'test -w "$NUMBA_CACHE_DIR" && ls -d "$NUMBA_CACHE_DIR"/*']
        other = {"user": 65534} if os.geteuid() == 0 else {}  # root may write anywhere
        done = subprocess.run(command, capture_output=True, text=True, env=told, cwd=top, **other)
        found = Path(done.stdout.strip())
    assert (found.name, found.parent == kernels) == ("one.nbc", may)


def test_compose_reads_its_file():
    if not runs("compose", "version"):
        pytest.skip("docker compose is not installed")
    found = json.loads(docker("compose", "-f", "deploy/compose.yaml", "config", "--format", "json"))
    assert set(found["services"]) == {"database", "evenhand", "proxy"}
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
        url, token = "https://localhost", (kept / "token").read_text()
        first = ask(url, "/decide", {"key": "a", "case": CASE}, token)
        docker(*whole, "restart", "evenhand")
        wait(lambda: ask(url, "/readyz"))
        assert first[0] == 200
        assert ask(url, "/decide", {"key": "a", "case": CASE}, token) == (200, {**first[1], "repeated": True})
        docker(*whole, "--profile", "backup", "run", "--rm", "backup")
    finally:
        docker(*whole, "--profile", "backup", "down", "--volumes")
        shutil.rmtree(kept)


def health(name):
    return docker("inspect", "--format", "{{.State.Health.Status}}", name)


def ask(url, path, body=None, token=""):
    """The status and the JSON of an answer; 0 where there is none."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    own = ssl.create_default_context()
    own.check_hostname, own.verify_mode = False, ssl.CERT_NONE  # Caddy signs for localhost by itself
    try:
        asked = urllib.request.Request(url + path, data, headers)
        with urllib.request.urlopen(asked, timeout=10, context=own) as answer:
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
