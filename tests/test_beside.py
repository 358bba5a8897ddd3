"""Files appear whole; what is no file is written to as it is."""

import os
import threading

import pytest

from evenhand.core.files import beside


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes in the file system")
def test_a_pipe_and_a_device_stay_what_they_are(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    with beside(pipe) as part:
        part.write_text("whole")
    reader.join()
    assert found == ["whole"]
    assert pipe.is_fifo()
    device = tmp_path / "device"
    device.symlink_to(os.devnull)
    with beside(device) as part:
        part.write_text("whole")
    assert device.is_symlink()
    assert device.is_char_device()
    assert sorted(z.name for z in tmp_path.iterdir()) == ["device", "pipe"]


def test_a_link_is_replaced_and_its_file_stays(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("before")
    link.symlink_to(file)
    with pytest.raises(UnicodeEncodeError), beside(link) as part:
        part.write_text("half \ud800", encoding="utf-8")
    assert link.is_symlink()
    with beside(link) as part:
        part.write_text("after")
    assert (link.is_symlink(), link.read_text(), file.read_text()) == (False, "after", "before")
    assert sorted(z.name for z in tmp_path.iterdir()) == ["file", "link"]
