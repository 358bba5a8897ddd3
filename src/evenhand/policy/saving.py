"""States on disk: arrays by path in an `.npz` (never pickle), with the configuration in JSON."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from evenhand.core.errors import CannotSave, InvalidInput, StateMismatch
from evenhand.core.records import Decision
from evenhand.core.validate import EXACT
from evenhand.problem.clock import Between
from evenhand.version import __version__

S = TypeVar("S")
PART = ".part"  # how the names of files end that are being written
_META = "meta"
_NAMES = "names"  # of actions in a decision, which the problem has


class Mark(NamedTuple):
    """The configuration of a saved state."""

    shape: str  # names, parts and sizes of arrays, which must be the same
    settings: Mapping[str, str]  # every other setting by its path, such as "goals.1.step.size"


def mark(config: object, state: object, names: object) -> Mark:
    """Return the mark of a configuration: its shape is that of a fresh state of one replica, and its arrays' names."""
    return Mark(_digest(_tokens((_shapes(state), names))), dict(_settings(config)))


def owner(config: object, state: object) -> str:
    """Return a hash of a configuration, and of the shapes of its fresh state for any number of replicas.

    Parts of your own that no fingerprint can be taken of count by their class.
    """
    return _digest(itertools.chain(_tokens(_shapes(state)), _tokens(config, strict=False)))


def _shapes(state: object) -> list[tuple[str, tuple[int, ...]]]:
    return [(path, z.shape[1:] if len(z.shape) > 1 else ()) for path, z in flatten(state)]


def fingerprint(config: object) -> str:
    """Return a hash of nested configuration: dataclasses, arrays, numbers, names.

    >>> from evenhand.problem import Budget
    >>> fingerprint(Budget("ride", total=5)) == fingerprint(Budget("ride", total=5.0))
    True
    >>> fingerprint(Budget("ride", total=5)) == fingerprint(Budget("ride", total=6))
    False
    """
    return _digest(_tokens(config))


def _digest(tokens: Iterator[str]) -> str:
    digest = hashlib.sha256()
    for token in tokens:
        digest.update(token.encode() + b"\0")
    return digest.hexdigest()[:16]


def _settings(z: object, path: str = "") -> Iterator[tuple[str, str]]:
    if dataclasses.is_dataclass(z) and not isinstance(z, type):
        yield path or "policy", type(z).__qualname__
        for name, value in _stated(z):
            yield from _settings(value, f"{path}.{name}".lstrip("."))
    elif isinstance(z, list | tuple) and len(z) <= 20:
        yield path, f"{len(z)} entries"
        for i, value in enumerate(z):
            yield from _settings(value, f"{path}.{i}")
    elif isinstance(z, bool | str | int | float | np.number) or z is None:
        yield path, next(_tokens(z))
    else:
        yield path, _digest(_tokens(z))


def _stated(z: Any) -> Iterator[tuple[str, object]]:
    """Yield the fields of a configuration, but not what is marked "new" and at its default: earlier states lack it."""
    for f in dataclasses.fields(z):
        value = getattr(z, f.name)
        if not (f.metadata.get("new") and value == f.default):
            yield f.name, value


def _tokens(z: object, strict: bool = True) -> Iterator[str]:
    if dataclasses.is_dataclass(z) and not isinstance(z, type):
        yield type(z).__qualname__
        for name, value in _stated(z):
            yield name
            yield from _tokens(value, strict)
    elif isinstance(z, np.ndarray) and z.dtype.kind in "iuf":
        plain = z.astype(np.float64)
        exact = plain if z.dtype.kind == "f" or (np.abs(plain) <= EXACT).all() else z
        yield f"array{z.shape}{hashlib.sha256(exact.tobytes()).hexdigest()}"
    elif isinstance(z, np.ndarray):
        yield f"array{z.shape}"
        for value in z.ravel().tolist():
            yield from _tokens(value, strict)
    elif isinstance(z, Mapping):
        yield f"mapping{len(z)}"
        for key, value in z.items():
            yield str(key)
            yield from _tokens(value, strict)
    elif isinstance(z, list | tuple):
        yield f"sequence{len(z)}"
        for value in z:
            yield from _tokens(value, strict)
    elif isinstance(z, bool | str | date | Between) or z is None:
        yield repr(z)
    elif isinstance(z, int | np.integer) and abs(int(z)) > EXACT:
        yield repr(int(z))
    elif isinstance(z, int | float | np.number):
        yield repr(float(z))
    elif hasattr(z, "get_params") and not isinstance(z, type):  # an estimator of scikit-learn
        yield f"{type(z).__module__}.{type(z).__qualname__}"
        yield from _tokens(z.get_params(deep=False), strict)
    elif isinstance(z, type):  # such as an estimator's dtype
        yield f"{z.__module__}.{z.__qualname__}"
    elif isinstance(z, functools.partial):  # such as a class with some of its arguments
        yield "partial"
        yield from _tokens((z.func, z.args, dict(sorted(z.keywords.items()))), strict)
    elif not strict:
        yield f"{type(z).__module__}.{type(z).__qualname__}"
    else:
        raise InvalidInput("configuration", "dataclasses, arrays, numbers and names", f"{type(z).__name__}: {z!r}")


def flatten(z: object, path: str = "") -> list[tuple[str, np.ndarray[Any, Any]]]:
    """Return every array and number of a state, with its path."""
    found: list[tuple[str, np.ndarray[Any, Any]]] = []
    _gather(z, path, found)
    return found


