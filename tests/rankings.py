"""What tests of rankings share: a small world, a model, and decisions by hand."""

from dataclasses import replace

import numpy as np

from evenhand.core.records import Decision
from evenhand.environments import Absences, Ranking
from evenhand.models import Bilinear, SelfNormalised
from tests.parts import AUDIENCE

SMALL = Ranking(audience=AUDIENCE, horizon=60, slots=3, labels={"song": "a", "film": "a", "book": "b", "play": "b"})
TASTES = Bilinear(who=2, what=2, ridge=0.1, width=SelfNormalised(delta=0.1))


def absent(world):
    """The same, with items that come and go."""
    return replace(world, offers=Absences(0.4, length=2))


def decision(plays, counted=None, forced=None):
    """What a choice looks at: plays, and whether they count and were forced."""
    plays = np.array(plays, np.int64)
    counted = np.ones(len(plays)) if counted is None else np.array(counted, float)
    forced = np.zeros(len(plays)) if forced is None else np.array(forced, float)
    empty = Decision(*([None] * len(Decision._fields)))
    return empty._replace(plays=plays, counted=counted, forced=forced)
