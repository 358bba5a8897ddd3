"""A campaign behind HTTP, which the tests of a module share unless it has its own."""

import pytest

from evenhand.live.http import app
from tests.live.http_campaign import opened, serving


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return opened(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def client(campaign):
    with serving(app(campaign)) as found:
        yield found
