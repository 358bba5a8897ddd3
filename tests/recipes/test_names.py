"""Every recipe takes a name for tables and plots, which changes nothing else."""

import doctest
import inspect
import sys
from dataclasses import replace

import pytest

from evenhand import recipes
from evenhand.environments import Court


def own_and_named(name):
    """The policy of the recipe's own example, without and with a name."""
    if name == "uniform":  # its example shows weights
        return (recipes.uniform(Court().problem, 5), recipes.uniform(Court().problem, 5, name="mine"))
    space = dict(vars(sys.modules[getattr(recipes, name).__module__]))
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(getattr(recipes, name))):
        if example.source.startswith(f"{name}("):
            call = example.source.strip().removesuffix(").name")
            return eval(f"{call})", space), eval(f"{call}, name='mine')", space)
        exec(example.source, space)
    raise AssertionError(f"no example of {name}")


@pytest.mark.parametrize("name", recipes.__all__)
def test_a_recipe_takes_a_name_that_changes_nothing_else(name):
    last = list(inspect.signature(getattr(recipes, name)).parameters.values())[-1]
    assert (last.name, last.kind, last.default) == ("name", inspect.Parameter.KEYWORD_ONLY, None)
    own, named = own_and_named(name)
    assert own.name.startswith(name)
    assert named.name == "mine"
    assert replace(named, name=own.name).fingerprint() == own.fingerprint()


def test_a_name_is_used_as_it_is():
    problem = Court().problem
    model = recipes.pgd_adaptive(problem, own_and_named("pgd_adaptive")[0].model).model
    assert recipes.pgd_adaptive(problem, model, hard=True).name == "pgd_adaptive, hard"
    assert recipes.pgd_adaptive(problem, model, hard=True, name="mine").name == "mine"
