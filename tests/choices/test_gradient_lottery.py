import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.choices import GradientLottery, Staged, TopK
from evenhand.core.errors import InvalidInput
from evenhand.environments import MultiObjective
from evenhand.models import Fixed, Ridge
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear
from evenhand.recipes import molincb
from tests.choices import plain

NAMES = ("a", "b", "c")
GINI = GeneralizedGini(NAMES)


def lottery(choice, worth, playable=None, state=None, t=0.0):
    """The chances of one replica."""
    playable = np.ones((1, worth.shape[1]), bool) if playable is None else playable[None]
    state = choice.start(1) if state is None else state
    pick = choice.pick(state, plain.worth(worth[None]), plain.offer(playable), np.full(1, t), np.full((1, 1), 0.5))
    return pick.lottery[0]


def nearest(p, playable):
    """The nearest lottery, by cvxpy."""
    q = cp.Variable(len(p), nonneg=True)
    cp.Problem(cp.Minimize(cp.sum_squares(q - p)), [cp.sum(q) == 1, q[np.flatnonzero(~playable)] == 0]).solve(
        solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    return q.value


@given(st.integers(0, 10**6))
def test_one_step_is_a_projected_gradient_step(seed):
    rng = np.random.default_rng(seed)
    worth, playable = rng.normal(size=(3, 6)), rng.random(6) < 0.7
    playable[rng.integers(6)] = True
    choice = GradientLottery(GINI, candidates=6, scale=rng.choice([0.1, 3.0]))
    state, t = choice.start(1), float(rng.integers(50))
    state.chances[0] = rng.dirichlet(np.ones(6))
    start = nearest(state.chances[0], playable)
    step = start + choice.scale / np.sqrt(t + 1) * worth.T @ GINI.supergradient(worth @ start)
    assert lottery(choice, worth, playable, state, t) == pytest.approx(nearest(step, playable), abs=1e-6)


@pytest.mark.parametrize("objective", [GINI, AlphaFair(NAMES, alpha=1.0, offset=0.1), Linear(dict.fromkeys(NAMES, 1))])
def test_rounds_of_the_same_case_lead_to_the_best_lottery(objective):
    """Values within 1 % of what cvxpy finds after 3,000 rounds; the step by then is 0.5 / sqrt(3,000) = 0.009."""
    worth = np.random.default_rng(1).random((3, 5))
    choice, p = GradientLottery(objective, candidates=5, scale=0.5), cp.Variable(5, nonneg=True)
    w, z = 0.5 ** np.arange(3), worth @ p
    value = {
        GeneralizedGini: sum((w[k] - (w[k + 1] if k < 2 else 0.0)) * cp.sum_smallest(z, k + 1) for k in range(3)),
        AlphaFair: cp.sum(cp.log(z + 0.1)),
        Linear: cp.sum(z),
    }[type(objective)]
    best = cp.Problem(cp.Maximize(value), [cp.sum(p) == 1]).solve()
    state = choice.start(1)
    for t in range(3000):
        state.chances[0] = lottery(choice, worth, state=state, t=t)
    assert objective.value(worth @ state.chances[0]) >= best - 0.01 * abs(best)


def test_candidates_out_of_reach_have_no_chance_and_one_candidate_has_all():
    worth = np.random.default_rng(2).random((3, 4))
    playable = np.array([False, True, False, True])
    p = lottery(GradientLottery(GINI, candidates=4, scale=1.0, steps=7), worth, playable)
    assert (p[~playable] == 0).all()
    assert p.sum() == pytest.approx(1.0)
    assert lottery(GradientLottery(GINI, candidates=1, scale=1.0), worth[:, :1]).tolist() == [1.0]
    assert lottery(GradientLottery(GINI, candidates=4, scale=1.0), worth, ~np.ones(4, bool)).tolist() == [0.0] * 4


def test_huge_steps_and_ties_still_give_lotteries():
    worth = np.full((3, 4), 1e12)
    for scale in (1e-9, 1.0, 1e12):
        p = lottery(GradientLottery(GINI, candidates=4, scale=scale, steps=3), worth)
        assert p.sum() == pytest.approx(1.0)
        assert (p >= 0).all()


def test_it_goes_on_from_what_it_chose_and_not_from_what_others_did():
    world = MultiObjective(arms=4, n_outcomes=3, horizon=9)
    policy = molincb(world.problem, Ridge(n_features=10, n_outcomes=3, width=Fixed(0.5)), steps=2)
    state, there = policy.start(replicas=2), world.start(0, np.arange(2))
    first = policy.decide(state, there.context(0))
    assert (np.abs(first.carried - 0.25) > 0.01).any(1).all()
    assert (state.choice.chances == 0.25).all()
    policy.commit(state, there.context(0), first._replace(counted=np.array([1.0, 0.0])))
    assert state.choice.chances[0] == pytest.approx(first.carried[0])
    assert (state.choice.chances[1] == 0.25).all()
    policy.commit(
        state, there.context(1), first._replace(id=np.full(3, -1), forced=np.ones(2), carried=np.full((2, 4), 9.0))
    )
    assert (state.choice.chances < 1.1).all()
    for staged in (Staged(3, policy.choice), Staged(3, TopK(1), warmup=policy.choice)):
        within = staged.start(2)
        staged.on_decision(within, first)
        assert (within.then or within.warmup).chances == pytest.approx(first.carried)


def test_the_steps_have_the_published_size():
    """sqrt(2) / (1 - 1/sqrt(4)) sqrt(ln(2 / 0.1)) for four arms."""
    world = MultiObjective(arms=4, n_outcomes=3)
    choice = molincb(world.problem, Ridge(n_features=10, n_outcomes=3), delta=0.1).choice
    assert choice.scale == pytest.approx(np.sqrt(2) / 0.5 * np.sqrt(np.log(20)))
    alone = MultiObjective(arms=1, n_outcomes=3)
    assert molincb(alone.problem, Ridge(n_features=10, n_outcomes=3), delta=0.1).choice.scale == pytest.approx(
        np.sqrt(2 * np.log(20))
    )


def test_a_round_in_which_no_mixture_has_a_slope_is_named():
    with pytest.raises(InvalidInput, match=r"lottery of round 8 is expected to bring.*'b'"):
        lottery(GradientLottery(AlphaFair(NAMES, alpha=1.0), candidates=2, scale=1.0), np.eye(3)[:, [0, 2]], t=7.0)
