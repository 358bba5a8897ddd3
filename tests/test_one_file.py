"""A new part is one file and one export: nothing else in the package has to know of it."""

import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand

MODEL = '''"""A model of one number."""

from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.models.base import Worth


@named("Z1", source="a test")
@dataclass(frozen=True)
class SameForAll:
    """Values every candidate alike."""

    n_features: int
    n_outcomes: int = 1
    guess: float = 0.5

    def draws(self, candidates: int) -> int:
        return 0

    def start(self, n_replicas, low, high, horizon):
        return None

    def value(self, state, x, w, u):
        mean = np.tile(self.guess * w.sum(-1), (1, 1, x.shape[1] // w.shape[2]))
        return Worth(mean, np.zeros(mean.shape))

    def update(self, state, x, y, seen, w, lesson=None):
        """Learn nothing."""
'''
CHOICE = '''"""A choice that plays what comes last."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices.base import Pick
from evenhand.core.catalogue import named


@named("Z2", source="a test")
@dataclass(frozen=True)
class PlayLast:
    """Plays the last candidate that is playable."""

    n_plays: ClassVar[int] = 1
    reads_bonus: ClassVar[bool] = False

    def draws(self, candidates: int) -> int:
        return 0

    def start(self, n_replicas):
        return None

    def pick(self, state, worth, offer, t, u):
        last = offer.playable.shape[1] - 1 - offer.playable[:, ::-1].argmax(1)
        plays = np.where(offer.playable.any(1), last, -1)[:, None]
        lottery = (np.arange(offer.playable.shape[1]) == plays).astype(float)
        return Pick(plays, np.ones(plays.shape), lottery, forced=np.ones(len(t)))
'''
OBJECTIVE = '''"""An objective that is to meet a target."""

import math
from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named


@named("Z3", source="a test")
@dataclass(frozen=True)
class OnTarget:
    """Minus the squared distance of the averages from a target."""

    outcomes: tuple[str, ...]
    target: float = 0.5

    @property
    def smooth(self) -> bool:
        return True

    @property
    def lipschitz(self) -> float:
        return math.inf

    def check(self, z, place: str) -> None:
        """Any point will do."""

    def value(self, z):
        return -((z - self.target) ** 2).sum(-1)

    def supergradient(self, z):
        return -2.0 * (np.asarray(z) - self.target)
'''
CONSTRAINT = '''"""A constraint on the average."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.problem.constraints.base import outcome_row
from evenhand.problem.constraints.sums import average


@named("Z4", source="a test")
@dataclass(frozen=True)
class AtMost:
    """The average of an outcome stays below a level; nothing is used up."""

    outcome: str
    level: float

    by: ClassVar[str | None] = None
    hard: ClassVar[bool | None] = False
    spends: ClassVar[bool] = False
    worst: ClassVar[str] = "high"

    @property
    def label(self) -> str:
        return f"{self.outcome}, at most"

    def rows(self, problem):
        return outcome_row(problem, "AtMost", self.outcome)

    def bound(self, problem):
        return np.array([self.level])

    def limit(self, horizon: int) -> float:
        return self.level

    def total_over(self, horizon: int) -> float:
        return self.level * horizon

    def measure(self, run):
        return average(run, self.outcome)
'''
RECIPE = '''"""A recipe that plays what comes last."""

from evenhand.choices import Cycle
from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem


@named("Z5", source="a test")
def in_turn(problem: Problem, model: Model) -> Policy:
    """Play one action after the other."""
    return Policy(problem=problem, model=model, goals=(reward(problem),), choice=Cycle(), name="in_turn")
'''

# By kind: the folder of the new file, its module, its text, the name and the package that exports it.
PARTS = {
    "model": ("models", "same_for_all", MODEL, "SameForAll", "models"),
    "choice": ("choices", "play_last", CHOICE, "PlayLast", "choices"),
    "objective": ("objectives", "on_target", OBJECTIVE, "OnTarget", "objectives"),
    "constraint": ("problem/constraints", "at_most", CONSTRAINT, "AtMost", "problem"),
    "recipe": ("recipes", "in_turn", RECIPE, "in_turn", "recipes"),
}

LOOK = """
import sys
import evenhand as eh
from evenhand.cli import main
from evenhand.core.arguments import build, read
from evenhand.core.registry import exported, snake
from evenhand.models.base import Model
from evenhand.choices.base import Choice
from evenhand.objectives import Objective
from evenhand.testing import check_choice, check_model, check_objective

kind, name, package = sys.argv[1:]
part = getattr(getattr(eh, package), name)
assert exported(f"evenhand.{package}")[snake(name)] is part
assert main(["systems"]) == 0

if kind == "model":
    example = read("policy.model", {"kind": "same_for_all", "guess": 1}, Model, {"n_features": 3, "n_outcomes": 2})
    assert example == part(3, 2, 1.0)
    check_model(example)
elif kind == "choice":
    example = read("policy.choice", {"kind": "play_last"}, Choice, {})
    assert example == part()
    check_choice(example, candidates=4)
elif kind == "objective":
    example = read("maximize", {"kind": "on_target", "outcomes": ["a", "b"], "target": 1}, Objective, {})
    assert example == part(("a", "b"), 1.0)
    check_objective(example)
elif kind == "constraint":
    from evenhand.problem.constraints import Constraint, constraint_rows
    from evenhand.replay.problem_file import constraint_kinds
    example = build(constraint_kinds()["at_most"], "at_most[0]", {"outcome": "pain", "level": 1}, {})
    assert example == part("pain", 1.0) and isinstance(example, Constraint)
    names = eh.Outcome("gain"), eh.Outcome("pain")
    problem = eh.Problem(actions=("a", "b"), outcomes=names, maximize="gain", subject_to=(example,), horizon=9)
    assert constraint_rows(problem)[1].tolist() == [1.0]
    assert eh.resolving(problem, eh.Ridge(n_features=2, n_outcomes=2)).goals[1].bound.tolist() == [1.0]
else:
    problem = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=9)
    policy = build(part, "policy", {}, {"problem": problem, "model": eh.models.NullModel(n_features=2)})
    assert policy.name == name
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", PARTS)
def test_a_new_part_is_one_file_and_one_export(kind, tmp_path):
    folder, module, text, name, package = PARTS[kind]
    original, copy = Path(evenhand.__file__).parent, tmp_path / "evenhand"
    shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / folder / f"{module}.py").write_text(text, encoding="utf-8")
    home, place = copy / package / "__init__.py", f"evenhand.{folder.replace('/', '.')}.{module}"
    with home.open("a", encoding="utf-8") as file:
        file.write(f'\nfrom {place} import {name}\n__all__ += ["{name}"]\n')
    assert _changed(original, copy) == {f"{folder}/{module}.py": len(text.splitlines()), f"{package}/__init__.py": 3}

    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", LOOK, kind, name, package]
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (line,) = [x for x in done.stdout.splitlines() if name in x.split()]
    assert kind in line.split()


def _changed(before: Path, after: Path) -> dict[str, int]:
    """The lines that were added to every file that is not the same; nothing may be taken away."""
    found = {}
    for path in sorted(p for p in after.rglob("*") if p.is_file()):
        old = before / path.relative_to(after)
        if old.exists() and old.read_bytes() == path.read_bytes():
            continue
        lines = [z.read_text(encoding="utf-8").splitlines() if z.exists() else [] for z in (old, path)]
        steps = [line[:1] for line in difflib.ndiff(*lines)]
        assert "-" not in steps
        found[path.relative_to(after).as_posix()] = steps.count("+")
    return found
