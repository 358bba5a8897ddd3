"""An example of each command, for the end of its help."""

from __future__ import annotations

_EMAIL = "sqlite:///email.db"
_ASKED = '--by Ann --why "ticket 12"'
EXAMPLES = {
    "demo": "evenhand demo --out out/demo",
    "new": "evenhand new shop",
    "systems": 'evenhand systems --for "budgets, parity"',
    "completion": "evenhand completion bash",
    "draft": "evenhand draft LOG.csv --out PROBLEM.toml",
    "value": "evenhand value LOG.csv --problem PROBLEM.toml --baseline none",
    "curve": "evenhand curve LOG.csv --problem PROBLEM.toml --out out/curve",
    "rules": "evenhand rules LOG.csv --problem PROBLEM.toml --depth 1",
    "assign": "evenhand assign CASES.csv --problem PROBLEM.toml --learn-from LOG.csv --out LIST.csv",
    "replay": "evenhand replay LOG.csv --problem PROBLEM.toml --policy pgd,resolving --out out/replay",
    "serve": f"evenhand serve PROBLEM.toml --store {_EMAIL}",
    "pool": "evenhand pool sqlite:///pool.db --total cents=50000 --rounds 160000",
    "token": "evenhand token till --role decide --role observe",
    "report": f"evenhand report {_EMAIL} --out report.html",
    "problem": f"evenhand problem {_EMAIL}",
    "audit": f"evenhand audit {_EMAIL}",
    "export": f"evenhand export {_EMAIL} --out decisions.csv",
    "switch": f"evenhand switch {_EMAIL} PROBLEM.toml {_ASKED}",
    "pause": f"evenhand pause {_EMAIL} {_ASKED}",
    "resume": f"evenhand resume {_EMAIL} {_ASKED}",
    "end": f"evenhand end {_EMAIL} {_ASKED}",
    "change": f"evenhand change {_EMAIL} --patience 3600 {_ASKED}",
    "erase": f"evenhand erase {_EMAIL} --key customer-17 {_ASKED}",
    "archive": f"evenhand archive {_EMAIL} email-2026.db",
    "backup": f"evenhand backup {_EMAIL} backups/monday.db",
    "restore": f"evenhand restore backups/monday.db {_EMAIL} {_ASKED}",
    "seal": f"evenhand seal {_EMAIL} segments {_ASKED}",
    "sweep": "evenhand sweep sweep.toml --out out/sweep",
    "reproduce": "evenhand reproduce court --replicas 3 --out out/court",
    "warm": "evenhand warm PROBLEM.toml",
}
