"""Decisions keep the known amounts that they were made with, whatever later policies declare: a ledger of sums."""

from contextlib import suppress
from functools import partial
from random import Random
from types import SimpleNamespace

import pytest

import evenhand as eh
from evenhand.live import Campaign, Conflict, Place
from evenhand.live.campaigns.commands import policies
from evenhand.live.dashboard.tally import Tally
from evenhand.live.fold import first_event, switch
from evenhand.live.fold.phases import BOOKS, switches
from evenhand.live.stores.memory import MemoryStore
from tests.live.schedules import same_fold

pytestmark = pytest.mark.filterwarnings("ignore:budget")
PAID = "letter", "call"
WORST, PATIENCE = 4.0, 20


def policy(fees, prices, dollars=60.0, high=WORST, recipe=eh.pgd, fallback=1.0):
    outcomes = (
        eh.Outcome("answer", free=("none",), fallback=0.0),
        eh.Outcome("dollars", high=high, free=("none",), fallback=fallback, times="price"),
        *(eh.Outcome(name, known=dict(zip(PAID, z, strict=True))) for name, z in (("price", prices), ("fee", fees))),
    )
    totals = eh.Budget("dollars", total=dollars, hard=True), eh.Budget("fee", total=25.0, hard=True)
    problem = eh.Problem(actions=("none", *PAID), outcomes=outcomes, maximize="answer", subject_to=totals, horizon=400)
    return recipe(problem, eh.PerAction.of(problem), warmup=4)


class Life:
    """A campaign and the ledger of what was really spent."""

    def __init__(self, seed, on_expiry, recipe, folder):
        self.folder, self.random, self.on_expiry, self.recipe, self.now = folder, Random(seed), on_expiry, recipe, 0
        self.store = MemoryStore(lambda: self.now * 10**6)
        self.fees, self.prices, self.dollars, self.refused = (0.5, 0.9), (1.0, 1.5), 60.0, ()
        self.fallback = 1.0
        self.policies, self.lines = [policy(self.fees, self.prices, recipe=recipe)], {}
        self.open()

    def open(self):
        self.campaign = Campaign.open(self.store, "post", self.policies, patience=PATIENCE, on_expiry=self.on_expiry)

    def decide(self):
        fees, known = dict(zip(PAID, self.fees, strict=True)), None
        if self.random.random() < 0.2:
            known = {"fee": {"call": self.random.choice([0.25, 1.0])}}
            fees |= known["fee"]
        said = self.campaign.decide({}, f"{len(self.lines)} {self.now}", known=known)
        if said.action is not None:
            price = dict(zip(PAID, self.prices, strict=True)).get(said.action, 0.0)
            self.lines[said.id] = line = SimpleNamespace(price=price, due=self.now + PATIENCE, state="waits")
            line.paid, line.fee = said.action in PAID, fees.get(said.action, 0.0)
            spent, held, fee = self.sums()
            assert fee <= 25.0 + 1e-9
            assert spent + held <= self.dollars + 1e-9 or said.action == "none"

    def some(self, *states):
        found = [ref for ref, line in self.lines.items() if line.state in states]
        return [self.random.choice(found)] if found else []

    def observe(self, *states):
        for ref in self.some(*states):
            line = self.lines[ref]
            dollars = float(self.random.randint(0, 4) * line.paid)
            with suppress(*self.refused):
                self.campaign.observe(ref, {"answer": float(dollars > 1), "dollars": dollars}, revise=True)
                line.state, line.dollars = "observed", dollars

    def cancel(self):
        for ref in self.some("waits"):
            self.campaign.cancel(ref)
            self.lines[ref].state = "cancelled"

    def wait(self):
        self.now += self.random.randint(1, 4)
        for line in self.lines.values():
            if line.state == "waits" and line.due <= self.now:
                line.state, line.dollars = self.on_expiry, self.fallback * line.paid

    def switch(self):
        draw = self.random.random()
        if draw < 0.3 and self.on_expiry == "fallback" and self.campaign._worker.fold.is_whole:
            self.fallback = self.random.choice([0.0, 0.5, 3.0])
        elif draw < 0.6:
            self.dollars = self.random.choice([50.0, 60.0, 70.0])
        else:
            scale = self.random.choice([0.2, 0.5, 2.0])
            self.fees = tuple(min(max(z * scale, 0.05), 1.5) for z in self.fees)
            self.prices = tuple(self.random.choice([0.5, 1.0, 2.0]) for _ in PAID)
        stated = self.fees, self.prices, self.dollars
        self.policies.append(policy(*stated, recipe=self.recipe, fallback=self.fallback))
        self.campaign.switch(self.policies[-1])

    def erase(self):
        for ref in self.some("observed", "cancelled"):
            self.campaign.erase(keys=[next(e.key for e in self.campaign.events() if e.seq == ref)])
            self.lines[ref].state += ", erased"

    def seal(self):
        self.campaign.seal(self.folder, by="ada", why="size", before=max(self.campaign.head().seq - 20, 2))
        self.refused = (Conflict,)  # a correction of what is in the segment

    def restart(self):
        self.campaign.snapshot()
        self.campaign.relearn()
        if self.random.random() < 0.5:
            self.store._kept.clear()
        self.open()

    def sums(self):
        """What is spent and held of the dollars, and spent of the fees."""
        lines = self.lines.values()
        spent = sum(z.price * z.dollars for z in lines if z.state.startswith(("observed", "fallback")))
        held = sum(WORST * z.price for z in lines if z.state in ("waits", "hold"))
        return spent, held, sum(z.fee for z in lines if not z.state.startswith(("cancelled", "release")))

    def check(self):
        accounts = self.campaign.status().accounts
        got = accounts["dollars"].spent, accounts["dollars"].held, accounts["fee"].spent
        assert got == pytest.approx(self.sums(), abs=1e-9)


