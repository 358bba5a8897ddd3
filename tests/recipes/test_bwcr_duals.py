"""B3-B7: each vector by primal or dual updates, against a plain loop with a solver, and what moves each of them."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.choices import Lottery
from evenhand.core.errors import InvalidInput
from evenhand.environments import Lessons, MixedArms, WithoutContexts
from evenhand.goals import Fenchel, FrankWolfe, HardBudget
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.models import Tabular
from evenhand.objectives import DistancePenalty, Moreau
from evenhand.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.recipes import bwcr, dual_bwc, dual_bwr, primal_bwc, primal_bwr
from evenhand.recipes.bwcr import theoretical_gamma
from evenhand.recipes.terms import Terms, in_units_of_plays
from evenhand.run import play, simulate
from evenhand.sets import Box
from tests.recipes.test_bwcr import GAMMA, MEANS, Plain, Remembered, best_lottery

COMBINATIONS = [(a, b) for a in ("primal", "dual") for b in ("primal", "dual")]


def table(problem, confidence=GAMMA):
    return Tabular(arms=5, n_outcomes=len(problem.learned), confidence=confidence)


class PlainDual(Plain):
    """Two gradient descents in units of ranges; one step per round on the ends of intervals of the drawn arm."""

    def __init__(self, problem, margin, objective, constraints):
        super().__init__(problem, margin)
        self.dual = objective == "dual", constraints == "dual"
        most = np.concatenate([np.ones(len(problem.learned)), problem.declared.max(0)])
        self.most = most[self.wanted], most[self.bounded]
        steep = np.linalg.norm(getattr(problem.objective, "ranked", [1.0]))
        self.radius = steep, 1.0
        self.at = np.zeros(len(self.wanted)), np.zeros(len(self.bounded))

    def vectors(self):
        g, phi, wanted, used = super().vectors()
        low, high = self.ends()
        if self.dual[0]:
            g = -self.at[0] / self.most[0]
            wanted = np.where(g >= 0, high[:, self.wanted], low[:, self.wanted])
        if self.dual[1]:
            phi = self.at[1] / self.most[1]
            used = np.where(phi > 0, low[:, self.bounded], high[:, self.bounded])
        return g, phi, wanted, used

    def allowed(self, phi):
        return np.maximum(phi, 0.0) @ np.minimum(self.bound, self.most[1])

    def learn(self, arm, y, wanted, used):
        f, (theta, phi) = self.problem.objective, self.at
        best = f.maximizer(theta / self.most[0], 0.0, self.most[0])
        nearest = np.where(phi > 0, np.minimum(self.bound, self.most[1]), 0.0)
        gradients = (best - wanted) / self.most[0], (nearest - used) / self.most[1]
        for at, g, radius in zip(self.at, gradients, self.radius, strict=True):
            at -= radius / np.sqrt(len(at) * self.problem.horizon) * g
            at *= radius / max(np.linalg.norm(at), radius)
            at[np.abs(at) <= 1e-13 * radius] = 0.0  # rounding alone: its sign decides which end is read
        super().learn(arm, y, wanted, used)


@pytest.mark.slow
@pytest.mark.parametrize("inner", [Lessons(horizon=300, parity=False), MixedArms(horizon=300)], ids=repr)
@pytest.mark.parametrize(("objective", "constraints"), COMBINATIONS)
def test_every_lottery_is_the_linear_programs(inner, objective, constraints):
    """Along the same draws: the vectors are those of the plain loop, and the lottery is the solver's at these."""
    world, problem = WithoutContexts(inner), inner.problem
    policy = bwcr(problem, table(problem), objective_by=objective, constraints_by=constraints, margin=0.01, hard=False)
    policy = replace(policy, choice=Remembered(policy.choice.wanted))
    plain, mixed = PlainDual(problem, 0.01, objective, constraints), 0
    state = policy.start()
    for r in play(policy, state, world.start(0, state.replicas), range(300)):
        g, phi, wanted, used = plain.vectors()
        allowed = plain.allowed(phi) if constraints == "dual" else phi @ plain.bound
        worth, slack = wanted @ g, allowed - used @ phi
        p, best = r.decision.carried[0], plain.solve(worth, slack)
        mixed += (p > 0).sum() == 2
        assert best is not None
        assert p @ worth == pytest.approx(best, abs=1e-6)
        assert p @ slack >= -1e-9
        arm = r.decision.plays[0, 0]
        plain.learn(arm, r.arrivals[0].y[0, 0], wanted[arm], used[arm])
        for goal, of, at in zip(policy.goals, state.goals, plain.at, strict=True):
            if isinstance(goal, Fenchel):
                np.testing.assert_allclose(goal.theta(of)[0], at, atol=1e-12)
    assert mixed > 30


