"""Optimism without constraints: the best action for the objective alone."""

from __future__ import annotations

from evenhand.choices import Staged, TopK
from evenhand.core.catalogue import named
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.terms import Terms


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
