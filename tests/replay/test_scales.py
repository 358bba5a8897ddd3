"""Values that alone make the scale of a column are named with their row; heavy tails are not."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.logs.checks.repeats import alone
from evenhand.replay import read_log, replay_log
from tests.replay import shop

LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "wide lognormal": lambda rng, n: np.exp(3.0 * rng.normal(size=n)),
    "money": lambda rng, n: np.round(np.exp(3.0 + 1.8 * rng.normal(size=n)), 2),
    "money of few": lambda rng, n: np.where(rng.random(n) < 0.02, np.round(np.exp(3 + 2 * rng.normal(size=n)), 2), 0.0),
    "hundreds": lambda rng, n: np.round(np.exp(5.0 + 1.5 * rng.normal(size=n)), -2),
    "Pareto 1": lambda rng, n: 1.0 / rng.random(n),
    "Pareto 1/2": lambda rng, n: rng.random(n) ** -2.0,
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "Zipf": lambda rng, n: np.minimum(rng.zipf(1.8, n), 10**15).astype(float),
    "counts": lambda rng, n: rng.negative_binomial(0.3, 0.02, n).astype(float),
    "rare counts": lambda rng, n: rng.poisson(0.01, n).astype(float),
    "rare indicator": lambda rng, n: (rng.random(n) < 0.003).astype(float),
    "ages": lambda rng, n: rng.integers(18, 90, n).astype(float),
    "dates": lambda rng, n: 19_000.0 + rng.integers(0, 700, n),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rows", [100, 3000])
def test_a_tail_is_not_taken_for_a_mistake(law, rows):
    """Of 1,000 columns, one in a thousand or fewer is named at .1 %: 5 or more have a chance of .4 %."""
    rng, runs = np.random.default_rng(len(law) + rows), 1000
    chances = [found[1] for _ in range(runs) if (found := alone(LAWS[law](rng, rows))) is not None]
    assert np.count_nonzero(np.array(chances) < 0.001) < 5
    assert np.count_nonzero(np.array(chances) < 0.02) < 20 + 4.0 * np.sqrt(20)


@pytest.mark.parametrize("law", ["normal", "money", "ages", "dates"])
@pytest.mark.parametrize("wrong", [1, 12], ids=["once", "often"])
def test_what_no_tail_explains_is_found(law, wrong):
    rng = np.random.default_rng(3)
    for _ in range(20):
        z = LAWS[law](rng, 2000)
        z[:wrong] = {"money": 1e12}.get(law, 1e9)
        assert alone(z)[1] < 1e-4
        assert alone(1e-3 * z)[1] == pytest.approx(alone(z)[1])  # in any unit
    assert alone(np.full(9, 3.0)) is None


def test_a_far_value_that_moves_no_scale_is_left_alone():
    z = LAWS["ages"](np.random.default_rng(4), 10_000)
    z[0] = 1e3
    assert alone(z) is None
    assert alone(z[:1000])[1] < 1e-4


def logged(folder, ages, problem=shop.PROBLEM, head="age"):
    rows = shop.rows(len(ages), seed=5)
    for row, age in zip(rows, ages, strict=True):
        row[0] = str(age)
    return shop.write(folder, rows, problem.replace('["age"]', f'["{head}"]'), [head, *shop.HEADER[1:]])


def test_a_check_names_the_value_and_its_row(tmp_path):
    rng = np.random.default_rng(8)
    ages = rng.integers(18, 70, 600).tolist()
    log, toml = logged(tmp_path, ages)
    before = eh.value(log, toml)
    assert before.checks["scales"] is None
    ages[7] = 1e21
    log, toml = logged(tmp_path, ages)
    said = (
        "'age' is 1e+21 in line 9, and 18 to 69 elsewhere: it outweighs all other rows, and no tail of theirs reaches"
    )
    found = eh.value(log, toml)
    for result in (found, eh.curve(log, toml), replay_log(log, toml, replicas=1, bootstrap=0)):
        assert f"check: {said} so far; correct it, or state its range in features.ranges" in str(result)
    assert found.headline().startswith(before.headline()[:40])  # the values are right, if less precise
    ages[2] = "none"
    assert " in line 9, and" in read_log(*logged(tmp_path, ages)).encoded.checks["scales"]  # beside a row that is bad
    ages[8] = ages[9] = 1e21
    said = read_log(*logged(tmp_path, ages)).encoded.checks["scales"]
    assert "in line 9 and 2 other rows, and 18 to 69 elsewhere" in said
    ranged = shop.PROBLEM.replace("[action]", "[features.ranges]\nage = [18, 90]\n\n[action]")
    assert read_log(*logged(tmp_path, ages, ranged)).encoded.checks["scales"] is None


def test_dates_and_costs_are_looked_at_as_well(tmp_path):
    rng = np.random.default_rng(9)
    born = [str(np.datetime64("1990-01-01") + np.timedelta64(int(z), "D")) for z in rng.integers(0, 9000, 500)]
    born[3] = "9999-12-31"
    problem = shop.PROBLEM.replace('numeric = ["age"]', 'dates = ["age"]')
    said = read_log(*logged(tmp_path, born, problem)).encoded.checks["scales"]
    assert said.startswith("'age' is 9999-12-31 in line 5, and 1990-")
    prices = rng.uniform(1, 3, 500).round(2).tolist()
    prices[0] = 1e9
    problem = shop.PROBLEM.replace("known = { a = 1, b = 1 }", 'known = { a = 1, b = 1 }\ncolumn = "price"')
    problem = problem.replace('numeric = ["age"]\n', "")
    said = read_log(*logged(tmp_path, prices, problem, "price")).encoded.checks["scales"]
    assert said.startswith("'price' is 1,000,000,000 in line 2, and 1 to 3 elsewhere: it outweighs")
    assert said.endswith("; correct it")
