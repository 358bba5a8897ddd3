"""Changes in mid-campaign, limits by a baseline, and logs that teach, in the shop of `tests.holdouts`.

`python -m tests.change_worlds changes`, `baseline` or `logs` prints the table of docs/changes.md, docs/never-worse.md
or docs/choosing.md. Numbers of rounds and of replicas may follow.
"""

import sys
from dataclasses import dataclass, replace

import numpy as np

import evenhand as eh
from evenhand.core.records import Context
from evenhand.core.types import Floats
from evenhand.objectives import Linear
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.run import play
from tests.day_worlds import OFFERS
from tests.holdouts import Noon, best, policy, shop
from tests.tables import head, mean_and_worst, row

USUAL = OFFERS.index("gift")


def means(world: Noon, steps: range, replicas: int) -> Floats:
    """True means of all cases, `->(R,T,A,M)`."""
    w = world.start(0, np.arange(replicas))
    return np.stack([w.means(w.context(step)) for step in steps], 1)


def run(policy: Policy, state: PolicyState, world: Noon, steps: range) -> tuple[Floats, Floats, Floats]:
    """Go on with a run: true means and outcomes of the plays, and the plays, `->(T,R,M),(T,R,M),(T,R)`."""
    w, found = world.start(0, state.replicas), []
    for _, context, decision, _, (arrival,) in play(policy, state, w, steps):
        found.append((w.expected(context, decision.plays)[:, 0], arrival.y[:, 0, :2], decision.plays[:, 0]))
    return tuple(np.array(z) for z in zip(*found, strict=True))  # type: ignore[return-value]


def changes(rounds: int = 3000, replicas: int = 12) -> None:
    """Print shares of the optimum of the second half, after a change that is adopted."""
    world = shop(rounds)
    first, half = policy(world), rounds // 2
    late, gone = means(world, range(half, rounds), replicas), OFFERS[1]
    money = Linear({"sale": 1.0, "money": -1.0})
    head("change", "adopted")
    for name, changed, weights in (
        ("budget 360 -> 240", {"subject_to": (eh.Budget("money", total=0.08 * rounds),)}, (1.0, 0.0)),
        ("budget 360 -> 600", {"subject_to": (eh.Budget("money", total=0.20 * rounds),)}, (1.0, 0.0)),
        ("sales -> sales - dollars", {"maximize": money}, (1.0, -1.0)),
        (f"the {gone} offer withdrawn", {"withdrawn": (gone,)}, (1.0, 0.0)),
    ):
        problem = replace(world.problem, **changed)
        total = problem.subject_to[0].total_over(rounds)
        then, state = eh.resolving(problem, first.model), first.start(replicas=replicas)
        _, before, _ = run(first, state, world, range(half))
        gained, after, _ = run(then, then.adopt(state, of=first), world, range(half, rounds))
        spent = before[:, :, 1].sum(0)
        assert (spent + after[:, :, 1].sum(0) <= total + 1e-9).all()
        worth = late @ np.array(weights)
        kept = np.array([a not in problem.withdrawn for a in OFFERS])
        cases = np.stack([worth, late[..., 1]], 3)[:, :, kept]
        top = np.array([best(z, total - s) for z, s in zip(cases, spent, strict=True)])
        row(name, mean_and_worst((gained @ np.array(weights)).sum(0) / top))


@dataclass(frozen=True, kw_only=True, eq=False)
class Fair(Noon):
    """A shop whose gift is fair, and whose cases state what it brings on average."""

    @property
    def problem(self) -> eh.Problem:
        plain = shop(self.horizon).problem
        return replace(plain, outcomes=(*plain.outcomes, eh.Outcome("usual", known=0.0)), subject_to=self.subject_to)

    def context(self, step: int) -> Context:
        context = super().context(step)
        usual = self.means(context)[:, USUAL, 0]
        return context._replace(known=np.repeat(usual[:, None, None], len(OFFERS), 1))

    def means(self, context: Context) -> Floats:
        """The small offer is bad, and the large one good for some."""
        found, x = super().means(context), context.features.reshape(-1, len(OFFERS), 3, 3)
        found[:, 1, 0] = x[:, 1, 0] @ (0.02, 0.25, 0.0)
        found[:, 2, 0] = x[:, 2, 1] @ (0.02, 0.0, 0.75)
        return found


