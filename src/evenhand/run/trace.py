"""The record of a run: running sums over rounds for every replica, and every play if that was recorded."""

from __future__ import annotations

import json
import zipfile
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core import texts
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.registry import suggestion
from evenhand.core.signatures import lacks, value_text
from evenhand.core.texts import count
from evenhand.core.types import Floats, Ints
from evenhand.policy.saving import fingerprint
from evenhand.policy.standings import comparisons
from evenhand.problem.constraints import Constraint
from evenhand.problem.constraints.outlook import chance, is_missed
from evenhand.problem.constraints.statements import Statement, state
from evenhand.problem.constraints.sums import total
from evenhand.problem.measures import Measure
from evenhand.problem.problem import Problem
from evenhand.run.plays import Plays, by_place

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from evenhand.report.summary import LockIn, Summary


SUMS = ("elapsed", "totals", "group_totals", "group_rounds", "measured", "under_way")  # at the points of a run
TRUTHS = ("expected", "group_expected", "measured_expected")  # the same of true means, None without a truth


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """Running sums of R replicas at G points of a run.

    An elapsed round is one that was decided, or in which nothing could be played; averages are per elapsed round.
    Totals are of the outcomes that arrived. Where outcomes are late, `in_expectation` has those of all plays. There,
    measures are of the true means of every round, which is not what they are on average. Learned outcomes count times
    their factors, in every number of a trace.
    """

    problem: Problem
    policy: str
    seed: int
    replicas: Ints  # (R,)
    finished: bool  # False where the run was interrupted
    times: Ints  # (G,) steps done
    elapsed: Floats  # (G, R) rounds
    totals: Floats  # (G, R, M + L) sums of outcomes, learned ones first
    group_totals: Floats  # (G, R, C, M + L)
    group_rounds: Floats  # (G, R, C)
    expected: Floats | None  # (G, R, M + B) sums of true means of observed outcomes of all plays, if there is a truth
    group_expected: Floats | None  # (G, R, C, M + B)
    measured: Floats  # (G, R, k) sums of the measures of rounds, of the outcomes that arrived
    measured_expected: Floats | None  # (G, R, k) of the true means of all plays, if there is a truth
    under_way: Floats  # (G, R) rounds, and parts of rounds, that were played and had not arrived yet
    offered_steps: Floats  # (R,) steps in which something could be played: rows read, where a log is replayed
    stopped: Floats  # (R,) the elapsed round after which nothing was playable any more, NaN where it went on
    restricted_after: (
        Floats  # (R,) the elapsed round after which a run went on with some of its offer masked; NaN where all fitted
    )
    same: Ints | None = None  # (R,) the action of the last round
    same_since: Floats | None = None  # (R,) the elapsed rounds before it was played in all, though others fitted too
    plays: Plays | None = None
    held_out: Floats | None = None  # (R, 2, M + L, 3) of `goals.Compared`, if rounds were held out
    by_period: Floats | None = None  # (R, P, 1 + C, W) the table of outcomes by period, where there are spans of time
    credits: Floats | None = None  # (R, k) what is left of the credits that constraints state and goals keep

    def __repr__(self) -> str:
        return texts.text(self._title, self._facts)

    def _repr_html_(self) -> str:
        return texts.table(self._title, self._facts)

    @property
    def _title(self) -> str:
        from evenhand.report.summary import Ending

        cut = Ending.of(self.ran_out)
        rounds = self.interrupted or (cut.instead_of(self.problem.horizon) if cut.replicas else "")
        rounds = rounds or count(self.problem.horizon, "round")
        return f"Trace of {self.policy!r}: {count(len(self.replicas), 'replica')}, {rounds}, seed {self.seed}"

    @property
    def _facts(self) -> list[tuple[str, str]]:
        """The means of the summary, and the methods to call next."""
        lines = self.summary().lines if len(self.elapsed) else ()
        shown = [(line.name, line.text) for line in lines[:8]]
        if len(lines) > 8:
            shown.append(("...", f"{len(lines) - 8} more"))
        plays = [] if self.plays is None else [("plays", "of every step, in `plays`")]
        return [*shown, *plays, ("see", "summary(), plot(), to_frame(), measure(constraint), objective()")]

    def at(self, step: int) -> int:
        """Return the point of a number of steps; 1, 2, 5, 10, 20, 50, ... and the last one are always among the points.

        Raises:
            InvalidInput: sums were not kept after so many steps.
        """
        found = int(np.searchsorted(self.times, step))
        if found == len(self.times) or self.times[found] != step:
            near = self.times[max(found - 1, 0) : found + 1].tolist()
            raise InvalidInput("step", f"one after which sums were recorded, such as {near}", step)
        return found

    def total(self, name: str) -> Floats:
        """Compute the sum of an outcome or a measure over the run, in its units, `->(R)`."""
        return np.asarray(self._sums(name)[-1])

    def average(self, name: str) -> Floats:
        """Compute the average of an outcome or a measure per elapsed round, at every point, `->(G,R)`."""
        return np.asarray(self._sums(name) / np.maximum(self.elapsed, 1.0))

    def by_step(self, name: str) -> Floats:
        """Return an outcome summed over the plays of each step, 0 where none was played or has arrived, `->(S,R)`.

        Raises:
            InvalidInput: plays were not recorded, or the problem has no such outcome.

        >>> from evenhand.environments import Court
        >>> from evenhand.recipes import uniform
        >>> from evenhand.run.simulation import simulate
        >>> world = Court(horizon=100)
        >>> trace = simulate(uniform(world.problem, 5), world, replicas=2, record="all", progress=False)
        >>> trace.by_step("ride").shape, (trace.by_step("ride").sum(0) == trace.total("ride")).all()
        ((100, 2), np.True_)
        """
        if self.plays is None:
            raise InvalidInput("trace", 'one with all plays, as of `simulate(..., record="all")`', "one without plays")
        names = self.problem.names
        if name not in names:
            raise InvalidInput("outcome", f"one of {names}", f"{name}{suggestion(name, names)}")
        return np.asarray(np.nansum(self.plays.outcomes[..., names.index(name)], 2))

    def objective(self) -> Floats:
        """Compute the objective at the average outcomes, at true means of all plays if they are known, `->(G,R)`."""
        objective, m = self.problem.objective, len(self.problem.observed)
        sums = []
        for name in objective.outcomes:
            i, _, column = self.problem.row(name)
            if column >= 0:
                of_groups = self.group_totals if self.group_expected is None or i >= m else self.group_expected
                sums.append(of_groups[:, :, column, i])
            else:
                sums.append((self.totals if self.expected is None or i >= m else self.expected)[:, :, i])
        return objective.value(np.stack(sums, -1) / np.maximum(self.elapsed, 1.0)[:, :, None])

    def as_arrived(self) -> Trace:
        """Return the run without its truth: the objective, too, is then that of the outcomes that arrived."""
        return replace(self, expected=None, group_expected=None, measured_expected=None)

    def in_expectation(self) -> Trace | None:
        """Return the run with the true means of all plays in place of arrived outcomes, None without a truth.

        A known outcome that counts only if its play is exposed is NaN, as the truth does not say which plays are.

        >>> from evenhand.environments import Delayed, MixedArms
        >>> from evenhand.recipes import uniform
        >>> from evenhand.run.simulation import simulate
        >>> world = Delayed(MixedArms(horizon=100), delay=80)
        >>> trace = simulate(uniform(world.problem, world.n_features), world, replicas=2, progress=False)
        >>> trace.under_way[-1]
        array([80., 80.])
        >>> trace.average("cost 1")[-1] < trace.in_expectation().average("cost 1")[-1]
        array([ True,  True])
        """
        if self.expected is None or self.group_expected is None or self.measured_expected is None:
            return None
        exact = self.problem.sure[len(self.problem.noisy) :]  # which exact outcomes count at once

        def all_plays(truth: Floats, arrived: Floats) -> Floats:
            return np.concatenate([truth, np.where(exact, arrived[..., truth.shape[-1] :], np.nan)], -1)

        totals, of_groups = all_plays(self.expected, self.totals), all_plays(self.group_expected, self.group_totals)
        return replace(
            self.as_arrived(),
            totals=totals,
            group_totals=of_groups,
            measured=self.measured_expected,
            under_way=0 * self.under_way,
            plays=None,
            by_period=None,
            credits=None,
        )

    @property
    def interrupted(self) -> str:
        """The progress of an interrupted run in words; empty if the run finished."""
        if self.finished:
            return ""
        horizon = self.problem.horizon
        if self.elapsed[-1].min() >= horizon:
            return f"INTERRUPTED at its end, with all {horizon:,} rounds"
        return f"INTERRUPTED after {int(self.elapsed[-1].max()):,} of {horizon:,} rounds"

    @property
    def ran_out(self) -> Floats:
        """The rounds after which no more cases came, as a log had no more; NaN where the run went on or stopped, `(R)`.

        A replica that a budget stopped has not run out of cases, nor has a run that ends at a time or was interrupted.
        """
        rounds = self.elapsed[-1]
        short = self.finished & (rounds < self.problem.horizon) & np.isnan(self.stopped)
        return np.where(short & (self.problem.until is None), rounds, np.nan)

    @property
    def locked_in(self) -> tuple[LockIn, ...]:
        """The replicas that may be locked in: they play one action alone, and end clearly below the others."""
        from evenhand.report.summary import Last, lock_ins

        if self.same is None or self.same_since is None or not len(self.elapsed):
            return ()
        value, since = self.objective()[-1], np.where(np.isnan(self.stopped), self.same_since, np.inf)
        last = Last(self.replicas, value, self.elapsed[-1], self.same, since)  # who stopped had no choice
        return lock_ins(self.problem.actions, last)

    def measure(self, constraint: Constraint) -> Floats:
        """Compute the measure of a constraint, of the problem or another one, at every point, `->(G,R)`.

        Raises:
            InvalidInput: the constraint reads an outcome or a grouping that the problem does not have.
        """
        if lacks(constraint, Constraint):
            labels = ", ".join(c.label for c in self.problem.subject_to) or "none"
            expected = f"a constraint, such as those in `problem.subject_to` ({labels})"
            raise InvalidInput("constraint", expected, value_text(constraint))
        if all(c is not constraint for c in self.problem.subject_to):
            state(self.problem, constraint)  # refuses what the problem does not have
        return constraint.measure(self)

    def summary(self) -> Summary:
        """Summarise the end of the run: the objective, every measure and every constraint, mean and worst replica.

        What is spent counts over the horizon, as it stays spent when a replica stops early. If the run was interrupted,
        or no more cases came to a replica (`ran_out`), it counts over the rounds that elapsed. While outcomes are under
        way, what depends on them has two lines: what arrived, and where there is a truth, what is to be expected of all
        plays.
        """
        from evenhand.report.quantities import at_true_means, quantities
        from evenhand.report.summary import Ending, Line, Summary, credits_of, spans_of, with_credit

        promised, lines = [s for s, _ in with_credit(self.problem, self.credits)], []
        used = self.elapsed[-1] / self.problem.horizon
        had_all = self.finished & np.isnan(self.ran_out)  # replicas that met all cases, or could have
        for q in quantities(self):
            values = q.value(self)[-1]
            error = np.inf if q.stated is None else self._chance(q.stated)
            shown = np.where(had_all, values * used, values) if q.spends else values
            line = Line.of(q.name, shown, worst=q.worst, limit=q.limit, error=error)
            if q.spends and self.finished and q.limit is not None:  # a total is limited, whatever rounds it took
                line = line._replace(missed=is_missed(float((values * used).mean()), q.limit, q.worst, error))
            lines.append(line._replace(missed=False) if q.stated in promised else line)
        lines += credits_of(self.problem, self.credits)
        lines += spans_of(self.problem, self.by_period)
        return Summary(
            policy=self.policy,
            replicas=len(self.replicas),
            interrupted=self.interrupted,
            under_way=(int(np.ceil(self.under_way[-1].min())), int(np.ceil(self.under_way[-1].max()))),
            stopped=Ending.of(self.stopped),
            restricted=Ending.of(self.restricted_after),
            lines=tuple(lines),
            at_means=at_true_means(self),
            ran_out=Ending.of(self.ran_out),
            horizon=self.problem.horizon,
            held_out=() if self.held_out is None else comparisons(self.problem.names, self.held_out),
            locked_in=self.locked_in,
        )

    def _chance(self, stated: Statement) -> float:
        """The standard error of a constraint's measure at the end, as a mean over replicas, at most."""
        per = stated.per(self)
        return chance(stated, self.problem, self.elapsed[-1], None if per is None else per[-1])

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame: one row per play if every play was recorded, else one per replica and point.

        Averages are of what arrived; the column `objective` is that of the true means of the plays if they are known.
        Where outcomes are late, there are columns of expected averages beside them.
        """
        if self.plays is not None:
            return data_frame(by_place(self.plays, self.problem, self.policy, self.replicas, self.finished))
        from evenhand.report.quantities import EXPECTED, measures_of, quantities

        g, r = self.elapsed.shape
        columns: dict[str, Any] = {
            "interrupted": np.full(g * r, not self.finished),
            "policy": np.full(g * r, self.policy),
            "replica": np.tile(self.replicas, g),
            "step": np.repeat(self.times, r),
            "round": self.elapsed.ravel(),
            "under way": self.under_way.ravel(),
            "objective": self.objective().ravel(),
        }
        columns |= {name: self.average(name).ravel() for name in self.problem.names}
        whole = self.in_expectation() if self.under_way.any() else None
        if whole is not None:
            columns |= {f"{name}{EXPECTED}": whole.average(name).ravel() for name in self.problem.names}
        found = [*measures_of(self), *(q for q in quantities(self) if q.limit is not None)]
        return data_frame(columns | {q.name: q.value(self).ravel() for q in found})

    def plot(self, path: Path | str | None = None) -> Figure:
        """Draw the objective, every measure and every constraint over the rounds, with a band over replicas.

        It is saved where a path is given, such as `figure.pdf`, whose letters are then TrueType fonts.
        """
        from evenhand.report.plots import figure_of, over_rounds  # matplotlib only when asked for

        return figure_of(over_rounds([self]), path)

    def save(self, path: str | Path) -> None:
        """Write arrays and names to `.npz`; `load` needs the problem again."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("problem", "plays")}
        arrays = {k: v for k, v in arrays.items() if v is not None}
        extra = {} if self.plays is None else {f"plays.{k}": v for k, v in self.plays._asdict().items()}
        names = json.dumps(_names(self.problem))
        with Path(path).open("wb") as file:  # NumPy would add a suffix to a path
            np.savez_compressed(file, allow_pickle=False, names=np.array(names), **arrays, **extra)

    @staticmethod
    def load(path: str | Path, problem: Problem) -> Trace:
        """Read a trace back.

        Raises:
            InvalidInput: the file is not a trace, or one of a problem with other outcomes or groups.
        """
        try:
            with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                z = {name: file[name] for name in file.files}
            names = json.loads(str(z.pop("names")))
        except (EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise InvalidInput("path", "a trace saved by Trace.save", path) from error
        if names != json.loads(json.dumps(_names(problem))):
            expected = f"outcomes, groups and measures as in the trace: {names}"
            raise InvalidInput("problem", expected, _names(problem))
        kept = {k.removeprefix("plays."): z.pop(k) for k in list(z) if k.startswith("plays.")}
        lacking = [f.name for f in fields(Trace) if f.default is MISSING and f.name not in (*z, *TRUTHS, "problem")]
        if lacking:
            raise InvalidInput("path", "a trace saved by this version of evenhand", f"one without {lacking}")
        return Trace(
            problem=problem,
            policy=str(z.pop("policy")),
            seed=int(z.pop("seed")),
            finished=bool(z.pop("finished")),
            plays=Plays(**kept) if kept else None,
            **(dict.fromkeys(TRUTHS) | z),
        )

    def _sums(self, name: str) -> Floats:
        """Return the sums of an outcome, in all or over a group, or of a measure, `->(G,R)`."""
        outcomes, measures = self.problem.names, tuple(m.name for m in self.problem.measures)
        if name in measures:
            return np.asarray(self.measured[:, :, measures.index(name)])
        try:
            return total(self, name)
        except InvalidInput:
            expected = f"one of {outcomes + measures}"
            raise InvalidInput("outcome", expected, f"{name}{suggestion(name, outcomes + measures)}") from None


def _names(problem: Problem) -> dict[str, object]:
    """Return the names behind the columns of a trace."""
    measures = [_describe(m) for m in problem.measures]
    return {"outcomes": problem.names, "columns": problem.columns, "measures": measures}


def _describe(measure: Measure) -> str:
    """Describe a measure and its settings, such as the function r of a satisfaction, on which its sums depend."""
    try:
        return f"{measure.name} ({fingerprint(measure)})"
    except InvalidInput:  # one of the user's own that has no hash
        return f"{measure.name} ({type(measure).__qualname__})"
