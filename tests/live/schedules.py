"""Simulated schedules: workers on one store with a virtual clock, requests that get lost, and failures anywhere.

`python -m tests.live.schedules 100000 [SEED]` runs so many, from a seed on, and says what they did and which differ.
"""

from __future__ import annotations

import atexit
import random
import shutil
import sys
import time
import warnings
from collections import Counter
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.core.kernel import kernels
from evenhand.goals.hard_limits import hard_budget
from evenhand.goals.linear_reward import indifferent
from evenhand.live import Busy, Campaign, Conflict, Place
from evenhand.live.fold.cases import NameEncoder
from evenhand.live.fold.column_encoder import Text, of_file
from evenhand.live.fold.phases import Phase
from evenhand.live.log.events import Leap, is_erased
from evenhand.live.log.ids import Restored, restore_event
from evenhand.live.log.life import Ended
from evenhand.live.log.segments import segments
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import whole
from evenhand.live.worker.batches import Deciding
from evenhand.live.worker.clocks import accept_clock
from evenhand.live.worker.worker import Worker
from evenhand.policy import Policy
from tests.live.ledger import Ledger
from tests.live.store_failures import Striking, Struck
from tests.states import alike

TOTAL, WORST, PATIENCE = 8.0, 3.0, 10.0
START = 1_900_000_000 * 10**6  # microseconds since 1970


def problem(total=TOTAL, horizon=9):
    return eh.Problem(
        actions=("none", "letter", "gift"),
        features=(eh.Numeric("age", 20, 60),),
        outcomes=(
            eh.Outcome("answer", free=("none",), fallback=0.0),
            eh.Outcome("cents", high=WORST, free=("none",), fallback=1.0),
        ),
        maximize="answer",
        subject_to=(eh.Budget("cents", total=total),),
        horizon=horizon,
    )


@cache
def plain(name="plain", total=TOTAL, horizon=9):
    """A policy that draws actions within the budget, and learns nothing."""
    stated = problem(total, horizon)
    model = eh.models.NullModel(3 * stated.n_features, 2)
    goals = indifferent(stated), hard_budget(stated)
    return marked(Policy(problem=stated, model=model, goals=goals, choice=eh.choices.Random(), name=name))


@cache
def learned(maximize="answer"):
    """A policy that learns and plans."""
    stated = replace(problem(), maximize=maximize)
    return marked(eh.resolving(stated, eh.PerAction.of(stated)))


FILE = """maximize = "answer"
horizon = 9
[features]
numeric = ["age"]
ranges = { age = [20, 60] }
[action]
values = ["none", "letter", "gift"]
[outcomes]
answer = { range = [0, 1], free = ["none"], fallback = 0 }
cents = { range = [0, 3], free = ["none"], fallback = 1 }
[[budget]]
outcome = "cents"
total = 8
[policy]
name = "uniform"
"""


STATED = "first.toml", "other.toml"


@cache
def stated(name):
    """The policy and the encoder of a problem file."""
    found = of_file(Text(name, FILE if name == STATED[0] else FILE.replace("uniform", "resolving")))
    return marked(found.policy), found.coded


class Copy(NamedTuple):
    """A backup: a store, what its log promises, and which policies decide and may decide."""

    store: MemoryStore
    ledger: Ledger
    policies: tuple
    segments: Path | None  # of its log


def marked(policy):
    """A policy whose fingerprint is taken once, as that takes longer than a round."""
    mark = policy.fingerprint()
    policy.__dict__["fingerprint"] = lambda: mark
    return policy


# Of segments; a folder of a schedule's own would be removed by garbage collection, which comes within any other code.
FOLDERS = TemporaryDirectory()
atexit.register(FOLDERS.cleanup)  # which holds it, where this module ran as a command and its names are gone

# How often what is done, of a hundred.
SHARES = {
    "ask": 55,
    "wait": 14,
    "start": 5,
    "change": 5,
    "keep": 3,
    "start_all": 2,
    "back_up": 3,
    "restore": 2,
    "switch": 2,
    "erase": 2,
    "mislead": 2,
    "relearn": 1,
    "seal": 4,
}


