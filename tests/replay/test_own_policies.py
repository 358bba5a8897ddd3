"""A replay of policies of one's own: the same numbers as of the recipe that they are, hard budgets, clear errors."""

import itertools
import threading
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.models import BayesianRidge, Sklearn
from evenhand.recipes import pgd, ucb
from evenhand.replay import Execution, Runs, replay_log, replay_several
from tests.replay import shop

QUICK = {"replicas": 2, "bootstrap": 2, "progress": False}
BUDGET = (
    shop.PROBLEM.split("[[parity]]")[0] + '[policy]\nname = "pgd"\nwarmup = 0\nstep = 0.01\nmodel = "bayesian_ridge"\n'
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return shop.write(tmp_path_factory.mktemp("shop"), shop.rows(900), BUDGET)


class Recipe:
    """A recipe as somebody else's object: it sees a matrix, names an action, and is told what was played."""

    def __init__(self, policy, run=0):
        self.policy, self.state = policy, policy.start(replicas=[run])  # whose luck breaks ties

    def _context(self, context):
        return Context(
            context[None], self.policy.problem.declared[None], np.zeros((1, 1, 0), int), np.ones((1, 3), bool), None
        )

    def select(self, context):
        return max(int(self.policy.decide(self.state, self._context(context)).plays[0, 0]), 0)

    def update(self, context, action, reward):
        own = self._context(context)
        decision = self.policy.decide(self.state, own)
        if decision.plays[0, 0] == action:
            self.policy.commit(self.state, own, decision)
            self.policy.learn(self.state, decision, np.array([[[reward]]]))


def test_a_recipe_as_an_object_is_replayed_as_the_recipe(files):
    made = []

    def recipe(problem, n_features):
        made.append((problem, n_features))
        return replace(pgd(problem, BayesianRidge(n_features=n_features), warmup=0, step=0.01, hard=True), name="mine")

    found = replay_log(*files, policy=recipe, **QUICK)
    assert [run.name for run in found.runs] == ["mine", "pgd, budget", "no constraints", "uniform"]
    ((problem, n_features),) = made
    count = itertools.count()
    wrapped = eh.Wrapped(make=lambda _: Recipe(recipe(problem, n_features), next(count) % 8), name="other")
    for own in (found, replay_log(*files, policy=wrapped, **QUICK)):
        mine, same = (own.measured[own.runs[i].name] for i in (0, 1))
        assert list(mine) == list(same)
        for name in same:
            assert mine[name][0].values.tolist() == same[name][0].values.tolist(), name
            assert mine[name][1] == same[name][1]
        assert own.results().settings["own policy"] == own.runs[0].name
        assert own.headline().split(" brings ")[1] == found.headline().split(" brings ")[1]


class Always:
    """Sends a letter to everybody, whatever is left."""

    heard: ClassVar = []

    def select(self, context):
        return 2

    def update(self, context, action, reward):
        Always.heard.append(action)


def test_a_choice_that_no_longer_fits_is_replaced_and_said_to_the_object(files):
    found = replay_log(*files, policy=Always(), **QUICK)
    used = found.measured["always"]["post used"][0].values
    assert (used <= 90.0).all()
    assert used.max() == 90.0
    assert set(Always.heard) == {0, 2}


class Counts:
    """Plays one action after the other, by how many outcomes it has seen: runs that shared it would differ."""

    def __init__(self, luck=None):
        self.seen = 0

    def select(self, context):
        return self.seen % 3

    def update(self, context, action, reward):
        self.seen += 1


def test_every_run_begins_with_the_object_as_it_was(files):
    mine = Counts()
    one, other = (replay_log(*files, policy=z, **QUICK) for z in (mine, Counts))
    assert mine.seen == 0
    for name, (measure, _) in other.measured["counts"].items():
        assert one.measured["counts"][name][0].values.tolist() == measure.values.tolist()


def test_an_estimator_is_the_model_of_the_recipe_and_is_refitted_on_its_schedule(files):
    tree = pytest.importorskip("sklearn.tree")
    fits = []

    class Tree(tree.DecisionTreeRegressor):
        def fit(self, x, y):
            fits.append(len(y))
            return super().fit(x, y)

    few = {"replicas": 1, "bootstrap": 0, "progress": False}
    found = replay_log(*files, policy=Sklearn(estimator=Tree(max_depth=2), growth=2.0, min_observations=10), **few)
    assert found.runs[0].name == "pgd with Tree"
    assert found.measured["pgd with Tree"]["post used"][0].values.max() <= 90.0
    assert fits == [10, 20, 40, 80, 160][: len(fits)]
    assert len(fits) >= 4
    plain = replay_log(*files, policy=tree.DecisionTreeClassifier(max_depth=2), **few)
    assert plain.runs[0].name == "pgd with DecisionTreeClassifier"


def test_own_policies_are_compared_with_recipes_within_several_budgets(files):
    def greedy(problem, n_features):
        return replace(ucb(problem, BayesianRidge(n_features=n_features), warmup=0), name="greedy")

    some, how = Runs(replicas=2, bootstrap=0), Execution(progress=False)
    found = replay_several(*files, policies=["pgd", Counts, greedy], rates=[0.1, 0.2], runs=some, how=how)
    assert [(z.policy, z.rate) for z in found.cells] == [
        (name, rate) for rate in (0.1, 0.2) for name in ("pgd", "counts", "greedy", "uniform")
    ]
    assert found["counts", 0.1].measures["post of budget"].values.max() <= 1.0
    assert found.beyond(found["counts", 0.1], "pgd") is not None
    assert found["greedy", 0.1].measures["post of budget"].values.max() > 1.0  # it ignores the budget, which is said
    with pytest.raises(InvalidInput, match=r"policy: expected a policy with a name that is none of .*, got counts"):
        replay_several(*files, policies=[Counts, Counts()], runs=some, how=how)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3.5, "policy: expected the name of a recipe, an object or a class with `select` and `update`"),
        (lambda problem, n: "pgd", "policy: expected a function of .* that returns a policy, got 'pgd'"),
        (eh.Wrapped(make=Counts, name="uniform"), "policy: expected a policy with a name that is none of"),
        (
            type("Locked", (Counts,), {"__init__": lambda self: setattr(self, "lock", threading.Lock())})(),
            "copied for every run",
        ),
        (
            type("Wild", (Counts,), {"select": lambda self, context: 7})(),
            "select: expected the number of an action, from 0 to 2",
        ),
    ],
)
def test_what_is_no_policy_is_refused(files, given, message):
    with pytest.raises(InvalidInput, match=message):
        replay_log(*files, policy=given, **QUICK)
