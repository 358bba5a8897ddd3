"""Under concurrency, probabilities that are stated are those with which actions are drawn."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

import evenhand as eh
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.http_campaign import SHOP

WORKERS, EACH = 4, 300


def policies():
    model = eh.PerAction.of(SHOP)
    return [eh.recipes.square_cbwk(SHOP, model, rate=5.0), eh.pgd(SHOP, model, warmup=400)]


@pytest.mark.slow
@pytest.mark.parametrize("policy", policies(), ids=lambda p: p.name)
def test_an_action_over_its_probability_is_one_on_average(tmp_path, policy):
    """For each action a, 1{a} / p has mean 1 over all decisions, within 4 standard errors."""

    def work(number):
        store = SqliteStore(tmp_path / "log.db", timeout=60.0)  # as others may compile while they hold the log
        campaign = eh.Campaign.open(store, "shop", policy)
        for i in range(EACH):
            case = {"age": 20 + (7 * i + number) % 40, "zone": ("town", "land")[i % 2]}
            said = campaign.decide(case, key=f"{number} {i}")
            if said.action is not None and i % 3:
                campaign.observe(said.id, {"answer": float(said.action == "letter" and i % 2)})

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))
    campaign = eh.Campaign.open(SqliteStore(tmp_path / "log.db"), "shop", policy)
    played = [(row.action, row.probability) for row in campaign.decisions().itertuples()]
    assert len(played) == WORKERS * EACH
    drawn = [(a, p) for a, p in played if p < 1.0]
    assert len(drawn) > 300
    for action in SHOP.actions:
        terms = [(a == action) / p if a == action else 0.0 for a, p in drawn]
        mean = sum(terms) / len(terms)
        error = math.sqrt(sum((t - mean) ** 2 for t in terms) / len(terms) / (len(terms) - 1))
        assert abs(mean - 1.0) < 4 * error
