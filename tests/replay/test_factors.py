"""Prices of cases in problem files: known outcomes with columns, by which learned ones are multiplied."""

import csv

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.exports import export
from evenhand.live.fold.column_encoder import Text, of_log
from evenhand.live.stores.memory import MemoryStore
from evenhand.logs.log import environment, read_rows
from evenhand.logs.problem_file import parse, read_spec
from evenhand.replay import replay_log
from tests.replay import shop

PRICES = 'column = { a = "price of a", b = "price of b" }'
PROBLEM = (
    shop.PROBLEM.replace('maximize = "visit"', 'maximize = "sale"')
    .replace("[outcomes.visit]", '[outcomes.sale]\ncolumn = "bought"\ntimes = "price"')
    .replace("[outcomes.post]", f"[outcomes.price]\nknown = {{ a = 10, b = 20 }}\n{PRICES}\n\n[outcomes.post]")
)
HEADER = ["age", "town", "letter", "bought", "p", "price of a", "price of b"]
QUICK = {"replicas": 3, "bootstrap": 2, "progress": False}


def write(folder, count=1500, problem=PROBLEM, change=None):
    """Who gets a letter buys more often; prices are drawn."""
    rng, lines = np.random.default_rng(1), shop.rows(count)
    lines = [[*line, f"{rng.uniform(5, 15):.2f}", f"{rng.uniform(10, 30):.2f}"] for line in lines]
    if change is not None:
        change(lines)
    return shop.write(folder, lines, problem, HEADER)


def test_the_revenue_of_a_replay_is_sales_times_the_prices_of_their_rows(tmp_path):
    log, toml = write(tmp_path)
    found = replay_log(log, toml, **QUICK)
    spec = read_spec(toml)
    encoded = read_rows(log, spec).encoded
    world = environment(spec.problem(encoded.levels), encoded, shuffles=3)
    with log.open(newline="") as file:
        lines = list(csv.DictReader(file))
    prices = [[0.0, float(line["price of a"]), float(line["price of b"])] for line in lines]
    np.testing.assert_array_equal(world.known[:, :, 0], prices)
    trace = found.runs[0].trace
    rounds, revenue = trace.elapsed[-1, 0], trace.totals[-1, 0, 0]
    # of a lottery, the same of every row that counts: recomputed from the order in which rows are read
    policy = eh.uniform(world.problem, world.n_features)
    one = eh.simulate(policy, world, replicas=1, seed=0, record="all", progress=False)
    order = world.start(0, np.array([0]))._rows[:, 0]
    amounts = [
        float(lines[row]["bought"]) * prices[row][action]
        for row, action, counts in zip(
            order, one.plays.actions[:, 0, 0], one.plays.counted[: len(order), 0], strict=False
        )
        if counts > 0
    ]
    assert len(amounts) == 300
    assert one.totals[-1, 0, 0] == pytest.approx(sum(amounts))
    assert rounds == 300
    assert revenue > one.totals[-1, 0, 0]  # a letter to those who buy for much
    assert "sale per round" in str(found)


def test_cases_of_a_campaign_state_their_prices(tmp_path):
    log, toml = write(tmp_path)
    spec = read_spec(toml)
    encoded = read_rows(log, spec).encoded
    stated = of_log(Text.of(toml), log)
    case = {"age": 33.0, "town": "north", "price of a": 7.0, "price of b": 12.5}
    context = stated.coded.context(case, None, None)
    price = stated.policy.problem.known.index("price")
    np.testing.assert_array_equal(context.known[0, :, price], [0.0, 7.0, 12.5])
    changed = stated.coded.context(case, None, {"price": {"b": 99.0}})
    np.testing.assert_array_equal(changed.known[0, :, price], [0.0, 7.0, 99.0])
    with pytest.raises(InvalidInput, match="price of a: expected a finite number"):
        stated.coded.context({**case, "price of a": "cheap"}, None, None)
    store = MemoryStore()
    campaign = eh.live.open_campaign(store, "letters", toml, log_path=log)
    revenue = 0.0
    for i in range(12):
        case["price of b"] = 10.0 + i
        said = campaign.decide(case, key=str(i))
        campaign.observe(said.id, {"sale": 1})
        revenue += {"none": 0.0, "a": 7.0, "b": 10.0 + i}[said.action]
    assert campaign.status().averages["sale"] == pytest.approx(revenue / 12)
    again = eh.live.open_campaign(store, "letters", toml, log_path=log)
    assert again.status().averages == campaign.status().averages
    with pytest.raises(InvalidInput, match="'sale' is maximised times a factor, but exported as it was observed"):
        export(store, "letters", tmp_path / "rewards.npz")
    count = export(store, "letters", tmp_path / "rewards.npz", outcome="sale")
    assert np.load(tmp_path / "rewards.npz")["reward"].tolist() == [1.0] * count
    assert len(encoded.actions) == 1500


def test_one_column_may_be_the_price_of_all_actions():
    text = PROBLEM.replace(PRICES, 'column = "price of a"')
    assert dict(parse(text, "file").by_case["price"]) == {"a": "price of a", "b": "price of a"}


def test_rows_without_a_price_or_with_amounts_are_bad(tmp_path):
    def change(lines):
        lines[3][5] = ""
        lines[5][3] = "20"

    log, toml = write(tmp_path, change=change)
    with pytest.raises(
        InvalidInput, match=r"1 row: 'bought' is not a number in \[0, 1\], before it is multiplied by price"
    ):
        replay_log(log, toml, **QUICK)
    toml.write_text(toml.read_text() + '\n[outside]\nbought = "drop"\n')
    found = replay_log(log, toml, **QUICK)
    assert "1 row: 'price of a' is not a finite number" in str(found)
    assert found.checks["dropped"].startswith("1 row was dropped for its 'bought' (1 under ")
    assert found.headline().startswith("Of the rows that were kept: ")
    assert "Of the rows that were kept: over " in found.summary()
