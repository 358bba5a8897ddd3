"""The problem file that a campaign keeps in its log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from evenhand.core.errors import InvalidInput
from evenhand.live.coded import Text
from evenhand.live.commands import only_campaign
from evenhand.live.events import read
from evenhand.live.files import unused
from evenhand.live.life import LIFE, Life
from evenhand.live.phases import begins, mark_in
from evenhand.live.stores.opening import connect_to_read
from evenhand.live.switches import Switched
from evenhand.problem.ended import After


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A problem file as the log of a campaign has it.

    Args:
        campaign: the name of the campaign.
        text: the file.
        mark: of its policy, which a switch may expect.
        switched: the switch to it, None if the campaign began with it.
        leased: whether the totals of budgets are those of a lease, whatever the file states.
        after: what follows the horizon at present, which may have been changed since.
    """

    campaign: str
    text: Text
    mark: str
    switched: Switched | None
    leased: bool
    after: After

    def notes(self) -> Iterator[str]:
        """Yield what whoever edits the file should know, in sentences."""
        since = "since the campaign began" if self.switched is None else f"since {self.switched}"
        yield f"{self.campaign} decides by {self.text.name} {since}"
        yield f"`evenhand switch --expected {self.mark}` is refused if somebody else switches meanwhile"
        told = unused(self.text, self.after)
        if told is not None:
            yield told
        if self.leased:
            yield "leased budgets have the totals that the pool grants, not those of the file"


def kept_problem(url: str, campaign: str | None = None) -> Kept:
    """Return the problem file that decides at present.

    Args:
        url: of the store, which is only read.
        campaign: its name, by default the only one in the store.

    Raises:
        Unknown, InvalidInput: as for `only_campaign`; or the campaign was not opened with a problem file.
    """
    with closing(connect_to_read(url)) as store:
        name = only_campaign(store, campaign)
        last = begins(store, name)[-1]
        kept = read(last)["encoding"]
        if "file" not in kept:
            raise InvalidInput("campaign", "one that was opened with a problem file", f"{name!r}, which was not")
        return Kept(
            campaign=name,
            text=Text(*kept["file"]),
            mark=mark_in(last),
            switched=Switched.of(last) if last.kind == "switched" else None,
            leased="lease" in kept,
            after=Life.of(store.scan(name, kinds=("opened", *LIFE))).after,
        )
