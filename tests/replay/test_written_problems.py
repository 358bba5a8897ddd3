"""A problem file says whatever a problem says: random problems of all kinds, written and read."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.logs.problem_file import parse
from evenhand.policy.saving import fingerprint
from evenhand.report.allowances import of_rounds
from tests.written_problems import draw, text


def of_file(stated):
    """The problem of a file with these arguments; groups without shares have the names that a log would state."""
    spec = parse(text(stated), "problem.toml")
    found = spec.problem({g.name: g.names for g in stated["groups"]})
    order = [g.name for g in stated["groups"]]  # in a file those that constraints name come first
    return replace(found, groups=tuple(sorted(found.groups, key=lambda g: order.index(g.name))))


def of_library(stated):
    problem = eh.Problem(**stated)
    eh.resolving(problem, eh.PerAction.of(problem))
    return problem


def same(seed):
    """Whether a problem and its file are the same, or refused in the same way; and whether they are refused."""
    stated, found = draw(np.random.default_rng(seed)), []
    for make in (of_library, of_file):
        try:
            found.append(fingerprint(make(stated)))
        except EvenhandError as error:
            found.append(type(error))
    return found[0] == found[1], isinstance(found[0], type)


def all_same(seeds, least):
    each = [same(seed) for seed in seeds]
    assert [seed for seed, (alike, _) in zip(seeds, each, strict=True) if not alike] == []
    assert sum(not refused for _, refused in each) >= least * len(each)


def test_fifty_problems_are_those_of_their_files():
    all_same(range(50), 0.5)


@pytest.mark.slow
def test_two_thousand_problems_are_those_of_their_files():
    all_same(range(2_000), 0.5)


def test_of_two_budgets_on_an_outcome_the_tighter_one_is_shown_as_what_there_is():
    budgets = (eh.Budget("fee", total=40), eh.Budget("fee", total=2, per=10), eh.Budget("fee", total=90))
    fee = eh.Outcome("fee", known={"b": 1})
    problem = eh.Problem(
        actions=("a", "b"), outcomes=(eh.Outcome("sale"), fee), maximize="sale", subject_to=budgets, horizon=100
    )
    assert [a.total for a in of_rounds(problem)] == [20.0]
