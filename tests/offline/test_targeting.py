"""For whom: levels counted by hand, what features add against planning by hand, and coefficients with their errors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.offline import Evidence, RidgeByErrors, for_whom
from evenhand.offline.outcome_models import members_of
from evenhand.offline.scores import Estimate
from evenhand.offline.targeting import levels_of, standard_errors
from tests.offline.logs import draw

BUDGET = 'budget = [{ outcome = "post", rate = 0.25 }]\n'
PROBLEM = """
maximize = "sale"
horizon = 100
features = { numeric = ["age", "noise"], categorical = ["town"] }
action = { column = "sent", values = { no = "none", letter = "letter" } }
propensity = { constant = 0.5 }
outcomes = { sale = { range = [0, 1] }, post = { known = { letter = 1 } } }
"""


def read(folder, rows=6000, more=BUDGET, seed=0):
    """A log in which letters help the young of town A, and noise says nothing."""
    rng = np.random.default_rng(seed)
    age, noise, town = rng.uniform(20, 60, rows).round(1), rng.normal(size=rows).round(3), rng.choice(list("ABC"), rows)
    sent = rng.random(rows) < 0.5
    chance = 0.3 + sent * (0.3 * (town == "A") + 0.3 * (40 - age) / 20)
    table = {"age": age, "noise": noise, "town": town, "sent": np.where(sent, "letter", "no")}
    table["sale"] = (rng.random(rows) < np.clip(chance, 0.02, 0.98)).astype(int)
    pd.DataFrame(table).to_csv(folder / "log.csv", index=False)
    (folder / "problem.toml").write_text(PROBLEM + more)
    return Evidence.read(folder / "log.csv", folder / "problem.toml")


def test_levels_are_counted_by_hand():
    rng = np.random.default_rng(1)
    z, towns = rng.normal(size=400), rng.choice(list("ABCDEFGHIJKLMNOP"), 400)
    few = rng.integers(0, 3, 400).astype(float)
    few[:7] = np.nan
    lottery = rng.dirichlet(np.ones(3), 400)
    found = list(levels_of({"z": z, "few": few, "town": towns.tolist()}, lottery))
    assert [level.feature for level in found] == ["z"] * 4 + ["few"] * 4 + ["town"] * 12
    order = np.argsort(z)
    for level, rows in zip(found[:4], np.split(order, 4), strict=True):
        assert level.level == f"{z[rows].min():.6g} to {z[rows].max():.6g}"
        assert level.share == 0.25
        assert level.actions == pytest.approx(lottery[rows].mean(0))
    assert [level.level for level in found[4:8]] == ["0", "1", "2", "missing"]
    assert found[7].share == 7 / 400
    names, counts = np.unique(towns, return_counts=True)
    first = sorted(zip(-counts, names, strict=True))[:11]
    assert [level.level for level in found[8:]] == [*(name for _, name in first), "5 others"]
    last = ~np.isin(towns, [name for _, name in first])
    assert found[-1].actions == pytest.approx(lottery[last].mean(0))
    assert sum(level.share for level in found[8:]) == pytest.approx(1.0)


def test_levels_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(2)
    columns = {"z": rng.integers(0, 40, 300).astype(float), "town": rng.choice(list("ABC"), 300)}
    lottery, order = rng.dirichlet(np.ones(2), 300), rng.permutation(300)
    one = list(levels_of(columns, lottery))
    two = list(levels_of({name: z[order] for name, z in columns.items()}, lottery[order]))
    assert [z[:3] for z in one] == [z[:3] for z in two]
    np.testing.assert_allclose([z.actions for z in one], [z.actions for z in two])


def test_what_a_feature_adds_is_the_difference_of_two_plans(tmp_path):
    log = read(tmp_path)
    found = for_whom(log, folds=4, seed=3)
    tables = log.tables(folds=4, seed=3)
    scores, psi, values = log.worth(tables).scores, {}, {}
    for feature, columns in {"": [], "age": [1], "noise": [2], "town": [3, 4]}.items():
        x = np.delete(log.features, columns, axis=1)
        less = Evidence(**{**vars_of(log), "features": x})
        predicted = less.worth(less.tables(folds=4, seed=3)).predicted
        gain = predicted[:, 1] - predicted[:, 0]
        values[feature], psi[feature] = 0.0, np.empty(log.rows)
        for mine in members_of(np.arange(log.rows), 4, 3):  # a quarter of each fold
            rows, last = mine[np.argsort(-gain[mine], kind="stable")[:375]], np.sort(gain[mine])[-375]
            get = np.zeros(log.rows)
            get[rows] = 1.0
            g = scores[:, 0] + get * (scores[:, 1] - scores[:, 0])
            values[feature] += g[mine].mean() / 4
            psi[feature][mine] = g[mine] - last * (get[mine] - 0.25)
    wider = []
    for added in found.adds:
        if added.feature == "town":
            continue  # without it there are ties, none with it
        d = psi[""] - psi[added.feature]
        assert added.value.value == pytest.approx(values[""] - values[added.feature], abs=1e-9)
        alone = d.std(ddof=1) / np.sqrt(log.rows)
        wider.append(added.value.se / alone)  # by what folds have in common
        assert added.feature != "age" or added.value.se < 1.4 * alone
    assert min(wider) >= 0.99
    assert max(wider) > 1.1
    by = {z.feature: z.value for z in found.adds}
    assert by["age"].value > 2 * by["age"].se
    assert by["town"].value > 2 * by["town"].se
    assert abs(by["noise"].value) < 4 * by["noise"].se
    assert [z.feature for z in found.adds] == sorted(by, key=lambda name: -by[name].value)


def vars_of(log):
    return {name: getattr(log, name) for name in log.__dataclass_fields__}


def test_errors_of_what_a_feature_adds_are_those_of_other_logs(tmp_path):
    """Over logs from one source, differences deviate as much as their errors say."""
    found = []
    for seed in range(60):
        folder = tmp_path / str(seed)
        folder.mkdir()
        adds = {z.feature: z.value for z in for_whom(read(folder, 1000, seed=seed)).adds}
        found.append([(adds[name].value, adds[name].se) for name in ("age", "town")])
    values, se = np.array(found).transpose(2, 0, 1)
    ratio = values.std(0, ddof=1) / se.mean(0)
    assert (np.abs(ratio - 1.0) < 4 / np.sqrt(2 * 60)).all(), ratio  # four errors of a standard deviation of 60


def test_levels_of_the_planned_policy_use_its_budget(tmp_path):
    found = for_whom(read(tmp_path))
    assert found.policy == "targeted, post 0.25"
    for feature in ("age", "noise", "town"):
        mine = [z for z in found.levels if z.feature == feature]
        assert sum(z.share * z.actions[1] for z in mine) == pytest.approx(0.25)
    young, *_, old = [z for z in found.levels if z.feature == "age"]
    assert young.actions[1] > 0.5 > 0.1 > old.actions[1]


def test_the_policy_keeps_to_all_limits_and_says_which_feature_it_needs_for_them(tmp_path):
    parity = 'parity = [{ outcome = "post", by = "town", tolerance = 0.02 }]\n'
    found = for_whom(read(tmp_path, more=BUDGET + parity))
    assert found.policy == "targeted, all limits"
    towns = {z.level: z.actions[1] for z in found.levels if z.feature == "town"}
    assert towns == pytest.approx({"A": 0.27, "B": 0.25, "C": 0.23}, abs=0.02)
    assert max(towns.values()) > 0.265  # without the parity, town A has nearly all letters
    assert sum(z.share * z.actions[1] for z in found.levels if z.feature == "age") == pytest.approx(0.25)
    floor = 'floor = [{ outcome = "sale", rate = 0.38 }]\n'
    needed = for_whom(read(tmp_path, more=BUDGET + floor))
    assert [z.feature for z in needed.adds] == ["town", "noise"]
    (note,) = (z for z in needed.notes if "cannot be told" in z)
    assert note.startswith("what age adds cannot be told: without it, no plan keeps to the budget of post")


def test_without_a_budget_every_row_gets_the_best(tmp_path):
    log = read(tmp_path, more="")
    found = for_whom(log)
    predicted = log.worth(log.tables()).predicted
    assert found.policy == "targeted, no budget"
    share = sum(z.share * z.actions[1] for z in found.levels if z.feature == "town")
    assert share == pytest.approx((predicted.argmax(1) == 1).mean())


def test_rows_that_are_worth_the_same_are_taken_by_chance(tmp_path):
    """Without its only feature, a plan is a draw of rows: in which order the log has them does not matter."""
    rng = np.random.default_rng(5)
    good = np.sort(rng.random(2000) < 0.5)  # the file is sorted by it
    sent = rng.random(2000) < 0.5
    sale = (rng.random(2000) < 0.2 + 0.4 * (good & sent)).astype(int)
    table = {"good": np.where(good, "yes", "no"), "sent": np.where(sent, "letter", "no"), "sale": sale}
    pd.DataFrame(table).to_csv(tmp_path / "log.csv", index=False)
    text = PROBLEM.replace('numeric = ["age", "noise"], categorical = ["town"]', 'categorical = ["good"]')
    (tmp_path / "problem.toml").write_text(text + BUDGET)
    ((_, value),) = for_whom(tmp_path / "log.csv", tmp_path / "problem.toml").adds
    assert value.value == pytest.approx(0.25 * 0.4 - 0.25 * 0.2, abs=4 * value.se)
    assert value.se < 0.011


def test_coefficients_have_the_errors_of_bootstraps():
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(1500), rng.normal(size=(1500, 3))])
    y = x @ [0.5, 1.0, 0.0, -0.3] + rng.normal(size=1500) * (0.3 + np.abs(x[:, 1]))
    model = RidgeByErrors().fit(x, y)

    def ridge(rows):
        z, d = x[rows], np.diag([0.0, 1.0, 1.0, 1.0]) * model.penalty
        return np.linalg.solve(z.T @ z + d, z.T @ y[rows])

    np.testing.assert_allclose(ridge(np.arange(1500)), model.coefficients, atol=1e-9)
    resampled = np.array([ridge(rng.integers(0, 1500, 1500)) for _ in range(2000)])
    se = standard_errors(x, y, model.coefficients, model.penalty)
    np.testing.assert_allclose(se, resampled.std(0, ddof=1), rtol=0.08)  # of 2,000, each is within 1.6 % or so


def test_coefficients_belong_to_their_columns(tmp_path):
    log = read(tmp_path)
    found = {(c.action, c.name): c.value for c in for_whom(log).coefficients}
    assert {name for _, name in found} == {"intercept", *log.coding.names[1:]}
    seen = log.actions == 1
    model = RidgeByErrors().fit(log.features[seen], log.outcomes[seen, 0])
    for name, value in zip(log.coding.names[1:], model.coefficients[1:], strict=True):
        assert found["letter", name].value == value
    assert found["letter", "age"].value < -10 * found["letter", "age"].se
    assert abs(found["none", "noise"].value) < 4 * found["none", "noise"].se


class Mean:
    """A model that is no ridge regression, and so has no coefficients."""

    def fit(self, x, y):
        self.mean = y.mean()
        return self

    def predict(self, x):
        return np.full(len(x), self.mean)


def test_other_models_have_no_coefficients(tmp_path):
    found = for_whom(read(tmp_path, 400), model=Mean)
    assert found.coefficients == ()
    assert "coefficients" not in str(found)


def test_what_is_told_and_kept(tmp_path):
    found = for_whom(read(tmp_path))
    assert "who gets what under 'targeted, post 0.25'" in str(found)
    assert found.summary().startswith("Of 3 features, these add more sale per case than chance explains: ")
    assert "noise" not in found.summary()
    assert found.headline() in found._repr_html_()
    frame = found.to_frame()
    assert list(frame.columns) == ["feature", "level", "share", "probability none", "probability letter"]
    assert frame.groupby("feature")["share"].sum().tolist() == pytest.approx([1.0, 1.0, 1.0])
    rows = {r.metric: r for r in found.results().rows if r.system == found.policy}
    assert rows["sale that age adds"][3:5] == next(z.value.pair for z in found.adds if z.feature == "age")


def test_the_command_says_for_whom(tmp_path, capsys):
    read(tmp_path)
    files = [str(tmp_path / "log.csv"), "--problem", str(tmp_path / "problem.toml")]
    assert main(["value", *files, "--for-whom", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "town: A" in said
    assert "sale per case that it adds" in said
    page = (tmp_path / "out" / "report.html").read_text()
    assert "For whom: targeted, post 0.25" in page
    assert "--for-whom" in page
    assert main(["value", *files]) == 0
    assert "who gets what" not in capsys.readouterr().out


def test_evidence_that_does_not_say_whose_features_are():
    with pytest.raises(InvalidInput, match="one that was read by a problem file"):
        for_whom(draw(300, 1).evidence)


def test_plans_pay_for_the_cheapest_actions(tmp_path):
    """The typical costs of a file are within its budget, and those of the rows of the log are not."""
    read(tmp_path, 400)
    table = pd.read_csv(tmp_path / "log.csv").assign(low=0.5, high=1.0)
    table.to_csv(tmp_path / "log.csv", index=False)
    costs = 'known = { none = 0.1, letter = 1 }, column = { none = "low", letter = "high" }'
    (tmp_path / "problem.toml").write_text(PROBLEM.replace("known = { letter = 1 }", costs) + BUDGET)
    with pytest.raises(InvalidInput, match=r"budget: expected at least 0\.5 per case"):
        for_whom(tmp_path / "log.csv", tmp_path / "problem.toml")


def test_features_are_named_where_they_stand_out_among_all(tmp_path):
    """Errors of 2.2 standard errors are beyond 1.96, and not beyond what holds for all features at once."""
    found = for_whom(read(tmp_path))
    near = tuple(z._replace(value=Estimate(2.2 * 0.01, 0.01)) for z in found.adds)
    assert found.reach > 2.2
    assert replace(found, adds=near).summary().startswith("No feature adds more to ")
    far = tuple(z._replace(value=Estimate(3.5 * 0.01, 0.01)) for z in found.adds)
    said = f"(95 % for all {len(far)} at once: {0.035 - 0.01 * found.reach:+.4f} to "
    assert said in replace(found, adds=far).summary()


def test_features_of_a_policy_of_which_the_log_says_too_little(tmp_path):
    found = for_whom(read(tmp_path))
    assert "cannot be told, as the log fails" in replace(found, checks={"features": "differs"}).summary()
    log = read(tmp_path)
    certain = log.columns["age"] < 40  # to whom letters are of use
    none = replace(log, actions=np.where(certain, 0, log.actions), propensities=np.where(certain, 1.0, 0.5))
    found = for_whom(none)
    assert found.doubt.is_guess
    assert "cannot be told, as the log says too little of its plays" in found.summary()
    assert all(np.isnan(z.value.se) for z in found.adds)
    assert "nan" not in str(found).lower().replace("finance", "")
