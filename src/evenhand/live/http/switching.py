"""POST /switch: another problem file in mid-campaign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.live.campaign import Campaign
from evenhand.live.cases import alike
from evenhand.live.coded import Text, of_stored
from evenhand.live.events import read
from evenhand.live.files import unused
from evenhand.live.http.schemas import TEXT
from evenhand.live.http.singles import Field, Single, signature, text
from evenhand.live.limits import used_up
from evenhand.live.phases import mark_in
from evenhand.live.problem_files import encoding
from evenhand.live.switches import BOOKS, switches

_FIELDS = {
    "problem": Field(text, {"type": "string", "description": "the text of a problem file"}),
    **signature(needed=True),
    "expected": Field(text, {**TEXT, "description": "the `mark` of a report, from which this switches"}, needed=False),
}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_ANSWER = {
    "type": "object",
    "properties": {
        "number": {"type": "integer", "description": "of the event"},
        "at": {"type": "integer", "description": "microseconds since 1970"},
        "policy": {"type": "string"},
        "adopts": {
            "oneOf": [{"type": "boolean"}, {"const": BOOKS}],
            "description": "whether the policy adopted the state, or the books alone, and learned again",
        },
        "because": {**_TEXT_OR_NULL, "description": "why it could not"},
        "by": _TEXT_OR_NULL,
        "why": _TEXT_OR_NULL,
        "unlearned": {
            "type": ["integer", "null"],
            "description": "decisions with outcomes from which a policy that adopted the books could not learn",
        },
        "mark": {"type": "string"},
        "new": {
            "type": "boolean",
            "description": "whether this request switched; else the log had it, or nothing of it counts",
        },
        "note": {**_TEXT_OR_NULL, "description": "what the file states and the switch did not take"},
        "used_up": {
            "type": "array",
            "items": {"type": "string"},
            "description": "budgets that have no more than is spent and held",
        },
    },
}


def switch(campaign: Campaign, asked: Mapping[str, str]) -> dict[str, Any]:
    """Switch a campaign of a problem file to another one, and return what its log says about it.

    Said again, as where the answer got lost, it is answered by the same event.
    """
    kept = encoding(campaign.store, campaign.name)
    text = Text(kept["file"][0], asked["problem"])
    stated = of_stored(kept, text)
    *_, last = campaign.store.scan(campaign.name, kinds=("opened", "switched"))
    mark = stated.policy.fingerprint()
    is_new = last.kind == "opened" or mark_in(last) != mark or not alike(stated.coded, read(last)["encoding"])
    if is_new:
        more = {name: asked.get(name) for name in ("by", "why", "expected")}
        campaign.switch(stated.policy, stated.coded, **more)
    event = switches(campaign.store, campaign.name)[-1]._asdict()
    told = {"mark": mark, "new": is_new, "note": unused(text, campaign.life.after)}
    return {**event, **told, "used_up": used_up(campaign.status())}


SWITCH = Single(
    route="/switch",
    fields=_FIELDS,
    call=switch,
    answer=_ANSWER,
    example={"problem": "[problem]..."},
    guarded="takes another problem file",
)
