"""States on disk: arrays by path in an `.npz` (never pickle), JSON for what they belong to."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evenhand.core.errors import CannotSave, InvalidInput, StateMismatch
from evenhand.core.records import Decision
from evenhand.version import __version__

S = TypeVar("S")
_META = "meta"


def fingerprint(config: object) -> str:
    """A hash of nested configuration: dataclasses, arrays, numbers, names.

    >>> from evenhand.problem.constraints import Budget
    >>> fingerprint(Budget("ride", total=5)) == fingerprint(Budget("ride", total=5.0))
    True
    >>> fingerprint(Budget("ride", total=5)) == fingerprint(Budget("ride", total=6))
    False
    """
    digest = hashlib.sha256()
    for token in _tokens(config):
        digest.update(token.encode() + b"\0")
    return digest.hexdigest()[:16]


def _tokens(z: object) -> Iterator[str]:
    if dataclasses.is_dataclass(z) and not isinstance(z, type):
        yield type(z).__qualname__
        for f in dataclasses.fields(z):
            yield f.name
            yield from _tokens(getattr(z, f.name))
    elif isinstance(z, np.ndarray):
        yield f"array{z.shape}"
        for value in z.ravel().tolist():
            yield from _tokens(value)
    elif isinstance(z, Mapping):
        yield f"mapping{len(z)}"
        for key, value in z.items():
            yield str(key)
            yield from _tokens(value)
    elif isinstance(z, list | tuple):
        yield f"sequence{len(z)}"
        for value in z:
            yield from _tokens(value)
    elif isinstance(z, bool | str) or z is None:
        yield repr(z)
    elif isinstance(z, int | float | np.number):
        yield repr(float(z))
    elif hasattr(z, "get_params") and not isinstance(z, type):  # an estimator of scikit-learn
        yield f"{type(z).__module__}.{type(z).__qualname__}"
        yield from _tokens(z.get_params(deep=False))
    elif isinstance(z, type):  # such as an estimator's dtype
        yield f"{z.__module__}.{z.__qualname__}"
    else:
        raise InvalidInput("configuration", "dataclasses, arrays, numbers and names", f"{type(z).__name__}: {z!r}")


def flatten(z: object, path: str = "") -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Every array and number of a state, with its path."""
    if dataclasses.is_dataclass(z):
        for f in dataclasses.fields(z):
            yield from flatten(getattr(z, f.name), f"{path}.{f.name}")
    elif isinstance(z, list):
        for i, value in enumerate(z):
            yield from flatten(value, f"{path}.{i}")
    elif z is not None:
        yield path, np.asarray(z)


def _refusals(z: object) -> Iterator[str]:
    """Why parts of a state cannot be written as arrays: what they say of themselves in `unsaveable`."""
    if dataclasses.is_dataclass(z):
        yield from filter(None, [getattr(z, "unsaveable", "")])
        for f in dataclasses.fields(z):
            yield from _refusals(getattr(z, f.name))
    elif isinstance(z, list):
        for part in z:
            yield from _refusals(part)


def _fill(z: object, arrays: Mapping[str, np.ndarray[Any, Any]], path: str = "") -> None:
    """Set every array and number of a state to what was read."""
    for f in dataclasses.fields(z):  # type: ignore[arg-type]
        here, old = f"{path}.{f.name}", getattr(z, f.name)
        if isinstance(old, list):
            for i, part in enumerate(old):
                if dataclasses.is_dataclass(part):
                    _fill(part, arrays, f"{here}.{i}")
        elif dataclasses.is_dataclass(old):
            _fill(old, arrays, here)
        elif old is not None:
            if here not in arrays:
                raise StateMismatch(f"the saved state lacks {here}")
            new = arrays[here]
            if new.ndim != np.ndim(old) or (new.dtype.kind == "f" and np.isnan(new).any()):
                raise StateMismatch(f"the saved {here} has {new.ndim} axes, or something that is no number")
            setattr(z, f.name, type(old)(arrays[here]) if isinstance(old, int) else arrays[here])


def save(state: object, mark: str, path: Path) -> None:
    """Write a state with the fingerprint of its configuration, replacing the file only once it is whole.

    Raises:
        CannotSave: a part of the state says that it cannot be written as arrays.
    """
    for reason in _refusals(state):
        raise CannotSave(reason)
    meta = json.dumps({"fingerprint": mark, "version": __version__})
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        np.savez(file, allow_pickle=False, **{_META: np.array(meta)}, **dict(flatten(state)))
    part.replace(path)


def _read(mark: str, path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """All arrays of a file that belongs to this configuration."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        saved = json.loads(str(arrays.pop(_META)))["fingerprint"]
    except (EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise StateMismatch(f"{path}: not a saved state of evenhand") from error
    if saved != mark:
        raise StateMismatch(f"{path}: saved by a policy configured differently (fingerprint {saved}, here {mark})")
    return arrays


def save_decision(d: Decision, mark: str, path: Path) -> None:
    """Write a decision whose outcome has not come yet."""
    fields = d._asdict()
    row_prices = {f"row_prices {i}": q for i, q in enumerate(fields.pop("row_prices"))}
    with path.open("wb") as file:
        np.savez(
            file, allow_pickle=False, **{_META: np.array(json.dumps({"fingerprint": mark}))}, **fields, **row_prices
        )


def load_decision(mark: str, path: Path) -> Decision:
    """Read a decision back.

    Raises:
        StateMismatch: the file is no decision, or one of another configuration.
    """
    arrays = _read(mark, path)
    row_prices = tuple(
        arrays.pop(name) for name in sorted((n for n in arrays if n.startswith("row_prices ")), key=_number)
    )
    if set(arrays) != set(Decision._fields) - {"row_prices"}:
        raise StateMismatch(f"{path}: not a saved decision of evenhand")
    return Decision(row_prices=row_prices, **arrays)


def _number(name: str) -> int:
    return int(name.split()[1])


def load(start: Callable[..., S], mark: str, path: Path) -> S:
    """Read a state into the shape that `start(seed=, replicas=)` gives.

    Raises:
        StateMismatch: the file is no saved state, or one of another configuration.
    """
    arrays = _read(mark, path)
    if ".seed" not in arrays or ".replicas" not in arrays:
        raise StateMismatch(f"{path}: not a saved state of evenhand")
    state = start(seed=int(arrays[".seed"]), replicas=arrays[".replicas"].tolist())
    _fill(state, arrays)
    return state