@dataclass
class Schedule:
    """One random schedule; every event is followed by checks against a ledger."""

    seed: int
    worker: type[Worker] = Worker
    learns: bool = False
    files: bool = False  # whether policies are of problem files, and workers start with the first one for ever
    workers: int = 3
    length: int = 9
    clock: list[int] = field(default_factory=lambda: [START])

    def __post_init__(self):
        self.luck = random.Random(self.seed)
        self.mode = self.luck.choice(("hold", "fallback", "release"))
        self.policy, self.others = self.both()
        self.store = Striking(MemoryStore(now=lambda: self.clock[0]))
        self.folders = []  # of segments, the last one of this log
        terms = {"seed": self.seed, "patience": PATIENCE, "on_expiry": self.mode}
        coded = {"encoder": self.coded(self.policy)} if self.files else {}
        self.terms = Campaign.open(self.store, "one", self.policy, **terms, **coded).terms
        self.done, self.copies, self.told = Counter(), [], set()  # `told`: the ids that were given out
        self.team = [self.open() for _ in range(self.luck.randint(2, self.workers))]
        self.ledger = Ledger(self.mode, TOTAL, WORST, 1.0, PATIENCE)
        self.sent = []  # requests on their way, which may be delivered in any order, several times or never
        self.cases = 0

    def both(self):
        """Two policies: one adopts the state of the other, but in every other schedule of one that learns."""
        if self.files:
            return tuple(stated(name)[0] for name in STATED)
        if not self.learns:
            return plain(), plain("other")
        return learned(), (plain() if self.seed % 2 else learned("cents"))

    def coded(self, policy):
        return next(coded for one, coded in map(stated, STATED) if one is policy) if self.files else NameEncoder(policy)

    def open(self, *, narrow=False):
        """A worker that knows all policies, or the present one alone; of files it knows those of the log."""
        if self.files:
            with TemporaryDirectory() as folder:
                (file := Path(folder) / STATED[0]).write_text(FILE)
                return self.open_file(file)
        phases = [Phase(one, self.coded(one)) for one in (self.others, self.policy)][narrow:]
        worker = self.worker(self.store, "one", phases, self.terms)
        worker.near = (1, 4, 500)[self.seed % 3]
        return Campaign(worker, self.terms)

    def open_file(self, file):
        """A worker that starts by a file, and accepts the clock where it has to, as an operator would."""
        try:
            return eh.live.open_campaign(self.store, "one", file)
        except Leap:
            accept_clock(self.store.inner, "one")
            self.ledger.must.append(("clock", None, None))
            self.ledger.read(self.log())
            return self.open_file(file)

    def run(self):
        for _ in range(self.length):
            self.event()
        self.end()
        return self

    def close(self):
        """Remove the segments."""
        for folder in self.folders:
            shutil.rmtree(folder)

    def event(self):
        (verb,) = self.luck.choices(list(SHARES), SHARES.values())
        self.done[verb] += 1
        getattr(self, verb)()

    def wait(self):
        self.clock[0] += self.luck.choice((0, 10**5, 4 * 10**6, 11 * 10**6))

    def start(self):
        """A worker ends, and another one starts."""
        self.team[self.luck.randrange(len(self.team))] = self.open()

    def start_all(self):
        """All workers end and start, with snapshots or from the log alone."""
        if self.luck.random() < 0.5:
            self.store.inner._kept.clear()
        self.team = [self.open() for _ in self.team]

    def keep(self):
        self.guarded(lambda one: one.snapshot(), None)

    def ask(self):
        if not self.sent or self.luck.random() < 0.7:
            self.sent.append(self.request())
        verb, *said = self.luck.choice(self.sent)
        if self.luck.random() < 0.5:
            self.sent.remove((verb, *said))
        expected = getattr(self.ledger, verb)
        self.guarded(lambda one: self.call(one, verb, said), lambda: expected(*said))

    def relearn(self):
        """A worker learns corrections, while others may ask."""
        self.guarded(lambda one: one.relearn(), None)

    def back_up(self):
        where = self.folder if self.folders else None
        self.copies.append(Copy(self.copied(), deepcopy(self.ledger), (self.policy, self.others), where))

    def copied(self):
        """A store with the same log, and what it knows of segments."""
        found = MemoryStore(now=lambda: self.clock[0])
        found.adopt([("one", list(self.store.inner.scan("one")))])
        found.keep_digests(self.store.inner.digests())
        return found

    def restore(self):
        """The store is lost; a backup is restored to a new one, and clients go on as if nothing had happened."""
        if not self.copies:
            self.back_up()
        self.told |= self.ledger.ids.keys()
        old, ledger, (self.policy, self.others), where = self.luck.choice(self.copies)
        new = MemoryStore(now=lambda: self.clock[0])
        if self.luck.random() < 0.1:
            with TemporaryDirectory() as folder:
                eh.live.backup(old, (file := Path(folder) / "backup"))
                eh.live.restore(file, new, by="anna", why="chance")
        else:
            log = list(old.scan("one"))
            new.adopt([("one", [*log, restore_event(log[-1], "anna", "chance", self.clock[0])])])
            new.keep_digests(old.digests())
        if self.folders:  # the segments of the lost log are elsewhere
            self.new_folder([where / z.file for z in segments(new, "one")])
        self.store, self.ledger = Striking(new), deepcopy(ledger)
        self.ledger.restore(Restored.of(self.log()[-1]).shift, self.told)
        self.ledger.read(self.log())
        self.team = [self.open() for _ in self.team]

    def now(self):
        """The time of the next event: that of the last one, where the clock is behind it."""
        return max(self.clock[0], self.log()[-1].at)

    def mislead(self):
        """The clock is ahead for some events, or the campaign stood still for ten days, and it is accepted or not."""
        wrong = self.luck.choice((0, 3, 30, 10 * 86_400)) * 10**6
        self.clock[0] += wrong
        for _ in range(self.luck.randrange(3)):
            self.event()
        self.clock[0] -= wrong if wrong < 10**9 and self.luck.random() < 0.8 else 0
        if self.luck.random() < 0.8:
            self.accept_clock()

    def accept_clock(self):
        """Somebody accepts the clock, which is right."""
        before, said = self.log(), True
        if self.luck.random() < 0.35:
            self.store.strike(self.luck.randrange(10), self.luck.choice((Struck(), Busy("struck"))))
        try:
            said = accept_clock(self.store, "one") is not None
        except (Struck, EvenhandError) as error:
            said = error
        self.store.left, struck, self.store.hit = None, self.store.hit, False
        after = self.log()
        if len(after) > len(before) or not struck:
            promised = self.ledger.accept_clock(self.clock[0] - before[-1].at)
            self.agree(promised, True if struck else said)
        self.ledger.read(after)

    def change(self):
        """Pause, resume, end or change the campaign."""
        draw = self.luck.random()
        verb = "pause" if draw < 0.2 else "resume" if draw < 0.6 else "change" if draw < 0.98 else "end"
        new = {}
        if verb == "change":
            new = {"on_expiry": self.luck.choice(("hold", "fallback", "release"))}
            new |= {"patience": self.luck.choice((4.0, PATIENCE))} if self.luck.random() < 0.5 else {}
        call = partial(getattr(Campaign, verb), by="anna", why="chance", **new)
        self.guarded(call, lambda: self.ledger.change(verb, new))

    def request(self):
        draw, known = self.luck.random(), sorted({*self.ledger.ids, *self.ledger.lost})
        if draw < 0.5 or not known:
            count = self.luck.choice((1, 1, 1, 2, 4))
            asks = [self.case() for _ in range(count)]
            return ("decide", *asks[0]) if count == 1 else ("together", *dict(asks).items())
        ref = self.luck.choice(known) if self.luck.random() < 0.95 else self.luck.choice((1, 999, -1, 0))
        if draw < 0.6:
            return "cancel", ref
        free = ref in self.ledger.ids and self.ledger.decisions[self.ledger.ids[ref]].action in (0, -1)
        y = (0, 0) if free else (self.luck.randint(0, 1), self.luck.randint(0, 3))
        if self.luck.random() < 0.07:
            y = (0, 4)
        return "observe", ref, y, self.luck.random() < 0.25

    def case(self):
        """The key and the age of a case, which may have been decided before."""
        self.cases += 1
        key = f"key {self.cases}" if self.luck.random() < 0.9 else "key 1"
        return key, float(20 + self.cases % 7)

    @staticmethod
    def call(campaign, verb, said):
        if verb == "decide":
            return campaign.decide({"age": said[1]}, key=said[0])
        if verb == "together":
            return campaign.many([Deciding({"age": age}, key, frozen=True) for key, age in said])
        if verb == "cancel":
            return campaign.cancel(said[0])
        return campaign.observe(said[0], {"answer": said[1][0], "cents": said[1][1]}, revise=said[2])

    def switch(self):
        """Another policy decides; workers that know it go on, and others are told so."""
        old, narrow = self.team, None
        who = self.luck.choice(old)
        with suppress(Conflict):  # it would need a policy that it does not know
            narrow = self.open(narrow=True)
        before = len(self.log())  # one that starts by a file may have accepted the clock
        if self.luck.random() < 0.3:
            self.store.strike(self.luck.randrange(14), self.luck.choice((Struck(), Busy("struck"))))
        kinds = {e.kind for e in self.log()}
        may = {"erased": Conflict, "sealed": Conflict, "ended": Ended}  # it may not adopt, or is over
        with suppress(Struck, Busy, *(error for kind, error in may.items() if kind in kinds)):
            who.switch(self.others, self.coded(self.others), expected=self.policy.fingerprint())
        done = any(e.kind == "switched" for e in self.log()[before:])
        assert done or self.store.hit or kinds & set(may), "a switch is in the log"
        if done:
            whole = not self.store.hit
            self.policy, self.others = self.others, self.policy
            self.store.left = None
            if narrow is not None and not self.files:
                self.refused(lambda: narrow.decide({"age": 20.0}, key="after a switch"), Conflict)
            self.ledger.expire(self.now())
            again = [not whole if one is who else self.luck.random() < 0.3 for one in old]
            self.team = [self.open() if z else one for z, one in zip(again, old, strict=True)]
        elif len(self.log()) > before:  # what was overdue expired before the switch was refused
            self.ledger.expire(self.now())
        self.store.left, self.store.hit = None, False
        self.ledger.read(self.log())

    @property
    def folder(self):
        return self.folders[-1]

    def new_folder(self, files):
        self.folders.append(Path(mkdtemp(dir=FOLDERS.name)))
        for file in files:
            shutil.copy(file, self.folder)

    def seal(self):
        """Old events move out of the store."""
        if not self.folders:
            self.new_folder([])
        end = max(len(self.log()) + 1 - self.luck.choice((0, 0, 1, 3)), 1)
        self.guarded(lambda one: bool(one.seal(self.folder, by="anna", why="chance", before=end).first), lambda: True)
        self.done["sealed"] += any(e.kind == "sealed" for e in self.store.inner.scan("one"))

    def erase(self):
        """Erase one or two decisions."""
        before, found = len(self.log()), self.ledger.erasable()
        keys = self.luck.sample(found, min(len(found), self.luck.randint(1, 2)))

        def expected():
            done = any(e.kind == "erased" for e in self.log()[before:])
            return self.ledger.erase(keys) if done else Busy  # or struck while corrections were learned

        if keys:
            self.guarded(lambda one: bool(one.erase(keys).decisions), expected)

    @staticmethod
    def refused(call, kind):
        try:
            call()
        except kind:
            return
        raise AssertionError(f"a worker of the policy before a switch ends with {kind.__name__}")

    def guarded(self, call, expected):
        """Call a worker, in which a failure may strike, and compare what came of it with the ledger."""
        i, before = self.luck.randrange(len(self.team)), self.log()
        dies = self.luck.random() < 0.5
        if self.luck.random() < 0.35:
            self.store.strike(self.luck.randrange(14), Struck() if dies else Busy("struck"))
        said = None
        try:
            said = call(self.team[i])
        except (Struck, EvenhandError) as error:
            said = error
        self.store.left = None
        struck = self.store.hit
        self.store.hit = False
        after = self.log()
        assert unerased(before, after), "the log is append-only"
        if struck and len(after) == len(before) and isinstance(said, Struck | Busy):
            pass  # any other answer is the right one: the failure came while corrections were learned
        elif expected is None:
            self.ledger.expire(self.now())
        else:
            self.ledger.expire(self.now())
            promised = expected()
            if not (struck and isinstance(said, Struck | Busy)):
                self.agree(promised, said)
        self.ledger.read(after)
        if struck and isinstance(said, Struck) and self.luck.random() < 0.7:
            self.team[i] = self.open()
        if not struck and self.luck.random() < 0.3:
            self.compare(self.team[i])

    def agree(self, promised, said):
        if isinstance(promised, list):
            assert isinstance(said, list), f"each has its own answer, and not {said!r}"
            for one, answer in zip(promised, said, strict=True):
                self.agree(one, answer)
        elif isinstance(promised, type):
            assert type(said) is promised, f"{promised.__name__} is told, and not {said!r}"
        elif isinstance(promised, tuple):
            assert type(said) in promised, f"one of {promised} is told, and not {said!r}"
        elif promised in (True, False):
            assert said is promised, f"the answer is {promised}, and not {said!r}"
        else:
            assert not isinstance(said, Exception), f"a decision is made, and not {said!r}"
            self.ledger.reply(said)

    def compare(self, campaign):
        """What a worker says of its budget is what the ledger has."""
        status = campaign.status()
        self.ledger.expire(self.now())
        self.ledger.read(self.log())
        (account,) = status.accounts.values()
        spent, held = self.ledger.spent(), self.ledger.held()
        assert abs(account.spent - spent) < 1e-9, f"spent is {spent}, and not {account.spent}"
        assert abs(account.held - held) < 1e-9, f"held is {held}, and not {account.held}"
        assert status.rounds == self.ledger.rounds(), "rounds are those that played"
        assert status.waiting == self.ledger.waiting(), "what waits is what has no outcome"

    def log(self):
        return list(whole(self.store.inner, self.folder if self.folders else None).scan("one"))

    def end(self):
        """Every worker has the same state, with a snapshot or without one."""
        for one in self.team:
            self.compare(one)
        if self.luck.random() < 0.5:
            self.luck.choice(self.team).relearn()
        before = -1
        while before != (before := len(self.log())):  # a request may go on to learn corrections
            for one in self.team:
                one.refresh()
        kept = [self.open()] if self.store.inner._kept else []
        self.store.inner._kept.clear()
        whole = self.open()
        for one in (*self.team, *kept):
            same_fold(one, whole)
        for key, (told, *_) in self.ledger.replies.items():
            assert self.ledger.ids[told] == self.ledger.keys[key], "an id is of one decision"
        self.audited()

    def audited(self):
        """Every decision is made again as it is in the log, with corrections as they were known then."""
        both, inner = self.both(), self.store.inner
        for place in [inner, *([Place(inner, self.folder)] if self.folders else [])]:
            found = eh.live.audit(place, "one", both, encoders=list(map(self.coded, both)))
            assert found.clean, f"{found}"
            assert found.largest == 0.0


