"""The ledger of a pool: grants to campaigns, their settlement, and each campaign's share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from evenhand.core.texts import amount as written
from evenhand.live.fold.lease import Amounts, Lease, amount, exponent, units
from evenhand.live.log.events import Conflict, Event, Unknown, read

_SLACK = 1.25  # times the use per round so far: a campaign may come to need more
_LEAST = 0.5  # of an even part, which a campaign may have whatever it used: one that had little could not use more
_MOVES = 0.05  # of what a campaign has left or should have: a smaller move is not worth a switch and a plan
_YOUNG = 0.05  # of the rounds of a campaign: before, its use says nothing


class Need(NamedTuple):
    """A campaign's use of an outcome, spent or held, in its rounds so far, and the rounds that it still expects."""

    used: float
    rounds: int
    left: int
    horizon: int  # of all its rounds, also of those that an end before left out

    def most(self, even: float) -> float:
        """Return the most that the campaign may have for its remaining rounds, given an even amount per round."""
        if self.rounds < _YOUNG * (self.rounds + self.left):
            return float("inf")
        return max(_SLACK * self.used / max(self.rounds, 1), _LEAST * even) * self.left


def moves(units: int, left: int) -> int:
    """Return the units to move: all, or none if they are few beside those that a campaign has left or should have.

    >>> moves(100, 1000), moves(10, 1000)
    (100, 0)
    """
    return units if units > _MOVES * max(left, 0) else 0


def share(total: float, rounds: int, each: Mapping[str, Need], campaign: str) -> float:
    """Return the part of a total that a campaign should have: what it used, and its share of what all of them left.

    Equation: used_c + min(most_c, x left_c), with one level x of budget per round for all campaigns, so that the parts
    add up to the total. Where no most_c binds, x is what is left by the rounds left. What a campaign will not need at
    its present use is shared by those that use more; what nobody needs is shared by rounds. Rounds that no campaign
    has reported yet, of those that the pool was told to expect, keep their part.

    Args:
        total: of an outcome.
        rounds: that all campaigns together expect.
        each: the needs of the campaigns that reported, by name.
        campaign: one of them.

    >>> each = {"north": Need(40.0, 50, 50, 100), "south": Need(10.0, 50, 50, 100)}
    >>> share(100.0, 200, each, "north"), share(100.0, 200, each, "south")
    (77.5, 22.5)
    """
    rest = max(total - sum(need.used for need in each.values()), 0.0)
    coming = sum(need.left for need in each.values())
    coming += max(rounds - sum(need.horizon for need in each.values()), 0)
    own = each[campaign]
    if not own.left:
        return own.used
    even = rest / coming
    level, over = _level(rest, coming, list(each.values()))
    return own.used + min(own.most(even), level * own.left) + over * own.left


def _level(rest: float, coming: int, each: list[Need]) -> tuple[float, float]:
    """Return the budget per round at which the parts of what is left add up to it, and what is over then, per round.

    The campaigns that need least per round come first; those after them share what these leave.
    """
    even, whole = rest / coming, coming
    for need in sorted((z for z in each if z.left > 0), key=lambda z: z.most(even) / z.left):
        if need.most(even) >= rest / coming * need.left:
            return rest / coming, 0.0
        rest, coming = rest - need.most(even), coming - need.left
    return (rest / coming, 0.0) if coming else (float("inf"), rest / whole)


class Copy(NamedTuple):
    """A restore of the log of a campaign."""

    shift: int  # tells it from any other
    number: int  # of its event
    used: Mapping[str, float]  # at it, spent or held, by outcome


@dataclass(frozen=True, kw_only=True)
class Report:
    """The standing of a campaign, by its own log.

    Args:
        seq: the last event of its log.
        lease: its counters.
        used: spent, or held for outcomes that are still to come, by outcome.
        rounds: decided so far.
        left: rounds that it still expects, 0 once it has ended.
        horizon: all its rounds, as its problem says.
        restores: of its log, in order, by which it is told from a copy that was lost.
        ended: whether it has ended for good, and takes in no more.
    """

    seq: int
    lease: Lease
    used: Mapping[str, float]
    rounds: int
    left: int
    horizon: int
    restores: Sequence[Copy] = ()
    ended: bool = False

    @property
    def chain(self) -> list[int]:
        """The shifts of its restores."""
        return [z.shift for z in self.restores]


