"""Who gets what among 200,000 people in Parquet files, under two budgets and evenly between towns."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import evenhand as eh
from evenhand.offline import plan

TOWNS = ("Bonn", "Ulm")
problem = eh.Problem(
    actions=("none", "letter", "call"),
    outcomes=(
        eh.Outcome("sale", free=("none",)),
        eh.Outcome("cents", known={"letter": 80, "call": 200}),
        eh.Outcome("minutes", high=60, free=("none", "letter")),
    ),
    maximize="sale",
    groups=(eh.Groups("town", TOWNS),),
    subject_to=(
        eh.Budget("cents", rate=30),
        eh.Budget("minutes", rate=0.3),
        eh.Parity("cents", by="town", tolerance=2),
    ),
    horizon=200_000,
)

folder, luck = Path(tempfile.mkdtemp()), np.random.default_rng(0)
for i in range(4):  # in earnest, what a model predicts
    town = luck.integers(0, 2, 50_000)
    letter = luck.beta(1, 6, 50_000) * (1.0 + 0.3 * (town == 0))
    call = 1.7 * luck.beta(1, 6, 50_000)
    columns = {"sale_letter": letter, "sale_call": call, "minutes_call": luck.gamma(2.0, 1.5, 50_000)}
    pq.write_table(pa.table(columns | {"town": np.array(TOWNS)[town]}), folder / f"{i}.parquet")

found = plan(problem, folder)
print(found)
actions = found.assign(folder, seed=1)
print()
for number, name in enumerate(problem.actions):
    print(f"{name}: {(actions == number).sum():,}")
