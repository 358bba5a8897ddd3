"""The policies of a problem file: a recipe and a model by name with their arguments, and those to compare with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand.core.arguments import arguments, build, is_writable, kinds, read
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import closest, exports, samples, snake, unknown_key
from evenhand.core.row_pairs import CaseRows, Packed, Size
from evenhand.models import Fixed, PerAction, Stacked, Width, advised
from evenhand.models.base import Model, refuse_dense
from evenhand.objectives import Linear
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes import fw, ucb, uniform

# Arguments of recipes and models that the program sets, so a problem file must not.
OF_RECIPES = ("problem", "model", "n_features", "name")
OF_MODELS = ("problem", "n_features", "n_outcomes", "arms", "packed")
WIDTH = 0.5  # in units of an outcome's range

_SAMPLED = (
    'a recipe such as "resolving"; Thompson sampling is a model here, beside it: '
    'model = { name = "sampled", inner = { kind = "ridge" } }'
)
BLIND = "uniform"


def recipes() -> dict[str, Callable[..., Policy]]:
    """Return all recipes by name."""
    return {name: z for name, z in exports("evenhand.recipes").items() if inspect.isfunction(z)}


def _recipe(name: str) -> Callable[..., Policy]:
    """Return the recipe of a name; where the name is that of a model, say so."""
    if name not in recipes() and samples(name):
        raise InvalidInput("policy.name", _SAMPLED, name)
    return closest("policy.name", recipes(), name)


def models() -> dict[str, Any]:
    """Return every model by its name, and `advised`, which chooses one."""
    return {**kinds(Model), "advised": advised}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A recipe, its model, and their arguments as in a problem file: numbers, texts, lists and tables.

    Args:
        name: the recipe, any that `evenhand.recipes` exports.
        arguments: the recipe's arguments by keyword.
        model: the model of the learned outcomes, any that `evenhand.models` exports; by default the one that
            `models.advised` names for the problem.
        model_arguments: the model's arguments; a width that is a number is in units of each outcome's range.

    Raises:
        InvalidInput: the recipe or the model is unknown, or neither has a key.

    >>> Settings(name="resolving", arguments={"warmup": 300}).to_dict()
    {'name': 'resolving', 'warmup': 300, 'model': {'name': 'advised'}}
    """

    name: str = "pgd"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    model: str = "advised"
    model_arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _recipe(self.name)
        closest("policy.model", models(), self.model)
        of_recipe, of_model = writable(self.recipe, OF_RECIPES), writable(self.model_part, OF_MODELS)
        for key in self.arguments:
            if key not in of_recipe:
                raise unknown_key(f"policy.{key}", ("name", "model", *of_recipe), key)
        for key in self.model_arguments:
            if key not in of_model:
                raise unknown_key(f"policy.model.{key}", ("name", *of_model), key)

    @staticmethod
    def of(table: Mapping[str, Any]) -> Settings:
        """Read the table [policy]; if `model` is only a name, the model's arguments may be in this table as well.

        Raises:
            InvalidInput: neither the recipe nor the model has a key, or a name is not a text.
        """
        rest = dict(table)
        name, model = read("policy.name", rest.pop("name", "pgd"), str, {}), rest.pop("model", "advised")
        recipe = _recipe(name)
        if isinstance(model, dict):
            inside = dict(model)
            named = read("policy.model.name", inside.pop("name", "advised"), str, {})
            return Settings(name=name, arguments=rest, model=named, model_arguments=inside)
        part = closest("policy.model", models(), read("policy.model", model, str, {}))
        of_recipe, of_model = writable(recipe, OF_RECIPES), writable(part, OF_MODELS)
        for key in rest:
            if key not in (*of_recipe, *of_model):
                raise unknown_key(f"policy.{key}", dict.fromkeys(("name", "model", *of_recipe, *of_model)), key)
        return Settings(
            name=name,
            arguments={k: v for k, v in rest.items() if k in of_recipe},
            model=model,
            model_arguments={k: v for k, v in rest.items() if k not in of_recipe},
        )

    def with_recipe(self, name: str) -> tuple[Settings, list[str]]:
        """Return settings for another recipe with the arguments that it accepts, and a note for each dropped one."""
        kept = writable(closest("policy", recipes(), name), OF_RECIPES)
        lost = [key for key in self.arguments if key not in kept]
        values = {k: v for k, v in self.arguments.items() if k in kept}
        notes = [f"policy.{key} is not an argument of {name} and was left out" for key in lost]
        return Settings(name=name, arguments=values, model=self.model, model_arguments=self.model_arguments), notes

    @property
    def warmup(self) -> int:
        """The rounds at random at the start, 0 where the recipe has none."""
        stated = inspect.signature(self.recipe).parameters.get("warmup")
        return int(self.arguments.get("warmup", 0 if stated is None else stated.default or 0))

    def without_warmup(self) -> Settings:
        """Return the same settings without rounds at random at the start."""
        return replace(self, arguments={**self.arguments, "warmup": 0}) if self.warmup else self

    @property
    def recipe(self) -> Callable[..., Policy]:
        return recipes()[self.name]

    @property
    def model_part(self) -> Any:
        return models()[self.model]

    def build(self, problem: Problem, n_features: Size, model: Model | None = None) -> Policy:
        """Build the policy; its budgets are hard unless the file states otherwise.

        Args:
            problem: to decide.
            n_features: of every candidate, or the size of its row, which the number of its action precedes.
            model: in place of the file's.

        Raises:
            InvalidInput: an argument has the wrong type or is out of its range, or the recipe refuses the problem, or
                takes no model.
        """
        known = arguments(self.recipe)
        given = {"problem": problem, "n_features": width(n_features)}
        if "model" in known:
            given["model"] = self.build_model(problem, n_features) if model is None else model
            if isinstance(n_features, Packed):
                refuse_dense(given["model"])
        elif model is not None:
            raise InvalidInput("policy.name", "a recipe with a model, in whose place another one is put", self.name)
        hard = {"hard": bool(problem.spending)} if "hard" in known else {}
        found: Policy = build(self.recipe, "policy", hard | dict(self.arguments), given)
        return found

    def build_model(self, problem: Problem, n_features: Size) -> Model:
        """Build the model of all learned outcomes: one per outcome if it predicts only one or its width is a number.

        Raises:
            InvalidInput: an argument has the wrong type or is out of its range, or the model cannot predict an outcome.
        """
        if self.model == "advised" or isinstance(n_features, CaseRows):
            made = advised(problem, n_features)
            return _by_action(made, problem) if isinstance(n_features, Packed) else made
        packed = n_features if isinstance(n_features, Packed) else None
        part, values = self.model_part, dict(self.model_arguments)
        known = arguments(part)
        if packed is not None and "packed" not in arguments(part):
            refuse_dense(part, "policy.model")
        size = {"n_features": n_features} if packed is None else {"n_features": 2 * packed.pairs, "packed": packed}
        given: dict[str, Any] = {**size, "arms": len(problem.actions)}
        parts = list(self._parts(problem, part, values, given)) if known.get("width") else []
        if not parts:
            made = build(part, "policy.model", values, given | {"n_outcomes": len(problem.learned)})
            parts = [made] * (len(problem.learned) if made.n_outcomes == 1 else 1)
        made = parts[0] if len(parts) == 1 else Stacked(tuple(parts))
        return made if packed is None else _by_action(made, problem)

    def _parts(self, problem: Problem, part: Any, values: dict[str, Any], given: dict[str, Any]) -> Iterator[Model]:
        """Yield a model per outcome, so a missing outcome does not delay others; none if `width` is not a number."""
        width = values.get("width", WIDTH)
        if isinstance(width, dict):
            return
        width = read("policy.width", width, float, {})
        if width < 0:
            raise InvalidInput("policy.width", "a number of at least 0", width)
        rest = {k: v for k, v in values.items() if k != "width"}
        own: Width = Fixed(width)
        for _ in problem.learned:
            yield build(part, "policy.model", rest, given | {"n_outcomes": 1, "width": own})

    def to_dict(self) -> dict[str, Any]:
        """Convert the settings to their form in `results.json`."""
        return {"name": self.name, **self.arguments, "model": {"name": self.model, **self.model_arguments}}


