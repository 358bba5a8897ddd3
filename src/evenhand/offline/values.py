"""What fixed policies and rules would have been worth in a log, by several estimators beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.luck import check_seed
from evenhand.core.types import Floats
from evenhand.core.validate import file
from evenhand.offline.cross_fitting import Regressor, RidgeByErrors
from evenhand.offline.evidence import Evidence, evidence_of
from evenhand.offline.policies import LOGGED, Valued, limits, policies_of, probabilities, valued
from evenhand.offline.rules import policy_of
from evenhand.offline.scores import Estimate
from evenhand.replay.log import Source
from evenhand.report.quantities import objective_name
from evenhand.report.results import Measurement, Results, folder
from evenhand.report.summary import table

if TYPE_CHECKING:
    import pandas as pd

_FEW = 50.0  # effective rows below which an estimate is not to be trusted


@dataclass(frozen=True, kw_only=True)
class Value:
    """Values of policies by a log; print it to see its tables.

    Args:
        log, problem_file: names of the files.
        objective: what is maximised.
        policies: one per policy; the first is what was logged.
        limits: the budgets per row, by outcome.
        rows: of the log that were used.
        folds, seed: of the cross-fitting.
        notes: remarks about the log.
    """

    log: str
    problem_file: str
    objective: str
    policies: tuple[Valued, ...]
    limits: Mapping[str, float]
    rows: int
    folds: int
    seed: int
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per policy.

        Raises:
            MissingExtra: pandas is not installed.
        """
        names = ["policy", "value", "se", "low", "high", "beyond logged", "se beyond", "ips", "se ips", "snips"]
        names += ["se snips", "model alone", "switch", "effective rows", *(f"{name} used" for name in self.limits)]
        rows = [
            [
                p.policy,
                *p.value,
                *p.value.interval,
                *p.beyond,
                *p.inverse,
                *p.normalised,
                p.direct,
                p.switch,
                p.rows,
                *(p.used[name].value for name in self.limits),
            ]
            for p in self.policies
        ]
        return data_frame(rows, names)

    def results(self) -> Results:
        """Collect the rows of `results.json`."""
        settings: dict[str, object] = {
            "log": self.log,
            "problem": self.problem_file,
            "rows": self.rows,
            "folds": self.folds,
            "seed": self.seed,
        }
        found = Results("value", settings, se_of="by the influence function, for the population behind the log")
        for p in self.policies:
            estimates = {
                "": p.value,
                " beyond what was logged": p.beyond,
                " by IPS": p.inverse,
                " by SNIPS": p.normalised,
            }
            for what, estimate in estimates.items():
                found.rows.append(Measurement(p.policy, {}, self.objective + what, *estimate))
            found.rows.append(Measurement(p.policy, {}, f"{self.objective} by the model alone", p.direct))
            found.rows.append(Measurement(p.policy, {}, f"{self.objective} by switch", p.switch))
            found.rows.append(Measurement(p.policy, {}, "effective rows", p.rows))
            for name, used in p.used.items():
                found.rows.append(Measurement(p.policy, {}, f"{name} used", *used))
        return found

    def __str__(self) -> str:
        return "\n\n".join(["\n".join(self._head()), *self._tables(), "\n".join(self._reading())])

    def _head(self) -> Iterator[str]:
        yield f"{self.log}: {self.rows:,} rows; {self.objective} per row; {self.folds} folds, seed {self.seed}"
        yield from (f"note: {note}" for note in self.notes)
        for p in self.policies:
            if p.rows < _FEW:
                yield f"note: {p.policy!r} rests on {p.rows:.0f} effective rows, too few for its intervals"
            for name, limit in self.limits.items():
                if p.used[name].value - 3.0 * p.used[name].se > limit * (1.0 + 1e-9):
                    yield f"note: {p.policy!r} uses {p.used[name].value:.4g} {name} per row of {limit:.4g}"

    def _tables(self) -> Iterator[str]:
        first = self.policies[0].policy
        rows = [
            [
                p.policy,
                _told(p.value),
                "{:.4f} to {:.4f}".format(*p.value.interval),
                "" if p.policy == first else _told(p.beyond),
                f"{p.rows:,.0f}",
                *(f"{p.used[name].value:.4f}" for name in self.limits),
            ]
            for p in self.policies
        ]
        used = (f"{name} used" for name in self.limits)
        yield table([f"{self.objective} per row", "value ± se", "95 %", f"beyond {first}", "rows", *used], rows)
        rows = [
            [p.policy, _told(p.inverse), _told(p.normalised), f"{p.direct:.4f}", f"{p.switch:.4f}"]
            for p in self.policies
        ]
        yield table(["by other estimators", "IPS ± se", "SNIPS ± se", "model alone", "switch"], rows)

    def _reading(self) -> Iterator[str]:
        yield "value   doubly robust: predictions by models that have not seen the row, and what they missed in it."
        yield "beyond  the difference to what was logged, by pairs of rows."
        yield "rows    the effective number of rows that agree with the policy."


