"""The books of a pool: what each campaign was granted, and what was collected of what it returned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from evenhand.live.events import Conflict
from evenhand.live.leases.lease import Lease
from evenhand.live.leases.shares import Need, moves, share
from evenhand.live.leases.units import Amounts, exponent, units


class Copy(NamedTuple):
    """A restore of the log of a campaign."""

    shift: int  # tells it from any other
    number: int  # of its event
    used: Mapping[str, float]  # at it, spent or held, by outcome


@dataclass(frozen=True, kw_only=True)
class Report:
    """Where a campaign stands, as its own log says.

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

    def told(self, report: Report) -> Line:
        """Return the books with where the campaign stands by a report."""
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
    >>> line = ledger.settled("north", Report(seq=1, lease=new, used={"cents": 0.0}, rounds=0, left=25, horizon=25))
    >>> after = ledger.entered("north", line)
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

    def entered(self, campaign: str, line: Line) -> Ledger:
        """Return the books with those of a campaign in place of earlier ones."""
        return replace(self, lines={**self.lines, campaign: line}, silent=self.silent - {campaign})

    def lease(self, log: str) -> Lease:
        """Return the lease of a log, by its id, that was granted nothing yet."""
        none = dict.fromkeys(self.totals, 0)
        exponents = {name: exponent(total) for name, total in self.totals.items()}
        return Lease(pool=self.name, pool_id=self.id, id=log, exponents=exponents, taken=none, returned=none)

    def free(self, outcome: str) -> float:
        """Return what is granted to no campaign, below 0 if the log of the pool was replaced by an older one."""
        return math.ldexp(self._free(outcome), exponent(self.totals[outcome]))

    def _free(self, outcome: str) -> int:
        whole = units(self.totals[outcome], exponent(self.totals[outcome]))
        lines = self.lines.values()
        return whole - sum(z.granted[outcome] - z.collected[outcome] + z.lost[outcome] for z in lines)

    def settled(self, campaign: str, report: Report) -> Line:
        """Return the books of a campaign after its report: what it returned is collected, and its share granted.

        A grant that is not taken in yet counts as lent, so that two workers who ask at once get it once.

        Raises:
            Conflict: another log of that name leases from the pool, or the lease is of another pool.
        """
        before, lease = self._known(campaign, report), report.lease
        line = replace(
            before,
            granted={n: max(before.granted[n], lease.taken[n]) for n in self.totals},
            collected={n: max(before.collected[n], lease.returned[n]) for n in self.totals},
        )
        if report.seq >= before.seq:  # else another worker has reported a later state
            line = line.told(report)
        after = self.entered(campaign, line)
        granted = dict(line.granted)
        for name in self.totals:
            target = after.target(campaign, name)
            more = target - (line.granted[name] - line.collected[name])
            used = units(line.used[name], exponent(self.totals[name]))
            granted[name] += 0 if after.silent else max(moves(min(more, after._free(name)), target - used), 0)
        return replace(line, granted=granted)

    def restored(self, campaign: str, report: Report) -> Ledger:
        """Return the books once the log of a campaign is an older copy, which does not know what was used since.

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
        return self.entered(campaign, replace(line, lost=lost, collected=collected).told(report))

    def target(self, campaign: str, outcome: str) -> int:
        """Return what a campaign should have of an outcome, in units, by the last reports of all of them."""
        each = {n: Need(z.used[outcome], z.rounds, z.left, z.horizon) for n, z in self.lines.items()}
        # One unit more than the floor, as a campaign has to have what it used.
        unit = exponent(self.totals[outcome])
        lost = math.ldexp(sum(line.lost[outcome] for line in self.lines.values()), unit)
        return units(share(self.totals[outcome] - lost, self.rounds, each, campaign), unit) + 1

    def owed(self, campaign: str, lease: Lease) -> dict[str, int]:
        """Return what a campaign that reported just now has beyond its target, in units, by outcome."""
        held = lease.held
        return {name: max(held[name] - self.target(campaign, name), 0) for name in self.totals}

    def _known(self, campaign: str, report: Report) -> Line:
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
    """Return what the event of a pool says about a campaign."""
    return {"campaign": campaign, **asdict(line)}


def line_in(body: Mapping[str, Any]) -> tuple[str, Line]:
    """Read the name and the books of a campaign from the event of a pool."""
    return body["campaign"], Line(**{name: value for name, value in body.items() if name != "campaign"})
