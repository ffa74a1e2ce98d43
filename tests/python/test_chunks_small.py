"""Small chunks of HDF5 go many in one call, and small new arrays have a name when they are whole, without a record."""

import errno
import os
import threading

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
h5py = pytest.importorskip("h5py")

import cornerturn  # noqa: E402
from cornerturn._chunks import hdf5_chunks, sources, unnamed  # noqa: E402


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def calls(monkeypatch):
    """The calls of the library that move chunks, and the openings of files."""
    made, spaces, file = [], hdf5_chunks._spaces, h5py.File.__init__

    def told(*given):
        made.append("selection")
        return spaces(*given)

    def opened(*given, **options):
        made.append("opening")
        file(*given, **options)

    monkeypatch.setattr(hdf5_chunks, "_spaces", told)
    monkeypatch.setattr(h5py.File, "__init__", opened)
    return made


def stored(x, **options):
    with h5py.File("x.h5", "w") as file:
        return file.create_dataset("d", data=x, **options).id.get_num_chunks() if options else 0


def values(path):
    if path.endswith(".npy"):
        return np.load(path)
    with h5py.File(path) as file:
        return file["data"][()]


# ---- calls ----


@pytest.mark.parametrize("source", ["x.npy", "x.h5::d", "x.zarr"])
@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
def test_a_small_task_begins_no_thread(monkeypatch, source, target):
    x = np.arange(600.0).reshape(20, 30)
    np.save("x.npy", x)
    stored(x, chunks=(3, 3))
    cornerturn.rechunk("x.npy", "x.zarr", chunks=(7, 7))
    cornerturn.rechunk(source, "first.zarr", chunks=(5, 5))  # zarr has a thread of its own, which its first call begins
    began = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: began.append(thread.name) or start(thread))
    cornerturn.rechunk(source, target, axes=(1, 0))
    assert not [name for name in began if name.startswith("cornerturn-rechunk")]
    np.testing.assert_array_equal(zarr.open_array(target)[...] if target == "y.zarr" else values(target), x.T)


# ---- chunks ----


@pytest.mark.parametrize("target", ["y.npy", "y.h5"])
@pytest.mark.parametrize("codec", [None, "gzip"])
def test_the_calls_do_not_grow_with_the_number_of_small_chunks(calls, target, codec):
    numbers = {}
    for width in (30, 600):
        x = np.random.default_rng(0).random((3, 15, width))
        count = stored(x, chunks=(3, 3, 3), compression=codec)
        del calls[:]
        cornerturn.rechunk("x.h5", target, threads=1, chunks=None if target == "y.npy" else (3, 3, 4))
        numbers[count] = len(calls)
        assert np.array_equal(values(target), x)
        os.unlink(target)
    assert list(numbers) == [50, 1000] and len(set(numbers.values())) == 1 and numbers[50] < 20


@pytest.mark.parametrize("chunks", [(64, 64), (1, 1), (5, 9), (200, 300)])
@pytest.mark.parametrize("options", [{}, dict(compression="gzip", shuffle=True), dict(fletcher32=True)])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
def test_chunks_of_any_size(chunks, options, axes, monkeypatch):
    monkeypatch.setattr(hdf5_chunks, "TOGETHER", 8192)  # several calls
    x = np.arange(90 * 70, dtype="i4").reshape(90, 70)
    stored(x, chunks=chunks, maxshape=(None, None), **options)
    for target, more in [("y.npy", {}), ("y.h5", dict(chunks=(7, 11))), ("y.h5", dict(chunks=(7, 11), codec="gzip"))]:
        cornerturn.rechunk("x.h5", target, axes=axes, overwrite=True, **more)
        assert np.array_equal(values(target), x.transpose(axes))


@pytest.mark.parametrize("limit", [0, 1 << 30])
@pytest.mark.parametrize("dtype", ["?", ">i2", "f2", "c8", "S3", "V4", [("a", "i1"), ("b", "f8")]])
def test_elements_are_moved_byte_by_byte(dtype, limit, monkeypatch):
    for name in ("_PLAIN", "_CODED"):
        monkeypatch.setattr(hdf5_chunks, name, limit)
    x = np.frombuffer(bytes(range(1, 1 + 21 * np.dtype(dtype).itemsize)) if dtype != "?" else bytes([0, 1, 1] * 7), dtype)
    x = x.reshape(7, 3)
    stored(x, chunks=(2, 2))
    cornerturn.rechunk("x.h5", "y.h5", chunks=(3, 2))
    assert values("y.h5").tobytes() == x.astype(x.dtype.newbyteorder("=")).tobytes()


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_chunks_that_were_never_written_hold_the_fill_value(limit, monkeypatch):
    monkeypatch.setattr(hdf5_chunks, "_PLAIN", limit)
    with h5py.File("x.h5", "w") as file:
        made = file.create_dataset("d", (20, 20), "i4", chunks=(4, 4), fillvalue=7)
        made[5:9, 5:9] = 1
        x = made[()]
    for target in ("y.npy", "y.h5"):
        cornerturn.rechunk("x.h5", target)
        assert np.array_equal(values(target), x)


