"""Turns of threads are short while long work runs beside others, and as before once the last one ends."""

import sys
import threading

import pytest

from evenhand.core.garbage import short_turns


@pytest.fixture(autouse=True)
def usual():
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.004)
    yield 0.004
    sys.setswitchinterval(before)


def test_the_last_one_within_restores_them(usual):
    first, leave = threading.Event(), threading.Event()

    def other():
        with short_turns():
            first.set()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    first.wait()
    with short_turns():
        assert sys.getswitchinterval() == pytest.approx(0.0005)
    assert sys.getswitchinterval() == pytest.approx(0.0005)
    leave.set()
    thread.join()
    assert sys.getswitchinterval() == pytest.approx(usual)


def test_an_error_restores_them(usual):
    with pytest.raises(ZeroDivisionError), short_turns():
        _ = 1 / 0
    assert sys.getswitchinterval() == pytest.approx(usual)


def test_turns_that_are_shorter_stay_so():
    sys.setswitchinterval(0.0001)
    with short_turns():
        assert sys.getswitchinterval() < 0.0002
    assert sys.getswitchinterval() < 0.0002
