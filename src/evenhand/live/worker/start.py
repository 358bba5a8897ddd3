"""Opens a campaign: begins a new log, or continues one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from evenhand.core.errors import CannotSave, InvalidInput
from evenhand.core.signatures import value_text
from evenhand.core.validate import one_of
from evenhand.live.fold.cases import Encoder, NameEncoder, Teacher, alike, refuse_past, refuse_unfit
from evenhand.live.fold.changes import check_patience
from evenhand.live.fold.event_schema import naming_damage
from evenhand.live.fold.first_event import Terms, first_body, refuse_pool, warn_of_jams
from evenhand.live.fold.fold import StaleFold
from evenhand.live.fold.limits import refuse_soft
from evenhand.live.fold.phases import Phase
from evenhand.live.fold.runs import fold_runs
from evenhand.live.log.events import Busy, Conflict, encode, read
from evenhand.live.log.life import FATES, OnExpiry
from evenhand.live.log.store import Store
from evenhand.live.log.versions import deciding_version, here, is_other, refuse_later
from evenhand.live.stores.opening import open_or_use
from evenhand.live.worker.requests import check_text
from evenhand.live.worker.worker import Worker
from evenhand.policy.kernels.events import MOST_WAITED
from evenhand.policy.policy import Policy
from evenhand.problem.end import AFTERS, After

DAY = 86_400.0


@dataclass(frozen=True, kw_only=True)
class New:
    """The settings of a new campaign; an existing one has those in its log.

    Args:
        seed: of all random numbers.
        patience: the seconds after which an outcome is overdue, above 0.
        on_expiry: the fate of the hard budget that an overdue decision reserves.
        after: what is answered after the horizon.

    Raises:
        InvalidInput: an invalid patience, or one of the last two is invalid.
    """

    seed: int = 0
    patience: float = DAY
    on_expiry: OnExpiry = "hold"
    after: After = "nothing"

    def __post_init__(self) -> None:
        check_patience(self.patience)
        one_of("on_expiry", self.on_expiry, FATES)
        one_of("after", self.after, AFTERS)


def begin(
    store: str | Store,
    name: str,
    policy: Policy | Sequence[Policy],
    new: New,
    encoder: Encoder | None = None,
    teacher: Teacher | None = None,
) -> Worker:
    """Open a campaign, and return a worker of it.

    Args:
        store, name, policy, encoder, teacher: as for `Campaign.open`.
        new: the settings, if it is a new one.

    Raises:
        InvalidInput, Conflict, Damaged, Busy: as for `Campaign.open`; or a new campaign would continue after the
            horizon with a budget that no hard limit keeps.
    """
    check_text("name", name)
    every = [policy] if isinstance(policy, Policy) else list(policy) if isinstance(policy, Sequence) else []
    if not every or not all(isinstance(one, Policy) for one in every):
        raise InvalidInput("policy", "a Policy, or a list of them with the present one last", value_text(policy))
    present = every[-1]
    refuse_unfit(present)
    with open_or_use(store) as place, naming_damage(place, name):
        present.start(seed=new.seed)  # refuses a seed, and prepares kernels, before the lock is taken
        phases = [Phase(one, encoder or NameEncoder(one)) for one in every]
        coded, taught = phases[-1].encoder, None if teacher is None else teacher.mark
        terms = Terms(**asdict(new), first=present.fingerprint(), taught=taught)
        with place.write(name) as log:
            if log.last == 0:
                refuse_past(present, log.now)
                if new.after == "go on":
                    refuse_soft("after", present)
                warn_of_jams(new.on_expiry, present, level=4)
                log.append("opened", encode(first_body(terms, present, coded)))
            else:
                refuse_pool(place, name)
                refuse_later(name, deciding_version(place, name))
        terms = Terms.of(next(iter(place.scan(name))))
        terms.refuse_taught(name, taught)
        worker = Worker(place, name, phases, terms, teacher)
        worker.refuse_leap()
        *_, last = place.scan(name, kinds=("opened", "switched"))
        if not alike(coded, read(last)["encoding"]):
            raise Conflict(f"campaign {name!r} encodes cases differently: open it with its own encoder")
        take_over(worker)
    return worker


def take_over(worker: Worker) -> None:
    """Let this version of evenhand decide from now on; workers of earlier versions then end with `Conflict`.

    They answer while the log is folded: no lock is held until few events are left.

    Raises:
        Conflict: a later version decides.
        Busy: the store cannot be written.
    """
    if not is_other(worker.fold.version):
        return
    with suppress(Busy, CannotSave):  # snapshots of the earlier version may say nothing here
        worker.folding.keep(worker.fold)
    while not _try_take_over(worker):
        try:
            fold_runs(worker.fold, worker.store.scan(worker.name, worker.fold.seq), MOST_WAITED)
        except StaleFold:  # they corrected or erased something meanwhile
            worker.refold()


def _try_take_over(worker: Worker) -> bool:
    """Fold the last events and take over in one transaction; returns False if they are many, or demand another fold."""
    refuse_later(worker.name, worker.fold.version)
    with worker.store.write(worker.name) as log:
        if log.last - worker.fold.seq > worker.near:
            return False
        try:
            worker.fold.fold(log.tail(worker.fold.seq))
        except StaleFold:
            return False
        refuse_later(worker.name, worker.fold.version)
        if is_other(worker.fold.version):  # no other worker was first
            worker.fold.apply(log.append("upgraded", encode({"versions": here()})))
    return True
