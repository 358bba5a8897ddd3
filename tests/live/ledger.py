"""A ledger of lists: what the log of a campaign promises, told without any code of the library."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenhand.core.errors import InvalidInput
from evenhand.live import Conflict, Ended, Lost, Paused, Unknown
from evenhand.live.log.events import read

FREE = "opened", "switched", "refolded", "restored", "sealed"  # kinds of events that no answer promises


@dataclass
class Line:
    """A decision."""

    seq: int
    key: str
    case: object
    action: int  # -1 where nothing is played
    due: int
    expired: str = ""  # how it was treated then
    cancelled: bool = False
    erased: bool = False
    moved: bool = False  # out of the store
    about: list = field(default_factory=list)  # the numbers of the events about it
    outcomes: list = field(default_factory=list)


@dataclass
class Ledger:
    """Expects answers, reads the log, and compares.

    `decide`, `observe` and `cancel` say what is to be answered, True, False, an error or None for a decision, and keep
    what the log must have then.
    """

    mode: str
    total: float
    worst: float
    fallback: float
    patience: float

    def __post_init__(self):
        self.decisions, self.keys, self.replies, self.read_to = {}, {}, {}, 0
        self.sealed = 0  # the last event that is in a segment
        self.ids, self.shift, self.lost = {}, 0, set()  # numbers by id; of ids after a restore; ids that a restore lost
        self.must = []  # what the log has to have next: (kind, ref, key, body) as far as it is known
        self.now, self.opened = 0, self.mode
        self.state = "running"

    def decide(self, key, case):
        old = self.keys.get(key)
        if old is not None:
            line = self.decisions[old]
            return None if line.case == {"age": case} and not line.moved else Conflict
        if self.state != "running":
            return Paused if self.state == "paused" else Ended
        self.must.append(("decided", None, key))
        return None

    def together(self, *asks):
        """Decisions of different keys at one state, each of which has its own answer."""
        return [self.decide(key, case) for key, case in asks]

    def change(self, verb, new):
        """A pause and the like, which says nothing where nothing changes."""
        if verb == "change":
            before = self.mode, self.patience
            self.mode, self.patience = new.get("on_expiry", self.mode), new.get("patience", self.patience)
            if before == (self.mode, self.patience):
                return False
            self.must.append(("changed", None, None))
            return True
        wanted = {"pause": "paused", "resume": "running", "end": "ended"}[verb]
        if self.state == wanted:
            return False
        if self.state == "ended":
            return Ended
        self.state = wanted
        self.must.append(({"pause": "paused", "resume": "resumed", "end": "ended"}[verb], None, None))
        return True

    def accept_clock(self, lead):
        """Accept a clock, where it is a week and the patience ahead of the last event."""
        if lead <= max(7 * 86_400, self.patience) * 10**6:
            return False
        self.must.append(("clock", None, None))
        return True

    def restore(self, shift, told):
        """The log is that of a backup; `told` are the ids that clients may know."""
        self.shift, self.lost = shift, told - self.ids.keys()

    def _unknown(self, ref):
        """Nobody knows who asks by an id that nobody was told."""
        return Lost if ref in self.lost else (Lost, Unknown) if self.shift else Unknown

    def observe(self, ref, y, revise):
        line, said = self.decisions.get(self.ids.get(ref)), {"answer": y[0], "cents": y[1]}
        if line is None:
            return self._unknown(ref)
        if line.action < 0 or line.cancelled or line.moved:
            return Conflict
        if line.outcomes:
            if line.outcomes[-1] == said:
                return False
            if not revise:  # an outcome beyond its range is wrong whatever the decision has
                return InvalidInput if y[1] > self.worst else Conflict
        if line.erased or (not self._waits(line) and any(seq <= self.sealed for seq in line.about)):
            return Conflict
        if y[1] > self.worst or (line.action == 0 and y != (0, 0)):
            return InvalidInput
        self.must.append(("revised" if line.outcomes else "observed", line.seq, None))
        return True

    def cancel(self, ref):
        line = self.decisions.get(self.ids.get(ref))
        if line is None:
            return self._unknown(ref)
        if line.moved:
            return Conflict
        if line.cancelled:
            return False
        if line.action < 0 or line.outcomes or line.expired in ("fallback", "release"):
            return Conflict
        self.must.append(("cancelled", line.seq, None))
        return True

    def erasable(self):
        """The keys of what waits for nothing, and is in no segment."""
        after = [line for line in self.decisions.values() if line.seq > self.sealed]
        return [line.key for line in after if not line.erased and not self._waits(line)]

    def erase(self, keys):
        for key in keys:
            self.decisions[self.keys.pop(key)].erased = True
            self.replies.pop(key, None)
        self.must.append(("erased", None, None))
        return True

    def expire(self, now):
        """What is overdue expires with the next transaction."""
        self.now = now
        over = [z for z in self.decisions.values() if self._waits(z) and not z.expired and z.due <= now]
        for line in sorted(over, key=lambda z: (z.due, z.seq)):
            self.must.append(("expired", line.seq, None))
            line.expired = self.mode

    def read(self, log):
        """Compare what is new in the log with what it must have."""
        new, must = log[self.read_to :], self.must
        self.read_to, self.must = len(log), []
        kinds = [(e.kind, e.ref, e.key) for e in new if e.kind not in FREE]
        assert kinds == must, f"the log goes on with {must}, and not with {kinds}"
        for event in new:
            self._take(event)

    def reply(self, said):
        """A reply is that of the log, and the same whenever it is told."""
        told = said.id, said.key, said.actions, said.probabilities, said.explanation, said.deadline, said.at
        assert self.replies.setdefault(said.key, told) == told, "the same key has the same reply"

    def _take(self, event):
        body = read(event)
        if event.ref is not None:
            self.decisions[event.ref].about.append(event.seq)
        if event.kind == "sealed":
            self.sealed = body["last"]
            for line in self.decisions.values():
                old = max([line.seq, *line.about]) <= self.sealed
                line.moved = line.moved or (old and not self._waits(line))
        elif event.kind == "decided":
            action = body["a"][0]
            if action > 0:
                after = self.spent() + self.held() + self.worst
                assert after <= self.total + 1e-9, f"decision {event.seq} may spend {after} of {self.total}"
            assert event.key not in self.keys, "a key has one decision"
            if event.key is not None:  # else it was erased
                self.keys[event.key] = event.seq
            assert body["due"] == event.at + int(self.patience * 1e6), "the patience is that of now"
            self.ids[event.seq + self.shift] = event.seq
            self.decisions[event.seq] = Line(event.seq, event.key, body.get("case"), action, body["due"])
        elif event.kind in ("observed", "revised"):
            line = self.decisions[event.ref]
            assert bool(line.outcomes) == (event.kind == "revised"), "an outcome is learned once"
            assert not line.cancelled, "a decision is settled once"
            line.outcomes.append(body["y"])
        elif event.kind == "clock":
            latest = event.at + int(self.patience * 1e6)
            for line in self.decisions.values():
                line.due = min(line.due, latest) if self._waits(line) else line.due
        elif event.kind == "cancelled":
            line = self.decisions[event.ref]
            assert self._waits(line), "a decision is settled once"
            line.cancelled = True
        elif event.kind == "expired":
            line, told = self.decisions[event.ref], body.get("on_expiry", self.opened)
            assert line.expired in ("", told), "an expiry is treated as was said before it"
            line.expired = told

    def _waits(self, line):
        settled = line.expired in ("fallback", "release")
        return line.action >= 0 and not line.outcomes and not line.cancelled and not settled

    def spent(self):
        found = 0.0
        for line in self.decisions.values():
            if line.outcomes:
                found += line.outcomes[-1]["cents"]
            elif line.expired == "fallback" and not line.cancelled and line.action > 0:
                found += self.fallback
        return found

    def held(self):
        return sum(self.worst for line in self.decisions.values() if self._waits(line) and line.action > 0)

    def rounds(self):
        return sum(line.action >= 0 for line in self.decisions.values())

    def waiting(self):
        return sum(self._waits(line) for line in self.decisions.values())
