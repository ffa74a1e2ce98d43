"""The layers of `cornerturn.rechunk`, each by itself: what a run as a whole would hide."""

import errno
import os
import weakref
from pathlib import Path

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")

import cornerturn  # noqa: E402
import cornerturn.zarr  # noqa: E402
from cornerturn._chunks import chunk_files, direct, job, planning, sources, targets, tasks  # noqa: E402
from cornerturn._chunks.boxes import Box, Grid  # noqa: E402

X = np.arange(24 * 20, dtype="f4").reshape(24, 20)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plain(path="x.zarr", x=X, chunks=(7, 9), **options):
    made = zarr.create_array(path, shape=x.shape, chunks=chunks, dtype=x.dtype, compressors=None, **options)
    made[...] = x
    return made


# ---- what fails ----


@pytest.mark.parametrize(
    ("error", "tries"),
    [(FileNotFoundError(errno.ENOENT, "x"), 1), (OSError(errno.ENOSPC, "x"), 1), (OSError(errno.EDQUOT, "x"), 1),
     (PermissionError(errno.EACCES, "x"), 1), (OSError(errno.EROFS, "x"), 1), (IsADirectoryError(errno.EISDIR, "x"), 1),
     (OSError(errno.EIO, "x"), 4), (ConnectionError("x"), 4), (TimeoutError(errno.ETIMEDOUT, "x"), 4), (ValueError("x"), 1),
     (KeyboardInterrupt(), 1)],
)
def test_what_is_tried_again(monkeypatch, error, tries):
    waits, calls = [], []
    monkeypatch.setattr(tasks.time, "sleep", waits.append)

    def fail():
        calls.append(1)
        raise error

    with pytest.raises(type(error)):
        tasks._again(fail)
    assert len(calls) == tries and len(waits) == tries - 1 and waits == sorted(waits)
    assert tasks._again(lambda: len(calls)) == tries


@pytest.mark.parametrize("change", [-4, -1, 1, 4000])
def test_a_chunk_file_of_another_size_is_refused(here, change):
    plain()
    path = Path("x.zarr/c/1/1")
    data = path.read_bytes()
    path.write_bytes(data[:change] if change < 0 else data + b"\0" * change)
    with pytest.raises(ValueError, match=rf"the chunk '.*c/1/1' has {len(data) + change} bytes and not {len(data)}"):
        cornerturn.rechunk("x.zarr", "y.npy")
    assert not os.path.exists("y.npy")


# ---- memory ----


def test_memory_of_other_sizes_is_given_back():
    rooms, seen = tasks.Rooms(), []
    for size in (8192, 16384, 8192):
        array = rooms.take((size,), np.dtype("u1"))
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        seen.append(weakref.ref(base))
        rooms.give(array)
    del array, base
    assert seen[0]() is seen[2]()  # the same memory again
    rooms.keep([16384])
    assert seen[0]() is None and seen[1]() is not None
    rooms.keep([])
    assert seen[1]() is None


def test_of_two_arrays_of_one_size_one_is_kept_for_one():
    rooms = tasks.Rooms()
    arrays = [rooms.take((8192,), np.dtype("u1")) for _ in range(3)]
    addresses = {array.__array_interface__["data"][0] for array in arrays}
    for array in arrays:
        rooms.give(array)
    del arrays, array
    rooms.keep([8192, 16384, 8192])
    assert sum(map(len, rooms._free.values())) == 2
    assert rooms.take((2048,), np.dtype("f4")).__array_interface__["data"][0] in addresses


