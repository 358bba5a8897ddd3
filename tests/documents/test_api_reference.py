"""The API reference shows every public name once, and docstrings as they are written."""

import doctest
import importlib
import inspect
import re
import sys

import pytest

from tests.documents.sites import SCRIPTS, built


@pytest.fixture(scope="module")
def scripts():
    """The modules that make the pages, by their names."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("griffe")
    sys.path.insert(0, str(SCRIPTS))
    try:
        return {name: importlib.import_module(name) for name in ("docstrings", "reference", "repository", "names")}
    finally:
        sys.path.remove(str(SCRIPTS))


@pytest.fixture(scope="module")
def pages():
    """Every page of the reference by its name."""
    return {file.stem: page for file, page in built().items() if file.parent.name == "reference"}


@pytest.fixture(scope="module")
def named(scripts):
    """(place, name, what it is, its anchor) of every public name."""
    reference = scripts["reference"]
    found = [(place, *each) for place in reference.PLACES for each in reference.public(place)]
    return [(place, name, thing, reference.anchor(place, name, thing)) for place, name, thing in found]


@pytest.mark.slow
def test_every_public_name_has_an_anchor_and_is_on_the_front_page(named, pages):
    assert [anchor for place, _, _, anchor in named if pages[place].anchors.count(anchor) != 1] == []
    links = iter(pages["index"].links)  # in which sentences have links of their own
    assert [anchor for place, _, _, anchor in named if f"{place}.html#{anchor}" not in links] == []  # in this order


@pytest.mark.slow
def test_the_names_to_start_with_come_first(pages):
    names = importlib.import_module("evenhand").NAMES
    first = [f"evenhand.{place}.{name}" for place, some in names.items() for name in some]
    links = [link.partition("#")[2] for link in pages["index"].links if re.match(r"[\w.]+\.html#evenhand\.", link)]
    places = [re.sub(r"^(evenhand\.\w+\.(\w+))\.\2$", r"\1", link) for link in links]  # defined in a module of its name
    at = iter(places)
    assert [name for name in first if name not in at] == []


def test_nothing_is_shown_twice(named):
    assert len({id(thing) for _, _, thing, _ in named}) == len(named)


@pytest.mark.slow
def test_nothing_private_is_shown(pages):
    shown = [anchor for page in pages.values() for anchor in page.anchors if anchor.startswith("evenhand.")]
    assert len(shown) > 1000
    assert [anchor for anchor in shown if re.search(r"\._(?!_\w+__$)", anchor)] == []


def test_every_public_name_has_a_docstring_that_starts_with_a_sentence(named):
    for place, name, thing, _ in named:
        own = (vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__) or ""
        first = " ".join(inspect.cleandoc(own).split("\n\n")[0].split())
        wrong = f"evenhand.{place}.{name}: begin its docstring with a sentence, got {first!r}"
        assert re.search(r"[.?)]$", first), wrong
        assert " " in first, wrong
        other = rf"{name}\(|Equation:|Source:|Deviations?:|Args:|Raises:|>>>"  # the first is written by `dataclass`
        assert not re.match(other, first), wrong


@pytest.mark.slow
def test_docstrings_are_shown_as_they_are_written(named, pages):
    """No character of an equation is lost or read as a mark, and no part of a docstring is left out."""
    compared, wrong = 0, []
    for place, _, thing, anchor in named:
        for shown, text in pages[place].texts.items():
            of, _, member = shown.removeprefix(anchor).rpartition(".")
            if not shown.startswith(anchor) or of or (shown != anchor and not member):
                continue
            written = inspect.getattr_static(thing, member, None) if member else thing
            if member and not (inspect.isroutine(written) or isinstance(written, property)):
                continue  # fields show the comment beside them
            mark = getattr(thing, "__named__", None)
            origin = f"Source: {mark[1]}." if mark and not member else ""
            compared += 1
            same = _letters(text) == _letters(_plain(inspect.getdoc(written) or "") + origin)
            wrong += [] if same else [shown]
    assert wrong == []
    assert compared > 2 * len(named)


def _plain(written):
    """A docstring without its marks: lists and emphasis, and with mkdocstrings' name for arguments."""
    written = re.sub(r"^ *- ", "", written, flags=re.MULTILINE)
    written = re.sub(r"^Args:", "Parameters:", written, flags=re.MULTILINE)
    return re.sub(r"(?<!\w)\*(\w[\w\s-]*)\*(?!\w)", r"\1", written)


def _letters(text):
    """What is compared: mkdocstrings writes names without the colon, and two errors of one line in brackets."""
    return re.sub(r"\(([A-Z]\w+(?:,[A-Z]\w+)+)\)", r"\1", re.sub(r"[\s`:]", "", text))


@pytest.mark.slow
def test_fields_of_records_show_the_comments_beside_them(pages):
    assert pages["policy"].texts["evenhand.policy.PolicyState.t"].strip() == "(R,) decided rounds"


@pytest.mark.slow
def test_recipes_are_shown_by_kind_and_resolving_first(pages):
    page = pages["recipes"]
    shown = [anchor for anchor in page.anchors if anchor.startswith("evenhand.recipes.")]
    assert shown[0] == "evenhand.recipes.resolving.resolving"
    at = page.anchors.index
    assert (
        at("rankings")
        < at("evenhand.recipes.fw_rank")
        < at("many-users-to-arms-at-once")
        < at("evenhand.recipes.cab_ucb")
    )


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("lam <- (lam + s)_+ and x<y>z", "lam &#60;- (lam + s)&#95;+ and x&#60;y&#62;z"),
        ("f*(-g) + f*", "f&#42;(-g) + f&#42;"),
        ("the *drawn* arm of y_a", "the *drawn* arm of y_a"),
        ("E[y](x) and `a[b](*c)`", "E&#91;y](x) and `a[b](*c)`"),
        ("A.\n\n>>> 2 * 3 < 4\nFalse", "A.\n\n\n```pycon\n>>> 2 * 3 < 4\nFalse\n```\n"),
        ("A.\n>>> x[0]\n1\n\nB < C", "A.\n\n```pycon\n>>> x[0]\n1\n```\n\n\nB &#60; C"),
        ("A.\nEquation: p = 1\nSource: X", "A.\n\n**Equation:** p = 1\n\n**Source:** X"),
    ],
)
def test_prose_escapes_what_markdown_would_read_as_a_mark(scripts, written, shown):
    assert scripts["docstrings"].prose(written) == shown


@pytest.mark.parametrize("name", ["docstrings", "reference", "repository", "names"])
def test_examples_of_the_scripts_run(scripts, name):
    done = doctest.testmod(scripts[name])
    assert done.failed == 0
    assert done.attempted > 0


SOURCE = '''
class Pair(NamedTuple):
    """Two numbers.

    Args:
        low, high: the ends.
    """

    low: int  # the lower one
    high: int


def f(x):
    """Return x.

    Args:
        x, y: numbers.
    """
'''


def test_an_argument_that_a_signature_lacks_is_told(scripts, tmp_path, caplog):
    griffe = importlib.import_module("griffe")
    (tmp_path / "pairs.py").write_text(SOURCE, encoding="utf-8")
    extensions = griffe.load_extensions("dataclasses", scripts["docstrings"].Docstrings)
    found = griffe.load("pairs", search_paths=[tmp_path], extensions=extensions)
    assert [record.getMessage() for record in caplog.records] == ["pairs.f: argument y is not in the signature"]
    assert [parameter.name for parameter in found["Pair"].parameters] == ["self", "low", "high"]
    assert found["Pair.low"].docstring.value == "the lower one"
    assert "high" not in found["Pair"].members  # of which nothing is said
