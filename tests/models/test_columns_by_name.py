"""Estimators that select columns by name, and those of CatBoost, LightGBM and XGBoost, in campaigns and for logs."""

import tomllib
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import evenhand as eh
from evenhand.choices import InverseGap, Rate
from evenhand.core.errors import InvalidInput
from evenhand.models import PerAction, Sklearn
from evenhand.models.sklearn import selects_by_name
from tests.offline.folds import cross_fit

TOWNS = ("north", "south", "east")
FILE = tomllib.loads("""
maximize = "buy"
horizon = 400
features = { numeric = ["age"], categorical = ["town"] }
action = { column = "arm", values = ["none", "mail", "call"] }
propensity = { constant = 0.333333333 }
outcomes = { buy = { range = [0, 1] } }
""")
PROBLEM = eh.Problem(
    actions=("none", "mail", "call"),
    outcomes=(eh.Outcome("buy"),),
    maximize="buy",
    features=(eh.Numeric("age", 18, 80), eh.Categorical("town", TOWNS)),
    horizon=400,
)
BOOSTED = {
    "catboost": ("CatBoost", {"iterations": 8, "verbose": 0, "allow_writing_files": False, "thread_count": 1}),
    "lightgbm": ("LGBM", {"n_estimators": 8, "verbose": -1, "n_jobs": 1}),
    "xgboost": ("XGB", {"n_estimators": 8, "n_jobs": 1}),
}


def by_name(last):
    columns = ColumnTransformer(
        [("number", StandardScaler(), ["age"]), ("text", OneHotEncoder(handle_unknown="ignore"), ["town"])]
    )
    return make_pipeline(columns, last)


def log(rows=600):
    luck = np.random.default_rng(7)
    found = pd.DataFrame({"age": luck.integers(20, 70, rows), "town": luck.choice(TOWNS, rows)})
    found["arm"] = luck.choice(["none", "mail", "call"], rows)
    likely = 0.1 + 0.5 * (found.arm == "call") * (found.age > 50)
    return found.assign(buy=(luck.random(rows) < likely).astype(int))


def play(model, rounds=60, tmp_path=None):
    """Return a policy of a model after some rounds, its state and the cases; save it half-way if there is a folder."""
    policy = eh.resolving(PROBLEM, model, choice=InverseGap(Rate(30.0, 0.5)))
    state, luck, seen = policy.start(seed=1), np.random.default_rng(3), []
    for i in range(rounds):
        case = {"age": 18 + 0.1 * int(luck.integers(620)), "town": TOWNS[i % 3]}
        decision = policy.act(state, policy.encode(case))
        buy = float(luck.random() < 0.1 + 0.6 * (decision.action == "call"))
        policy.observe(state, decision, {"buy": buy})
        seen.append({**case, "action": decision.action, "buy": buy})
        if tmp_path is not None and i == rounds // 2:
            policy.save(state, tmp_path / "state.npz")
            state = policy.load(tmp_path / "state.npz")
    return policy, state, pd.DataFrame(seen)


@pytest.mark.parametrize("mode", ["refit", "partial_fit"])
def test_a_pipeline_reads_values_of_cases_by_name_and_predicts_as_one_fitted_by_hand(mode, tmp_path):
    settings = {"growth": 1.0, "min_observations": 1} if mode == "refit" else {"mode": mode}
    pipeline = by_name(LinearRegression()) if mode == "refit" else Recorder()
    kind = partial(Sklearn, estimator=pipeline, features=PROBLEM.features, **settings)
    policy, state, seen = play(PerAction.of(PROBLEM, kind), tmp_path=tmp_path if mode == "refit" else None)
    if mode == "partial_fit":
        rows = pd.concat([pd.concat(fit.predictors[0].read) for fit in state.model.fits if fit is not None])
        expected = pd.concat([seen[seen.action == action] for action in PROBLEM.actions])
        expected = expected[["age", "town"]].astype({"town": pd.CategoricalDtype(list(TOWNS))})
        pd.testing.assert_frame_equal(rows.reset_index(drop=True), expected.reset_index(drop=True))
        assert max(len(each) for fit in state.model.fits for each in fit.predictors[0].read) == 1  # each row once
        return
    context = policy.encode({"age": 33.5, "town": "east"})
    worth = policy.worth(state, context, policy.decide(state, context))[0]
    mine = seen[seen.action == "call"]
    by_hand = pipeline.fit(mine[["age", "town"]], mine.buy).predict(pd.DataFrame({"age": [33.5], "town": ["east"]}))
    assert worth[2] == pytest.approx(np.clip(by_hand[0], 0, 1), abs=1e-9)


