"""Files that are read and written around the page cache, and tasks with several hands."""

import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")

import cornerturn  # noqa: E402
from cornerturn._chunks import direct, tasks  # noqa: E402
from cornerturn._chunks.boxes import Box  # noqa: E402


@pytest.fixture
def around(monkeypatch):
    """Every file is moved so, whatever its size is and where its pages are."""
    monkeypatch.setattr(direct, "worth", lambda size: True)
    monkeypatch.setattr(direct, "in_cache", lambda path: False)


@pytest.mark.parametrize("sizes", [(8192, 4096), (4096, 5000, 8192), (3,), (0, 4097), (12288, 1)])
def test_files_hold_what_was_written(tmp_path, sizes):
    path = str(tmp_path / "file")
    data = np.random.default_rng(0).integers(0, 256, sum(sizes), "u1")
    parts = []
    for size in sizes:
        parts.append(direct.room(size))
        parts[-1][:] = data[sum(map(len, parts[:-1])) :][:size]
    direct.write(path, parts, around=True)
    assert os.path.getsize(path) == data.size
    rows = direct.room(data.size)
    direct.read(path, [memoryview(rows)], [0], around=True, size=data.size)
    np.testing.assert_array_equal(rows, data)
    # Memory that begins anywhere.
    direct.write(path, [data[1:]], around=True)
    np.testing.assert_array_equal(np.fromfile(path, "u1"), data[1:])


@pytest.mark.parametrize("run", [4096, 100, 5760, 9000])
def test_parts_of_files(tmp_path, run):
    path = str(tmp_path / "file")
    data = np.random.default_rng(run).integers(0, 256, 50_001, "u1")
    data.tofile(path)
    places = [0, 4096, 8192, 12345, data.size - run]
    room = direct.room(run * len(places))
    rows = [memoryview(room)[i * run : (i + 1) * run] for i in range(len(places))]
    direct.read(path, rows, places, around=True)
    for place, row in zip(places, rows, strict=True):
        np.testing.assert_array_equal(np.frombuffer(row, "u1"), data[place : place + run])
    with pytest.raises(OSError, match="ended"):
        direct.read(path, [memoryview(room)[:run]], [data.size - run + 1], around=True)
    with pytest.raises(ValueError, match="50001 bytes and not 9"):
        direct.read(path, [], [], around=True, size=9)


def test_files_in_the_page_cache_are_known(tmp_path):
    path = str(tmp_path / "file")
    np.zeros(1 << 20, "u1").tofile(path)
    assert direct.in_cache(path)
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if direct.in_cache(path):
        pytest.skip("the folder for temporary files is in memory")
    assert not direct.in_cache(path)
    assert not direct.in_cache(str(tmp_path / "none"))


@pytest.mark.parametrize("chunks", [(7, 40, 11), (16, 16, 32), (5, 64, 64)])
@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_rechunk_around_the_cache(tmp_path, monkeypatch, around, chunks, axes):
    monkeypatch.chdir(tmp_path)
    x = np.arange(64 * 64 * 64, dtype="f4").reshape(64, 64, 64) + 1
    zarr.create_array("x.zarr", shape=x.shape, chunks=chunks, dtype="f4", compressors=None)[:] = x
    cornerturn.rechunk("x.zarr", "y.zarr", axes=axes, chunks=(32, 24, 64), memory="64M", codec="none", threads=3)
    np.testing.assert_array_equal(zarr.open_array("y.zarr", mode="r")[...], x.transpose(axes))


def test_two_stages_around_the_cache(tmp_path, monkeypatch, around):
    from cornerturn._chunks import job, planning, sources

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planning, "_LEAST", 0)
    monkeypatch.setattr(planning, "_TASK", 0)
    monkeypatch.setattr(tasks, "_PIECE", 3000)
    monkeypatch.setattr(job, "_memory", lambda memory, client: 80_000)
    monkeypatch.setattr(sources.ZarrSource, "overhead", 0)
    x = np.arange(60 * 61 * 62, dtype="f4").reshape(60, 61, 62) + 1
    zarr.create_array("x.zarr", shape=x.shape, chunks=(1, 61, 62), dtype="f4")[:] = x
    plan = cornerturn.rechunk("x.zarr", "y.zarr", axes=(1, 2, 0), chunks=(8, 8, 60), codec="none", threads=2)
    assert len(plan.stages) == 2
    np.testing.assert_array_equal(zarr.open_array("y.zarr", mode="r")[...], x.transpose(1, 2, 0))


@pytest.mark.parametrize("most", [1, 7, 12, 60, 1000])
def test_slabs_lie_one_after_the_other(most):
    box = Box((2, 3, 4), (5, 7, 9))
    places = np.arange(3 * 4 * 5).reshape(3, 4, 5)
    slabs = list(tasks._slabs(box, most))
    assert max(np.prod(slab.shape) for slab in slabs) <= most
    assert np.concatenate([places[slab.within(box)].reshape(-1) for slab in slabs]).tolist() == list(range(60))


@pytest.mark.parametrize("number", [1, 3])
def test_hands_do_each_item_once_and_end_at_the_first_error(number):
    hands, done = tasks.Hands(number), []
    hands.each(done.append, range(100))
    assert sorted(done) == list(range(100))
    called = []

    def fail(item):
        called.append(item)
        raise OSError(f"item {item}")

    with pytest.raises(OSError, match="item"):
        hands.each(fail, range(1000))
    assert len(called) <= number


def test_hands_begin_nothing_after_an_error_of_another(monkeypatch):
    known = threading.Event()

    class Told(threading.Event):
        def set(self):
            super().set()
            known.set()

    monkeypatch.setattr(tasks, "threading", SimpleNamespace(Event=Told))
    called = []

    def fail_once(item):
        called.append(item)
        if item == 0:
            raise OSError("item 0")
        assert known.wait(60)

    with pytest.raises(OSError, match="item 0"):
        tasks.Hands(3).each(fail_once, range(1000))
    assert len(called) <= 3
