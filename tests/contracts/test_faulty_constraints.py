"""`check_constraint` catches a constraint that breaks a promise, and a recipe that drops one."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from evenhand import recipes
from evenhand.problem import Rows, Within
from evenhand.sets import Ball, Box, Intersection
from evenhand.testing import check_constraint
from tests.contracts.faults import caught
from tests.examples.problems import EVERYTHING
from tests.rows import for_each


@dataclass(frozen=True)
class Letters:
    """At most 0.2 letters per round; with one fault."""

    fault: str = ""
    label: str = "letters"
    hard: Any = None
    spends: bool = False
    worst: str = "high"

    def rows(self, problem):
        if self.fault == "names only":
            return ("letters",)
        m, sign = len(problem.learned), -1.0 if self.fault == "wrong side" else 1.0
        weights = sign * np.array([[float(name == "letters") for name in problem.names]])
        return Rows.plain(["letters"], weights[:, :m], weights[:, :1] if self.fault == "narrow" else weights[:, m:])

    def bound(self, problem):
        return np.zeros(2) if self.fault == "two bounds" else np.array([0.2])

    def limit(self, horizon):
        if self.fault == "no limit":
            return None
        return 0.3 if self.fault == "lenient" else 0.1 if self.fault == "strict" else 0.2

    def total_over(self, horizon):
        return 0.2 if self.spends else 0.2 * horizon

    def measure(self, run):
        if self.fault == "0 / 0":
            with np.errstate(invalid="ignore"):
                return run.totals[:, :, run.problem.names.index("letters")] / run.elapsed
        average = run.totals[:, :, run.problem.names.index("letters")] / np.maximum(run.elapsed, 1.0)
        if self.fault == "means":
            return average.mean(1)
        return average + 1e-15 * average.mean() if self.fault == "mixes replicas" else average


@for_each(
    ("constraint", "promise"),
    [
        (Letters("names only"), "`rows` returns Rows, not tuple"),
        (Letters("narrow"), "weights of known outcomes have shape"),
        (Letters("two bounds"), "the bound is a finite number for each of 1 rows"),
        (Letters("wrong side"), "where all rows are within their bounds, the measure is within its limit"),
        (Letters("strict"), "where all rows are within their bounds, the measure is within its limit"),
        (Letters("lenient"), "where a row is over its bound, the measure is past its limit"),
        (Letters(worst="low"), "where a row is over its bound, the measure is past its limit"),
        (Letters("0 / 0"), "measures are finite, also before the first round"),
        (Letters("means"), "measures have shape"),
        (Letters("mixes replicas"), "a replica is measured alike in a batch and alone"),
        (Letters("no limit"), "the limit and the total are finite numbers, not None and"),
        (Letters(label=""), "the label is a text"),
        (Letters(worst="most"), "`worst` is 'low' or 'high', not 'most'"),
        (Letters(hard="yes"), "`hard` is True, False or None, not 'yes'"),
        (Letters(hard=True), "what is hard spends"),
        (Letters(spends=True), "the total of what is spent is the limit times the horizon"),
    ],
    ids=repr,
)
def test_a_faulty_constraint_is_caught(constraint, promise):
    check_constraint(Letters(), EVERYTHING, rounds=0)
    caught(check_constraint, constraint, promise, EVERYTHING, rounds=0)


DISC = Within(("gain", "hours"), Intersection((Ball((0.2, 0.2), 0.3), Box((0.0, 0.0), (1.0, 0.4)))))


@dataclass(frozen=True)
class RowsOnly:
    """The rows of a constraint, without its set."""

    inner: Any

    def __getattr__(self, name):
        if name in ("inner", "outcomes", "within", "curved", "tightened"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def forgets_kinds(problem, model):
    """As by a question for the classes that it knows; a recipe that reads no constraint at all may drop this one."""
    known = tuple(c for c in problem.subject_to if not isinstance(c, Letters | Within))
    return recipes.fw_dual(replace(problem, subject_to=known), model)


def forgets_sets(problem, model):
    return recipes.resolving(replace(problem, subject_to=tuple(map(RowsOnly, problem.subject_to))), model)


def stumbles(problem, model):
    return recipes.ucb(problem, model) if not problem.subject_to else problem.subject_to[1]


@pytest.mark.parametrize(
    ("recipe", "constraint", "promise"),
    [
        (forgets_kinds, Letters(), "keeps a constraint or refuses it, but drops rows of letters"),
        (forgets_kinds, DISC, "keeps a constraint or refuses it, but drops"),
        (forgets_sets, DISC, "keeps a constraint or refuses it, but drops a set of distance of gain, hours from Inter"),
        (stumbles, Letters(), "refuses with a sentence, not by IndexError: tuple index out of range"),
    ],
)
def test_a_recipe_that_drops_a_constraint_is_caught(monkeypatch, recipe, constraint, promise):
    monkeypatch.setattr(recipes, "__all__", ["pgd", "ucb", "lin_cbwk"])
    check_constraint(constraint, EVERYTHING)
    monkeypatch.setattr(recipes, "__all__", [recipe.__name__])
    monkeypatch.setattr(recipes, recipe.__name__, recipe, raising=False)
    caught(check_constraint, constraint, f"^{recipe.__name__} {promise}", EVERYTHING)
