"""A test of many rows runs all of them, and names those that fail."""

import pytest

from tests.rows import for_each


def test_all_rows_are_run_and_those_that_fail_are_named():
    seen = []

    @for_each("number", range(6))
    def check(number):
        seen.append(number)
        assert number % 3, "it is divisible"

    with pytest.raises(AssertionError, match=r"(?s)2 of 6 failed\nrow 0: \[0\]: .*\nrow 3: \[3\]: .*divisible"):
        check()
    assert seen == list(range(6))


def test_one_that_fails_is_raised_as_it_is():
    @for_each(("one", "two"), [(1, 2), (1, 0)], ids=["first", "second"])
    def check(one, two):
        one / two

    with pytest.raises(ZeroDivisionError) as found:
        check()
    assert found.value.__notes__ == ["row 1: second"]


def test_a_failure_of_pytest_is_one():
    @for_each("number", [0, 1])
    def check(number):
        with pytest.raises(ZeroDivisionError):
            1 / number

    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check()


@for_each("text", ["a", "b"])
@pytest.mark.parametrize("more", [1, 2])
def test_a_row_has_fixtures_of_its_own(text, more, tmp_path, monkeypatch, capsys):
    assert not list(tmp_path.iterdir())
    (tmp_path / text).touch()
    monkeypatch.setenv("EVENHAND_OF_A_TEST", text)
    print(text)
    assert capsys.readouterr().out == f"{text}\n"


SEEN = set()


@for_each("number", range(5), parts=2)
def test_rows_are_dealt_out(number):
    assert number not in SEEN
    SEEN.add(number)
