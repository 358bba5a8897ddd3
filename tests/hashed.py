"""A problem with hashed features, and a model that reads its packed rows, for small numbers of columns."""

from dataclasses import dataclass
from typing import Any, ClassVar

import evenhand as eh
from evenhand.core.row_pairs import Packed, unpack
from evenhand.models.base import ROUND, Model, Wraps

FEATURES = (
    eh.Numeric("age", 20, 60),
    eh.Categorical("device", ("phone", "desktop", "tablet")),
    eh.Categorical("site", hashed=64),
    eh.problem.Hashed("query", hashed=32, words=2, at_most=6),
    eh.problem.Cross("site", "device", hashed=16),
)
CASE = {"age": 30, "device": "tablet", "site": "abc.com", "query": "Red running shoes"}


def shop(**changes):
    stated = {"actions": ("none", "ad"), "features": FEATURES, "outcomes": (eh.Outcome("click"),)}
    return eh.Problem(**{**stated, "maximize": "click", "horizon": 100, **changes})


@dataclass(frozen=True, kw_only=True)
class Unpacked(Wraps):
    """A dense model that reads packed rows, which are made dense for it."""

    inner: Model
    packed: Packed
    reads_packed: ClassVar[bool] = True

    @property
    def n_features(self):
        return 2 * self.packed.pairs

    def draws(self, candidates):
        return self.inner.draws(candidates)

    def value(self, state, x, w, u):
        return self.inner.value(state, unpack(x, self.packed.columns), w, u)

    def update(self, state: Any, x, y, seen, w, lesson=ROUND) -> None:
        self.inner.update(state, unpack(x, self.packed.columns), y, seen, w, lesson)


def ridge(problem):
    """A ridge regression for each action of a problem with hashed features."""
    inner = eh.Ridge(n_features=problem.n_columns)
    return eh.PerAction(inner=Unpacked(inner=inner, packed=problem.packed), actions=len(problem.actions))
