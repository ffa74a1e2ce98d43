"""Files that are transposed where they lie: interrupted in every call, taken up again, refused."""

import collections
import errno
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from command_line import PROGRAM, command, done, refused
from test_file_calls import Recorded

JOURNAL = ".a.npy.cornerturn-journal"
WORDS = ["transpose", "a.npy", "--in-place", "--memory", "32MiB"]


@pytest.fixture
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "calls"


def numbered(*shape, dtype="<f4"):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "shape, perm", [((300, 7), None), ((64, 64), None), ((5, 6, 7), (2, 0, 1)), ((9,), None), ((0, 4), None)]
)
def test_a_file_becomes_its_transposition(folder, shape, perm, order):
    array = numbered(*shape)
    np.save("a.npy", np.asarray(array, order=order))
    inode = os.stat("a.npy").st_ino
    more = ["--perm", ",".join(map(str, perm))] if perm else []
    report = json.loads(done(*WORDS, *more, "--json"))
    assert report["in_place"] and not report["resumed"] and report["result_shape"] == list(array.transpose(perm).shape)
    result = np.load("a.npy")
    assert result.dtype == array.dtype and np.array_equal(result, array.transpose(perm))
    assert os.stat("a.npy").st_ino == inode and os.listdir() == ["a.npy"]


def test_a_raw_file(folder):
    array = numbered(30, 20)
    array.tofile("a.raw")
    done("transpose", "a.raw", "--in-place", "--raw", "--shape", "30,20", "--dtype", "f32")
    assert np.array_equal(np.fromfile("a.raw", "<f4").reshape(20, 30), array.T)


def passes():
    """An array of 9 MB takes several records of 4 MiB: a rest, panels, runs, rows."""
    return numbered(1103, 2063)


