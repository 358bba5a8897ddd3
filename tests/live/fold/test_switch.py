"""A switched campaign has the bits of the loop that adopts at the same round, and its state is one of its log alone."""

import json
from dataclasses import dataclass, replace

import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live import Campaign, Conflict
from evenhand.live.log.events import read
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.worker.worker import Worker
from tests.live.schedules import same_fold
from tests.states import alike

SHOP = eh.Problem(
    actions=("none", "letter", "call"),
    features=(eh.Numeric("age", 20, 60),),
    outcomes=(
        eh.Outcome("answer", free=("none",), fallback=0.0),
        eh.Outcome("cents", high=4.0, free=("none",), fallback=1.0),
        eh.Outcome("calls", known={"call": 1}),
    ),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=60), eh.Budget("calls", total=40)),
    horizon=120,
)


def resolving(problem):
    return eh.resolving(problem, eh.PerAction.of(problem), warmup=4)


def pgd(problem):
    return eh.pgd(problem, eh.PerAction.of(problem), warmup=4)


def with_total(cents):
    return replace(SHOP, subject_to=(eh.Budget("cents", total=cents), eh.Budget("calls", total=40)))


MORE = replace(
    SHOP,
    actions=("none", "letter", "call", "visit"),
    outcomes=(*SHOP.outcomes[:2], eh.Outcome("calls", known={"call": 1, "visit": 1})),
)
CHANGES = {
    "less": with_total(40.0),
    "more": with_total(100.0),
    "objective": replace(SHOP, maximize=eh.objectives.Linear({"answer": 1.0, "cents": -0.2})),
    "withdrawn": replace(SHOP, withdrawn=("letter",)),
    "appended": MORE,
}
OLD = resolving(SHOP)


def cents_of(i, action):
    return 0.0 if action == "none" else float((7 * i) % 4 + 1) / 1.0 if action == "call" else 1.0 + i % 2


def outcome(i, action):
    return {"answer": float(action != "none" and (5 * i) % 3 > 0), "cents": cents_of(i, action)}


@dataclass
class Loop:
    """The loop in Python, without a log: decide, observe, cancel, expire, adopt."""

    policy: eh.Policy
    on_expiry: str

    def __post_init__(self):
        self.state = self.policy.start(seed=4)
        self.open = {}

    def decide(self, i, case):
        decision = self.policy.act(self.state, self.policy.encode(case))
        if decision.counted[0]:
            self.open[i] = decision
        return decision.action

    def observe(self, i, y):
        self.policy.observe(self.state, self.open.pop(i), y)

    def cancel(self, i):
        self.policy.cancel(self.state, self.open.pop(i))

    def expire(self, i):
        if self.on_expiry == "fallback":
            self.policy.expire(self.state, self.open.pop(i))
        elif self.on_expiry == "release":
            self.policy.cancel(self.state, self.open.pop(i))

    def adopt(self, policy):
        self.policy, self.state = policy, policy.adopt(self.state, of=self.policy)


def lived(new, on_expiry="fallback", rounds=100, at=50, old=OLD):
    """A campaign with outcomes at once, later, after the switch and never, cancellations and expiries, and its loop."""
    clock = [0]
    store = MemoryStore(lambda: clock[0])
    campaign = Campaign.open(store, "shop", old, seed=4, patience=15, on_expiry=on_expiry)
    loop, ids, due = Loop(old, on_expiry), {}, {}
    for i in range(rounds):
        clock[0] += 1_000_000
        for k in [k for k, at_ in due.items() if at_ <= clock[0]]:
            loop.expire(k)
            del due[k]
        if i == at:
            loop.adopt(new)
            campaign.switch(new)
        case = {"age": 20 + (11 * i) % 40}
        said = campaign.decide(case, key=f"{i}")
        assert said.action == loop.decide(i, case)
        if said.action is None:
            continue
        ids[i], due[i] = said.id, clock[0] + 15_000_000
        for k in [k for k in ids if k in due and i - k == (0 if k % 3 else 9 if k % 2 else 99)]:
            y = outcome(k, loop.open[k].action)
            if k % 13 == 4:
                assert campaign.cancel(ids[k])
                loop.cancel(k)
            else:
                assert campaign.observe(ids[k], y)
                loop.observe(k, y)
            del due[k]
    return campaign, store, loop, ids


