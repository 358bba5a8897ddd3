"""The alert rules and the board in `deploy/`: what they name is what `/metrics` has."""

import json
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenhand.live import open_campaign
from evenhand.live.campaigns.tokens import Tokens
from evenhand.live.http import app
from tests.live.http_campaign import serving
from tests.live.minutes import PER_DAY
from tests.rows import for_each

DEPLOY = Path(__file__).parents[3] / "deploy"
BOARD = json.loads((DEPLOY / "board.json").read_text())
SINGLE, TILL = "one that may do everything", "one that may ask for a decision a minute"
OF_SCRAPES = {"instance", "job"}  # labels that Prometheus adds


def rules():
    """The rules of all alerts."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    (group,) = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
    return group["rules"]


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """The labels of all samples by their names: of two campaigns, one of which has a budget per day, and a quota."""
    folder = tmp_path_factory.mktemp("scraped")
    calls, tokens = folder / "calls.toml", folder / "tokens.toml"
    calls.write_text(PER_DAY)
    tokens.touch(mode=0o600)
    hashed = sha256(TILL.encode()).hexdigest()
    tokens.write_text(f'[tokens.till]\nsha256 = "{hashed}"\nroles = ["decide"]\ndecisions_per_minute = 1\n')
    store = f"sqlite:///{folder}/log.db"
    with (
        open_campaign(store, "letters", DEPLOY / "problem.toml") as one,
        open_campaign(store, "calls", calls) as other,
        serving(app([one, other], token=Tokens(tokens, SINGLE), backups=folder)) as client,
    ):
        case = {"age": 33, "town": "north"}

        def post(path, body, token=SINGLE):
            answer = client.post(path, json=body, headers={"Authorization": f"Bearer {token}"})
            return answer.status_code

        assert post("/campaigns/letters/decide", [{"key": f"{i}", "case": case} for i in range(120)]) == 200
        assert post("/campaigns/letters/observe", {"key": "0", "outcomes": {"visit": 1}}) == 200
        assert post("/campaigns/calls/decide", {"key": "0", "case": {}}) == 200
        assert [post("/campaigns/letters/decide", {"key": "0", "case": case}, TILL) for _ in range(2)] == [200, 429]
        text = client.get("/metrics", headers={"Authorization": f"Bearer {SINGLE}"}).text
    found = {"up": [{}]}  # Prometheus has it of every scrape
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


def faults(expression, shown, found):
    """What a query, and the text that is shown with it, say that no sample has."""
    bare = re.sub(r'"[^"]*"', '""', expression)
    names = re.findall(r"\b(?:evenhand|process|python)_\w+|\bup\b", bare)
    wrong = [f"no metric {name}" for name in names if name not in found]
    if wrong or not names:
        return wrong or ["no metric at all"]
    of_each = [{label for labels in found[name] for label in labels} | OF_SCRAPES for name in names]
    for name, matchers in re.findall(r"(\w+)\{([^}]*)\}", expression):
        for label, kind, value in re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', matchers):
            if label in OF_SCRAPES:
                continue
            values = {labels[label] for labels in found[name] if label in labels}
            stated = set() if value in ("$campaign", "5..") else set(value.split("|") if "~" in kind else [value])
            if not values or stated - values:
                wrong.append(f"{name} has no {label} {value}")
    grouped = {label for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", bare) for label in group.split(", ")} - {"le"}
    wrong += [f"no label {label}" for label in sorted(grouped) if not all(label in labels for labels in of_each)]
    left = grouped if re.search(r"\b(?:max|min|sum)\b", bare) else set.intersection(*of_each)
    used = set(re.findall(r"\{\{ ?(?:\$labels\.)?(\w+) ?\}\}", shown))
    return wrong + [f"{label} is shown, and was summed over" for label in sorted(used - left)]


def test_alerts_are_about_metrics_that_there_are(scraped):
    found = {z["alert"]: faults(z["expr"], z["annotations"]["summary"], scraped) for z in rules()}
    assert len(found) > 10
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert {z["labels"]["severity"] for z in rules()} == {"page", "ticket"}


def test_the_board_shows_metrics_that_there_are(scraped):
    targets = [(z["title"], target) for z in BOARD["panels"] for target in z["targets"]]
    found = {name: faults(z["expr"], z["legendFormat"], scraped) for name, z in targets}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    places = [(z["gridPos"]["x"], z["gridPos"]["y"]) for z in BOARD["panels"]]
    assert len(set(places)) == len(places) == len({z["id"] for z in BOARD["panels"]})
    (query,) = [z["query"] for z in BOARD["templating"]["list"] if z["name"] == "campaign"]
    name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", query).groups()
    assert all(label in labels for labels in scraped[name])


@for_each(
    ("expression", "shown", "wrong"),
    [
        ("evenhand_queue_length > 9", "{{ $labels.campaign }} {{instance}}", []),
        ("evenhand_queue_size > 9", "", ["no metric evenhand_queue_size"]),
        ("1 > 2", "", ["no metric at all"]),
        ('evenhand_alarm{name="late"} > 0', "", ["evenhand_alarm has no name late"]),
        ('evenhand_alarm{name!~"clock|late"} > 0', "", ["evenhand_alarm has no name clock|late"]),
        ('evenhand_requests_total{code=~"5.."} > 0', "", ["evenhand_requests_total has no code 5.."]),
        ("max by (budget) (evenhand_waiting)", "", ["no label budget"]),
        ("max by (campaign) (evenhand_alarm)", "{{name}}", ["name is shown, and was summed over"]),
    ],
)
def test_a_name_that_no_metric_has_is_found(scraped, expression, shown, wrong):
    assert faults(expression, shown, scraped) == wrong


@for_each(
    ("program", "arguments"),
    [
        ("promtool", ["check", "rules", "alerts.yaml"]),
        ("caddy", ["validate", "--config", "Caddyfile", "--adapter", "caddyfile"]),
    ],
)
def test_the_program_of_a_file_reads_it(program, arguments, tmp_path):
    """One that is configured takes its file."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    told = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([shutil.which(program), *arguments], capture_output=True, text=True, cwd=DEPLOY, env=told)
    assert done.returncode == 0, done.stderr[-2000:]
