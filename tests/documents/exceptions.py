"""Tables of pages whose numbers docs/tables does not keep, and why: by page, or by page and beginning of the table.

A table is taken off this list once `python -m tests.tables NAME COMMAND` has stored it.
"""

TIMES = "times and memory of a machine, which no later run repeats"
HOURS = "printed for a paper, by a command of the page that takes hours, or minutes and the data of Last.fm"
HAND = "put together from runs of several commands, or from trials that no command repeats"
LATER = "the command of the page prints this table, and takes long; the page says since when its numbers are"
MINUTES = "the command of the page prints these numbers in other lines, and takes minutes"
NONE = "no measurements"

EXCEPTIONS: dict[str | tuple[str, str], str] = {
    # held by other tests
    "README.md": "tests/documents/test_output.py runs the demo",
    "docs/performance.md": "docs/performance.json has the numbers, and tests/test_peers.py compares",
    ("docs/from-a-log.md", "targeted beyond"): "tests/documents/test_output.py runs the command, on the log of e-mails",
    ("docs/from-a-log.md", "over all budgets"): "the same",
    ("docs/from-a-log.md", "visit per case"): "the same",
    ("docs/from-a-log.md", "constraints, 95 %"): "the same",
    ("docs/from-a-log.md", "who gets what"): "the same",
    ("docs/from-a-log.md", "rule: womens"): "the same",
    ("docs/from-a-log.md", "20,000 cases"): "the same",
    ("docs/beyond-one-machine.md", "0.121619"): "tests/documents/test_python.py runs the block of Python above it",
    ("docs/knapsacks.md", "quantity"): "the same",
    ("docs/research.md", "pgd"): "the same",
    # no measurements
    "docs/live-faults.md": NONE,
    "docs/design/rows.md": NONE,
    ("docs/wide.md", "| feature |"): NONE,
    ("docs/wide.md", "| data |"): MINUTES,
    ("docs/wide.md", "| levels |"): "a formula that the page states",
    # times
    "docs/live-reference.md": TIMES,
    ("docs/live-operations.md", "| after | MB"): TIMES,
    ("docs/live-operations.md", "| connections | pairs"): TIMES,
    ("docs/beyond-one-machine.md", "| contexts | seconds"): TIMES,
    ("docs/beyond-one-machine.md", "| store |"): TIMES,
    ("docs/allocation.md", "| oracle |"): TIMES,
    ("docs/described.md", "| actions | ms"): TIMES,
    # data that the library does not ship
    "docs/replay.md": "twenty replays of the log of e-mails, some minutes",
    "examples/analyst.md": "ten replays of the log of e-mails, some minutes",
    # long runs
    "docs/ranking.md": HOURS,
    ("docs/allocation.md", "| | satisfaction |"): HOURS,
    ("docs/convex.md", "| world | T, R |"): HOURS,
    ("docs/goals.md", "generalised Gini of 4"): LATER,
    ("docs/described.md", "| model | worth"): LATER,
    ("docs/convex_duals.md", "| | outcomes |"): MINUTES,
    ("docs/convex_planning.md", "| recipe | 0 |"): MINUTES,
    # put together by hand
    ("docs/what-numbers-can-bear.md", "| what | found"): HAND,
    ("docs/allocation.md", "| 50 users"): HAND,
    ("docs/design/decisions.md", "| bonus"): HAND,
    ("docs/goals.md", "| | share of the optimum"): HAND,
    ("docs/knapsacks.md", "| |"): HAND,
    ("docs/knapsacks.md", "| oracle |"): HAND,
}
