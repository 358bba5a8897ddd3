"""What MkDocs calls while it builds the site: pages that are made, links out of docs/, and links of names."""

from __future__ import annotations

import names
import reference
import repository
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.utils import get_relative_url

from evenhand.version import __version__


def on_config(config):
    """State the version below every page."""
    config.copyright = f"evenhand {__version__}, Apache 2.0"
    return config


def on_files(files: Files, config) -> Files:
    """Add the reference, and the files of the repository that pages link to."""
    sources = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    for uri, text in reference.pages().items():
        files.append(File.generated(config, uri, content=text))
    for uri, text in repository.pages(sources).items():
        files.append(File.generated(config, uri, content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    for uri, picture in repository.pictures().items():
        files.append(File.generated(config, uri, content=picture))
    return files


def on_page_markdown(markdown: str, page, **_) -> str:
    """Let links of guides lead to pages of the site."""
    made = page.file.generated_by is not None
    return markdown if made else repository.rewritten(f"docs/{page.file.src_uri}", markdown)


def on_page_content(html: str, page, **_) -> str:
    """Link names to the reference; beside a page of it, list names of the package and not the methods of each."""
    made = page.file.src_uri.startswith("reference/")
    if made:
        recipes = page.file.src_uri == reference.uri("recipes")  # whose names stand below their kinds
        for entry in (item for top in page.toc for item in top.children):
            for shown in entry.children if recipes else [entry]:
                shown.children = []
    found = names.targets() if made else names.in_guides(names.targets())
    return names.linked(html, found, lambda to: get_relative_url(to, page.url))
