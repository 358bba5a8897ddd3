"""The files that commands of pages name, in a folder: a log, a list of customers, and problem files."""

import csv
import shutil
from pathlib import Path

import numpy as np

from tests.documents.pages import ROOT, marked

COLUMNS = (
    *("recency", "history_segment", "history", "mens", "womens", "zip_code", "newbie", "channel"),
    *("segment", "visit", "conversion", "spend"),
)
LEASED = """
maximize = "answer"
horizon = 32_000
features = { numeric = ["age"], ranges = { age = [20, 80] } }
action = { column = "sent", values = { none = "none", letter = "letter" } }
outcomes = { answer = { range = [0, 1] }, cents = { known = { letter = 80 } } }
budget = [{ outcome = "cents", total = 100_000 }]
"""


def customers(count: int) -> list[list[object]]:
    """Rows of a log with the columns of hillstrom.csv, drawn at random: a men's e-mail helps buyers of men's wear."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(count):
        mens, sent = int(rng.random() < 0.55), str(rng.choice(["No E-Mail", "Mens E-Mail", "Womens E-Mail"]))
        visit = int(rng.random() < 0.1 + 0.1 * mens * (sent == "Mens E-Mail") + 0.05 * (sent == "Womens E-Mail"))
        place = str(rng.choice(["Urban", "Surburban", "Rural"], p=[0.4, 0.45, 0.15]))
        bought, spent = int(visit and rng.random() < 0.1), round(float(rng.gamma(1.5, 150.0)) + 29.99, 2)
        channel, newbie = str(rng.choice(["Web", "Phone", "Multichannel"])), int(rng.random() < 0.5)
        case = int(rng.integers(1, 13)), f"{1 + int(spent > 100)}) $", spent, mens, 1 - mens, place, newbie, channel
        rows.append([*case, sent, visit, bought, 50.0 * bought])
    return rows


def fill(folder: Path, rows: int = 1200) -> None:
    """Write all files."""
    found = customers(rows)
    for name, width, kept in (("hillstrom.csv", len(COLUMNS), found), ("customers.csv", 8, found[: rows // 10])):
        with (folder / name).open("w", newline="", encoding="utf-8") as opened:
            csv.writer(opened).writerows([list(COLUMNS[:width]), *(row[:width] for row in kept)])
    shutil.copytree(ROOT / "deploy", folder / "deploy", ignore=shutil.ignore_patterns("secrets"))
    (folder / "examples").mkdir()
    for name in ("email.toml", "sweep.toml"):
        shutil.copy(ROOT / "examples" / name, folder / "examples")
    email = (ROOT / "examples" / "email.toml").read_text(encoding="utf-8")
    (folder / "email.toml").write_text(email.replace("rate = 0.30", "rate = 0.15"), encoding="utf-8")
    post = (ROOT / "deploy" / "problem.toml").read_text(encoding="utf-8")
    (folder / "sms.toml").write_text(post, encoding="utf-8")
    (half,) = (text for kind, text in marked(ROOT / "examples" / "analyst.md") if kind == "toml")
    (folder / "half.toml").write_text(half, encoding="utf-8")
    for name in ("north", "south"):
        (folder / f"{name}.toml").write_text(LEASED, encoding="utf-8")
