"""States saved under one hard budget and loaded under another: what was used counts, and the new total is kept."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import StateMismatch
from evenhand.goals import HardBudget
from evenhand.policy.saving import flatten
from tests.problems import pose
from tests.rows import for_each

DEAR = 10.0  # the most that a letter or a call may cost
CHANCES = {"none": 0.02, "letter": 0.5, "call": 0.8, "refund": 0.02}  # of an answer
FEES = {"none": 0.0, "letter": 1.0, "call": 2.0, "refund": -1.0}
POLICIES = {
    "uniform": lambda p: eh.uniform(p, len(FEES)),
    "resolving": lambda p: eh.resolving(p, eh.PerAction.of(p)),
    "pgd": lambda p: eh.pgd(p, eh.PerAction.of(p), hard=True, step=0.02, margin=0.0, warmup=5),
    "lin_cbwk": lambda p: eh.recipes.lin_cbwk(p, eh.PerAction.of(p)),
    "two_stage": lambda p: eh.recipes.two_stage_square_cbwk(
        p, eh.PerAction.of(p), rate=9.0, explore=1, radius=0.01, step=0.2
    ),
}


def shop(cents, fees):
    """Letters and calls cost up to 10 cents, known later, and a fee at once, of which a refund gives 1 back."""
    return pose(
        "answer",
        eh.Outcome("cents", high=DEAR, free=("none", "refund")),
        eh.Outcome("fee", known=FEES),
        actions=FEES,
        subject_to=(eh.Budget("cents", total=cents), eh.Budget("fee", total=fees)),
        horizon=400,
    )


class Ledger:
    """What was used, by hand: outcomes that came, known fees, and the worst case of what waits."""

    def __init__(self, seed):
        self.rng, self.waiting = np.random.default_rng(seed), []
        self.used, self.held = np.zeros(2), np.zeros(2)

    def drive(self, policy, state, rounds):
        """Decide, and let outcomes come late, or never, or be cancelled; every play has to fit what is left."""
        total = np.array([c.total for c in policy.problem.subject_to])
        for _ in range(rounds):
            context = policy.encode({}) if policy.name != "uniform" else indicators()
            decision = policy.decide(state, context)
            action = policy.problem.actions[decision.plays[0, 0]] if decision.plays[0, 0] >= 0 else "none"
            worst = np.array([DEAR * (action in ("letter", "call")), max(FEES[action], 0.0)])
            assert (worst <= np.maximum(total - self.used - self.held, 0.0) + 1e-6).all()
            policy.commit(state, context, decision)
            self.held += worst
            self.waiting.append((decision, action, worst))
            while self.waiting and self.rng.random() < 0.45:
                self.settle(policy, state, self.waiting.pop(int(self.rng.integers(len(self.waiting)))))

    def settle(self, policy, state, waits):
        decision, action, worst = waits
        self.held -= worst
        if self.rng.random() < 0.2:
            policy.cancel(state, decision)
            return
        cents = 0.0 if worst[0] == 0.0 else float(self.rng.uniform(0, DEAR))
        policy.learn(state, decision, np.array([[[float(self.rng.random() < CHANCES[action]), cents]]]))
        self.used += (cents, FEES[action])

    def check(self, policy, state):
        """The books of a policy are these; known fees are not held, but spent at once."""
        accounts = list(policy.status(state).accounts.values())
        np.testing.assert_allclose([a.spent for a in accounts], [self.used[0], self.used[1] + self.held[1]], atol=1e-9)
        np.testing.assert_allclose([a.held for a in accounts], [self.held[0], 0.0], atol=1e-9)
        left = [c.total for c in policy.problem.subject_to] - self.used - self.held
        np.testing.assert_allclose([a.left for a in accounts], left, atol=1e-9)


def differing(before, after):
    """The settings in which two policies differ, as a refusal names them."""
    one, other = before._mark.settings, after._mark.settings
    return tuple(n for n in {**one, **other} if one.get(n) != other.get(n))


def indicators():
    n = len(FEES)
    return eh.Context(np.eye(n)[None], shop(1e3, 1e3).declared[None], np.zeros((1, 1, 0), int), np.ones((1, n), bool))


@pytest.mark.parametrize("name", POLICIES)
@for_each(("cents", "fees"), [(120.0, 40.0), (2000.0, 400.0), (900.0, 20.0), (40.0, 8.0)])
def test_a_loaded_state_never_exceeds_the_total_of_its_policy(name, cents, fees, tmp_path):
    """Saved under 700 cents and fees of 90 after 150 rounds, and continued under less or more of either."""
    before, after = POLICIES[name](shop(700.0, 90.0)), POLICIES[name](shop(cents, fees))
    ledger, state = Ledger(3), before.start(seed=1)
    ledger.drive(before, state, 150)
    assert ledger.held[0] > 0  # some of it waits
    before.save(state, tmp_path / "state.npz")
    with pytest.raises(StateMismatch, match=r"subject_to\.0\.total was 700\.0, is "):
        after.load(tmp_path / "state.npz")
    loaded = after.load(tmp_path / "state.npz", allow=differing(before, after))
    ledger.check(after, loaded)
    most = np.maximum(ledger.used + ledger.held, [cents, fees])
    ledger.drive(after, loaded, 250)
    ledger.check(after, loaded)
    assert (ledger.used + ledger.held <= most + 1e-6).all()
    for waits in ledger.waiting:
        ledger.settle(after, loaded, waits)
    ledger.check(after, loaded)
    assert (ledger.used <= most + 1e-6).all()


def test_what_was_overspent_before_leaves_only_what_is_free(tmp_path):
    before, after = (eh.uniform(shop(total, 400.0), len(FEES)) for total in (900.0, 30.0))
    ledger, state = Ledger(5), before.start(seed=2)
    ledger.drive(before, state, 200)
    for waits in ledger.waiting:
        ledger.settle(before, state, waits)
    assert ledger.used[0] > 100.0
    before.save(state, tmp_path / "state.npz")
    loaded, context = after.load(tmp_path / "state.npz", allow=differing(before, after)), indicators()
    assert after.status(loaded).accounts["cents"].left == pytest.approx(30.0 - ledger.used[0])
    played = {int(after.act(loaded, context).plays[0, 0]) for _ in range(60)}
    assert played == {0, 3}  # nothing and refunds


def test_a_state_that_kept_what_was_left_is_refused(tmp_path):
    """Such a file has an array of what was left in the place of what was used."""
    policy = eh.uniform(shop(700.0, 90.0), len(FEES))
    policy.save(policy.start(), tmp_path / "state.npz")
    with np.load(tmp_path / "state.npz") as file:
        arrays = {name: file[name] for name in file.files}
    (used,) = [name for name in arrays if name.endswith(".taken")]
    arrays[used.replace("taken", "books")] = arrays.pop(used)
    np.savez(tmp_path / "old.npz", **arrays)
    with pytest.raises(StateMismatch, match=r"the saved state lacks \.goals\.1\.taken"):
        policy.load(tmp_path / "old.npz")


def test_a_state_has_nothing_of_the_total_but_what_its_policy_states():
    """So there is nothing in a file that another total could contradict."""
    goals = [next(g for g in eh.uniform(shop(b, 90.0), len(FEES)).goals if isinstance(g, HardBudget)) for b in (50, 60)]
    one, other = (dict(flatten(replace(goal.start(2), total=None))) for goal in goals)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])
