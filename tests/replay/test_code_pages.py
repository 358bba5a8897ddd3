"""Texts that are in no UTF-8: which letters their bytes are, and what a problem's names say of it."""

import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.replay import draft, read_log
from tests.replay import shop

TOWNS = {"north": "Plzeň", "south": "Tábor"}
PARITY = '[[parity]]\noutcome = "post"\nby = "town"\ntolerance = 0.1\n'


def written(folder, page, problem=shop.PROBLEM, towns=TOWNS, head=shop.HEADER):
    rows = [[age, towns[town], *rest] for age, town, *rest in shop.rows(400)]
    log, toml = shop.write(folder, rows, problem, head)
    log.write_bytes(log.read_text().encode(page))
    return log, toml


@pytest.mark.parametrize("page", ["cp1250", "iso8859-2"])
def test_a_word_that_another_code_page_reads_otherwise_is_named(tmp_path, page):
    log, toml = written(tmp_path, page)
    found = read_log(log, toml)
    assert "'Plzeò', which would be 'Plzeň' by log.encoding = \"cp1250\"" in found.notes[0]
    assert "Plzeò" in found.columns()["town"]
    assert found.notes[0] in draft(log).guessed
    toml.write_text(shop.PROBLEM + f'\n[log]\nencoding = "{page}"\n')
    stated = read_log(log, toml)
    assert set(stated.columns()["town"]) == {"Plzeň", "Tábor"}
    assert not any("Windows" in note for note in stated.notes)


def test_pages_that_read_a_word_in_two_ways_are_both_named(tmp_path):
    log, toml = written(tmp_path, "iso8859-2", towns={"north": "Žatec", "south": "b"})
    assert "'®atec' by log" not in (note := read_log(log, toml).notes[0])
    assert "'®atec', which would be 'Žatec' by log.encoding = \"iso8859-2\"" in note
    with pytest.raises(InvalidInput, match=r"which log.encoding = .iso8859-2. reads as 'Žatec'"):
        eh.value(log, toml, rules=["a where town = Žatec; else none"])


def test_texts_that_are_alike_in_all_likely_pages_are_not_doubted(tmp_path):
    log, toml = written(tmp_path, "cp1250", towns={"north": "Köln", "south": "Münster"})
    assert (
        read_log(log, toml).notes[0]
        == "log.csv was found to be text in Windows-1252, as it is not UTF-8 (log.csv, line 2)"
    )


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (shop.PROBLEM.replace('["town"]', '["město"]').replace(PARITY, ""), "there is 'mìsto'"),
        (
            shop.PROBLEM.replace("[action]", '[features.levels]\ntown = ["Plzeň", "Tábor"]\n\n[action]'),
            "one of the levels (Plzeň, Tábor) (there is 'Plzeò'",
        ),
        (
            shop.PROBLEM + '\n[groups.town.shares]\n"Plzeň" = 0.3\n"Tábor" = 0.7\n',
            "one of the groups (Plzeň, Tábor) (there is 'Plzeò'",
        ),
        (
            shop.PROBLEM.replace(PARITY, "")
            .replace('categorical = ["town"]', "")
            .replace('column = "letter"', 'column = "town"')
            .replace(shop.VALUES, 'values = { "Tábor" = "none", "Plzeň" = "a", "B" = "b" }'),
            "one of the declared actions (Tábor, Plzeň, B) (there is 'Plzeò'",
        ),
    ],
    ids=["column", "level", "group", "action"],
)
def test_names_that_are_there_in_another_code_page_are_refused_with_it(tmp_path, problem, said):
    head = ["age", "město" if "město" in problem else "town", *shop.HEADER[2:]]
    log, toml = written(tmp_path, "cp1250", problem, head=head)
    with pytest.raises(InvalidInput) as caught:
        read_log(log, toml)
    assert said in str(caught.value)
    assert 'which log.encoding = "cp1250" reads as ' in str(caught.value)


def test_a_rule_names_a_town_as_the_log_should_be_read(tmp_path):
    log, toml = written(tmp_path, "cp1250")
    rule = "a where town = Plzeň; else none"
    with pytest.raises(InvalidInput, match=r"there is 'Plzeò', which log.encoding = \"cp1250\" reads as 'Plzeň'"):
        eh.value(log, toml, rules=[rule])
    toml.write_text(shop.PROBLEM + '\n[log]\nencoding = "cp1250"\n')
    assert eh.value(log, toml, rules=[rule]).policies[-1].policy == rule
