"""Kernels: functions of arrays that Python runs as they are, until compiling them pays.

A kernel is plain scalar Python over arrays. Interpreted it takes some hundred times as long as compiled, with the same
bits; compiling it takes from a tenth of a second to ten. A process therefore interprets a kernel until that has cost as
much as compiling it would, and then compiles it: whatever follows, it pays at most twice what the better of the two
would have cost. Machine code on disk is read as soon as that pays, in the same sense.

The environment variable `EVENHAND_KERNELS` chooses: `auto`, the rule above; `compiled`, at the first call;
`interpreted`, never, as with `NUMBA_DISABLE_JIT=1`. The rule reads the CPU time of the calling thread, so that a loaded
machine compiles no earlier. No result depends on any of it.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial, update_wrapper
from importlib import import_module
from queue import SimpleQueue
from threading import Lock, Thread
from types import MethodType
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args

import numpy as np

from evenhand.core.compilation import COMPILE_PROGRESS
from evenhand.core.errors import InvalidInput
from evenhand.core.garbage import short_turns
from evenhand.core.interpreter import CAREFUL, PLAIN, by_name, codes, exact, reachable_kernels, result

P = ParamSpec("P")
R = TypeVar("R")

Way = Literal["auto", "compiled", "interpreted"]
WAYS = get_args(Way)

COMPILER = "evenhand.core.machine_code"  # by name, as it is imported when it is needed, and not before
# Seconds of a core; `python -m benchmarks.kernels` measures them.
PRICE = 4e-4  # to compile a kernel, per byte of the code of all functions that are compiled with it
READ = 0.004  # to read machine code from disk
LOAD = 0.25  # to import the compiler
GUESS = 1e-6  # to interpret a kernel that never ran, per number in its arguments


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Make a kernel of a function of arrays; division by zero follows IEEE rules as in NumPy."""
    return cast("Callable[P, R]", Kernel(function, "never"))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Make a helper that is inlined into its kernels: a compiled call that passes arrays would cost 50 ns."""
    return cast("Callable[P, R]", Kernel(function, "always"))


def in_python(function: Callable[P, object]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a Python function that runs in place of a kernel whose integers wrap around."""

    def mark(body: Callable[P, R]) -> Callable[P, R]:
        cast(Kernel, function).by_hand = body
        return body

    return mark


