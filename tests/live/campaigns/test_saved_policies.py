"""The policy of a campaign as it stands, judged by a log."""

import hashlib
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Unknown, open_campaign, served
from evenhand.live.stores.opening import connect
from evenhand.offline import Evidence, frozen
from tests.replay.shop import PROBLEM, rows, write

BY_CASE = PROBLEM.replace("known = { a = 1, b = 1 }", 'known = { a = 1, b = 1 }\ncolumn = { a = "porto" }').replace(
    'numeric = ["age"]', 'numeric = ["age", "income"]\nmissing = { income = "indicator" }'
)


def played(folder, log, problem, count=60, extra=lambda age: {}, name="post"):
    """Run a campaign in which letter "b" helps the young, with a snapshot on the way; returns it and its URL."""
    url = f"sqlite:///{folder}/{name}.db"
    campaign = open_campaign(url, name, problem, log_path=log, learn=False, seed=5)
    rng = np.random.default_rng(1)
    for i in range(count):
        age = float(rng.uniform(20, 80))
        reply = campaign.decide({"age": age, "town": ("north", "south")[i % 2], **extra(age)}, key=f"{i}")
        chance = 0.2 + 0.7 * (reply.action == "b" and age < 40)
        if i % 10:  # some wait for their outcomes
            campaign.observe(reply.id, {"visit": int(rng.random() < chance)})
        if i == count // 2:
            campaign.snapshot()
    return campaign, url


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    log, problem = write(folder, rows(400))
    campaign, url = played(folder, log, problem)
    return folder, log, problem, campaign, url


def test_a_served_policy_has_the_value_of_the_state_that_is_saved(shop, tmp_path):
    folder, log, problem, campaign, url = shop
    state = campaign._worker.look(lambda fold: fold.state)
    campaign.policy.save(state, tmp_path / "state.npz")
    loaded, coded = campaign.policy.load(tmp_path / "state.npz"), campaign.encoder
    campaign.close()
    before = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("post.db*")}
    evidence = Evidence.read(log, problem)
    saved = frozen(evidence, campaign.policy, loaded, encode=lambda case: coded.context(case, None, None))
    for store in (url, folder / "post.db", str(folder / "post.db")):
        found = served(store)
        assert np.array_equal(found.lotteries(evidence), saved)
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("post.db*")} == before
    one = eh.value(evidence, policies={"served": served(url, "post")}).policies[-1]
    other = eh.value(evidence, policies={"served": saved}).policies[-1]
    assert one == other
    young = np.array([float(age) < 40 for age in evidence.columns["age"]])
    assert saved[young, 2].mean() > saved[~young, 2].mean()  # it learned, and is no constant


def test_decisions_are_those_that_the_campaign_makes_next(shop):
    _, log, problem, _, url = shop
    lotteries = served(url).lotteries(Evidence.read(log, problem))
    with closing(connect(url)) as store:
        campaign = open_campaign(store, "post", problem, log_path=log, learn=False)
        for i, (age, town, *_) in enumerate(rows(400)[:3]):
            context = campaign.encoder.context({"age": float(age), "town": town}, None, None)
            decision = campaign.policy.decide(campaign._worker.fold.state, context)
            assert lotteries[i, decision.plays[0, 0]] == decision.propensities[0, 0]


def test_the_command_has_a_row_for_it(shop, capsys):
    _, log, problem, _, url = shop
    assert main(["value", str(log), "--problem", str(problem), "--served", url]) == 0
    lines = [z for z in capsys.readouterr().out.splitlines() if z.startswith("as served")]
    assert lines[0] in str(eh.value(log, problem, policies={"as served": served(url)}))
    assert main(["value", str(log), "--problem", str(problem), "--campaign", "post"]) == 2
    assert "campaign: expected none where no store is named, got post" in capsys.readouterr().err


def test_costs_by_case_and_missing_numbers_are_read_from_the_log(tmp_path):
    header = ["age", "town", "letter", "visit", "p", "porto", "income"]
    lines = [[*row, f"{1 + i % 3}", "" if i % 4 == 0 else f"{i}"] for i, row in enumerate(rows(400))]
    log, problem = write(tmp_path, lines, BY_CASE, header)
    campaign, url = played(tmp_path, log, problem, 40, lambda age: {"porto": 2.0, "income": None if age < 40 else age})
    evidence = Evidence.read(log, problem)
    lotteries = served(url).lotteries(evidence)
    for i, row in list(enumerate(lines))[:40]:
        case = {"age": float(row[0]), "town": row[1], "porto": float(row[5])}
        context = campaign.encoder.context(case | {"income": float(row[6]) if row[6] else None}, None, None)
        decision = campaign.policy.decide(campaign._worker.fold.state, context)
        assert lotteries[i, decision.plays[0, 0]] == decision.propensities[0, 0]


def test_after_the_horizon_a_campaign_that_goes_on_is_judged_and_another_is_refused(tmp_path):
    short = PROBLEM.replace("horizon = 300", "horizon = 20").replace("warmup = 20", "warmup = 5")
    log, problem = write(tmp_path, rows(400), short.replace("rate = 0.3", "rate = 0.3\nhard = true"))
    evidence = Evidence.read(log, problem)
    campaign, url = played(tmp_path, log, problem, 20)
    with pytest.raises(InvalidInput, match="expected one in which something can be played"):
        served(url).lotteries(evidence)
    campaign.change(by="Ada", why="there is money left", after="go on")
    assert served(url).after == "go on"
    assert np.allclose(served(url).lotteries(evidence).sum(1), 1.0)


def test_what_cannot_be_judged(shop, tmp_path):
    folder, log, _, _, url = shop
    with pytest.raises(InvalidInput, match="store: expected"):
        served(folder / "none.db")
    assert not (folder / "none.db").exists()
    with pytest.raises(Unknown, match="no campaign 'autumn'"):
        served(url, "autumn")
    fewer = PROBLEM.replace('numeric = ["age"]\n', "")
    (tmp_path / "problem.toml").write_text(fewer)
    with pytest.raises(InvalidInput, match="log: expected a column 'age', which the policy asks for"):
        eh.value(log, tmp_path / "problem.toml", policies={"served": served(url)})
    coin = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)
    eh.Campaign.open(f"sqlite:///{tmp_path}/coin.db", "coins", eh.uniform(coin, 1)).close()
    with pytest.raises(InvalidInput, match="opened with a problem file"):
        served(tmp_path / "coin.db")


def test_where_a_run_has_dates_it_is_judged_at_the_time_of_the_last_event(tmp_path):
    today = datetime.now(UTC).date()
    dates = f'since = "{today - timedelta(days=9)}"\nuntil = "{today + timedelta(days=90)}"\nhorizon = 300'
    log, problem = write(tmp_path, rows(400), PROBLEM.replace("horizon = 300", dates))
    campaign, url = played(tmp_path, log, problem, 20)
    clock = campaign.policy.problem.clock
    for i in range(2):
        time.sleep(0.01)
        campaign.decide({"age": 33.0, "town": "north"}, key=f"late {i}")
        *_, before, end = campaign.events()
        (found,) = served(url).encode({"age": 33.0, "town": "north"}).time
        assert clock.of_micros(before.at) < found == clock.of_micros(end.at)
