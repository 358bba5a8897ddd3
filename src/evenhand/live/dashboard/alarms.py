"""Alarms: facts of the log or the status that need attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evenhand.core.texts import count
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.dashboard.streak import rooms
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import digits, duration, moment, percent
from evenhand.live.fold.limits import is_past
from evenhand.policy.status import Account, Status

MANY = 0.1  # the share of due outcomes that may expire without an alarm
SURE = 0.5  # the share of the latest plays that may be certain while an action has no outcome yet
CLIPPED = 0.05  # the share of the latest decisions that may state a value out of range without an alarm
WAITING = 100_000_000  # bytes of memory that waiting decisions may take without an alarm
LATE = 2.0  # days by which decisions may be too old for the retention without an alarm
AHEAD = 60.0  # seconds by which the log may be ahead of the clock without an alarm
_FEW = 20  # with fewer due outcomes than this, or rounds held out, their share is not judged
_FEW_CASES = 100  # with fewer decisions than this, values out of range are not judged
_NAMED = 3  # actions that an alarm names

# What alarms are about, as metrics name them.
NAMES = (
    "credit",
    "overspent",
    "jammed",
    "limit",
    "released",
    "expired",
    "silence",
    "over",
    "clipped",
    "holdout",
    "untried",
    "locked_in",
    "model",
    "traffic",
    "clock",
    "memory",
    "retention",
)


class Alarm(NamedTuple):
    """A fact that needs attention."""

    name: str  # one of `NAMES`
    text: str  # a sentence


def alarms(campaign: CampaignView, status: Status, tally: Tally) -> list[str]:
    """List the sentences of all alarms."""
    return [alarm.text for alarm in all_alarms(campaign, status, tally)]


def all_alarms(campaign: CampaignView, status: Status, tally: Tally) -> list[Alarm]:
    """List the alarms about budgets, limits, outcomes, cases and holdouts, and those of the model, such as drift."""
    return [
        *_budgets(status, tally, campaign.policy.problem.n_plays),
        *_limits(status),
        *_outcomes(tally),
        *_nothing_to_play(campaign, status, tally),
        *_cases(tally),
        *_below_holdout(campaign, status),
        *_unknown_actions(campaign, tally),
        *_lock_in(campaign, tally),
        *_traffic(status),
        *_clock(campaign),
        *_memory(campaign, status),
        *_retention(campaign, tally),
        *(Alarm("model", f"{note.text[:1].upper()}{note.text[1:]}.") for note in status.notes if note.alarm),
    ]


def count_due(tally: Tally) -> int:
    """Count the decisions whose outcome has arrived or is overdue."""
    counts = tally.counts
    return counts["observed"] + counts["expired"] - counts["late"]


def _budgets(status: Status, tally: Tally, n_plays: int) -> Iterator[Alarm]:
    for name, n in tally.credited.items():
        text = f"{count(n, 'decision')} stated a use below 0, which lets others get more than the total."
        yield Alarm("credit", f"{name}: {text}")
    for name, a in status.accounts.items():
        if a.spent < 0:
            yield Alarm("credit", f"{name}: {digits(a.spent)} is spent, which is below 0.")
        restricted, among = tally.spans.restricted_lately(n_plays)
        misfits = f"in {restricted:,} of the last {count(among, 'decision')}, actions did not fit the hard budgets"
        for spent, held, left, total, when in _uses(a):
            if spent > total * (1 + 1e-9):
                text = (
                    f"overspent. {digits(spent)} of {digits(total)} is spent{when}, {digits(spent - total)} too much."
                )
                yield Alarm("overspent", f"{name}: {text}")
                break
            if a.hard and held > left and restricted:
                text = f"{digits(held)} is held for outstanding outcomes and {digits(left)} is left{when}; {misfits}."
                yield Alarm("jammed", f"{name}: jammed. {text}")
                break


def _uses(a: Account) -> Iterator[tuple[float, float, float, float, str]]:
    """Yield the amounts spent, held, left and allowed in the whole run and in the tightest span, with their names."""
    yield a.spent, a.held, a.left, a.total, ""
    if a.tightest is not None:
        z = a.tightest
        yield z.used - z.held, z.held, z.allowance - z.used, z.allowance, f" from {z.start} to {z.end}"


def _limits(status: Status) -> Iterator[Alarm]:
    """Yield the limits that are missed by more than chance explains."""
    for name, s in status.standings.items():
        if s.verdict not in ("kept", "close") and status.rounds > status.waiting:
            yield Alarm("limit", f"{name}: {digits(s.value)}, {s.side} {digits(s.limit)}. It is {s.text}.")


def _traffic(status: Status) -> Iterator[Alarm]:
    """Yield an alarm if the level of the forecast was off twice in a row, to the same side."""
    latest = [z for z in status.traffic if z.over and z.expected][-2:]  # of days that are not closed
    if sum(z.off for z in latest) in (-2, 2):
        found = " and ".join(f"{z.came:,.0f} of {z.expected:,.0f} from {z.start}" for z in latest)
        side = "More" if latest[0].off > 0 else "Fewer"
        yield Alarm("traffic", f"{side} cases came than the forecast expected, twice in a row: {found}.")


def _outcomes(tally: Tally) -> Iterator[Alarm]:
    released, expired, whole = tally.counts["released"], tally.counts["expired"], count_due(tally)
    if released:
        text = "came after the held amount was released: hard budgets may be overspent by it."
        yield Alarm("released", f"{count(released, 'outcome')} {text}")
    if whole >= _FEW and expired > MANY * whole:
        share = f"{percent(expired / whole)} of the outcomes that were due expired"
        yield Alarm("expired", f"{share} ({expired:,} of {whole:,}).")
    if tally.silence.due >= _FEW:
        patience = duration(tally.life.patience)
        last = tally.silence.last
        since = "at all" if last is None else f"since {moment(last)} UTC"
        text = f"although {tally.silence.due:,} decisions were due, which is longer than the patience of {patience}."
        yield Alarm("silence", f"No outcome came {since}, {text}")


def _nothing_to_play(campaign: CampaignView, status: Status, tally: Tally) -> Iterator[Alarm]:
    """Yield an alarm if nothing is played any longer, though nobody has ended the campaign."""
    problem, spans = campaign.policy.problem, tally.spans.all
    if tally.life.after != "nothing" or tally.life.state == "ended" or not spans:
        return
    text = "Nothing more is played. End the campaign, switch to a longer horizon, or run `evenhand change --after`."
    if is_past(problem, spans[-1].at):
        yield Alarm("over", f"The end of the run, {problem.clock.format(problem.clock.last)}, is past. {text}")
    elif status.rounds >= problem.last_round:
        yield Alarm("over", f"The horizon of {count(problem.horizon, 'round')} is reached. {text}")


def _cases(tally: Tally) -> Iterator[Alarm]:
    for name, n, whole in tally.clipped.latest():
        if whole >= _FEW_CASES and n > CLIPPED * whole:
            of = f"{percent(n / whole)} of the latest {whole:,} decisions"
            yield Alarm("clipped", f"{name}: {of} stated a value out of its range, which counted as another one.")


def _clock(campaign: CampaignView) -> Iterator[Alarm]:
    if campaign.ahead >= AHEAD:
        text = "until the clock has caught up, time stands still and nothing expires."
        yield Alarm("clock", f"The log is ahead of the clock by {count(round(campaign.ahead), 'second')}: {text}")


def _memory(campaign: CampaignView, status: Status) -> Iterator[Alarm]:
    taken = campaign.waiting_bytes
    if taken > WAITING:
        text = f"take {round(taken / 1e6):,} MB of memory, and of every snapshot."
        asked = "Cancel those whose outcomes will not come, or shorten the patience of later ones."
        yield Alarm("memory", f"{count(status.waiting, 'decision')} that wait for outcomes {text} {asked}")


def _retention(campaign: CampaignView, tally: Tally) -> Iterator[Alarm]:
    rule = campaign.retention if tally.life.retention != "off" else None  # which is another request
    if rule is None:
        return
    if rule["trouble"]:
        yield Alarm("retention", f"Cases cannot be erased after {rule['days']:g} days: {rule['trouble']}.")
    elif rule["late"] > LATE:
        text = f"{count(rule['due'], 'decision')} should have been erased, the oldest {rule['late']:.0f} days ago."
        yield Alarm("retention", f"{text} Servers do that by themselves; no server seems to run.")


def _below_holdout(campaign: CampaignView, status: Status) -> Iterator[Alarm]:
    """Yield an alarm if an objective of one outcome is below that of the rounds held out, by its whole interval."""
    maximized = campaign.policy.problem.maximize
    one = status.held_out.get(maximized) if isinstance(maximized, str) else None
    if one is not None and one.rounds >= _FEW and one.high < 0.0:
        interval = f"the difference is {digits(one.low)} to {digits(one.high)}"
        text = f"{digits(one.others)} per round, below {digits(one.held_out)} of the rounds held out; {interval}."
        yield Alarm("holdout", f"{one.name}: {text}")


def _unknown_actions(campaign: CampaignView, tally: Tally) -> Iterator[Alarm]:
    """Yield the actions of which nothing is known, though a policy with a budget hardly draws by chance any longer."""
    problem, share = campaign.policy.problem, tally.sure()
    if share is None or share <= SURE or campaign.terms.taught is not None or not any(s.spends for s in problem.stated):
        return
    without = [a for a in problem.actions if not tally.answered[a] and a not in problem.withdrawn]
    if without:
        names = ", ".join(without[:_NAMED]) + (f" and {len(without) - _NAMED:,} more" if len(without) > _NAMED else "")
        text = f"{percent(share)} of the latest {_FEW_CASES} plays were certain, so what was not tried may never be."
        yield Alarm("untried", f"No outcome of {names} yet: {text}")


def _lock_in(campaign: CampaignView, tally: Tally) -> Iterator[Alarm]:
    """Yield the action that a policy which never explores plays alone, though others may be worth more."""
    streak = tally.streak
    found = [] if campaign.terms.taught is not None else rooms(campaign, streak)
    if found:
        of = [f"{z.action} up to {digits(z.more)} ({count(z.outcomes, 'outcome')})" for z in found[:_NAMED]]
        more = f", and {len(found) - _NAMED:,} others" if len(found) > _NAMED else ""
        text = f"all of the last {streak.rounds:,} decisions that could play another action played it, since decision"
        room = "The policy never explores, and by the outcomes so far may lose per round, at its present prices"
        yield Alarm(
            "locked_in", f"{streak.action}: {text} {tally.ids.of(streak.first)}. {room}: {', '.join(of)}{more}."
        )
