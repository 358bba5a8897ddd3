"""A campaign that learned from a log opens without it, decides as with it, and needs neither warm-up nor propensity."""

from contextlib import closing

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import EvenhandWarning, InvalidInput
from evenhand.live.campaigns.backups import backup, restore
from evenhand.live.campaigns.files import open_campaign, switch_campaign
from evenhand.live.log.events import Busy, Conflict, read
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from tests.live.campaigns.test_files import STATED
from tests.replay.shop import rows, write

ROWS = 300
PLAIN = STATED.replace("[propensity]\nconstant = 0.333333\n", "")
CASE = {"age": 33, "town": "north"}


def decided(campaign, first=0, n=12):
    found = []
    for i in range(first, first + n):
        said = campaign.decide({**CASE, "age": 20 + i}, key=f"{i}")
        campaign.observe(said.id, {"visit": i % 2})
        found.append((said.action, said.probabilities))
    return found


def forced(store, name="post"):
    return [read(e)["f"] for e in store.scan(name, kinds=("decided",))]


@pytest.fixture
def files(tmp_path):
    assert "[propensity]" not in PLAIN
    log, file = write(tmp_path, rows(ROWS), PLAIN)
    return log, file, f"sqlite:///{tmp_path}/post.db"


def test_what_was_learned_is_kept_so_that_the_log_is_read_once(files):
    log, file, store = files
    with open_campaign(store, "post", file, log_path=log) as campaign:
        first = decided(campaign)
    with open_campaign("memory://", "post", file, log_path=log) as whole:
        assert decided(whole) == first
        later = decided(whole, 12)
    log.unlink()
    with closing(connect(store)) as place:  # nothing but what was learned is kept: events are folded from the first on
        assert place.snapshot("post", campaign.policy.fingerprint()) is None
    with open_campaign(store, "post", file) as campaign:
        assert decided(campaign, 12) == later
    assert main(["audit", store]) == 0


def test_a_log_as_long_as_the_warm_up_takes_its_place(files):
    log, file, _ = files
    for warmup, learn, wanted in ((ROWS, True, False), (ROWS + 1, True, True), (ROWS, False, True), (4, 0.01, True)):
        plain = PLAIN.replace("warmup = 20", f'warmup = {warmup}\nmodel = "bayesian_ridge"')
        file.write_text(plain)
        with open_campaign("memory://", "post", file, log_path=log, learn=learn) as campaign:
            decided(campaign, n=3)
            assert any(forced(campaign.store)) is wanted


def test_a_campaign_that_was_opened_with_a_warm_up_keeps_it(files):
    """One of before says nothing of what was learned, and its policy is that of its file."""
    log, file, store = files
    stated = eh.live.fold.column_encoder.of_log(eh.live.fold.column_encoder.Text.of(file), log)
    teacher = eh.live.campaigns.files.Rows(log)
    campaign = eh.Campaign.open(store, "post", stated.policy, encoder=stated.coded, teacher=teacher)
    decided(campaign, n=3)
    campaign.close()
    with pytest.raises(Conflict, match=r"learned from a log: open it with the same one, .* the store does not keep"):
        open_campaign(store, "post", file)
    with open_campaign(store, "post", file, log_path=log) as again:
        decided(again, 3, 3)
        assert [bool(f) for f in forced(again.store)] == [True] * 6
    with open_campaign(store, "post", file) as again:  # it is kept from now on
        assert again.status().rounds == 6


def test_another_log_is_refused(files, tmp_path):
    log, file, store = files
    open_campaign(store, "post", file, log_path=log).close()
    with log.open("a") as opened:
        opened.write(log.read_text().splitlines()[-1] + "\n")
    with pytest.raises(Conflict, match="open it with the same one"):
        open_campaign(store, "post", file, log_path=log)


