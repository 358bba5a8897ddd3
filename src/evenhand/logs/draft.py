"""Writes the draft of a problem file: every key with a sentence, the guesses, and what the user has to decide."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import checked
from evenhand.core.texts import amount
from evenhand.core.validate import file, on_disk
from evenhand.logs import toml
from evenhand.logs.bad_rows import FEW
from evenhand.logs.checks.balance import chance, drawn_by, stated_under, unbalanced
from evenhand.logs.checks.overlap import FEW as FEW_ROWS
from evenhand.logs.checks.repeats import is_owner, repeats
from evenhand.logs.column_guesses import MANY, UNCLEAR, Guess, Look, Looks, guess, looks, yes_no
from evenhand.logs.columns import POINT, Columns, Marks, plain
from evenhand.logs.dates import short
from evenhand.logs.keys import ACTION, DROP, FEATURES, KNOWN, LEARNED, LOG, PROPENSITY, Key, keys, named
from evenhand.logs.reading import MARK, Form
from evenhand.logs.request import Request, in_order, weights_of
from evenhand.logs.sources import Given, table_of
from evenhand.logs.vowpal_wabbit import VowpalWabbit
from evenhand.problem.hashes import COLUMNS

DECIDE = "DECIDE"
_EVEN = 1e-4  # the chance below which counts of actions are not taken to be equal
_MOST = 8  # names in a sentence
_WIDE = 118  # characters of a line
_BUDGET = """\
# A budget is on an outcome that is known before acting, such as 1 per letter. Take off the first signs to have one:
#
# [outcomes.{outcome}]
# known = {{ {action} = 1 }} # {known}
# column = "price" # Only if the values differ by case: the column that has them, or one per action.
#
# [[budget]]
# outcome = "{outcome}"
# rate = 0.3 # per case; or total = 1000 for all cases of the log
"""
SAMPLE = 10_000  # rows by which columns are told apart


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A problem file that was made from a log.

    Args:
        text: TOML, with a comment to each key.
        guessed: what was guessed, in sentences.
        open: what has to be decided before the file can be used; nothing for a log that is clear.
    """

    text: str
    guessed: tuple[str, ...]
    open: tuple[str, ...]

    def write(self, path: str | Path) -> Path:
        """Write the file.

        Raises:
            InvalidInput: there is one already, or it cannot be written.
        """
        out = file("path", path)
        with on_disk(str(out), "a new file in an existing folder"), out.open("x", encoding="utf-8") as written:
            written.write(self.text)
        return out

    def __str__(self) -> str:
        return self.text


