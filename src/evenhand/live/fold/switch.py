"""A switch to another policy: the differences, the body of its event, and whether the policy adopts the state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.signatures import value_text
from evenhand.live.fold.cases import Encoder, NameEncoder, alike, refuse_unfit, same_cases
from evenhand.live.fold.changes import check_line
from evenhand.live.fold.column_encoder import ColumnEncoder
from evenhand.live.fold.corrections import Books, SwitchFold
from evenhand.live.fold.fold import Fold
from evenhand.live.fold.lease import lease_of
from evenhand.live.fold.limits import refuse_narrow_ranges
from evenhand.live.fold.loader import Loader
from evenhand.live.fold.phases import BOOKS, Phase, mark_in, phase_of, same_features, signature, stated
from evenhand.live.log.events import Conflict, Event, encode, read
from evenhand.live.log.store import Transaction
from evenhand.policy.adoption import widens
from evenhand.policy.continuation import refuse_books
from evenhand.policy.policy import Policy
from evenhand.problem.actions import refuse_other_actions, refuse_return


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A request to continue with another policy.

    Args:
        phase: the policy, and the encoder of its cases.
        expected: the fingerprint of the policy under which who asks believes that the campaign runs.
        by, why: texts for the log, None if there are none.

    Raises:
        InvalidInput: such a text is blank, too long or not printable.
    """

    phase: Phase
    expected: str
    by: str | None = None
    why: str | None = None

    @staticmethod
    def of(
        now: Phase, policy: Policy, encoder: Encoder | None, expected: str | None, by: str | None, why: str | None
    ) -> Switch:
        """Make a request from the arguments of `Campaign.switch`.

        Raises:
            InvalidInput: the policy is none, or cannot serve cases by name; or a text is none.
        """
        if not isinstance(policy, Policy):
            raise InvalidInput("policy", "a Policy", value_text(policy))
        for field, text in (("by", by), ("why", why)):
            if text is not None:
                check_line(field, text)
        refuse_unfit(policy)
        encoder = encoder or (NameEncoder(policy) if isinstance(now.encoder, NameEncoder) else now.encoder)
        return Switch(phase=Phase(policy, encoder), expected=expected or now.mark, by=by, why=why)

    def refuse(self, now: Phase) -> None:
        """Refuse a policy that cannot continue where the present one stops, however the log is folded.

        Raises:
            InvalidInput: it has other outcomes or numbers of plays, actions other than those so far and appended ones,
                or would play a withdrawn action.
        """
        old, new = now.policy.problem, self.phase.policy.problem
        refuse_other_actions(old, new, "policy")
        for field in ("observed", "names", "n_plays"):
            if getattr(old, field) != getattr(new, field):
                raise InvalidInput(f"policy: problem.{field}", getattr(old, field), getattr(new, field))
        refuse_return(old, new, "policy")
        if self.phase.mark == now.mark and not same_cases(self.phase.encoder, now.encoder.to_dict()):
            expected = "one with another name or setting if cases are encoded differently, to be told apart by workers"
            raise InvalidInput("policy", expected, self.phase.policy.name)

    def is_done(self, now: Phase) -> bool:
        """Return whether another worker switched to this policy meanwhile."""
        same = self.phase.mark == now.mark and alike(self.phase.encoder, now.encoder.to_dict())
        return same and self.expected != now.mark

    def settles(self, fold: Fold) -> bool:
        """Return whether this takes in grants of a lease, or returns a part of it; refuse what a lease does not allow.

        Raises:
            InvalidInput: the policy has totals other than those of the lease, or does not keep them hard.
            Conflict: the lease is not a later one of the campaign, or less than what is spent and held.
        """
        before, after = lease_of(fold.encoder), lease_of(self.phase.encoder)
        if before is None and after is None:
            return False
        if before is None or after is None or not after.follows(before):
            raise Conflict("a switch cannot begin or end the lease of a campaign, or replace it by an earlier one")
        after.check(self.phase.policy)
        accounts = fold.policy.status(fold.state).accounts
        for name, total in after.totals.items():
            used = accounts[name].total - accounts[name].left
            if total < before.totals[name] and total < used:
                raise Conflict(f"{used:g} {name} are spent and held, more than the {total:g} that would be leased")
        return after != before

    def body(self, now: Phase) -> dict[str, Any]:
        """Return the body of the event, except whether the policy adopts the state."""
        policy, old = self.phase.policy, now.policy
        body = {"mark": self.phase.mark, "name": policy.name, "encoding": self.phase.encoder.to_dict()}
        body |= stated(policy)
        body |= {"actions": list(policy.problem.actions)} if policy.problem.actions != old.problem.actions else {}
        return body | {name: text for name, text in (("by", self.by), ("why", self.why)) if text is not None}

    def _adopts(self, fold: Fold) -> bool:
        """Return whether adoption is tried. Where actions bring features along, only what cannot be folded anew is."""
        known = isinstance(self.phase.encoder, ColumnEncoder | NameEncoder)
        return not widens(self.phase.policy, fold.policy) or (known and not fold.is_whole)

    def adopt(self, log: Transaction, fold: Fold) -> tuple[Fold | None, dict[str, Any]]:
        """Return the fold after the switch if the policy can adopt the state, and the body of its event.

        The given fold stays as it is, and nothing is appended.

        Raises:
            Conflict: ranges are narrower, and decisions wait; or after an erasure or a seal, the policy cannot adopt
                the state, nor go on with the books.
        """
        body, adopted, reason = self.body(fold.phase), None, "cases are encoded in another way"
        if same_features(fold.encoder, self.phase.encoder) and self._adopts(fold):
            event = Event(log.last + 1, "switched", None, None, log.now, encode({**body, "adopts": True}))
            adopted = copy(fold)
            adopted.pending = fold.pending.copy()
            try:
                adopted.apply(event)
            except EvenhandError as error:
                adopted, reason = None, str(error)
        if adopted is not None:
            return adopted, body | {"adopts": True}
        refuse_narrow_ranges(fold, self.phase.policy)
        if not fold.is_whole:
            self._refuse_books(fold, reason)
        return None, body | {"adopts": False if fold.is_whole else BOOKS, "because": reason}

    def refold(self, folding: Loader, fold: Fold, body: dict[str, Any], last: int) -> SwitchFold | Books:
        """Return the object that makes the fold after the switch without a lock: from the log, or from the books."""
        return Books(folding, self.phase) if body["adopts"] == BOOKS else SwitchFold(folding, body, last)

    def _refuse_books(self, fold: Fold, reason: str) -> None:
        """Refuse a policy that cannot go on with the books either.

        Raises:
            Conflict: it cannot.
        """
        try:
            refuse_books(self.phase.policy, fold.policy)
        except InvalidInput as error:
            told = "the log cannot be folded anew after an erasure or a seal, and the policy cannot adopt the state"
            raise Conflict(f"{told}: {reason}; nor its books: {error}") from error