@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_switched_campaign_has_the_bits_of_the_loop_that_adopts(change, on_expiry):
    new = resolving(CHANGES[change])
    campaign, store, loop, _ = lived(new, on_expiry)
    assert loop.open, "some decisions still wait"
    alike(loop.state, campaign._worker.fold.state)
    assert loop.policy.status(loop.state) == campaign.status()
    (event,) = [e for e in campaign.events() if e.kind == "switched"]
    assert json.loads(event.body)["adopts"] is True
    kept = Campaign.open(store, "shop", new)  # from the snapshot at the switch
    same_fold(campaign, kept)
    store._kept.clear()
    same_fold(campaign, Campaign.open(store, "shop", (OLD, new)))
    found = eh.live.audit(store, "shop", [new, OLD])
    assert found.clean, f"{found}"
    assert found.largest == 0.0


@pytest.mark.parametrize("total", [25.0, 40.0, 60.0, 100.0])
def test_the_new_total_is_never_exceeded(total):
    new = resolving(with_total(total))
    campaign, _, _, _ = lived(new, "hold")
    account = campaign.status().accounts["cents"]
    assert account.total == total
    assert account.spent + account.held <= max(total, 60.0)
    frame = campaign.decisions()
    spent = frame["outcome cents"].sum()
    before = frame["outcome cents"][:50].sum() + 4.0 * (frame["state"][:50] == "waiting").sum()
    assert spent <= max(total, before)


@pytest.mark.parametrize("first", [resolving, pgd])
@pytest.mark.parametrize("second", [resolving, pgd])
def test_what_cannot_adopt_folds_anew_and_the_event_says_why(first, second):
    old, new = first(SHOP), second(with_total(40.0))
    campaign, store, *_ = lived_anew(old, new)
    (event,) = [json.loads(e.body) for e in campaign.events() if e.kind == "switched"]
    assert event["adopts"] is (first is second)
    assert ("because" in event) is (first is not second)
    if first is not second:
        assert "goals: expected" in event["because"]
    same_fold(campaign, Campaign.open(store, "shop", new))
    store._kept.clear()
    policies = new if first is not second else (old, new)  # the log alone
    same_fold(campaign, Campaign.open(store, "shop", policies))
    assert eh.live.audit(store, "shop", [old, new]).clean


def lived_anew(old, new, count=40):
    store = MemoryStore()
    campaign = Campaign.open(store, "shop", old, seed=4)
    for i in range(count):
        if i == count // 2:
            campaign.switch(new)
        said = campaign.decide({"age": 20 + i % 40}, key=f"{i}")
        if i % 4:
            campaign.observe(said.id, outcome(i, said.action))
    return campaign, store


@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
def test_corrections_on_both_sides_of_a_switch_are_learned_in_their_places(on_expiry):
    """The fold of the mark is the loop of the same decisions, with the last outcomes in place of the first."""
    new = resolving(with_total(100.0))
    campaign, store, _, ids = lived(new, on_expiry)
    ends = {e.ref: json.loads(e.body)["y"] for e in campaign.events() if e.kind == "observed"}
    changed = {}
    for k in [k for k in ids if ids[k] in ends and k % 5 == 1]:  # before the switch and after it
        y = ends[ids[k]]
        changed[ids[k]] = y | {"answer": 1.0 - y["answer"]} if y["cents"] else y
        campaign.observe(ids[k], changed[ids[k]], revise=True)
    late = [
        k for k in ids if ids[k] not in ends and any(e.ref == ids[k] and e.kind == "expired" for e in campaign.events())
    ]
    for k in late[:4]:  # of decisions of the first policy, after the switch
        y = changed[ids[k]] = outcome(k, campaign.decisions().set_index("id").loc[ids[k], "action"])
        assert campaign.observe(ids[k], y)
    at_once = campaign.status()
    assert campaign.relearn()
    learned = campaign.status()
    for name, account in learned.accounts.items():
        assert (account.spent, account.held) == pytest.approx(
            (at_once.accounts[name].spent, at_once.accounts[name].held)
        )
    assert learned.averages == pytest.approx(at_once.averages)
    assert learned.prices != at_once.prices
    alike(replayed(campaign, OLD, new, on_expiry, changed), campaign._worker.fold.state)
    same_fold(campaign, Campaign.open(store, "shop", new))
    store._kept.clear()
    whole = Campaign.open(store, "shop", (OLD, new))
    same_fold(campaign, whole)
    campaign.decide({"age": 33}, key="after")
    whole.refresh()
    same_fold(campaign, whole)
    assert eh.live.audit(store, "shop", [OLD, new]).clean


