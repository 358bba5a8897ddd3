"""`check_environment` catches an environment that breaks a promise: one broken promise per row."""

from itertools import count

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Arrival
from evenhand.testing import check_environment
from tests.contracts.faults import Twisted, after, caught
from tests.examples.problems import COURT


def world(twist=lambda inner, replicas: {}):
    """A court; a twist makes members of its world, of the world itself and the number of replicas."""

    def start(seed, replicas):
        inner = COURT.start(seed, replicas)
        return Twisted(inner, **({"steps": 30, "counts_idle_steps": True} | twist(inner, len(replicas))))

    return Twisted(COURT, start=start)


def shows(change):
    """Another context."""
    return lambda inner, replicas: {"context": after(inner.context, lambda said, step: change(said, replicas))}


def answers(change):
    """Other outcomes, made of the plays that were taken, the outcomes and the replicas."""

    def twist(inner, replicas):
        def respond(step, context, decision):
            taken, ((when, _, y, _, _),) = inner.respond(step, context, decision)
            taken, y = change(taken, y, replicas)
            return taken, [] if y is None else [Arrival(when, taken, y)]

        return {"respond": respond}

    return twist


def counts_calls(inner, replicas):
    calls = count()
    return {"context": lambda step: inner.context(next(calls))}


def counts_answers(inner, replicas):
    calls = count()
    return answers(lambda taken, y, n: (taken, 1.0 - y if next(calls) % 2 else y))(inner, replicas)


def place(replicas):
    return np.arange(replicas)[:, None, None]


def returned(method, change):
    return lambda inner, replicas: {method: after(getattr(inner, method), lambda said, *args: change(said))}


FAULTS = [
    (counts_calls, "a context is a pure function of"),
    (shows(lambda c, n: c._replace(features=c.features + place(n))), "a context does not depend on the batch"),
    (shows(lambda c, n: c._replace(features=c.features * np.nan)),
     r"context\.features\[0, 0, 0\]: expected a finite number"),
    (shows(lambda c, n: c._replace(groups=c.groups + 1)),
     r"context\.groups\[\d, \d, 0\]: expected columns \[0, 1\] of 'group'"),
    (answers(lambda taken, y, n: (taken, np.where(place(n) % 2 == 0, y, 1.0 - y))),
     "outcomes do not depend on the batch"),
    (counts_answers, "what follows from a decision does not depend on earlier steps"),
    (answers(lambda taken, y, n: (taken, y + 0.5)), "outcome 'appears' of replica 0"),
    (answers(lambda taken, y, n: (taken, None if n == 1 else y)), "outcomes arrive alike in a batch and alone"),
    (answers(lambda taken, y, n: (taken._replace(plays=np.zeros_like(taken.plays)), y)),
     "a world takes the plays of a decision as they are"),
    (answers(lambda taken, y, n: (taken._replace(counted=taken.counted + 1), y)),
     r"decision\.counted\[0\]: expected 0 or 1, and 0 where nothing is played, got 2"),
    (returned("expected", lambda mean: mean[..., 0]),
     r"outcomes: expected shape \(3, 1, 1\), a column for each of \('appears',\), got \(3, 1\)"),
    (returned("context", tuple), "a context is of type Context, not tuple"),
    (returned("respond", lambda said: said[1]), "`respond` returns a decision and its arrivals"),
    (returned("respond", lambda said: (said[0], [said[1][0].y])), "an arrival is of type Arrival, not"),
]  # fmt: skip


def test_a_sound_environment_passes():
    check_environment(world())


@pytest.mark.parametrize(("twist", "promise"), FAULTS, ids=lambda z: z if isinstance(z, str) else "")
def test_a_faulty_environment_is_caught(twist, promise):
    caught(check_environment, world(twist), promise, kind=(AssertionError, InvalidInput))
