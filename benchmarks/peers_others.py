"""The same bandit played by other libraries, each in its own fastest way that learns after every round.

All but Vowpal Wabbit run LinUCB with own coefficients per action. Their defaults stay, apart from the width, the
penalty and one thread. What is prepared before the clock starts is said beside each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.peers_case import Case
from benchmarks.peers_turns import Way
from benchmarks.plain_linucb import WIDTH

TEXT, PARSED = "Vowpal Wabbit, text", "Vowpal Wabbit, pre-parsed"
MABWISER, CONTEXTUAL, RIVER = "MABWiser", "contextualbandits", "river"
DIFFERENCES = {
    TEXT: "SquareCB on stochastic gradients, no inverse; lines of features are written before the clock starts",
    PARSED: "the same; all cases are parsed before the clock starts, labels are set in the round",
    MABWISER: "LinUCB; inverts the matrix of an arm at every update; data frames and arrays of one row",
    CONTEXTUAL: "LinUCB, Sherman-Morrison in doubles, compiled by Cython; arrays of one row",
    RIVER: "LinUCB, disjoint, on dicts of features, which are made before the clock starts; its bonus has no width",
}


def vowpal(case: Case, gains: dict[str, float]) -> dict[str, Way]:
    """Cases with one candidate per action, whose features interact with those of the case: own coefficients."""
    from vowpalwabbit import Workspace

    options = "--quiet --cb_explore_adf --squarecb -q xa"
    shared = ["shared |x " + " ".join(f"{i}:{z:.6g}" for i, z in enumerate(row)) for row in case.x.tolist()]
    candidates = [f"|a {a}" for a in range(case.actions)]

    def text() -> Callable[[], None]:
        learner = Workspace(options)

        def run() -> None:
            total = 0.0
            for t, line in enumerate(shared):
                chances = learner.predict([line, *candidates])
                a = _drawn(chances, case.luck[t])
                total += case.y[t, a]
                labelled = [line, *candidates]
                labelled[1 + a] = f"0:{-case.y[t, a]}:{chances[a]:.6g} {candidates[a]}"
                learner.learn(labelled)
            gains[TEXT] = total / case.rounds

        return run

    def parsed() -> Callable[[], None]:
        learner = Workspace(options)
        examples = [learner.parse([line, *candidates]) for line in shared]

        def run() -> None:
            total = 0.0
            for t, example in enumerate(examples):
                chances = learner.predict(example)
                a = _drawn(chances, case.luck[t])
                total += case.y[t, a]
                example[1 + a].set_label_string(f"0:{-case.y[t, a]}:{chances[a]:.6g}")
                learner.learn(example)
                learner.finish_example(example)
            gains[PARSED] = total / case.rounds

        return run

    return {TEXT: text, PARSED: parsed}


def _drawn(chances: Sequence[float], luck: float) -> int:
    for a, chance in enumerate(chances):
        luck -= chance
        if luck <= 0.0:
            return a
    return len(chances) - 1


def mabwiser(case: Case, gains: dict[str, float]) -> dict[str, Way]:
    from mabwiser.mab import MAB, LearningPolicy

    def prepare() -> Callable[[], None]:
        learner = MAB(list(range(case.actions)), LearningPolicy.LinUCB(alpha=WIDTH, l2_lambda=1.0))
        learner.fit([0], [case.y[0, 0]], case.x[:1])

        def run() -> None:
            total = 0.0
            for t in range(case.rounds):
                x = case.x[t : t + 1]
                a = learner.predict(x)
                learner.partial_fit([a], [case.y[t, a]], x)
                total += case.y[t, a]
            gains[MABWISER] = total / case.rounds

        return run

    return {MABWISER: prepare}


def contextualbandits(case: Case, gains: dict[str, float]) -> dict[str, Way]:
    from contextualbandits.online import LinUCB

    def prepare() -> Callable[[], None]:
        learner = LinUCB(
            nchoices=case.actions,
            alpha=WIDTH,
            lambda_=1.0,
            fit_intercept=False,
            use_float=False,
            random_state=1,
            njobs=1,
        )
        learner.partial_fit(case.x[:1], np.array([0]), case.y[:1, 0])

        def run() -> None:
            total = 0.0
            for t in range(case.rounds):
                x = case.x[t : t + 1]
                a = learner.predict(x)
                y = case.y[t, a]
                learner.partial_fit(x, a, y)
                total += y[0]
            gains[CONTEXTUAL] = total / case.rounds

        return run

    return {CONTEXTUAL: prepare}


def river(case: Case, gains: dict[str, float]) -> dict[str, Way]:
    from river.bandit import LinUCBDisjoint

    def prepare() -> Callable[[], None]:
        learner, arms = LinUCBDisjoint(seed=0), list(range(case.actions))
        cases = [dict(enumerate(row)) for row in case.x.tolist()]

        def run() -> None:
            total = 0.0
            for t, known in enumerate(cases):
                a = learner.pull(arms, context=known)
                y = float(case.y[t, a])
                learner.update(a, known, y)
                total += y
            gains[RIVER] = total / case.rounds

        return run

    return {RIVER: prepare}


PEERS = {
    "vowpalwabbit": (vowpal, 1),
    "mabwiser": (mabwiser, 5),
    "contextualbandits": (contextualbandits, 5),
    "river": (river, 20),
}  # by the name of the package: its ways, and by how much fewer rounds it plays, as it takes so much longer
