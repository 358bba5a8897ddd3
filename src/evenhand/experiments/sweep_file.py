"""A file of a sweep: an environment by name, the settings that vary, and recipes with a model each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.core.arguments import build, finite
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import check_seed
from evenhand.core.registry import closest, exports
from evenhand.core.validate import indices
from evenhand.environments.base import Environment
from evenhand.logs.files import read_text
from evenhand.logs.keys import NEEDED, TEXT, WHOLE, Key
from evenhand.logs.settings import Settings
from evenhand.logs.toml import Table, load, locate_errors
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.run.sweeps import Sweep, check_points, swept

OF_POLICIES = "policy"  # within the grid: settings of the recipes
_SHARED = f"{OF_POLICIES}."
LABEL = "label"  # of a policy, where a recipe comes twice

_SETTING = Key("SETTING", "An argument of the environment.")
KEYS = (
    Key("environment", "The environment, by its name in `evenhand systems`.", TEXT, NEEDED),
    Key("settings", "Arguments of the environment that do not vary.", within=(_SETTING,)),
    Key("grid", "Arguments that vary, each a list; `policy.KEY` is one of all recipes.", within=(_SETTING,)),
    Key("policy", "A recipe with a model, as in a problem file, and a `label` of its own."),
    Key("replicas", "The number of replicas.", WHOLE, 20, "20"),
    Key("seed", "The seed of all random numbers.", WHOLE, 0, "0"),
)


@dataclass(frozen=True, kw_only=True)
class SweepFile:
    """The points of a grid, each with its environment and policies.

    Raises:
        InvalidInput: a key is unknown, missing or wrong, with its line.
    """

    parameter: tuple[str, ...]
    cases: Mapping[tuple[float | str, ...], tuple[Environment, list[Policy]]]
    replicas: int
    seed: int

    def run(self, *, jobs: int = 1, out: Path | None = None, progress: bool | None = None) -> Sweep:
        """Run all cells; see `evenhand.run.sweep`."""
        return swept(
            self.parameter,
            self.cases,
            replicas=self.replicas,
            seed=self.seed,
            jobs=jobs,
            out=out,
            progress=progress,
        )


def read_sweep(path: Path) -> SweepFile:
    """Read and check the file of a sweep; see `SweepFile`."""
    return parse(read_text(path, "a TOML file"), path.name)


def parse(text: str, file: str) -> SweepFile:
    """Read and check the text of a file of a sweep.

    >>> text = '''environment = "court"
    ... replicas = 2
    ... settings.horizon = 100
    ... grid.ride = [0.05, 0.1]
    ... [[policy]]
    ... name = "uniform"
    ... '''
    >>> found = parse(text, "court.toml").run(progress=False)
    >>> bool((found[0.1,]["uniform"].total("ride") <= 10).all())
    True
    """
    with locate_errors(text, file):
        return _parse(text, file)


def _parse(text: str, file: str) -> SweepFile:
    root = load(text, file, KEYS)
    part = closest("environment", _environments(), root.get("environment"))
    fixed, grid = _raw(root.table("settings")), _grid(root.table("grid"))
    tables = root.tables(OF_POLICIES)
    if not tables:
        raise InvalidInput(OF_POLICIES, "at least one recipe under [[policy]]", "none")
    _refuse_twice(fixed, tables, grid)
    replicas, seed = root.get("replicas"), root.get("seed")
    indices("replicas", replicas)
    check_seed(seed)
    cases = {}
    for point in itertools.product(*grid.values()):
        varied = dict(zip(grid, point, strict=True))
        own = {key: x for key, x in varied.items() if not key.startswith(_SHARED)}
        with _keys_of("environment", {f"settings.{key}": key for key in fixed} | {f"grid.{key}": key for key in own}):
            environment = build(part, "settings", fixed | own, {})
            problem, n_features = environment.problem, environment.n_features
        shared = {key.removeprefix(_SHARED): x for key, x in varied.items() if key not in own}
        cases[point] = environment, _policies(problem, n_features, tables, shared)
    return SweepFile(parameter=tuple(grid), cases=check_points(tuple(grid), cases), replicas=replicas, seed=seed)


def _refuse_twice(fixed: Mapping[str, Any], tables: list[dict[str, Any]], grid: Mapping[str, Any]) -> None:
    """Refuse a key that both varies and does not."""
    for key, some in grid.items():
        if key in fixed:
            raise InvalidInput(f"grid.{key}", "a key that is not in `settings` as well", some)
        if key.startswith(_SHARED) and any(key.removeprefix(_SHARED) in table for table in tables):
            raise InvalidInput(f"grid.{key}", "a key that is in no [[policy]] as well", some)


@contextmanager
def _keys_of(table: str, keys: Mapping[str, str], recipe: object = None) -> Iterator[None]:
    """Let errors name the key of the file that states an argument, or else the table, `keys` being arguments by key.

    Where a key of the grid is for all recipes, they name the recipe as well.
    """
    try:
        yield
    except InvalidInput as error:
        named = reversed(re.findall(r"\w+", error.field))  # such as "Budget('voucher').rate"
        found = (key for argument in named for key, name in keys.items() if name == argument)
        stated = next(found, f"{table}: {error.field.rpartition(': ')[2]}")
        whose = f" for {table} ({recipe})" if stated.startswith(f"grid.{_SHARED}") else ""
        raise InvalidInput(stated, error.expected, f"{error.got}{whose}") from error


def _raw(table: Table) -> dict[str, Any]:
    return {key: table.raw(key) for key in table}


def _environments() -> dict[str, Any]:
    return {name: z for name, z in exports("evenhand.environments").items() if hasattr(z, "problem")}


def _grid(table: Table) -> dict[str, list[float | str]]:
    """Return the values that vary by key, those of policies by `policy.KEY`."""
    values = _raw(table)
    of_policies = values.pop(OF_POLICIES, {})
    if not isinstance(of_policies, dict):
        raise InvalidInput(f"grid.{OF_POLICIES}", "policy.KEY = [...]", of_policies)
    found = values | {f"{_SHARED}{key}": z for key, z in of_policies.items()}
    if not found:
        raise InvalidInput("grid", "at least one setting with a list of values", "none")
    for key, some in found.items():
        if not isinstance(some, list) or not some:
            raise InvalidInput(f"grid.{key}", "a list of values", some)
        for x in some:
            if finite(x) is None and not isinstance(x, str):
                raise InvalidInput(f"grid.{key}", "finite numbers or names", x)
        if len({isinstance(x, str) for x in some}) > 1:
            raise InvalidInput(f"grid.{key}", "all numbers or all names", some)
        if len(set(some)) < len(some):
            raise InvalidInput(f"grid.{key}", "different values", some)
    return found


def _policies(
    problem: Problem, n_features: int, tables: list[dict[str, Any]], shared: Mapping[str, Any]
) -> list[Policy]:
    """Build the policies of a problem, whose names differ."""
    found: dict[str, Policy] = {}
    for i, table in enumerate(tables):
        own = f"{OF_POLICIES}[{i}]"
        keys = {f"{own}.{key}": key for key in table} | {f"grid.{_SHARED}{key}": key for key in shared}
        inside = table.get("model")
        if isinstance(inside, dict):
            keys |= {f"{own}.model.{key}": key for key in inside}
        rest = dict(table)
        label = rest.pop(LABEL, None)
        with _keys_of(own, keys, rest.get("name")):
            made = Settings.of({**rest, **shared}).build(problem, n_features)
        if label is not None:
            made = replace(made, name=str(label))
        if made.name in found:
            field = own if label is None else f"{own}.{LABEL}"
            raise InvalidInput(field, f"different names, which `{LABEL}` gives", f"{made.name!r} twice")
        found[made.name] = made
    return list(found.values())
