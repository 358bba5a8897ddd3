"""Uses every name of `evenhand` as somebody would who installed it; strict type checkers read it, and it runs."""

import csv
import random
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

import evenhand as eh

FILE = """
maximize = "sale"
horizon = 60
features = { numeric = ["age"], categorical = ["town"] }
action = { column = "sent", values = { no = "none", yes = "letter" } }
propensity = { constant = 0.5 }
outcomes = { sale = { range = [0, 1] }, cents = { known = { letter = 80 } } }
budget = [{ outcome = "cents", rate = 20 }]
"""


class Greedy:
    """An algorithm of one's own, which plays what brought most."""

    def __init__(self, luck: np.random.Generator) -> None:
        self.luck, self.sums, self.plays = luck, np.zeros(3), np.ones(3)

    def select(self, context: npt.NDArray[np.float64]) -> int:
        means = (self.sums / self.plays).tolist()
        return means.index(max(means)) if self.luck.random() < 0.9 else int(self.luck.integers(3))

    def update(self, context: npt.NDArray[np.float64], action: int, reward: float) -> None:
        self.sums[action] += reward
        self.plays[action] += 1


def shop() -> eh.Problem:
    """A problem with every kind of constraint."""
    return eh.Problem(
        actions=("none", "letter", "call"),
        features=(eh.Numeric("age", 20, 60), eh.Categorical("channel", ("web", "phone"))),
        groups=(eh.Groups("place", {"town": 0.5, "land": 0.5}),),
        outcomes=(eh.Outcome("answer"), eh.Outcome("order"), eh.Outcome("cents", known={"letter": 80, "call": 300})),
        maximize="answer",
        subject_to=(
            eh.Budget("cents", total=20_000),
            eh.Parity("cents", by="place", tolerance=40),
            eh.Floor("answer", rate=0.01),
            eh.Ratio("cents", over="answer", at_most=100_000),
            eh.Within(("order",), eh.sets.Box(low=(0.0,), high=(1.0,))),
        ),
        horizon=200,
    )


def models(problem: eh.Problem) -> list[eh.models.Model]:
    """Models of two outcomes."""
    n = problem.n_features
    return [
        eh.PerAction.of(problem, eh.Ridge),
        eh.PerAction.of(problem, eh.BayesianRidge),
        eh.Stacked((eh.BayesianLogistic(n_features=n), eh.BayesianRidge(n_features=n))),
    ]


def composed(problem: eh.Problem, model: eh.models.Model) -> eh.Policy:
    """A policy of parts."""
    return eh.Policy(
        problem=problem,
        model=model,
        goals=(eh.goals.objective_goal(problem), *eh.goals.hard_limits(problem, hard=True)),
        choice=eh.choices.EpsilonGreedy(0.05),
        name="mine",
    )


def decided(policy: eh.Policy, folder: Path) -> float:
    """The part of the budget that twenty decisions spend, in a state that was saved and loaded."""
    state, luck = policy.start(seed=1), random.Random(1)
    for _ in range(20):
        channel, place = luck.choice(["web", "phone"]), luck.choice(["town", "land"])
        case = {"age": luck.uniform(20, 60), "channel": channel, "place": place}
        context: eh.Context = policy.encode(case)
        decision = policy.act(state, context)
        action: str | None = decision.action
        if action is not None:
            policy.observe(state, decision, {"answer": luck.random() < 0.3, "order": 0.1})
    policy.save(state, folder / "state.npz")
    return policy.status(policy.load(folder / "state.npz")).accounts["cents"].spent


def simulated() -> float:
    """The gain of a recipe over draws at random, and what is possible."""
    court = eh.environments.Court(tolerance=0.05, horizon=60)
    chance = eh.uniform(court.problem, court.n_features)
    house = eh.resolving(court.problem, eh.Ridge(n_features=court.n_features))
    mine = eh.Wrapped(make=Greedy, name="mine").policy(court.problem, court.n_features)
    trace = eh.simulate(house, court, replicas=2, seed=1, progress=False)
    found = eh.compare([chance, mine], court, replicas=2, seed=1, progress=False)
    worlds = {rides: eh.environments.Court(tolerance=0.05, horizon=60, ride=rides) for rides in (0.05, 0.1)}
    swept = eh.sweep(lambda problem: [eh.uniform(problem, 5)], "rides", worlds, replicas=2, progress=False)
    best = eh.opt(court, contexts=200, replicas=2, progress=False)
    assert swept.finished
    assert best.value > 0
    return float(trace.total("appears").mean() - found["uniform"].total("appears").mean())


def from_a_log(folder: Path) -> str:
    """What a log says of a rule, of a budget and of the next customers."""
    luck, log, problem = random.Random(2), folder / "log.csv", folder / "problem.toml"
    problem.write_text(FILE, encoding="utf-8")
    with log.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "town", "sent", "sale"])
        for _ in range(400):
            sent = luck.choice(["no", "yes"])
            rows.writerow([luck.randint(20, 60), luck.choice(["Bonn", "Ulm"]), sent, int(luck.random() < 0.3)])
    valued = eh.value(log, problem, rules=["letter where age >= 40; else none"])
    curve = eh.curve(log, problem, budgets=(10.0, 20.0))
    listed = eh.assign(log, problem, learn_from=log)
    replay = eh.replay_log(log, problem, replicas=2, bootstrap=0, progress=False)
    listed.write(folder / "assigned.csv")
    return "\n".join([valued.summary(), curve.summary(), str(listed), str(replay)])


def live(folder: Path, policy: eh.Policy) -> int:
    """The rounds of a campaign after one decision."""
    with eh.Campaign.open(f"sqlite:///{folder / 'shop.db'}", "autumn", policy, seed=1) as campaign:
        reply = campaign.decide({"age": 33, "channel": "web", "place": "town"}, key="customer-1")
        campaign.observe(reply.id, {"answer": 1, "order": 0.5})
        return campaign.status().rounds


def main() -> None:
    """Use everything once."""
    problem = shop()
    plain = eh.Problem(
        actions=problem.actions,
        features=problem.features,
        groups=problem.groups,
        outcomes=problem.outcomes,
        maximize="answer",
        subject_to=(eh.Budget("cents", total=20_000),),
        horizon=200,
    )
    first, *_ = found = models(plain)
    recipes = [
        eh.resolving(plain, first, holdout=eh.Holdout(0.1)),
        eh.pgd(plain, first),
        eh.ucb(plain, first),
        eh.uniform(plain, plain.n_features),
    ]
    pairs = eh.BayesianBilinear(n_user_features=2, n_item_features=3)
    print(
        len(found),
        [policy.name for policy in recipes],
        eh.lyapunov(plain, first).name,
        composed(plain, first).name,
        type(pairs).__name__,
    )
    print(f"gain: {simulated()}")
    with tempfile.TemporaryDirectory() as name:
        print(f"spent: {decided(recipes[0], Path(name))}")
        print(from_a_log(Path(name)))
        print(live(Path(name), recipes[0]))
    try:
        eh.Budget("cents", total=-1)
    except eh.EvenhandError as error:
        print(error)


if __name__ == "__main__":
    main()
