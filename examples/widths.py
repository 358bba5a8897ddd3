"""What a width does: the same policy with four models in four simulated worlds, and how each replica fared."""

import sys

import evenhand as eh

# Of each world, all rounds (1) or a part of them (10: a tenth) are run; docs/choosing.md has 40 1 10.
replicas, *parts = (int(z) for z in sys.argv[1:]) if len(sys.argv) > 2 else (10, 10)


def models(world):
    """A model that sets its own width, and one with each of three fixed widths."""
    n, m = world.n_features, len(world.problem.learned)
    yes_no = m == 1
    yield eh.BayesianLogistic(n_features=n) if yes_no else eh.BayesianRidge(n_features=n, n_outcomes=m)
    for width in map(eh.models.Fixed, (0.01, 0.1, 0.3)):
        ridge = eh.Ridge(n_features=n, n_outcomes=m, width=width)
        yield eh.models.Logistic(n_features=n, width=width) if yes_no else ridge


def worlds(part):
    """Four worlds in a part of their rounds."""
    yield eh.environments.MixedArms(horizon=4000 // part)
    yield eh.environments.MixedContexts(horizon=4000 // part)
    yield eh.environments.FixedContexts(horizon=2000 // part, null_arm=True)
    yield eh.environments.Court(horizon=10_000 // part, tolerance=0.01)


print("Gain over drawing actions at random, where 1 is the best policy that knows all chances; in brackets the worst")
print(f"replica, and how many of {replicas} gained less than half.\n")
print("| world | Bayesian (default) | `Fixed(0.01)` | `Fixed(0.1)` | `Fixed(0.3)` |")
print("|---|---|---|---|---|")
for part in parts:
    for world in worlds(part):
        problem, cells = world.problem, [f"`{type(world).__name__}`, {world.problem.horizon:,} rounds"]
        best = eh.opt(world, contexts=10_000 // part).value
        random = eh.simulate(eh.uniform(problem, world.n_features), world, replicas=replicas).objective()[-1].mean()
        for model in models(world):
            policy = eh.resolving(problem, model, warmup=0)
            gain = (eh.simulate(policy, world, replicas=replicas).objective()[-1] - random) / (best - random)
            cells.append(f"{gain.mean():.2f} ({gain.min():.2f}, {(gain < 0.5).sum()})")
        print("|", " | ".join(cells), "|", flush=True)
