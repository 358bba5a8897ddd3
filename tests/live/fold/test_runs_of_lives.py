"""Logs with marks, switches and erasures have the same state, whether they are folded in runs or event by event."""

import pytest

from evenhand.live.fold import loader
from evenhand.live.fold.fold import Fold
from evenhand.live.fold.runs import fold_runs
from evenhand.policy.kernels import events as entering
from tests.live.campaigns.test_audit_in_parallel import lived
from tests.live.fold.test_runs import same


def single(fold, events, coming):
    Fold.fold(fold, events)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_life_is_folded_in_runs_to_the_state_of_single_events(seed, tmp_path, monkeypatch, entered):
    for name in ("_PAYS_LOADED", "_PAYS_KEPT", "_PAYS"):
        monkeypatch.setattr(entering, name, 0)
    monkeypatch.setattr("evenhand.live.fold.runs._FEW", 2)
    monkeypatch.setattr("evenhand.live.worker.worker.fold_runs", single)
    monkeypatch.setattr(loader, "fold_runs", single)
    campaign = lived(f"sqlite:///{tmp_path / 'x.db'}", seed, erase=seed == 3, rounds=120)
    kinds = {event.kind for event in campaign.events()}
    assert {"switched", "refolded", "revised", "cancelled", *(["erased"] if seed == 3 else [])} <= kinds
    worker, found = campaign._worker, []
    monkeypatch.setattr(loader.Loader, "snapshots", lambda *_: iter(()))  # all of it, from no snapshot
    for way in (single, fold_runs):
        monkeypatch.setattr(loader, "fold_runs", way)
        assert not entered
        found.append(worker.folding.of(lambda after: worker.store.scan("shop", after)))
    same(*found)
    assert sum(entered) > 50
