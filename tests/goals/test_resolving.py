from dataclasses import replace

import numpy as np
import pytest

from evenhand.choices import TopK
from evenhand.directions import merge
from evenhand.environments import Court, FixedContexts, MixedArms, MixedContexts
from evenhand.errors import InvalidInput
from evenhand.models import Fixed, Logarithmic, Logistic, Ridge
from evenhand.optimum import opt
from evenhand.papers.court import fairness
from evenhand.problem import Groups
from evenhand.recipes import resolving
from evenhand.rows import constraint_rows
from evenhand.simulation import simulate


def test_the_courts_ten_rows_are_four_directions():
    problem = Court(tolerance=0.02).problem
    rows, bound = constraint_rows(problem, problem.subject_to)
    d = merge(problem, rows, bound)
    assert [rows.names[i] for i in d.first] == ["ride", "voucher", "ride group=0 above", "voucher group=0 above"]
    low, high = d.bounds(bound[None])
    np.testing.assert_allclose(high[0], [0.05, 0.2, 0.02, 0.02])
    np.testing.assert_allclose(low[0], [-np.inf, -np.inf, -0.02, -0.02])
    lam = d.prices(np.array([[0.5, 0.3, 0.1, -0.2]]))
    assert (lam >= 0).all()
    np.testing.assert_allclose(lam[0] * d.multiple @ np.eye(4)[d.of], [0.5, 0.3, 0.1, -0.2])


def test_three_unequal_groups_or_unknown_shares_keep_a_direction_each():
    problem = Court().problem
    three = replace(problem, groups=(Groups("group", {"0": 0.5, "1": 0.3, "2": 0.2}),))
    unknown = replace(problem, groups=(Groups("group", ["0", "1"]),))
    for p, directions in ((three, 2 + 2 * 3), (unknown, 2 + 2 * 2)):
        rows, bound = constraint_rows(p, p.subject_to)
        assert len(merge(p, rows, bound).first) == directions


@pytest.mark.parametrize(
    ("field", "value"), [("contexts", 1), ("every", 0), ("growth", 0.0), ("drift", 0.0), ("temperatures", ())]
)
def test_numbers_that_make_no_sense_are_refused(field, value):
    policy = resolving(Court().problem, Logistic(features=5))
    with pytest.raises(InvalidInput, match=field):
        replace(policy.goals[1], **{field: value})


@pytest.mark.slow
@pytest.mark.parametrize("tau", [1e-7, 0.025])
def test_on_the_court_it_spends_everything_and_never_more(tau):
    court = Court(tolerance=tau)
    policy = resolving(court.problem, Logistic(features=5, ridge=1.0, width=Logarithmic(0.025)))
    trace = simulate(policy, court, replicas=10, seed=3, progress=False)
    assert (trace.total("ride") <= 500).all()
    assert (trace.total("voucher") <= 2000).all()
    assert trace.total("ride").mean() >= 499
    assert fairness(trace)[-1].mean() <= tau + 0.0006
    best = {1e-7: 0.4688, 0.025: 0.4731}[tau]
    reward = trace.objective()[-1]
    # the gap of the published adaptive policy is 0.0107 and 0.0097; a tenth of it, and four standard errors
    assert best - reward.mean() <= 0.0011 + 4 * reward.std(ddof=1) / np.sqrt(10)


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "contexts", "width"), [(MixedArms(), 4, 0.3), (MixedContexts(), 1000, 0.1)])
def test_where_a_mixture_is_best_it_is_found_and_learned_costs_never_overspend(environment, contexts, width):
    problem = environment.problem
    model = Ridge(features=environment.features, outcomes=3, width=Fixed(width))
    trace = simulate(resolving(problem, model, contexts=contexts), environment, replicas=10, seed=0, progress=False)
    for b in problem.budgets:
        assert (trace.total(b.outcome) <= b.total + 1e-6).all()
    best = opt(environment, contexts=2000, repeats=2, progress=False).value
    assert trace.objective()[-1].mean() >= 0.93 * best


def test_costs_that_are_learned_are_planned_with():
    environment = FixedContexts(arms=3, dimension=6, horizon=1000, null_arm=True)
    model = Ridge(features=6, outcomes=5, ridge=0.01, width=Fixed(0.05))
    trace = simulate(
        resolving(environment.problem, model, warmup=8, contexts=4), environment, replicas=5, seed=0, progress=False
    )
    for b in environment.problem.budgets:
        assert (trace.total(b.outcome) <= b.total + 1e-6).all()
    assert trace.objective()[-1].mean() >= 0.45  # the optimum is 1/2


def test_a_choice_of_several_actions_is_refused_by_name():
    with pytest.raises(InvalidInput, match="choice"):
        resolving(Court().problem, Logistic(features=5), choice=TopK(2))


def test_plans_are_for_one_play_a_round():
    policy = resolving(Court().problem, Logistic(features=5))
    with pytest.raises(InvalidInput, match="Resolving plans for one"):
        replace(policy, choice=TopK(2))
