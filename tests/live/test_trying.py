"""A server is ready once its kernels are compiled, and says that it compiles them."""

import time
from types import SimpleNamespace

import evenhand as eh
from evenhand.live.http import serve, trying
from evenhand.live.http.trying import told_of_compiling, try_out
from evenhand.live.stores.memory import MemoryStore
from tests.live.served import opened
from tests.live.test_files import STATED


def test_a_server_tries_decisions_out_before_it_listens(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr("evenhand.live.http.server.try_out", lambda campaign: done.append(campaign.name))
    monkeypatch.setattr("evenhand.live.http.server.server", lambda *_, **__: SimpleNamespace(run=lambda **_: None))
    serve(opened(tmp_path), port=0, ready=lambda url: done.append("ready"))
    assert done == ["shop", "ready"]


def test_what_is_tried_out_is_decided_and_observed_and_leaves_no_trace(tmp_path, monkeypatch):
    file, tried = tmp_path / "problem.toml", []
    file.write_text(STATED)
    monkeypatch.setattr(trying.Campaign, "observe", lambda self, *said: tried.append(said))
    campaign = eh.live.open_campaign(MemoryStore(), "post", file)
    try_out(campaign)
    assert tried
    assert {tuple(outcomes) for _, outcomes in tried} == {("visit",)}
    assert campaign.head().seq == 1


def test_it_is_said_once_that_kernels_are_compiled(capsys, monkeypatch):
    monkeypatch.setattr(trying, "_EVERY", 0.01)
    count = iter([3, 3, 3, 4, 5, 6, 7])
    for misses, lines in ((lambda: next(count), 1), (lambda: 3, 0)):
        monkeypatch.setattr(trying, "compiled", misses)
        with told_of_compiling():
            time.sleep(0.3)
        said = capsys.readouterr().err.splitlines()
        assert len(said) == lines
        assert all("compiling kernels" in line and "`evenhand warm PROBLEM.toml`" in line for line in said)
