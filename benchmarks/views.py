"""Which recipes and worlds run in compiled blocks of rounds, and which parts have no view yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from evenhand.core.views import view_of
from evenhand.environments.base import Environment
from evenhand.policy.kernels.views import views
from evenhand.policy.policy import Policy
from evenhand.report.summary import table

Pairs = Iterable[tuple[Policy, Environment]]


def lacking(policy: Policy, world: Environment) -> list[str]:
    """Name the parts of a pair that have no view; empty where its rounds are compiled."""
    state, started = policy.start(replicas=2), world.start(0, np.arange(2))
    found = [] if view_of(started) is not None else [type(world).__name__]
    if views(policy, state) is not None:
        return found
    parts = [(policy.model, state.model), (policy.choice, state.choice), *zip(policy.goals, state.goals, strict=True)]
    without = [type(part).__name__ for part, own in parts if view_of(part, own) is None]
    return [*found, *(without or ["something that only the ordinary loop knows"])]


def views_table(recipes: dict[str, Pairs]) -> str:
    """By recipe, how many of its examples are compiled, and what the others lack, by the number of examples."""
    rows = []
    for name, pairs in recipes.items():
        each = [lacking(*pair) for pair in pairs]
        lacks = Counter(part for parts in each for part in parts)
        rows.append([name, f"{sum(not parts for parts in each)} of {len(each)}", _said(lacks)])
    return table(["recipe", "compiled", "without a view"], rows)


def _said(lacks: Counter[str]) -> str:
    return ", ".join(f"{part} {count}" if count > 1 else part for part, count in lacks.most_common())


if __name__ == "__main__":
    from tests.examples.recipes import RECIPES

    print(views_table(RECIPES))
