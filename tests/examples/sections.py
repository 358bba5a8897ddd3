"""An example of every section of the dashboard: a text that it shows of the shop after some events."""

SECTIONS = {
    "budgets": "80 of 8,000 spent",
    "constraints": "cents gap by zone",
    "actions": "letter 100%, none 0%",
    "outcomes": "Objective: average answer",
    "cases": "age 0 0%",
    "life": "the printer of letters is broken",
    "changes": "a better name",
    "latest": "key of the first case",
}
