import errno
import os

import numpy as np
import pytest
from safetensors import SafetensorError

from manyviews import storage
from manyviews.errors import FileWriteError
from manyviews.storage import digest, write_tensors, write_text


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "may not write"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(
    number, words, tmp_path, monkeypatch
):
    path = tmp_path / "file"
    write_text(path, "old")

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(FileWriteError, match=words) as caught:
        write_text(path, "new")
    assert str(path) in str(caught.value)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_safetensors_on_a_full_disk(tmp_path, monkeypatch):
    def full(*_):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(storage, "save_file", full)
    with pytest.raises(FileWriteError, match="the disk is full"):
        write_tensors(tmp_path / "file", {"x": np.zeros(3)}, {})
    assert not list(tmp_path.iterdir())


def test_missing_folders_and_folders_in_the_way(tmp_path):
    with pytest.raises(FileWriteError, match="create it first"):
        write_text(tmp_path / "none" / "file", "")
    with pytest.raises(FileWriteError, match="folder of that name"):
        write_text(tmp_path, "")


def test_modes_are_what_the_umask_says(tmp_path):
    before = os.umask(0o027)
    try:
        write_tensors(tmp_path / "tensors", {"x": np.zeros(3)}, {})
        write_text(tmp_path / "text", "")
    finally:
        os.umask(before)
    assert {(tmp_path / n).stat().st_mode & 0o777 for n in ("tensors", "text")} == {0o640}


def test_the_checksum_is_of_header_and_tensors():
    header, tensors = {"a": "1", "bc": "2"}, {"x": np.arange(4.0)}
    others = [
        ({"a": "2", "bc": "2"}, tensors),
        ({"ab": "1", "c": "2"}, tensors),
        (header, {"y": np.arange(4.0)}),
        (header, {"x": np.arange(4.0).reshape(2, 2)}),
        (header, {"x": np.arange(4)}),
        (header, {"x": -np.arange(4.0)}),
    ]
    assert len({digest(header, tensors), *(digest(*other) for other in others)}) == 7
    assert digest({**header, "sha256": "x"}, tensors) == digest(header, tensors)