class Written:
    """A draft that grows table by table."""

    def __init__(
        self, log: str, found: Looks, meant: Guess, whole: Columns, cluster: str | None, asked: Request
    ) -> None:
        self._log, self._found, self._meant, self._whole, self._cluster = log, found, meant, whole, cluster
        self._asked = asked
        self._lines: list[str] = []
        self._guessed: list[str] = []
        self._open: list[str] = []

    def draft(self) -> Draft:
        """Write all tables."""
        root, stated = named(keys()), self._meant.stated
        names, asked = [self._name(outcome) for outcome in self._meant.outcomes], self._asked
        if asked.weights:
            single = list(asked.weights) if list(asked.weights.values()) == [1.0] else []
            self._key("maximize", single[0] if single else asked.weights, root["maximize"])
            if rest := [name for name in names if name not in (*asked.weights, *asked.budgets)]:
                self._guessed.append(f"more outcomes, which are not maximised: {_listed(rest)}")
        elif names:
            others = f"; others are {_listed(names[1:])}" if names[1:] else ""
            aim, aimed = ("minimize", "minimised") if "minimize" in stated else ("maximize", "maximised")
            self._key(aim, names[0], root[aim], f"Here it is the first outcome{others}")
            self._guessed.append(f"outcomes: {_listed(names)}, of which {names[0]!r} is {aimed}")
        else:
            self._key("maximize", "outcome", root["maximize"])
        self._key("horizon", "log", root["horizon"])
        if self._cluster is not None:
            self._key("cluster", self._cluster, root["cluster"])
        if self._cluster is not None and "cluster" not in stated:
            self._guessed.append(f"cluster: {self._cluster!r}, which is named like whom rows are about, and repeats")
        if "weight" in stated:
            self._key("weight", stated["weight"], root["weight"])
        self._written()
        self._features()
        actions = self._action()
        self._propensity()
        for outcome in self._meant.outcomes:
            self._outcome(outcome)
        self._outside(self._meant.outcomes, self._meant.action)
        self._known()
        if not names:
            self._table("outcomes.outcome")
            self._undecided(
                "column",
                named(LEARNED)["column"],
                f"which column is the outcome? {self._no_outcome()}",
            )
        self._table("policy")
        self._lines.append(
            'name = "resolving" # plans with what is left. Without a name it is pgd, which does not plan.'
        )
        dear, known = actions[-1] if actions else "letter", named(KNOWN)["known"].about
        price = "price" if "cost" in names else "cost"
        if not asked.budgets:
            self._lines += ["", *_BUDGET.format(action=toml.key(dear), known=known, outcome=price).splitlines()]
        for name, total in asked.budgets.items():
            told = " # for all cases of the log; or rate = 0.3 per case"
            self._lines += [
                "",
                "[[budget]]",
                f"outcome = {toml.value(name)}",
                f"total = {toml.value(_plain(total))}{told}",
            ]
        return Draft(text="\n".join([*self._head(), *self._lines]) + "\n", guessed=tuple(self._guessed),
                     open=tuple(self._open))  # fmt: skip

    def _name(self, outcome: Look) -> str:
        return self._asked.names.get(outcome.name, outcome.name)

    def _unit(self, name: str, known: Mapping[str, Key]) -> None:
        """Write the unit of an outcome that is maximised."""
        if self._asked.unit is not None and name in self._asked.weights:
            self._key("unit", self._asked.unit, known["unit"])

    def _known(self) -> None:
        """Write the outcomes that are known in advance."""
        for name, values in self._asked.known.items():
            self._table(f"outcomes.{toml.key(name)}")
            self._key("known", {action: _plain(z) for action, z in values.items()}, named(KNOWN)["known"])
            self._unit(name, named(KNOWN))
            told = ", ".join(f"{action} {amount(z)}" for action, z in values.items())
            self._guessed.append(f"{name!r} is known before acting: {told}; 0 under other actions")

    def _no_outcome(self) -> str:
        unclear = [c.name for c in self._found.columns if c.kind == UNCLEAR]
        if unclear:
            return f"{_listed(unclear)} may be it, once its numbers have no separators of thousands"
        return "No name looks like one; take it out of the features"

    def _head(self) -> list[str]:
        lines = [f"# Drafted from {self._log}. What was guessed:", "#"]
        lines += [line for sentence in self._guessed for line in _comment(sentence, "# - ")]
        if self._open:
            lines += ["#", f"# What you have to decide, where {MARK!r} stands:", "#"]
            lines += [line for sentence in self._open for line in _comment(sentence, "# - ")]
        else:
            lines += ["#", "# Nothing has to be decided before it can be used; but check what was guessed."]
        return [*lines, ""]

    def _written(self) -> None:
        """Write the format of the log, where it is not the default, and note what is read otherwise than it looks."""
        found, known = self._found, named(LOG)
        stated = {"decimal": found.decimal, "missing": list(found.missing), "dates": found.dates}
        points = any(Marks.of(z.values).may for z in self._found.columns if z.kind == "number")  # that need the key
        default = {"decimal": None if points else POINT, "missing": [""], "dates": None}
        other = {name: value for name, value in stated.items() if value != default[name]}
        if other:
            self._table("log")
        for name, value in other.items():
            self._key(name, value, known[name])
        if "decimal" in other:
            self._guessed.append(f"decimal: {found.decimal!r} is between whole numbers and fractions")
        self._guessed += [note for note in self._whole.notes if self._meant.stated or "log.encoding" in note]
        used = [z for z in (self._meant.propensity, *self._meant.outcomes, *self._meant.features) if z is not None]
        shares = [z.name for z in used if z.sign == "%"]
        if shares:
            self._guessed.append(f"percentages are read as fractions, 12.5 % as 0.125: {_listed(shares)}")
        amounts = [z.name for z in used if z.sign not in ("", "%")]
        if amounts:
            self._guessed.append(f"amounts are read without their currency, as all rows have one: {_listed(amounts)}")
        years = [z.name for z in self._meant.dates if any(map(short, z.values))]
        if years:
            self._guessed.append(f"years of two digits are those from 1950 to 2049: {_listed(years)}")

    def _features(self) -> None:
        meant, known = self._meant, named(FEATURES)
        used = {"numeric": meant.numeric, "categorical": meant.categorical, "dates": meant.dates}
        self._table("features")
        for kind, columns in used.items():
            if columns:
                self._key(kind, [c.name for c in columns], known[kind])
                told = "features that are dates" if kind == "dates" else f"{kind} features"
                self._guessed.append(f"{told}: {_listed([c.name for c in columns])}")
        reasons: dict[str, list[str]] = {}
        action = meant.action
        late = [c.name for c in meant.features if action is not None and 1 < action.place < c.place]
        if late:
            comes, they = ("comes", "it was") if len(late) == 1 else ("come", "they were")
            told = f"{_listed(late)} {comes} after the action in the header: check that {they} known before"
            self._guessed.append(told)
        for column in meant.left_out:
            reasons.setdefault(column.why, []).append(column.name)
        for why, names in reasons.items():
            told = f"left out, as {why}: {', '.join(map(repr, names))}"
            self._lines += _comment(told)
        self._hashed()
        gaps = {c.name: "level" if c.kind == "name" else "indicator" for z in used.values() for c in z if c.gaps}
        if gaps:
            self._table("features.missing", known["missing"].within[0].about)
            self._lines += [f"{toml.key(name)} = {toml.value(treatment)}" for name, treatment in gaps.items()]
            self._guessed.append(f"missing values of {_listed(list(gaps))} are marked")
        if meant.left_out:
            self._guessed.append(f"left out: {_listed([c.name for c in meant.left_out])}, for the reasons below")

    def _hashed(self) -> None:
        """Propose to hash columns that were left out for their many names, as names or as words."""
        wide = [c.name for c in self._meant.left_out if c.why == MANY]
        columns = [c for c in self._found.columns if c.name in wide]
        texts = {c.name: {"words": 2} for c in columns if c.has_words}
        names = {c.name: COLUMNS for c in columns if not c.has_words}
        gaps = ", ".join(f'{toml.key(c.name)} = "level"' for c in columns if c.gaps and c.name in names)
        for name, value, what in (("hashed", names, "names"), ("texts", texts, "words")):
            if value:
                told = f"to read {_listed(list(value))}, whose {what} are then hashed, take off the next sign"
                if gaps and what == "names":
                    told += f"; as some are empty, also write {gaps} under [features.missing]"
                self._lines += [*_comment(told), f"# {name} = {toml.value(value)}"]

    def _action(self) -> list[str]:
        """Write the action; returns the names of actions."""
        known, action = named(ACTION), self._meant.action
        self._table("action")
        if action is None:
            among = f": one of {_listed(self._meant.actions)}?" if self._meant.actions else "? No name looks like one"
            self._undecided("column", known["column"], f"which column is the action{among}")
            for column in self._found.columns:
                if (column.kind == "name" or column.whole) and 2 <= len(column.values) <= _MOST:
                    names = {text: text for text in in_order(column.values)}
                    self._lines.append(f"# values = {toml.value(names)} # if it is {column.name!r}")
            self._lines += [
                f"# {known['values'].about}",
                f"values = {{ {toml.value(MARK)} = {toml.value('none')} }}",
            ]
            return []
        names = {text: text or "none" for text in in_order(list(self._played(action)))}
        self._key("column", action.name, known["column"])
        self._key("values", names, known["values"])
        self._guessed.insert(0, f"action: {action.name!r}, with {len(names)} different values")
        return list(names.values())

    def _played(self, action: Look) -> dict[str, int]:
        """Count how often each text of the action occurs; empty cells are none where they are too few to judge."""
        texts, _, counts = self._whole.names(action.name).counted()
        found = dict(zip(texts, counts.tolist(), strict=True))
        few = len(found) > 2 and found.get("", 0) < min(FEW * len(self._whole), FEW_ROWS)
        if few or self._meant.stated:
            found.pop("", None)
        return found

    def _propensity(self) -> None:
        known, action = named(PROPENSITY), self._meant.action
        self._table("propensity")
        if self._meant.propensity is not None:
            self._key("column", self._meant.propensity.name, known["column"])
            self._guessed.append(f"propensity: {self._meant.propensity.name!r}")
            return
        if action is not None:
            played = self._played(action)
            texts, counts = list(played), np.array(list(played.values()))
            even = np.full(len(counts), counts.mean())
            if chance(counts.astype(float), even, len(counts) - 1) > _EVEN:
                share = 1.0 / len(texts)
                self._key("constant", float(f"{share:.6f}"), known["constant"])
                told = f"propensity: {share:.3g} for every row, as the {len(texts)} actions occur equally often"
                self._guessed.append(told)
                return
            shares = zip(texts, counts / counts.sum(), strict=True)
            told = ", ".join(f"{text!r} {share:.3f}" for text, share in list(shares)[:5])
            why = f"actions occur unequally ({told}), and no column looks like their probabilities"
        else:
            why = "no column looks like one"
        self._undecided("column", known["column"], f"with which probabilities were actions drawn? {why}")
        if action is not None:
            self._lines += _comment(
                "or, if they were the same in every row, the planned ones in place of these shares:"
            )
            shares = np.round(counts / counts.sum(), 4)
            each = {text or "none": float(f"{z:.4f}") for text, z in zip(texts, shares, strict=True)}
            self._lines.append(f"# constant = {toml.value(each)}")

    def _outcome(self, outcome: Look) -> None:
        known, names, called = named(LEARNED), self._whole.names(outcome.name), self._name(outcome)
        self._table(f"outcomes.{toml.key(called)}")
        if called != outcome.name:
            self._key("column", outcome.name, known["column"])
        stated = yes_no(outcome.values) if outcome.kind != "number" else {}
        rest = [text for text in names.values if text not in stated and text not in self._found.missing]
        if stated and not rest:
            self._key("values", stated, known["values"])
        else:
            z = names.numbers(self._found.decimal)
            low, high = float(np.nanmin(z)), float(np.nanmax(z))
            unit = low >= 0.0 and high <= 1.0
            ends = [0, 1] if unit else [_plain(min(low, 0.0)), _plain(high if high > low else low + 1.0)]
            told = "" if unit else f"In the log it is {amount(low)} to {amount(high)}: state the worst that can happen"
            self._key("range", ends, known["range"], told)
        self._unit(called, known)
        if free := self._asked.free.get(outcome.name):
            self._key("free", [text or "none" for text in free], known["free"])
            self._guessed.append(f"{called!r} has no value under {_listed(free)}, where it is 0")

    def _outside(self, outcomes: Sequence[Look], action: Look | None) -> None:
        """Write what is done with rows that have no outcome, or no action, if there are some."""
        found = {z.name: self._whole.names(z.name).are(self._found.missing) for z in outcomes}
        for name, texts in self._asked.free.items():
            assert action is not None  # by which it is free
            found[name] = found[name] & ~self._whole.names(action.name).are(texts)
        if action is not None and "" not in self._played(action):
            found[action.name] = self._whole.names(action.name).are({""})
        gaps = {name: f"{missing.mean():.1%}" for name, missing in found.items() if missing.any()}
        odd = {z.name: self._odd(z) for z in outcomes if z.kind != "number" and not yes_no(z.values)}
        odd = {name: texts for name, texts in odd.items() if texts}
        if not gaps and not odd:
            return
        outside = named(keys())["outside"]
        self._table("outside", outside.about)
        for name, share in gaps.items():
            told = f"{share} of the rows have none: the others are selected by it"
            self._lines += [*_comment(told), f"{toml.key(name)} = {toml.value(DROP)}"]
            self._guessed.append(f"rows without {name!r}, {share}, are dropped, which a check counts")
        for name, texts in odd.items():
            told = f"where {name!r} is no number, or in another currency than most, such as {texts[0]!r}"
            if name not in gaps:
                self._lines += [*_comment(f"rows {told}"), f"{toml.key(name)} = {toml.value(DROP)}"]
            self._guessed.append(f"rows {told}, are dropped, which a check counts: better correct the log")

    def _odd(self, outcome: Look) -> list[str]:
        """The texts of an outcome that are neither missing nor numbers in the sign that most have."""
        names = self._whole.names(outcome.name)
        read = dict(zip(names.texts(), names.numbers(self._found.decimal).tolist(), strict=True))
        return [text for text, z in read.items() if np.isnan(z) and text not in self._found.missing]

    def _table(self, name: str, about: str = "") -> None:
        self._lines += ["", f"[{name}]", *([f"# {about}"] if about else [])]

    def _key(self, name: str, value: object, key: Key, more: str = "") -> None:
        comment = f"{key.about} {more}." if more else key.about
        written = f"{name} = {toml.value(value)}"
        if isinstance(value, list) and len(written) > _WIDE:
            written = "\n".join([f"{name} = [", *_wrapped([f"{toml.value(item)}," for item in value]), "]"])
        if len(written) + len(comment) + 3 <= _WIDE:
            self._lines.append(f"{written} # {comment}")
        else:
            self._lines += [*_comment(comment), written]

    def _undecided(self, name: str, key: Key, question: str) -> None:
        self._open.append(question)
        self._lines += [*_comment(f"{DECIDE}: {question}"), f"{name} = {toml.value(MARK)} # {key.about}"]


