"""The five questions, and how their answers are read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion


class Feature(NamedTuple):
    """A feature of a case: a number between two ends, or one of some names."""

    name: str
    ends: tuple[float, float] | None = None
    levels: tuple[str, ...] = ()


class Aim(NamedTuple):
    """The outcome that is maximised, and its range."""

    name: str
    low: float = 0.0
    high: float = 1.0


class Limit(NamedTuple):
    """An outcome that is limited: its total, and what each action uses of it."""

    name: str
    total: float
    uses: dict[str, float]


class Span(NamedTuple):
    """The length of the run: a number of cases, or an end with a forecast of the cases per day."""

    cases: int
    until: date | None = None


class Answers(NamedTuple):
    """The answers to the five questions."""

    actions: tuple[str, ...]
    features: tuple[Feature, ...]
    aim: Aim
    limits: tuple[Limit, ...]
    span: Span


_NUMBER = r"[+-]?\d[\d_]*(?:\.\d+)?"
_NAME = r"[^\W\d_][\w -]*"  # words, which may have spaces and hyphens
_EMPTY = ("", "none", "nothing", "no")


class Question(NamedTuple):
    """A question, an answer as an example, which is the default as well, and how an answer is read."""

    flag: str
    asks: str
    example: str
    form: str
    read: Callable[[str], Any]


def actions(text: str) -> tuple[str, ...]:
    """Read names separated by commas.

    >>> actions("nothing, letter, call")
    ('nothing', 'letter', 'call')
    """
    found = tuple(_name(part, "decide", text) for part in text.split(","))
    if len(set(found)) < max(2, len(found)):
        raise _unread("decide", text)
    return found


def features(text: str) -> tuple[Feature, ...]:
    """Read numbers as NAME LOW to HIGH, and names as NAME a/b/c, with commas between; nothing is known if empty.

    >>> [f.name for f in features("age 18 to 90, town north/south")]
    ['age', 'town']
    """
    if text.strip().lower() in _EMPTY:
        return ()
    found = tuple(_feature(part.strip(), text) for part in text.split(","))
    if len({f.name for f in found}) < len(found):
        raise _unread("known", text)
    return found


def _feature(part: str, text: str) -> Feature:
    if number := re.fullmatch(rf"({_NAME}?)[ :]+({_NUMBER}) *(?:to|-|\.\.) *({_NUMBER})", part):
        low, high = _number(number[2]), _number(number[3])
        if low < high:
            return Feature(number[1].strip(), (low, high))
    if named := re.fullmatch(rf"({_NAME}?)[ :]+([^/:]+(?:/[^/:]+)+)", part):
        levels = tuple(level.strip() for level in named[2].split("/"))
        if all(re.fullmatch(r"\w[\w -]*", level) for level in levels) and len(set(levels)) == len(levels):
            return Feature(named[1].strip(), levels=levels)
    raise _unread("known", text)


def aim(text: str) -> Aim:
    """Read NAME, which is yes or no, or NAME LOW to HIGH.

    >>> aim("answer"), aim("sales 0 to 100")
    (Aim(name='answer', low=0.0, high=1.0), Aim(name='sales', low=0.0, high=100.0))
    """
    if number := re.fullmatch(rf"({_NAME}?)[ :]+({_NUMBER}) *(?:to|-|\.\.) *({_NUMBER})", text.strip()):
        low, high = _number(number[2]), _number(number[3])
        if low < high:
            return Aim(number[1].strip(), low, high)
        raise _unread("maximize", text)
    return Aim(_name(text, "maximize", text))


def limits(text: str) -> tuple[Limit, ...]:
    """Read NAME TOTAL: ACTION USE, ACTION USE; several separated by semicolons, and none if empty.

    >>> limits("cents 500: letter 0.8, call 3")
    (Limit(name='cents', total=500.0, uses={'letter': 0.8, 'call': 3.0}),)
    """
    return () if text.strip().lower() in _EMPTY else tuple(_limit(part, text) for part in text.split(";"))


def _limit(part: str, text: str) -> Limit:
    head, _, tail = part.partition(":")
    named = re.fullmatch(rf"({_NAME}?) +({_NUMBER})", head.strip())
    uses = [re.fullmatch(rf"({_NAME}?) +({_NUMBER})", use.strip()) for use in tail.split(",")]
    read = [(use[1].strip(), _number(use[2])) for use in uses if use]
    total = _number(named[2]) if named else 0.0
    if named is None or len(read) < len(uses) or len(dict(read)) < len(read) or total <= 0.0:
        raise _unread("limit", text)
    if any(use < 0.0 for _, use in read):
        raise _unread("limit", text)
    return Limit(named[1].strip(), total, dict(read))


def span(text: str) -> Span:
    """Read a number of cases, or `until DATE, N a day`.

    >>> span("2_000"), span("until 2099-03-31, 200 a day").cases
    (Span(cases=2000, until=None), 200)
    """
    if ended := re.fullmatch(r"until (\d{4}-\d\d-\d\d)[, ]+(\d[\d_]*) (?:a|per) day", text.strip()):
        try:
            until = date.fromisoformat(ended[1])
        except ValueError:
            raise _unread("cases", text) from None
        if until <= date.today():
            raise InvalidInput("cases", "an end after today", ended[1])
        return Span(_cases(ended[2], text), until)
    return Span(_cases(text.strip(), text))


def _cases(digits: str, text: str) -> int:
    if not re.fullmatch(r"\d[\d_]*", digits) or not 1 <= int(digits) <= 10**9:
        raise _unread("cases", text)
    return int(digits)


QUESTIONS: tuple[Question, ...] = (
    Question("decide", "What can be decided?", "nothing, letter, call",
             "two names or more, with commas between", actions),
    Question("known", "What is known about a case?", "age 18 to 90, town north/south",
             "numbers as `age 18 to 90`, names as `town north/south`, or nothing", features),
    Question("maximize", "What is to be maximised?", "answer",
             "a name, which is yes or no, or with a range as `sales 0 to 100`", aim),
    Question("limit", "What is limited, and by how much?", "cents 50000: letter 80, call 300",
             "`NAME TOTAL: ACTION USE, ACTION USE`, several with semicolons between, or nothing", limits),
    Question("cases", "How many cases are there, or until when?", "1000",
             "a number of at least 1, or `until 2099-03-31, 200 a day`", span),
)  # fmt: skip


def read(texts: Mapping[str, str]) -> Answers:
    """Read the answers to all questions by their flags; the example stands for one that is missing.

    Raises:
        InvalidInput: an answer cannot be read, or does not fit the others.

    >>> read({"decide": "wait, call", "limit": "nothing"}).limits
    ()
    """
    found = Answers(*(q.read(texts.get(q.flag, example(q, texts))) for q in QUESTIONS))
    for limit in found.limits:
        for action in limit.uses:
            if action not in found.actions:
                expected = f"uses of the actions {', '.join(found.actions)}"
                raise InvalidInput("limit", expected, f"{action}{suggestion(action, found.actions)}")
    _distinct([found.aim.name, *(limit.name for limit in found.limits)])
    return found


def example(question: Question, texts: Mapping[str, str]) -> str:
    """Return the default answer, for the actions that were named.

    >>> example(QUESTIONS[3], {"decide": "wait, visit"})
    'cents 50000: visit 80'
    """
    if question.flag != "limit" or "decide" not in texts:
        return question.example
    uses = zip(actions(texts["decide"])[1:], (80, 300, *range(320, 9999, 20)), strict=False)
    return f"cents 50000: {', '.join(f'{action} {use}' for action, use in uses)}"


def _distinct(names: Sequence[str]) -> None:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise InvalidInput("limit", "a name other than that of the other outcomes", twice[0])


def _name(part: str, flag: str, text: str) -> str:
    if not re.fullmatch(_NAME, part.strip()):
        raise _unread(flag, text)
    return part.strip()


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidInput("number", "a finite one", digits)
    return value


def _unread(flag: str, text: str) -> InvalidInput:
    question = next(q for q in QUESTIONS if q.flag == flag)
    return InvalidInput(flag, f"{question.form}, such as `{question.example}`", f"`{text.strip()}`")
