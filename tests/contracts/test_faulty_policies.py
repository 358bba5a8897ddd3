"""`check_policy` catches a policy whose parts break a promise, and every check names what a part lacks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from evenhand.choices import Random, TopK
from evenhand.core.records import Worth
from evenhand.environments import Court
from evenhand.goals.hard_limits import hard_budget
from evenhand.goals.linear_reward import reward
from evenhand.models import NullModel, Ridge
from evenhand.policy import Policy
from evenhand.testing import check_choice, check_constraint, check_environment, check_model, check_policy
from tests.contracts.faults import caught
from tests.contracts.test_faulty_choices import drawing, field
from tests.examples.problems import COURT, EVERYTHING


def _policy(model=None, choice=None):
    problem = COURT.problem
    return Policy(
        problem=problem,
        model=model or Ridge(n_features=5),
        goals=(reward(problem), hard_budget(problem)),
        choice=choice or Random(),
    )


@dataclass
class Diary:
    notes: Any


@dataclass(frozen=True)
class Forgetful:
    """A model that keeps what it learns where saving does not look: in a dictionary."""

    n_features: int = 5
    n_outcomes: int = 1

    def start(self, replicas, low, high, horizon):
        return Diary({"total": np.zeros(replicas)})

    def draws(self, candidates):
        return 0

    def value(self, state, x, w, u):
        mean = w[:, :, 0, :1] * (state.notes["total"][:, None, None] + x.sum(2)[:, None, :])
        return Worth(mean, 0.0 * mean)

    def update(self, state, x, y, seen, w, lesson=None):
        state.notes["total"] = state.notes["total"] + y[:, 0, 0]


@dataclass(frozen=True)
class Peeking:
    """A choice whose probabilities depend on the whole batch."""

    n_plays: int = 1
    reads_bonus: bool = True

    def draws(self, candidates):
        return 1

    def start(self, replicas):
        return None

    def pick(self, state, worth, offer, t, u):
        mean = worth.mean + 0.5 * (np.arange(3) == 2) * (len(worth.mean) > 1)
        return TopK(1).pick(state, worth._replace(mean=mean), offer, t, u)


NEVER = drawing(**field("propensities", lambda z: 0.0 * z))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (_policy(Forgetful()), "a state holds arrays and numbers"),
        (_policy(choice=Peeking()), "replica 0 acts as it does alone"),
        (
            _policy(NullModel(n_features=5), choice=NEVER),
            "propensities are above 0",
        ),
    ],
    ids=["state in a dictionary", "batch", "probabilities"],
)
def test_a_faulty_policy_is_caught(policy, message):
    check_policy(_policy(), Court(horizon=100))
    caught(check_policy, policy, message, Court(horizon=100))


class Half:
    """A part with one member of each contract, and without the others."""

    n_features = n_plays = 1
    problem, label = EVERYTHING, "half"


def constraint(half):
    check_constraint(half, EVERYTHING, rounds=0)


@pytest.mark.parametrize(
    ("check", "missing"),
    [
        (check_choice, "Half has all members of `Choice`, unlike reads_bonus, draws, start, pick"),
        (check_model, "Half has all members of `Model`, unlike n_outcomes, draws, start, value, update"),
        (check_environment, "Half has all members of `Environment`, unlike start"),
        (constraint, "members of `Constraint`, unlike hard, spends, worst, rows"),
    ],
)
def test_what_a_part_lacks_is_named(check, missing):
    caught(check, Half(), missing)
