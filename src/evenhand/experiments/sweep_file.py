"""A file of a sweep: an environment by name, the settings that vary, and recipes with a model each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.arguments import build
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import closest, exported
from evenhand.environments.base import Environment
from evenhand.policy.policy import Policy
from evenhand.replay.files import read_text
from evenhand.replay.keys import NEEDED, Key
from evenhand.replay.kinds import TEXT, WHOLE
from evenhand.replay.lines import locate_errors
from evenhand.replay.settings import Settings
from evenhand.replay.toml import Table, load
from evenhand.run.sweeps import Sweep, checked_points, swept

OF_POLICIES = "policy"  # within the grid: settings of the recipes
LABEL = "label"  # of a policy, where a recipe comes twice

_FIRST = np.zeros(1, np.int64)  # one replica, from which the number of features is read
_SETTING = Key("SETTING", "An argument of the environment.")
KEYS = (
    Key("environment", "The environment, by its name in `evenhand systems`.", TEXT, NEEDED),
    Key("settings", "Arguments of the environment that do not vary.", within=(_SETTING,)),
    Key("grid", "Arguments that vary, each a list; `policy.KEY` is one of the recipes.", within=(_SETTING,)),
    Key("policy", "A recipe with a model, as in a problem file, and a `label` of its own."),
    Key("replicas", "The number of replicas.", WHOLE, 20, "20"),
    Key("seed", "The seed of all luck.", WHOLE, 0, "0"),
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
    cases = {}
    for point in itertools.product(*grid.values()):
        varied = dict(zip(grid, point, strict=True))
        own = {key: x for key, x in varied.items() if not key.startswith(f"{OF_POLICIES}.")}
        environment = build(part, "settings", fixed | own, {})
        shared = {key.partition(".")[2]: x for key, x in varied.items() if key not in own}
        cases[point] = environment, list(_policies(environment, tables, shared))
    return SweepFile(
        parameter=tuple(grid),
        cases=checked_points(tuple(grid), cases),
        replicas=root.get("replicas"),
        seed=root.get("seed"),
    )


def _raw(table: Table) -> dict[str, Any]:
    return {key: table.raw(key) for key in table}


def _environments() -> dict[str, Any]:
    return {name: z for name, z in exported("evenhand.environments").items() if hasattr(z, "problem")}


def _grid(table: Table) -> dict[str, list[float | str]]:
    """Return the values that vary by key, those of policies by `policy.KEY`."""
    values = _raw(table)
    of_policies = values.pop(OF_POLICIES, {})
    if not isinstance(of_policies, dict):
        raise InvalidInput(f"grid.{OF_POLICIES}", "policy.KEY = [...]", of_policies)
    found = values | {f"{OF_POLICIES}.{key}": z for key, z in of_policies.items()}
    if not found:
        raise InvalidInput("grid", "at least one setting with a list of values", "none")
    for key, some in found.items():
        if not isinstance(some, list) or not some:
            raise InvalidInput(f"grid.{key}", "a list of values", some)
        for x in some:
            if isinstance(x, bool) or not isinstance(x, int | float | str):
                raise InvalidInput(f"grid.{key}", "numbers or names", x)
        if len({str(x) for x in some}) < len(some):
            raise InvalidInput(f"grid.{key}", "different values", some)
    return found


def _policies(environment: Environment, tables: list[dict[str, Any]], shared: Mapping[str, Any]) -> Iterator[Policy]:
    n_features = environment.start(0, _FIRST).context(0).features.shape[-1]
    for table in tables:
        rest = dict(table)
        label = rest.pop(LABEL, None)
        made = Settings.of({**rest, **shared}).build(environment.problem, n_features)
        yield made if label is None else replace(made, name=str(label))
