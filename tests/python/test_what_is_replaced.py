"""What each function replaces that writes one file: the regular file that is named (docs/what-is-replaced.md)."""

import os
from pathlib import Path

import numpy as np
import pytest

import cornerturn
from cornerturn import _core
from cornerturn.ladder import _report

X = np.arange(6 * 5, dtype="f4").reshape(6, 5)
WRITERS = {
    "transpose_file": lambda path: cornerturn.transpose_file("in.npy", path),
    "save_winners": _core.save_winners,
    "a report": lambda path: _report.write_whole(path, lambda file: file.write(b"report")),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    np.save("in.npy", X)
    return folder


def everything(folder):
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        held = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else path.stat().st_ino
        found[str(path.relative_to(folder))] = held
    return found


def folder_with(path):
    Path(path).mkdir()
    (Path(path) / "mine").write_text("mine")


def group(path):
    folder_with(path)
    (Path(path) / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')


def link_to_folder(path):
    folder_with("folder")
    os.symlink("folder", path)


FOLDERS = {"folder": folder_with, "empty folder": os.mkdir, "group": group, "link to a folder": link_to_folder}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("what", [*FOLDERS, ".", "..", "/", "../work"])
def test_what_is_no_file_stays(here, writer, what):
    path = what
    if what in FOLDERS:
        path = "out.npy"
        FOLDERS[what](path)
    before = everything(here.parent)
    with pytest.raises((OSError, ValueError, RuntimeError)) as error:
        WRITERS[writer](path)
    assert "\n" not in str(error.value) and everything(here.parent) == before


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("what", ["nothing", "file", "link", "link to nothing", "hard link", "open"])
def test_the_file_that_is_named_is_replaced_whole(here, writer, what):
    WRITERS[writer]("want.npy")
    want, out, other = Path("want.npy").read_bytes(), Path("out.npy"), Path("other.npy")
    if what in ("file", "open"):
        out.write_text("before")
    elif what in ("link", "hard link"):
        other.write_text("before")
        (os.symlink if what == "link" else os.link)(other, out)
    elif what == "link to nothing":
        os.symlink(other, out)
    opened = open(out) if what == "open" else None
    WRITERS[writer](str(out))
    assert out.read_bytes() == want and out.is_symlink() == what.startswith("link")
    if what == "hard link":
        assert other.read_text() == "before"
    if opened:
        assert opened.read() == "before"
        opened.close()
    assert set(os.listdir(".")) <= {"in.npy", "want.npy", "out.npy", "other.npy"}


def test_a_device_is_no_file_for_a_report(here):
    os.mkfifo("pipe")
    with pytest.raises(FileExistsError, match="is no regular file"):
        WRITERS["a report"]("pipe")
    assert sorted(os.listdir(".")) == ["in.npy", "pipe"]
