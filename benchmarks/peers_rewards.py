"""What is earned on public data beside Vowpal Wabbit: `python -m benchmarks.peers_rewards [DATA]`.

Rows of data with labels are cases, labels are actions, and only the reward of the action that is played is seen. Each
set is played in ten orders. Vowpal Wabbit explores by SquareCB and by a cover, each with the settings that earned most
in three other orders; evenhand has its defaults. Under a budget it is held against a fit that knows all rewards. DATA
is a folder with `lastfm/user_artists.dat`; without it that set is left out. Needs scikit-learn for the data, and Vowpal
Wabbit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.report.tables import Table

ORDERS, OTHERS = range(10), range(100, 103)
SHARE = 0.25  # of the cases in which something may be played, under a budget
COVER, SQUARE = "--cover", "--squarecb"
GRID = {
    SQUARE: [f"--squarecb --gamma_scale {g} -l {step}" for g, step in product((10, 100, 1000), (0.05, 0.5, 2))],
    COVER: [f"--cover {n} -l {step}" for n, step in product((3, 8), (0.05, 0.5, 2))],
}


@dataclass(frozen=True, eq=False)
class Set:
    """Cases, and what every action would bring in each."""

    name: str
    features: tuple[eh.problem.Feature, ...]
    cases: list[dict[str, object]]
    rewards: np.ndarray  # (N, A)

    def order(self, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).permutation(len(self.cases))

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(f"label {a}" for a in range(self.rewards.shape[1]))


def dense(name: str, x: np.ndarray, labels: np.ndarray) -> Set:
    """Numbers in units of three standard deviations, and labels."""
    z = np.clip((x - x.mean(0)) / (3.0 * np.maximum(x.std(0), 1e-9)), -1.0, 1.0)
    names = [f"x{i}" for i in range(z.shape[1])]
    features = tuple(eh.Numeric(n, -1.0, 1.0) for n in names)
    return Set(
        name, features, [dict(zip(names, row, strict=True)) for row in z.tolist()], np.eye(labels.max() + 1)[labels]
    )


def sets(folder: Path | None = None) -> Iterator[Set]:
    """The public sets that scikit-learn brings along, and that of a folder."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

    for load in (load_digits, load_breast_cancer, load_wine, load_iris):
        found = load()
        yield dense(load.__name__.removeprefix("load_").replace("_", " "), found.data, found.target)
    digits = load_digits()
    yield levels("digits, levels", digits.data, digits.target)
    if folder is not None:
        yield listeners(folder / "lastfm" / "user_artists.dat")


def levels(name: str, x: np.ndarray, labels: np.ndarray) -> Set:
    """Each number as a level of its own, and labels."""
    names, texts = [f"x{i}" for i in range(x.shape[1])], x.astype(int).astype(str)
    features = tuple(eh.Categorical(n, hashed=64) for n in names)
    cases = [dict(zip(names, row, strict=True)) for row in texts.tolist()]
    return Set(name, features, cases, np.eye(labels.max() + 1)[labels])


def listeners(path: Path) -> Set:
    """Listeners with up to 50 artists each; an action is one of the ten most heard ones, and hearing it the reward."""
    user, artist, count = np.loadtxt(path, skiprows=1, dtype=int, unpack=True)
    heard = np.bincount(artist, weights=count)
    actions = np.argsort(-heard)[:10]
    features = (eh.problem.Hashed("artists", hashed=2**18, words=1, at_most=64),)
    cases, rewards = [], []
    for who in np.unique(user):
        own = artist[user == who]
        cases.append({"artists": " ".join(f"a{a}" for a in own if a not in actions)})
        rewards.append(np.isin(actions, own))
    return Set("Last.fm", features, cases, np.array(rewards, float))


