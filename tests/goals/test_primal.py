"""The primal program against brute force over all vertices, on finite sets of contexts."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from evenhand.choices import Gibbs
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Worth
from evenhand.goals import Primal
from evenhand.goals.linear_reward import reward
from evenhand.models import Fixed, Ridge
from evenhand.planning.forecast import forecast
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem
from evenhand.problem.constraints import constraint_rows
from evenhand.recipes import primal_lp
from evenhand.recipes.primal_lp import Slack, general, soft, with_null_action
from tests.choices import plain
from tests.examples.problems import COURT
from tests.rows import for_each

ACTIONS, SETS, T = 3, 3, 400
PROBLEM = Problem(
    actions=("a", "b", "c"),
    outcomes=(Outcome("gain"), Outcome("time", low=-1.0), Outcome("miles", low=-1.0)),
    maximize="gain",
    subject_to=(Budget("time", rate=0.30), Budget("miles", rate=0.25)),
    horizon=T,
)


def brute_force(gain, use, share, bound):
    """Best value over all basic solutions of max share.gain.pi s.t. share.use.pi <= bound, pi on simplices."""
    s, a, d = use.shape
    n = s * a
    objective = np.concatenate([(share[:, None] * gain).ravel(), np.zeros(d)])
    rows = np.zeros((s + d, n + d))
    for i in range(s):
        rows[i, i * a : (i + 1) * a] = 1.0
    rows[s:, :n] = (share[:, None, None] * use).reshape(n, d).T
    rows[s:, n:] = np.eye(d)
    right = np.concatenate([np.ones(s), bound])
    best = -np.inf
    for basis in combinations(range(n + d), s + d):
        matrix = rows[:, basis]
        if abs(np.linalg.det(matrix)) > 1e-12:
            z = np.linalg.solve(matrix, right)
            if (z >= -1e-9).all():
                best = max(best, float(objective[list(basis)] @ z))
    return best


def truth(seed):
    rng = np.random.default_rng(seed)
    y = rng.uniform(0, 1, (SETS, ACTIONS, 3))
    y[:, 0, 1:] *= 0.2
    return y, rng.choice(SETS, T, p=[0.5, 0.3, 0.2])


def context(i):
    x = np.zeros((1, ACTIONS, 2))
    x[0, :, 0], x[0, :, 1] = i, np.arange(ACTIONS)
    return Context(x, PROBLEM.declared[None], np.zeros((1, 1, 0), np.int64), np.ones((1, ACTIONS), bool))


def planned(y, came, temperature=0.002, doubt=0.0, **options):
    """Look at all contexts with a model that knows the truth, and return what would then be played in each."""
    rows, bound = constraint_rows(PROBLEM)
    goal = Primal(
        problem=PROBLEM, objective=reward(PROBLEM), rows=rows, bound=bound, temperature=temperature, every=1, **options
    )

    def ask(x, w):
        known = y[x[..., 0].astype(int), x[..., 1].astype(int)]
        return Worth((w * known[:, None]).sum(3), doubt * np.abs(w).sum(3) * np.ones(x.shape[1]))

    policy = primal_lp(PROBLEM, Ridge(n_features=2, n_outcomes=3), warmup=0)
    decision = policy.decide(policy.start(), context(0))
    state = goal.start(1)
    for t, i in enumerate(came):
        goal.on_context(state, context(i), decision, np.array([t + 1.0]), ask)
    lam = -goal.price(state)[0].sum(1)[0]
    worth = y[:, :, 0] - y[:, :, 1:] @ lam
    everything = plain.offer(np.ones((SETS, ACTIONS)))
    lottery = plain.pick(Gibbs(temperature), plain.worth(worth[:, None]), everything).lottery
    return lottery, state, bound, lam


@for_each("seed", range(8))
def test_on_a_finite_set_the_lottery_is_the_best_vertex_or_a_mixture_of_vertices(seed):
    y, came = truth(seed)
    came = came[:-20]  # the last round of the horizon plans nothing
    lottery, state, bound, _ = planned(y, came)
    share = np.bincount(came, minlength=SETS) / len(came)
    assert state.history.kept[0] == SETS
    np.testing.assert_allclose(np.sort(state.history.weight[0, :SETS]), np.sort(share * len(came)))
    best = brute_force(y[:, :, 0], y[:, :, 1:], share, bound)
    value = float((share[:, None] * lottery * y[:, :, 0]).sum())
    used = (share[:, None, None] * lottery[:, :, None] * y[:, :, 1:]).sum((0, 1))
    assert (used <= bound + 1e-4).all()  # Newton stops at a decrement of 1e-9
    assert best - 0.002 * np.log(ACTIONS) - 1e-4 <= value <= best + 1e-3


def test_the_slack_widens_every_bound():
    y, came = truth(1)
    tight, _, bound, _ = planned(y, came[:-20])
    wide, _, _, _ = planned(y, came[:-20], slack=1.0)
    share = np.bincount(came[:-20], minlength=SETS) / (T - 20)
    used = (share[:, None, None] * wide[:, :, None] * y[:, :, 1:]).sum((0, 1))
    assert (used <= bound + 1.0 / np.sqrt(T - 20) + 1e-4).all()
    assert (wide - tight).any()


def test_costs_are_read_at_their_lower_ends():
    """A doubt of 0.1 about everything is a slack of 0.1 of every budget: the same prices."""
    y, came = truth(2)
    _, _, _, doubtful = planned(y, came[:-20], doubt=0.1)
    _, _, _, slack = planned(y, came[:-20], slack=0.1 * np.sqrt(T - 20))
    np.testing.assert_allclose(doubtful, slack, atol=1e-3)


def test_the_plan_reads_rows_as_decisions_do():
    """Parity on a learned cost, clipped intervals, one context: what is planned is what would be played."""
    problem = Problem(
        actions=("a", "b"),
        outcomes=(Outcome("gain"), Outcome("time")),
        maximize="gain",
        subject_to=(Parity("time", by="group", tolerance=0.05), Budget("time", rate=0.3)),
        groups=(Groups("group", {"x": 0.25, "y": 0.75}),),
        horizon=100,
    )
    model = Ridge(n_features=2, n_outcomes=2, width=Fixed(0.5))
    policy = primal_lp(problem, model, warmup=0)
    state = policy.start(seed=0)
    goal = policy.goals[1]
    x, groups = np.eye(2)[None], np.array([[[0]]])
    for i in range(3):
        c = Context(x, problem.declared[None], groups, np.ones((1, 2), bool))
        policy.learn(state, policy.act(state, c), np.array([[[0.5, 0.2 * i]]]))
    look = forecast(
        state.goals[1].history,
        lambda x, w: model.value(state.model, x, w, np.zeros((len(x), 0))),
        problem.shares[None],
        (policy.goals[0].rows, np.ones((1, 1, 1))),
        goal.rows,
        np.ones(len(goal.rows), np.int64),
        np.ones(1, bool),
    )
    for j in range(len(goal.rows)):
        w, offset = goal.rows.pull(c, problem.shares[None], -np.eye(len(goal.rows))[None, j : j + 1])
        mean, bonus, *_ = model.value(state.model, x, w, np.zeros((1, 0)))
        np.testing.assert_allclose(look.hope[0, 0, j], -(mean + bonus + offset)[0, 0], atol=1e-12)


def test_the_temperature_follows_the_declared_range():
    for scale in (0.01, 1.0, 100.0):
        problem = replace(PROBLEM, outcomes=(Outcome("gain", high=scale), *PROBLEM.outcomes[1:]))
        assert primal_lp(problem, Ridge(n_features=2, n_outcomes=3)).goals[1].temperature == pytest.approx(
            0.002 * scale
        )
    endless = replace(PROBLEM, outcomes=(Outcome("gain", high=np.inf), *PROBLEM.outcomes[1:]))
    with pytest.raises(InvalidInput, match="temperature"):
        primal_lp(endless, Ridge(n_features=2, n_outcomes=3))


def test_where_nothing_is_feasible_prices_are_high_but_finite():
    y, came = truth(3)
    y[:, :, 1] = 0.9
    lottery, state, _, _ = planned(y, came[:50])
    assert np.isfinite(state.mu).all()
    np.testing.assert_allclose(lottery.sum(1), 1.0)


def test_slack_schedules_are_those_of_the_theorems():
    delta, contexts, widths = 0.05, 4, 30.0
    problem = COURT.problem
    rounds, d = problem.horizon, 10
    xi = [np.sqrt(contexts * np.log(4 / delta) / max(t, 1)) for t in range(rounds)]
    alpha = np.sqrt(2 * rounds * np.log(4 * (d + 1) / delta))
    assert soft(contexts, delta).scale == pytest.approx(xi[1])
    assert soft(contexts, delta).margin == 0.0
    null = with_null_action(problem, contexts, widths, delta)
    assert null == pytest.approx(Slack(0.0, (2 * alpha + widths + sum(xi)) / rounds))
    assert general(problem, contexts, widths, delta) == pytest.approx(
        Slack(xi[1], (2 * alpha + widths + 2 * sum(xi)) / rounds)
    )