def _plain(value: float) -> int | float:
    return int(plain(value)) if value == int(value) and abs(value) < 1e15 else value


def _comment(text: str, start: str = "# ") -> list[str]:
    return textwrap.wrap(text, _WIDE, initial_indent=start, subsequent_indent="#   ", break_on_hyphens=False)


def _wrapped(items: Sequence[str]) -> list[str]:
    """Put as many items on a line as fit, without a break within one."""
    lines = [f"    {items[0]}"]
    for item in items[1:]:
        if len(lines[-1]) + len(item) < _WIDE:
            lines[-1] += f" {item}"
        else:
            lines.append(f"    {item}")
    return lines


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(map(repr, names[:_MOST])) + more


@checked
def draft(
    log: Given,
    *,
    action: str | None = None,
    maximize: str | None = None,
    budgets: Mapping[str, float] | None = None,
    known: Mapping[str, Mapping[str, float]] | None = None,
    unit: str | None = None,
) -> Draft:
    """Draft a problem file from the header of a log and its first rows.

    Columns are told apart by their names, their values and their places. What looks like the action, the propensity and
    the outcomes is read from all rows: the names of actions, whether they occur equally often, and ranges of outcomes.
    So is a column that is named like whom rows are about, which is the cluster if its values repeat.

    Args:
        log: as for `read_log`.
        action: the column of the action; by default it is guessed, as what is maximised.
        maximize: the columns of outcomes, such as "margin - cost". A name may leave out signs and capitals of its
            column: `cost` is the column "Cost (€)".
        budgets: by outcome, for all rows of the log. A cost that is the same in all rows of an action is known before
            acting; any other one is learned.
        known: the costs that no column has, by action, such as `{"cost": {"call": 7.1, "gift": 12}}`.
        unit: in which all outcomes that are maximised are counted, such as euros.

    Raises:
        InvalidInput: the log cannot be read, or has no rows; or there is no column of a name.
        MissingExtra: pyarrow is needed for all but CSV and Vowpal Wabbit, and is not installed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("age,letter,visit\\n" + "41,yes,1\\n30,no,0\\n" * 100)
    >>> found = draft(path)
    >>> found.open
    ()
    >>> print(found.guessed[0])
    action: 'letter', with 2 different values
    >>> asked = draft(path, maximize="visit - 0.1 * cost", budgets={"cost": 50}, known={"cost": {"yes": 1}})
    >>> asked.text.splitlines()[-3:-1]
    ['[[budget]]', 'outcome = "cost"']
    """
    weights = {} if maximize is None else weights_of(maximize)
    request = Request(action=action, weights=weights, budgets=budgets or {}, known=known or {}, unit=unit)
    table = table_of(log)
    sample = table.read(dict.fromkeys(table.header({}), "the header"), most=SAMPLE)
    if not len(sample):
        raise InvalidInput(table.name, "at least one row after the header", "none")
    found = looks(sample, table.form({}).separator)
    outcomes = request.outcomes_among(found)
    if isinstance(table, VowpalWabbit):
        if request != Request():
            raise InvalidInput(
                "action, maximize, budgets and known", "none, as this log states what columns are", "some"
            )
        meant = table.guess(found)
    else:
        meant = guess(
            found,
            lambda action, chances: drawn_by(sample, action.name, chances.name, found.decimal),
            request.action_among(found.columns),
            tuple(outcomes.values()),
        )
    if meant.action is not None:
        for column, actions in stated_under(sample, sample.names(meant.action.name), meant.features).items():
            under = ", ".join(map(repr, actions))
            why = f"it has values under {under} alone, so it came after the action: perhaps an outcome, free elsewhere"
            meant = meant.without([column], why)
    form = Form(decimal=found.decimal, missing=found.missing)
    free = [*(c.name for c in meant.features), *(c.name for c in meant.left_out)]
    owners = [c for c in free if is_owner(c)]
    of_owners = table.read(dict.fromkeys(owners, "the header"), form=form).names if owners else sample.names
    filled = [c for c in owners if not of_owners(c).are({"", *form.missing}).any()]  # as each row needs one
    cluster = next((c for c in filled if repeats(of_owners(c))), meant.stated.get("cluster"))
    why = "some rows have none, so that it cannot be the cluster: fill them, each with a name of its own"
    part = {c for c in owners if c not in filled and repeats(of_owners(c))}
    meant = meant._replace(left_out=tuple(c._replace(why=why) if c.name in part else c for c in meant.left_out))
    rows = np.arange(len(sample))
    if cluster is not None:
        meant = meant.without([cluster], "")
        meant = meant._replace(left_out=tuple(c for c in meant.left_out if c.name != cluster))
        rows = np.unique(sample.names(cluster).codes, return_index=True)[1]  # the first of each, which are independent
    if meant.action is not None and meant.propensity is None:
        differ = unbalanced(sample, sample.names(meant.action.name), meant.features, found.decimal, rows)
        why = "it differs between actions more than chance explains, so it came after them, or the probabilities of "
        meant = meant.without(differ, f"{why}actions depend on it")
    wanted = [c.name for c in (meant.action, meant.propensity, *meant.outcomes) if c is not None]
    whole = table.read(dict.fromkeys(wanted, "the header"), form=form) if wanted else sample
    played = None if meant.action is None else whole.names(meant.action.name)
    asked = request.found_in(outcomes, played, whole, found)
    meant = meant._replace(
        outcomes=tuple(c for c in meant.outcomes if asked.names.get(c.name, c.name) not in asked.known)
    )
    return Written(table.name, found, meant, whole, cluster, asked).draft()
