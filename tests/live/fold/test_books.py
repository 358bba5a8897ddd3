"""Switches after an erasure: appended actions, and policies of other parts that go on with the books."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.live import Campaign, Conflict
from evenhand.live.fold.phases import switches
from evenhand.live.http import app
from evenhand.live.log.events import read
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.policy.saving import flatten
from tests.live.campaigns.test_files import STATED
from tests.live.campaigns.test_switches_of_files import SAID, SIGNED, TOKEN, lived, write
from tests.live.http_campaign import serving
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
            for _ in range(1 + self.n % 2):
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


def begun(maker, rounds=40):
    """A campaign of which some were erased, and some wait."""
    world = World(5, None, maker)
    for _ in range(rounds):
        world.decide()
        if world.n % 4:
            world.observe()
    world.erase()
    return world


def test_the_model_is_that_of_the_decisions_that_are_left():
    """Ridge regression in closed form, action by action; a corrected outcome counts as corrected."""
    world = begun("resolving")
    for _ in range(20):
        world.revise()
    assert list(world.store.scan("shop", kinds=("revised",)))
    world.switch("ridge")
    theta = dict(flatten(world.campaign._worker.fold.state.model))[".theta"]
    for a, action in enumerate(SHOP.actions):
        some = [(said, y) for said, y in world.done.values() if y is not None and said.action == action]
        bodies = [read(next(iter(world.store.about("shop", said.id)))) for said, _ in some]
        contexts = [world.campaign.encoder.context(body["case"], None, None) for body in bodies]
        x = np.array([context.features[0, a, 1:] for context in contexts]).reshape(-1, 2)
        y = np.array([[one["answer"], one["cents"]] for _, one in some]).reshape(-1, 2)
        np.testing.assert_allclose(theta[a], np.linalg.solve(np.eye(2) + x.T @ x, x.T @ y).T, atol=1e-9)
    (one,) = switches(world.store, "shop")
    gone = sum(y is None for _, y in world.done.values())
    assert (one.adopts, one.unlearned) == ("books", gone)
    assert f"adopted the books, and learned again, but not from {gone} decisions" in str(one)
    same_everywhere(world)


def test_a_budget_that_begins_counts_what_was_spent_and_what_waits():
    world = World(5, None)
    plain = replace(SHOP, subject_to=SHOP.subject_to[1:2])
    world.policies = [MAKERS["pgd"](plain)]
    world.campaign = Campaign.open(world.store, "plain", world.policies[0], on_expiry="hold")
    for _ in range(40):
        world.decide()
        if world.n % 4:
            world.observe()
    world.erase()
    paid = sum(said.action != "none" for said in world.waits.values())
    assert paid, "some wait that may cost something"
    world.campaign.switch(MAKERS["resolving"](SHOP))
    account = world.campaign.status().accounts["cents"]
    assert account.held == 4.0 * paid
    observed = [read(e)["y"]["cents"] for e in world.store.scan("plain", kinds=("observed",))]
    assert account.spent == sum(observed)
    for said in world.waits.values():
        world.campaign.observe(said.id, {"answer": 0.0, "cents": 1.0 * (said.action != "none")})
    after = world.campaign.status().accounts["cents"]
    assert (after.spent, after.held) == (account.spent + paid, 0.0)
    assert eh.live.audit(world.store, "plain", [world.policies[0], world.campaign.policy]).clean


def test_a_budget_that_stays_beside_one_that_ends_keeps_what_it_holds_for_good():
    """Where an outcome was not observed, the worst case of the play stays held, which is nothing where it was free."""
    world = begun("pgd", rounds=12)
    for _ in range(8):
        world.decide()
    case = {"age": 30.0, "zone": "town"}
    free = world.campaign.decide(case, key="free", offered=("none",))
    world.campaign.observe(free.id, {"answer": 0.0, "cents": None})
    for said in list(world.waits.values())[:-1]:
        world.campaign.observe(said.id, {"answer": 0.0, "cents": None})
    before = world.campaign.status().accounts["cents"]
    assert before.held > 0.0
    alone = replace(SHOP, subject_to=SHOP.subject_to[:1])
    world.campaign.switch(MAKERS["resolving"](alone))
    after = world.campaign.status().accounts
    assert (after["cents"].spent, after["cents"].held) == (before.spent, before.held)
    assert set(after) == {"cents"}


def test_corrections_after_the_switch_are_in_budgets_at_once_and_learned_in_their_places():
    world = begun("resolving", rounds=12)
    for _ in range(14):
        world.decide()
        world.observe()
    at = world.campaign._worker.fold.seq
    world.switch("ridge")
    said, y = next(z for z in world.done.values() if z[1] is not None and z[1]["cents"] > 1)
    before = world.campaign.status().accounts["cents"].spent
    world.campaign.observe(said.id, {**y, "cents": y["cents"] - 1}, revise=True)
    assert world.campaign.status().accounts["cents"].spent == before - 1
    for _ in range(14):
        world.decide()
        world.observe()
    after = world.campaign._worker.fold.erased
    own = [said for said, y in world.done.values() if y is not None and said.id > after and said.action != "none"]
    between, late = (next(said for said in own if (said.id > at) is later) for later in (False, True))
    before = dict(flatten(world.campaign._worker.fold.state.model))[".theta"].copy()
    for one in (between, late):
        world.campaign.observe(one.id, {"answer": 0.125, "cents": 0.0}, revise=True)
    assert world.campaign.relearn()
    assert (dict(flatten(world.campaign._worker.fold.state.model))[".theta"] != before).any()
    same_everywhere(world)


def test_another_worker_takes_what_was_learned_from_the_snapshot(monkeypatch):
    world = begun("resolving")
    world.campaign.refresh()
    other = Campaign.open(world.store, "shop", [*world.policies, MAKERS["ridge"](SHOP)][:1])
    other._worker.folding.phases.give(type(other._worker.fold.phase)(MAKERS["ridge"](SHOP), other.encoder))
    world.switch("ridge")
    monkeypatch.setattr("evenhand.live.fold.loader.lessons", lambda *_: pytest.fail("it learned again"))
    other.refresh()
    same_fold(world.campaign, other)


def test_what_waits_and_does_not_fit_the_policy_is_named():
    world = begun("resolving")
    fewer = replace(SHOP, features=(eh.Categorical("town", ("x", "y")),))
    before = list(world.campaign.events())
    with pytest.raises(Conflict, match=r"decision \d+ waits for its outcome .*does not fit the policy: age"):
        world.campaign.switch(eh.resolving(fewer, eh.PerAction.of(fewer)))
    assert list(world.campaign.events()) == before
    world.decide()
    same_everywhere(world)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"groups": (eh.Groups("zone", ("town", "farm", "sea")),)}, "problem.columns"),
        ({"outcomes": (SHOP.outcomes[0], eh.Outcome("cents", high=5.0), SHOP.outcomes[2])}, "problem.outcomes"),
        ({"subject_to": (eh.Budget("calls", total=9, hard=True, per=30),)}, "subject_to, until, traffic"),
    ],
)
def test_books_of_other_sums_are_refused_by_name(change, field):
    world = begun("pgd")
    other = replace(SHOP, **change)
    with pytest.raises(Conflict, match=f"nor its books: adopt: .*{field}"):
        world.campaign.switch(eh.resolving(other, eh.PerAction.of(other)))


def test_a_problem_file_with_an_action_more_and_one_of_another_recipe(tmp_path, capsys):
    """By the command, over HTTP, and by a server that goes on; the report and the page say how."""
    file, url = write(tmp_path, STATED), f"sqlite:///{tmp_path}/post.db"
    campaign = eh.live.open_campaign(url, "post", file)
    lived(campaign, 30)
    late = campaign.decide({"age": 33, "town": "south"}, key="late")
    assert main(["erase", url, "--key", "3", "--key", "4", "--by", "a", "--why", "b"]) == 0
    assert "learn again from the decisions that are left" in capsys.readouterr().err
    x = campaign.encoder.context({"age": 44, "town": "north"}, None, None).features
    w, none = np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    campaign.refresh()
    said = campaign.policy.model.value(campaign._worker.fold.state.model, x, w, none).mean
    more = STATED.replace('"B" = "b"', '"B" = "b", "C" = "c"').replace("b = 1", "b = 1, c = 1")
    assert main(["switch", url, str(write(tmp_path, more)), *SAID]) == 0
    assert "it adopted the state" in capsys.readouterr().out
    campaign.observe(late.id, {"visit": 0.0})  # which reads of the switch first
    assert campaign.policy.problem.actions == ("none", "a", "b", "c")
    fold = campaign._worker.fold
    now = fold.encoder.context({"age": 44, "town": "north"}, None, None).features
    before = campaign._worker.fold_before(fold.seq)  # the late outcome
    np.testing.assert_array_equal(fold.policy.model.value(before.state.model, now, w, none).mean[..., :3], said)
    other = more.replace("[policy]", '[policy]\nname = "resolving"').replace("step = 0.01\n", "")
    with serving(app(campaign, token=TOKEN)) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        told = client.post("/switch", json={"problem": other, **SIGNED}).json()
        assert (told["adopts"], told["unlearned"], told["new"]) == ("books", 2, True)
        assert told["because"]
        assert client.get("/report").json()["switches"][-1]["unlearned"] == 2
    campaign.save_report(tmp_path / "page.html")
    assert "the books, and learned again, but not from 2 decisions" in (tmp_path / "page.html").read_text()
    lived(campaign, 20, 100)
    same_fold(campaign, eh.live.open_campaign(url, "post", None))
    assert main(["audit", url]) == 0
    out = capsys.readouterr().out
    assert "it adopted the books" in out
    assert "every decision that was recomputed is as it was stored" in out
