"""A stack of a ridge regression and boosted trees: interactions, errors in rows not seen, and what a result says."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from evenhand.cli import main
from evenhand.core.errors import MissingExtra
from evenhand.offline import RidgeByErrors, Stack, curve
from evenhand.offline.outcome_models import members_of
from tests.offline.curve_coverage import drawn

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def crossed():
    """A log in which an action helps where two traits have the same sign, and harms elsewhere."""
    rng = np.random.default_rng(0)
    log = drawn(rng, 3000, 2, 0.0, 0.05)
    mean = 0.4 + 0.3 * np.where(log.actions == 1, np.sign(log.features[:, 1] * log.features[:, 2]), 0.0)
    return replace(log, outcomes=(rng.random(3000) < mean).astype(float)[:, None])


def test_an_effect_that_only_pairs_of_traits_show_is_targeted_by_the_stack_and_not_by_the_ridge(crossed):
    ridge, stack = (curve(crossed, budgets=(0.0, 0.5, 1.0), folds=3, model=z) for z in (RidgeByErrors, Stack))
    plain, found = (z.measures.qini("only small") for z in (ridge, stack))
    assert abs(plain.value) < 2.5 * plain.se
    assert found.value > 3.5 * found.se
    (note,) = (z for z in stack.notes if z.startswith("boosted trees"))
    assert note.startswith("boosted trees took weight 0.")
    assert f"note: {note}" in str(stack)
    assert not any("boosted" in z for z in ridge.notes)


def test_weights_are_the_best_of_rows_not_seen(crossed):
    ensemble = pytest.importorskip("sklearn.ensemble")
    x, y = crossed.features[:900], crossed.outcomes[:900, 0] + 0.2 * crossed.features[:900, 1]
    found, apart = Stack().fit(x, y), np.empty((2, 900))
    for mine in members_of(np.arange(900), 3, 0):
        others = np.delete(np.arange(900), mine)
        trees = ensemble.HistGradientBoostingRegressor(
            max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=0
        )
        for m, model in enumerate((RidgeByErrors(), trees)):
            apart[m, mine] = model.fit(x[others], y[others]).predict(x[mine])
    errors = [np.mean((y - (1.0 - w) * apart[0] - w * apart[1]) ** 2) for w in np.linspace(0.0, 1.0, 1001)]
    assert found.weight == pytest.approx(np.argmin(errors) / 1000, abs=1e-3)
    assert found.losses.tolist() == pytest.approx([errors[0], min(errors)], rel=1e-5)
    assert Stack().fit(x, y).predict(x).tolist() == found.predict(x).tolist()
    few, ridge = (made().fit(x[:50], y[:50]).predict(x).tolist() for made in (Stack, RidgeByErrors))
    assert few == ridge


def test_the_command_line_takes_it_and_says_what_is_missing(tmp_path, monkeypatch, capsys):
    log, problem = tmp_path / "log.csv", tmp_path / "problem.toml"
    log.write_text(
        "age,letter,visit\n" + "".join(f"{i % 7},{'yes' if i % 2 else 'no'},{i % 3 // 2}\n" for i in range(300))
    )
    problem.write_text(
        'maximize = "visit"\nhorizon = 100\nfeatures = { numeric = ["age"] }\npropensity = { constant = 0.5 }\n'
        'action = { column = "letter", values = { no = "none", yes = "letter" } }\n'
        "outcomes = { visit = { range = [0, 1] } }\n"
    )
    asked = ["value", str(log), "--problem", str(problem), "--folds", "3", "--model"]
    assert main([*asked, "stack"]) in (0, None)
    assert "note: boosted trees took weight" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(MissingExtra, match="boosted trees of outcomes"):
        Stack()
    assert main([*asked, "ridge"]) in (0, None)
