"""The kinds of parts, and the package of each. Imports nothing, so that help appears at once."""

# The folder or module of a system determines its kind, so that no second list has to be kept up to date.
KINDS = {
    "evenhand.recipes": "recipe",
    "evenhand.models": "model",
    "evenhand.objectives": "objective",
    "evenhand.problem.constraints": "constraint",
    "evenhand.environments": "environment",
    "evenhand.goals": "goal",
    "evenhand.choices": "choice",
    "evenhand.welfare": "welfare",
    "evenhand.sets": "set",
    "evenhand.run.optimum": "benchmark",
    "evenhand.run.optimum_of_satisfaction": "benchmark",
    "evenhand.run.theory": "benchmark",
    "evenhand.offline": "estimate",
    "evenhand.experiments": "experiment",
}

# What each kind is, for `evenhand systems`.
HEADS = {
    "recipe": "recipes: a policy in one call",
    "model": "models: predict outcomes, and say how far to trust that",
    "objective": "objectives: what is maximised",
    "constraint": "constraints: what is limited",
    "environment": "environments: worlds to try policies in",
    "goal": "goals: what a policy is made of, prices and limits",
    "choice": "choices: what a policy is made of, from worths to an action",
    "welfare": "welfare: allocations of many users, and how they are computed",
    "set": "sets: in which averages may have to stay",
    "benchmark": "benchmarks: the best that is possible, to compare with",
    "estimate": "estimates: what a log says, without running a policy",
    "experiment": "experiments: `evenhand reproduce` runs them",
}
