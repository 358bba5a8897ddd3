"""From a randomised log to a list: what a rule is worth, what more money is worth, and who gets a letter next."""

import tempfile
from pathlib import Path

import numpy as np

import evenhand as eh

PROBLEM = """
maximize = "sale"
horizon = 1000
features = { numeric = ["age"], categorical = ["town"] }
action = { column = "sent", values = { no = "none", letter = "letter", call = "call" } }
propensity = { constant = 0.333333 }
groups = { town = { shares = "log" } }
outcomes = { sale = { range = [0, 1] }, dollars = { known = { letter = 1, call = 3 } } }
budget = [{ outcome = "dollars", rate = 0.4 }]
parity = [{ outcome = "dollars", by = "town", tolerance = 0.05 }]
"""

rng, folder = np.random.default_rng(0), Path(tempfile.mkdtemp())
ages, towns, sent = rng.integers(20, 60, 9000), rng.choice(["Bonn", "Ulm"], 9000), rng.integers(0, 3, 9000)
sold = rng.random(9000) < 0.05 + sent * (ages - 20) / 300 + 0.05 * sent * (towns == "Bonn")  # calls sell to the old
names = np.array(["no", "letter", "call"])[sent]
(folder / "problem.toml").write_text(PROBLEM)
rows = [f"{a},{t},{s},{int(y)}" for a, t, s, y in zip(ages, towns, names, sold, strict=True)]
(folder / "log.csv").write_text("\n".join(["age,town,sent,sale", *rows[:8000]]) + "\n")
(folder / "next.csv").write_text("\n".join(["age,town", *(",".join(row.split(",")[:2]) for row in rows[8000:])]) + "\n")

log, problem = folder / "log.csv", folder / "problem.toml"
print(eh.value(log, problem, rules=["letter where age >= 40; else none"]))
print()
print(eh.curve(log, problem, budgets=(0.2, 0.4, 0.8)))
print()
listed = eh.assign(folder / "next.csv", problem, learn_from=log, holdout=0.1)
print(listed)
print(f"\nwritten: {listed.write(folder / 'assigned.csv').name}")
