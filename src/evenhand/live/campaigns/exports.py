"""Exports of decisions: tables, and the formats of other bandit libraries."""

from __future__ import annotations

import csv
import itertools
import json
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.core.files import quote, replacement
from evenhand.core.progress import Work
from evenhand.core.registry import suggestion
from evenhand.core.validate import on_disk
from evenhand.live.campaigns.history import History, outcome_columns
from evenhand.live.fold.column_encoder import ColumnEncoder, policy_of_campaign
from evenhand.live.log.events import read
from evenhand.live.log.store import Store

Case = Mapping[str, Any]


class Logged(NamedTuple):
    """One decision with its outcome and probability."""

    case: Case
    action: int
    probability: float
    reward: float


@dataclass(frozen=True)
class Feedback:
    """Iterates over the decisions of a campaign whose outcome was observed and whose probability is known, in order.

    Args:
        history: the campaign's history.
        outcome: the outcome that is the reward.
        coded: the encoder of cases, for campaigns of problem files.
    """

    history: History
    outcome: str
    coded: ColumnEncoder | None

    @staticmethod
    def of(store: Store, campaign: str, outcome: str | None) -> Feedback:
        """Read the feedback of a campaign.

        Raises:
            InvalidInput: a decision has several plays; or the outcome is missing, was not observed, or is maximised
                times a factor and not named: outcomes are exported as they were observed.
        """
        history = History.of(store, campaign)
        if history.plays > 1:
            raise InvalidInput("campaign", "one play per decision", f"{campaign!r}, with {history.plays}")
        *_, last = [read(event)["encoding"] for event in store.scan(campaign, kinds=("opened", "switched"))]
        stated = policy_of_campaign(last) if "units" in last else None
        found = [name.removeprefix("outcome ") for name in history.outcomes]
        if outcome is None:
            maximized = stated.policy.problem.maximize if stated else None
            if stated and any(o.name == maximized and o.times for o in stated.policy.problem.outcomes):
                got = f"none: {maximized!r} is maximised times a factor, but exported as it was observed"
                raise InvalidInput("outcome", f"the name of the reward, one of {found}", got)
            best = maximized if isinstance(maximized, str) else found[0] if len(found) == 1 else None
            if best is None:
                raise InvalidInput("outcome", f"the name of the reward, one of {found}", "none")
            outcome = best
        if found and outcome not in found:
            raise InvalidInput(
                "outcome", f"one that was observed, of {found}", f"{outcome!r}{suggestion(outcome, found)}"
            )
        return Feedback(history, outcome, stated.coded if stated else None)

    def __iter__(self) -> Iterator[Logged]:
        for event in self.history.decisions():
            state, outcomes = self.history.end(event)
            body = read(event)
            if state == "observed" and body["p"][0] is not None:
                reward = dict(outcome_columns(outcomes)).get(f"outcome {self.outcome}")
                if reward is not None:
                    yield Logged(body["case"], body["a"][0], body["p"][0], float(reward))

    def numbers(self) -> tuple[tuple[str, ...], Callable[[Case], Any]]:
        """Return the names of a case's numbers, and the function that computes them.

        For campaigns of problem files they are the policy's features: an intercept, standardised numbers, and
        indicators. For others they are the numbers of the case, unchanged; texts are left out.
        """
        if self.coded is not None and self.coded.units.packing is not None:
            hashed = [h.name for h in self.coded.units.hashed]
            raise InvalidInput("features", "none that are hashed in numbers of cases: export decisions or vw", hashed)
        if self.coded is not None:
            return self.coded.units.names, self.coded.units.row
        names = tuple(name for name, of in self.history.cases.items() if of <= {int, float, bool})
        return names, lambda case: [float(case.get(name, np.nan)) for name in names]


