"""Files that are no states, or none of this policy: one error that names the file; a file that is there stays there."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest

from evenhand.core.errors import EvenhandError, MissingFile, StateMismatch
from evenhand.environments import Court
from evenhand.models import Logistic
from evenhand.recipes import pgd, ucb
from tests.rows import for_each

COURT = Court(horizon=50)
POLICY = pgd(COURT.problem, Logistic(n_features=5))


def changed(path, **change):
    """The same file with other arrays; None leaves one out."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files} | change
    np.savez(path, **{name: z for name, z in arrays.items() if z is not None})


def other_version(path):
    with np.load(path) as file:
        meta = json.loads(str(file["meta"]))
    changed(path, meta=np.array(json.dumps(meta | {"version": "0.0.1", "shape": "x"})))


def cut(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def flipped(path):
    with zipfile.ZipFile(path) as file:  # headers of members say some things twice, and one of these is never read
        member = max(file.infolist(), key=lambda z: z.file_size)
    data, at = bytearray(path.read_bytes()), member.header_offset
    name, extra = struct.unpack("<HH", data[at + 26 : at + 30])
    data[at + 30 + name + extra + member.compress_size // 2] ^= 255
    path.write_bytes(data)


def of_another(path):
    other = ucb(COURT.problem, Logistic(n_features=7))
    other.save(other.start(), path)


def a_decision(path):
    state = POLICY.start()
    POLICY.save_decision(POLICY.act(state, COURT.start(0, state.replicas).context(0)), path)


def one_array():
    np.save(file := io.BytesIO(), np.ones(3))
    return file.getvalue()


STATES = {
    "an empty file": (lambda p: p.write_bytes(b""), "not a saved state"),
    "a text": (lambda p: p.write_text("state"), "not a saved state"),
    "a pickle": (lambda p: p.write_bytes(b"\x80\x04K\x01."), "not a saved state"),
    "an archive of nothing": (lambda p: p.write_bytes(b"PK\x05\x06" + bytes(18)), "not a saved state"),
    "half a state": (cut, "not a saved state of evenhand, or one that was cut off"),
    "a state with a broken byte": (flipped, "not a saved state of evenhand, or one that was cut off"),
    "arrays of objects": (lambda p: np.savez(p, meta=np.array({}, object)), "not a saved state"),
    "other arrays": (lambda p: np.savez(p, x=np.ones(3)), "not a saved state of evenhand"),
    "one array": (lambda p: p.write_bytes(one_array()), "not a saved state of evenhand"),
    "a version and no state": (lambda p: np.savez(p, meta=np.array('{"version": "0.0"}')), "not a saved state"),
    "settings that are none": (lambda p: changed(p, meta=np.array("[]")), "not a saved state"),
    "a state of another version": (other_version, "of another shape (by evenhand 0.0.1; this is"),
    "a state of another policy": (of_another, "of another shape"),
    "a decision": (a_decision, "not a saved state"),
    "a state without its model": (lambda p: changed(p, **{".model.theta": None}), "lacks .model.theta"),
    "a model of another shape": (lambda p: changed(p, **{".model.theta": np.zeros((1, 1, 9))}), ".model.theta"),
    "a model of text": (lambda p: changed(p, **{".model.theta": np.full((1, 5), "0")}), ".model.theta"),
    "a model that is NaN": (lambda p: changed(p, **{".model.theta": np.full((1, 5), np.nan)}), ".model.theta"),
    "a seed below 0": (lambda p: changed(p, **{".seed": np.array(-1)}), "seed"),
    "replicas twice": (lambda p: changed(p, **{".replicas": np.array([1, 1])}), "replicas"),
    "replicas in words": (lambda p: changed(p, **{".replicas": np.array(["a"])}), "replicas"),
}


@for_each("name", STATES)
def test_what_is_no_state_is_refused(name, tmp_path):
    path = tmp_path / "state.npz"
    POLICY.save(POLICY.start(), path)
    change, phrase = STATES[name]
    change(path)
    before = path.read_bytes()
    with pytest.raises(StateMismatch) as caught:
        POLICY.load(path)
    assert str(path) in str(caught.value)
    assert phrase in str(caught.value)
    if name != "a decision":
        with pytest.raises(StateMismatch, match=r"state\.npz"):
            POLICY.load_decision(path)
    assert path.read_bytes() == before


PLACES = {
    "a file that is not there": (lambda d: POLICY.load(d / "none.npz"), MissingFile, "No such file"),
    "a decision that is not there": (lambda d: POLICY.load_decision(d / "none.npz"), MissingFile, "No such file"),
    "a folder": (lambda d: POLICY.load(d), EvenhandError, "Is a directory"),
    "a folder that is not there": (
        lambda d: POLICY.save(POLICY.start(), d / "x" / "s.npz"), MissingFile, "can be written",
    ),
    "a folder to be written": (lambda d: POLICY.save(POLICY.start(), d), EvenhandError, "can be written"),
    "a folder that takes no files": (lambda d: POLICY.save(POLICY.start(), "/proc/s.npz"), EvenhandError, "written"),
    "a path as a number": (lambda d: POLICY.load(3), EvenhandError, "the path of a file"),
    "no path": (lambda d: POLICY.load(None), EvenhandError, "the path of a file"),
    "a path with a zero": (lambda d: POLICY.load("a\0b"), EvenhandError, "the path of a file"),
    "one name that may differ": (lambda d: POLICY.load("/dev/null", allow="name"), EvenhandError, "a sequence of"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_cannot_be_used_is_named(name, tmp_path):
    call, kind, phrase = PLACES[name]
    with pytest.raises(kind, match=phrase):
        call(tmp_path)
    assert list(tmp_path.iterdir()) == []
