"""The state of a policy, and the guard that keeps a second thread out of it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.core import faces
from evenhand.core.errors import ConcurrentUse
from evenhand.core.faces import count, few
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.policy.receipts import Receipts


class Guard:
    """A lock that refuses instead of waiting, as a state has one writer; a copied state gets a guard of its own."""

    def __init__(self) -> None:
        lock = threading.Lock()
        self._acquire, self._release = lock.acquire, lock.release

    def __enter__(self) -> None:
        if not self._acquire(False):
            raise ConcurrentUse("another thread is using this state: a state has one writer at a time")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._release()

    def __deepcopy__(self, memo: object) -> Guard:
        return Guard()

    def __reduce__(self) -> tuple[type[Guard], tuple[()]]:
        return Guard, ()


@dataclass
class Recent:
    """Cached results of the last calls; a loaded state begins without them."""

    context: Context | None = None  # that passed all checks
    compared: bool = False  # whether the candidates of a context were compared, to warn if they are alike
    over: bool = False  # whether it was said that the run is over, or is not to be said
    decision: Decision | None = None  # that was made or checked last, whose shapes are right
    chances: Floats | None = None  # of all its candidates, None where they are unknown
    prices: tuple[Floats, Floats, Floats, Floats] | None = None  # where these are the same in all rounds
    ahead: list[Floats] | None = None  # arrays of the model's state that are told of the remaining rounds
    affordable: list[Floats] | None = None  # and of the plays of each action
    inverses: list[Any] | None = None  # inverses that count what waits
    arrived: list[Floats] | None = None  # the model's own, while these are in their place


@dataclass
class WaitingSums:
    """Sums over plays whose outcomes are to come, for one estimate of a model."""

    gram: Floats  # (R A, n, n) of z z^T
    total: Floats  # (R A, n) of z
    plays: Floats  # (R A,) how many there are


@dataclass
class Waiting:
    """The plays whose outcomes are to come, of models whose bonuses count them."""

    number: int = -1  # of the decision that was committed last, which is not in the sums; -1 without one
    features: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))  # (R, P, n) its plays
    plays: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))  # (R, P) which they are
    counted: Floats = field(default_factory=lambda: np.zeros(0))  # (R,)
    sums: list[WaitingSums] = field(default_factory=list)  # of the decisions before it
    some: int = 0  # whether there is anything in the sums


@dataclass
class PolicyState:
    """The state of a policy, for R replicas."""

    seed: int
    replicas: Ints  # (R,) which replicas these are: their luck depends on it, not on their place in the batch
    t: Floats  # (R,) decided rounds
    seen: Floats  # (R, C) decided rounds per group, in equal parts of the candidates that were offered
    inside: Floats  # (R, D) sums inside groups, of rows by estimated shares
    books: Floats  # (R, 1+C, 5+3S+2L) the table of outcomes
    model: Any
    goals: list[Any]
    choice: Any
    receipts: Receipts = field(default_factory=Receipts)
    waiting: Waiting = field(default_factory=Waiting)
    periods: Floats | None = None  # (R, P, 1+C, 5+3S+2L) the same table by period, where there are spans of time

    def __post_init__(self) -> None:
        self.guard = Guard()
        self.owner = ""  # the policy that it belongs to, by a hash
        self.recent = Recent()
        self._luck = Luck(seed=self.seed, replicas=self.replicas)
        self.nothing = np.zeros((len(self.t), 0))  # no luck, or nothing carried: an array without entries

    def __repr__(self) -> str:
        fewest, most = int(self.t.min()), int(self.t.max())
        facts = [
            ("numbered", few(self.replicas)),
            ("decided rounds", f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"),
            ("outcomes to come", f"{len(self.receipts.waiting()):,}"),
        ]
        return faces.text(f"PolicyState: {count(len(self.t), 'replica')}, seed {self.seed}", facts)

    def luck(self, stream: Stream, size: int) -> Floats:
        """Draw the luck of the coming round, `->(size)`."""
        return self._luck.uniform(stream, self.t, size) if size else self.nothing