def _by_action(model: Model, problem: Problem) -> Model:
    """Return a model, or each of those that are stacked, with coefficients of its own for every action."""
    parts = model.parts if isinstance(model, Stacked) else (model,)
    own = tuple(PerAction(inner=part, actions=len(problem.actions)) for part in parts)
    return own[0] if len(own) == 1 else Stacked(own)


def writable(part: Any, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a part's arguments that a problem file can set."""
    return tuple(n for n, a in arguments(part).items() if n not in given and is_writable(a.hint))


def width(n_features: Size) -> int:
    """Return how many numbers a candidate has; the number of its action precedes a row with a size."""
    if isinstance(n_features, CaseRows):
        return 1 + n_features.numbers
    return 1 + 2 * n_features.pairs if isinstance(n_features, Packed) else n_features


def systems(problem: Problem, settings: Settings, n_features: Size) -> list[Policy]:
    """Build the policy under test, and then the policies to compare it with; `n_features` as for `Settings.build`.

    Raises:
        InvalidInput: the recipe refuses the problem or one of its arguments.

    >>> from evenhand.environments import Court
    >>> [p.name for p in systems(Court().problem, Settings(), n_features=5)]
    ['pgd, budget and parity', 'pgd, budget alone', 'no constraints', 'uniform']
    """
    return [*_tested(problem, settings, n_features), uniform(problem, width(n_features))]


def _tested(problem: Problem, settings: Settings, n_features: Size) -> Iterator[Policy]:
    if settings.name == BLIND:
        return
    others = [c for c in problem.subject_to if c not in problem.spending]
    kinds = dict.fromkeys(snake(type(c).__name__) for c in (*problem.spending, *others))
    if kinds:
        name = f"{settings.name}, {' and '.join(kinds)}"
        yield replace(settings.build(problem, n_features), name=name)
    if problem.spending and others:
        alone = replace(problem, subject_to=problem.spending)
        yield replace(settings.build(alone, n_features), name=f"{settings.name}, budget alone")
    yield replace(_unconstrained(replace(problem, subject_to=()), settings, n_features), name="no constraints")


def _unconstrained(problem: Problem, settings: Settings, n_features: Size) -> Policy:
    """Build the recipe for a problem without constraints; if it refuses, use `ucb` after the same warm-up instead."""
    try:
        return settings.build(problem, n_features)
    except InvalidInput as error:
        refused = error.__cause__  # None if an argument could not be read and the recipe was not called
        if not isinstance(refused, InvalidInput) or refused.field != "problem.subject_to":
            raise  # for example a recipe for allocations, which needs a problem with arms
    model = settings.build_model(problem, n_features)
    warmup = int(settings.arguments.get("warmup", 50))
    if isinstance(problem.objective, Linear):
        return ucb(problem, model, warmup=warmup)
    return fw(problem, lambda p: ucb(p, model), warmup=warmup)
