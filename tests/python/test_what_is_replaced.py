"""What each function replaces that writes one file: the regular file that is named (docs/what-is-replaced.md)."""

import os
import sys
from pathlib import Path

import pytest

import cornerturn
from cornerturn import _core
from cornerturn.ladder import _report

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from folder_contents import FOLDERS, everything, here  # noqa: E402, F401

WRITERS = {
    "transpose_file": lambda path: cornerturn.transpose_file("x.npy", path),
    "save_winners": _core.save_winners,
    "a report": lambda path: _report.write_whole(path, lambda file: file.write(b"report")),
}


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
    assert set(os.listdir(".")) <= {"x.npy", "want.npy", "out.npy", "other.npy"}


def test_a_device_is_no_file_for_a_report(here):
    os.mkfifo("pipe")
    with pytest.raises(FileExistsError, match="is no regular file"):
        WRITERS["a report"]("pipe")
    assert sorted(os.listdir(".")) == ["pipe", "x.npy"]