class Kernel(partial[Any]):
    """A function of arrays, interpreted or compiled.

    It is a `functools.partial` of what does the work at present, as calling that costs 20 ns once machine code does it;
    a method of our own would cost 120, at some forty calls per round.
    """

    py_func: Callable[..., Any]
    by_hand: Callable[..., Any] | None  # a second body, for Python
    targetoptions: dict[str, Any]  # where the compiler looks for them
    _code: Any  # `Code`, a descriptor
    _tenancy: Tenancy | None

    def __new__(cls, function: Callable[..., Any], inline: Literal["never", "always"]) -> Kernel:
        self = super().__new__(cls, function)
        update_wrapper(self, function)
        self.py_func, self.by_hand = function, None
        self.targetoptions = {"error_model": "numpy", "inline": inline}
        self._code = self._tenancy = None
        self._to(self.begin)
        return self

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind as a function does: views have kernels as methods."""
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        """Return its name, by which processes find it in its module; or how to make it, if it is in a function."""
        name = self.py_func.__qualname__
        return (Kernel, (self.py_func, self.targetoptions["inline"])) if "<locals>" in name else name

    @property
    def code(self) -> Any:
        """The same as `machine_code.Code`, which is compiled or read from disk when it is called."""
        if self._code is None:
            self._code, _process.loaded = import_module(COMPILER).Code.of(self), True
        return self._code

    @property
    def misses(self) -> int:
        """The number of times that it was compiled in this process, as it was not on disk."""
        return 0 if self._code is None else int(self._code.misses)

    @property
    def calls_code(self) -> bool:
        """Whether calls go to machine code."""
        return self._code is not None and self.func is self._code

    @cached_property
    def price(self) -> float:
        """The seconds of a core that compiling should take."""
        functions = [self, *(z for z in reachable_kernels(self) if z is not self)]
        return PRICE * sum(len(code.co_code) for z in functions for code in codes(z.py_func.__code__))

    def compile(self) -> Any:
        """Call machine code from now on, which is compiled or read from disk at the next call."""
        code = self.code
        self._to(code)
        _process.rented.pop(self, None)
        return code

    def begin(self, *arguments: Any) -> Any:
        """Do the first call, or the first one in another way."""
        if _process.way == "compiled":
            return self.compile()(*arguments)
        self._tenancy = self._tenancy or Tenancy(self)
        self._to(self._tenancy.interpret if _process.way == "interpreted" else self._tenancy.rent)
        return self(*arguments)

    def _to(self, does: Callable[..., Any]) -> None:
        self.__setstate__((does, (), None, self.__dict__))  # type: ignore[attr-defined]


class Tenancy:
    """A kernel while it is interpreted, and the cost so far, which pays for compiling once it reaches its price."""

    def __init__(self, kernel: Kernel) -> None:
        annotation = kernel.py_func.__annotations__.get("return", "")
        self._kernel, self._returns = kernel, annotation if isinstance(annotation, str) else ""
        self._function, self._is_careful = PLAIN.function(kernel), False
        self.spent, self._rate = 0.0, GUESS  # seconds, in all and per number in the arguments
        self._limit, self._is_due = READ, False  # seconds after which to look again

    def rent(self, *arguments: Any) -> Any:
        """Interpret a call, unless it pays to compile."""
        if _process.way != "auto":  # which was chosen since
            return self._kernel.begin(*arguments)
        arrays: list[Any] = []
        size = 1 + _gather(arguments, arrays)
        expected = self.spent + self._rate * size
        if expected > self._limit and self._buys(expected, arguments):
            return self._kernel.compile()(*arguments)
        began = time.thread_time()
        try:
            value = self._run(arguments, arrays)
        except Exception:  # compiled code may do what Python cannot
            return self._kernel.compile()(*arguments)
        took = time.thread_time() - began
        if not self.spent:
            _process.rented[self._kernel] = self
        self._rate = max(0.5 * self._rate, took / size) if self.spent else took / size
        self.spent += took
        _process.spent += took
        return value

    def interpret(self, *arguments: Any) -> Any:
        """Interpret a call regardless of its cost."""
        if _process.way != "interpreted":
            return self._kernel.begin(*arguments)
        arrays: list[Any] = []
        _gather(arguments, arrays)
        return self._run(arguments, arrays)

    def expect(self, cost: float) -> bool:
        """Whether it pays to compile, given the seconds of interpreting to come; the next call then does so."""
        self._is_due = self._is_due or self.spent + cost > self.price
        if self._is_due and self._limit < float("inf"):
            self._limit = -1.0
        return self._is_due

    @property
    def price(self) -> float:
        """The seconds that compiling should take on this machine."""
        return self._kernel.price * _process.scale

    def _buys(self, expected: float, arguments: tuple[Any, ...]) -> bool:
        """Whether machine code is to be compiled or read now; `expected` is the cost up to and with this call."""
        loaded, background = _process.loaded or _process.spent + expected - self.spent > LOAD, _process.background
        self._is_due = self._is_due or (loaded and expected > self.price)
        self._limit = min(1.5 * expected, self.price) if loaded else 1.5 * expected
        if background is None:
            return self._is_due or (loaded and self._kernel.code.is_on_disk(arguments))
        if _process.loaded:
            background.ask(self._kernel, arguments, self._is_due)
        return False

    def _run(self, arguments: tuple[Any, ...], arrays: list[Any]) -> Any:
        """Interpret a call; after an error, restore the arrays and interpret carefully from then on."""
        before = [z.copy() for z in arrays]
        while True:
            try:
                return self._call(arguments)
            except BaseException as error:  # also Ctrl-C
                for array, old in zip(arrays, before, strict=True):
                    if array.flags.writeable:
                        array[...] = old
                if self._is_careful or not isinstance(error, Exception):
                    raise
            self._function, self._is_careful = CAREFUL.function(self._kernel), True

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        with np.errstate(all="ignore"):
            given = map(exact if self._is_careful else by_name, arguments)
            return result(self._function(*given), self._returns)


def _gather(arguments: tuple[Any, ...], arrays: list[Any]) -> int:
    """Append all arrays in some arguments; returns how many numbers they have."""
    size = 0
    for z in arguments:
        if isinstance(z, np.ndarray):
            arrays.append(z)
            size += z.size
        elif isinstance(z, tuple):
            size += _gather(z, arrays)
    return size


class Background:
    """A thread that reads and compiles machine code, while calls are interpreted."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[Kernel, tuple[Any, ...], bool] | None] = SimpleQueue()
        self._busy = Lock()
        if hasattr(os, "register_at_fork"):  # a child of a process that compiles would wait for the compiler for ever
            import logging  # noqa: F401  whose lock is to be taken after ours, as the compiler needs it

            os.register_at_fork(before=self._busy.acquire, after_in_parent=self._busy.release, after_in_child=_in_child)
        Thread(target=self._work, name="evenhand-kernels", daemon=True).start()

    def ask(self, kernel: Kernel, arguments: tuple[Any, ...], due: bool) -> None:
        """Ask for the machine code of a kernel for the types of these arguments, if it is due or on disk."""
        self._asked.put((kernel, kernel.code.types(arguments), due))

    def end(self) -> None:
        """Compile the kernels that were asked for until now, and no more after them."""
        self._asked.put(None)

    def _work(self) -> None:
        with self._busy, short_turns():
            import_module(COMPILER)  # before anybody asks for it
            _set_aside()
        _process.loaded = True
        while (asked := self._asked.get()) is not None:
            kernel, types, due = asked
            with self._busy, short_turns():
                if not kernel.calls_code and (due or kernel.code.has(types)):
                    with suppress(Exception):  # a caller meets the error
                        kernel.code.compile(types)
                    kernel.compile()
                    _set_aside()