def ours(data: Set, seed: int, share: float | None = None) -> float:
    """Play a set with the default policy, within a budget if a share is stated; returns the reward per case."""
    n, budget = len(data.cases), share is not None
    problem = eh.Problem(
        actions=(("nothing",) if budget else ()) + data.actions,
        features=data.features,
        outcomes=(
            eh.Outcome("reward", free=("nothing",) if budget else ()),
            eh.Outcome("played", known=dict.fromkeys(data.actions, 1)),
        ),
        maximize="reward",
        subject_to=(eh.Budget("played", total=int(share * n)),) if budget else (),
        horizon=n,
    )
    policy = eh.resolving(problem)
    state, total = policy.start(seed=seed), 0.0
    for i in data.order(seed).tolist():
        decision = policy.act(state, policy.encode(data.cases[i]))
        if decision.action is None or decision.action == "nothing":
            policy.observe(state, decision, {"reward": 0.0})
            continue
        reward = float(data.rewards[i, data.actions.index(decision.action)])
        policy.observe(state, decision, {"reward": reward})
        total += reward
    return total / n


def vowpal(data: Set, seed: int, options: str) -> float:
    """Play a set with Vowpal Wabbit; returns the reward per case."""
    from vowpalwabbit import Workspace

    learner = Workspace(f"--quiet --cb_explore_adf -q xa -b 20 {options}")
    candidates = [f"|a {a}" for a in range(len(data.actions))]
    luck, total = np.random.default_rng(1000 + seed), 0.0
    for i in data.order(seed).tolist():
        case = " ".join(word(name, value) for name, value in data.cases[i].items())
        lines = [f"shared |x {case}", *candidates]
        chances = np.asarray(learner.predict(lines))
        a = int(luck.choice(len(chances), p=chances / chances.sum()))
        reward = float(data.rewards[i, a])
        lines[1 + a] = f"0:{-reward}:{chances[a]:.6g} {candidates[a]}"
        learner.learn(lines)
        total += reward
    learner.finish()
    return total / len(data.cases)


def word(name: str, value: object) -> str:
    """A feature in the format of Vowpal Wabbit: a number by its name, or its levels."""
    if isinstance(value, float):
        return f"{name}:{value:.6g}"
    return " ".join(f"{name}={level}" for level in str(value).split())


def tuned(data: Set, grid: list[str]) -> tuple[str, list[float]]:
    """The options of a grid that earn most in other orders, and what they earn in ours."""
    best = max(grid, key=lambda options: sum(vowpal(data, seed, options) for seed in OTHERS))
    return best, [vowpal(data, seed, best) for seed in ORDERS]


def known(data: Set) -> float:
    """What a quarter of the cases brings per case to a logistic regression per label that was fitted on all of them.

    It plays its best label in the cases in which it expects most.
    """
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    texts = [{k: v if isinstance(v, float) else str(v).split() for k, v in case.items()} for case in data.cases]
    x = DictVectorizer().fit_transform(texts)
    expected = np.column_stack(
        [LogisticRegression(max_iter=1000).fit(x, y).predict_proba(x)[:, 1] for y in data.rewards.T]
    )
    most = np.argsort(-expected.max(1))[: int(SHARE * len(expected))]
    return float(data.rewards[most, expected.argmax(1)[most]].sum() / len(expected))


def rows(each: Iterator[Set]) -> Iterator[list[str]]:
    for data in each:
        mine = np.array([ours(data, seed) for seed in ORDERS])
        limited = np.array([ours(data, seed, SHARE) for seed in ORDERS])
        found = {kind: tuned(data, grid) for kind, grid in GRID.items()}
        line = [data.name, f"{len(data.cases):,}", f"{len(data.actions)}", said(mine)]
        for _, theirs in found.values():
            gap = mine - np.array(theirs)
            line += [said(np.array(theirs)), f"{gap.mean():+.3f} ± {gap.std(ddof=1) / len(gap) ** 0.5:.3f}"]
        best = known(data)
        yield [*line, f"{limited.mean() / best:.3f} ({limited.min() / best:.3f})"]


def said(values: np.ndarray) -> str:
    return f"{values.mean():.3f} ({values.min():.3f})"


if __name__ == "__main__":
    head = ["data", "cases", "actions", "evenhand (worst)", "SquareCB", "evenhand beyond", "cover", "evenhand beyond"]
    print(Table([*head, f"of {SHARE:.0%}"], list(rows(sets(*map(Path, sys.argv[1:]))))))
