"""Switches after an erasure: appended actions, and policies of other parts that go on with the books."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.live.switches import switches
from tests.live.schedules import same_fold

SHOP = eh.Problem(
    actions=("none", "letter", "call"),
    features=(eh.Numeric("age", 20, 80),),
    groups=(eh.Groups("zone", ("town", "farm")),),
    outcomes=(
        eh.Outcome("answer", free=("none",), fallback=0.0),
        eh.Outcome("cents", high=4.0, free=("none",), fallback=2.0),
        eh.Outcome("calls", known={"call": 1}),
    ),
    maximize="answer",
    subject_to=(
        eh.Budget("cents", total=70, hard=True),
        eh.Budget("calls", total=30, hard=True),
        eh.Parity("calls", by="zone", tolerance=0.3),
    ),
    horizon=150,
)


def grown(problem):
    """A problem with an action more."""
    name = f"visit {len(problem.actions)}"
    calls = dict.fromkeys(problem.actions[2:], 1.0) | {name: 1.0}
    return replace(
        problem,
        actions=(*problem.actions, name),
        outcomes=(*problem.outcomes[:2], eh.Outcome("calls", known=calls)),
    )


def blocked(problem):
    n = problem.n_features * len(problem.actions)
    parts = eh.BayesianLogistic(n_features=n), eh.BayesianRidge(n_features=n)
    return eh.resolving(problem, eh.Stacked(parts), warmup=4, name="blocks")


MAKERS = {
    "resolving": lambda p: eh.resolving(p, eh.PerAction.of(p), warmup=4),
    "blocks": blocked,
    "pgd": lambda p: eh.pgd(p, eh.PerAction.of(p), warmup=4, hard=True),
    "lyapunov": lambda p: eh.lyapunov(p, eh.PerAction.of(p), hard=True),
    "ridge": lambda p: eh.resolving(p, eh.PerAction.of(p, eh.Ridge), warmup=4, name="ridge"),
    "without parity": lambda p: eh.resolving(replace(p, subject_to=p.subject_to[:2]), eh.PerAction.of(p), name="plain"),
}


class World:
    """A campaign in which everything happens, by chance; what was spent is added up apart."""

    def __init__(self, seed, store, maker="blocks"):
        self.rng, self.clock, self.maker = np.random.default_rng(seed), [10**15], maker
        self.store = MemoryStore(lambda: self.clock[0]) if store is None else store
        self.problem, self.n, self.waits, self.done, self.books = SHOP, 0, {}, {}, 0
        self.policies = [MAKERS[maker](SHOP)]
        self.on_expiry = ("hold", "fallback", "release")[seed % 3]
        self.campaign = Campaign.open(self.store, "shop", self.policies[-1], seed=seed, on_expiry=self.on_expiry)

    def decide(self):
        case = {"age": float(self.rng.integers(20, 80)), "zone": ("town", "farm")[self.n % 3 == 0]}
        said = self.campaign.decide(case, key=f"{self.n}")
        self.n += 1
        if said.action is not None:
            self.waits[f"{self.n - 1}"] = said

    def outcome(self, said):
        paid = said.action != "none"
        return {"answer": float(paid and self.rng.random() < 0.5), "cents": float(self.rng.integers(0, 5)) * paid}

    def observe(self):
        for key in list(self.waits)[: 1 + self.n % 3]:
            said = self.waits.pop(key)
            if self.rng.random() < 0.1:
                self.campaign.cancel(said.id)
            else:
                self.done[key] = said, (y := self.outcome(said))
                self.campaign.observe(said.id, y)

    def revise(self):
        key = str(self.rng.choice(list(self.done) or [""]))
        if key and self.done[key][1] is not None:
            said, y = self.done[key][0], self.outcome(self.done[key][0])
            y["cents"] = min(y["cents"], self.done[key][1]["cents"])  # an upward one may exceed a budget
            self.campaign.observe(said.id, y, revise=True)
            self.done[key] = said, y
            if self.rng.random() < 0.3:
                self.campaign.relearn()

    def pause(self):
        self.campaign.pause(by="a", why="b")
        with pytest.raises(eh.live.Paused):
            self.campaign.decide({"age": 30.0, "zone": "town"}, key="paused")
        self.campaign.resume(by="a", why="b")

    def erase(self):
        keys = [k for k, (_, y) in self.done.items() if y is not None]
        some = [str(k) for k in self.rng.choice(keys, min(len(keys), 4), replace=False)] if keys else []
        if some:
            before = sums(self.campaign)
            self.campaign.erase(some, by="a", why="b")
            assert sums(self.campaign) == before
            self.done |= {k: (self.done[k][0], None) for k in some}

    def switch(self, maker=None):
        """To an appended action, or to another policy."""
        if maker is None and self.rng.random() < 0.4 and len(self.problem.actions) < 6:
            self.problem = grown(self.problem)
        else:
            self.maker = maker or str(self.rng.choice(list(MAKERS)))
        new = MAKERS[self.maker](self.problem)
        if new.fingerprint() in [p.fingerprint() for p in self.policies]:
            return
        before = sums(self.campaign)
        self.campaign.switch(new, by="a", why="b")
        self.policies.append(new)
        adopts = switches(self.store, "shop")[-1].adopts
        self.books += adopts == "books"
        if adopts:
            after = sums(self.campaign)
            assert all(after[2][name] == before[2][name] for name in after[2])
            assert (after[:2], after[3:]) == (before[:2], before[3:])

    def check(self):
        cents = sum(y["cents"] for _, y in self.done.values() if y is not None)
        accounts = self.campaign.status().accounts
        for name, account in accounts.items():
            assert account.spent + account.held <= account.total + 1e-9, name
        assert cents <= accounts["cents"].spent + 1e-9


def sums(campaign):
    """What a switch must not change: the table of outcomes, what is spent and held, and what waits."""
    status, state = campaign.status(), campaign._worker.fold.state
    accounts = {name: (z.spent, z.held) for name, z in status.accounts.items()}
    return state.books.tolist(), state.t.tolist(), accounts, str(status.averages), status.waiting


def live(world, steps=110):
    chances = {"decide": 0.5, "observe": 0.32, "revise": 0.06, "pause": 0.02, "erase": 0.05, "switch": 0.05}
    for verb in world.rng.choice(list(chances), steps, p=list(chances.values())):
        world.clock[0] += 10**6
        getattr(world, verb)()
        world.check()
    return world


def same_everywhere(world):
    """A restart has the same bits, with the snapshots and without, and the audit makes every decision again."""
    same_fold(world.campaign, Campaign.open(world.store, "shop", world.policies))
    if isinstance(world.store, MemoryStore):
        world.store._kept.clear()
        same_fold(world.campaign, Campaign.open(world.store, "shop", world.policies))
    found = eh.live.audit(world.store, "shop", world.policies)
    assert found.clean, f"{found}"
    assert found.largest == 0.0


@pytest.mark.parametrize("seed", range(12))
def test_budgets_hold_and_books_stay_whatever_happens(seed):
    same_everywhere(live(World(seed, None)))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_budgets_hold_and_books_stay_in_other_stores(kind, tmp_path, request):
    url = f"sqlite:///{tmp_path}/log.db" if kind == "sqlite" else request.getfixturevalue("url")
    world = World(2, connect(url))
    for _ in range(30):
        world.decide()
    world.observe()
    world.erase()
    world.switch("lyapunov")
    assert world.books == 1
    same_everywhere(live(world, 40))