@pytest.mark.parametrize("fault", [-9, errno.ENOSPC, errno.EIO])
def test_interrupted_in_every_call_and_finished_by_the_same_command(folder, log, fault):
    array = passes()
    np.save("whole.npy", array)
    shutil.copy("whole.npy", "a.npy")
    clean = Recorded(folder, log, WORDS)
    assert clean.code == 0, clean.stderr
    expected = Path("a.npy").read_bytes()
    assert np.array_equal(np.load("a.npy"), array.T)
    seen = collections.Counter(call for call, _ in clean.calls if call != "close")
    assert 30 < seen["pwrite"] < 5000 and seen["fsync"] > 20
    tried = 0
    for call, count in seen.items():
        for nth in {1, (count + 1) // 2, count}:
            shutil.copy("whole.npy", "a.npy")
            first = Recorded(folder, log, WORDS, f"{call} {nth} {fault}")
            what = (call, nth, first.code, first.stderr)
            assert first.code == (fault if fault < 0 else 2), what
            if (folder / JOURNAL).exists():
                copied = command("transpose", "a.npy", "b.npy")
                if copied.returncode == 0:  # the journal had not been whole, and nothing was done
                    assert np.array_equal(np.load("b.npy"), array.T), what
                else:
                    assert "in the middle of a transposition in place" in copied.stderr
                # Once more, in the middle of what it has to do again.
                Recorded(folder, log, WORDS, "pwrite 1 -9")
            elif np.load("a.npy").shape == array.shape:
                assert np.array_equal(np.load("a.npy"), array), what
            if (folder / JOURNAL).exists() or np.load("a.npy").shape == array.shape:
                done(*WORDS)
            assert Path("a.npy").read_bytes() == expected, what
            assert not (folder / JOURNAL).exists(), what
            tried += 1
    assert tried >= 10


def test_the_journal_comes_first_and_the_header_last(folder, log):
    np.save("a.npy", passes())
    run = Recorded(folder, log, WORDS)
    calls = [(name, "journal" if path.endswith("-journal") else "file") for name, path in run.calls if name != "fsync_folder"]
    first = calls.index(("pwrite", "file"))
    assert ("fsync", "journal") in calls[:first]
    last = max(i for i, call in enumerate(calls) if call == ("pwrite", "file"))
    assert calls[last + 1 : last + 3] == [("fsync", "file"), ("unlink", "journal")]
    for i, call in enumerate(calls):  # no record before the file has what the one before said
        if call == ("pwrite", "file") and calls[i + 1] != call:
            assert calls[i + 1] == ("fsync", "file")
    without = Recorded(folder, log, [*WORDS, "--no-sync"])
    assert without.code == 0 and not without.places("fsync", "fsync_folder")


def test_another_command_does_not_go_on_with_a_journal(folder, log):
    np.save("a.npy", passes())
    Recorded(folder, log, WORDS, "pwrite 20 -9")
    assert "is in the middle of another change" in refused(*WORDS, "--perm", "0,1")
    assert "in the middle of a transposition in place" in refused("info", "a.npy")
    done("transpose", "a.npy", "--in-place")  # with the memory that the work was begun with
    assert np.array_equal(np.load("a.npy"), passes().T)


def test_a_file_that_was_changed_meanwhile_is_not_touched(folder, log):
    array = passes()
    np.save("a.npy", array)
    Recorded(folder, log, WORDS, "pwrite 20 -9")
    shutil.copy("a.npy", "interrupted.npy")
    shutil.copy(JOURNAL, "journal")
    for other in [array + 1, np.zeros_like(array), array[:-1]]:
        np.save("a.npy", other)
        before = Path("a.npy").read_bytes()
        for _ in range(2):  # the first refusal changes nothing
            error = refused(*WORDS)
            assert "was changed by something else" in error or "its journal tells of (1103, 2063)" in error
            assert Path("a.npy").read_bytes() == before and Path("journal").read_bytes() == Path(JOURNAL).read_bytes()
    with open("interrupted.npy", "rb") as file:
        Path("a.npy").write_bytes(file.read())
    assert json.loads(done(*WORDS, "--json"))["resumed"]
    assert np.array_equal(np.load("a.npy"), array.T)


def test_what_is_refused(folder):
    np.save("a.npy", passes())
    before = Path("a.npy").read_bytes()
    for words, part in [
        (["b.npy"], "OUT does not go with --in-place"),
        (["--verify"], "--verify does not go with --in-place"),
        (["--to", "f2"], "a conversion does not go with --in-place"),
        (["--device", "gpu"], "--device does not go with --in-place"),
        (["--force", "tile"], "--force does not go with --in-place"),
    ]:
        assert part in refused(*WORDS, *words)
    assert "is not a regular file" in refused("transpose", "/dev/null", "--in-place")
    assert "OUT is required" in refused("transpose", "a.npy")
    os.chmod("a.npy", 0o444)
    if os.geteuid() != 0:
        assert "cannot be opened for writing" in refused(*WORDS)
    assert Path("a.npy").read_bytes() == before
    assert os.listdir() == ["a.npy"]


def test_two_processes_on_one_file(folder):
    np.save("a.npy", passes())
    with open("a.npy", "r+b") as file:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
        assert "is being changed by another process" in refused(*WORDS)


def test_a_journal_of_somebody_else_is_not_followed(folder):
    if os.geteuid() != 0:
        pytest.skip("another user is needed")
    np.save("a.npy", passes())
    Path(JOURNAL).write_bytes(b"x" * 5000)
    os.chown(JOURNAL, 65534, 65534)
    assert "is not a file of this user" in refused(*WORDS)
    assert np.array_equal(np.load("a.npy"), passes())


def test_no_room_for_the_journal(folder):
    np.save("a.npy", passes())
    limited = ["bash", "-c", 'ulimit -f 4000; exec "$@"', "bash", str(PROGRAM), *WORDS]
    result = subprocess.run(limited, capture_output=True, text=True)
    assert result.returncode == 2 and "journal" in result.stderr
    assert os.listdir() == ["a.npy"] and np.array_equal(np.load("a.npy"), passes())