@named("X8", source="Dudik, Langford & Li 2011, doubly robust policy evaluation, by cross-fitted models")
def value(
    log: Source | Evidence,
    problem: str | Path | None = None,
    *,
    rules: Sequence[str] = (),
    policies: Mapping[str, Floats] | None = None,
    folds: int = 5,
    seed: int = 0,
    model: Callable[[], Regressor] = RidgeByErrors,
    out: str | Path | None = None,
) -> Value:
    """Estimate from a randomised log what fixed policies would have been worth.

    Equation: V(pi) = mean_i [sum_a pi(a | x_i) q_i(a) + pi(a_i | x_i) / p_i (y_i - q_i(a_i))]; the standard error is
    that of the mean of its terms. IPS, SNIPS, the model alone and switch are stated beside it.

    The table has what was logged, every action for everybody, the targeted policy at the budget of the file if that
    is on a known outcome, the rules and the policies.

    Args:
        log: a CSV or Parquet file, a data frame, or what `Evidence.read` returns.
        problem: a TOML file that states the meaning of the columns, and the problem.
        rules: such as "mens where recency < 4; else none".
        policies: by name, the probabilities of all actions in every row, `(N,A)`, without withdrawn actions. A policy
            that was fitted to the same log is judged too well.
        folds, seed, model: as for `curve`.
        out: a folder for results.json.

    Raises:
        InvalidInput: a key, column, rule or argument is wrong, or no row agrees with a policy.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = "".join(f"{x},{a},{int(x == a == 'yes')}\\n" for x in ("yes", "no") for a in ("yes", "no")) * 50
    >>> _ = (folder / "log.csv").write_text("likes,letter,visit\\n" + rows)
    >>> _ = (folder / "problem.toml").write_text('''
    ... maximize = "visit"
    ... horizon = 50
    ... features = { categorical = ["likes"] }
    ... action = { column = "letter", values = { no = "none", yes = "letter" } }
    ... propensity = { constant = 0.5 }
    ... outcomes = { visit = { range = [0, 1] } }
    ... ''')
    >>> found = value(folder / "log.csv", folder / "problem.toml", rules=["letter where likes = yes; else none"])
    >>> [(p.policy, round(p.value.value, 2)) for p in found.policies]
    [('as logged', 0.25), ('all none', 0.0), ('all letter', 0.5), ('letter where likes = yes; else none', 0.5)]
    """
    evidence = evidence_of(log, problem)
    check_seed(seed)
    asked = {rule: policy_of(rule, evidence) for rule in rules}
    for name, policy in (policies or {}).items():
        if name in (*asked, LOGGED, *(f"all {action}" for action in evidence.names)):
            raise InvalidInput("policies", "names that no other policy of the table has", name)
        asked[name] = probabilities(name, policy, evidence)
    out = None if out is None else folder(file("out", out))
    tables = evidence.tables(folds=folds, seed=seed, model=model)
    found = Value(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=objective_name(evidence.problem),
        policies=tuple(valued(evidence, tables, policies_of(evidence, tables) | asked)),
        limits=limits(evidence),
        rows=evidence.rows,
        folds=folds,
        seed=seed,
        notes=(*evidence.left_out, *evidence.notes),
    )
    if out is not None:
        found.results().write(out)
    return found


def _told(estimate: Estimate) -> str:
    return f"{round(estimate.value, 4) + 0.0:.4f} ± {estimate.se:.4f}"
