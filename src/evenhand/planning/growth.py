"""Candidates that are appended to the contexts that a plan keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats, Ints
from evenhand.planning import history
from evenhand.planning.history import HistoryState
from evenhand.problem.descriptions import crossed


@dataclass(frozen=True, kw_only=True, eq=False)
class Appended:
    """The entries of appended actions in earlier cases: the features of the case, and the declarations of the actions.

    Args:
        before: A, the number of actions so far; A' with the appended ones.
        numbered: whether models read the number of the action and then the case.
        blocks: whether they read a block per action instead, the case in its own and 0 elsewhere. Otherwise they read
            the same of every action.
        profiles: of described actions, by which a case is multiplied, `(A',q')`; None in other layouts.
        reads: whether they read features at all.
        known: declared outcomes of the appended actions, `(A'-A,L)`.
        divided: which groupings divide actions, `(G)`.
        groups: the groups of appended actions in these, `(A'-A,G'')`.
    """

    before: int
    numbered: bool
    blocks: bool
    profiles: Floats | None
    reads: bool
    known: Floats
    divided: Bools
    groups: Ints

    def enter(self, state: HistoryState) -> None:
        """Append the actions to all kept contexts, in which they count as offered.

        Raises:
            InvalidInput: candidates that are not the actions, or that have features or groups of their own.
        """
        if state.features.shape[1] == 0:
            return
        if state.features.shape[2] != self.before:
            expected = f"the {self.before} actions as candidates of all contexts that a plan keeps"
            raise InvalidInput("adopt: problem.actions", expected, f"{state.features.shape[2]} candidates")
        used = np.arange(state.weight.shape[1]) < state.kept[:, None]
        state.features = np.where(used[..., None, None], self._features(state.features, used), 0.0)
        more = np.broadcast_to(self.known, (*used.shape, *self.known.shape))
        state.known = np.concatenate([state.known, np.where(used[..., None, None], more, 0.0)], 2)
        here = np.broadcast_to(used[..., None], (*used.shape, len(self.known)))
        state.offered = np.concatenate([state.offered, here], 2)
        if state.groups.shape[2] > 1:
            state.groups = np.where(used[..., None, None], self._groups(state.groups, used), 0)
        history.mark(state)

    def _features(self, x: Floats, used: Bools) -> Floats:
        """Features with those of appended actions, `(S,A,n),(S)->(S,A',n')`."""
        if self.profiles is not None and (found := self._described(x, used, self.profiles)) is not None:
            return found
        after = self.before + len(self.known)
        for numbered, blocks in ((self.numbered, self.blocks),) if self.reads else ((False, True), (False, False)):
            case = x[:, :, 0, 1:] if numbered else x[:, :, 0]
            if blocks:
                case = x[:, :, 0, : x.shape[3] // self.before]
            if np.array_equal(_features_by_action(case, self.before, numbered, blocks)[used], x[used]):
                return _features_by_action(case, after, numbered, blocks)
        if not self.reads:
            return np.concatenate([x, np.zeros((*x.shape[:2], len(self.known), x.shape[3]))], 2)
        expected = "contexts in which every action has the features of the case, as appended ones have no others"
        raise InvalidInput("adopt: problem.actions", expected, "features that differ by action")

    def _described(self, x: Floats, used: Bools, profiles: Floats) -> Floats | None:
        """Features with those of appended actions, None in another layout, `(S,A,n),(S),(A',q')->(S,A',n')`."""
        old = profiles[: self.before, : profiles.shape[1] - len(self.known)]
        case = x[:, :, 0, : x.shape[3] // old.shape[1]]  # as profiles begin with 1
        return crossed(profiles, case) if np.array_equal(crossed(old, case)[used], x[used]) else None

    def _groups(self, groups: Ints, used: Bools) -> Ints:
        """Groups with those of appended actions, `(S,A,G),(S)->(S,A',G)`."""
        of_case = groups[:, :, :, ~self.divided]
        if (of_case[used] != of_case[used][:, :1]).any():
            expected = "contexts in which every action has the groups of the case, or those that `of` declares"
            raise InvalidInput("adopt: problem.groups", expected, "groups that differ by action")
        more = np.repeat(groups[:, :, :1], len(self.groups), 2)
        more[..., self.divided] = self.groups
        return np.concatenate([groups, more], 2)


def _features_by_action(case: Floats, actions: int, numbered: bool, blocks: bool) -> Floats:
    """The features of every action in a case, `(S,n)->(S,A,n')`; see `Policy.encode`."""
    x = np.repeat(case[:, :, None], actions, 2)
    if numbered:
        number = np.broadcast_to(np.arange(float(actions))[:, None], (*x.shape[:3], 1))
        return np.concatenate([number, x], 3)
    if not blocks:
        return x
    own = np.eye(actions)[:, :, None] * x[:, :, :, None, :]
    return own.reshape(*x.shape[:3], -1)
