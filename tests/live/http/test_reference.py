"""The page that documents a server: what it says is what the description says, and its examples are answered."""

import shlex

import pytest

import evenhand as eh
from evenhand.live import Campaign, open_campaign
from evenhand.live.dashboard.reference import example, rows
from evenhand.live.http import app
from tests.live.campaigns.test_files import STATED
from tests.live.dashboard.test_http_page import SCRIPT, Tags
from tests.live.http.test_many_campaigns import campaigns
from tests.live.http_campaign import opened, serving
from tests.replay.shop import rows as rows_of, write

SECRET = "a secret of this test"


def test_every_request_is_there_with_its_fields_and_ranges(tmp_path):
    with serving(app(opened(tmp_path))) as client:
        said, page = client.get("/openapi.json").json(), client.get("/docs")
    tags = Tags(page.text)
    assert page.headers["content-security-policy"] == "default-src 'self'"
    for path, methods in said["paths"].items():
        for method in methods:
            assert f"<h3>{method.upper()} {path}</h3>" in page.text
    for text in (
        "case.age",
        "usually from 20 to 60",
        "'town' or 'land'",
        "outcomes.answer",
        "at most 1",
        "needed, or key; integer, at least 1, at most 9,223,372,036,854,775,807",
        "'hold' or 'fallback' or 'release' or null",
    ):
        assert text in tags.text
    assert not tags.of("script")
    loaded = [z["href"] for z in tags.of("link")] + [z["href"] for z in tags.of("a")]
    assert loaded
    assert not any(z.startswith(("/", "http")) for z in loaded)
    assert not any("style" in attrs or "onclick" in attrs for _, attrs in tags.found)


@pytest.mark.parametrize("coded", [False, True])
def test_its_commands_are_answered(tmp_path, coded):
    """In the order of a decision, with names of columns and with levels."""
    shop = open_campaign("memory://", "post", write(tmp_path, rows_of(300), STATED)[1]) if coded else opened(tmp_path)
    commands = {}
    with serving(app(shop, token=SECRET)) as client:
        client.headers["Authorization"] = f"Bearer {SECRET}"
        said, page = client.get("/openapi.json").json(), Tags(client.get("/docs").text).text
        for path, methods in said["paths"].items():
            for method, about in methods.items():
                line = example(path, method, about, str(client.base_url), about.get("security") != [])
                assert line in page
                commands[path] = shlex.split(line)
                assert ("Authorization: Bearer $TOKEN" in commands[path]) == (path not in ("/healthz", "/readyz"))
        for path in ("/decide", "/observe", "/decisions", "/cancel", "/pause", "/resume", "/healthz", "/report"):
            parts = commands[path]
            body = parts[parts.index("--json") + 1] if "--json" in parts else None
            found = client.post(parts[-1], content=body) if body else client.get(parts[-1])
            assert found.status_code == (409 if path == "/cancel" else 200), found.text


def test_names_that_are_html_or_shell_are_texts():
    shop = eh.Problem(
        actions=(SCRIPT, "it's"),
        features=(eh.Categorical("from", ("it's $HOME", SCRIPT)),),
        outcomes=(eh.Outcome("won"),),
        maximize="won",
        horizon=9,
    )
    with serving(app(Campaign.open("memory://", "shop", eh.resolving(shop, eh.PerAction.of(shop))))) as client:
        tags = Tags(client.get("/docs").text)
    assert not tags.of("script")
    assert SCRIPT in tags.text
    line = next(z for z in tags.text.splitlines() if z.startswith("curl") and "/decide" in z)
    assert shlex.split(line)[2] == '{"key": "order-17", "case": {"from": "it\'s $HOME"}}'


def test_pages_of_several_have_their_own(tmp_path):
    with serving(app(campaigns(tmp_path))) as client:
        assert "GET /campaigns</h3>" in client.get("/docs").text
        found = client.get("/campaigns/shop/docs").text
        assert "POST /decide</h3>" in found
        assert f"{client.base_url}/campaigns/shop/decide" in found
        assert 'href="docs"' in client.get("/campaigns/shop/").text


def test_fields_of_nested_lists():
    inner = {"type": "object", "properties": {"x": {"type": "integer", "maximum": 3}}, "required": ["x"]}
    schema = {"oneOf": [{"type": "object", "properties": {"all": {"type": "array", "items": inner}}}]}
    assert list(rows(schema)) == [("all", "list of object"), ("all[].x", "needed; integer, at most 3")]
