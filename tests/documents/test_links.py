"""Links, pictures and commands of README and the other pages lead to something that exists."""

import re
from pathlib import Path

import pytest

from evenhand.cli import build
from tests.rows import for_each

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])

LINK = re.compile(
    r"\[[^\]\[]*\]\(([^)\s]+)(?: \"[^\"]*\")?\)|(?:href|src)=\"([^\"]+)\"|^\[[^\]]+\]: (\S+)", re.MULTILINE
)
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`[^`\n]+`")


def links(text):
    """Where a page leads to; code is no link.

    >>> links("[a](b.md#c), `[d](e)` and ![f](g.png)")
    ['b.md#c', 'g.png']
    """
    return [a or b or c for a, b, c in LINK.findall(SPAN.sub("`code`", FENCE.sub("", text)))]


def anchors(text):
    """The anchors that GitHub gives to the headings of a page, and those written in HTML.

    >>> sorted(anchors("# A `b`, (c): d-e\\n## [x_y](z)\\n## x_y\\n```\\n# no\\n```"))
    ['a-b-c-d-e', 'x_y', 'x_y-1']
    """
    text = FENCE.sub("", text)
    found = set(re.findall(r"(?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#{1,6} +(.*?)[ #]*$", text, re.MULTILINE):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        first = anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        again = 0
        while anchor in found:
            again += 1
            anchor = f"{first}-{again}"
        found.add(anchor)
    return found


def commands(text, program):
    """The words after a program where code calls it: at the start of a line of a block, or of code within a line.

    >>> commands("`make a`, make b\\n```\\nmake c d  # e\\n$ make f\\n```", "make")
    [['c', 'd'], ['f'], ['a']]
    """
    lines = [line for block in FENCE.findall(text) for line in block.splitlines()[1:-1]]
    lines += [span.strip("`") for span in SPAN.findall(FENCE.sub("", text))]
    called = [re.match(rf"(?:\$ )?{program} +(.*?)(?: +#.*)?$", line.strip()) for line in lines]
    return [found.group(1).split() for found in called if found]


def problem_of(page, link):
    """What is wrong with a link, or nothing."""
    if re.match(r"[a-z+]+:|//", link):
        return "" if re.match(r"https://[\w-]+(\.[\w-]+)+(/|$)|mailto:", link) else "not https"
    path, _, anchor = link.partition("#")
    to = (page.parent / path).resolve() if path else page
    if path.startswith("/") or ROOT not in [to, *to.parents]:
        return "outside the repository"
    if not to.exists():
        return "missing"
    wrong = anchor and not (to.suffix == ".md" and anchor in anchors(to.read_text(encoding="utf-8")))
    return "no such heading" if wrong else ""


@for_each("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_and_pictures_exist_with_their_headings(page):
    found = {link: problem_of(page, link) for link in links(page.read_text(encoding="utf-8"))}
    assert {link: wrong for link, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("docs/choosing.md#which-width", ""),
        ("https://arxiv.org/abs/1", ""),
        ("docs/choosing.md#nothing", "no such heading"),
        ("docs/nothing.md", "missing"),
        ("#nothing", "no such heading"),
        ("docs/demo.png#top", "no such heading"),
        ("../elsewhere.md", "outside the repository"),
        ("/docs/choosing.md", "outside the repository"),
        ("http://arxiv.org", "not https"),
        ("file:///docs", "not https"),
    ],
)
def test_a_broken_link_is_told(link, wrong):
    assert problem_of(ROOT / "README.md", link) == wrong


def test_every_page_and_picture_of_docs_is_linked_from_a_page():
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in links(page.read_text(encoding="utf-8"))
        if ":" not in link and not link.startswith("#")
    }
    shown = [file for file in (ROOT / "docs").iterdir() if file.suffix in {".md", ".png", ".svg", ".jpg", ".gif"}]
    assert [file.name for file in shown if file not in linked] == []


def test_every_page_answers_a_question_of_the_list():
    page = ROOT / "docs" / "questions.md"
    entries = re.findall(r"^- (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    found = [re.fullmatch(r"\[([^\]]+\?)\]\(([^)#]+)#[^)]+\)", entry) for entry in entries]
    assert [entry for entry, question in zip(entries, found, strict=True) if not question] == []
    assert len({question[1] for question in found}) == len(entries)
    answering = {(page.parent / question[2]).resolve() for question in found}
    assert [z for z in ROOT.glob("docs/**/*.md") if z != page and z not in answering] == []


@pytest.mark.parametrize(
    "guide",
    ["index", "choosing", "from-a-log", "replay", "serving", "live", "compose", "goals", "knapsacks", "research"],
)
def test_guides_to_begin_with_link_the_glossary(guide):
    assert "glossary.md" in links((ROOT / "docs" / f"{guide}.md").read_text(encoding="utf-8"))


@for_each("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_page_names_a_path_of_one_machine(page):
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.~/])/(?:home|Users|root|tmp|work|mnt|opt|usr|var)/\S*|[A-Z]:\\\S*", text) == []


@for_each("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_targets_of_make_exist(page):
    rules = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = commands(page.read_text(encoding="utf-8"), "make")
    assert {word for words in called for word in words if "=" not in word} - rules == set()


@for_each("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_of_evenhand_exist_with_their_options(page):
    for words in commands(page.read_text(encoding="utf-8"), "evenhand"):
        assert unknown(words) == [], "evenhand " + " ".join(words)


def unknown(words):
    """The words of a call that are no command, experiment or option; `...` and NAME stand for anything.

    >>> unknown("reproduce court --replicas 100 --out DIR".split()), unknown("reproduce ...".split())
    ([], [])
    >>> unknown("reproduce nothing".split()), unknown("demo --speed 3".split())
    (['nothing'], ['--speed'])
    """
    parser, rest = build(), list(words)
    while rest and not rest[0].startswith("-"):
        below = [action.choices for action in parser._actions if action.dest in {"command", "experiment"}]
        word = rest[0]
        if not below or word == "..." or word.isupper():
            break
        if word not in below[0]:
            return [word]
        parser, rest = below[0][word], rest[1:]
    options = {word.partition("=")[0] for word in rest if word.startswith("--")}
    return sorted(options - set(parser._option_string_actions))
