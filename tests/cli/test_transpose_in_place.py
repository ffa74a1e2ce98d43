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


def numpy_takes(path, whole):
    """Nothing but one of these arrays."""
    try:
        found = np.load(path)
    except ValueError:
        return True
    return any(np.array_equal(found, array) for array in whole)


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
        if call == "open_unnamed" and fault > 0:
            continue  # a file with a name will do
        for nth in {1, (count + 1) // 2, count}:
            shutil.copy("whole.npy", "a.npy")
            first = Recorded(folder, log, WORDS, f"{call} {nth} {fault}")
            what = (call, nth, first.code, first.stderr)
            assert first.code == (fault if fault < 0 else 2), what
            if (folder / JOURNAL).exists():
                copied = command("transpose", "a.npy", "b.npy")
                if copied.returncode == 0:  # nothing was done yet, or only the journal is left
                    whole = np.load("a.npy")
                    assert np.array_equal(whole, array) or np.array_equal(whole, array.T), what
                    assert np.array_equal(np.load("b.npy"), whole.T), what
                else:
                    assert "in the middle of a transposition in place" in copied.stderr
                    assert numpy_takes("a.npy", [array, array.T]), what
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
    # Before it has its name, the journal is a file without one: "/path/#inode (deleted)".
    calls = [(name, "file" if path.endswith("a.npy") else "journal") for name, path in run.calls]
    named, folder_synced = calls.index(("linkat", "journal")), calls.index(("fsync_folder", "journal"))
    first = calls.index(("pwrite", "file"))
    assert calls[named - 1] == ("fsync", "journal") and named < folder_synced < first
    cut = calls.index(("ftruncate", "file"))
    assert [call for call in calls[cut - 1 :] if call[0] != "close"] == [
        ("fsync", "file"), ("ftruncate", "file"), ("fsync", "file"), ("unlink", "journal"), ("fsync_folder", "journal"),
    ]  # fmt: skip
    for i, call in enumerate(calls[:cut]):  # no record before the file has what the one before said
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


def squatters():
    """What anybody may put where the journal is to be, in a folder like /tmp."""

    def other_user():
        Path(JOURNAL).write_bytes(b"CTJOURN2" + b"x" * 5000)
        os.chown(JOURNAL, 65534, 65534)

    Path("elsewhere").write_bytes(b"not a journal")
    yield "fifo", lambda: os.mkfifo(JOURNAL)
    yield "folder", lambda: os.mkdir(JOURNAL)
    yield "link", lambda: os.symlink("elsewhere", JOURNAL)
    yield "link to nothing", lambda: os.symlink("nothing", JOURNAL)
    if os.geteuid() == 0:
        yield "other user", other_user


def test_what_a_stranger_puts_at_the_name_of_the_journal_does_no_harm(folder, log):
    array = passes()
    np.save("whole.npy", array)
    for name, make in squatters():
        make()
        before = os.lstat(JOURNAL)
        shutil.copy("whole.npy", "a.npy")
        done("info", "a.npy")
        done("transpose", "a.npy", "b.npy")
        Recorded(folder, log, WORDS, "pwrite 40 -9")
        assert "in the middle of" in refused("info", "a.npy"), name
        done(*WORDS)
        assert np.array_equal(np.load("a.npy"), array.T), name
        after = os.lstat(JOURNAL)
        assert (before.st_ino, before.st_mode, before.st_size) == (after.st_ino, after.st_mode, after.st_size)
        os.rmdir(JOURNAL) if name == "folder" else os.unlink(JOURNAL)
        assert Path("elsewhere").read_bytes() == b"not a journal"
        assert sorted(os.listdir()) == ["a.npy", "b.npy", "elsewhere", "whole.npy"], name


def test_the_journal_of_a_file_is_replaced_by_something_else(folder, log):
    array = passes()
    np.save("a.npy", array)
    Recorded(folder, log, WORDS, "pwrite 40 -9")
    os.rename(JOURNAL, "journal")
    before = Path("a.npy").read_bytes()
    assert "cannot be opened" in refused(*WORDS) and "cannot be opened" in refused(*WORDS, "--perm", "1,0")
    for _, make in squatters():
        make()
        error = refused(*WORDS)
        assert "is not a file of this user" in error or "cannot be opened" in error
        os.rmdir(JOURNAL) if os.path.isdir(JOURNAL) and not os.path.islink(JOURNAL) else os.unlink(JOURNAL)
    np.save("c.npy", array)
    Recorded(folder, log, ["transpose", "c.npy", *WORDS[2:]], "pwrite 40 -9")
    os.rename(".c.npy.cornerturn-journal", JOURNAL)
    assert "belongs to another file" in refused(*WORDS)
    assert Path("a.npy").read_bytes() == before
    os.rename("journal", JOURNAL)
    done(*WORDS)
    assert np.array_equal(np.load("a.npy"), array.T)


def test_a_journal_of_an_older_version(folder):
    """Such a file has no mark."""
    np.save("a.npy", passes())
    before = Path("a.npy").read_bytes()
    Path(JOURNAL).write_bytes(b"CTJOURN2" + bytes(5000))
    for words in [WORDS, ["info", "a.npy"], ["transpose", "a.npy", "b.npy"], ["transpose", "whole.npy", "a.npy"]]:
        np.save("whole.npy", np.zeros((3, 4)))
        assert "older version of cornerturn" in refused(*words) and Path("a.npy").read_bytes() == before


def test_other_names_of_an_unfinished_file(folder, log):
    array = passes()
    np.save("a.npy", array)
    os.link("a.npy", "b.npy")
    os.mkdir("folder")
    os.link("a.npy", "folder/c.npy")
    os.symlink("a.npy", "d.npy")
    Recorded(folder, log, WORDS, "pwrite 40 -9")
    shutil.copy("a.npy", "copy.npy")
    np.save("x.npy", np.zeros((3, 4)))
    for name in ["a.npy", "b.npy", "folder/c.npy", "d.npy", "copy.npy"]:
        before = Path(name).read_bytes()
        with pytest.raises(ValueError):
            np.load(name)
        for words in [["info", name], ["transpose", name, "out.npy"], ["transpose", "x.npy", name]]:
            assert "in the middle of a transposition in place" in refused(*words)
        assert Path(name).read_bytes() == before and not Path("out.npy").exists()
    assert "cannot be opened" in refused("transpose", "folder/c.npy", *WORDS[2:])
    done("transpose", "b.npy", *WORDS[2:])
    for name in ["a.npy", "b.npy", "folder/c.npy", "d.npy"]:
        assert np.array_equal(np.load(name), array.T)
    assert not (folder / JOURNAL).exists()


def test_an_unfinished_raw_file_is_refused_as_well(folder, log):
    array = passes()
    array.tofile("a.raw")
    raw = ["--raw", "--shape", "1103,2063", "--dtype", "f32"]
    Recorded(folder, log, ["transpose", "a.raw", *WORDS[2:], *raw], "pwrite 40 -9")
    assert "in the middle of a transposition in place" in refused("transpose", "a.raw", "b.raw", *raw)
    done("transpose", "a.raw", *WORDS[2:], *raw)
    assert np.array_equal(np.fromfile("a.raw", "<f4").reshape(2063, 1103), array.T)


def test_long_names_have_journals_of_their_own(folder):
    array = passes()
    names = ["n" * 221 + end + ".npy" for end in "AB"]
    for name in names:
        np.save(name, array + ord(name[221]))
    running = [subprocess.Popen([PROGRAM, "transpose", name, *WORDS[2:]], stdout=subprocess.DEVNULL) for name in names]
    assert [process.wait() for process in running] == [0, 0]
    for name in names:
        assert np.array_equal(np.load(name), (array + ord(name[221])).T)
    assert sorted(os.listdir()) == names


def test_two_processes_at_once_through_any_names(folder):
    """As many transpositions as commands that say so."""
    array = passes()
    np.save("a.npy", array)
    os.link("a.npy", "b.npy")
    finished = 0
    for _ in range(3):
        running = [subprocess.Popen([PROGRAM, "transpose", name, *WORDS[2:], "--no-sync"], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for name in ["a.npy", "b.npy", "a.npy"]]  # fmt: skip
        codes = [process.wait() for process in running]
        assert set(codes) <= {0, 2} and 0 in codes
        finished += codes.count(0)
    assert np.array_equal(np.load("a.npy"), array.T if finished % 2 else array)
    assert sorted(os.listdir()) == ["a.npy", "b.npy"]


@pytest.mark.parametrize("kernel", ["rows", "copy", "swap", "no kernel"])
def test_the_kernel_of_the_environment_is_not_asked(folder, kernel):
    np.save("a.npy", passes())
    done(*WORDS, env=dict(os.environ, CORNERTURN_KERNEL=kernel))
    assert np.array_equal(np.load("a.npy"), passes().T)


def test_a_record_is_as_long_as_the_file_at_most(folder):
    np.save("a.npy", numbered(301, 1009))
    for memory in ["32MiB", "1GiB", "16GiB"]:
        report = json.loads(done("transpose", "a.npy", "--in-place", "--memory", memory, "--json"))
        assert report["journal_bytes"] < 4 * report["bytes"]


def test_no_room_for_the_journal(folder):
    np.save("a.npy", passes())
    limited = ["bash", "-c", 'ulimit -f 4000; exec "$@"', "bash", str(PROGRAM), *WORDS]
    result = subprocess.run(limited, capture_output=True, text=True)
    assert result.returncode == 2 and "journal" in result.stderr
    more = subprocess.run([*limited[:-1], "256MiB"], capture_output=True, text=True)
    assert "the journal takes less with a smaller --memory" in more.stderr
    assert os.listdir() == ["a.npy"] and np.array_equal(np.load("a.npy"), passes())
