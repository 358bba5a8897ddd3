"""What a width does: the same policy with four models in four simulated worlds, and how each replica fared."""

import sys

import evenhand as eh

replicas, shorter = (int(z) for z in sys.argv[1:]) if len(sys.argv) > 1 else (10, 10)  # docs/choosing.md: 40 1


def models(world):
    """A model that sets its own width, and one with each of three fixed widths."""
    n, m = world.n_features, len(world.problem.learned)
    yes_no = m == 1
    yield "Bayesian", eh.BayesianLogistic(n_features=n) if yes_no else eh.BayesianRidge(n_features=n, n_outcomes=m)
    for width in map(eh.models.Fixed, (0.01, 0.1, 0.3)):
        ridge = eh.Ridge(n_features=n, n_outcomes=m, width=width)
        yield f"Fixed({width.value})", eh.models.Logistic(n_features=n, width=width) if yes_no else ridge


print("Gain over drawing actions at random; 1 is the best policy that knows all chances.\n")
print(f"{'world':14} {'model':12} {'mean':>6} {'worst':>6}  below half")
for world in (
    eh.environments.MixedArms(horizon=4000 // shorter),
    eh.environments.MixedContexts(horizon=4000 // shorter),
    eh.environments.FixedContexts(horizon=2000 // shorter, null_arm=True),
    eh.environments.Court(horizon=10_000 // shorter, tolerance=0.01),
):
    problem, name = world.problem, type(world).__name__
    best = eh.opt(world, contexts=10_000 // shorter).value
    random = eh.simulate(eh.uniform(problem, world.n_features), world, replicas=replicas).objective()[-1].mean()
    for label, model in models(world):
        policy = eh.resolving(problem, model, warmup=0)
        gain = (eh.simulate(policy, world, replicas=replicas).objective()[-1] - random) / (best - random)
        low = int((gain < 0.5).sum())
        print(f"{name:14} {label:12} {gain.mean():6.3f} {gain.min():6.3f}  {low:2} of {replicas}")
