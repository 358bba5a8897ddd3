"""What cannot be meant is refused where it is stated, by the name of the field."""

import pytest

from evenhand.core.errors import EvenhandError
from tests.malformed.statements import PARTS, PROBLEMS, RUNS

STATEMENTS = {**PROBLEMS, **PARTS, **RUNS}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_field_is_named(name):
    call, field, phrase = STATEMENTS[name]
    with pytest.raises(EvenhandError) as caught:
        call()
    assert str(caught.value).startswith(field)
    assert phrase in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
