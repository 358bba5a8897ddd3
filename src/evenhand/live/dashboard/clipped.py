"""Values of cases that count as others, as they are out of a range or none of the levels."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence

LATEST = 1000  # decisions that an alarm is judged by, so that it says how cases are now


class Clipped:
    """Counts out-of-range values by feature, in all decisions and in the latest 1,000.

    >>> clipped = Clipped()
    >>> for age in range(15, 25):
    ...     clipped.add(["age"] if age < 18 else [])
    >>> clipped.counts["age"], list(clipped.latest())
    (3, [('age', 3, 10)])
    """

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self._latest = deque[list[str]](maxlen=LATEST)

    def add(self, names: Sequence[str]) -> None:
        """Add the next decision, by the features whose values count as others."""
        self.counts.update(names)
        self._latest.append(list(names))

    def latest(self) -> Iterator[tuple[str, int, int]]:
        """Yield every feature that was out of range lately, with the number of decisions, and that of all lately."""
        found = Counter(name for names in self._latest for name in names)
        for name, n in found.items():
            yield name, n, len(self._latest)
