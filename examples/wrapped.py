"""An algorithm of your own, with `select` and `update`, beside three recipes in a world of your own, with `step`."""

import numpy as np

import evenhand as eh


class EpsilonGreedy:
    """My algorithm: a ridge regression per action, and one round in ten at random. It knows of no budget."""

    def __init__(self, luck):
        self.luck, self.matrix, self.sums = luck, np.tile(np.eye(3), (3, 1, 1)), np.zeros((3, 3))

    def select(self, context):
        if self.luck.random() < 0.1:
            return self.luck.integers(3)
        x = context[0, :3]  # the traits, the same in the block of every action
        return np.argmax([x @ np.linalg.solve(m, s) for m, s in zip(self.matrix, self.sums, strict=True)])

    def update(self, context, action, reward):
        x = context[action, 3 * action : 3 * action + 3]
        self.matrix[action] += np.outer(x, x)
        self.sums[action] += reward * x


class Shop:
    """My world: visitors have two traits; what an offer does depends on them."""

    effect = np.array([[0.1, 0.0, 0.0], [0.1, 0.4, 0.0], [0.1, 0.0, 0.5]])

    def context(self, luck):
        return np.kron(np.eye(3), np.insert(luck.random(2), 0, 1.0))  # a block of three features per action

    def step(self, luck, context, action):
        return luck.random() < context[action] @ self.effect.ravel()


problem = eh.Problem(
    actions=("nothing", "letter", "call"),
    outcomes=(eh.Outcome("buys"), eh.Outcome("cost", known={"letter": 1, "call": 2})),
    maximize="buys",
    subject_to=(eh.Budget("cost", rate=0.5),),
    horizon=600,
)
shop = eh.run.Stepped(problem=problem, n_features=9, world=Shop())
mine = eh.Wrapped(make=EpsilonGreedy, name="mine").policy(problem, shop.n_features)
model = eh.BayesianRidge(n_features=9)
house = [eh.resolving(problem, model), eh.pgd(problem, model, hard=True, name="pgd"), eh.uniform(problem, n_features=9)]
print(eh.compare([mine, *house], shop, replicas=5, progress=False))
