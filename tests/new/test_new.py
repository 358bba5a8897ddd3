"""Five questions: what answers mean, what is refused, and files that run."""

import ast
import subprocess
import sys
from datetime import date, timedelta

import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.logs.problem_file import parse, read_spec
from evenhand.new import QUESTIONS, example, read
from evenhand.new.files import FILES, problem_file, script
from evenhand.new.questions import Aim, Feature, Limit, Span
from tests.rows import for_each

EXAMPLES = {q.flag: q.example for q in QUESTIONS}
SHOP = {
    "decide": "wait, free post, visit",
    "known": "first visit 0 to 12.5, how far: near/far away, age -1..99",
    "maximize": "sales -5 to 1_000",
    "limit": "money 900: visit 3.5, free post 1; hours 40: visit 2",
    "cases": "300",
}
SOON = date.today() + timedelta(days=90)


def run(folder):
    done = subprocess.run([sys.executable, folder / "decide.py"], capture_output=True, text=True, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("compiling ")] == []
    return done.stdout


def flags(texts):
    return [part for flag, text in texts.items() for part in (f"--{flag}", text)]


def test_answers_are_read():
    found = read(SHOP)
    assert found.actions == ("wait", "free post", "visit")
    assert found.features == (
        Feature("first visit", (0.0, 12.5)),
        Feature("how far", levels=("near", "far away")),
        Feature("age", (-1.0, 99.0)),
    )
    assert found.aim == Aim("sales", -5.0, 1000.0)
    assert found.limits == (
        Limit("money", 900.0, {"visit": 3.5, "free post": 1.0}),
        Limit("hours", 40.0, {"visit": 2.0}),
    )
    assert found.span == Span(300)
    assert read({"known": " ", "limit": "nothing"})[1:4:2] == ((), ())
    assert read({"cases": f"until {SOON}, 20 per day"}).span == Span(20, SOON)
    assert read({}) == read(EXAMPLES)
    assert read({"decide": "a, b"}).limits[0].uses == {"b": 80.0}