@dataclass(frozen=True, kw_only=True)
class Line:
    """The books of one campaign in a pool; both counters are written by the pool alone, and never fall.

    Args:
        id: of its log, which no other log of this name has.
        seq: the last event of its log that the pool knows.
        granted, collected: in units.
        lost: in units, what was used after backups that were restored, as far as the pool knew it; also collected.
        used, rounds, left, horizon, ended: as it reported them.
        restores: the shift of each of them.
    """

    id: str
    seq: int
    granted: Amounts
    collected: Amounts
    lost: Amounts
    used: Mapping[str, float]
    rounds: int
    left: int
    horizon: int
    restores: Sequence[int] = field(default_factory=list)
    ended: bool = False

    def with_report(self, report: Report) -> Line:
        """Return the books with the standing of the campaign by a report."""
        used, rounds = dict(report.used), report.rounds
        stands = replace(self, seq=report.seq, used=used, rounds=rounds, left=report.left, horizon=report.horizon)
        return replace(stands, restores=report.chain, ended=report.ended)


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The books of a pool.

    Equation: free = total - sum over campaigns of (granted - collected + lost). A campaign takes in what was granted,
    and the pool collects what was returned, each after it has read it in the other's log: taken <= granted and
    collected <= returned. So the sum of what campaigns have, taken - returned, is at most the total, whatever steps
    were lost in between. Only for a log that was restored, collected comes first, and its next step returns that.

    Args:
        name: of the pool.
        id: of its log, which no other pool of this name has.
        totals: in units of the outcomes.
        rounds: the rounds that all campaigns together expect.
        lines: the books of each campaign, by its name.
        silent: the campaigns that have not reported since the log of the pool was restored. They may have taken in what
            it does not know; nothing is granted to others meanwhile.
        chains: the shifts of the restores of each log that reported as a campaign, by its name.

    >>> ledger = Ledger(name="spring", id="a0", totals={"cents": 800.0}, rounds=100)
    >>> new = ledger.lease("1f")
    >>> line = ledger.settle("north", Report(seq=1, lease=new, used={"cents": 0.0}, rounds=0, left=25, horizon=25))
    >>> after = ledger.with_line("north", line)
    >>> round(after.free("cents"), 6), after.totals["cents"]
    (600.0, 800.0)
    """

    name: str
    id: str
    totals: Mapping[str, float]
    rounds: int
    lines: Mapping[str, Line] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    chains: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return the grants and the free amounts: of every outcome, and of every campaign and outcome."""
        outcomes = {n: {"total": total, "free": self.free(n)} for n, total in self.totals.items()}
        campaigns = {name: self._told(line) for name, line in self.lines.items()}
        return {"pool": self.name, "rounds": self.rounds, "outcomes": outcomes, "campaigns": campaigns}

    def _told(self, line: Line) -> dict[str, object]:
        amounts = {n: dict(zip(("leased", "used", "lost"), self._amounts(line, n), strict=True)) for n in self.totals}
        return {"rounds": line.rounds, "left": line.left, "outcomes": amounts}

    def _amounts(self, line: Line, outcome: str) -> tuple[float, float, float]:
        """Return what is leased, used, and lost by restores."""
        unit, lost = exponent(self.totals[outcome]), line.lost[outcome]
        leased = amount(line.granted[outcome] - line.collected[outcome], unit)
        return leased, line.used[outcome], amount(lost, unit) if lost else 0.0

    def __str__(self) -> str:
        lines = [f"pool {self.name}: {self.rounds:,} rounds expected"]
        for outcome, total in self.totals.items():
            lines.append(f"{outcome}: {written(self.free(outcome))} of {written(total)} free")
            for campaign, line in self.lines.items():
                leased, used, lost = self._amounts(line, outcome)
                gone = f", {written(lost)} used after a backup that was restored" if lost else ""
                state = f"{line.rounds:,} rounds decided, {line.left:,} expected"
                lines.append(f"  {campaign}: {written(leased)} leased, {written(used)} used{gone}; {state}")
        return "\n".join(lines)

    def with_line(self, campaign: str, line: Line) -> Ledger:
        """Return the books with those of a campaign in place of earlier ones."""
        return replace(self, lines={**self.lines, campaign: line}, silent=self.silent - {campaign})

    def lease(self, log: str) -> Lease:
        """Return the lease of a log, by its id, that was granted nothing yet."""
        none = dict.fromkeys(self.totals, 0)
        exponents = {name: exponent(total) for name, total in self.totals.items()}
        return Lease(pool=self.name, pool_id=self.id, id=log, exponents=exponents, taken=none, returned=none)

    def free(self, outcome: str) -> float:
        """Return the amount that is granted to no campaign, below 0 if an older log replaced that of the pool."""
        return math.ldexp(self._free(outcome), exponent(self.totals[outcome]))

    def _free(self, outcome: str) -> int:
        whole = units(self.totals[outcome], exponent(self.totals[outcome]))
        lines = self.lines.values()
        return whole - sum(z.granted[outcome] - z.collected[outcome] + z.lost[outcome] for z in lines)

    def settle(self, campaign: str, report: Report) -> Line:
        """Return the books of a campaign after its report: returned units are collected, and its share granted.

        A grant that is not taken in yet counts as lent, so that two workers who ask at once get it once.

        Raises:
            Conflict: another log of that name leases from the pool, or the lease is of another pool.
        """
        before, lease = self._check_line(campaign, report), report.lease
        line = replace(
            before,
            granted={n: max(before.granted[n], lease.taken[n]) for n in self.totals},
            collected={n: max(before.collected[n], lease.returned[n]) for n in self.totals},
        )
        if report.seq >= before.seq:  # else another worker has reported a later state
            line = line.with_report(report)
        after = self.with_line(campaign, line)
        granted = dict(line.granted)
        for name in self.totals:
            target = after.target(campaign, name)
            more = target - (line.granted[name] - line.collected[name])
            used = units(line.used[name], exponent(self.totals[name]))
            granted[name] += 0 if after.silent else max(moves(min(more, after._free(name)), target - used), 0)
        return replace(line, granted=granted)

    def restore(self, campaign: str, report: Report) -> Ledger:
        """Return the books once the log of a campaign is an older copy, which lacks the use since then.

        That is taken from the part of the campaign, and given to no other one, as it was spent.

        Raises:
            Conflict: the log is a copy that was lost, as the pool knows one that was restored after it.
        """
        line, chain = self.lines[campaign], report.chain
        if chain != line.restores and any(z[: len(chain)] == chain for z in self.chains[campaign]):
            told = f"pool {self.name!r} knows a log of campaign {campaign!r} that was restored since"
            raise Conflict(f"{told}: end the servers of this one, which was lost")
        used: Mapping[str, float] = report.used
        both = sum(a == b for a, b in zip(chain, line.restores, strict=False))
        if both < len(chain):  # what the copy had then, which it may have settled since
            copy = report.restores[both]
            used = line.used if both == len(line.restores) and line.seq < copy.number else copy.used or used
        lost, collected = dict(line.lost), dict(line.collected)
        for name, total in self.totals.items():
            since = units(line.used[name] - used[name], exponent(total))
            gone = max(min(since, line.granted[name] - line.collected[name]), 0)
            lost[name], collected[name] = lost[name] + gone, collected[name] + gone
        return self.with_line(campaign, replace(line, lost=lost, collected=collected).with_report(report))

    def target(self, campaign: str, outcome: str) -> int:
        """Return the amount of an outcome that a campaign should have, in units, by the last reports of all of them."""
        each = {n: Need(z.used[outcome], z.rounds, z.left, z.horizon) for n, z in self.lines.items()}
        # One unit more than the floor, as a campaign has to have what it used.
        unit = exponent(self.totals[outcome])
        lost = math.ldexp(sum(line.lost[outcome] for line in self.lines.values()), unit)
        return units(share(self.totals[outcome] - lost, self.rounds, each, campaign), unit) + 1

    def excess(self, campaign: str, lease: Lease) -> dict[str, int]:
        """Return the amounts that a campaign that reported just now has beyond its target, in units, by outcome."""
        held = lease.held
        return {name: max(held[name] - self.target(campaign, name), 0) for name in self.totals}

    def _check_line(self, campaign: str, report: Report) -> Line:
        lease, none = report.lease, dict.fromkeys(self.totals, 0)
        if replace(lease, taken=none, returned=none) != self.lease(lease.id):
            raise Conflict(f"campaign {campaign!r} leases from a pool {lease.pool!r} that is not this one")
        found = self.lines.get(campaign)
        if found is None:
            return Line(
                id=lease.id, seq=0, granted=none, collected=none, lost=none, used={}, rounds=0, left=0, horizon=0
            )
        if found.id != lease.id:
            told = f"pool {self.name!r} has leased to another log of a campaign {campaign!r}"
            raise Conflict(f"{told}, of {found.seq} events: restore that one, or take another name")
        return found