def replayed(campaign, old, new, on_expiry, changed):
    """The state of a loop that carries out the decisions of a log, and learns the last outcomes at once."""
    from evenhand.live.log.packing import unpack

    loop = Loop(old, on_expiry)
    for event in campaign.events():
        body = read(event)
        if event.kind == "decided":
            context = loop.policy.encode(body["case"])
            decision = unpack(body, context, loop.policy, loop.state.t)
            loop.policy.enter(loop.state, context, decision)
            if decision.counted[0]:
                loop.open[event.seq] = decision
        elif event.kind == "switched":
            loop.adopt(new)
        elif event.kind == "observed":
            loop.observe(event.ref, changed.get(event.ref, body["y"]))
        elif event.kind == "cancelled":
            loop.cancel(event.ref)
        elif event.kind == "expired" and event.ref not in changed:
            loop.expire(event.ref)
    return loop.state


def test_corrections_wait_where_an_earlier_policy_is_not_known(monkeypatch):
    """Budgets are right at once; prices follow once a worker knows all policies."""
    monkeypatch.setattr(Worker, "every", 10**6)
    new = resolving(with_total(100.0))
    campaign, store, _, ids = lived(new)
    one = Campaign.open(store, "shop", new)
    ref = next(i for k, i in ids.items() if k % 3 and k < 20)
    spent = one.status().accounts["cents"].spent
    y = next(json.loads(e.body)["y"] for e in one.events() if e.ref == ref and e.kind == "observed")
    assert y["cents"] > 0
    one.observe(ref, y | {"cents": y["cents"] - 1.0}, revise=True)
    assert one.status().accounts["cents"].spent == pytest.approx(spent - 1.0)
    for i in range(20):
        one.cancel(one.decide({"age": 30}, key=f"more {i}").id)
    assert not [e for e in one.events() if e.kind == "refolded"]
    with pytest.raises(
        Conflict, match=r"policy 'resolving'.*which decides from event 1 on, was not given: open it with"
    ):
        one.relearn()
    one.decide({"age": 30}, key="still decides")
    assert campaign.relearn()  # it knows both
    one.decide({"age": 30}, key="and after it")  # from the snapshot before the mark
    same_fold(one, campaign_of(store, new))


def test_corrections_over_a_switch_to_a_policy_that_is_not_known_let_requests_pass():
    """Away to another policy and back: a worker that knows the first alone decides, and learns nothing."""
    problem = replace(with_total(900.0), horizon=2000)
    one, two = resolving(problem), resolving(replace(with_total(800.0), horizon=2000))  # which adopt
    store = MemoryStore()
    campaign = Campaign.open(store, "shop", one, seed=4)
    ids = {}
    while next(reversed(store._books["shop"].events)).seq < 262:
        i = len(ids)
        ids[i] = said = campaign.decide({"age": 20 + i % 40}, key=f"{i}")
        if said.action is not None:
            campaign.observe(said.id, outcome(i, said.action))
    campaign.switch(two)
    campaign.switch(one)
    fresh = Campaign.open(store, "shop", [one])
    early = next(said for k, said in ids.items() if said.action not in (None, "none"))
    assert fresh.observe(early.id, {"answer": 1.0, "cents": 0.5}, revise=True)
    with pytest.raises(Conflict, match="was not given: open it with"):
        fresh.relearn()
    for i in range(400):
        said = fresh.decide({"age": 20 + i % 40}, key=f"more {i}")
        if said.action is not None:
            fresh.observe(said.id, outcome(i, said.action))
    assert not [e for e in store.scan("shop") if e.kind == "refolded"]
    assert Campaign.open(store, "shop", [two, one]).relearn()


