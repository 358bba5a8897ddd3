"""Most campaigns of these tests hold what is overdue, and are warned of it; `test_opening` looks at the warning."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:budget .* holds its worst case for good"))
