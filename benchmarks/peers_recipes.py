"""A policy of every recipe and a world for it, at any horizon: small sizes, so that what grows with time shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand import environments as e, models as m, recipes as r
from evenhand.choices import EpsilonGreedy
from evenhand.environments.base import Environment
from evenhand.objectives import GeneralizedGini, Linear, WeightedSum
from evenhand.policy.policy import Policy
from evenhand.problem import Budget, Floor, Parity
from evenhand.welfare import Capped

Pair = tuple[Policy, Environment]


def every(horizon: int) -> dict[str, Pair]:
    """Return a policy with its world for every recipe of the catalogue, by name."""
    return _spending(horizon) | _concave(horizon) | _blind(horizon) | _rankings(horizon) | _allocations(horizon)


def _spending(horizon: int) -> dict[str, Pair]:
    court, mixed = e.Court(horizon=horizon), e.MixedContexts(horizon=horizon)
    learner = m.Ridge(n_features=5, width=m.Fixed(0.1))
    wide = m.Ridge(n_features=9, n_outcomes=3, width=m.Fixed(0.2))
    packed, hours = e.PackingCovering(horizon=horizon), e.Hours(horizon=horizon)
    goods = m.Ridge(n_features=packed.n_features, n_outcomes=len(packed.problem.learned), width=m.Fixed(0.1))
    people, prices = m.Ridge(n_features=6, width=m.Fixed(0.1)), (0.1,) * 10
    stages = r.two_stage_square_cbwk(mixed.problem, wide, rate=9.0, explore=max(1, horizon // 200), radius=0.01)
    return {
        "uniform": (r.uniform(court.problem, n_features=5), court),
        "ucb": (r.ucb(court.problem, learner), court),
        "pgd": (r.pgd(court.problem, learner, hard=True), court),
        "pgd_adaptive": (r.pgd_adaptive(court.problem, learner), court),
        "mixed_oracle": (r.mixed_oracle(court.problem, learner, prices=prices), court),
        "primal_lp": (r.primal_lp(court.problem, learner), court),
        "resolving": (r.resolving(court.problem, learner), court),
        "lin_cbwk": (r.lin_cbwk(mixed.problem, wide), mixed),
        "square_cbwk": (r.square_cbwk(mixed.problem, wide, rate=20.0), mixed),
        "two_stage_square_cbwk": (stages, mixed),
        "lagrange_cbw": (r.lagrange_cbw(packed.problem, goods), packed),
        "lyapunov": (r.lyapunov(hours.problem, people), hours),
    }


def _concave(horizon: int) -> dict[str, Pair]:
    world = e.MultiObjective(arms=6, n_outcomes=3, n_features=4, horizon=horizon)
    model = m.Ridge(n_features=4, n_outcomes=3, width=m.Fixed(0.1))
    made = {
        "fw": r.fw(world.problem, lambda p: r.ucb(p, model), warmup=10),
        "fw_linucb": r.fw_linucb(world.problem, model),
        "fw_squarecb": r.fw_squarecb(world.problem, model, rate=100.0),
        "fw_epsilon_greedy": r.fw_epsilon_greedy(world.problem, model, epsilon=0.2),
        "fw_dual": r.fw_dual(world.problem, model),
        "molincb": r.molincb(world.problem, model, steps=5),
    }
    return {name: (policy, world) for name, policy in made.items()}


def _blind(horizon: int) -> dict[str, Pair]:
    paid = e.WithoutContexts(e.MixedArms(horizon=horizon))
    lessons = e.WithoutContexts(e.Lessons(horizon=horizon, parity=False))
    free = e.WithoutContexts(e.Lessons(horizon=horizon, constrained=False))
    means, marks = m.Tabular(arms=5, n_outcomes=3, confidence=0.5), m.Tabular(arms=5, n_outcomes=4, confidence=0.5)
    return {
        "ucb_bwk": (r.ucb_bwk(paid.problem, means), paid),
        "pd_bwk": (r.pd_bwk(paid.problem, means), paid),
        "greedy_bwk": (r.greedy_bwk(paid.problem, means), paid),
        "ucb_bwcr": (r.ucb_bwcr(lessons.problem, marks), lessons),
        "bwcr": (r.bwcr(lessons.problem, marks), lessons),
        "dual_bwc": (r.dual_bwc(lessons.problem, marks), lessons),
        "primal_bwc": (r.primal_bwc(lessons.problem, marks), lessons),
        "dual_bwr": (r.dual_bwr(free.problem, marks), free),
        "primal_bwr": (r.primal_bwr(free.problem, marks), free),
    }


def _rankings(horizon: int) -> dict[str, Pair]:
    tastes = np.array([[0.9, 0.0], [0.2, 0.7], [0.3, 0.3]]), np.array([[1.0, 0.1], [0.1, 1.0], [0.5, 0.5], [0.2, 0.1]])
    names = ("song", "film", "book", "play")
    labels = dict(zip(names, "aabb", strict=True))
    audience = e.Audience(users=tastes[0], items=tastes[1], names=names)
    plain = e.Ranking(audience=audience, horizon=horizon, slots=3, labels=labels)
    fair = WeightedSum(((1.0, Linear({"click": 1.0})), (0.5, GeneralizedGini.difference(plain.exposures))))
    bound = replace(plain, maximize=fair, subject_to=(Floor("exposure", rate=0.7, by="label"),))
    model = m.Bilinear(n_user_features=2, n_item_features=2, ridge=0.1, width=m.SelfNormalised(delta=0.1))
    return {
        "linucb_rank": (r.linucb_rank(plain.problem, model), plain),
        "unbiased_linucb_rank": (r.unbiased_linucb_rank(plain.problem, model), plain),
        "fairlearn_rank": (r.fairlearn_rank(plain.problem, model, share=0.7), plain),
        "fw_linucb_rank": (r.fw_linucb_rank(bound.problem, model), bound),
        "fw_rank": (r.fw_rank(bound.problem, model, EpsilonGreedy(0.2, 3)), bound),
    }


def _allocations(horizon: int) -> dict[str, Pair]:
    free = e.Matching(users=5, arms=3, horizon=horizon, curve=Capped(0.8))
    bound = replace(
        free,
        costs=(0.0, 0.5, 1.0),
        groups={"near": 0.4, "far": 0.6},
        subject_to=(Budget("cost", rate=2.0), Parity("match", by="group", tolerance=0.3)),
    )
    model, once = m.Ridge(n_features=5, width=m.Fixed(0.5)), m.OnePass(n_features=5)
    drawn = m.Sampled(inner=model, n_blocks=5)
    made = {
        "cab_ucb": r.cab_ucb(free.problem, model),
        "cab_ts": r.cab_ts(free.problem, drawn),
        "cab_ts_parameter": r.cab_ts_parameter(free.problem, drawn),
        "cab_ofu": r.cab_ofu(free.problem, once),
        "max_match": r.max_match(free.problem, model),
        "fairx": r.fairx(free.problem, m.OptimisticDraw(inner=once, tries=3, n_blocks=5)),
        "random_allocation": r.random_allocation(free.problem, n_features=5),
    }
    tied = {
        "pgd_allocation": r.pgd_allocation(bound.problem, model),
        "resolving_allocation": r.resolving_allocation(bound.problem, model),
    }
    return {k: (p, free) for k, p in made.items()} | {k: (p, bound) for k, p in tied.items()}