def lived(seed, folder, on_expiry="hold", also="restart", recipe=eh.pgd, steps=200):
    life = Life(seed, on_expiry, recipe, folder)
    verbs = [life.decide] * 12 + [lambda: life.observe("waits")] * 6 + [life.wait] * 3 + [life.cancel, life.restart]
    verbs += [lambda: life.observe("observed", on_expiry), life.switch, life.switch, getattr(life, also)]
    for _ in range(steps):
        life.random.choice(verbs)()
        life.check()
    life.store._kept.clear()
    before, tally = life.campaign, Tally(life.campaign)
    life.open()
    same_fold(before, life.campaign)
    tally.update()
    assert (tally.spent("dollars")[-1], tally.spent("fee")[-1]) == pytest.approx(life.sums()[::2])
    assert eh.live.audit(Place(life.store, folder), "post", life.policies).clean
    return life


KINDS = ("hold", "restart", False), ("fallback", "erase", BOOKS), ("release", "seal", BOOKS)


@pytest.mark.parametrize(("on_expiry", "also", "how"), KINDS)
def test_budgets_count_the_amounts_of_each_decision_whatever_later_policies_declare(on_expiry, also, how, tmp_path):
    life = lived(2, tmp_path, on_expiry, also, steps=55)
    assert how in {z.adopts for z in switches(life.store, "post")}


def test_a_late_outcome_replaces_the_fallback_of_the_policy_that_ran_when_its_decision_expired(tmp_path):
    life = Life(1, "fallback", eh.pgd, tmp_path)
    for _ in range(12):
        life.decide()
    for life.fallback in (3.0, 0.5):  # a switch enters what expired before it
        life.now += PATIENCE
        life.policies.append(policy(life.fees, life.prices, fallback=life.fallback))
        life.campaign.switch(life.policies[-1])
    n, tally = sum(line.paid * line.price for line in life.lines.values()), Tally(life.campaign)
    tally.update()
    assert life.campaign.status().accounts["dollars"].spent == pytest.approx(n) == tally.spent("dollars")[-1]
    for ref, line in life.lines.items():
        life.campaign.observe(ref, {"answer": 0, "dollars": 2.0 * line.paid})
    assert life.campaign.status().accounts["dollars"].spent == pytest.approx(2.0 * n)
    assert eh.live.audit(life.store, "post", life.policies).clean


FILE = """\
maximize = "visit"
horizon = 300
features = {}
action.values = ["none", "a", "b"]
policy.name = "uniform"
budget = [{ outcome = "cents", total = 50 }]
outcomes.visit.range = [0, 1]
outcomes.cents = { known = { a = 1, b = 2 }, column = { b = "postage" } }
"""


@pytest.mark.parametrize("old", [False, True])
def test_a_file_with_another_amount_counts_it_from_then_on_in_logs_of_earlier_versions_too(old, monkeypatch, tmp_path):
    """Those do not state declared amounts beside the problem file."""
    for module in (first_event, switch) if old else ():
        monkeypatch.setattr(module, "stated", lambda policy: {})
    store, file, spent = MemoryStore(), tmp_path / "post.toml", 0.0
    for amount in (1, 0.25, 3):
        file.write_text(FILE.replace("a = 1", f"a = {amount}"))
        step = eh.live.open_campaign if amount == 1 else partial(eh.live.switch_campaign, by="ada", why="fees")
        campaign = step(store, "post", file)
        assert campaign.status().accounts["cents"].spent == pytest.approx(spent)
        for i in range(10):
            said = campaign.decide({"postage": 0.5}, key=f"{amount} {i}")
            spent += {"none": 0.0, "a": amount, "b": 0.5}[said.action]
    assert eh.live.open_campaign(store, "post", None).status().accounts["cents"].spent == pytest.approx(spent)
    each = policies(store, "post")
    assert eh.live.audit(store, "post", [z.policy for z in each], encoders=[z.coded for z in each]).clean


def test_ranges_are_not_narrower_while_a_budget_holds_what_decisions_may_use_by_wider_ones():
    campaign = Campaign.open(MemoryStore(), "post", policy((1, 1), (1, 1)), patience=1e6, on_expiry="release")
    said = [campaign.decide({}, key=f"{i}") for i in range(8)]
    less = policy((1, 1), (1, 1), high=2.0)
    with pytest.raises(Conflict, match="budget 'dollars' holds what waiting decisions may use by wider ranges"):
        campaign.switch(less)
    for one in said:
        campaign.observe(one.id, {"answer": 0, "dollars": 3.0 * (one.action != "none")})
    with pytest.raises(Conflict, match=r"does not allow what the log has: event \d+: outcome 'dollars'.*, got 3"):
        campaign.switch(less)
    for one in said:
        campaign.observe(one.id, {"answer": 0, "dollars": float(one.action != "none")}, revise=True)
    campaign.switch(less)
    assert campaign.status().accounts["dollars"].spent == sum(one.action != "none" for one in said)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(9))
def test_long_lives_count_the_amounts_of_each_decision(seed, tmp_path):
    lived(seed, tmp_path, KINDS[seed % 3][0], KINDS[seed // 3][1], eh.resolving if seed % 2 else eh.pgd)
