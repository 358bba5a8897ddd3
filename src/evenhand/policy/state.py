"""The state of a policy, its book of receipts, and the guard that keeps a second thread out of it."""

from __future__ import annotations

import os
import random
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.core import texts
from evenhand.core.errors import ConcurrentUse, InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.texts import count, few
from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy.units import UnitState

_ROOM = 64

# No action depends on tokens, so they need no seed. A forked process is reseeded, so that it does not repeat tokens.
_tokens = random.Random()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tokens.seed)


@dataclass
class Receipts:
    """Decisions are numbered as they are committed; each is settled once, in any order.

    Every receipt carries a random token, which the book keeps until the receipt is settled. A state therefore refuses
    decisions of other states, and a copied or loaded state refuses decisions that were committed elsewhere after the
    copy was made. A receipt also carries a checksum of what was played: a decision that was changed after it was
    committed is refused.

    The tokens from number `base` on are kept. Those at the front are dropped once they are settled, so that memory
    grows with the decisions since the oldest one that waits, and each decision costs a constant time on average. Of
    decisions that are settled in part, the plays that wait are kept.

    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> policy, world = uniform(Court().problem, n_features=5), Court().start(0, np.arange(1))
    >>> state = policy.start()
    >>> first, second = (policy.act(state, world.context(step)) for step in range(2))
    >>> policy.cancel(state, second)
    >>> state.receipts.waiting()
    array([0])
    """

    base: int = 0
    count: int = 0
    tokens: Ints = field(default_factory=lambda: np.zeros(_ROOM, np.int64))  # above 0 while a decision waits
    split: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # (n,) decisions settled in part, -1 where free
    rest: Bools = field(default_factory=lambda: np.zeros((0, 0, 0), bool))  # (n, R, P) their plays that wait

    def number(self, receipt: Ints, checksum: int) -> None:
        """Write number, token and checksum (`entries.checksum`) of the next decision into its receipt, `->(3)`."""
        if self.count - self.base == len(self.tokens):
            waits = self.tokens > 0
            done = waits.argmax() if waits.any() else len(waits)
            kept = self.tokens[done:]
            self.base += int(done)
            room = max(_ROOM, len(self.tokens) * (2 if 2 * len(kept) > len(self.tokens) else 1))
            self.tokens = np.concatenate([kept, np.zeros(room - len(kept), np.int64)])
        token = 1 + _tokens.getrandbits(62)
        self.tokens[self.count - self.base] = token
        receipt[0], receipt[1], receipt[2] = self.count, token, checksum
        self.count += 1

    def check(self, decision: Decision, checksum: int) -> int:
        """Return the place of a decision's token; refuse a decision that does not wait, by its present checksum."""
        return self.place(decision.id, checksum)

    def place(self, receipt: Ints, checksum: int) -> int:
        """Return the place of a token by its receipt, `(3)`; see `check`."""
        number, token, committed = receipt.tolist()
        expected = "one that waits for its outcome"
        if number < 0:
            raise InvalidInput("decision", expected, "one that was never committed")
        if number < self.base or (number < self.count and self.tokens[number - self.base] == 0):
            raise InvalidInput("decision", expected, f"number {number}, settled before")
        if number >= self.count or self.tokens[number - self.base] != token:
            raise InvalidInput("decision", expected, f"number {number} of another state")
        if committed != checksum:
            expected = f"the plays, groups, known outcomes and replicas with which number {number} was committed"
            raise InvalidInput("decision", expected, "others")
        return int(number - self.base)

    def settle(self, decision: Decision, checksum: int) -> None:
        """Settle a decision, or the rest of it."""
        self.tokens[self.place(decision.id, checksum)] = 0
        if len(self.split):
            self.split[self.split == decision.id[0]] = -1

    def settle_number(self, receipt: Ints, checksum: int) -> None:
        """Settle a decision by its receipt, `(3)`."""
        self.tokens[self.place(receipt, checksum)] = 0

    def settle_part(self, decision: Decision, checksum: int, rest: Bools) -> None:
        """Settle a decision apart from the plays that still wait, `(P)`; all of it if none does."""
        if not rest.any():
            self.settle(decision, checksum)
            return
        self.check(decision, checksum)
        line = self._line(decision.id[0])
        line = self._line(-1) if line is None else line
        if line is None:
            line, more = len(self.split), max(len(self.split), 8)
            self.split = np.concatenate([self.split, np.full(more, -1)])
            self.rest = np.concatenate([self.rest.reshape(line, *rest.shape), np.zeros((more, *rest.shape), bool)])
        self.split[line], self.rest[line] = decision.id[0], rest

    def left(self, decision: Decision) -> Bools | None:
        """Return the plays that still wait of a decision that is settled in part, None for any other one, `->(P)`."""
        line = self._line(decision.id[0]) if len(self.split) and decision.id[0] >= 0 else None
        return None if line is None else self.rest[line].copy()

    def _line(self, number: int) -> int | None:
        lines = np.flatnonzero(self.split == number)
        return int(lines[0]) if len(lines) else None

    def waiting(self) -> Ints:
        """Return the numbers of the decisions that wait, in order."""
        return self.base + np.flatnonzero(self.tokens[: self.count - self.base])


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
    keeps: bool = False  # whether its unit keeps an action
    prices: tuple[Floats, Floats, Floats, Floats] | None = None  # where these are the same in all rounds
    ahead: list[Floats] | None = None  # arrays of the model's state that are told of the remaining rounds
    affordable: list[Floats] | None = None  # and of the plays of each action
    inverses: list[Any] | None = None  # inverses that count what waits
    arrived: list[Floats] | None = None  # the model's own, while these are in their place


@dataclass
class WaitingSums:
    """Sums over plays whose outcomes are to come, for one estimate of a model."""

    gram: Floats  # (R A, n, n) of z z^T, or (R A, d) of z_j^2 for a model that keeps columns apart
    total: Floats  # (R A, n) of z, or (R A, 0)
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
    units: UnitState | None = None  # where the problem has units

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
        return texts.text(f"PolicyState: {count(len(self.t), 'replica')}, seed {self.seed}", facts)

    def luck(self, stream: Stream, size: int) -> Floats:
        """Draw the luck of the coming round, `->(size)`."""
        return self._luck.uniform(stream, self.t, size) if size else self.nothing
