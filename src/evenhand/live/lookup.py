"""A decision as its log has it."""

from __future__ import annotations

from typing import Any

from evenhand.live.events import is_erased, read
from evenhand.live.replies import reply
from evenhand.live.switches import policies
from evenhand.live.verbs import Verbs


def lookup(verbs: Verbs, decision: int | str) -> dict[str, Any]:
    """Return a decision, by its id or its key, with all its events in the log.

    Raises:
        Unknown: there is no such decision.
        Lost: it was made after a backup that was restored since.
    """
    number = verbs.number(decision)
    event, worker, ids = verbs.decided(number), verbs.worker, verbs.ids
    body, about, actions = read(event), verbs.log.about(number), worker.policy.problem.actions
    last = [e for e in about if e.kind in ("observed", "revised")]
    return {
        **reply(event, body, actions, ids).to_dict(),
        "policy": policies(worker.store, worker.name).get(body["by"]),
        **{name: body[name] for name in ("case", "offered", "known") if name in body},
        # of the first play, None if the policy did not know them
        "chances": {name: dict(body["l"]).get(a, 0.0) for a, name in enumerate(actions)} if "l" in body else None,
        "outcomes": read(last[-1])["y"] if last else None,
        "state": "erased"
        if is_erased(event)
        else about[-1].kind
        if about
        else "waiting"
        if body["n"]
        else "played nothing",
        "events": [{"number": ids.of(e.seq), "kind": e.kind, "at": e.at, "outcomes": read(e).get("y")} for e in about],
    }
