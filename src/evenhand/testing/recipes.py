"""Calls of every recipe, derived from their signatures, so that new recipes are checked without being listed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from evenhand import recipes
from evenhand.choices import Rate, TopK
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.environments.base import Arrival
from evenhand.models.base import Model
from evenhand.models.ridge import Ridge
from evenhand.models.widths import Fixed
from evenhand.objectives.steepness import worth_of_an_outcome
from evenhand.policy.policy import Policy
from evenhand.problem.feasible import sizes
from evenhand.problem.problem import Problem
from evenhand.testing.promises import Draw, require

N_FEATURES = 3
# values of parameters without a default, or whose default needs more rounds
VALUES: dict[str, Callable[[Problem], Any]] = {
    "n_features": lambda problem: N_FEATURES,
    "choice": lambda problem: TopK(problem.n_plays),
    "recipe": lambda problem: lambda inner: recipes.lin_cbwk(inner, ridge(inner)),
    "rate": lambda problem: Rate(50.0 / worth(problem)),
    "explore": lambda problem: 2,
    "share": lambda problem: 0.3,
    "prices": lambda problem: prices(problem),
    "utility": lambda problem: problem.objective.outcomes[0],
    "radius": lambda problem: 0.05,
    "warmup": lambda problem: 2,
}


def worth(problem: Problem) -> float:
    """Compute the possible worth of an outcome of a play, for parameters that have a unit."""
    objective = problem.objective
    return worth_of_an_outcome(objective, *problem.ranges(tuple(objective.outcomes), plays=1))


def prices(problem: Problem) -> tuple[float, ...]:
    """Compute prices: a tenth of the worth of a play, per unit of its largest addition to each row."""
    rows = problem.demands.rows
    size = sizes(problem, rows)
    return tuple((0.1 * worth(problem) / np.where(size > 0.0, size, 1.0)).tolist())


class Call(NamedTuple):
    """A recipe with its arguments, ready to be called on a problem."""

    name: str
    make: Callable[[Problem], Policy]  # raises what the recipe raises


def ridge(problem: Problem) -> Model:
    """Make a model with widths for a problem's learned outcomes."""
    return Ridge(n_features=N_FEATURES, n_outcomes=max(len(problem.learned), 1), width=Fixed(0.2))


def calls(model: Callable[[Problem], Model] = ridge) -> Iterator[Call]:
    """Yield every exported recipe with its defaults, and once with each literal value of its options.

    Raises:
        AssertionError: a recipe has a parameter for which no value is known here.

    >>> [call.name for call in calls() if call.name.startswith("dual_bwc")]
    ['dual_bwc', 'dual_bwc, hard=True', "dual_bwc, norm='sup'", "dual_bwc, norm='one'"]
    """
    for name in recipes.__all__:
        recipe = getattr(recipes, name)
        needed = [p.name for p in inspect.signature(recipe).parameters.values() if p.default is p.empty]
        unknown = [n for n in needed if n not in VALUES and n not in ("problem", "model")]
        require(not unknown, f"{name}: a value for {unknown} in evenhand.testing.recipes")
        for chosen in _words(recipe):
            said = "".join(f", {key}={value!r}" for key, value in chosen.items())
            yield Call(f"{name}{said}", _maker(recipe, chosen, model))


def _maker(recipe: Callable[..., Policy], chosen: dict[str, Any], model: Callable[[Problem], Model]) -> Any:
    known = inspect.signature(recipe).parameters

    def make(problem: Problem) -> Policy:
        given = (key for key in VALUES if key in known and known[key].default != 0.0)  # 0 is for options not used
        values = {key: VALUES[key](problem) for key in given}
        if "model" in known:
            values["model"] = model(problem)
        return recipe(problem, **{**values, **chosen})

    return make


def _words(recipe: Callable[..., Policy]) -> Iterator[dict[str, Any]]:
    """Yield no option, each literal value other than a default, and the next values of all options together."""
    yield {}
    words = {}
    for name, p in inspect.signature(recipe).parameters.items():
        known = _literals(get_type_hints(recipe).get(name))
        if p.default in known:
            words[name] = [word for word in known if word != p.default]
        elif name == "hard" and p.default in (True, False):
            yield {name: not p.default}
    for name, others in words.items():
        yield from ({name: word} for word in others)
    if len(words) > 1:
        for i in range(max(map(len, words.values()))):
            yield {name: others[min(i, len(others) - 1)] for name, others in words.items()}


def _literals(hint: Any) -> list[Any]:
    """Return the literals of a type, alone or within a union, such as the named norms."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return [word for part in get_args(hint) for word in _literals(part)]
    return []


class Bazaar(NamedTuple):
    """An environment for any problem: outcome m of a play is low + (high - low) (x_m + luck) / 2; x are features.

    Infinite and very large ends of ranges are clipped.
    """

    problem: Problem

    @property
    def n_features(self) -> int:
        return N_FEATURES

    def start(self, seed: int, replicas: Ints) -> _Stalls:
        return _Stalls(self.problem, replicas, seed)


class _Stalls:
    counts_idle_steps = True

    def __init__(self, problem: Problem, replicas: Ints, seed: int) -> None:
        self.problem, self.replicas, self.steps, self._seed = problem, replicas, problem.horizon, 100 * seed

    def context(self, step: int) -> Context:
        p, draw = self.problem, Draw(self.replicas, step)
        sizes = np.diff(p.ends)
        groups = p.ends[:-1] + (draw(self._seed + 1, len(sizes)) * sizes).astype(np.int64)
        features = draw(self._seed + 2, len(p.actions), N_FEATURES)
        cases = p.groups_of(groups[:, ~p.by_action])
        return Context(features, p.declared[None], cases, np.ones((1, len(p.actions)), bool))

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, tuple[Arrival, ...]]:
        u = Draw(self.replicas, step)(self._seed + 3, 1, len(self.problem.observed))
        y = self._scaled((self._features(decision.features) + u) / 2.0, decision.plays)
        return decision, (Arrival(step, decision, y),)

    def expected(self, context: Context, plays: Ints) -> Floats:
        x = np.take_along_axis(context.features, np.maximum(plays, 0)[:, :, None], 1)
        return self._scaled((self._features(x) + 0.5) / 2.0, plays)

    def _features(self, x: Floats) -> Floats:
        return x[:, :, np.arange(len(self.problem.observed)) % N_FEATURES]

    def _scaled(self, v: Floats, plays: Ints) -> Floats:
        p = self.problem
        low, high = p.span_by_action[:, np.maximum(plays, 0) if p.span_by_action.shape[1] > 1 else 0].clip(-1e9, 1e9)
        return np.where(plays[:, :, None] >= 0, low + (high - low) * v, 0.0)