def write_npz(out: Path, feedback: Feedback, decisions: Iterable[Logged]) -> None:
    """Write the logged bandit feedback of the Open Bandit Pipeline.

    `dict(numpy.load(FILE))` has `n_rounds`, `n_actions`, `context` (n, d), `action`, `reward`, `position` (all 0),
    `pscore`, and the names `actions` and `features`.
    """
    features, numbers = feedback.numbers()
    context, reward, pscore, action = array("d"), array("d"), array("d"), array("q")
    for logged in decisions:
        context.extend(numbers(logged.case))
        action.append(logged.action)
        reward.append(logged.reward)
        pscore.append(logged.probability)
    count = len(action)
    with out.open("wb") as file:  # so that NumPy appends no .npz to the name
        np.savez_compressed(
            file,
            n_rounds=np.array(count),
            n_actions=np.array(len(feedback.history.actions)),
            context=np.frombuffer(context, float).reshape(count, len(features)),
            action=np.frombuffer(action, np.int64),
            reward=np.frombuffer(reward, float),
            position=np.zeros(count, np.int64),
            pscore=np.frombuffer(pscore, float),
            actions=np.array(list(feedback.history.actions), str),
            features=np.array(features, str),
        )


def write_vw(out: Path, feedback: Feedback, decisions: Iterable[Logged]) -> None:
    """Write lines for `vw --cb K`, where K is the number of actions.

    A line is `ACTION:COST:PROBABILITY | FEATURES`. Actions count from 1, in the order of the problem; the cost is the
    outcome with the other sign; numbers are `name:value` and names `name=value`. Blanks, colons, bars and per cent
    signs in names and texts are written as in URLs, `%20`.
    """
    with out.open("w", encoding="utf-8", newline="\n") as file:
        names = () if feedback.coded is None else feedback.coded.units.texts
        file.writelines(_line(logged, names) for logged in decisions)


def _line(logged: Logged, names: Collection[str] = ()) -> str:
    r"""Format a decision for Vowpal Wabbit.

    >>> _line(Logged({"age": 33, "zip code": "a:b"}, 0, 0.25, 1.0))
    '1:-1.0:0.25 | age:33.0 zip%20code=a%3Ab\n'
    """
    cost = 0.0 - logged.reward  # no -0
    return f"{logged.action + 1}:{cost!r}:{logged.probability!r} | {' '.join(_features(logged.case, names))}\n"


def _features(case: Case, names: Collection[str]) -> Iterator[str]:
    for name, value in case.items():
        if isinstance(value, str) or (name in names and isinstance(value, int)):  # 17 is a name where "17" is one
            yield f"{_escape(name)}={_escape(str(value))}"
        elif isinstance(value, Real):
            yield f"{_escape(name)}:{float(value)!r}"


def _escape(text: str) -> str:
    """Escape a text for use in a feature's name."""
    return re.sub(r"[\s:|%]", lambda z: "".join(f"%{byte:02X}" for byte in z[0].encode()), text)


SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet", ".npz": "obp"} | dict.fromkeys(
    (".vw", ".txt", ".dat"), "vw"
)
Row = dict[str, Any]
T = TypeVar("T")
_BATCH = 10_000  # rows that Parquet compresses together


