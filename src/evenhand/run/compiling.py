"""A line about the kernels that a run compiles, as a first run on a machine is busy with them for most of a minute."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from tqdm import tqdm

from evenhand.core.announcing import COMPILING
from evenhand.core.kernel_parts import Kernel


@contextmanager
def shown(progress: bool | None = None) -> Iterator[None]:
    """Show on stderr which kernel is being compiled: a bar in a terminal, else one line; nothing if all are cached.

    The number of kernels to come is not known, so that the bar counts them. Between two kernels it is hidden.
    """
    before, bars = Kernel.watch, _Bars(sys.stderr.isatty() if progress is None else progress)
    Kernel.watch = _unwatched if progress is False else bars.watch
    try:
        yield
    finally:
        Kernel.watch = before
        bars.close()


def _unwatched(name: str) -> AbstractContextManager[None]:
    return nullcontext()


class _Bars:
    """The bar, which is made for the first kernel."""

    def __init__(self, drawn: bool) -> None:
        self.drawn, self.said = drawn, False
        self.bar: Any = None

    @contextmanager
    def watch(self, name: str) -> Iterator[None]:
        """Show a kernel while it is compiled."""
        if not self.drawn:
            if not self.said:
                print(f"{COMPILING}: {name}, ...", file=sys.stderr, flush=True)
            self.said = True
            yield
            return
        if self.bar is None:
            self.bar = tqdm(desc=COMPILING, unit=" kernels", leave=False, file=sys.stderr)
        self.bar.set_postfix_str(name)
        yield
        self.bar.update()
        self.bar.clear()

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()
