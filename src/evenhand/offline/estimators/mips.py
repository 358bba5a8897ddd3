"""Inverse propensities of groups of actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Ints
from evenhand.offline.estimators.base import Sample
from evenhand.offline.scores import Average

_LEAST = 0.5  # of a count of other rows


def check_groups(groups: Ints | None) -> Ints:
    """Return the groups of actions.

    Raises:
        InvalidInput: there are none.
    """
    if groups is None:
        raise InvalidInput("mips", "a problem with groups of actions, as of Groups(of=...)", "none")
    return groups


@named("X18", source="Saito & Joachims 2022, marginalized inverse propensity scores (MIPS)")
@dataclass(frozen=True)
class MIPS:
    """The average of outcomes with weights of groups of actions, which vary less than those of many actions.

    Equation: mean_i v_i y_i with v_i = pi_i(g_i) k_i / p_i. Here pi_i(g) is the probability that the policy plays an
    action of the group g, g_i is the group of a_i, and k_i the part of the group's other rows in which a_i was logged
    (with row i, the bias would be of order A / N). It is IPS of a policy that draws the group as pi does, and the
    action as the log does on average. It is unbiased where all actions of a group bring the same on average in a case;
    else the bias is what these actions bring less than those of pi.

    Source: Saito and Joachims 2022, "Off-policy evaluation for large action spaces via embeddings", with groups as the
    embedding. Their weights are pi_i(g_i) / p_i(g_i), which ours are, but for chance, if the chances of actions
    within a group are the same in all cases. Their p_i(g) needs propensities of actions that were not logged.

    Raises:
        InvalidInput: the problem states no groups of actions.

    >>> from dataclasses import replace
    >>> first, p, q = np.tile([1.0, 0.0, 0.0, 0.0], (4, 1)), np.full(4, 0.25), np.zeros((4, 4))
    >>> sample = Sample.of(first, np.array([0, 1, 2, 1]), p, np.array([1.0, 1.0, 0.0, 1.0]), q)
    >>> MIPS().average(replace(sample, groups=np.array([0, 0, 1, 1]))).value  # 0, 1/2 and 1/2 of two rows, times 4
    1.0
    """

    label: ClassVar[str] = "MIPS"
    meaning: ClassVar[str] = "MIPS weights cases by inverse propensities of groups of actions, taken as alike within."
    unbiased: ClassVar[bool] = False
    corrects: ClassVar[bool] = True

    def average(self, sample: Sample) -> Average:
        groups = check_groups(sample.groups)
        there, actions = sample.actions >= 0, sample.actions
        own = np.ones(len(actions)) if sample.clusters is None else sample.clusters.times(np.ones(len(actions)))
        counts = np.bincount(actions[there], weights=own[there], minlength=len(groups))
        others = np.maximum(np.bincount(groups, weights=counts)[groups][actions] - own, _LEAST)
        parts = np.where(others > _LEAST, (counts[actions] - own) / others, 1.0)
        plays = np.stack([sample.policy[:, groups == g].sum(1) for g in range(int(groups.max()) + 1)], 1)
        agree = np.where(there, plays[np.arange(len(actions)), groups[actions]] * parts, 0.0)
        return Average.of(agree / sample.propensities * sample.y, sample.clusters)
