"""Pointers to views in compiled code: Numba finds `model.value(x, w, u)` by the type of `model`.

To Numba every class of views is a type, which it keeps by its name, so that callers are kept on disk like any other
kernel; kernels that are passed as arguments, or closed over, would be compiled anew in every process.

A view is passed as all of its arrays, seven machine words each, so that a policy would be hundreds of arguments. `hold`
puts a view behind a pointer, through which `held.part` reads it. That arrays of views are not counted is stated anew in
every method and at every reading, so that the compiler leaves the counts out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from numba import typeof
from numba.core import cgutils, types
from numba.core.errors import NumbaError
from numba.core.typing.templates import _OverloadMethodTemplate, infer_getattr, make_overload_attribute_template
from numba.experimental import structref
from numba.extending import intrinsic, lower_getattr, overload

from evenhand.core.kernel import Kernel, code_of, inlined, kernel
from evenhand.core.types import Floats

UNTYPED = NumbaError, ValueError  # a view has a field that Numba cannot type


@structref.register
class PointerType(types.StructRef):
    """The type of an object that holds a view."""


class Pointer(structref.StructRefProxy):
    """Holds a view; passing it takes as long as passing a number."""


structref.define_proxy(Pointer, PointerType, ["part"])


def _inside(kind: Any) -> list[Any]:
    """The types of the fields of a tuple."""
    return list(kind)


def _forget(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the value with arrays that have no counter of references."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts: Any = zip(_inside(kind), cgutils.unpack_tuple(builder, value, len(kind)), strict=True)
        return context.make_tuple(builder, kind, [_forget(context, builder, *part) for part in parts])
    context.nrt.incref(builder, kind, value)  # what holds another view
    return value


@intrinsic
def _borrow_view(typing: Any, view: Any) -> Any:
    """A view whose arrays do not count their references: to count those of a policy's takes microseconds per round."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _forget(context, builder, view, arguments[0])

    return view(view), build


_borrow: Any = _borrow_view  # with the arguments that kernels give


@lower_getattr(PointerType, "part")
def _part(context: Any, builder: Any, kind: Any, held: Any) -> Any:
    """Read a view that is held; at every reading the compiler has to see that its arrays are not counted."""
    values = structref._Utils(context, builder, kind).get_data_struct(held)
    return _forget(context, builder, kind.field_dict["part"], values.part)


