"""Notebooks as pages of the site, with what their cells showed when they were run."""

from __future__ import annotations

import re
from pathlib import Path

STYLED = re.compile(r"<style scoped>.*?</style>\s*", re.DOTALL)  # of pandas; the site has a style of its own
CLASSED = re.compile(r'<table [^>]*class="dataframe"[^>]*>')
ALT = "What the code above draws"


def page(file: Path) -> tuple[str, dict[str, bytes]]:
    """The text of a notebook as a page, and its pictures by their paths from the folder of the notebook."""
    from nbconvert import MarkdownExporter  # only where a site is built

    names = {"unique_key": file.stem, "output_files_dir": f"{file.stem}_files"}
    text, found = MarkdownExporter().from_filename(str(file), resources=names)
    text = CLASSED.sub("<table>", STYLED.sub("", text)).replace("![png](", f"![{ALT}](")
    return text, found["outputs"]
