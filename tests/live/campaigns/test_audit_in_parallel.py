"""Several processes audit a log from one snapshot to the next, and find what one process finds."""

import io
import pickle
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.fold import recomputation, snapshots
from evenhand.live.fold.snapshots import dump, largest_difference
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.worker.worker import Worker
from evenhand.run import parallel
from tests.live.http_campaign import CASE, SHOP

POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)
GREEDY = eh.ucb(SHOP, eh.PerAction.of(SHOP, eh.Ridge), warmup=0)
LONGER = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=9)
POLICIES = [POLICY, GREEDY, LONGER]


@pytest.fixture
def stretches(monkeypatch):
    """The first and the last event of each stretch; the processes are one, with tasks that are pickled on the way."""
    found = []

    def run(work, tasks, bar, jobs):
        found.extend(tuple(task.stretch) for task in tasks)
        return [work(pickle.loads(pickle.dumps(task)), lambda steps: True) for task in tasks]

    monkeypatch.setattr(recomputation, "run_chunks", run)
    return found


def lived(url, seed, *, erase=False, rounds=90):
    """A campaign with late, revised, cancelled and expired outcomes, switches that adopt or fold anew, and marks."""
    luck = np.random.default_rng(seed)
    campaign = eh.Campaign.open(url, "shop", POLICY, patience=1e6, on_expiry=("hold", "fallback", "release")[seed % 3])
    waiting, settled = [], []
    for i in range(rounds):
        waiting.append(campaign.decide(CASE | {"age": 20 + i % 40}, key=f"case {i}").id)
        if luck.random() < 0.9:
            ref = waiting.pop(luck.integers(len(waiting)))
            if luck.random() < 0.1:
                campaign.cancel(ref)
            else:
                campaign.observe(ref, {"answer": int(luck.integers(2))})
                settled.append(ref)
        if settled and luck.random() < 0.1:
            ref = settled[-luck.integers(1, min(len(settled), 12) + 1)]
            campaign.observe(ref, {"answer": int(luck.integers(2))}, revise=True)
        if luck.random() < 0.04:
            campaign.relearn()
        if luck.random() < 0.03:
            campaign.switch((POLICY, LONGER, *([] if erase else [GREEDY]))[luck.integers(2 if erase else 3)])
        if erase and i == rounds // 3:
            ended = [f"case {j}" for j in range(i - 10)]
            held = set(campaign.decisions().set_index("id").loc[waiting, "key"])
            campaign.erase([key for key in ended if key not in held])
    return campaign


def audits(url, jobs=4):
    """What one process finds, and what several find."""
    return eh.live.audit(url, "shop", POLICIES), eh.live.audit(url, "shop", POLICIES, jobs=jobs)


@pytest.mark.parametrize("seed", range(4))  # every way to expire, and erasures
def test_several_processes_find_what_one_finds(seed, tmp_path, monkeypatch, stretches):
    monkeypatch.setattr(Worker, "every", 10)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    lived(url, seed, erase=seed % 4 == 3).close()
    one, several = audits(url)
    assert one == several
    assert one.clean
    (_, last), *parts = stretches
    assert parts[0][0] == 0
    assert [b for _, b in parts] == [*(a for a, _ in parts[1:]), last]  # and nothing was done twice


def test_logs_are_split_into_stretches_of_similar_lengths(tmp_path, monkeypatch, stretches):
    monkeypatch.setattr(Worker, "every", 10)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    campaign = eh.Campaign.open(url, "shop", POLICY)
    for i in range(150):
        campaign.observe(campaign.decide(CASE, key=f"{i}").id, {"answer": i % 2})
    campaign.close()
    one, several = audits(url, 2)
    assert one == several
    lengths = [b - a for a, b in stretches[1:]]
    assert sum(lengths) == 301
    assert len(lengths) >= 3
    assert min(lengths) >= 75


@pytest.mark.parametrize("at", [20, 130])
def test_a_decision_that_was_changed_is_found_wherever_it_is(at, tmp_path, monkeypatch, stretches):
    monkeypatch.setattr(Worker, "every", 10)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    lived(url, 0).close()
    compare = recomputation.Count.compare

    def changed(count, event, body, *rest):
        return compare(count, event, {**body, "p": [0.123]} if event.seq >= at else body, *rest)

    monkeypatch.setattr(recomputation.Count, "compare", changed)
    one, several = audits(url)
    assert one == several
    assert one.first >= at
    assert not one.clean


@pytest.mark.parametrize("at", [20, 130])
def test_a_decision_at_a_state_before_its_stretch_is_counted_as_by_one_process(at, tmp_path, monkeypatch, stretches):
    monkeypatch.setattr(Worker, "every", 10)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    lived(url, 0).close()
    known = recomputation.read

    def changed(event):
        return {**known(event), "as_of": 1} if event.kind == "decided" and event.seq >= at else known(event)

    monkeypatch.setattr(recomputation, "read", changed)
    one, several = audits(url, 8)
    assert one == several
    assert one.decisions == 90
    assert one.first >= at
    assert not several.clean


def finite(arrays):
    """Another number in place of one that is finite."""
    name = next(name for name, z in arrays.items() if z.dtype == float and z.size and np.isfinite(z).all())
    arrays[name] = arrays[name] + 0.25


def signed(arrays):
    """Zeros of the other sign, which are equal, and of which a decision has another checksum."""
    records = [(z, field) for z in arrays.values() for field in z.dtype.names or ()]
    for each, name in [*((arrays, name) for name in arrays), *records]:
        if each[name].dtype == float:
            each[name] = np.where(each[name] == 0.0, -each[name], each[name])


