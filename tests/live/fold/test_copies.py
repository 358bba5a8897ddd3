"""Copies of the fold in memory: there are fewer as more decisions wait, as each of these is copied."""

from evenhand.live.fold.fold import Fold
from evenhand.live.stores.memory import MemoryStore
from tests.live.fold.test_corrections import opened


def test_what_copies_cost_does_not_grow_with_the_decisions_that_wait(monkeypatch):
    copied, whole = [], Fold.copy
    monkeypatch.setattr(Fold, "copy", lambda fold: copied.append(len(fold.pending)) or whole(fold))
    campaign = opened(MemoryStore())
    for i in range(1500):
        campaign.decide({"age": 20 + i % 40}, key=f"k{i}")
    assert copied == sorted(copied)
    assert 2 <= len(copied) <= 5
    assert sum(copied) <= 2 * 1500  # at most two copies of waiting decisions for each decision