def body_of(campaign: str, line: Line) -> dict[str, Any]:
    """Return the body of a pool's event about a campaign."""
    return {"campaign": campaign, **asdict(line)}


def line_in(body: Mapping[str, Any]) -> tuple[str, Line]:
    """Read the name and the books of a campaign from the event of a pool."""
    return body["campaign"], Line(**{name: value for name, value in body.items() if name != "campaign"})


_NEWS = 0.02  # of the rounds of a campaign, after which its report is written though nothing moved


def books(name: str, events: Iterable[Event]) -> Ledger:
    """Return the books by the events of a pool.

    Raises:
        Conflict: they are those of a campaign.
        Unknown: there are none.
    """
    every = iter(events)
    first = next(every, None)
    if first is None:
        raise Unknown(f"no pool {name!r}")
    lines, silent, chains = dict[str, Line](), set[str](), dict[str, list[Sequence[int]]]()
    for event in every:
        if event.kind == "restored":
            silent = {name for name, line in lines.items() if not line.ended}  # a switch to more rounds takes in more
            continue
        campaign, line = line_in(read(event))
        lines[campaign] = line
        if line.restores not in (known := chains.setdefault(campaign, [])):
            known.append(line.restores)
        silent.discard(campaign)
    stated = read(pool_event(name, first))
    return Ledger(name=name, **stated, lines=lines, silent=frozenset(silent), chains=chains)


def differs(before: Line | None, line: Line) -> bool:
    """Return whether the books of a campaign say something that others should know."""
    if before is None or (before.granted, before.collected) != (line.granted, line.collected):
        return True
    if (before.restores, before.ended) != (line.restores, line.ended):
        return True
    if bool(before.left) != bool(line.left) or line.seq < before.seq:  # of an older copy
        return True
    return abs(line.rounds - before.rounds) > _NEWS * (line.rounds + line.left)


def pool_event(name: str, event: Event | None) -> Event:
    """Return an event of a pool; refuse that of a campaign."""
    if event is None or event.kind != "leased":
        raise Conflict(f"{name!r} is a campaign, and no pool")
    return event
