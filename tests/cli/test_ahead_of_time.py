"""`evenhand warm` compiles what first decisions need, and says where nothing can be kept."""

import subprocess
import sys
from pathlib import Path

import numba
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.replay.run import of_problem_file
from evenhand.run.ahead_of_time import common, kernel_folder, warm

EMAIL = str(Path(__file__).parents[2] / "examples" / "email.toml")
SERVICE = """
import evenhand as eh
from evenhand.run.ahead_of_time import n_compiled
problem = eh.Problem(
    actions=("none", "letter", "call", "visit"),
    features=(eh.Numeric("age", 18, 90), eh.Numeric("income", 0, 9), eh.Categorical("channel", ("web", "phone"))),
    outcomes=(eh.Outcome("answer"), eh.Outcome("minutes", known={"letter": 2, "call": 10, "visit": 60})),
    maximize="answer",
    subject_to=(eh.Budget("minutes", total=5000), eh.Parity("minutes", by="zone", tolerance=1.0)),
    groups=(eh.Groups("zone", ("town", "land")),),
    horizon=2000,
)
model = eh.PerAction(inner=eh.BayesianRidge(n_features=problem.n_features), actions=4)
policy = eh.resolving(problem, model)
state = policy.start(seed=1)
for i in range(30):
    case = {"age": 20 + i, "income": 3, "channel": "web", "zone": ("town", "land")[i % 2]}
    decision = policy.act(state, policy.encode(case))
    if decision.action is not None:
        policy.observe(state, decision, {"answer": 1})
policy.status(state)
print(n_compiled())
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_a_service_finds_all_that_it_needs():
    done = run("import sys; from evenhand.cli import main; sys.exit(main(['warm']))")
    assert "kernels are kept in" in done
    assert run(SERVICE) == "0"


@pytest.mark.slow
def test_a_problem_file_is_replayed_with_all_of_its_systems():
    done = warm(of_problem_file(Path(EMAIL)), progress=False)
    assert done.compiled >= 0
    assert warm(of_problem_file(Path(EMAIL)), progress=False).compiled == 0
    assert str(done._replace(compiled=0)).startswith("nothing to compile; kernels are kept in ")
    assert str(done._replace(compiled=3, seconds=2.2)).startswith("compiled 3 kernels in 2 s; kernels are kept in ")


def test_every_common_part_has_a_job_of_its_own():
    names = " ".join(common())
    assert all(part in names for part in ("resolving", "ucb", "pgd", "fw_dual", "square_cbwk", "lin_cbwk", "uniform"))
    assert all(part in names for part in ("BayesianRidge", "BayesianLogistic", "Ridge", "Logistic", "PerAction"))
    assert len(common()) == 10


def test_a_folder_that_cannot_be_written_to_is_named(monkeypatch, capsys):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "/dev/null/kernels")
    with pytest.raises(eh.core.errors.InvalidInput, match="NUMBA_CACHE_DIR: expected a folder that can be written to"):
        kernel_folder()
    assert main(["warm"]) == 2
    assert capsys.readouterr().err.startswith("evenhand: NUMBA_CACHE_DIR: expected a folder that can be written to")


def test_where_compiling_is_off_there_is_nothing_to_do_ahead(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    with pytest.raises(eh.core.errors.InvalidInput, match="NUMBA_DISABLE_JIT: expected 0"):
        kernel_folder()


def test_without_any_folder_kernels_work_and_are_not_kept():
    code = """
from numba.core import caching
for locator in (caching.UserProvidedCacheLocator, caching.InTreeCacheLocator, caching.UserWideCacheLocator):
    locator.from_function = classmethod(lambda cls, function, path: None)
from numpy import zeros
from evenhand.policy.entries import first_misfit
from evenhand.run.ahead_of_time import kernel_folder
print(first_misfit(zeros(2), zeros(2) > 0))
try:
    kernel_folder()
except Exception as error:
    print(error)
"""
    number, error = run(code).splitlines()
    assert number == "-1"
    assert error.startswith("NUMBA_CACHE_DIR: expected a folder that can be written to")


def test_a_problem_file_that_is_missing_is_one_line(capsys):
    assert main(["warm", "nothing.toml"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
