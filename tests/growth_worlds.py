"""An offer is appended and another one withdrawn half way: shares of the second half's own optimum, in the shop.

`python -m tests.growth_worlds [REPLICAS [ROUNDS]]` prints the table of docs/changes.md.
"""

import sys
from dataclasses import dataclass, replace

import numpy as np

import evenhand as eh
from evenhand.core.records import Context
from evenhand.core.types import Floats
from evenhand.policy.policy import Policy
from tests.change_worlds import means, run
from tests.day_worlds import OFFERS
from tests.holdouts import Noon, best
from tests.tables import head, mean_and_worst, row

T, RATE = 3000, 0.12


@dataclass(frozen=True, kw_only=True, eq=False)
class Offers(Noon):
    """The shop with some of its offers, whose contexts state the number of each and the customer's traits."""

    offers: tuple[str, ...] = OFFERS

    n_features = 4

    @property
    def problem(self) -> eh.Problem:
        return replace(super().problem, actions=self.offers)

    def context(self, step: int) -> Context:
        plain = super().context(step)
        traits = plain.features[:, 1:2, :3]
        number = np.arange(float(len(self.offers)))[:, None]
        x = np.empty((len(traits), len(self.offers), 4))
        x[:, :, :1], x[:, :, 1:] = number, traits
        return plain._replace(features=x, known=plain.known[:, self._places], offered=plain.offered[:, self._places])

    def means(self, context: Context) -> Floats:
        blocks = np.zeros((len(context.features), 4, 3, 3))
        blocks[:, np.arange(1, 4), np.arange(3)] = context.features[:, :1, 1:]
        whole = context._replace(features=blocks.reshape(-1, 4, 9))
        return np.ascontiguousarray(super().means(whole)[:, self._places])

    @property
    def _places(self) -> list[int]:
        return [OFFERS.index(name) for name in self.offers]


def shop(offers: tuple[str, ...], rounds: int, budget: float) -> Offers:
    limit = eh.Budget("money", total=budget)
    return Offers(times=np.full(rounds, 0.5), subject_to=(limit,), horizon=rounds, offers=offers)


def policy(problem: eh.Problem) -> Policy:
    inner = eh.BayesianRidge(n_features=3, n_outcomes=2)
    return eh.resolving(problem, eh.PerAction(inner=inner, actions=len(problem.actions)))


def grown(come: str, gone: str, replicas: int, rounds: int = T, compare: bool = True) -> dict[str, Floats]:
    """Shares of the second half's optimum with what is left, `->()` of each way to go on.

    The budget is held by every replica. With `compare`, a new policy that knows nothing goes on as well.
    """
    few, half = tuple(o for o in OFFERS if o != come), rounds // 2
    before, after = (shop(offers, rounds, RATE * rounds) for offers in (few, (*few, come)))
    old, new = policy(before.problem), policy(replace(after.problem, withdrawn=(gone,)))
    state = old.start(replicas=replicas)
    _, first, _ = run(old, state, before, range(half))
    spent, kept = first[:, :, 1].sum(0), np.array([o != gone for o in after.offers])
    late = means(after, range(half, rounds), replicas)[:, :, kept]
    top = np.array([best(z, RATE * rounds - s) for z, s in zip(late, spent, strict=True)])

    gained, second, _ = run(new, new.adopt(state, of=old), after, range(half, rounds))
    assert (spent + second[:, :, 1].sum(0) <= RATE * rounds + 1e-9).all()
    found = {"adopted": gained[:, :, 0].sum(0) / top}

    anew = []
    for r in range(replicas if compare else 0):  # each with its own rest
        left = shop(after.offers, rounds - half, RATE * rounds - spent[r]).problem
        rest = policy(replace(left, withdrawn=(gone,)))
        gained, _, _ = run(rest, rest.start(replicas=[r]), after, range(half, rounds))
        anew.append(gained[:, 0, 0].sum() / top[r])
    return found | ({"a new policy with the rest": np.array(anew)} if compare else {})


def main(replicas: int = 12, rounds: int = T) -> None:
    head("added", "removed", "adopted", "a new policy with the rest")
    for gone in ("small", "gift", "large"):
        for come in (offer for offer in OFFERS[1:] if offer != gone):
            row(come, gone, *map(mean_and_worst, grown(come, gone, replicas, rounds).values()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
