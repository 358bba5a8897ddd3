"""Many cases of a log's columns, and many plays that wait, have the bits of single ones."""

from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.fold.cases import contexts_of
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.fold.runs import fold_runs
from evenhand.live.stores.memory import MemoryStore
from evenhand.policy.delay import Plays
from tests.live.fold.test_runs import same
from tests.rows import for_each
from tests.states import equal, same_bits

SHIPPED = Path(__file__).parents[3] / "deploy" / "problem.toml"
FILE = """
maximize = "visit"
horizon = 300

[features]
numeric = ["age", "sum"]
categorical = ["town", "way"]
dates = ["since"]

[features.ranges]
age = [20, 60]
sum = [0.1, 7]
since = [2026-01-01, 2026-12-31]

[features.levels]
town = ["north", "south"]
way = ["web", "phone", "shop"]

[features.missing]
age = "indicator"
town = "level"

[action]
values = ["none", "a", "b"]

[outcomes.visit]
range = [0, 1]

[outcomes.cost]
known = { a = 1, b = 2 }
column = { a = "cost_of_a", b = "cost_of_b" }
range = [0, 9]

[[budget]]
outcome = "cost"
rate = 0.3

[groups.town]
shares = { north = 0.5, south = 0.3, missing = 0.2 }

[[parity]]
outcome = "cost"
by = "town"
tolerance = 0.1
"""
CASE = {"age": 30, "sum": 0.3, "town": "south", "way": "shop", "since": "2026-05-04", "cost_of_a": 1, "cost_of_b": 0.1}
CASES = [
    CASE,
    CASE | {"age": None, "town": None, "sum": 99, "since": "2027-05-04T10:30"},
    CASE | {"age": 61.5, "town": "north", "way": "web", "cost_of_a": 3.3, "sum": -0.0},
]


def coded():
    return of_file(Text("p.toml", FILE)).coded


@for_each("cases", [CASES, CASES[:1], CASES[2:], []])
def test_many_cases_have_the_bits_of_single_ones(cases):
    encoder = coded()
    each = [encoder.context(case, None, None) for case in cases]
    for i, together in enumerate(encoder.contexts(cases)[:4]):
        assert len(together) == len(cases)
        for j, context in enumerate(each):
            same_bits(context[i], np.ascontiguousarray(together[j : j + 1]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"age": "30"},
        {"age": 10**400},
        {"sum": None},
        {"sum": float("nan")},
        {"town": "west"},
        {"town": ["north"]},
        {"way": 3},
        {"since": "soon"},
        {"cost_of_a": None},
        {"what": 1},
    ],
)
def test_a_wrong_case_among_many_is_told_as_alone(wrong):
    encoder = coded()
    case = CASE | wrong
    with pytest.raises(InvalidInput) as alone:
        encoder.context(case, None, None)
    with pytest.raises(InvalidInput) as among:
        encoder.contexts([CASE, case])
    assert str(among.value) == str(alone.value)


def test_a_case_without_a_column_among_many_is_told_as_alone():
    encoder = coded()
    case = {name: z for name, z in CASE.items() if name != "age"}
    with pytest.raises(InvalidInput, match="age: expected a value, as the problem file names the column, got none"):
        contexts_of(encoder, [{"case": CASE}, {"case": case}])


@for_each("seed", range(8))
def test_plays_that_wait_are_counted_in_batches_as_one_by_one(seed):
    rng, shop = np.random.default_rng(seed), of_file(Text("p.toml", SHIPPED.read_text())).policy
    delay, n = shop._assembly.delay, shop.model.n_features
    assert delay.counts
    single, many = shop.start(), shop.start()
    count = 40
    made = Plays(
        np.stack([np.arange(count), rng.integers(1, 9, count), np.zeros(count, int)], 1),
        np.concatenate([rng.integers(0, 3, (count, 1, 1, 1)), rng.normal(size=(count, 1, 1, n - 1))], 3),
        rng.integers(-1, 3, (count, 1, 1)),
        np.ones((count, 1)),
    )
    steps, waits = [], []
    for j in range(count):
        steps.append((False, j))
        waits.append(j)
        while waits and rng.random() < 0.5:
            steps.append((True, waits.pop(-1 if rng.random() < 0.5 else int(rng.integers(len(waits))))))
    for settles, j in steps:
        (delay.settle if settles else delay.commit)(single, Plays(*(z[j].copy() for z in made)))
    while steps:
        some, steps = steps[: (k := int(rng.integers(1, 9)))], steps[k:]
        delay.follow(many, made, np.array([s for s, _ in some]), np.array([j for _, j in some]))
    equal(single.waiting, many.waiting)


@pytest.mark.slow
def test_a_log_of_the_shipped_problem_file_is_folded_in_runs(entered):
    """Its default model has bonuses that count what waits, and outcomes come between decisions."""
    policy, encoder = of_file(Text("problem.toml", SHIPPED.read_text()))
    campaign, luck, waits = (
        eh.Campaign.open(MemoryStore(), "post", policy, encoder=encoder),
        np.random.default_rng(1),
        [],
    )
    for i in range(120):
        said = campaign.decide({"age": int(luck.integers(10, 90)), "town": "south" if i % 3 else "north"}, f"key {i}")
        waits.append(said.id)
        while len(waits) > luck.integers(0, 20):
            campaign.observe(waits.pop(int(luck.integers(len(waits)))), {"visit": int(luck.integers(2))})
    folding, events = campaign._worker.folding, list(campaign.events())
    single, runs = folding.fresh(), folding.fresh()
    single.fold(events)
    fold_runs(runs, events, 10**6)
    same(single, runs)
    assert single.state.waiting.some
    assert sum(entered) > 0.9 * single.seq
