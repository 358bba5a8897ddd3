"""Drafts a problem file from a log: what its columns are taken for, and what the user has to decide."""

from __future__ import annotations

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.replay.balance import drawn_by, stated_under, unbalanced
from evenhand.replay.checks.repeats import is_owner, repeats
from evenhand.replay.drafted import Draft, Written
from evenhand.replay.form import Form
from evenhand.replay.guesses import guess
from evenhand.replay.log import Source, held, name_of, names_in, read_columns, separator_of
from evenhand.replay.looks import looks

SAMPLE = 10_000  # rows by which columns are told apart


@checked
def draft(log: Source) -> Draft:
    """Draft a problem file from the header of a log and its first rows.

    Columns are told apart by their names, their values and their places. What looks like the action, the propensity and
    the outcomes is read from all rows: the names of actions, whether they occur equally often, and ranges of outcomes.
    So is a column that is named like whom rows are about, which is the cluster if its values repeat.

    Args:
        log: a CSV file, a Parquet file or a folder of them, or a data frame.

    Raises:
        InvalidInput: the log cannot be read, or has no rows.
        MissingExtra: pyarrow is needed for data frames and Parquet, and is not installed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("age,letter,visit\\n" + "41,yes,1\\n30,no,0\\n" * 100)
    >>> found = draft(path)
    >>> found.open
    ()
    >>> print(found.guessed[0])
    action: 'letter', with 2 different values
    """
    name, log = name_of(log), held(log)
    sample = read_columns(log, dict.fromkeys(names_in(log), "the header"), most=SAMPLE)
    if not len(sample):
        raise InvalidInput(name, "at least one row after the header", "none")
    found = looks(sample, separator_of(log))
    meant = guess(found, lambda action, chances: drawn_by(sample, action.name, chances.name, found.decimal))
    if meant.action is not None:
        for column, actions in stated_under(sample, sample.names(meant.action.name), meant.features).items():
            under = ", ".join(map(repr, actions))
            why = f"it has values under {under} alone, so it came after the action: perhaps an outcome, free elsewhere"
            meant = meant.without([column], why)
    form = Form(decimal=found.decimal, missing=found.missing)
    free = [*(c.name for c in meant.features), *(c.name for c in meant.left_out)]
    owners = [c for c in free if is_owner(c)]
    of_owners = read_columns(log, dict.fromkeys(owners, "the header"), form=form).names if owners else sample.names
    filled = [c for c in owners if not of_owners(c).are({"", *form.missing}).any()]  # as each row needs one
    cluster = next((c for c in filled if repeats(of_owners(c))), None)
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
    whole = read_columns(log, dict.fromkeys(wanted, "the header"), form=form) if wanted else sample
    return Written(name, found, meant, whole, cluster).draft()