class _Process:
    """The state that the kernels of a process share."""

    def __init__(self, way: Way) -> None:
        self.way: Way = way
        self.spent, self.loaded = 0.0, False  # seconds of interpreting, and whether the compiler is imported
        self.rented: dict[Kernel, Tenancy] = {}  # kernels that were called and are interpreted
        self.background: Background | None = None
        self.stated = self.took = 1e-9  # seconds of compiling, as stated by prices and as measured

    @property
    def scale(self) -> float:
        """The ratio of the compiling times on this machine to the stated prices."""
        return self.took / self.stated if self.stated > 0.5 else 1.0


def way_of(value: str | None, disabled: str | None) -> Way:
    """The way to run kernels that the environment sets by `EVENHAND_KERNELS` and `NUMBA_DISABLE_JIT`.

    Raises:
        InvalidInput: there is no such way.

    >>> way_of(None, "1"), way_of("compiled", None)
    ('interpreted', 'compiled')
    """
    if disabled not in (None, "", "0"):
        return "interpreted"
    if value not in (None, "", *WAYS):
        raise InvalidInput("EVENHAND_KERNELS", "auto, compiled or interpreted", value)
    return cast(Way, value or "auto")


_process = _Process(way_of(os.environ.get("EVENHAND_KERNELS"), os.environ.get("NUMBA_DISABLE_JIT")))


def code_of(function: Callable[..., Any]) -> Any:
    """Return the machine code of a kernel, for those that only compiled code can run."""
    return cast(Kernel, function).code


def way() -> Way:
    """Return how kernels run in this process."""
    return _process.way


@contextmanager
def kernels(way: Way) -> Iterator[None]:
    """Run kernels in a way within the block; compiled ones stay compiled.

    >>> with kernels("interpreted"):
    ...     way()
    'interpreted'
    """
    before, _process.way = _process.way, way
    try:
        yield
    finally:
        _process.way = before


class Outlook:
    """A forecast of the cost of kernels in work of known length, from their cost since it began."""

    def __init__(self) -> None:
        self._before = {kernel: z.spent for kernel, z in list(_process.rented.items())}

    def tell(self, done: int, left: int) -> None:
        """State how many steps were done, and how many are left: kernels for which it pays are compiled next."""
        if _process.way == "auto" and left > 0:
            now = list(_process.rented.items())
            due = [(k, z) for k, z in now if z.expect((z.spent - self._before.get(k, 0.0)) * left / done)]
            COMPILE_PROGRESS.expect({name(kernel): z.price for kernel, z in due})


@contextmanager
def compile_in_background() -> Iterator[None]:
    """Compile in a thread within the block, while calls are interpreted, as a server does."""
    if _process.way != "auto" or _process.background is not None:
        yield
        return
    _process.background = background = Background()
    try:
        yield
    finally:
        _process.background = None
        background.end()


def record_time(price: float, took: float) -> None:
    """Record the time that compiling a kernel took, in seconds of this thread."""
    _process.stated += price
    _process.took += took


def name(kernel: Kernel) -> str:
    """The name of a kernel to people, with its module."""
    return f"{kernel.__module__.rpartition('.')[2]}.{kernel.py_func.__qualname__}"


def _set_aside() -> None:
    """Freeze all objects for the garbage collector, of which the compiler has tens of thousands that stay.

    Everybody would wait for a search of them, every few thousand requests.
    """
    gc.collect()
    gc.freeze()


def _in_child() -> None:
    _process.background = None  # threads are not copied