@cache
def _without_counts(method: Kernel, arguments: int) -> Any:
    """A method of a view that does not count the references of the view's own arrays."""
    inner = inlined(method.py_func)

    def none(view: Any) -> Any:
        return inner(_borrow(view))

    def one(view: Any, a: Any) -> Any:
        return inner(_borrow(view), a)

    def two(view: Any, a: Any, b: Any) -> Any:
        return inner(_borrow(view), a, b)

    def three(view: Any, a: Any, b: Any, c: Any) -> Any:
        return inner(_borrow(view), a, b, c)

    def four(view: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return inner(_borrow(view), a, b, c, d)

    def five(view: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        return inner(_borrow(view), a, b, c, d, e)

    return (none, one, two, three, four, five)[arguments]


@kernel
def _hold(view: Any) -> Any:
    """A pointer to a view, whose arrays the caller keeps for as long."""
    return Pointer(_borrow_view(view))  # type: ignore[call-arg]  # Numba hands over what it is typed in


hold = code_of(_hold)


def type_of(value: object) -> Any:
    """The type of a value to Numba."""
    return typeof(value)


def pointer(view: Any) -> Any:
    """A pointer to a view, in which the fields that its class has `apart` are pointers as well."""
    inner = {name: pointer(getattr(view, name)) for name in getattr(view, "pointers", ())}
    return hold(view._replace(**inner) if inner else view)


def pointer_type(kind: Any) -> Any:
    """The type that `hold` gives to a view of some type, for which nothing is compiled."""
    return PointerType((("part", kind),))


def type_of_pointer(view: Any) -> Any:
    """The type that `pointer` gives to a view, for which nothing is compiled."""
    fields = getattr(view, "pointers", ())
    if not fields:
        return pointer_type(type_of(view))
    kinds = [type_of_pointer(z) if name in fields else type_of(z) for name, z in view._asdict().items()]
    return pointer_type(record_type(type(view), *kinds))


def record_type(record: type, *kinds: Any) -> Any:
    """The type of a NamedTuple of values of some types."""
    return types.NamedTuple(kinds, record)


class _Method(_OverloadMethodTemplate):
    """A method of NamedTuples that have no field of this name: kernels read records of many kinds."""

    def _resolve(self, typ: Any, attr: str) -> Any:
        return None if attr in typ.fields else super()._resolve(typ, attr)


def _verb(name: str, arguments: int, otherwise: Callable[..., object] | None = None) -> None:
    """Declare a method of views that kernels may call, and the default for views without it."""

    def find(view: Any, *given: Any) -> Any:
        method = getattr(view.instance_class, name, otherwise)
        if not isinstance(method, Kernel):
            return None  # Numba says that there is no such name
        is_default = method is otherwise  # which reads no array
        return method.py_func if is_default else _without_counts(method, arguments)

    takes = [Parameter(f"a{i}", Parameter.POSITIONAL_OR_KEYWORD) for i in range(1 + arguments)]
    find.__signature__ = Signature(takes)  # Numba takes no function of any number of them
    options: dict[str, Any] = {"strict": False, "jit_options": {"error_model": "numpy"}}
    kind = types.BaseNamedTuple
    infer_getattr(make_overload_attribute_template(kind, name, find, inline="never", base=_Method, **options))
    overload(find, **options)(find)


@kernel
def _ignore_decision(view: Any, decision: Any) -> None:
    """For goals that do nothing with decisions."""


@kernel
def _ignore_context(view: Any, context: Any, decision: Any, t: Any) -> None:
    """For goals that do nothing with contexts."""


@kernel
def _ignore_outcome(view: Any, decision: Any, y: Any, z: Any) -> None:
    """For goals that do nothing with outcomes."""


@kernel
def _ignore_exposure(view: Any, decision: Any, exposed: Any) -> None:
    """For goals that do nothing with exposures."""


@kernel
def _one_case(view: Any, step: Any) -> Floats:
    """For worlds in which every step is one case."""
    return np.ones(1)


@kernel
def _nothing_rare(view: Any, context: Any, decision: Any, t: Any) -> bool:
    """For parts whose kernels can commit every decision."""
    return False


@kernel
def _room_for_all(view: Any, decision: Any) -> bool:
    """For models whose arrays stay as long as they are."""
    return False


@kernel
def _goes_on(view: Any, t: Any, candidates: Any) -> bool:
    """For parts that never leave a round to Python."""
    return False


@kernel
def _no_plan(view: Any, context: Any, decision: Any, t: Any) -> bool:
    """For goals that plan nothing."""
    return False


# The methods by which kernels ask, and how many arguments each takes.
_QUESTIONS = {
    "value": 2,  # models, and their widths
    "update": 4,
    "radius": 2,
    "price": 0,  # goals, their objectives, and limits
    "slope": 2,
    "room": 1,
    "fits": 1,
    "pull": 5,  # rows
    "post": 3,
    "post_known": 1,
    "on_shares": 2,  # goals with rows by share, and their books
    "shares_now": 2,
    "restate": 3,
    "next_shares": 4,
    "reenter": 4,
    "heat": 0,  # plans
    "add_gain": 4,  # goals beside a plan
    "mix": 5,  # plans and goals beside them
    "tell_ahead": 2,  # what a policy tells of a model
    "tell_zeros": 2,
    "pick": 4,  # choices, and their rates
    "rates": 2,
    "context": 1,  # worlds, and what records a run
    "respond": 4,
    "enter": 4,
}
# Those that a view may lack.
_NOTICES: dict[str, tuple[int, Any]] = {
    "on_decision": (1, _ignore_decision),
    "on_context": (3, _ignore_context),
    "on_outcome": (3, _ignore_outcome),
    "on_exposure": (2, _ignore_exposure),
    "plans": (3, _no_plan),  # whether Python is to tell the goals of a context, after which views are made anew
    "pauses": (2, _goes_on),  # whether Python is to do the next round, after which views are made anew
    "defers": (3, _nothing_rare),  # whether Python is to decide again and commit, as something rare follows
    "grows": (1, _room_for_all),  # whether arrays of a model are too short for the outcomes of a decision
    "cases": (1, _one_case),
}
for _name, _count in _QUESTIONS.items():
    _verb(_name, _count)
for _name, (_count, _otherwise) in _NOTICES.items():
    _verb(_name, _count, _otherwise)
