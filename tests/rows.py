"""Seeds and rows of a table in one test each, which names all that fail."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest


def for_each(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Any = None, parts: int = 1
) -> Callable[[Any], Any]:
    """Run a test on every row, as `pytest.mark.parametrize` does, but in one test, which is skipped if all rows are.

    A row has a `tmp_path`, a `monkeypatch` and what `capsys` captures for itself, and shares all other fixtures.

    Args:
        names: of the arguments that a row has; a row of one name is its value.
        rows: the rows.
        ids: a function that names a value, or a name for every row; by default rows are shown as they are.
        parts: among how many tests the rows are dealt out, so that none takes long.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    every = [_values(row, len(names)) for row in rows]
    assert every, "there are no rows"
    told = [_told(ids, i, row) for i, row in enumerate(every)]

    def decorate(test: Any) -> Any:
        stated = inspect.signature(test)
        own = [name for name in ("tmp_path", "monkeypatch", "capsys") if name in stated.parameters]
        assert set(names) <= set(stated.parameters), f"{test.__name__} takes no {names}"

        @functools.wraps(test)
        def run(*self: Any, **fixtures: Any) -> None:
            numbers = range(fixtures.pop("part", 0), len(every), parts)
            failed, skipped = list[BaseException](), list[BaseException]()
            for i in numbers:
                with ExitStack() as stack:
                    mine = dict(_own(fixtures, own, i, stack))
                    try:
                        test(*self, **fixtures | mine | dict(zip(names, every[i], strict=True)))
                    except (Exception, pytest.fail.Exception) as error:
                        error.add_note(f"row {i}: {told[i]}")
                        failed.append(error)
                    except pytest.skip.Exception as error:
                        skipped.append(error)
            if len(skipped) == len(numbers):
                raise skipped[0]
            if len(failed) == 1:
                raise failed[0]
            if failed:
                lines = (f"{error.__notes__[0]}: {type(error).__name__}: {error}"[:500] for error in failed)
                raise AssertionError(f"{len(failed)} of {len(every)} failed\n" + "\n".join(lines)) from failed[0]

        left = [z for name, z in stated.parameters.items() if name not in names]
        run.__signature__ = stated.replace(parameters=[*left, *_PART[: parts > 1]])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("part", range(parts))(run) if parts > 1 else run

    return decorate


_PART = [inspect.Parameter("part", inspect.Parameter.KEYWORD_ONLY)]


def _own(fixtures: dict[str, Any], names: Sequence[str], i: int, stack: ExitStack) -> Iterator[tuple[str, Any]]:
    """What a row has for itself."""
    for name in names:
        if name == "tmp_path":
            folder = fixtures[name] / f"row {i}"
            folder.mkdir()
            yield name, folder
        elif name == "monkeypatch":
            yield name, stack.enter_context(pytest.MonkeyPatch.context())
        else:
            fixtures[name].readouterr()


def _values(row: Any, number: int) -> tuple[Any, ...]:
    if isinstance(row, type(pytest.param())):
        assert not row.marks, "a row has no marks"
        return tuple(row.values)
    return (row,) if number == 1 else tuple(row)


def _told(ids: Any, i: int, row: tuple[Any, ...]) -> str:
    if callable(ids):
        return ", ".join(str(ids(value)) for value in row)
    return repr(list(row))[:200] if ids is None else str(list(ids)[i])