class Recorder(SGDClassifier):
    """Keeps the rows that it is handed."""

    def partial_fit(self, x, y, classes=None):
        self.read = [*getattr(self, "read", []), x]
        return super().partial_fit(x[["age"]].to_numpy() / 80, y, classes)

    def predict_proba(self, x):
        return np.tile([0.5, 0.5], (len(x), 1))


def test_models_that_select_columns_by_name_say_what_they_need():
    with pytest.raises(InvalidInput, match=r"features=problem\.features hands over values by name"):
        Sklearn(estimator=by_name(LinearRegression()))
    model = Sklearn(estimator=by_name(LinearRegression()), features=PROBLEM.features)
    with pytest.raises(InvalidInput, match=r"expected 4, as PerAction\.of\(problem, partial\(Sklearn"):
        play(model)
    with pytest.raises(InvalidInput, match=r"Sklearn\.n_features: expected 4, as features= has numbers"):
        Sklearn(estimator=by_name(LinearRegression()), n_features=9, features=PROBLEM.features)
    by_kind = ColumnTransformer([("number", "passthrough", make_column_selector(dtype_include=float))])
    by_place = ColumnTransformer([("number", "passthrough", [1]), ("none", "drop", [])])
    assert [selects_by_name(z) for z in (by_kind, by_place, LinearRegression())] == [True, False, False]


def test_a_log_is_valued_by_a_pipeline_that_selects_columns_by_name():
    rows, policies = log(), {"mine": lambda x: np.where(x["age"] > 50, "call", "none")}
    found = eh.value(rows, FILE, policies=policies, model=lambda: by_name(LogisticRegression()), folds=3)
    plain = eh.value(rows, FILE, policies=policies, model=LogisticRegression, folds=3)  # of the same numbers, encoded
    mine, same = (table.to_frame().set_index("policy").loc["mine"] for table in (found, plain))
    assert mine.ips == same.ips
    assert mine.value == pytest.approx(same.value, abs=0.01)  # the first level has a coefficient here
    assert mine.value != same.value


def test_columns_by_name_are_predicted_as_by_hand():
    rows, pipeline = log(300), by_name(LogisticRegression())
    evidence = eh.offline.Evidence.read(rows, FILE)
    actions, fold = evidence.actions, np.arange(300) % 3
    got = cross_fit(evidence.features, actions, evidence.outcomes[:, 0], 3, fold=fold, model=lambda: pipeline)
    for k in range(3):
        seen, out = (fold != k) & (actions == 2), fold == k
        by_hand = pipeline.fit(rows.loc[seen, ["age", "town"]], rows.buy[seen]).predict_proba(
            rows.loc[out, ["age", "town"]]
        )
        np.testing.assert_allclose(got[out, 2], by_hand[:, 1], rtol=1e-12)


class Strict:
    """A regressor with the interface of scikit-learn and none of its classes, which refuses equal targets."""

    def get_params(self, deep=True):
        return {}

    def set_params(self):
        return self

    def __sklearn_tags__(self):
        return LinearRegression().__sklearn_tags__()

    def fit(self, x, y):
        assert len(np.unique(y)) > 1
        self.mean = y.mean()
        return self

    def predict(self, x):
        return np.full(len(x), self.mean)


def test_targets_that_are_all_equal_are_predicted_without_a_fit():
    policy, state, seen = play(
        PerAction.of(PROBLEM, partial(Sklearn, estimator=Strict(), growth=1.0, min_observations=1))
    )
    context = policy.encode({"age": 30, "town": "east"})
    by_hand = [seen.buy[seen.action == action].mean() for action in PROBLEM.actions]
    assert policy.worth(state, context, policy.decide(state, context))[0] == pytest.approx(by_hand)
    rows = log(300)
    rows.loc[rows.arm == "none", "buy"] = 0
    values = eh.value(rows, FILE, model=Strict, folds=3).to_frame().set_index("policy").value
    assert values["all none"] == 0.0


@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
@pytest.mark.parametrize("package", BOOSTED)
def test_boosted_trees_of_other_packages_are_models_of_campaigns_and_of_logs(package, kind, tmp_path):
    name, settings = BOOSTED[package]
    if find_spec(package) is None:
        pytest.skip(f"needs {package}; CatBoost, of 100 MB, is in no extra")
    make = partial(getattr(import_module(package), name + kind), **settings)
    assert np.isfinite(eh.value(log(), FILE, model=make, folds=3).to_frame().value).all()
    policy, state, seen = play(PerAction.of(PROBLEM, partial(Sklearn, estimator=make())), tmp_path=tmp_path)
    assert policy.status(state).averages["buy"] == pytest.approx(seen.buy.mean())
    context = policy.encode({"age": 30, "town": "east"})
    assert (policy.worth(state, context, policy.decide(state, context)) >= 0.0).all()