def switch_conflict(name: str, expected: str, last: Event) -> Conflict:
    """Make the error for a switch from a policy under which the campaign does not run any longer."""
    body = read(last)
    now = f"policy {body['name']!r} ({mark_in(last)}) since event {last.seq}{signature(body)}"
    return Conflict(f"{name!r} runs under {now}, not under {expected}, which this switch would replace")


def refuse_other(name: str, last: Event, given: Phase) -> None:
    """Refuse to open a campaign with a policy other than the one under which it runs.

    Raises:
        Conflict: they differ; see `other`.
    """
    if mark_in(last) != given.mark:
        raise other(name, last, given)


def other(name: str, last: Event, given: Phase) -> Conflict:
    """Make the error for a policy other than the one under which a campaign runs.

    It says in which settings they differ, where the log keeps the problem file of the other one, and how to switch.

    Args:
        name: of the campaign.
        last: the event that began its present policy.
        given: the policy with which it is opened.
    """
    there = phase_of(last)
    settings = "" if there is None else differences(there.policy, given.policy)
    since = f", since event {last.seq}{signature(read(last))}" if last.kind == "switched" else ""
    told = settings or f"policy {mark_in(last)} there, {given.mark} here"
    if there is None or not isinstance(given.encoder, ColumnEncoder):
        way = "open it with the policy that it has, or switch: campaign.switch(policy)"
    else:
        file = given.encoder.text.name
        way = f"it never had {file}: leave the file out, or switch: evenhand switch STORE {file} --by WHO --why TEXT"
    return Conflict(f"{name!r}: {told}{since}: {way}")