def test_damaged_bytes_are_as_if_nothing_was_kept(files):
    log, file, store = files
    with open_campaign(store, "post", file, log_path=log) as campaign:
        teacher = campaign._worker.folding.teacher
        place = teacher._place(campaign.policy.fingerprint())
        number, blob = campaign.store.snapshot("post", place)
        campaign.store.keep("post", place, number, blob[: len(blob) // 2])
    with pytest.raises(Conflict, match="the store does not keep"):
        open_campaign(store, "post", file)
    with open_campaign(store, "post", file, log_path=log) as campaign:
        assert campaign.status().rounds == 0


@pytest.mark.parametrize("failing", ["keep", "snapshots"])
def test_a_store_that_is_busy_when_it_should_keep_it_says_what_follows(files, failing, monkeypatch):
    """The next start needs the log, which keeps it then."""
    log, file, store = files

    def busy(*_):
        raise Busy("another worker is at work")

    with monkeypatch.context() as other, closing(connect(store)) as place:
        other.setattr(place, failing, busy)
        told = r"'post' continues, but .* \(another worker is at work\): give the log again at the next start"
        with pytest.warns(EvenhandWarning, match=told):
            campaign = open_campaign(place, "post", file, log_path=log)
        first = decided(campaign)
    with pytest.raises(Conflict, match="learned from a log: open it with the same one"):
        open_campaign(store, "post", file)
    open_campaign(store, "post", file, log_path=log).close()
    with open_campaign(store, "post", file) as campaign:
        assert [campaign.decide({**CASE, "age": 20 + i}, key=f"{i}").action for i in range(12)] == [a for a, _ in first]


def test_a_switch_that_adopts_needs_no_log(files):
    log, file, store = files
    with open_campaign(store, "post", file, log_path=log) as campaign:
        decided(campaign, n=3)
    log.unlink()
    file.write_text(PLAIN.replace("rate = 0.3", "rate = 0.4"))
    with switch_campaign(store, "post", file) as campaign:
        decided(campaign, 3, 3)
        assert not any(forced(campaign.store))
    with open_campaign(store, "post", file) as campaign:
        assert campaign.status().rounds == 6
    assert main(["audit", store]) == 0


def test_a_switch_to_another_model_needs_the_log_once(files):
    log, file, store = files
    with open_campaign(store, "post", file, log_path=log) as campaign:
        decided(campaign, n=3)
    file.write_text(PLAIN.replace("[policy]", '[policy]\nmodel = "bayesian_ridge"'))
    with pytest.raises(Conflict, match="learned from a log: open it with the same one"):
        switch_campaign(store, "post", file)
    with switch_campaign(store, "post", file, log_path=log) as campaign:
        decided(campaign, 3, 3)
        assert not any(forced(campaign.store))
        assert campaign._worker.fold.state.model.taught[0] == ROWS
    log.unlink()
    with open_campaign(store, "post", file) as campaign:
        assert campaign.status().rounds == 6
    assert main(["audit", store]) == 0


def test_a_replay_says_that_it_needs_a_propensity(files):
    log, file, _ = files
    with pytest.raises(InvalidInput, match=r"propensity: expected a column or a constant, the probability with which"):
        eh.replay_log(log, file, replicas=2, bootstrap=0, progress=False)


def test_states_that_are_taught_share_no_arrays(files):
    log, file, store = files
    with open_campaign(store, "post", file, log_path=log) as campaign:
        teacher, policy, encoder = campaign._worker.folding.teacher, campaign.policy, campaign.encoder
        one, other = policy.start(), policy.start()
        teacher.teach(policy, encoder, one)
        wanted = one.model.theta.copy()
        one.model.theta[:] = 7.0
        teacher.teach(policy, encoder, other)
        assert (other.model.theta == wanted).all()


@pytest.mark.parametrize("where", ["file", "memory"])
def test_a_backup_has_what_was_learned(files, tmp_path, where):
    log, file, store = files
    place = store if where == "file" else MemoryStore()
    with open_campaign(place, "post", file, log_path=log) as campaign:
        first = decided(campaign)
    log.unlink()
    again = f"sqlite:///{tmp_path}/again.db"
    backup(place, tmp_path / "post.backup")
    restore(tmp_path / "post.backup", again, by="ada", why="disk lost")
    with open_campaign(again, "post", file) as campaign:
        assert decided(campaign) == first
        assert campaign.status().rounds == len(first)
    assert main(["audit", f"sqlite:///{tmp_path}/post.backup"]) == 0


def test_what_was_learned_goes_from_sqlite_to_postgresql(files, tmp_path, url):
    log, file, store = files
    with open_campaign(store, "post", file, log_path=log) as campaign:
        first = decided(campaign)
    backup(store, tmp_path / "post.backup")
    restore(tmp_path / "post.backup", url, by="ada", why="disk lost")
    with open_campaign(url, "post", file) as campaign:
        assert decided(campaign) == first


def test_a_restore_that_fails_can_be_said_again(files, tmp_path, monkeypatch):
    log, file, store = files
    with open_campaign(store, "post", file, log_path=log) as campaign:
        first = decided(campaign)
    backup(store, tmp_path / "post.backup")
    again = MemoryStore()
    with monkeypatch.context() as full:
        full.setattr(again, "keep", lambda *_: exec("raise Busy('full')", {"Busy": Busy}))
        with pytest.raises(Busy):
            restore(tmp_path / "post.backup", again, by="ada", why="disk lost")
    assert again.campaigns() == []
    restore(tmp_path / "post.backup", again, by="ada", why="disk lost")
    with open_campaign(again, "post", file) as campaign:
        assert decided(campaign) == first


TEXT = (PLAIN.replace('"B" = "b" }', '"B" = "b", "S" = "sms" }')).replace(
    "{ a = 1, b = 1 }", "{ a = 1, b = 1, sms = 1 }"
)


@pytest.mark.parametrize("recipe", ["pgd", "resolving"])
def test_an_action_that_the_log_lacks_can_be_appended(files, recipe):
    """Nothing is learned of it: its coefficients begin as without data, and those of others are as before."""
    log, file, store = files
    plain, appended = (
        text.replace("step = 0.01\nwarmup = 20", f'name = "{recipe}"\nmodel = "bayesian_ridge"')
        for text in (PLAIN, TEXT)
    )
    file.write_text(plain)
    with open_campaign(store, "post", file, log_path=log) as campaign:
        decided(campaign)
        before = campaign.why(campaign.decide(CASE, key="before").id).expected
    file.write_text(appended)
    with pytest.raises(Conflict, match="learned from a log: open it with the same one"):
        switch_campaign(store, "post", file, by="Ada", why="sms")
    with switch_campaign(store, "post", file, log_path=log, by="Ada", why="sms") as campaign:
        after = campaign.why(campaign.decide(CASE, key="after").id).expected
        assert after["sms"]["visit"] == pytest.approx(0.0, abs=1e-12)
        assert after["a"]["visit"] == pytest.approx(before["a"]["visit"], abs=0.05)
        assert campaign.decide(CASE, key="sms", offered=["sms"]).action == "sms"
        decided(campaign, 20)
        said = campaign.report() | {"alarms": []}
    with open_campaign(store, "post", file, log_path=log) as campaign:
        assert campaign.report() | {"alarms": []} == said
    assert main(["audit", store, "--log", str(log)]) == 0
    aside = log.rename(log.with_suffix(".aside"))
    with open_campaign(store, "post", file) as campaign:
        assert campaign.report() | {"alarms": []} == said
        campaign.erase(keys=["3"], by="Ada", why="asked")
        decided(campaign, 40)
    with open_campaign(store, "post", file) as campaign:
        assert campaign.policy.problem.actions == ("none", "a", "b", "sms")
        assert campaign.decide(CASE, key="again", offered=["sms"]).action == "sms"
    assert main(["audit", store, "--log", str(aside)]) == 0


def test_an_action_of_the_beginning_has_to_occur_in_the_log(files):
    log, file, store = files
    file.write_text(TEXT)
    with pytest.raises(InvalidInput, match=r"expected every action to occur in log\.csv, got no row with 'sms'"):
        open_campaign(store, "post", file, log_path=log)
    file.write_text(PLAIN)
    open_campaign(store, "post", file, log_path=log).close()
    file.write_text(TEXT.replace('"B" = "b"', '"C" = "b"'))
    with pytest.raises(InvalidInput, match=r"one of the declared actions \(, A, C, S\)"):
        switch_campaign(store, "post", file, log_path=log, by="Ada", why="sms")
