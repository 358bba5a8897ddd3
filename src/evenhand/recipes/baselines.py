"""Baselines: uniformly random plays, and the play with the highest optimistic value."""

from __future__ import annotations

import numpy as np

from evenhand.choices import Random, Staged, TopK
from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import indifferent
from evenhand.models import NullModel
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.recipes.terms import Terms


@named(
    "U1",
    source="evenhand's own baseline",
    use="to compare with",
    fits=(
        "budgets (never exceeded), hard budgets, budgets per period (never exceeded), known costs, learned costs, "
        "several plays, contexts, no contexts, late outcomes, no constraints"
    ),
)
def uniform(problem: Problem, n_features: int | None = None, *, name: str | None = None) -> Policy:
    """Draw actions at random, as evenly as the budgets allow; hard budgets.

    Equation: the lottery p of greatest entropy with sum_a p_a c_a <= B per round for declared costs; hard budgets.
    Budgets on learned outcomes do not shape the lottery, but are kept by the hard limit.
    Guarantee: none; it is a baseline. Budgets are never exceeded.

    Args:
        problem: its actions are the candidates.
        n_features: of the contexts, which are ignored; by default as many as `Policy.encode` makes.

    >>> from evenhand.environments import Court
    >>> [round(p, 3) for p in uniform(Court().problem, n_features=5).choice.weights]
    [0.75, 0.2, 0.05]
    """
    return Policy(
        problem=problem,
        model=NullModel(
            n_features=problem.n_encoded if n_features is None else n_features, n_outcomes=len(problem.learned)
        ),
        goals=(indifferent(problem), *Terms(problem).limits(True)),
        choice=Random(even_lottery(problem), problem.n_plays),
        name=name or "uniform",
    )


def even_lottery(problem: Problem) -> tuple[float, ...]:
    """Compute the lottery with the greatest entropy whose P plays fit by declared costs, p ~ exp(-lam.c), `()->(A)`."""
    from scipy.optimize import minimize  # once, at construction

    rows, bound = constraint_rows(problem, (s for s in problem.stated if s.spends))
    declared = ~rows.learned.any(1)
    cost, bound = rows.known[declared] @ problem.declared.T, bound[declared] / problem.n_plays
    if not len(bound):
        return (1.0 / len(problem.actions),) * len(problem.actions)

    def lottery(lam: np.ndarray) -> np.ndarray:
        u = -lam @ cost
        e = np.exp(u - u.max())
        return np.asarray(e / e.sum())

    def dual(lam: np.ndarray) -> tuple[float, np.ndarray]:
        u = -lam @ cost
        return float(np.log(np.exp(u - u.max()).sum()) + u.max() + lam @ bound), bound - cost @ lottery(lam)

    start = np.zeros(len(bound))
    found = minimize(dual, start, jac=True, bounds=[(0, None)] * len(bound), options={"ftol": 1e-15, "gtol": 1e-10})
    return tuple(lottery(found.x).tolist())


@named(
    "U2",
    source="optimism in the face of uncertainty, as in LinUCB: Li, Chu, Langford & Schapire 2010",
    use="to compare with",
    fits="several plays, contexts, no contexts, late outcomes, no constraints",
)
def ucb(problem: Problem, model: Model, *, warmup: int = 50, name: str | None = None) -> Policy:
    """Play the action with the highest optimistic value; constraints are ignored.

    Equation: a = argmax r_ucb(a). With a ridge model this is LinUCB; without optimism it is greedy.
    A reference: what the objective could be without constraints.
    Guarantee: none under constraints, which are ignored. Without them, `Ridge` with self-normalised widths has LinUCB's
    regret, of order n sqrt(T) up to logarithms for n features (Abbasi-Yadkori et al. 2011).

    Args:
        problem: its constraints are neither kept nor priced.
        model: for the learned outcomes, with optimism of its own.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> ucb(Court().problem, Logistic(n_features=5)).name
    'ucb'
    """
    return Policy(
        problem=problem,
        model=model,
        goals=(Terms(problem).reward,),
        choice=Staged(warmup, TopK(problem.n_plays)),
        name=name or "ucb",
    )