def test_chunks_are_read_without_asking_where_they_lie(monkeypatch):
    """That takes as long as there are chunks before."""
    x = np.random.default_rng(0).integers(0, 9, (64, 2048)).astype("f8")
    stored(x, chunks=(32, 1024), compression="gzip")
    monkeypatch.setattr(sources.Hdf5Source, "_dataset", wrapped(sources.Hdf5Source._dataset))
    cornerturn.rechunk("x.h5", "y.npy")
    assert np.array_equal(values("y.npy"), x)


def wrapped(opened):
    class Id:
        def __init__(self, of):
            self._of = of

        def get_chunk_info_by_coord(self, *_):
            raise AssertionError

        get_chunk_info = get_chunk_info_by_coord

        def __getattr__(self, name):
            return getattr(self._of, name)

    class Dataset:
        def __init__(self, of):
            self._of, self.id = of, Id(of.id)

        def __getattr__(self, name):
            return getattr(self._of, name)

    return lambda self: Dataset(opened(self)) if hasattr(self, "direct") else opened(self)

# ---- places of chunks in the file ----


def in_any_order(x, chunks, between=0, fill=None, skipped=(), **options):
    """Its chunks are written one by one, in another order than they lie in the array, and among those of other datasets."""
    grid = [range(-(-n // step)) for n, step in zip(x.shape, chunks)]
    indices = [tuple(map(int, index)) for index in np.ndindex(*map(len, grid))]
    with h5py.File("x.h5", "w", **options) as file:
        dataset = file.create_dataset("d", x.shape, x.dtype, chunks=chunks, fillvalue=fill)
        other = file.create_dataset("other", (len(indices), between), "u1", chunks=(1, between)) if between else None
        for number in np.random.default_rng(1).permutation(len(indices)):
            box = tuple(slice(i * step, (i + 1) * step) for i, step in zip(indices[number], chunks))
            if indices[number] not in skipped:
                dataset[box] = x[box]
                dataset.flush()
            if other is not None:
                other[number] = number % 251
                other.flush()


@pytest.mark.parametrize("chunks", [(3, 4), (5, 9), (32, 40), (90, 170)])
@pytest.mark.parametrize("between", [0, 50, 5000])
def test_chunks_anywhere_in_the_file(calls, chunks, between):
    x = np.random.default_rng(0).random((90, 170))
    in_any_order(x, chunks, between)
    del calls[:]
    for axes in [(0, 1), (1, 0)]:
        cornerturn.rechunk("x.h5::d", "y.npy", axes=axes, overwrite=True)
        assert np.array_equal(np.load("y.npy"), x.transpose(axes))
    assert "selection" not in calls


@pytest.mark.parametrize("chunks", [(3, 4), (32, 40), (90, 170)])
def test_chunks_that_were_never_written(chunks):
    x = np.arange(90 * 170, dtype=">i2").reshape(90, 170)
    in_any_order(x, chunks, fill=-7, skipped={(0, 0), (2, 3)})
    with h5py.File("x.h5") as file:
        expected = file["d"][()]
    assert (expected == -7).any()
    cornerturn.rechunk("x.h5", "y.npy")
    assert np.array_equal(np.load("y.npy"), expected)


def test_a_file_with_a_user_block():
    x = np.random.default_rng(0).random((60, 70))
    in_any_order(x, (7, 8), userblock_size=512)
    cornerturn.rechunk("x.h5", "y.npy")
    assert np.array_equal(np.load("y.npy"), x)


def test_a_file_that_is_open_for_writing():
    x = np.random.default_rng(0).random((60, 70))
    stored(x, chunks=(7, 8))
    with h5py.File("x.h5", "r+") as file:
        file["d"][:30] = 5  # what the library keeps for now
        cornerturn.rechunk(file["d"], "y.npy")
        assert np.array_equal(np.load("y.npy"), file["d"][()])


def test_chunks_whose_places_are_too_many_to_be_kept(monkeypatch):
    monkeypatch.setattr(hdf5_chunks, "_MOST", 10)
    x = np.random.default_rng(0).random((60, 70))
    stored(x, chunks=(7, 8))
    cornerturn.rechunk("x.h5", "y.npy")
    assert np.array_equal(np.load("y.npy"), x)


# ---- arrays without a record ----

TARGETS = ["y.npy", "y.h5", "y.h5::a"]


def files():
    return sorted(os.listdir())


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_a_small_array_waits_for_the_disk_twice(monkeypatch, target, old):
    np.save("x.npy", np.arange(12.0).reshape(3, 4))
    if old:
        cornerturn.rechunk("x.npy", target)
    waits = []
    monkeypatch.setattr(os, "fsync", waits.append)
    cornerturn.rechunk("x.npy", target, axes=(1, 0), overwrite=old)
    assert len(waits) == 2  # for the array, and for its name
    assert files() == ["x.npy", target[:5].rstrip(":")]


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_left_of_one_that_ends_early(target, old):
    np.save("x.npy", np.arange(12.0).reshape(3, 4))
    if old:
        cornerturn.rechunk("x.npy", target)
    before = {name: open(name, "rb").read() for name in files()}

    def end(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cornerturn.rechunk("x.npy", target, axes=(1, 0), progress=end, overwrite=old)
    assert {name: open(name, "rb").read() for name in files()} == before
    cornerturn.rechunk("x.npy", target, axes=(1, 0), resume=True, overwrite=old)


@pytest.mark.parametrize("target", TARGETS)
def test_what_appears_meanwhile_stays(target):
    np.save("x.npy", np.arange(12.0))
    path = target.partition("::")[0]

    def appears(*_):
        with open(path, "xb") as file:
            file.write(b"mine")

    with pytest.raises(FileExistsError):
        cornerturn.rechunk("x.npy", target, progress=appears, overwrite=True)
    assert open(path, "rb").read() == b"mine" and files() == ["x.npy", path]


def test_a_file_that_was_about_to_have_its_name():
    """What a run leaves that is killed between the two names of the file that takes the place of another."""
    np.save("x.npy", np.arange(12.0))
    np.save("y.npy", np.zeros(3))
    os.mkdir("y.npy.partial")
    open("y.npy.partial/lock", "w").close()
    np.save("y.npy.partial/placing.npy", np.ones(3))
    os.rename("y.npy.partial/placing.npy", "y.npy.partial/placing")
    with pytest.raises(FileExistsError):
        cornerturn.rechunk("x.npy", "y.npy")
    cornerturn.rechunk("x.npy", "y.npy", overwrite=True, resume=True)
    assert np.array_equal(values("y.npy"), np.arange(12.0)) and files() == ["x.npy", "y.npy"]


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL])
def test_systems_without_files_that_have_no_name(monkeypatch, error):
    np.save("x.npy", np.arange(12.0))
    call = os.open

    def refused(path, flags, *more, **options):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(error, os.strerror(error))
        return call(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", refused)
    waits = []
    monkeypatch.setattr(os, "fsync", waits.append)
    cornerturn.rechunk("x.npy", "y.npy")
    assert len(waits) > 2 and np.array_equal(values("y.npy"), np.arange(12.0))


def test_large_arrays_have_a_record(monkeypatch):
    np.save("x.npy", np.arange(12.0))
    monkeypatch.setitem(unnamed.MOST, "npy", 95)
    with pytest.raises(KeyboardInterrupt):
        cornerturn.rechunk("x.npy", "y.npy", progress=lambda *_: exec("raise KeyboardInterrupt"))
    assert os.path.exists("y.npy.partial/record.json")


@pytest.mark.parametrize("chunks", [(8, 8), (256, 512)])
@pytest.mark.parametrize("gzip", [False, True])
def test_integers_of_fewer_bits_than_their_bytes_have(tmp_path, chunks, gzip):
    """12 bits that begin at the fifth: what the file has is not what NumPy has."""
    kind = h5py.h5t.NATIVE_UINT16.copy()
    kind.set_precision(12)
    kind.set_offset(4)
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_chunk(chunks)
    if gzip:
        how.set_deflate(1)
    values = (np.arange(512 * 512) % 4096).astype("u2").reshape(512, 512)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = h5py.h5d.create(file.id, b"x", kind, h5py.h5s.create_simple(values.shape), how)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    cornerturn.rechunk(f"{tmp_path}/a.h5::x", f"{tmp_path}/b.npy", axes=(1, 0))
    assert np.array_equal(np.load(tmp_path / "b.npy"), values.T)
