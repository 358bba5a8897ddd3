import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand.choices import Random, Staged, TopK
from evenhand.core.errors import StateMismatch
from evenhand.environments import Court
from evenhand.goals import Doubling, Steady
from evenhand.models import BayesianLogistic, BayesianRidge, Fixed, Logarithmic, Logistic, Ridge, SelfNormalised
from evenhand.policy import Policy
from evenhand.policy.saving import fingerprint, flatten
from evenhand.problem import Budget, Groups, Outcome, Parity
from evenhand.recipes import pgd, pgd_adaptive, ucb, uniform
from evenhand.run import play
from tests.examples.problems import COURT, EVERYTHING
from tests.examples.recipes import RECIPES
from tests.resume import CASES, go_on


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "steps"),
    [("court", 400), ("folded", 400), ("ridge", 120), ("bilinear", 120), ("beside", 140), ("bayesian", 140)],
)
def test_a_saved_run_goes_on_with_the_same_actions_in_another_process(case, steps, tmp_path):
    """Past the warm-up, past 256 observations on the court, in a later regime, and with candidates that come and go."""
    policy, _ = CASES[case]
    state = policy.start(seed=12, replicas=[2, 0, 31])
    middle = 3 * steps // 4
    go_on(case, state, 0, middle)
    path = tmp_path / "state.npz"
    policy.save(state, path)
    here = go_on(case, state, middle, steps)
    command = [sys.executable, "-m", "tests.resume", str(path), case, str(middle), str(steps)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(done.stdout) == json.loads(json.dumps(here))
    assert len({json.dumps(told[0]) for told in here}) > 1  # and they are not all the same


def test_loading_gives_every_array_back(tmp_path):
    for recipe in RECIPES.values():
        policy, environment = recipe[-1]
        state = policy.start(seed=2**64 - 1, replicas=[5, 1])
        for _ in play(policy, state, environment.start(3, state.replicas), range(20)):
            pass
        policy.save(state, tmp_path / "s.npz")
        loaded = policy.load(tmp_path / "s.npz")
        before, after = dict(flatten(state)), dict(flatten(loaded))
        assert before.keys() == after.keys()
        assert loaded.seed == 2**64 - 1
        for path, z in before.items():
            np.testing.assert_array_equal(z, after[path], err_msg=path)
            assert z.dtype == after[path].dtype


def test_the_file_holds_arrays_and_text_and_no_pickle(tmp_path):
    policy = RECIPES["pgd"][0][0]
    policy.save(policy.start(), tmp_path / "s.npz")
    with np.load(tmp_path / "s.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(str(arrays["meta"]))
    assert meta["settings"]["goals.1.step.size"] == repr(policy.goals[1].step.size)
    assert meta["settings"]["problem.horizon"] == repr(float(policy.problem.horizon))
    assert ".model.theta" in arrays
    assert ".goals.1.price" in arrays
    assert list(tmp_path.iterdir()) == [tmp_path / "s.npz"]  # nothing half-written is left


def test_a_state_of_another_policy_is_refused(tmp_path):
    mine, other = RECIPES["pgd"][0][0], RECIPES["pgd_adaptive"][0][0]
    mine.save(mine.start(), tmp_path / "s.npz")
    with pytest.raises(StateMismatch, match="saved by a policy configured differently") as caught:
        other.load(tmp_path / "s.npz")
    assert "goals.1.step was Steady, is Doubling" in str(caught.value)
    assert "name was 'pgd(step=0.141)', is 'pgd_adaptive'" in str(caught.value)
    assert mine.fingerprint() != other.fingerprint()


def test_settings_that_are_allowed_to_differ_may_differ(tmp_path):
    mine = RECIPES["pgd"][0][0]
    state = mine.start(seed=3)
    mine.save(state, tmp_path / "s.npz")
    renamed = dataclasses.replace(mine, name="another")
    with pytest.raises(StateMismatch, match=r"configured differently: name was .*, is 'another'$"):
        renamed.load(tmp_path / "s.npz")
    with pytest.raises(StateMismatch, match="name was"):
        renamed.load(tmp_path / "s.npz", allow=("horizon",))
    assert renamed.load(tmp_path / "s.npz", allow=("name",)).seed == 3
    longer = dataclasses.replace(mine, problem=dataclasses.replace(mine.problem, horizon=999))
    with pytest.raises(StateMismatch, match=r"configured differently: problem\.horizon was 200\.0, is 999\.0$"):
        longer.load(tmp_path / "s.npz")
    assert longer.load(tmp_path / "s.npz", allow=("horizon",)).seed == 3


def test_a_state_of_another_shape_is_refused_whatever_is_allowed(tmp_path):
    mine = RECIPES["pgd"][0][0]
    mine.save(mine.start(), tmp_path / "s.npz")
    wider = dataclasses.replace(mine, model=Logistic(n_features=6))
    with pytest.raises(StateMismatch, match=r"of another shape: model\.n_features was 5\.0, is 6\.0"):
        wider.load(tmp_path / "s.npz", allow=("n_features", "ridge", "width", "scale", "name"))


_BASE = RECIPES["pgd"][1][0]  # hard, on the court
_PROBLEM = COURT.problem
_DUAL, _HARD = _BASE.goals[1], _BASE.goals[2]


def _with_goal(i, goal):
    goals = list(_BASE.goals)
    goals[i] = goal
    return dataclasses.replace(_BASE, goals=tuple(goals))


def _with_problem(**change):
    return dataclasses.replace(_BASE, problem=dataclasses.replace(_PROBLEM, **change))


def _rows(**change):
    return _with_goal(1, dataclasses.replace(_DUAL, rows=dataclasses.replace(_DUAL.rows, **change)))


_LOGISTIC = _BASE.model
_OUTCOMES = _PROBLEM.outcomes
CHANGES = {
    "name": dataclasses.replace(_BASE, name="another"),
    "actions": _with_problem(actions=("nothing", "ride", "voucher")),
    "outcome name": _with_problem(outcomes=(Outcome("shows"), *_OUTCOMES[1:]), maximize="shows"),
    "outcome range": _with_problem(outcomes=(Outcome("appears", high=0.9), *_OUTCOMES[1:])),
    "known outcome": _with_problem(outcomes=(*_OUTCOMES[:2], Outcome("voucher", known={"voucher": 1.01}))),
    "order of outcomes": _with_problem(outcomes=(_OUTCOMES[0], _OUTCOMES[2], _OUTCOMES[1])),
    "objective": _with_problem(maximize="ride"),
    "budget": _with_problem(subject_to=(Budget("ride", rate=0.051), *_PROBLEM.subject_to[1:])),
    "total for rate": _with_problem(subject_to=(Budget("ride", total=10), *_PROBLEM.subject_to[1:])),
    "parity": _with_problem(subject_to=(*_PROBLEM.subject_to[:3], Parity("voucher", by="group", tolerance=0.1))),
    "shares": _with_problem(groups=(Groups("group", {"0": 0.4, "1": 0.6}),)),
    "shares unknown": _with_problem(groups=(Groups("group", ["0", "1"]),)),
    "horizon": _with_problem(horizon=201),
    "features": dataclasses.replace(_BASE, model=dataclasses.replace(_LOGISTIC, n_features=6)),
    "ridge": dataclasses.replace(_BASE, model=dataclasses.replace(_LOGISTIC, ridge=1e-4)),
    "growth": dataclasses.replace(_BASE, model=dataclasses.replace(_LOGISTIC, growth=1.2)),
    "tolerance": dataclasses.replace(_BASE, model=dataclasses.replace(_LOGISTIC, tolerance=1e-5)),
    "width": dataclasses.replace(_BASE, model=dataclasses.replace(_LOGISTIC, width=Logarithmic(0.026))),
    "kind of width": dataclasses.replace(_BASE, model=dataclasses.replace(_LOGISTIC, width=Fixed(0.025))),
    "kind of model": dataclasses.replace(_BASE, model=Ridge(n_features=5)),
    "delta": dataclasses.replace(_BASE, model=Ridge(n_features=5, width=SelfNormalised(delta=0.1))),
    "goals": dataclasses.replace(_BASE, goals=_BASE.goals[:2]),
    "order of goals": dataclasses.replace(_BASE, goals=(_DUAL, _BASE.goals[0], _HARD)),
    "weight": _with_goal(0, dataclasses.replace(_BASE.goals[0], weights=(2.0,))),
    "bound": _with_goal(1, dataclasses.replace(_DUAL, bound=_DUAL.bound * (1 + 1e-9))),
    "step": _with_goal(1, dataclasses.replace(_DUAL, step=Steady(0.0500001))),
    "kind of step": _with_goal(1, dataclasses.replace(_DUAL, step=Doubling(0.05, (1.0,)))),
    "limit": _with_goal(1, dataclasses.replace(_DUAL, step=Doubling(0.05, (2.0,)))),
    "reset": _with_goal(1, dataclasses.replace(_DUAL, step=Doubling(0.05, (1.0,), reset=True))),
    "on": _with_goal(1, dataclasses.replace(_DUAL, on="observed")),
    "optimism": _with_goal(1, dataclasses.replace(_DUAL, optimism="net")),
    "start_at": _with_goal(1, dataclasses.replace(_DUAL, start_at=(0.0,) * 10)),
    "rows' names": _rows(names=tuple("abcdefghij")),
    "rows' known": _rows(known=_DUAL.rows.known * 2),
    "rows' learned": _rows(learned=_DUAL.rows.learned + 1),
    "rows' always": _rows(always=_DUAL.rows.always * 2),
    "rows' inside": _rows(inside=_DUAL.rows.inside * 2),
    "rows' grouping": _rows(grouping=np.zeros(10, np.int64)),
    "rows' column": _rows(column=np.ones(10, np.int64)),
    "total": _with_goal(2, dataclasses.replace(_HARD, total=_HARD.total + 1)),
    "low": _with_goal(2, dataclasses.replace(_HARD, low=_HARD.low - 1)),
    "high": _with_goal(2, dataclasses.replace(_HARD, high=_HARD.high + 1)),
    "warm-up": dataclasses.replace(_BASE, choice=Staged(51, TopK(1))),
    "k": dataclasses.replace(
        _BASE,
        problem=dataclasses.replace(_BASE.problem, n_plays=2, subject_to=()),
        choice=Staged(50, TopK(2), warmup=TopK(2)),
    ),
    "first": dataclasses.replace(_BASE, choice=Staged(50, TopK(1), warmup=TopK(1))),
    "weights": dataclasses.replace(_BASE, choice=Staged(50, TopK(1), warmup=Random((1.0, 1.0, 1.0)))),
    "choice": dataclasses.replace(_BASE, choice=TopK(1)),
}


def test_the_fingerprint_changes_with_every_field_of_the_configuration():
    marks = {name: policy.fingerprint() for name, policy in CHANGES.items()}
    assert len({_BASE.fingerprint(), *marks.values()}) == len(marks) + 1


def _fields(config, path=""):
    """Every field of nested configuration."""
    for f in dataclasses.fields(config):
        value = getattr(config, f.name)
        yield f"{path}{type(config).__name__}.{f.name}", config, f.name
        for part in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(part):
                yield from _fields(part)


def _nudged(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "!"
    if isinstance(value, tuple | list):
        return [*value, 1.0]
    if isinstance(value, dict):
        return {**value, "!": 0.5}
    return 1.0 if value is None else value + 1


@pytest.mark.parametrize("policy", [RECIPES["pgd"][2][0], RECIPES["pgd_adaptive"][2][0], _BASE], ids=lambda p: p.name)
def test_the_fingerprint_reads_every_field_there_is(policy):
    """Even one that is added later: each is nudged behind the back of the checks."""
    mark, seen = policy.fingerprint(), set()
    for name, config, field in _fields(policy):
        before = getattr(config, field)
        if dataclasses.is_dataclass(before):
            continue
        object.__setattr__(config, field, _nudged(before))
        assert policy.fingerprint() != mark, name
        object.__setattr__(config, field, before)
        seen.add(name)
    assert policy.fingerprint() == mark
    assert len(seen) > 20


def test_the_fingerprint_of_equal_configurations_is_the_same_wherever_they_were_made():
    again = pgd(COURT.problem, Logistic(n_features=5, ridge=1e-3, width=Logarithmic(0.025)), step=0.05, hard=True)
    assert again.fingerprint() == _BASE.fingerprint()
    assert isinstance(again, Policy)
    assert uniform(EVERYTHING, n_features=3).fingerprint() == RECIPES["uniform"][1][0].fingerprint()
    assert pgd_adaptive(COURT.problem, Logistic(n_features=5)).fingerprint() != _BASE.fingerprint()


def test_whole_numbers_and_numpys_numbers_count_like_floats():
    assert fingerprint((1, 2.0)) == fingerprint((1.0, np.int64(2))) == fingerprint([np.float64(1), 2])


def test_the_fingerprint_tells_apart_what_only_looks_alike():
    alike = [(), ((),), ("",), (None,), (0,), (False,), ("0",), ("a", "b"), ("ab",), (("a",), "b"), {"a": "b"}]
    alike += [np.zeros((2, 3)), np.zeros((3, 2)), np.zeros(6), [0.0] * 6]
    assert len({fingerprint(z) for z in alike}) == len(alike)


@pytest.mark.parametrize("model", [BayesianLogistic(n_features=5), BayesianRidge(n_features=5)], ids=repr)
def test_a_longer_horizon_reaches_the_model(tmp_path, model):
    """A model that no longer explores, because the horizon is over, goes on exploring under a longer one."""
    short = ucb(Court(horizon=30).problem, model)
    long, state = dataclasses.replace(short, problem=Court(horizon=300).problem), short.start(seed=1, replicas=2)
    list(play(short, state, Court(horizon=30).start(1, np.arange(2)), range(30)))
    short.save(state, tmp_path / "s.npz")
    loaded = long.load(tmp_path / "s.npz", allow=("horizon",))
    x, price, none = COURT.start(1, np.arange(2)).context(7).features, np.ones((2, 1, 1, 1)), np.zeros((2, 0))
    before, after = (model.value(m, x, price, none).bonus for m in (state.model, loaded.model))
    assert (before <= 0.0).all()  # below 0 where a prediction is above the range
    assert (after > before).sum() >= 5  # of six candidates
    np.testing.assert_array_equal(loaded.model.theta, state.model.theta)