def campaign_of(store, new):
    store._kept.clear()
    return Campaign.open(store, "shop", (OLD, new))


def test_a_worker_that_knows_the_next_policy_goes_on_and_another_is_told():
    new, store = resolving(with_total(100.0)), MemoryStore()
    first = Campaign.open(store, "shop", OLD, seed=4)
    knows = Campaign.open(store, "shop", (new, OLD), seed=4)
    other = Campaign.open(store, "shop", OLD, seed=4)
    said = first.decide({"age": 30}, key="before")
    first.switch(new, by="Ada", why="more money")
    knows.observe(said.id, outcome(1, said.action))
    assert knows.policy.fingerprint() == new.fingerprint()
    same_fold(first_refreshed(first), knows)
    told = r"policy 'resolving' \(.*\), which decides from event 3 on, switched by Ada \(more money\), was not given"
    for _ in range(2):
        with pytest.raises(Conflict, match=told):
            other.decide({"age": 30}, key="after")


def first_refreshed(campaign):
    campaign.refresh()
    return campaign


def test_without_the_snapshot_the_missing_policy_is_named():
    new = resolving(with_total(100.0))
    _, store, *_ = lived(new)
    store._kept.clear()
    with pytest.raises(
        Conflict, match=rf"policy 'resolving' \({OLD.fingerprint()}\), .*was not given: open it with all"
    ):
        Campaign.open(store, "shop", new)
    Campaign.open(store, "shop", [OLD, new])
    with pytest.raises(Conflict, match=r"policy \w+ there, \w+ here, since event \d+: .*campaign\.switch\(policy\)$"):
        Campaign.open(store, "shop", [new, OLD])
    for wrong in ([], [OLD, 3], "policy"):
        with pytest.raises(
            InvalidInput, match=r"^policy: expected a Policy, or a list of them with the present one last"
        ):
            Campaign.open(store, "shop", wrong)


def test_a_policy_that_adopts_and_comes_back_is_audited(monkeypatch):
    monkeypatch.setattr(Worker, "every", 25)
    new, store = resolving(with_total(100.0)), MemoryStore()
    campaign = Campaign.open(store, "shop", OLD, seed=4)
    ids = []
    for i, policy in enumerate((new, OLD, pgd(SHOP), pgd(with_total(50.0)), OLD, new)):
        for k in range(10):
            said = campaign.decide({"age": 20 + (i + k) % 40}, key=f"{i} {k}")
            campaign.observe(said.id, outcome(k, said.action))
            ids.append((said.id, said.action))
        campaign.switch(policy)
        number, action = ids[3 * i]
        if action != "none":
            campaign.observe(number, outcome(k, action) | {"cents": 0.5}, revise=True)
    assert [json.loads(e.body)["adopts"] for e in campaign.events() if e.kind == "switched"] == [
        True,
        True,
        False,
        True,
        False,
        True,
    ]
    policies = [pgd(SHOP), pgd(with_total(50.0)), OLD, new]
    assert eh.live.audit(store, "shop", policies).clean
    same_fold(campaign, Campaign.open(store, "shop", policies))
    store._kept.clear()
    same_fold(campaign, Campaign.open(store, "shop", policies))
    found = eh.live.audit(store, "shop", [OLD, new])
    assert (found.clean, found.differing, found.unknown) == (False, 0, 20)
    last = campaign.decide({"age": 31}, key="last")
    assert "worth" in campaign.explain(last.id)
    assert "worth" in campaign.explain(ids[0][0])  # the same policy makes it again
    with pytest.raises(Conflict, match="which the campaign was switched from"):
        campaign.explain(ids[31][0])