def baseline(rounds: int = 3000, replicas: int = 36) -> None:
    """Print shares of the best gain over a baseline, and the deepest sums below it."""
    limits: list[tuple[str, tuple[eh.problem.NeverWorse, ...]]] = [("no limit (alpha .05 shown)", ())]
    for alpha, slack in ((0.05, 10.0), (0.05, 5.0), (0.1, 0.0), (0.05, 0.0), (0.01, 0.0)):
        limit = eh.problem.NeverWorse("sale", than="usual", alpha=alpha, slack=slack, action=OFFERS[USUAL])
        limits.append((f"alpha {alpha:g}, slack {slack:g}".replace("0.", ".").replace("slack 0", "no slack"), (limit,)))
    head("", "gain", "deepest sum below (1 - alpha) of the baseline's, as counted", "true means")
    for name, limit in limits:
        world = Fair(times=np.full(rounds, 0.5), subject_to=limit, horizon=rounds)
        mean = means(world, range(rounds), replicas)[..., 0].transpose(1, 0, 2)
        usual, alpha = mean[:, :, USUAL], limit[0].alpha if limit else 0.05
        made = policy(world)
        gained, y, plays = run(made, made.start(replicas=replicas), world, range(rounds))
        book = np.where(plays == USUAL, usual, y[:, :, 0]) - (1.0 - alpha) * usual
        true = gained[:, :, 0] - (1.0 - alpha) * usual
        share = (gained[:, :, 0] - usual).sum(0) / (mean.max(2) - usual).sum(0)
        deepest = [max(-z.cumsum(0).min(), 0.0) for z in (book, true)]
        row(name, mean_and_worst(share), *(f"{z:.1f}" for z in deepest))


def logs(rounds: int = 1000, replicas: int = 16, rows: int = 2000) -> None:
    """Print shares of the optimum after logs that are right, of an old policy, or of two offers exchanged."""
    world = shop(rounds)
    made, rng = policy(world), np.random.default_rng(77)
    top = np.array([best(z, 0.12 * rounds) for z in means(world, range(rounds), replicas)])
    w, even, old = world.start(77, np.arange(1)), (0.25,) * 4, (0.1, 0.7, 0.0, 0.2)
    kinds = (
        ("none", None, False),
        ("of the same world, actions at random", even, False),
        ("of an earlier policy that never made one of the offers", old, False),
        ("of a different world, in which two offers are swapped", even, True),
    )
    head("log", "weight 1", "weight 0.05")
    for name, chances, exchanged in kinds:
        lessons = []
        for step in range(0 if chances is None else rows):
            context, a = w.context(step % rounds)._replace(time=None), rng.choice(4, p=chances)
            means_of = w.means(context)[0, {1: 2, 2: 1}.get(a, a) if exchanged else a, 0], w.means(context)[0, a, 1]
            y = {"sale": float(rng.random() < means_of[0]), "money": min(2.0 * means_of[1] * rng.random(), 1.0)}
            lessons.append((context, OFFERS[a], y))
        found = []
        for weight in (1.0, 0.05) if lessons else (1.0,):
            share = []
            for r in range(replicas):
                state = made.start(replicas=[r])
                for context, action, y in lessons:
                    made.teach(state, context, action, y, weight=weight)
                gained, y, _ = run(made, state, world, range(rounds))
                assert y[:, :, 1].sum() <= 0.12 * rounds + 1e-9
                share.append(gained[:, 0, 0].sum() / top[r])
            found.append(mean_and_worst(np.array(share)))
        row(name, *found, *[""] * (2 - len(found)))


if __name__ == "__main__":
    {"changes": changes, "baseline": baseline, "logs": logs}[sys.argv[1]](*map(int, sys.argv[2:]))
