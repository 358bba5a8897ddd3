"""A small log as files: two letters or none, sent at random; a letter "b" helps the young."""

import csv

import numpy as np

PROBLEM = """
maximize = "visit"
horizon = 300

[features]
numeric = ["age"]
categorical = ["town"]

[action]
column = "letter"
values = { "" = "none", "A" = "a", "B" = "b" }

[propensity]
constant = 0.333333

[outcomes.visit]
range = [0, 1]

[outcomes.post]
known = { a = 1, b = 1 }

[[budget]]
outcome = "post"
rate = 0.3

[[parity]]
outcome = "post"
by = "town"
tolerance = 0.1

[policy]
step = 0.01
warmup = 20
"""

VALUES = 'values = { "" = "none", "A" = "a", "B" = "b" }'
HEADER = ["age", "town", "letter", "visit", "p"]


def rows(count, seed=0):
    """Lists of texts."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        age, town, letter = (
            rng.uniform(20, 80),
            rng.choice(["north", "south"], p=[0.3, 0.7]),
            rng.choice(["", "A", "B"]),
        )
        chance = 0.2 + 0.2 * (letter != "") + 0.3 * (letter == "B" and age < 40)
        found.append([f"{age:.1f}", str(town), str(letter), str(int(rng.random() < chance)), "0.333333"])
    return found


def write(folder, lines, problem=PROBLEM, header=HEADER):
    """Write both files; returns their paths."""
    log, toml = folder / "log.csv", folder / "problem.toml"
    with log.open("w", newline="") as file:
        csv.writer(file).writerows([header, *lines])
    toml.write_text(problem)
    return log, toml