def unerased(before, after):
    """Whether a log goes on from what it was, but for what was erased."""
    pairs = zip(before, after[: len(before)], strict=True)
    return all(a in (b, b._replace(key=None, own=None, salt=None)) and (a == b or is_erased(a)) for b, a in pairs)


def same_fold(one, other):
    """Require that two workers have the same state, but for the random tokens of receipts."""
    a, b = one._worker.fold, other._worker.fold
    facts = ("seq", "known", "marked", "erased", "reach", "first", "life", "runs", "version", "began", "ids")
    for name in facts:
        assert getattr(a, name) == getattr(b, name), name
    assert list(a.pending) == list(b.pending)
    for ref in a.pending:
        assert (a.pending.due(ref), a.pending.fate(ref)) == (b.pending.due(ref), b.pending.fate(ref))
        for z, y in zip(a.pending.decision(ref, ())[1:14], b.pending.decision(ref, ())[1:14], strict=True):
            assert np.array_equal(z, y, equal_nan=z.dtype.kind == "f"), f"decision {ref} differs"
    alike(a.state, b.state)


def schedule(seed):
    """Of forty, two have a policy that learns, and one has policies of problem files."""
    return Schedule(seed, learns=seed % 40 < 2, files=seed % 40 == 2)


def run(count, seed=0):
    """Run schedules from a seed on; returns how many did what, and those that differ by their seeds."""
    done, differ, began = Counter(), {}, time.process_time()
    with warnings.catch_warnings(), kernels("compiled"), patch("evenhand.policy.batch._PART", 1):
        warnings.simplefilter("ignore")
        for i in range(seed, seed + count):
            one = schedule(i)
            try:
                one.run()
                one.close()
            except Exception as error:
                differ[i] = f"{type(error).__name__}: {error}"
            done.update(one.done)
            if (n := i + 1 - seed) % 500 == 0:
                rate = n / (time.process_time() - began)
                told = f"{n:,} of {count:,} schedules, {len(differ)} differ, {rate:.0f} a second of a core"
                print(f"\r{told}", end="", file=sys.stderr, flush=True)
    return done, differ


if __name__ == "__main__":
    found, others = run(*map(int, sys.argv[1:]))
    print(f"\n{dict(found)}; {len(others)} differ: {dict(list(others.items())[:20])}")
