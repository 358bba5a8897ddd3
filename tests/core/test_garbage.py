"""The search for garbage goes on after a pause, however that ends."""

import gc

import pytest

from evenhand.core.garbage import pause_collection


def test_an_interrupt_right_after_the_search_was_stopped_lets_it_go_on(monkeypatch):
    def interrupted(disable=gc.disable):
        disable()
        raise KeyboardInterrupt

    monkeypatch.setattr(gc, "disable", interrupted)
    with pytest.raises(KeyboardInterrupt), pause_collection():
        pass
    assert gc.isenabled()


def test_the_search_stays_off_where_it_was_off():
    gc.disable()
    try:
        with pause_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
