"""The longer texts of the help of the command line."""

from __future__ import annotations

WARM = """\
Compile ahead. A process interprets its kernels, some five times slower, until they are compiled or found on disk.
This command makes a few decisions with the most common recipes and models (resolving, ucb, pgd, fw_dual, square_cbwk,
lin_cbwk and uniform; BayesianRidge, BayesianLogistic, Ridge and Logistic, with coefficients per action as well; hard
budgets and parity), so that later processes find their kernels compiled. Run it while an image is built:

  ENV NUMBA_CACHE_DIR=/kernels
  RUN evenhand warm && chmod -R a+rwX /kernels

Kernels are kept in the folder NUMBA_CACHE_DIR, or else beside the code of evenhand. A process finds them there only if
it may write to that folder, and on the same kind of processor. For parts of your own, make one decision and observe
one outcome while the image is built."""

OF_LOG = "that the policy learned from (default: what the store keeps of it)"

AFTER = """\
what follows the horizon: "nothing" is played, decisions are refused ("stop"), or "go on" with what is left of the
budgets"""

SERVE = """\
Decide for real: POST /decide answers with an action, POST /observe takes its outcome, and http://127.0.0.1:8000 shows
where the campaign stands. Everything is written to one log before it is answered. Several servers may share a store.

The problem file begins a campaign; it is the one that `evenhand replay` reads. Either it states the ranges and levels
of all columns, or a log is given that fixes them once. Several problem files are several campaigns, in one store:
their routes are below /campaigns/NAME/, such as POST /campaigns/email/decide.

The log keeps the problem file. After a stop, a crash or a switch, start the same command again, or leave the file out:
all campaigns of the store are then served as their logs have them. A file that a switch superseded is noted; one that a
campaign never had is refused.

If other machines can reach the server, every request has to carry a token: set EVENHAND_TOKEN to one that may do
everything, or state --tokens, or both."""

TOKEN = """\
Make a token at random. It is printed to stderr, for the client. Its entry in the file of `evenhand serve --tokens` is
printed to stdout; it has only the hash of the token. Roles: read (reports, pages, metrics, decisions), decide,
observe (outcomes and cancellations), change (what changes a campaign or its life)."""

SWITCH = """\
Continue with another problem file: other budgets, goals or settings, or an action that is added or withdrawn. What was
spent stays spent, and if the file allows it, prices and the model stay as well. Running servers read the file from the
log at their next request."""

EXPORT = """\
Write the decisions of a campaign to a file, in a format that follows from its name:

  .csv .jsonl .parquet   a table: a row per decision, with its case, action, probability, state and outcomes.
                         `evenhand replay` reads the CSV of --observed, with the columns action, probability, and
                         "outcome NAME". Parquet needs evenhand[parquet].
  .npz (obp)             the logged bandit feedback of the Open Bandit Pipeline: dict(numpy.load(FILE)) has n_rounds,
                         n_actions, context, action, reward, position and pscore. The context is as the policy reads
                         it; in a campaign opened from Python, it is the numbers of the case.
  .vw .txt .dat (vw)     lines ACTION:COST:PROBABILITY | FEATURES for Vowpal Wabbit, `vw --cb K` with K actions. Actions
                         count from 1, and the cost is minus the outcome.

obp and vw have one outcome as the reward, and only the decisions that were observed and whose probability is known."""

BACKUP = """\
Copy all campaigns of a store, as they are at one moment, to a new file, while servers run. The file is an SQLite
store: audit, report and export read it, even from read-only media, and `evenhand restore` makes a store of it."""

CLOCK = """\
Write to the log that a campaign follows the present clock. If the clock was once wrong, the log is ahead of it: times
stand still, and nothing expires, until the clock has caught up. From this event on, times are those of the clock."""

RESTORE = """\
Write the campaigns of a backup to a store that has none, and check all their hashes there. What was decided after the
backup is not in it: stop all servers of the lost store first. The log notes who restored it and why, and later
decisions have ids of another kind, so that those of lost decisions stay refused."""

ARCHIVE = """\
Write the log of a campaign that has ended, with no decision waiting, to a read-only file, and print its head, to be
kept elsewhere. The file has the format of `evenhand backup`; the campaign stays in the store."""
