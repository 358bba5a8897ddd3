"""After `pip install .` alone, without any extra: the demonstration, the first page, and all that writes pictures."""

import json
import subprocess
import sys
from pathlib import Path

from evenhand.cli import main

ROOT = Path(__file__).parents[2]
FIRST = (ROOT / "README.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
SWEEP = """environment = "court"
replicas = 1
settings.horizon = 60
grid.ride = [0.05, 0.1]
[[policy]]
name = "uniform"
"""
# Packages that are installed, but not by evenhand itself, are not found.
BARE = """
import sys
from importlib.machinery import PathFinder
CORE = {"evenhand", "numpy", "scipy", "numba", "llvmlite", "joblib", "cloudpickle"} | sys.stdlib_module_names
class Bare:
    def find_spec(name, path=None, target=None):
        is_own = path or name in CORE or name.startswith("_sysconfigdata")
        return PathFinder.find_spec(name, path, target) if is_own else None
sys.meta_path[sys.meta_path.index(PathFinder)] = Bare
for extra in ("matplotlib", "pandas", "sklearn", "starlette", "httpx"):
    try:
        __import__(extra)
    except ModuleNotFoundError:
        continue
    sys.exit(f"{extra} is found")
from evenhand.cli import main
"""
# The demonstration with fewer rounds; there is no option for these.
SHORT = """
from dataclasses import dataclass
import evenhand.cli.commands
from evenhand.experiments.demo import DemoExperiment
@dataclass(frozen=True, kw_only=True)
class Short(DemoExperiment):
    rounds: int = 100
Short.__module__ = DemoExperiment.__module__
evenhand.cli.commands.discover = lambda: {"demo": Short}
"""
LEFT_OUT = "plots need an optional dependency: pip install 'evenhand[plot]'"


def bare(code, folder):
    return subprocess.run([sys.executable, "-c", BARE + code], cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_demo_prints_and_writes_all_but_its_picture(tmp_path):
    done = bare(f"{SHORT}sys.exit(main(['demo', '--replicas', '1', '--out', 'deep/out']))", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"written: deep/out/results.json\npictures were left out: {LEFT_OUT}\n" in done.stdout
    assert "of the people appear under `resolving`" in done.stdout.partition(LEFT_OUT)[2]
    (kept,) = (tmp_path / "deep" / "out").iterdir()
    assert {row["system"] for row in json.loads(kept.read_text())["rows"]} >= {"resolving", "OPT"}


def test_the_first_page_and_the_catalogue(tmp_path, capsys):
    done = bare(f"assert main(['systems']) == 0\n{FIRST}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert main(["systems"]) == 0
    assert done.stdout.startswith(capsys.readouterr().out)
    assert "601 of 1,000 rounds decided" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_keeps_its_cells_and_writes_its_numbers(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = bare("sys.exit(main(['sweep', 'sweep.toml', '--out', 'out']))", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"written: out/sweep.csv\nthe picture was left out: {LEFT_OUT}\n" in done.stdout
    head, *rows = (tmp_path / "out" / "sweep.csv").read_text().splitlines()
    assert head == "ride,interrupted,policy,under way,name,mean,se,worst,limit,missed"
    assert [row.split(",")[0] for row in rows] == ["0.05"] * 5 + ["0.1"] * 5
    assert rows[0].split(",")[6] == ""  # of one replica there is no standard error
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"cells", "sweep.csv"}
