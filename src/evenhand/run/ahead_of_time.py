"""Ahead-of-time compilation of the kernels of first decisions; the machine code is kept in a folder."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from evenhand.choices import Rate
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import Kernel, code_of, kernels
from evenhand.core.progress import Work
from evenhand.core.texts import kinds
from evenhand.models import BayesianLogistic, BayesianRidge, Fixed, Logistic, PerAction, Ridge
from evenhand.policy.entries import checksum
from evenhand.policy.policy import Policy
from evenhand.problem import Budget, Categorical, Groups, Numeric, Outcome, Parity, Problem
from evenhand.recipes import fw_dual, lin_cbwk, pgd, resolving, square_cbwk, ucb, uniform

_ROUNDS = 12


class WarmUp(NamedTuple):
    """The result of `warm`; print it."""

    compiled: int  # kernels that were not there before, counted once for every type of arguments
    seconds: float
    folder: Path  # where they are kept

    def __str__(self) -> str:
        did = f"compiled {self.compiled} kernels in {self.seconds:.0f} s" if self.compiled else "nothing to compile"
        return f"{did}; kernels are kept in {self.folder}"


def warm(jobs: Mapping[str, Callable[[], object]], *, progress: bool | None = None) -> WarmUp:
    """Run jobs one after another, such as `common`, to compile their kernels.

    Raises:
        InvalidInput: there is no folder where compiled kernels can be kept.
    """
    folder, before, began = kernel_folder(), n_compiled(), time.perf_counter()
    with kernels("compiled"), Work("warm", "policy", progress=progress) as work:
        for _, job in work.each(jobs.items(), told=itemgetter(0)):
            job()
    return WarmUp(n_compiled() - before, time.perf_counter() - began, folder)


def n_compiled() -> int:
    """Count the kernels that this process compiled because they were not on disk."""
    modules = [m for name, m in sys.modules.copy().items() if name.startswith("evenhand.")]
    every = {id(z): z for m in modules for z in vars(m).values() if isinstance(z, Kernel)}
    return sum(z.misses for z in every.values())


def kernel_folder() -> Path:
    """Find the folder in which compiled kernels are stored.

    Raises:
        InvalidInput: nothing can be written there.
    """
    off = os.environ.get("NUMBA_DISABLE_JIT", "0")
    if off != "0":
        raise InvalidInput("NUMBA_DISABLE_JIT", "0, as nothing is compiled otherwise", off)
    import numba

    asked, path = numba.config.CACHE_DIR, code_of(checksum).stats.cache_path  # type: ignore[attr-defined]
    if asked and (path is None or not Path(path).is_relative_to(Path(asked).absolute())):
        raise InvalidInput("NUMBA_CACHE_DIR", "a folder that can be written to, for compiled kernels", asked)
    if path is None:
        expected = "a folder that can be written to, for compiled kernels, as that of evenhand cannot"
        raise InvalidInput("NUMBA_CACHE_DIR", expected, os.environ.get("NUMBA_CACHE_DIR", "nothing"))
    if asked:
        return Path(asked)
    package = Path(__file__).parents[1]
    return package if Path(path).is_relative_to(package) else Path(path).parent


def common() -> dict[str, Callable[[], object]]:
    """List services of a few rounds with the recipes and models that are used most, by name."""
    return {f"{p.name}, {kinds(p.model)}": partial(serve, p) for p in _policies()}


def serve(policy: Policy, rounds: int = _ROUNDS) -> None:
    """Make decisions as a service does, one case at a time, and take in their outcomes."""
    state = policy.start(seed=0)
    for i in range(rounds):
        context = policy.encode({"size": i / rounds, "kind": _LEVELS[i % 2], "zone": _LEVELS[i % 3 // 2]})
        decision = policy.act(state, context)
        if i == rounds - 2:
            policy.expire(state, decision)
        elif i == rounds - 1:
            policy.cancel(state, decision)
        elif decision.action is not None:
            policy.observe(state, decision, {"answer": i % 2})
    policy.status(state)


_LEVELS = ("one", "other")


def _problem() -> Problem:
    """Make a problem with all that is common: named features, known costs, a hard budget and parity."""
    return Problem(
        actions=("none", "letter", "call"),
        features=(Numeric("size", 0, 1), Categorical("kind", _LEVELS)),
        outcomes=(Outcome("answer"), Outcome("cost", known={"letter": 1, "call": 2})),
        maximize="answer",
        subject_to=(Budget("cost", total=50), Parity("cost", by="zone", tolerance=0.5)),
        groups=(Groups("zone", _LEVELS),),
        horizon=100,
    )


def _policies() -> Iterator[Policy]:
    problem = _problem()
    n, actions = problem.n_features, len(problem.actions)
    ridge = Ridge(n_features=n * actions, width=Fixed(0.5))
    for plain in (BayesianRidge, BayesianLogistic):
        yield resolving(problem, plain(n_features=n * actions))
        yield resolving(problem, PerAction(inner=plain(n_features=n), actions=actions))
    yield ucb(problem, PerAction(inner=Ridge(n_features=n, width=Fixed(0.5)), actions=actions), warmup=1)
    yield pgd(problem, Logistic(n_features=n * actions, width=Fixed(0.5)), hard=True, warmup=1)
    yield fw_dual(problem, ridge, warmup=1)
    yield square_cbwk(problem, ridge, rate=Rate(30.0, 0.5))
    yield lin_cbwk(problem, ridge)
    yield uniform(problem, n * actions)
