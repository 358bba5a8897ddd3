"""An algorithm of your own with `select` and `update`, as a policy that compares with all others."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np

from evenhand.choices import TopK
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.goals.hard_limits import hard_limits
from evenhand.goals.linear_reward import indifferent
from evenhand.models.base import ROUND, Lesson, Worth
from evenhand.objectives import Linear
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem

AnyPolicy = Annotated[  # for signatures of runs, whose errors then say how an algorithm becomes a policy
    Policy, "from a recipe, or from `eh.Wrapped(make=...).policy(problem, n_features)` for an algorithm of your own"
]
REMEMBERED = 1000  # contexts whose outcomes may be late


class Algorithm(Protocol):
    """The wrapped algorithm: one object per replica."""

    def select(self, context: Floats) -> int:
        """Choose an action by the features of all actions, `(A,n)->`; randomness comes only from its generator."""

    def update(self, context: Floats, action: int, reward: float) -> None:
        """Learn the reward of an action in a context; a further parameter `outcomes` is given the outcomes by name."""


@dataclass(frozen=True, kw_only=True)
class Wrapped:
    """Turns an algorithm that is not built on this library into a policy.

    The algorithm is slow, as it is asked once per replica and round, but it meets the same contexts and luck as all
    others. Hard budgets are kept on its behalf: if its action no longer fits, the first one that fits is played, and
    `update` names the action that was played. It knows of no budget, group or other constraint, unless it keeps to them
    by itself: an `update` with a parameter `outcomes` is given the learned outcomes that were observed, such as a cost,
    by name; known ones are those that the problem declares. Its runs cannot be resumed, and the probabilities of its
    plays are not known.

    Args:
        make: makes a new algorithm of a `numpy.random.Generator`, once per replica; such as its class. The generator is
            set anew before each `select`, by the seed, the replica and the round.
        name: of the policy.

    Raises:
        InvalidInput: `make` cannot be called.

    >>> class Greedy:
    ...     def __init__(self, luck):
    ...         self.luck, self.sums, self.counts = luck, np.zeros(3), np.ones(3)
    ...
    ...     def select(self, context):
    ...         if self.luck.random() < 0.1:
    ...             return self.luck.integers(3)
    ...         return np.argmax(self.sums / self.counts)
    ...
    ...     def update(self, context, action, reward):
    ...         self.sums[action] += reward
    ...         self.counts[action] += 1
    >>> from evenhand.environments import Court
    >>> from evenhand.recipes import uniform
    >>> from evenhand.run.comparison import compare
    >>> court = Court(horizon=200)
    >>> mine = Wrapped(make=Greedy, name="mine").policy(court.problem, court.n_features)
    >>> found = compare([mine, uniform(court.problem, court.n_features)], court, replicas=2, progress=False)
    >>> bool((found["mine"].total("ride") <= 10).all())
    True
    """

    make: Callable[[np.random.Generator], Algorithm]
    name: str = "wrapped"

    def __post_init__(self) -> None:
        if not callable(self.make):
            expected = "a class, or a function, that makes an algorithm of a generator"
            raise InvalidInput("Wrapped.make", expected, f"an object of the class {type(self.make).__name__}")

    def policy(self, problem: Problem, n_features: int | None = None) -> Policy:
        """Return the policy for a problem whose candidates have the given number of features.

        By default it is that of cases with the features of the problem; of a world it is `world.n_features`.

        Raises:
            InvalidInput: the problem plays several candidates per round, or maximises something other than a weighted
                sum of learned outcomes, which is the reward, or outcomes that a known one multiplies.
        """
        if problem.n_plays != 1:
            raise InvalidInput("problem.n_plays", "1, as `select` chooses one action", problem.n_plays)
        objective, learned = problem.objective, problem.learned
        if not isinstance(objective, Linear) or not set(objective.outcomes) <= set(learned):
            expected = "a weighted sum of learned outcomes, which is the reward of `update`"
            raise InvalidInput("problem.maximize", expected, type(objective).__name__)
        multiplied = [o.name for o in problem.outcomes if o.times is not None and o.name in objective.outcomes]
        if multiplied:
            expected = "outcomes without a factor, as models are told the outcomes themselves"
            raise InvalidInput("problem.maximize", expected, ", ".join(multiplied))
        weights = tuple(float(objective.weights.get(name, 0.0)) for name in learned)
        return Policy(
            problem=problem,
            model=Selecting(
                make=self.make,
                n_features=problem.n_encoded if n_features is None else n_features,
                weights=weights,
                names=learned,
                code=_code(self.make),
            ),
            goals=(indifferent(problem), *hard_limits(problem, True)),
            choice=TopK(1),
            name=self.name,
        )


@dataclass
class Selected:
    """The algorithms of all replicas, with their luck, and the contexts that each has seen last."""

    unsaveable: ClassVar[str] = "an algorithm of your own in `Wrapped` cannot be saved"
    luck: list[np.random.Generator]
    algorithms: list[Algorithm]
    recent: list[deque[tuple[Floats, int]]] = field(default_factory=list)
    takes_outcomes: bool = False  # whether `update` has a parameter `outcomes`


@dataclass(frozen=True, kw_only=True, eq=False)
class Selecting:
    """A model whose bonus is 1 for the action that an algorithm selects, and 0 for all others."""

    selects: ClassVar[bool] = True
    reads_packed: ClassVar[bool] = True
    make: Callable[[np.random.Generator], Algorithm]
    n_features: int
    weights: tuple[float, ...]
    names: tuple[str, ...]
    code: str = ""  # of the algorithm, so that the stored runs of another version are not taken for its own

    @property
    def n_outcomes(self) -> int:
        return len(self.weights)

    def draws(self, candidates: int) -> int:
        return 1

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> Selected:
        luck = [np.random.Generator(np.random.Philox(0)) for _ in range(n_replicas)]
        _check_call("", self.make, "luck")
        made = [self.make(own) for own in luck]
        for member, arguments in (("select", ("context",)), ("update", ("context", "action", "reward"))):
            if not callable(call := getattr(made[0], member, None)):
                expected = f"what makes an object with a method {member}"
                raise InvalidInput("Wrapped.make", expected, type(made[0]).__name__)
            more: dict[str, Any] = {"outcomes": {}} if member == "update" and _takes_outcomes(call) else {}
            _check_call(f".{member}", call, *arguments, **more)
        return Selected(luck, made, [deque(maxlen=REMEMBERED) for _ in made], _takes_outcomes(made[0].update))

    def value(self, state: Selected, x: Floats, w: Floats, u: Floats) -> Worth:
        mean = np.zeros((len(state.algorithms), w.shape[1], x.shape[1]))
        bonus = np.zeros_like(mean)
        for r, algorithm in enumerate(state.algorithms):
            context = np.array(x[r if len(x) > 1 else 0])
            drawn = int(u[r, 0] * 2.0**53) if u.shape[1] else 0
            state.luck[r].bit_generator.state = np.random.Philox(key=drawn).state
            action = _action(algorithm.select(context.copy()), x.shape[1])  # as it may write in what it gets
            bonus[r, :, action] = 1.0
            state.recent[r].append((context, action))
        return Worth(mean, bonus, random=True)

    def update(self, state: Selected, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        weights = np.array(self.weights)
        counts = weights != 0.0  # other outcomes may never be observed
        for r, algorithm in enumerate(state.algorithms):
            if seen[r, 0, counts].all():
                context, action = _find_play(state.recent[r], x[r, 0])
                reward = float(np.dot(y[r, 0, counts], weights[counts]))
                if state.takes_outcomes:
                    told = {name: float(y[r, 0, m]) for m, name in enumerate(self.names) if seen[r, 0, m]}
                    algorithm.update(context.copy(), action, reward, outcomes=told)  # type: ignore[call-arg]
                else:
                    algorithm.update(context.copy(), action, reward)


def _code(make: Callable[..., Any]) -> str:
    """Return the source of what makes an algorithm, and of the classes that it extends, as far as it can be read."""
    if isinstance(make, partial):
        return _code(make.func)
    return "".join(map(_source, make.__mro__ if isinstance(make, type) else [make, *type(make).__mro__]))


def _source(part: Any) -> str:
    """Return the source of a class or a function; of a class in a notebook, which has no file, that of its methods."""
    try:
        return inspect.getsource(part)
    except (OSError, TypeError):
        return "".join(_source(z) for z in getattr(part, "__dict__", {}).values() if inspect.isfunction(z))


def _check_call(member: str, call: Callable[..., Any], *arguments: str, **more: Any) -> None:
    """Check that the algorithm, or a method of it, takes the arguments that it is called with."""
    try:
        signature = inspect.signature(call)
    except ValueError:  # one without a signature, such as of a compiled module
        return
    try:
        signature.bind(*arguments, **more)
    except TypeError:
        said = f"one that is called with ({', '.join(arguments)})"
        raise InvalidInput(f"Wrapped.make{member}", said, f"one that takes {signature}") from None


def _takes_outcomes(update: Callable[..., None]) -> bool:
    try:
        return "outcomes" in inspect.signature(update).parameters
    except ValueError:  # one without a signature, such as of a compiled module
        return False


def _action(action: Any, candidates: int) -> int:
    """Check the action that `select` returns.

    Raises:
        InvalidInput: it is not the number of an action.
    """
    if not isinstance(action, int | np.integer) or isinstance(action, bool) or not 0 <= action < candidates:
        raise InvalidInput("select", f"the number of an action, from 0 to {candidates - 1}", repr(action))
    return int(action)


def _find_play(recent: deque[tuple[Floats, int]], features: Floats) -> tuple[Floats, int]:
    """Find the context and the action of a play by its features; the latest, and of equals the one that was selected.

    Raises:
        InvalidInput: it is not among the contexts that are remembered.
    """
    for context, selected in reversed(recent):
        if np.array_equal(context[selected], features):
            return context, selected
        same = np.flatnonzero((context == features).all(1))
        if len(same):
            return context, int(same[0])
    expected = f"an outcome of one of the {REMEMBERED} latest contexts, as no others are remembered"
    raise InvalidInput("Wrapped", expected, "a later one")
