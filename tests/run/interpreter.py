"""Blocks of rounds as Python plays them: it checks every index, and compiles nothing."""

from typing import NamedTuple

import pytest

from evenhand.core import pointers
from evenhand.core.interpreter import by_name, reachable_kernels
from evenhand.core.kernel import Kernel, kernels
from evenhand.run import blocks
from evenhand.testing import check_compiled


class Pointer:
    """Stands for what compiled code has in place of a view."""

    def __init__(self, view):
        self.part = view


def check_interpreted(policy, environment, **sizes):
    """`check_compiled`, with the kernels of blocks as they are written."""
    with pytest.MonkeyPatch.context() as patch:
        ordinary = blocks.Blocks.run

        def run(self, first, last):
            with kernels("interpreted"):
                return ordinary(self, first, last)

        def hold(view):
            _interpret(blocks._rounds)
            return Pointer(_readable(view, patch))

        patch.setattr(pointers, "hold", hold)
        patch.setattr(blocks, "code_of", lambda kernel: kernel)
        patch.setattr(blocks.Blocks, "run", run)
        return check_compiled(policy, environment, **sizes)


def _readable(view, patch):
    """The same view as compiled code reads it: with fields of records by name, and all methods that it may lack."""
    for name, (_, otherwise) in pointers._NOTICES.items():
        if not hasattr(type(view), name):
            patch.setattr(type(view), name, otherwise, raising=False)
    for method in vars(type(view)).values():
        if isinstance(method, Kernel):
            _interpret(method)
    fields = (_readable(z, patch) if hasattr(z, "_fields") else by_name(z) for z in view)
    return type(view)(*fields)


def _interpret(kernel):
    """Let a kernel begin anew, and all that it calls: machine code, which checks no index, may be there already."""
    for each in (kernel, *reachable_kernels(kernel)):
        each._to(each.begin)


class Kind(NamedTuple):
    """A class of views, and the types of its arrays and numbers; of views within, their classes."""

    name: str
    fields: tuple[str, ...]


def kinds(view):
    """The kinds of a view and of all views within: for each, its methods are compiled anew."""
    if not hasattr(view, "_fields"):
        return set().union(*map(kinds, view)) if isinstance(view, tuple) else set()
    fields = (type(z).__name__ if hasattr(z, "_fields") else str(pointers.type_of(z)) for z in view)
    return {Kind(type(view).__name__, tuple(fields))}.union(*map(kinds, view))
