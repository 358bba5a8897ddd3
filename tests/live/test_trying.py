"""A server is ready once its kernels are compiled."""

from types import SimpleNamespace

import evenhand as eh
from evenhand.cli import main
from evenhand.core.kernel_parts import Kernel
from evenhand.live.http import serve, trying
from evenhand.live.http.trying import try_out
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


def test_a_server_says_how_kernels_are_compiled_ahead_of_time(tmp_path, monkeypatch, capsys):
    file = tmp_path / "problem.toml"
    file.write_text(STATED)
    monkeypatch.setattr("evenhand.live.http.serve", lambda *_, **__: None)
    monkeypatch.setattr(Kernel.announcer, "hint", "")
    assert main(["serve", str(file), "--store", f"sqlite:///{tmp_path}/post.db"]) == 0
    assert Kernel.announcer.hint == " (`evenhand warm PROBLEM.toml` does this ahead of time)"
