"""Every writer on a disk that is full before it is done, with every room that it may have. The disk is
one in memory; where none can be mounted, and in addition to it, files may not grow beyond a length."""

import errno
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import PROGRAM, command, random_array, saved

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from small_disk import PAGE, on_small_disk, pages, why_none, with_short_files  # noqa: E402

a_small_disk = pytest.mark.skipif(bool(why_none()), reason=str(why_none()))

ARRAY = np.nan_to_num(random_array((32, 96), "<f4"))
RAW = ["--raw", "--shape", "32,128", "--dtype", "f32"]
BYTES = random_array((32, 128), "<f4")  # whole pages: a mark behind them takes one more

# Words, files that are there, and what becomes of which of them. In place the file is whole pages or not.
WRITERS = {
    "new": (["transpose", "in.npy", "out.npy"], {}, ["out.npy"]),
    "older": (["transpose", "in.npy", "out.npy"], {"out.npy": b"older"}, ["out.npy"]),
    "pieces": (["transpose", "in.npy", "out.npy", "--memory", "32MiB"], {"out.npy": b"older"}, ["out.npy"]),
    "converted": (["transpose", "in.npy", "out.npy", "--to", "f64"], {}, ["out.npy"]),
    "two files": (
        ["transpose", "in.npy", "out.npy", "--to", "mxfp8_e4m3", "--scales", "scales.npy"],
        {"scales.npy": b"older"},
        ["out.npy", "scales.npy"],
    ),
    "picture": (["draw", "sectors", "32:64", "--svg", "out.svg"], {}, ["out.svg"]),
    "in place": (["transpose", "in.npy", "--in-place"], {}, ["in.npy"]),
    "raw in place": (["transpose", "a.raw", "--in-place", *RAW], {"a.raw": BYTES.tobytes()}, ["a.raw"]),
}


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def prepared(folder, name):
    """A folder with what the writer finds, and what it leaves where there is room."""
    words, older, outputs = WRITERS[name]
    before = folder / "before"
    before.mkdir()
    for path, data in {"in.npy": saved(ARRAY), **older}.items():
        (before / path).write_bytes(data)
    there = files_in(before)
    shutil.copytree(before, folder / "done")
    result = command(*words, cwd=folder / "done")
    assert result.returncode == 0, result.stderr
    done = files_in(folder / "done")
    assert sorted(done) == sorted({*there, *outputs})
    assert all(done[path] != there.get(path) for path in outputs)
    return words, before, there, done


def check_refused(process, number, found, there):
    assert process.returncode == 2, process
    assert process.stderr.startswith("cornerturn: ") and process.stderr.count("\n") == 1, process.stderr
    assert os.strerror(number) in process.stderr, process.stderr
    assert found == there, process.stderr


@a_small_disk
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_has_all_or_nothing(folder, name):
    words, before, there, done = prepared(folder, name)
    held = sum(pages(len(data)) for data in there.values())
    refused = 0
    for more in range(100):
        process, after = on_small_disk(folder, f"after {more}", before, held + more, [PROGRAM, *words])
        if process.returncode == 0:
            assert files_in(after) == done
            break
        check_refused(process, errno.ENOSPC, files_in(after), there)
        refused += 1
    assert process.returncode == 0, process.stderr
    assert refused >= 2


@pytest.mark.parametrize("name", WRITERS)
def test_files_that_may_not_grow(folder, name):
    words, before, there, done = prepared(folder, name)
    lengths = [0, 1, PAGE // 2, *range(PAGE, 100 * PAGE, 2 * PAGE + 64)]
    for i, most in enumerate(lengths):
        now = folder / f"now {i}"
        shutil.copytree(before, now)
        process = command(*words, cwd=now, preexec_fn=with_short_files(most))
        if process.returncode == 0:
            assert files_in(now) == done
            break
        check_refused(process, errno.EFBIG, files_in(now), there)
    assert process.returncode == 0 and i >= 3, (i, process.stderr)


@a_small_disk
def test_a_file_with_holes_is_finished_when_there_is_room(folder):
    """Its holes need room in the middle of the work: it is refused from then on, and the same finishes it."""
    array = np.zeros((2300, 1024), "<f4")
    array[:32, :96] = ARRAY
    before = folder / "before"
    before.mkdir()
    with open(before / "a.raw", "wb") as file:
        file.write(array[:32].tobytes())
        file.truncate(array.nbytes)
    task = ["--in-place", "--raw", "--shape", "2300,1024", "--dtype", "f32", "--memory", "32MiB"]
    words = [PROGRAM, "transpose", "a.raw", *task]
    there, whole = files_in(before), pages(array.nbytes)
    outcomes = set()
    for room in range(whole // 2, 3 * whole, whole // 4):
        process, after = on_small_disk(folder, f"after {room}", before, room, words)
        if process.returncode == 0:
            outcomes.add("done")
        elif files_in(after) == there:
            outcomes.add("untouched")
            continue
        else:
            outcomes.add("half")
            assert process.returncode == 2 and os.strerror(errno.ENOSPC) in process.stderr, process
            assert len(files_in(after)) == 2 and process.stderr.count("\n") == 1, process.stderr
            taken = command("transpose", "a.raw", "b.raw", *task[1:], cwd=after)
            assert taken.returncode == 2 and "in the middle of a transposition" in taken.stderr
            process, after = on_small_disk(folder, f"again {room}", after, 4 * whole, words)
            assert process.returncode == 0, process.stderr
        assert files_in(after) == {"a.raw": array.T.tobytes()}, room
        shutil.rmtree(after)
        if "done" in outcomes:
            break
    assert outcomes == {"untouched", "half", "done"}