@for_each(
    ("flag", "text", "phrase"),
    [
        ("decide", "letter", "two names or more"),
        ("decide", "a, a", "two names or more"),
        ("decide", "a, , b", "two names or more"),
        ("decide", 'a, b"', "two names or more"),
        ("known", "age", "numbers as `age 18 to 90`"),
        ("known", "age 90 to 18", "numbers as `age 18 to 90`"),
        ("known", "age 1 to 2, age 3 to 4", "numbers as `age 18 to 90`"),
        ("known", "town north/north", "names as `town north/south`"),
        ("known", "town north/so'uth", "names as `town north/south`"),
        ("maximize", "", "a name, which is yes or no"),
        ("maximize", "sales 5 to 5", "a name, which is yes or no"),
        ("limit", "cents: letter 80", "`NAME TOTAL: ACTION USE"),
        ("limit", "cents 0: letter 80", "`NAME TOTAL: ACTION USE"),
        ("limit", "cents 50: letter", "`NAME TOTAL: ACTION USE"),
        ("limit", "cents 50: letter -1", "`NAME TOTAL: ACTION USE"),
        ("limit", "cents 50: letter 1, letter 2", "`NAME TOTAL: ACTION USE"),
        ("limit", "cents 50: leter 1", "did you mean letter?"),
        ("limit", "answer 50: letter 1", "a name other than that of the other outcomes, got answer"),
        ("cases", "0", "a number of at least 1"),
        ("cases", "many", "a number of at least 1"),
        ("cases", "until 2099-02-30, 5 a day", "a number of at least 1"),
        ("cases", "until 2001-02-03, 5 a day", "an end after today, got 2001-02-03"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_question_and_nothing_is_written(flag, text, phrase, tmp_path, capsys):
    with pytest.raises(InvalidInput, match=rf"^{flag}: "):
        read({flag: text})
    assert main(["new", str(tmp_path / "shop"), f"--{flag}={text}", "--yes"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"evenhand: {flag}: expected ")
    assert phrase in error
    assert not (tmp_path / "shop").exists()


@pytest.mark.parametrize(
    "texts",
    [
        {},
        SHOP,
        pytest.param({"known": "", "limit": "", "cases": "1"}, marks=pytest.mark.slow),
        pytest.param(
            {"known": "town a/b/c", "maximize": "dollars 0 to 40", "cases": f"until {SOON}, 50 a day"},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["examples", "shop", "as little as possible", "until a date"],
)
def test_what_is_written_runs_and_means_what_was_answered(texts, tmp_path, capsys):
    folder = tmp_path / "deep" / "shop"
    assert main(["new", str(folder), *flags(texts)]) == 0
    told = capsys.readouterr().out
    assert f"run it:    python {folder / 'decide.py'}" in told
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    answers, spec = read(texts), read_spec(folder / "problem.toml")
    problem = spec.problem({})
    assert problem.actions == answers.actions
    assert [c.total for c in problem.subject_to] == [limit.total for limit in answers.limits]
    assert spec.settings.name == "resolving"
    shown = run(folder)
    assert "The last decision: " in shown
    assert f"{min(200, answers.span.cases) if answers.span.until is None else 200} of " in shown
    for limit in answers.limits:
        assert f"of {limit.total:,.0f} spent" in shown


def test_the_suggested_parity_is_valid_once_its_marks_are_taken_off():
    text = problem_file(read({}))
    head, mark, tail = text.partition("# [[parity]]")
    assert mark
    spec = parse(head + (mark + tail).replace("# [[parity]]", "[[parity]]").replace("\n# ", "\n"), "problem.toml")
    assert [type(c).__name__ for c in spec.subject_to] == ["Budget", "Parity"]


def test_the_script_has_no_long_lines():
    for texts in ({}, SHOP):
        text = script(read(texts))
        ast.parse(text)
        assert max(map(len, text.splitlines())) <= 120


def test_files_are_not_replaced(tmp_path, capsys):
    (tmp_path / "decide.py").write_text("mine")
    assert main(["new", str(tmp_path), "--yes"]) == 2
    assert "expected a folder without these files, which are not replaced, got decide.py" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_a_limit_that_nothing_fits_is_refused_before_anything_is_written(tmp_path, capsys):
    texts = {"decide": "letter, call", "limit": "cents 10: letter 80, call 300"}
    assert main(["new", str(tmp_path / "shop"), *flags(texts)]) == 2
    assert "cents" in capsys.readouterr().err
    assert not (tmp_path / "shop").exists()


class Terminal:
    """An input in which somebody types."""

    def isatty(self):
        return True


def typed(monkeypatch, lines):
    asked, lines = [], iter(lines)

    def answer(prompt):
        asked.append(prompt)
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", answer)
    return asked


def test_questions_are_asked_with_an_example_and_again_after_a_mistake(tmp_path, monkeypatch, capsys):
    asked = typed(monkeypatch, ["wait, visit", "", "sales", "cents 90: vist 3", "cents 90: visit 3"])
    assert main(["new", str(tmp_path / "shop"), "--cases", "50"]) == 0
    shown = capsys.readouterr().out
    assert [q.asks for q in QUESTIONS if f". {q.asks}" in shown] == [q.asks for q in QUESTIONS[:4]]
    assert "limit: expected uses of the actions wait, visit, got vist (did you mean visit?)" in shown
    assert asked == [
        "   [nothing, letter, call] ", "   [age 18 to 90, town north/south] ", "   [answer] ",
        *2 * ["   [cents 50000: visit 80] "],
    ]  # fmt: skip
    spec = read_spec(tmp_path / "shop" / "problem.toml")
    assert (spec.horizon, spec.numeric, tuple(spec.actions)) == (50, ("age",), ("wait", "visit"))


def test_the_end_of_the_input_ends_the_questions(tmp_path, monkeypatch, capsys):
    typed(monkeypatch, ["a, b"])
    assert main(["new", str(tmp_path / "shop")]) == 2
    assert "known: expected an answer, got the end of the input" in capsys.readouterr().err
    assert not (tmp_path / "shop").exists()


def test_every_question_has_an_option_that_shows_its_example(capsys):
    with pytest.raises(SystemExit):
        main(["new", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for question in QUESTIONS:
        assert f"--{question.flag} TEXT" in shown
        assert example(question, {}) in shown
