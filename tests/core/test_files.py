"""Files appear whole; what is no file is written to as it is; what a killed process left is removed."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from evenhand.core.files import remove_parts, replacement


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes in the file system")
def test_a_pipe_and_a_device_stay_what_they_are(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    with replacement(pipe) as part:
        part.write_text("whole")
    reader.join()
    assert found == ["whole"]
    assert pipe.is_fifo()
    device = tmp_path / "device"
    device.symlink_to(os.devnull)
    with replacement(device) as part:
        part.write_text("whole")
    assert device.is_symlink()
    assert device.is_char_device()
    assert sorted(z.name for z in tmp_path.iterdir()) == ["device", "pipe"]


def test_a_link_is_replaced_and_its_file_stays(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("before")
    link.symlink_to(file)
    with pytest.raises(UnicodeEncodeError), replacement(link) as part:
        part.write_text("half \ud800", encoding="utf-8")
    assert link.is_symlink()
    with replacement(link) as part:
        part.write_text("after")
    assert (link.is_symlink(), link.read_text(), file.read_text()) == (False, "after", "before")
    assert sorted(z.name for z in tmp_path.iterdir()) == ["file", "link"]


def test_writers_of_one_file_at_once_each_publish_a_whole_one(tmp_path):
    out = tmp_path / "file"
    with replacement(out) as first:
        first.write_text("half of the first")
        with replacement(out) as second:
            assert second != first
            second.write_text("second")
            assert first.read_text() == "half of the first"
        assert out.read_text() == "second"
        first.write_text("first")
    assert out.read_text() == "first"
    assert [z.name for z in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="there are no locks of files")
@pytest.mark.parametrize(("taken", "told"), [(True, "Replaced by another program"), (False, "No such file")])
def test_a_part_that_another_program_took_is_not_published(taken, told, tmp_path):
    def write():
        with replacement(out) as part:
            part.write_text("own")
            part.unlink()
            if taken:
                part.write_text("half of another")

    out = tmp_path / "file"
    out.write_text("before")
    with pytest.raises(OSError, match=told):
        write()
    assert out.read_text() == "before"
    assert [z.name for z in tmp_path.iterdir()] == ["file"]


ENDS = ("-journal", "-shm", "-wal", ".gate", ".lock")


def test_files_beside_a_part_go_with_it(tmp_path):
    def write():
        with replacement(tmp_path / "log.db") as part:
            for end in ENDS:
                part.with_name(part.name + end).write_text("")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="there are no locks of files")
def test_files_beside_a_part_that_is_gone_are_removed(tmp_path):
    for end in ENDS:
        (tmp_path / f".log.db.1a2b.evenhand.part{end}").write_text("")
    with replacement(tmp_path / "other.db") as part:
        own = [part, part.with_name(part.name + ".lock")]
        own[1].write_text("")
        remove_parts(tmp_path)
        assert sorted(tmp_path.iterdir()) == sorted(own)


HALF = """
import sys, time
from pathlib import Path
from evenhand.core.files import replacement
with replacement(Path(sys.argv[1])) as part:
    part.write_text("half")
    part.with_name(part.name + "-journal").write_text("half")
    print(part, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no locks of files")
def test_the_next_file_of_a_folder_removes_what_a_killed_process_left_and_nothing_else(tmp_path):
    own = [tmp_path / name for name in (".hidden.7.part", ".other", "part")]
    for file in own:
        file.write_text("own")
    processes = [
        subprocess.Popen([sys.executable, "-c", HALF, str(tmp_path / name)], stdout=subprocess.PIPE, text=True)
        for name in ("monday.db", "tuesday.db")
    ]
    try:
        parts = [tmp_path / process.stdout.readline().strip() for process in processes]
        journals = [part.with_name(f"{part.name}-journal") for part in parts]
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait()
        assert parts[0].exists()
        with replacement(tmp_path / "wednesday.db") as part:
            assert sorted(tmp_path.iterdir()) == sorted([*own, parts[1], journals[1], part])
        remove_parts(tmp_path)  # which takes nothing of a process that lives
        assert sorted(tmp_path.iterdir()) == sorted([*own, parts[1], journals[1], tmp_path / "wednesday.db"])
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    remove_parts(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([*own, tmp_path / "wednesday.db"])