def tokens(arrays):
    """Other tokens of decisions that wait, which states do not share either."""
    arrays[".receipts.tokens"] += arrays[".receipts.tokens"] > 0


@pytest.mark.parametrize("change", [finite, signed, tokens])
def test_a_snapshot_that_is_not_the_state_of_its_events_is_not_gone_on_from(change, tmp_path, monkeypatch, stretches):
    monkeypatch.setattr(Worker, "every", 10)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    campaign = lived(url, 1, rounds=60)
    store, mark = campaign._worker.store, campaign._worker.folding.mark
    eh.live.audit(url, "shop", POLICIES, jobs=8)
    chosen = stretches[2][0]
    _, blob = store.snapshot("shop", mark, chosen + 1)
    arrays = snapshots._read(blob)  # written as earlier versions did, with records as they are
    change(arrays)
    file = io.BytesIO()
    np.savez(file, **arrays)
    store.keep("shop", mark, chosen, file.getvalue(), drop=())
    campaign.close()
    del stretches[:]
    one, several = audits(url, 8)
    assert one == several
    assert one.clean
    last = stretches[0][1]
    assert stretches[-1][1] == last  # from the stretch before it to the end, by one process
    assert stretches[-1][0] < chosen
    assert len([z for z in stretches[1:] if z[1] == last]) == 2


@pytest.mark.parametrize("other", [True, False])
def test_a_snapshot_that_goes_while_processes_begin_is_no_reason_to_fail(other, tmp_path, monkeypatch):
    """A campaign that runs drops old ones; the latest before it is then another one, or there is none."""
    monkeypatch.setattr(Worker, "every", 10)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    campaign = lived(url, 1, rounds=60)
    store, mark = campaign._worker.store, campaign._worker.folding.mark
    done = []

    def run(work, tasks, bar, jobs):
        if not done:
            chosen, numbers = tasks[2].stretch.begin, store.snapshots("shop", mark)
            gone = [chosen] if other else [z for z in numbers if z <= chosen]
            _, blob = store.snapshot("shop", mark)
            store.keep("shop", mark, numbers[-1], blob, drop=gone)
        done.extend(tasks)
        return [work(task, lambda steps: True) for task in tasks]

    monkeypatch.setattr(recomputation, "run_chunks", run)
    several = eh.live.audit(url, "shop", POLICIES, jobs=8)
    assert several.clean
    assert len(done) > 3
    assert several == eh.live.audit(url, "shop", POLICIES)
    campaign.close()


def test_states_differ_by_their_numbers_and_in_anything_else_wholly():
    campaign = eh.Campaign.open(MemoryStore(), "shop", POLICY)
    campaign.decide(CASE, key="a")
    fold = campaign._worker.fold
    blob = dump(fold)
    assert largest_difference(blob, blob) == 0.0
    (ref,) = fold.pending
    due, decision = fold.pending.due(ref), fold.pending.pop(ref, ())
    fold.pending.add(ref, decision._replace(id=np.add(decision.id, (0, 1, 0))), due)
    assert largest_difference(blob, dump(fold)) == 0.0  # tokens are random
    fold.pending.add(ref, decision._replace(propensities=decision.propensities - 1e-9), due)
    assert 0 < largest_difference(blob, dump(fold)) <= 1e-9
    fold.pending.add(ref, decision, due + 1)
    assert largest_difference(blob, dump(fold)) == np.inf
    fold.pending.drop(ref)
    assert largest_difference(blob, dump(fold)) == np.inf


@pytest.mark.parametrize("other", [-np.inf, np.nan, 1.0])
def test_numbers_that_are_not_finite_are_compared_as_they_are(other):
    numbers = np.array([np.inf, 1.0])
    assert snapshots._gap(numbers, numbers.copy()) == 0.0
    assert snapshots._gap(numbers, np.array([other, 1.0])) == np.inf
    assert snapshots._gap(np.array([np.nan, 1.0]), np.array([np.nan, 1.5])) == 0.25


def test_processes_share_a_log_and_show_what_they_find(tmp_path, monkeypatch):
    monkeypatch.setattr(Worker, "every", 10)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    lived(url, 2).close()
    one, several = audits(url, 2)
    assert one == several
    assert one.clean


@pytest.mark.parametrize(
    ("store", "jobs", "message"),
    [
        (MemoryStore(), 2, "store: expected its URL, as several processes read it, got MemoryStore"),
        ("memory://", 0, "jobs: "),
        ("memory://", 2000, "jobs: "),
        ("memory://", 1.5, "jobs: "),
    ],
)
def test_what_processes_cannot_share_is_refused(store, jobs, message):
    if isinstance(store, MemoryStore):
        eh.Campaign.open(store, "shop", POLICY)
    with pytest.raises(InvalidInput, match=message):
        eh.live.audit(store, "shop", [POLICY], jobs=jobs)


def test_an_audit_that_is_interrupted_says_nothing(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'x.db'}"
    lived(url, 0, rounds=20).close()
    run_chunks = parallel.run_chunks

    def stopped(work, tasks, bar, jobs):
        return run_chunks(lambda task, watch: work(task, lambda steps: False), tasks, bar, jobs)

    monkeypatch.setattr(recomputation, "run_chunks", stopped)
    with pytest.raises(KeyboardInterrupt):
        eh.live.audit(url, "shop", [replace(POLICY, name="another"), *POLICIES])