def _gather(z: object, path: str, found: list[tuple[str, np.ndarray[Any, Any]]]) -> None:
    kind: Any = type(z)
    if kind is np.ndarray:  # as most are
        found.append((path, cast("np.ndarray[Any, Any]", z)))
    elif (names := _field_names(kind)) is not None:
        for name in names:
            _gather(getattr(z, name), f"{path}.{name}", found)
    elif isinstance(z, list):
        for i, value in enumerate(z):
            _gather(value, f"{path}.{i}", found)
    elif z is not None:
        found.append((path, np.asarray(z)))


@functools.cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    """The names of a dataclass's fields, None for other classes: looking them up took most of the time of a state."""
    return tuple(f.name for f in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


def refusals(z: object) -> Iterator[str]:
    """Yield the reasons, `unsaveable`, why parts of a state cannot be written as arrays."""
    if dataclasses.is_dataclass(z):
        yield from filter(None, [getattr(z, "unsaveable", "")])
        for f in dataclasses.fields(z):
            yield from refusals(getattr(z, f.name))
    elif isinstance(z, list):
        for part in z:
            yield from refusals(part)


def fill(z: object, arrays: Mapping[str, np.ndarray[Any, Any]], path: str = "") -> None:
    """Set every array and number of a state to those read, except settings that may differ, such as a horizon."""
    for f in dataclasses.fields(z):  # type: ignore[arg-type]
        if f.metadata.get("setting"):
            continue
        here, old = f"{path}.{f.name}", getattr(z, f.name)
        if isinstance(old, list):
            for i, part in enumerate(old):
                if dataclasses.is_dataclass(part):
                    fill(part, arrays, f"{here}.{i}")
        elif dataclasses.is_dataclass(old):
            fill(old, arrays, here)
        elif old is not None:
            if here not in arrays:
                raise StateMismatch(f"the saved state lacks {here}")
            new = arrays[here]
            kind, axes = np.asarray(old).dtype.kind, np.ndim(old)
            if new.ndim != axes or new.dtype.kind != kind or (kind == "f" and np.isnan(new).any()):
                raise StateMismatch(f"the saved {here} has {new.ndim} axes, or something that is not a number")
            setattr(z, f.name, type(old)(arrays[here]) if isinstance(old, int) else arrays[here])


def save(state: object, belongs: Mark, path: Path) -> None:
    """Write a state with the mark of its configuration, replacing the file only once it is complete."""
    for reason in refusals(state):
        raise CannotSave(reason)
    part = path.with_name(f"{path.name}.{os.getpid()}{PART}")  # another process may write the same file
    try:
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, **{_META: _meta(belongs)}, **dict(flatten(state)))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _meta(belongs: Mark) -> np.ndarray[Any, Any]:
    return np.array(json.dumps({"version": __version__, **belongs._asdict()}))


def _read(belongs: Mark, path: Path, allow: tuple[str, ...]) -> dict[str, np.ndarray[Any, Any]]:
    """Read the arrays of a file that belongs to this configuration, except for the settings that may differ."""
    if isinstance(allow, str):
        raise InvalidInput("allow", "a sequence of names of settings", repr(allow))
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays.pop(_META)))
        saved = Mark(meta["shape"], dict(meta["settings"]))
    except (EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise StateMismatch(f"{path}: not a saved state of evenhand, or one that was cut off") from error
    other = meta.get("version")
    written = f" (by evenhand {other}; this is {__version__})" if other != __version__ else ""
    names = [n for n in {**saved.settings, **belongs.settings} if saved.settings.get(n) != belongs.settings.get(n)]
    others = [n for n in names if n not in allow and n.rpartition(".")[2] not in allow]
    if saved.shape != belongs.shape:
        raise StateMismatch(f"{path}: saved by a policy of another shape{written}{_differences(saved, belongs, names)}")
    if others:
        told = _differences(saved, belongs, others)
        raise StateMismatch(f"{path}: saved by a policy configured differently{written}{told}")
    return arrays


def _differences(saved: Mark, here: Mark, names: list[str]) -> str:
    told = [f"{n} was {saved.settings.get(n, 'not there')}, is {here.settings.get(n, 'not there')}" for n in names[:8]]
    return (": " if told else "") + "; ".join(told) + ("; ..." if len(names) > 8 else "")


def save_decision(d: Decision, belongs: Mark, path: Path) -> None:
    """Write a decision whose outcome has not come yet."""
    arrays = {name: z for name, z in d._asdict().items() if name != _NAMES}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **{_META: _meta(belongs)}, **arrays)


def load_decision(belongs: Mark, path: Path, allow: tuple[str, ...], names: tuple[str, ...]) -> Decision:
    """Read a decision back; `names` are those of the actions."""
    arrays = _read(belongs, path, allow)
    if set(arrays) | {_NAMES} != set(Decision._fields):
        raise StateMismatch(f"{path}: not a saved decision of evenhand")
    return Decision(**arrays, names=names)


def load(start: Callable[..., S], belongs: Mark, path: Path, allow: tuple[str, ...]) -> S:
    """Read a state into the shape that `start(seed=, replicas=)` gives; refuse other files with a `StateMismatch`."""
    arrays = _read(belongs, path, allow)
    if ".seed" not in arrays or ".replicas" not in arrays:
        raise StateMismatch(f"{path}: not a saved state of evenhand")
    try:
        state = start(seed=int(arrays[".seed"]), replicas=arrays[".replicas"].tolist())
        fill(state, arrays)
    except (StateMismatch, TypeError, ValueError) as error:
        raise StateMismatch(f"{path}: {error}") from error
    return state
