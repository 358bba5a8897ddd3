"""Commands of campaigns, which need those before them: each scene runs in a folder of its own, from top to bottom."""

EMAIL, POOL = "sqlite:///out/email.db", "sqlite:///pool.db"
BEGIN = f"evenhand serve examples/email.toml --store {EMAIL} --learn-from hillstrom.csv"
SECOND, AGAIN = f"evenhand serve --store {EMAIL} --port 8001", f"evenhand serve --store {EMAIL}"
DECIDE = (
    """curl --json '{"key": "order-17", "features": {"recency": 3, "history": 120.5, "mens": 1, "womens": 0, """
    """"newbie": 0, "zip_code": "Urban", "channel": "Web"}}' http://127.0.0.1:8000/decide"""
)
OBSERVE = """curl --json '{"id": 2, "outcomes": {"visit": 1}}' http://127.0.0.1:8000/observe"""
BEGUN = BEGIN, DECIDE, OBSERVE
TOKEN = "a-token-of-more-than-thirty-two-characters"
GUARDED = f"export EVENHAND_TOKEN={TOKEN}", f"evenhand serve examples/email.toml --store {EMAIL} --existing"

SCENES = {
    "the first campaign": (
        "evenhand serve deploy/problem.toml --store sqlite:///out/post.db",
        """curl --json '{"key": "order-1", "features": {"age": 33, "town": "north"}}' http://127.0.0.1:8000/decide""",
        """curl --json '{"key": "order-1", "outcomes": {"visit": 1}}' http://127.0.0.1:8000/observe""",
        "evenhand serve --store sqlite:///out/post.db",
    ),
    "two workers, and what is read": (
        *BEGUN,
        SECOND,
        f"evenhand audit {EMAIL} --log hillstrom.csv",
        f"evenhand report {EMAIL} --out report.html",
        f"evenhand export {EMAIL} --out decisions.csv",
        f"evenhand backup {EMAIL} backup-2026-11-24.db",
        'evenhand restore backup-2026-11-24.db sqlite:///out/again.db --by ada --why "disk lost"',
        "evenhand audit sqlite:///out/again.db",
        f"evenhand backup {EMAIL} before-upgrade.db",
        'evenhand restore before-upgrade.db sqlite:///out/try.db --by ada --why "a try"',
        "evenhand audit sqlite:///out/try.db",
    ),
    "a life": (
        *BEGUN,
        f'evenhand pause {EMAIL} --by anna --why "the printer is broken"',
        f'evenhand resume {EMAIL} --by anna --why "it is repaired"',
        f'evenhand change {EMAIL} --patience 604800 --on-expiry release --by anna --why "answers take a week"',
        f'evenhand change {EMAIL} --retention "90 days" --by anna --why "the data protection officer"',
        f'evenhand change {EMAIL} --after "go on" --by anna --why "letters are left"',
        f'evenhand end {EMAIL} --by anna --why "christmas is over"',
        f"evenhand archive {EMAIL} email-2026.db",
    ),
    "a seal": (
        *BEGUN,
        f'evenhand seal {EMAIL} segments --by ada --why "the store is large"',
        f"evenhand audit {EMAIL} --segments segments",
    ),
    "a switch": (*BEGUN, f'evenhand switch {EMAIL} email.toml --why "half of the budget" --by Ada', AGAIN),
    "erasures over HTTP": (
        *BEGUN,
        *GUARDED,
        """curl --header "Authorization: Bearer $EVENHAND_TOKEN" --json '{"keys": ["order-17"], "by": """
        """"support, case 1204", "why": "asked for by the person"}' http://127.0.0.1:8000/erase""",
    ),
    "erasures by commands": (
        *BEGUN,
        f'evenhand erase {EMAIL} --key order-17 --by "support, case 1204" --why "asked for by the person"',
        f'evenhand erase {EMAIL} --before 2026-01-31 --by "retention" --why "after ten months"',
    ),
    "tokens": (
        BEGIN,
        "(umask 077; evenhand token till --role decide --role observe --per-minute 600 >> tokens.toml)",
        f"evenhand serve examples/email.toml --store {EMAIL} --tokens tokens.toml",
    ),
    "secrets": (
        "(umask 077; mkdir deploy/secrets)",
        'python3 -c "import secrets; print(secrets.token_urlsafe(32))" > deploy/secrets/token',
        'python3 -c "import secrets; print(secrets.token_urlsafe(32))" > deploy/secrets/password',
    ),
    "two campaigns": (
        "cp sms.toml email.toml",
        "evenhand serve email.toml sms.toml --store sqlite:///out/shop.db",
        "evenhand serve --store sqlite:///out/shop.db",
    ),
    "leases": (
        f"evenhand pool {POOL} --total cents=50000 --rounds 160000",
        f"evenhand serve north.toml --store sqlite:///north.db --lease {POOL}",
        f"evenhand serve south.toml --store sqlite:///south.db --lease {POOL} --port 8001",
        f"evenhand pool {POOL}",
    ),
    "a draft": (
        "evenhand draft hillstrom.csv --out problem.toml",
        "evenhand value hillstrom.csv --problem problem.toml",
    ),
    "a first answer": (
        'evenhand draft hillstrom.csv --maximise "visit - 0.01 * mails" --budget mails=6400'
        ' --known "mails: Mens E-Mail=1, Womens E-Mail=1" --out answer.toml',
        "evenhand value hillstrom.csv --problem answer.toml",
        'evenhand value hillstrom.csv --problem answer.toml --baseline "No E-Mail"',
    ),
    "what is served, by the log": (
        "evenhand serve examples/email.toml --store sqlite:///email.db --learn-from hillstrom.csv",
        "evenhand value hillstrom.csv --problem examples/email.toml --served sqlite:///email.db",
    ),
}
UNSEEN = (  # on no page, but what a reader of one did before
    *GUARDED,
    "cp sms.toml email.toml",
    "evenhand serve examples/email.toml --store sqlite:///email.db --learn-from hillstrom.csv",
)
