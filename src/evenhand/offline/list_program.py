"""A list and its resources as contexts and terms, by which its prices are found in passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.offline.resources import Resource
from evenhand.planning.moments import Block, Terms


def program_of(worth: Floats, resources: Sequence[Resource]) -> tuple[Block, Terms]:
    """State a list as a linear program over contexts, whose rows are the limits of all resources, `(N,A)->(M)`.

    The first outcome is the worth. The use of a resource is another one: known if it is that of every case.
    """
    order = sorted(range(len(resources)), key=lambda j: len(resources[j].use) == 1)
    alike = [resources[j].use[0] for j in order if len(resources[j].use) == 1]
    each = [worth, *(resources[j].use for j in order if len(resources[j].use) > 1)]
    places, cell = _cells(resources, len(worth))
    weights = np.zeros(1 + len(resources))
    weights[0] = 1.0
    factors = [np.zeros((z.factor.shape[0], len(at), len(weights))) for z, at in zip(resources, places, strict=True)]
    for j, (z, at) in enumerate(zip(resources, places, strict=True)):
        factors[j][:, :, 1 + order.index(j)] = z.factor[:, at]
    return Block(np.stack([np.ascontiguousarray(u.T) for u in each]), cell), Terms(
        weights=weights,
        known=np.array(alike).reshape(len(alike), worth.shape[1]),
        factors=np.ascontiguousarray(np.swapaxes(np.concatenate(factors), 0, 1)),
        bound=np.concatenate([z.most for z in resources]),
    )


def _cells(resources: Sequence[Resource], count: int) -> tuple[list[Ints], Ints]:
    """Number the combinations of groups, `->(C) by resource, (N)`: the group of each in a combination, and of cases."""
    groups = [np.zeros(count, np.int64) if z.groups is None else z.groups for z in resources]
    each, cell = np.unique(np.array(groups), axis=1, return_inverse=True)
    return list(each), cell.ravel()
