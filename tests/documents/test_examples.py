import ast

import pytest

import evenhand
from tests import programs

FOLDER = programs.ROOT / "examples"
# One needs a server (tests/live/http/test_traffic.py); the other runs for long, and in small among commands of pages.
EXAMPLES = sorted(set(FOLDER.glob("*.py")) - {FOLDER / "traffic.py", FOLDER / "widths.py"})


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    programs.run([str(path)], monkeypatch)
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda p: p.name)
def test_examples_import_what_they_use(path):
    """Here another test may have imported it: of `evenhand` they take what is there after its import alone."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    own = {z.name for node in nodes if isinstance(node, ast.Import) for z in node.names}
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "eh"
    }
    assert {name for name in used - set(dir(evenhand)) if f"evenhand.{name}" not in own} == set()