def test_an_explanation_is_that_of_the_policy_that_decided():
    new, store = resolving(with_total(100.0)), MemoryStore()
    campaign = Campaign.open(store, "shop", OLD, seed=4)
    said = campaign.decide({"age": 30}, key="one")
    told = campaign.explain(said.id)
    campaign.switch(new)
    assert campaign.explain(said.id) == told
    with pytest.raises(Conflict, match="was not given"):
        Campaign.open(store, "shop", new).explain(said.id)


PLAIN = eh.Problem(
    actions=("none", "letter"),
    outcomes=(
        eh.Outcome("answer", free=("none",), fallback=0.0),
        eh.Outcome("cents", high=4.0, free=("none",), fallback=1.0),
    ),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=60),),
    horizon=200,
)


def tabular(problem):
    return eh.resolving(problem, eh.models.Tabular(arms=len(problem.actions), n_outcomes=2, confidence=0.5), warmup=4)


@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
def test_an_outcome_that_came_late_over_a_switch_that_it_cannot_wait_for(on_expiry):
    """A table per action cannot settle a decision from before an action came; budgets are right all the same."""
    old, new = tabular(PLAIN), tabular(replace(PLAIN, actions=(*PLAIN.actions, "visit")))
    clock = [0]
    store = MemoryStore(lambda: clock[0])
    campaign = Campaign.open(store, "shop", old, seed=4, patience=5, on_expiry=on_expiry)
    late = [campaign.decide({}, key=f"late {i}") for i in range(8)]
    clock[0] += 10_000_000
    for i in range(30):
        said = campaign.decide({}, key=f"{i}")
        campaign.observe(said.id, outcome(i, said.action))
    campaign.switch(new)
    (event,) = [json.loads(e.body) for e in campaign.events() if e.kind == "switched"]
    assert event["adopts"] is (on_expiry != "hold")
    one = next(said for said in late if said.action == "letter")
    campaign.observe(one.id, {"answer": 1.0, "cents": 3.0})
    campaign.observe(one.id, {"answer": 1.0, "cents": 2.0}, revise=True)
    spent = campaign.status().accounts["cents"]
    assert campaign.relearn()
    assert campaign.status().accounts["cents"] == spent
    assert not campaign.relearn()
    store._kept.clear()
    same_fold(campaign, Campaign.open(store, "shop", (old, new)))
    assert eh.live.audit(store, "shop", [old, new]).clean


def test_an_audit_counts_the_decisions_of_policies_that_it_was_not_given():
    """Without the first policy the state that the second one adopts is not known either."""
    new = resolving(with_total(100.0))
    _, store = lived_anew(OLD, new)
    for policies, unknown in (([OLD], 20), ([new], 40), ([OLD, new], 0)):
        found = eh.live.audit(store, "shop", policies)
        assert (found.differing, found.unknown, found.decisions) == (0, unknown, 40)


@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
def test_decisions_may_expire_at_a_switch_to_a_policy_of_another_model(on_expiry):
    clock, new = [0], eh.uniform(SHOP)
    store = MemoryStore(lambda: clock[0])
    campaign = Campaign.open(store, "shop", OLD, seed=4, patience=5, on_expiry=on_expiry)
    paid = sum(campaign.decide({"age": 30}, key=f"{i}").action != "none" for i in range(6))
    clock[0] += 10_000_000
    campaign.switch(new)
    assert [e.kind for e in campaign.events()][-7:] == [*["expired"] * 6, "switched"]
    cents = campaign.status().accounts["cents"]
    expected = {"hold": (0.0, 4.0 * paid), "fallback": (1.0 * paid, 0.0), "release": (0.0, 0.0)}[on_expiry]
    assert paid > 0
    assert (cents.spent, cents.held) == expected
    store._kept.clear()
    same_fold(campaign, Campaign.open(store, "shop", (OLD, new)))
