"""What a reply warns of: a request that was answered, but probably was not meant so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.core.checked import has
from evenhand.live.cases import Encoder, Ranged
from evenhand.policy import doubts
from evenhand.problem.ended import ended
from evenhand.problem.problem import Problem


def noted(encoder: Encoder, problem: Problem, body: Mapping[str, Any], at: int) -> tuple[str, ...]:
    """Return warnings of a decision by its body, made by this policy at a time in microseconds since 1970.

    It warns of values that count as others, of plays that give something back to a budget, and of the end of the run.
    """
    found: list[str] = []
    if has(encoder, Ranged) and "case" in body:
        found += doubts.stated(body["case"], encoder.outside(body["case"])).values()
    if "k" in body:
        found += doubts.credited(problem, np.array(body["k"], float)).values()
    time = problem.clock.of_micros(at)
    if "late" in body or ended(problem, body.get("t", 0.0), time):
        found.append(doubts.over(problem))
    return tuple(found)
