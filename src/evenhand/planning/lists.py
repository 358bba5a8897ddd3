"""The cases of a problem of lists, and the rows of their lists."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Cases, Rows


class Lists(NamedTuple):
    """Cases in which candidates are put into an order; outcomes are those of exposed plays.

    Known outcomes and groups of candidates are the same in all cases.
    """

    learned: Floats  # (S, A, M) expected learned outcomes of every candidate where it is exposed
    offered: Bools  # (S or 1, A)
    weight: Floats  # (S,) how often each case comes; they sum to 1
    position: Floats  # (S or 1, P) how likely each place is exposed, never increasing
    known: Floats  # (1, A, L)
    groups: Ints  # (1, A, G)


@runtime_checkable
class Listed(Protocol):
    """An environment whose places differ, and whose cases can be counted."""

    @property
    def problem(self) -> Problem: ...

    def lists(self, cases: int, seed: int, replica: int) -> Lists:
        """All cases, or about so many of them if they depend on luck; one object for all replicas that share them."""


def pooled(lists: Lists) -> Lists:
    """Return all cases as one, with their mean outcomes: for lists that are the same for everybody.

    Raises:
        InvalidInput: not all cases have the same offer, or look at places alike.
    """
    mean = np.einsum("s,sam->am", lists.weight, lists.learned)[None]
    if (lists.offered != lists.offered[:1]).any():
        raise InvalidInput("environment", "one that offers everybody the same items", "one that does not")
    if (lists.position != lists.position[:1]).any():
        raise InvalidInput("environment", "one whose users look at places alike", "one with a position for each user")
    return lists._replace(learned=mean, offered=lists.offered[:1], weight=np.ones(1), position=lists.position[:1])


def pulled(rows: Rows, problem: Problem, lists: Lists, q: Floats) -> tuple[Floats, Floats]:
    """Return prices of learned outcomes and the offset of every candidate at prices of rows, `(d)->(1|A,M),(A)`."""
    price, offset = rows.pull(Cases(lists.known, lists.groups), problem.shares[None], q[None, None])
    return price[0, 0], offset[0, 0]


def posted(rows: Rows, problem: Problem, lists: Lists, y: Floats, exposed: Floats) -> Floats:
    """Return the rows of all candidates together, from their learned outcomes and exposures, `(A,M),(A)->(d)`."""
    frame = Cases(lists.known, lists.groups)
    return np.asarray(rows.post(frame, problem.shares[None], y[None], exposed[None, :, None] * lists.known)[0])


def places_matter(rows: Rows) -> bool:
    """Whether any row reads a known outcome that counts without exposure: a list is then an assignment."""
    return bool((rows.known[:, rows.sure] != 0.0).any())