_MOST = 5  # differences that are told
_HASH = re.compile(r"[0-9a-f]{16}")  # stands for a setting that is not a number or a name


def differences(there: Policy, here: Policy) -> str:
    """List the settings in which two policies differ: those of the problem, or else those of the recipe.

    >>> import evenhand as eh
    >>> from dataclasses import replace
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"), eh.Outcome("post", known={"yes": 1})),
    ...                   maximize="won", subject_to=(eh.Budget("post", rate=0.3),), horizon=90)
    >>> less = replace(shop, subject_to=(eh.Budget("post", rate=0.2),), withdrawn=("no",))
    >>> differences(eh.resolving(shop), eh.resolving(less))
    "budget post: rate 0.3 there, 0.2 here; withdrawn: () there, ('no',) here"
    >>> differences(eh.resolving(shop, warmup=4), eh.resolving(shop, warmup=5))
    'choice.rounds: 4.0 there, 5.0 here'
    """
    found = list(_of_problem(there.problem, here.problem)) or list(_of_parts(there, here))
    more = f"; and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return "; ".join(found[:_MOST]) + more


def _of_problem(there: Any, here: Any) -> Iterator[str]:
    for f in fields(there):
        before, now = getattr(there, f.name), getattr(here, f.name)
        if before == now:
            continue
        if isinstance(before, Sequence) and any(is_dataclass(z) for z in (*before, *now)):
            yield from _differences(_parts_by_name(before), _parts_by_name(now))
        else:
            yield f"{f.name}: {before!r} there, {now!r} here"


def _parts_by_name(parts: Sequence[Any]) -> dict[str, Any]:
    """The parts by their kind and the name that they state first, such as "budget post"."""
    found: dict[str, Any] = {}
    for part in parts:
        first = getattr(part, fields(part)[0].name) if is_dataclass(part) and fields(part) else part
        name = f"{type(part).__name__.lower()} {first}"
        found[name if name not in found else f"{name}, number {len(found) + 1}"] = part
    return found


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    for name in {**there, **here}:
        before, now = there.get(name), here.get(name)
        if before is None or now is None:
            yield f"{name}: {'here alone' if before is None else 'there alone'}"
        elif before != now and type(before) is type(now) and is_dataclass(before):
            each = ((f.name, getattr(before, f.name), getattr(now, f.name)) for f in fields(before))
            yield f"{name}: " + ", ".join(f"{field} {a!r} there, {b!r} here" for field, a, b in each if a != b)
        elif before != now:
            yield f"{name}: others there and here"


def _of_parts(there: Policy, here: Policy) -> Iterator[str]:
    """The settings of parts by their paths, without those that repeat the problem's."""
    before, now = there._mark.settings, here._mark.settings
    for path in {**before, **now}:
        a, b = before.get(path), now.get(path)
        told = a is None or b is None or not (_HASH.fullmatch(a) and _HASH.fullmatch(b))
        if a != b and told and "problem" not in path.split(".") and path != "name":
            yield f"{path}: {'none' if a is None else a} there, {'none' if b is None else b} here"
