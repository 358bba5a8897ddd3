"""Plans from a log within budgets of groups, beside a linear program by HiGHS, and several on one outcome."""

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.core.errors import InvalidInput
from evenhand.offline import assign, value
from evenhand.offline.evidence import Evidence
from evenhand.offline.lists.plan import Cases

ROWS, LISTED = 1200, 300
PROBLEM = """
maximize = "sale"
horizon = "log"
features = {{ numeric = ["age"] }}
action = {{ column = "arm", values = ["none", "letter", "call"] }}
propensity = {{ constant = 0.333333 }}
outcomes = {{ sale = {{ range = [0, 1] }}, cents = {{ known = {{ letter = 1, call = 2 }} }} }}
budget = [{}]
"""
OF_GROUPS = '{ outcome = "cents", by = "tier", total = { free = 80, pro = 240 } }, { outcome = "cents", total = 300 }'


@pytest.fixture
def files(tmp_path):
    """A log of even propensities, and a list, with a tier in each."""
    rng = np.random.default_rng(3)
    age, arm, tier = rng.integers(20, 70, ROWS), rng.choice(["none", "letter", "call"], ROWS), rng.random(ROWS) < 0.6
    sale = (rng.random(ROWS) < 0.1 + 0.3 * (arm != "none") * (age > 40) + 0.2 * (arm == "call")).astype(int)
    names = np.where(tier, "free", "pro")
    lines = [f"{x},{t},{a},{y}" for x, t, a, y in zip(age, names, arm, sale, strict=True)]
    (tmp_path / "log.csv").write_text("\n".join(["age,tier,arm,sale", *lines, ""]))
    listed = [f"{x},{t}" for x, t in zip(age[:LISTED], names[:LISTED], strict=True)]
    (tmp_path / "list.csv").write_text("\n".join(["age,tier", *listed, ""]))
    (tmp_path / "problem.toml").write_text(PROBLEM.format(OF_GROUPS))
    return tmp_path


@pytest.mark.parametrize("holdout", [0.0, 0.03])
def test_a_list_uses_no_more_than_the_budget_of_any_group_and_is_the_best_one(files, holdout):
    log, stated = files / "log.csv", files / "problem.toml"
    found = assign(files / "list.csv", stated, learn_from=log, holdout=holdout)
    totals = {"cents": 75.0, "cents tier=free": 20.0, "cents tier=pro": 60.0}  # of a quarter of the rows
    assert {b.outcome: b.total for b in found.budgets} == pytest.approx(totals)
    free = np.array(["free" in line for line in (files / "list.csv").read_text().split()[1:]])
    cents = np.array([0.0, 1.0, 2.0])[found.chosen]
    for inside, total in ((free, 20.0), (~free, 60.0), (free | ~free, 75.0)):
        assert cents[inside].sum() <= total
    assert cents.sum() >= 73.0
    if holdout == 0.0:
        evidence = Evidence.read(log, stated)
        listed = Cases.read(files / "list.csv", evidence.spec, evidence.problem, evidence.coding)
        worth = evidence.worth(evidence.predict(listed.features, listed.known), LISTED).predicted
        use = [np.outer(inside, [0.0, 1.0, 2.0]).ravel() for inside in (free, ~free, free | ~free)]
        one = np.kron(np.eye(LISTED), np.ones((1, 3)))
        best = -linprog(-worth.ravel(), np.stack(use), [20, 60, 75], one, np.ones(LISTED), method="highs").fun
        own = worth[np.arange(LISTED), found.chosen].sum()
        assert best - 0.5 <= own <= best + 1e-7  # a case or two may be split in the program


def test_values_state_every_budget_and_plan_within_all(files):
    found = value(files / "log.csv", files / "problem.toml")
    assert any("the totals of cents by tier are for the 1,200 rows" in note for note in found.notes)
    text = str(found)
    assert "targeted, all limits" in text
    for limit in ("cents tier=free per round, at most 0.06667", "cents tier=pro per round, at most 0.2"):
        assert limit in text


def test_a_group_that_the_log_does_not_have_is_refused(files):
    (files / "problem.toml").write_text(PROBLEM.format('{ outcome = "cents", by = "tier", total = { fre = 80 } }'))
    with pytest.raises(InvalidInput, match=r"groups of tier: \['free', 'pro'\], got fre \(did you mean free\?\)"):
        value(files / "log.csv", files / "problem.toml")


def test_the_tightest_of_several_totals_is_the_allowance(files):
    several = (
        '{ outcome = "cents", total = 300 }, { outcome = "cents", total = 200 }, { outcome = "cents", total = 400 }'
    )
    (files / "problem.toml").write_text(PROBLEM.format(several))
    found = assign(files / "list.csv", files / "problem.toml", learn_from=files / "log.csv")
    assert "50 cents for the 300 cases of the list" in str(found)
    assert np.array([0.0, 1.0, 2.0])[found.chosen].sum() == 50.0