@pytest.mark.parametrize("memory", [32 << 20, 48 << 20, 256 << 20])
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_all_tasks_together_leave_a_reserve(here, memory, threads):
    np.lib.format.open_memmap("x.npy", "w+", "f4", (4096, 8192))
    plan = cornerturn.rechunk("x.npy", "y.zarr", chunks=(64, 64), axes=(1, 0), memory=memory, threads=threads, dry_run=True)
    assert plan.memory == memory
    for stage in plan.stages:
        assert 0 < stage.memory * plan.threads <= memory - min(job._RESERVE, memory // 4)


def test_a_resumed_run_does_what_is_left_and_no_more(here, monkeypatch):
    monkeypatch.setattr(planning, "_LEAST", 0)
    monkeypatch.setattr(planning, "_TASK", 0)
    monkeypatch.setattr(job, "_memory", lambda memory, client: 800)
    monkeypatch.setattr(targets.Target, "overhead", property(lambda self: 0))
    monkeypatch.setattr(sources.FileSource, "overhead", property(lambda self: 0))
    monkeypatch.setattr("time.monotonic", iter(range(10**9)).__next__)
    np.save("x.npy", X)
    ran, run = [], tasks.Job.run

    def counted(self, stage, number, *rest):
        run(self, stage, number, *rest)
        ran.append((stage, number))

    monkeypatch.setattr(tasks.Job, "run", counted)
    options = dict(chunks=(5, 24), axes=(1, 0), threads=1)
    whole = cornerturn.rechunk("x.npy", "y.zarr", **options)
    every, count = list(ran), whole.tasks
    assert len(every) == count > 3
    for at in range(1, count):
        ran.clear()

        def stop(*_, at=at):
            if len(ran) == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cornerturn.rechunk("x.npy", "y.zarr", progress=stop, overwrite=True, **options)
        told = []
        cornerturn.rechunk("x.npy", "y.zarr", resume=True, progress=lambda *moved: told.append(moved), **options)
        assert ran == every  # each once, in order
        assert told[0][0] > at * told[0][1] // (count + 1) and told[-1][0] == told[-1][1]
        assert (zarr.open_array("y.zarr")[...] == X.T).all()


# ---- files ----


@pytest.mark.parametrize("dtype", ["?", "i1", ">u2", "i4", "f2", ">f8", "c8", "M8[s]", ">M8[ns]", "m8[h]"])
def test_elements_that_lie_in_chunk_files_as_they_are(here, dtype):
    x = (X % 2).astype("i8").astype(dtype)
    array = plain(x=x)
    files = chunk_files.chunk_files(array)
    assert files is not None  # zarr itself is not asked
    box = Box((0, 0), (7, 9))
    np.testing.assert_array_equal(files.read(box, 1), x[box.slices])


@pytest.mark.parametrize(
    "options", [dict(dtype="S3"), dict(compressors="auto"), dict(shards=(14, 18)), dict(filters="auto", dtype="U2")]
)
@pytest.mark.filterwarnings("ignore")
def test_elements_that_zarr_reads(here, options):
    options = dict(dict(dtype="f4", compressors=None), **options)
    array = zarr.create_array("x.zarr", shape=X.shape, chunks=(7, 9), **options)
    assert chunk_files.chunk_files(array) is None


@pytest.mark.parametrize("fill", [0, 7])
def test_chunks_that_hold_nothing_but_the_fill_value_are_not_stored(here, fill):
    x = np.full((20, 20), fill, "f4")
    x[:10, :10] = np.arange(100).reshape(10, 10)
    x[0, 0] = fill  # a chunk that only begins so
    plain(x=x, chunks=(20, 20), fill_value=fill)
    cornerturn.rechunk("x.zarr", "y.zarr", chunks=(10, 10), codec="none")
    assert sorted(str(path) for path in Path("y.zarr/c").rglob("*") if path.is_file()) == ["y.zarr/c/0/0"]
    np.testing.assert_array_equal(zarr.open_array("y.zarr")[...], x)


class Fakes:
    """The calls of a file system that allows no part of a page where a file goes around the page cache."""

    def __init__(self, monkeypatch):
        self.around, self.moved = True, []
        monkeypatch.setattr(direct, "_is_around", lambda file: self.around)
        monkeypatch.setattr(direct, "_DIRECT", 0)
        monkeypatch.setattr(direct, "_through_cache", lambda file: setattr(self, "around", False))
        self.write, self.preadv = os.write, os.preadv
        monkeypatch.setattr(os, "write", self.checked_write)
        monkeypatch.setattr(os, "preadv", self.checked_read)

    def check(self, buffer, place):
        address = np.frombuffer(buffer, "u1").__array_interface__["data"][0]
        self.moved.append((self.around, len(buffer)))
        if self.around:
            assert address % direct.PAGE == 0 and len(buffer) % direct.PAGE == 0 and place % direct.PAGE == 0

    def checked_write(self, file, buffer):
        self.check(buffer, os.lseek(file, 0, os.SEEK_CUR))
        return self.write(file, buffer[: max(len(buffer) // 2 // 4096 * 4096, 4096)])  # a part of it, as systems may

    def checked_read(self, file, buffers, place):
        for buffer in buffers:
            self.check(buffer, place)
        return self.preadv(file, buffers, place)


@pytest.mark.parametrize("begin", [0, 1, 512, 4095])
@pytest.mark.parametrize("sizes", [(8192,), (4096, 4096), (4096, 100, 8192), (5000,), (10,), (12288, 1)])
def test_only_whole_pages_are_written_around_the_cache(here, monkeypatch, begin, sizes):
    fakes = Fakes(monkeypatch)
    parts = []
    for size in sizes:
        room = direct.room(size + begin)[begin:]
        room[:] = np.random.default_rng(size).integers(0, 256, size, "u1")
        parts.append(room)
    direct.write("file", parts, True)
    assert Path("file").read_bytes() == b"".join(part.tobytes() for part in parts)
    assert fakes.moved[0][0] == (begin == 0 and sizes[0] >= 4096)


@pytest.mark.parametrize("place", [0, 1, 4096, 5000])
@pytest.mark.parametrize("size", [1, 4096, 4097, 8192])
def test_only_whole_pages_are_read_around_the_cache(here, monkeypatch, place, size):
    data = np.random.default_rng(1).integers(0, 256, 20000, "u1")
    Path("file").write_bytes(data.tobytes())
    Fakes(monkeypatch)
    row = direct.room(size)
    direct.read("file", [memoryview(row)], [place], True)
    assert (row == data[place : place + size]).all()


# ---- the order of intermediate files ----


@pytest.mark.parametrize("seed", range(20))
def test_parts_lie_in_intermediate_files_in_their_order(seed):
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 5))
    shape = tuple(random.integers(1, 12, rank).tolist())
    outer = Box(tuple([int(random.integers(0, n)) for n in shape]), shape)
    grid = Grid(shape, tuple(random.integers(1, 6, rank).tolist()))
    at = 0
    for index in grid.meeting(outer):
        part = grid.box(index).common(outer)
        assert tasks._offset(outer, part) == at
        at += int(np.prod(part.shape))
        for most in (1, 3, 1000):
            slabs = list(tasks._slabs(part, most))
            lies = np.concatenate([np.arange(np.prod(shape)).reshape(shape)[slab.slices].reshape(-1) for slab in slabs])
            np.testing.assert_array_equal(lies, np.arange(np.prod(shape)).reshape(shape)[part.slices].reshape(-1))
            assert all(np.prod(slab.shape) <= most for slab in slabs)
    assert at == np.prod(outer.shape)


# ---- cornerturn.zarr ----

DTYPES = ["<f4", ">f4", "<i4", ">i4", "<u4", ">u4", "<c8", ">c8", "<f8", ">f8", "<M8[s]", ">M8[s]", "S4", "V4", "?",
          "<i2", ">i2", ">U1", "<U1"]


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_elements_are_moved_as_numpy_moves_them_or_not_at_all(to):
    """Other bytes of another type are never taken for swapped ones."""
    for of in DTYPES:
        source = np.arange(64 * 64, dtype="u4").reshape(64, 64) % 50 + 49
        try:
            source = np.asfortranarray(source.astype("S4" if of in ("S4", "V4") else of).view(of))
            want = np.empty((64, 64), to)
            want[...] = source
        except (TypeError, ValueError, RuntimeError):
            want = None
        target = np.zeros((64, 64), to)
        before = target.copy()
        if cornerturn.zarr._move(target, source):
            assert want is not None and (target == want).all(), (to, of)
        else:
            assert (target == before).all()


def test_a_target_that_may_not_be_written_is_not(monkeypatch):
    source = np.asfortranarray(np.ones((64, 64), "f4"))
    for dtype in ("<f4", ">f4"):
        target = np.zeros((64, 64), dtype)
        target.flags.writeable = False
        assert not cornerturn.zarr._move(target, source) and not target.any()
        with pytest.raises(ValueError, match="read-only"):
            cornerturn.zarr.NDBuffer(target)[...] = cornerturn.zarr.NDBuffer(source)
        assert not target.any()
