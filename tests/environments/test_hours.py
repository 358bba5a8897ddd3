"""Hours of traffic: chances that are none are refused."""

import math

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.environments import Hours


@pytest.mark.parametrize(
    "chances",
    [
        (math.nan,) * 3,
        (0.5, math.nan, 0.5),
        (math.inf, -math.inf, 1.0),
        (0.5, 0.4, 0.2),
        (1.1, -0.1, 0.0),
        (0.5, 0.5),
        (),
    ],
)
def test_chances_that_are_none_are_refused(chances):
    with pytest.raises(InvalidInput, match=r"^Hours\.hours: expected chances of nobody, routine, urgent"):
        Hours(hours=((0.2, 0.5, 0.3), chances))


def test_no_hours_are_refused():
    with pytest.raises(InvalidInput, match=r"^Hours\.hours: "):
        Hours(hours=())