def export(
    store: Store,
    campaign: str,
    out: Path,
    *,
    kind: str | None = None,
    outcome: str | None = None,
    observed: bool = False,
    verbatim: bool = False,
) -> int:
    """Write the decisions of a campaign to a file; returns their number.

    Args:
        store: the campaign's store.
        campaign: its name.
        out: the file, which is replaced once it is complete; a link is replaced, and not followed.
        kind: csv, jsonl and parquet are tables with the columns of `History`; obp is the logged bandit feedback of
            the Open Bandit Pipeline, and vw is the input of `vw --cb K`, see `evenhand.live.campaigns.exports`. By
            default it follows from the suffix of the file's name.
        outcome: the reward, for obp and vw; by default the maximised outcome, or the only observed one.
        observed: whether to leave out decisions without an outcome, as obp and vw always do.
        verbatim: whether texts of a CSV stay as they are. By default those that a spreadsheet would run as a formula
            get an apostrophe in front: they begin with =, +, -, @, a tab or a carriage return.

    Raises:
        InvalidInput: the format is unknown, the file cannot be written, or the outcome is missing.
        MissingExtra: the format is Parquet, and pyarrow is not installed.
    """
    kind = _kind(out, kind)
    if kind in _TABLES:
        if outcome is not None:
            raise InvalidInput("outcome", "none, as tables have all of them; or one of the formats obp and vw", outcome)
        history = History.of(store, campaign)
        with Work(f"writing {out.name}", "decision") as work, _new(out) as part:
            rows = _count((row for row in history if not observed or row["state"] == "observed"), work)
            if kind == "csv":
                rows = itertools.chain([{name: name for name in history.columns}], rows)  # a header has texts, too
            _TABLES[kind](part, history, rows if kind != "csv" or verbatim else map(_quote_row, rows))
    else:
        feedback = Feedback.of(store, campaign, outcome)
        with Work(f"writing {out.name}", "decision") as work, _new(out) as part:
            (write_npz if kind == "obp" else write_vw)(part, feedback, _count(feedback, work))
    return work.done


@contextmanager
def _new(out: Path) -> Iterator[Path]:
    with on_disk("out", "a file that can be written"), replacement(out, 0o600) as part:
        yield part


def _quote_row(row: Row) -> Row:
    """Put an apostrophe before texts that a spreadsheet would run.

    >>> _quote_row({"key": "=1+1", "outcome won": -1.0})
    {'key': "'=1+1", 'outcome won': -1.0}
    """
    return {name: quote(z) if isinstance(z, str) else z for name, z in row.items()}


def _count(rows: Iterable[T], work: Work) -> Iterator[T]:
    """Yield the rows and count them."""
    for row in rows:
        work.update()
        yield row


def _kind(out: Path, asked: str | None) -> str:
    known = tuple(dict.fromkeys(SUFFIXES.values()))
    if asked is None:
        if out.suffix.lower() not in SUFFIXES:
            expected = f"a name that ends in {', '.join(SUFFIXES)}, or a format"
            raise InvalidInput("out", expected, out.name)
        return SUFFIXES[out.suffix.lower()]
    if asked not in known:
        raise InvalidInput("format", f"one of {', '.join(known)}", f"{asked!r}{suggestion(asked, known)}")
    return asked


def _csv(out: Path, history: History, rows: Iterator[Row]) -> None:
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, history.columns, restval="")
        writer.writerows(rows)


def _jsonl(out: Path, history: History, rows: Iterator[Row]) -> None:
    with out.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _parquet(out: Path, history: History, rows: Iterator[Row]) -> None:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise MissingExtra("Parquet files", "parquet") from error
    kinds = _kinds(history)
    types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    mixed = {history.column(name) for name, of in history.cases.items() if _one(of) is None}
    with ParquetWriter(out, schema) as writer:
        while batch := list(itertools.islice(rows, _BATCH)):
            for row in batch:
                row |= {name: json.dumps(row[name]) for name in mixed if name in row}
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _kinds(history: History) -> dict[str, type]:
    """Return the type of every column; case columns with lists or values of several types are written as JSON texts."""
    kinds: dict[str, type] = dict.fromkeys(history.columns, str)
    kinds |= {"id": int, "at": int}
    kinds |= {name: float for name in history.columns if name.split(" ")[0] in ("probability", "outcome")}
    return kinds | {history.column(name): _one(of) or str for name, of in history.cases.items()}


def _one(of: set[type]) -> type | None:
    """Return the common type of all values, None if there is none."""
    rest = of - {type(None)}
    if rest == {int, float}:
        return float
    return rest.pop() if len(rest) == 1 and rest <= {int, float, bool, str} else None


_TABLES: Mapping[str, Callable[[Path, History, Iterator[Row]], None]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
