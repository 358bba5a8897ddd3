"""The first screen, the help by group, and the completion of shells."""

import re
import subprocess
import sys

import pytest

from evenhand.cli import build, main
from evenhand.cli.commands import FIRST, GROUPS, WHAT
from tests.cli.test_cli import loaded


def names():
    return set(build()._subparsers._group_actions[0].choices)


def test_without_arguments_five_commands_to_begin_with_are_shown(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(WHAT)
    assert len(re.findall(r"\.(?:\s|$)", WHAT)) == 2  # sentences
    lines = re.findall(r"^  evenhand (\S+).*  \S", shown, re.MULTILINE)
    assert lines == [command.split()[0] for command in FIRST]
    assert len(lines) == 5
    assert set(lines) <= names()
    assert max(map(len, shown.splitlines())) <= 118


def test_the_first_screen_loads_nothing_heavy():
    modules = loaded("from evenhand.cli import main\nmain([])")
    assert not modules & {"numpy", "numba", "scipy", "pandas", "matplotlib", "tqdm"}


def test_help_lists_every_command_in_one_group(capsys):
    grouped = [name for group in GROUPS.values() for name in group]
    missing = sorted(names() - set(grouped))
    assert not missing, f"add {missing} to GROUPS in src/evenhand/cli/commands.py"
    assert sorted(grouped) == sorted(names())
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    for name in names():
        assert len(re.findall(rf"^  {name} +\w", shown, re.MULTILINE)) == 1, name
    assert [line[:-1] for line in shown.splitlines() if re.fullmatch(r"[a-z ]+:", line)] == [*GROUPS, "options"]
    assert max(map(len, shown.splitlines())) <= 118


def completed(script, words):
    """What bash offers after these words, by the function that the script registers."""
    spoken = " ".join(f"'{word}'" for word in words)
    code = (
        f"source '{script}'; f=$(complete -p evenhand | sed 's/.*-F //; s/ .*//'); "
        f'COMP_WORDS=({spoken}); COMP_CWORD={len(words) - 1}; $f; echo "${{COMPREPLY[@]}}"'
    )
    return set(subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_bash_completes_commands_options_and_choices(tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    script, log = tmp_path / "evenhand.bash", tmp_path / "log.csv"
    script.write_text(capsys.readouterr().out)
    log.touch()
    assert completed(script, ["evenhand", ""]) >= names()
    assert completed(script, ["evenhand", "sys"]) == {"systems"}
    assert completed(script, ["evenhand", "systems", "--kind", "rec"]) == {"recipe"}
    assert "court" in completed(script, ["evenhand", "reproduce", ""])
    assert completed(script, ["evenhand", "demo", "--rep"]) == {"--replicas"}
    assert completed(script, ["evenhand", "draft", f"{tmp_path}/l"]) == {str(log)}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_with_every_command(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(re.search(rf"\b{name}\b", script) for name in names())
    assert "square-cbwk" in script


def test_the_missing_package_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'evenhand[completion]'" in capsys.readouterr().err
