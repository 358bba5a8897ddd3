"""What recipes derive from a problem is computed once, and a problem that does not allow it is refused there."""

from collections import Counter
from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.environments import Court
from evenhand.models import Logistic
from evenhand.problem.constraints import Demands
from evenhand.recipes import fw_dual, lagrange_cbw, pgd, pgd_adaptive, resolving, terms
from tests.rows import for_each


@for_each("recipe", [pgd, pgd_adaptive, fw_dual, lagrange_cbw, resolving])
def test_a_recipe_derives_nothing_twice(recipe, monkeypatch):
    calls = Counter()

    def counted(name, of):
        return lambda *args, **options: calls.update([name]) or of(*args, **options)

    for name in ("reward", "hard_limits", "group_factors", "frank_wolfe", "objective_goal", "sizes"):
        monkeypatch.setattr(terms, name, counted(name, getattr(terms, name)))
    problem = Court(horizon=1000).problem
    monkeypatch.setattr(Demands, "of", counted("demands", Demands.of))
    recipe(problem, Logistic(n_features=5))
    stated = len(problem.spending)  # of each budget alone it is asked whether it can be exceeded
    most = {"sizes": 2, "demands": 1 + stated}  # of rows of constraints, and of the objective
    assert calls["hard_limits"] == 1
    assert {name for name, n in calls.items() if n > most.get(name, 1)} == set()


def test_a_lottery_of_withdrawn_actions_is_refused_also_without_budgets():
    shop = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("sale"),), maximize="sale", horizon=100)
    closed = replace(shop, withdrawn=("b",))
    with pytest.raises(eh.core.errors.InvalidInput, match="at least one action that is not withdrawn"):
        resolving(closed, holdout=eh.Holdout(0.1, lottery={"b": 1}))
