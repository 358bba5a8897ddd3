import json
import subprocess
import sys

import pytest

from evenhand.cli import build, main

EXPERIMENTS = ["court", "square-cbwk", "small-budgets", "concave-rewards", "lessons"]


def loaded(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(out.stdout.split())


def test_help_loads_nothing_heavy():
    modules = loaded("from evenhand.cli import build\nbuild().format_help()")
    assert not modules & {"numpy", "numba", "scipy", "pandas", "matplotlib", "tqdm"}


def test_systems_are_listed_without_pictures_and_programs():
    modules = loaded("from evenhand.cli import main\nmain(['systems', '--json'])")
    assert not modules & {"pandas", "matplotlib", "scipy.optimize", "evenhand.experiments.court.study"}


@pytest.mark.parametrize(
    "command", ["", "demo", "reproduce", *(f"reproduce {e}" for e in EXPERIMENTS), "replay", "warm", "systems"]
)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--help"])
    assert stop.value.code == 0
    assert "usage: evenhand" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["thompson", "Thompson_Sampling", "posterior-sampling"])
def test_thompson_sampling_is_explained_as_a_model(name, capsys):
    assert main(["systems", name]) == 2
    told = f"got {name}: Thompson sampling is a model here, for any recipe: `evenhand systems sampled`"
    assert told in capsys.readouterr().err
    assert main(["systems", "sampled"]) == 0
    assert capsys.readouterr().out.startswith("model Sampled")


def test_systems_as_json_are_discovered(capsys):
    assert main(["systems", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(set(s) - {"use", "fits"} == {"name", "kind", "says", "module", "source"} for s in found)
    assert all(("fits" in s) == (s["kind"] == "recipe") for s in found)
    names = {(s["name"], s["kind"]) for s in found}
    assert {("pgd", "recipe"), ("mixed_oracle", "recipe"), ("Parity", "constraint"), ("Logistic", "model")} <= names
    assert {("Court", "environment"), ("opt", "benchmark"), ("TopK", "choice")} <= names


def test_systems_as_a_table(capsys):
    assert main(["systems"]) == 0
    assert "pgd_adaptive" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pgd", ["recipe pgd, by Chzhen et al. 2023", "evenhand.recipes", "warmup: int = 50", "Args:", "\nfits: "]),
        ("generalized_gini", ["objective GeneralizedGini, by Busa-Fekete", "outcomes: tuple[str, ...]"]),
        ("linear", ["objective Linear"]),
        ("top-k", ["choice TopK", "best first"]),
        ("square-cbwk", ["recipe square_cbwk, by Han"]),
    ],
)
def test_a_system_is_explained_by_name(name, words, capsys):
    assert main(["systems", name]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in words)


def test_help_lists_every_experiment(capsys):
    from evenhand.experiments import discover

    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    for name in discover():
        assert f"\n{'  ' if name == 'demo' else '    '}{name} " in shown  # the others are below `reproduce`


def test_options_may_be_repeated():
    o = build().parse_args(["reproduce", "court", "--tau", "0.1", "--tau", "0.2"])
    assert (o.taus, o.replicas, o.made.name) == ([0.1, 0.2], 100, "court")
    assert build().parse_args(["reproduce", "court"]).taus is None  # as the experiment has it


def test_reproduce_square_cbwk_writes_where_it_is_told(tmp_path, capsys, monkeypatch):
    import evenhand.experiments.square_cbwk.study as module
    from evenhand.experiments.square_cbwk.study import Point

    monkeypatch.setattr(module, "POINTS", (Point(5, 3, 80),))
    assert main(["reproduce", "square-cbwk", "--replicas", "2", "--seed", "4", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("m = 5, K = 3, T = 80: 2 replicas, 10 random orders of the arms, seed 4\n")
    assert out.endswith(f"written: {tmp_path / 'results.json'}\n")
    sweep = module.SWEEPS["m"]._replace(panels={"short": (Point(5, 3, 80),)})
    monkeypatch.setattr(module, "SWEEPS", {"m": sweep})
    assert main(["reproduce", "square-cbwk", "--replicas", "2", "--sweep", "m", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("and plots\n")
    assert (tmp_path / "square-cbwk-m.png").exists()
    assert (tmp_path / "results.json").exists()


@pytest.mark.slow
def test_the_demo_prints_a_table_and_draws(tmp_path, capsys, monkeypatch):
    import evenhand.experiments.demo.study as module
    from evenhand.environments import Court

    monkeypatch.setattr(module, "Court", lambda tolerance, horizon: Court(tolerance=tolerance, horizon=400))
    assert main(["demo", "--replicas", "2", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "pgd_adaptive, hard" in out
    assert "0 of 2" in out
    assert out.startswith("10,000 people must reach a court. There are 500 rides and 2,000 vouchers")  # as it was asked
    table, end = out.split("\n\nWith the same rides and vouchers, ")
    assert "Replicas locked in below half the gain: " in table
    assert "`resolving` never spends more than there is" in end
    assert end.splitlines()[-1] == f"picture: {tmp_path / 'demo.png'}"
    assert (tmp_path / "demo.png").exists()


def test_the_face_of_the_package_is_whole():
    import ast
    from importlib import import_module
    from pathlib import Path

    import evenhand

    tree = ast.parse(Path(evenhand.__file__).with_suffix(".pyi").read_text())
    typed = {(n.module, name.asname) for n in tree.body if isinstance(n, ast.ImportFrom) for name in n.names}
    folders = {place.partition(".")[0] for place in evenhand.PLACES}
    names = [(f"evenhand.{place}", name) for place, names in evenhand.NAMES.items() for name in names]
    assert typed == {*names, *(("evenhand", f) for f in folders), ("evenhand.version", "__version__")}
    assert dir(evenhand) == sorted(name for _, name in typed)
    assert 25 <= len(names) <= 35
    for place, name in names:
        assert getattr(evenhand, name) is getattr(import_module(place), name)
    for folder in folders:
        assert getattr(evenhand, folder) is import_module(f"evenhand.{folder}")


def test_a_name_of_a_folder_says_where_it_is():
    import evenhand

    with pytest.raises(AttributeError, match=r"Tabular is in evenhand\.models"):
        _ = evenhand.Tabular
    with pytest.raises(AttributeError, match=r"Logistic is in evenhand\.models and evenhand\.offline$"):
        _ = evenhand.Logistic
    with pytest.raises(AttributeError, match=r"DualGradient is in evenhand\.goals"):
        _ = evenhand.DualGradient
    with pytest.raises(AttributeError, match=r"did you mean evenhand\.goals\.DualGradient\?"):
        _ = evenhand.DualGradent
    with pytest.raises(AttributeError, match=r"did you mean simulate\?"):
        _ = evenhand.simulat
    for sampling in ("thompson", "ThompsonSampling", "posterior_sampling"):
        with pytest.raises(AttributeError, match=rf"'{sampling}': Thompson .* evenhand\.models\.Sampled\(inner="):
            getattr(evenhand, sampling)
    with pytest.raises(AttributeError, match=r"no attribute 'xyzzy'$"):
        _ = evenhand.xyzzy
    with pytest.raises(AttributeError, match=r"'evenhand\.core' has no attribute 'nothing'"):
        _ = evenhand.core.nothing
