"""The policy of a campaign as it stands, to be judged by a log: read from its store without a write."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from evenhand.core.records import Context
from evenhand.live.cases import Case, context_of
from evenhand.live.coded import Coded
from evenhand.live.commands import only_campaign
from evenhand.live.files import kept_campaign, teacher_of
from evenhand.live.proof import prove, refuse
from evenhand.live.stores.opening import connect_to_read
from evenhand.offline.frozen import Saved


def served(store: str | Path, campaign: str | None = None, *, log_path: str | Path | None = None) -> Saved:
    """Return the policy of a campaign with its state at the end of its log; the policy no longer learns.

    The latest snapshot is folded to the end of the log; nothing is written, and nothing that is overdue expires. What
    is left of hard budgets, the prices and the model are those of the next decision. Where a run has dates, that
    decision is taken to come at the time of the last event. A campaign that is paused or has ended is judged alike.

    Args:
        store: its URL, such as "sqlite:///shop.db", or the file of a store of SQLite.
        campaign: its name, by default the only one in the store.
        log_path: the log that the policy learned from before its first decision, where the store does not keep that.

    Raises:
        Unknown, InvalidInput: there is no such store or campaign, there are several and none is named, or it was not
            opened with a problem file.
        Conflict: the policy learned from another log, or decided under another version of evenhand.
        Damaged: the log is damaged.
    """
    place = str(store)
    with closing(connect_to_read(place if "://" in place else f"sqlite:///{place}")) as found:
        name = only_campaign(found, campaign)
        refuse(name, prove(found, name))
        made = kept_campaign(found, name, teacher_of(found, name, None if log_path is None else Path(log_path)))
        fold = made._worker.fold
        at = next(found.scan(name, fold.seq - 1)).at
    coded, clock = fold.encoder, fold.policy.problem.clock
    assert isinstance(coded, Coded)  # as it is of a problem file

    def encode(case: Case) -> Context:
        return context_of(coded, clock, {"case": case}, at)

    return Saved(policy=fold.policy, state=fold.state, encode=encode, columns=coded.names, after=fold.life.after)
