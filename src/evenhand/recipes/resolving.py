"""Re-solving: a policy that plans with the remaining budgets and rounds, less the use of known lotteries."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.choices import Floored, HeldOut, InverseGap, Rate, Staged, TopK
from evenhand.choices.base import Choice
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Goal
from evenhand.goals.comparison import comparison
from evenhand.goals.resolving import Resolving
from evenhand.models.advised import advised
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.holdout import Holdout, KnownRounds, known_rounds
from evenhand.problem.problem import Problem
from evenhand.recipes.terms import Terms


@dataclass(frozen=True, kw_only=True)
class LotteryRounds:
    """The rounds that a known lottery plays, as parts of a policy."""

    rounds: KnownRounds

    @property
    def reserve(self) -> float:
        return self.rounds.reserve

    def wrap(self, choice: Choice) -> Choice:
        """The choice with these rounds; the choice itself if there are none."""
        share, floor = self.rounds.share, self.rounds.floor
        if floor > 0.0:
            choice = Floored(floor / (1.0 - share), choice)
        return HeldOut(share, choice, self.rounds.weights) if share > 0.0 else choice

    def holdout_goals(self) -> tuple[Goal, ...]:
        """Books of the rounds held out, beside the others; () if there are none."""
        return (comparison(self.rounds.problem),) if self.rounds.share > 0.0 else ()

    def evaluable(self, model: Model) -> Model:
        """Return the model; refuse one that draws parameters beside a floor, as probabilities are unknown then."""
        if self.rounds.floor > 0.0 and model.draws(len(self.rounds.problem.actions)):
            expected = "0, or a model that does not explore by drawing its parameters: probabilities are unknown then"
            raise InvalidInput("explore", expected, type(model).__name__)
        return model


_FEW = 8  # pairs of a packed row up to which bounds of actions differ soon enough


def _default_choice(terms: Terms) -> Choice:
    """Return the actions with the largest bounds, or draws by gaps where a case has the doubts of many columns.

    Bounds of nearly all actions and cases are then at the end of their range for long: a plan that tells cases
    apart by them saves its budgets until they differ.
    """
    problem = terms.problem
    if problem.packed is None or problem.packed.pairs <= _FEW:
        return TopK(problem.n_plays)
    worth = terms.worth_at(terms.slope())
    return InverseGap(Rate(5.0 * len(problem.actions) / worth, 0.5), problem.n_plays)


@named(
    "X1",
    source="evenhand's own; re-solving as in network revenue management (Jasin & Kumar 2012)",
    use="start here",
    fits=(
        "budgets (never exceeded), hard budgets, budgets per period (never exceeded, and planned for), parity, "
        "floors, ratios, convex sets, never worse, known costs, learned costs, concave objectives, several plays, "
        "rankings, contexts, no contexts, late outcomes, drift (with Memories or Restarting as the model), "
        "no constraints"
    ),
)
def resolving(
    problem: Problem,
    model: Model | None = None,
    *,
    choice: Choice | None = None,
    warmup: int = 0,
    contexts: int = 1000,
    every: int = 100,
    holdout: float | Holdout | None = None,
    explore: float = 0.0,
    name: str | None = None,
) -> Policy:
    """Maximise the objective within hard budgets and all other constraints, re-planning with what is left of them.

    Equation: the P actions with the largest upper bound of r(a) - lam.v(a), best first; lam from the fluid problem of
    the remaining budgets and rounds on the contexts so far (`goals.Resolving`). The sum has one bonus; where the
    objective is concave, each of its outcomes has one, and lam.v another. An action whose worst case does not fit is
    never played. Convex sets of averages (`Within`) are kept by their tangents at the planned end. For a concave
    objective, r is the slope at the current average times the outcomes. Without constraints there is nothing to plan,
    and r alone decides.
    Guarantee: none on the objective. Budgets are never exceeded, whatever the model says.

    Args:
        problem: with any objective and any constraints; costs may be learned or known; no free action is
            needed.
        model: any, for the learned outcomes; by default the one that `models.advised` names for the outcomes and
            features of the problem, which is Bayesian and has no constants to tune. `repr` of the policy says which.
        choice: of P actions, after the warm-up; `TopK(P)` by default, and InverseGap(Rate(5 A / w, 1/2)) where cases
            have more than eight numbers in packed rows, with w what a play is worth at most; use `InverseGap` with
            models without widths as well.
        contexts: how many different ones are kept at most.
        every: largest number of rounds between two solves.
        holdout: the share of the rounds in which a lottery plays that values do not move, uniform or stated by a
            `Holdout`, to measure what the policy is worth; plans reserve what these rounds use.
        explore: the least probability of every action that may be played, so that logs can evaluate other policies;
            plans reserve what it uses.

    Raises:
        InvalidInput: a choice of another number of actions; a holdout or a floor together with several plays, or that
            a budget cannot pay for; a floor with a model that draws its parameters; a warm-up before a holdout.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import BayesianLogistic
    >>> resolving(Court().problem, BayesianLogistic(n_features=5)).name
    'resolving'
    >>> from evenhand.problem import Outcome, Problem
    >>> shop = Problem(actions=("a", "b"), outcomes=(Outcome("sale"),), maximize="sale", horizon=100)
    >>> print(repr(resolving(shop)).splitlines()[1])
      model     BayesianLogistic (2 features, 1 learned outcome)
    """
    terms, model = Terms(problem), advised(problem) if model is None else model
    objective = terms.objective
    apart = LotteryRounds(rounds=known_rounds(problem, holdout, explore).payable(warmup))
    plan = terms.constraint_goals(
        lambda: Resolving(
            problem=problem,
            objective=objective,
            constraints=problem.demands.rows,
            bound=problem.demands.bound,
            regions=problem.demands.regions,
            spans=problem.demands.spans,
            sums=problem.demands.sums,
            contexts=contexts,
            every=every,
            reserve=apart.reserve,
        )
    )
    return Policy(
        problem=problem,
        model=apart.evaluable(model),
        goals=(objective, *plan, *terms.limits(True), *apart.holdout_goals()),
        choice=Staged(warmup, apart.wrap(_default_choice(terms) if choice is None else choice)),
        name=name or "resolving",
    )
