"""A small log of advertisements with many sites and queries, and its problem file."""

import csv

import numpy as np

PROBLEM = """
maximize = "click"
horizon = 60

[features]
numeric = ["age"]
categorical = ["device"]
hashed = { site = 64, "site x device" = 32 }
texts = { query = { hashed = 64, words = 2, at_most = 8 } }

[action]
column = "ad"
values = ["none", "shoes"]

[propensity]
constant = 0.5

[outcomes.click]

[policy]
name = "uniform"
"""
HEADER = ["age", "device", "site", "query", "ad", "click"]
WORDS = ("red", "running", "shoes", "cheap", "hotel", "rome", "pizza")


def rows(count, sites=150, seed=0):
    """Lists of texts; an advertisement of shoes helps those who ask for them, and on every third site."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        site, words = int(rng.integers(sites)), list(rng.choice(WORDS, int(rng.integers(5))))
        ad = str(rng.choice(["none", "shoes"]))
        chance = 0.2 + 0.3 * (ad == "shoes") * (("shoes" in words) + (site % 3 == 0))
        device, age = str(rng.choice(["phone", "desktop"])), f"{rng.uniform(20, 60):.0f}"
        found.append([age, device, f"site{site}.com", " ".join(words), ad, str(int(rng.random() < chance))])
    return found


def write(folder, count=600, problem=PROBLEM, **how):
    """Write the log and its problem file, and return their paths."""
    log, file = folder / "log.csv", folder / "problem.toml"
    with log.open("w", newline="") as out:
        csv.writer(out).writerows([HEADER, *rows(count, **how)])
    file.write_text(problem)
    return log, file