@pytest.mark.parametrize("hard", [True, False])
def test_the_default_is_frank_wolfe_on_both_sides_bit_for_bit(hard):
    """The policy as it was written out before there were sides."""
    world = WithoutContexts(Lessons(horizon=400, parity=False))
    problem = world.problem
    rows, bound = in_units_of_plays(problem, *constraint_rows(problem, margin=Terms(problem).fluctuation))
    slope = frank_wolfe(problem, problem.objective, on="optimistic")
    bounds = tuple(bound.tolist())
    penalty = FrankWolfe(
        rows=rows,
        objective=DistancePenalty(rows.names, Box.below(bounds)),
        smoothing=Moreau(1.0),
        start_at=bounds,
        on="optimistic",
    )
    limits = bwcr(problem, table(problem), hard=hard).goals[2:]
    assert [type(z) for z in limits] == [HardBudget] * hard
    goals, model = (slope, penalty, *limits), table(problem)
    before = Policy(problem=problem, model=model, goals=goals, choice=Lottery(4))
    one, two = (
        simulate(p, world, replicas=4, record="all", progress=False)
        for p in (before, bwcr(problem, table(problem), hard=hard))
    )
    np.testing.assert_array_equal(one.plays.actions, two.plays.actions)
    assert bwcr(problem, table(problem)).name == "bwcr"


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "constraints"), COMBINATIONS)
@pytest.mark.parametrize("norm", ["euclidean", "sup"])
def test_every_combination_approaches_the_best_fixed_lottery(objective, constraints, norm):
    """Theorem 6.1, as in `test_bwcr`: a fifth of L sqrt(gamma A / T) is left; nothing is overspent."""
    world = Lessons(horizon=5000, parity=False)
    best, problem = best_lottery(MEANS), world.problem
    policy = bwcr(problem, table(problem), objective_by=objective, constraints_by=constraints, norm=norm)
    trace = simulate(policy, WithoutContexts(world), replicas=6, progress=False)
    reached = trace.objective()[-1]
    spread = 2 * reached.std(ddof=1) / np.sqrt(6)
    scale = problem.objective.lipschitz * np.sqrt(GAMMA * 5 / 5000)
    assert best - 0.2 * scale - spread <= reached.mean() <= best + spread
    for b in problem.spending:
        assert (trace.total(b.outcome) <= b.total_over(5000) + 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [dual_bwr, primal_bwr])
def test_an_objective_alone_comes_within_the_bound_of_its_best(recipe):
    """Theorems 5.1 and 5.4: L sqrt(gamma A / T) and a term of f's own, 0.05 together; 0.4 of it is left at most."""
    horizon = 3000
    problem = Lessons(horizon=horizon, constrained=False).problem
    trace = simulate(
        recipe(problem, table(problem)),
        WithoutContexts(Lessons(horizon=horizon, constrained=False)),
        replicas=5,
        progress=False,
    )
    f = problem.objective
    corners = np.random.default_rng(0).dirichlet(np.ones(5), 20_000)
    best, reached = f.value(corners @ MEANS).max(), trace.objective()[-1]
    scale = f.lipschitz * np.sqrt(GAMMA * 5 / horizon) + f.lipschitz * np.sqrt(4 / horizon)
    spread = 3 * reached.std(ddof=1) / np.sqrt(5)
    assert best - 0.4 * scale - spread <= reached.mean() <= best + 0.01 + spread


@pytest.mark.parametrize("recipe", [dual_bwc, primal_bwc])
def test_constraints_alone_are_kept_within_the_bound(recipe):
    """d(average, S) <= sqrt(m) sqrt(gamma A / T) and the regret of the vectors over T; uniform play is 0.5 out of S."""
    horizon = 3000
    problem = Lessons(horizon=horizon, parity=False).problem
    trace = simulate(
        recipe(problem, table(problem), margin=0.0),
        WithoutContexts(Lessons(horizon=horizon, parity=False)),
        replicas=5,
        progress=False,
    )
    used = np.stack([trace.average(b.outcome)[-1] for b in problem.spending])
    far = np.linalg.norm(np.maximum(used - np.array([0.8, 0.6])[:, None], 0.0), axis=0)
    assert (far <= 3.0 * np.sqrt(2 / horizon)).all()
    with pytest.raises(InvalidInput, match=r"^problem\.subject_to: expected at least one constraint"):
        recipe(Lessons(constrained=False).problem, table(problem))


def test_sides_are_named():
    problem = MixedArms().problem
    model = Tabular(arms=4, n_outcomes=3, confidence=theoretical_gamma(problem))
    assert bwcr(problem, model, constraints_by="dual").name == "bwcr, primal-dual"
    for field in ("objective", "constraints"):
        with pytest.raises(InvalidInput, match=rf"^{field}: expected"):
            bwcr(problem, model, **{field: "Dual"})
    with pytest.raises(InvalidInput, match=r"^problem\.subject_to: expected budgets, floors"):
        bwcr(Lessons().problem, table(Lessons().problem), constraints_by="dual")
