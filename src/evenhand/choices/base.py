"""The contract of a choice."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from evenhand.core.records import Decision, Offer as Offer, Worth as Worth
from evenhand.core.signatures import has
from evenhand.core.types import Bools, Floats, Ints


class Pick(NamedTuple):
    """The plays of a round. The product of a replica's propensities is the probability of its list of plays."""

    plays: Ints  # (R, P), -1 where nothing (more) can be played
    propensities: Floats  # (R, P) of each play given the plays before it; 1 where nothing (more) can be played
    lottery: Floats  # (R, A) chances of every candidate at the first place
    forced: Floats  # (R,) 1 where the values did not make the choice
    carried: Floats | None = None  # (R, C) what a choice continues from when this decision is committed


class Choice(Protocol):
    """Turns values into plays. It picks only playable candidates, and uses only the luck that it is handed.

    Candidate a fits if `worst[a] <= left` in every limit, and each play uses up its worst case. A choice takes
    candidates in its own order while they fit: it skips one that no longer fits, and may still take a smaller one after
    it. The caller ensures that each playable candidate fits alone, and adds any tolerance to `left`.
    """

    @property
    def n_plays(self) -> int:
        """P, the number of candidates chosen per round."""

    @property
    def reads_bonus(self) -> bool:
        """Whether bonuses change the plays; if not, the choice itself must explore."""

    def draws(self, candidates: int) -> int:
        """The number of uniform numbers needed per round."""

    def start(self, n_replicas: int) -> Any:
        """The state before the first round."""

    def pick(self, state: Any, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        """Choose, `(K,A),(K,A),(A),(A,d),(d),(),(draws)->(P),(P),(A),()`, in decided round t (counted from 0)."""


class OneDraw(Protocol):
    """A choice without a state that draws its play by one uniform number."""

    def draws(self, candidates: int) -> int:
        return 1

    def start(self, n_replicas: int) -> None:
        return None


class DrawPerPlay(Protocol):
    """A choice without a state that draws every play by a number of its own."""

    n_plays: int

    def draws(self, candidates: int) -> int:
        return self.n_plays

    def start(self, n_replicas: int) -> None:
        return None


@runtime_checkable
class Follows(Protocol):
    """A choice that may continue from the `carried` part of its last decision, such as its last lottery."""

    @property
    def goes_on(self) -> bool:
        """Whether the choice continues from its decisions; a choice made of others does if one of them does."""

    def on_decision(self, state: Any, decision: Decision) -> None:
        """Take note of a committed decision, the choice's own in replicas where it counts and was not forced."""


@runtime_checkable
class Warms(Protocol):
    """A choice whose plays are not arbitrary candidates, so that a warm-up cannot draw them."""

    def at_random(self) -> Choice:
        """The choice that draws such plays at random, for a warm-up."""


@runtime_checkable
class Hears(Protocol):
    """A choice that is told which of its plays were exposed."""

    def on_outcome(self, state: Any, decision: Decision, exposed: Bools | None) -> None:
        """Take note of an outcome that arrived; `exposed` says which plays were exposed, `(P)`, None if all were."""


@runtime_checkable
class MayHear(Hears, Protocol):
    """A choice made of others, which is told about exposures if one of them uses them."""

    @property
    def hears(self) -> bool:
        """Whether one of the others listens to exposures."""


@runtime_checkable
class Behind(Protocol):
    """A choice that may play a known lottery in a share of the rounds, and another choice in the others."""

    def behind(self, lottery: Floats) -> Floats | None:
        """Return the chances of the other choice, by those of the whole, `(A)->(A)`; None without a known lottery."""


def behind(choice: Choice, lottery: Floats) -> Floats | None:
    """Return the chances of the choice behind all known lotteries, `(A)->(A)`; None if there are none.

    >>> import numpy as np
    >>> from evenhand.choices import Floored, HeldOut, TopK
    >>> behind(HeldOut(0.1, Floored(0.02, TopK())), np.array([0.068, 0.932])).round(12), behind(TopK(), np.ones(1))
    (array([0., 1.]), None)
    """
    return choice.behind(lottery) if has(choice, Behind) else None


def known_lotteries(choice: Choice) -> str:
    """Name the known lotteries that a choice may play, the outer ones first.

    >>> from evenhand.choices import Floored, HeldOut, TopK
    >>> known_lotteries(HeldOut(0.1, Floored(0.02, TopK())))
    'a holdout or a floor of probabilities'
    """
    if not has(choice, Behind):
        return ""
    inner = known_lotteries(getattr(choice, "then", None))  # type: ignore[arg-type]  # which has no lottery
    return " or ".join(name for name in (getattr(choice, "lottery", ""), inner) if name)


def greedy(choice: Choice) -> bool:
    """Return whether a choice plays nothing but what is worth most, with its bonus: if so, models have to explore."""
    return getattr(choice, "greedy", False)


def exposure_reader(choice: Choice) -> Hears | None:
    """Return the choice if it uses exposures, else None."""
    if has(choice, MayHear) and not choice.hears:
        return None
    return choice if has(choice, Hears) else None
