"""What each command replaces: the one regular file that is named, and nothing else (docs/what-is-replaced.md)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import PROGRAM

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from folder_contents import FOLDERS, X, everything, here  # noqa: E402, F401

# The words of a command before and behind the file that it writes, and how the file ends.
COMMANDS = {
    "transpose": (["transpose", "x.npy"], [], "npy"),
    "transpose, within a limit of memory": (["transpose", "x.npy"], ["--memory", "32MiB"], "npy"),
    "transpose, converted": (["transpose", "x.npy"], ["--to", "f64"], "npy"),
    "transpose, raw": (["transpose", "x.raw", "--raw", "--shape", "12,10", "--dtype", "f32"], [], "raw"),
    "draw --svg": (["draw", "rung", "smem", "--svg"], [], "svg"),
    "explain --svg": (["explain", "(8,8):(8,1)", "--svg"], [], "svg"),
    "solve --svg": (["solve", "--tile", "32x32", "--dtype", "f32", "--svg"], [], "svg"),
}
@pytest.fixture(autouse=True)
def raw(here):
    X.tofile("x.raw")


def call(command, out, **options):
    before, behind, _ = COMMANDS[command]
    return subprocess.run([PROGRAM, *before, out, *behind], capture_output=True, text=True, **options)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", FOLDERS)
def test_what_is_no_file_stays(here, command, what):
    out = f"out.{COMMANDS[command][2]}"
    FOLDERS[what](out)
    before = everything(here.parent)
    done = call(command, out)
    assert done.returncode == 2 and out in done.stderr and done.stderr.count("\n") == 1
    assert everything(here.parent) == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("out", [".", "..", "./", "../work", "/", "", "../../above", "~/"])
def test_the_working_directory_and_those_above_stay(here, command, out):
    before = everything(here.parent)
    done = call(command, out)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 or not out and "svg" in command
    assert everything(here.parent) == before


@pytest.mark.parametrize("command", [name for name in COMMANDS if name.startswith("transpose")])
@pytest.mark.parametrize("way", ["itself", "link", "hard link", "link to a link", "by another folder"])
def test_the_source_stays(here, command, way):
    source = COMMANDS[command][0][1]
    out = {"itself": source, "by another folder": f"../work/{source}"}.get(way, f"out{source[2:]}")
    if way == "hard link":
        os.link(source, out)
    elif out != source and "/" not in out:
        os.symlink(source, "between")
        os.symlink("between" if way == "link to a link" else source, out)
    before = everything(here.parent)
    done = call(command, out)
    assert done.returncode == 2 and "is the same file as" in done.stderr and done.stderr.count("\n") == 1
    assert everything(here.parent) == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", ["nothing", "file", "link", "link to nothing", "hard link", "open"])
def test_the_file_that_is_named_is_replaced_whole(here, command, what):
    ending = COMMANDS[command][2]
    assert call(command, f"want.{ending}").returncode == 0
    want = Path(f"want.{ending}").read_bytes()
    out, other = Path(f"out.{ending}"), Path(f"other.{ending}")
    if what in ("file", "open"):
        out.write_text("before")
    elif what in ("link", "hard link"):
        other.write_text("before")
        (os.symlink if what == "link" else os.link)(other, out)
    elif what == "link to nothing":
        os.symlink(other, out)
    opened = open(out) if what == "open" else None
    before = everything(here.parent)
    assert call(command, str(out)).returncode == 0
    assert out.read_bytes() == want and out.is_symlink() == what.startswith("link")
    if what.startswith("link"):
        assert other.read_bytes() == want  # the file that the link names, and the link stays
    if what == "hard link":
        assert other.read_text() == "before"  # another name of the older file
    if opened:
        assert opened.read() == "before"  # another process's file is never changed under it
        opened.close()
    changed = {name for name, held in everything(here.parent).items() if before.get(name) != held}
    assert changed <= {f"work/{out}", f"work/{other}"}


@pytest.mark.parametrize("command", COMMANDS)
def test_two_runs_at_once_leave_a_whole_file(here, command):
    before, behind, ending = COMMANDS[command]
    runs = [subprocess.Popen([PROGRAM, *before, f"out.{ending}", *behind], stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [run.wait() for run in runs] == [0] * 3
    assert call(command, f"want.{ending}").returncode == 0
    assert Path(f"out.{ending}").read_bytes() == Path(f"want.{ending}").read_bytes()
    assert sorted(os.listdir(".")) == sorted(["x.npy", "x.raw", f"out.{ending}", f"want.{ending}"])


@pytest.mark.parametrize("what", FOLDERS)
def test_in_place_changes_a_file_alone(here, what):
    FOLDERS[what]("out.npy")
    before = everything(here.parent)
    for out in ("out.npy", ".", "..", "/", ""):
        done = subprocess.run([PROGRAM, "transpose", out, "--in-place"], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert everything(here.parent) == before
