"""Problem files in which calls use minutes that have to be learned, of a budget over the run or per day."""

OVERALL = """
maximize = "answer"
horizon = 200

[action]
column = "sent"
values = { "" = "none", "C" = "call" }

[outcomes.answer]

[outcomes.minutes]
range = [0, 60]
free = ["none"]

[[budget]]
outcome = "minutes"
total = 600
hard = true

[policy]
name = "resolving"
warmup = 0
"""
PER_DAY = OVERALL.replace(
    "horizon = 200\n",
    'since = 2026-11-24\nuntil = 2026-12-04\n\n[traffic]\ncases = 20\nper = "day"\n',
).replace("total = 600\n", 'total = 100\nper = "day"\n')
