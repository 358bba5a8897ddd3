"""Problems of tests in one line."""

from evenhand.problem import Outcome, Problem


def pose(*outcomes, actions=("a", "b"), horizon, **stated):
    """The problem of these outcomes, which are stated or named alone; the first is maximised if nothing else is."""
    outcomes = tuple(Outcome(o) if isinstance(o, str) else o for o in outcomes)
    stated = {"maximize": outcomes[0].name} | stated
    return Problem(actions=tuple(actions), outcomes=outcomes, horizon=horizon, **stated)
