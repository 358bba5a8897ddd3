"""Reads the pages of reports, and checks that they ask for nothing and run nothing."""

from html.parser import HTMLParser

LINKS = "src", "href", "data", "action", "srcset"


class Read(HTMLParser):
    """Reads a page: its tags, whose ends have to match, its links, and its texts by tag."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links, self.texts = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [
            z for name, z in attrs if name in ("src", "href", "data", "action", "srcset") or "url(" in (z or "")
        ]
        if tag not in ("meta", "line", "rect", "circle", "polygon", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def of(self, tag):
        return [text for name, text in self.texts if name == tag]


def self_contained(text):
    """Read a page, which asks for nothing and runs nothing."""
    found = Read(text)
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(found.tags)
    assert found.links == []
    assert "@import" not in text
    assert "url(" not in text
    assert "default-src 'none'" in text
    return found
