"""The fallbacks that a problem file states settle overdue decisions, and are asked for where nothing else would."""

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.live.stores.memory import MemoryStore
from evenhand.logs.problem_file import parse
from tests.live.minutes import OVERALL

WITH = OVERALL.replace("range = [0, 60]", "range = [0, 60]\nfallback = 20")
SAID = ("--by", "Ada", "--why", "so")


def write(folder, text):
    file = folder / "problem.toml"
    file.write_text(text)
    return file


def test_a_file_states_a_fallback():
    answer, minutes = parse(WITH, "problem.toml").outcomes
    assert (answer.fallback, minutes.fallback) == (None, 20.0)
    for text, told in (("fallback = 61", r"fallback: expected a number in \[0, 60\]"),
                       ('fallback = "20"', r"outcomes\.minutes\.fallback: expected a finite number")):  # fmt: skip
        with pytest.raises(InvalidInput, match=told):
            parse(WITH.replace("fallback = 20", text), "problem.toml")
    known = "[outcomes.answer]\n\n[outcomes.cents]\nknown = { call = 1 }\nfallback = 1"
    with pytest.raises(
        InvalidInput, match=r"outcomes\.cents\.fallback: .* got an unknown key"
    ):  # which cannot fail to arrive
        parse(WITH.replace("[outcomes.answer]", known), "problem.toml")


def test_it_settles_what_an_overdue_decision_holds(tmp_path):
    now = [1_790_000_000 * 10**6]
    store = MemoryStore(lambda: now[0])
    file = write(tmp_path, WITH)
    campaign = eh.live.open_campaign(store, "calls", file, patience=60.0, on_expiry="fallback")
    while campaign.decide({}, key=f"case {len(list(campaign.events()))}").action != "call":
        pass
    before = campaign.status().accounts["minutes"]
    assert (before.spent, before.held) == (0.0, 60.0)
    now[0] += 61 * 10**6
    campaign.refresh()
    account = campaign.status().accounts["minutes"]
    assert (account.spent, account.held, account.left) == (20.0, 0.0, 580.0)


def test_settling_by_fallbacks_is_refused_where_a_budget_waits_for_an_outcome_without_one(tmp_path, capsys):
    file, store = write(tmp_path, OVERALL), f"sqlite:///{tmp_path}/calls.db"
    told = 'on_expiry: expected "hold" or "release", or a `fallback` of each outcome that budget minutes waits for'
    assert main(["serve", str(file), "--store", store, "--on-expiry", "fallback"]) == 2
    assert told in capsys.readouterr().err
    with pytest.warns(EvenhandWarning, match='use on_expiry="release" if'):
        campaign = eh.live.open_campaign(store, "problem", file)
    with campaign:
        assert main(["change", store, "--on-expiry", "fallback", *SAID]) == 2
        assert told in capsys.readouterr().err
        with pytest.raises(InvalidInput, match="fallback` of each outcome that budget minutes"):
            campaign.change(on_expiry="fallback", by="Ada", why="so")
        assert campaign.life.on_expiry == "hold"
        assert main(["switch", store, str(write(tmp_path, WITH)), *SAID]) == 0
        assert main(["change", store, "--on-expiry", "fallback", *SAID]) == 0
        campaign.refresh()
        assert campaign.life.on_expiry == "fallback"


def test_a_warning_names_the_fallback_where_there_is_one(tmp_path):
    with pytest.warns(EvenhandWarning, match='use on_expiry="fallback" or "release" if'):
        eh.live.open_campaign(MemoryStore(), "calls", write(tmp_path, WITH))
