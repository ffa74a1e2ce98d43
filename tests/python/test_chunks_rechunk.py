"""cornerturn.rechunk: every source to every target, and what happens when something goes wrong."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
h5py = pytest.importorskip("h5py")
da = pytest.importorskip("dask.array")

import cornerturn  # noqa: E402
from cornerturn._chunks import targets, tasks  # noqa: E402
from zarr import codecs  # noqa: E402

X = np.arange(50 * 40 * 30, dtype="f4").reshape(50, 40, 30)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored(kind, x=X, chunks=(7, 40, 11)):
    if kind == "npy":
        np.save("x.npy", x)
    elif kind == "hdf5":
        with h5py.File("x.h5", "w") as file:
            file.create_dataset("values", data=x, chunks=chunks, compression="gzip", shuffle=True)
        return "x.h5"
    elif kind == "zarr":
        zarr.create_array("x.zarr", shape=x.shape, chunks=chunks, dtype=x.dtype)[:] = x
    elif kind == "dask":
        return da.from_array(x, chunks=chunks)
    elif kind == "numpy":
        return x
    return f"x.{kind}"


def load(path):
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".h5"):
        with h5py.File(path) as file:
            return file["data"][()]
    return zarr.open_array(path, mode="r")[...]


def names():
    return sorted(path.name for path in Path().iterdir())


@pytest.mark.parametrize("source", ["npy", "hdf5", "zarr", "dask", "numpy"])
@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
def test_from_all_to_all(here, source, target):
    chunks = None if target == "y.npy" else (16, 13, 50)
    source = stored(source)
    before = names()
    plan = cornerturn.rechunk(source, target, chunks=chunks, axes=(1, 2, 0), dtype="f8", memory="64M")
    got = load(target)
    assert got.dtype == "f8" and plan.stages[0].tasks >= 1
    np.testing.assert_array_equal(got, X.transpose(1, 2, 0))
    assert names() == sorted([*before, target])


@pytest.fixture
def two_stages(monkeypatch):
    """Plans of two stages with many tasks, for arrays that are small."""
    from cornerturn._chunks import job, planning

    monkeypatch.setattr(planning, "_LEAST", 0)
    monkeypatch.setattr(planning, "_TASK", 0)
    monkeypatch.setattr(job, "_memory", lambda memory, client: memory or 32_000)
    for name in ("ZarrSource", "Hdf5Source", "DaskSource", "FileSource"):
        monkeypatch.setattr(f"cornerturn._chunks.sources.{name}.overhead", property(lambda self: 0))
    monkeypatch.setattr(targets.Target, "overhead", property(lambda self: 0))


@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1)])
def test_two_stages(here, two_stages, target, axes):
    source = stored("dask", chunks=(1, 40, 30))
    if target == "y.npy":  # whose pieces are rows
        source = stored("dask", chunks=(50, 40, 1) if axes[0] == 0 else (50, 1, 30))
    chunks = None if target == "y.npy" else [(50, 7, 8)[axis] for axis in axes]
    plan = cornerturn.rechunk(source, target, axes=axes, chunks=chunks, dtype="i8", threads=1)
    assert len(plan.stages) == 2 and plan.stages[0].tasks > 8 and plan.stages[1].tasks > 8
    np.testing.assert_array_equal(load(target), X.transpose(axes))
    assert names() == [target]


CODECS = {
    "none": None, "gzip": codecs.GzipCodec(), "zstd": codecs.ZstdCodec(), "blosc": codecs.BloscCodec(),
    "crc32c": codecs.Crc32cCodec(),
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("shards", [None, (32, 40, 30)])
def test_codecs_and_shards(here, codec, shards):
    outer = {} if shards is None else dict(shards=(14, 40, 22))
    array = zarr.create_array("x.zarr", shape=X.shape, chunks=(7, 10, 11), dtype="f4", compressors=CODECS[codec],
                              fill_value=7, attributes={"units": "K"}, dimension_names=["t", "y", "x"], **outer)
    array[:40] = X[:40]  # the other chunks are not there
    cornerturn.rechunk("x.zarr", "y.zarr", chunks=(16, 20, 30), axes=(1, 2, 0)[::1], shards=shards and (32, 40, 60),
                       codec=codec, memory="64M")
    got = zarr.open_array("y.zarr", mode="r")
    want = X.copy()
    want[40:] = 7
    np.testing.assert_array_equal(got[:], want.transpose(1, 2, 0))
    assert got.fill_value == 7 and got.attrs["units"] == "K"
    assert got.metadata.dimension_names == ("y", "x", "t") and got.shards == (shards and (32, 40, 60))
    assert [type(each).__name__ for each in got.compressors] == [type(each).__name__ for each in [CODECS[codec]] if each]


@pytest.mark.parametrize("dtype", ["?", "i1", ">i2", ">f8", "c16", ">c8", "M8[s]", ">M8[s]", ">m8[ms]", "S5", ">U3", "V6"])
@pytest.mark.parametrize("target", ["y.npy", "y.zarr"])
def test_dtypes_and_byte_orders(here, dtype, target):
    if dtype == "V6" and target == "y.zarr":
        pytest.skip("version 3 has no such dtype")
    x = (X[:20] % 90).astype("i8")
    x = x.astype("S6").view("V6") if dtype == "V6" else x.astype(dtype)
    np.save("x.npy", x)
    chunks = None if target == "y.npy" else (30, 16, 8)
    cornerturn.rechunk("x.npy", target, axes=(2, 1, 0), chunks=chunks)
    got = load(target)
    assert got.dtype.newbyteorder("=") == x.dtype.newbyteorder("=")
    assert (got == x.transpose(2, 1, 0)).all()
    if dtype == ">f8":
        cornerturn.rechunk("x.npy", target, dtype="f4", overwrite=True)
        assert load(target).dtype == "f4" and (load(target) == x).all()


@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
@pytest.mark.filterwarnings("ignore")
def test_fields_of_other_byte_orders(here, target):
    x = np.zeros((70, 79), [("a", "<i4"), ("b", ">f8"), ("c", [("d", ">i2"), ("e", "S3")])])
    x["a"], x["b"], x["c"]["d"] = (np.arange(70 * 79).reshape(70, 79) + n for n in (0, 0.5, 7))
    np.save("x.npy", x)
    for axes in ((0, 1), (1, 0)):
        cornerturn.rechunk("x.npy", target, axes=axes, overwrite=True)
        got = load(target)
        assert (got == x.transpose(axes).astype(x.dtype.newbyteorder("="))).all() and got["b"].max() == 70 * 79 - 0.5


def test_elements_that_zarr_would_change_are_refused(here, monkeypatch):
    np.save("x.npy", np.zeros((4, 4), np.dtype([("a", "i1"), ("b", "f8")], align=True)))
    try:
        cornerturn.rechunk("x.npy", "y.zarr")
    except (TypeError, ValueError):
        assert names() == ["x.npy"]
    else:
        assert load("y.zarr").dtype == np.load("x.npy").dtype


def test_a_file_that_is_half_transposed_is_neither_read_nor_replaced(here, monkeypatch):
    from cornerturn._chunks import marks

    # What the library says of it, and still does.
    root = Path(__file__).parents[2] / "src"
    assert any(f'"{marks.HALF}' in path.read_text() for path in root.rglob("*.cpp"))

    def half(path):
        if "half" in path:
            raise ValueError(f"IN = '{path}' {marks.HALF} that was interrupted")
        return (1,), 4

    monkeypatch.setattr(marks._core, "file_shape", half)
    np.save("half.npy", X)
    np.save("x.npy", X)
    before = Path("half.npy").read_bytes()
    for source, target in (("half.npy", "y.npy"), ("x.npy", "half.npy")):
        with pytest.raises((ValueError, FileExistsError), match=marks.HALF):
            cornerturn.rechunk(source, target, overwrite=True)
    assert names() == ["half.npy", "x.npy"] and Path("half.npy").read_bytes() == before


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.filterwarnings("ignore")
def test_version_2_and_f_order(here, order):
    zarr.create_array("x.zarr", shape=X.shape, chunks=(7, 40, 11), dtype=">f4", zarr_format=2, order=order)[:] = X
    cornerturn.rechunk("x.zarr::", "y.zarr", chunks=(25, 25, 25))
    np.testing.assert_array_equal(load("y.zarr"), X)
    np.save("f.npy", np.asfortranarray(X))
    cornerturn.rechunk("f.npy", "y.npy", axes=(1, 0, 2))
    np.testing.assert_array_equal(load("y.npy"), X.transpose(1, 0, 2))


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (5, 0, 2)])
@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
def test_zero_sizes_and_scalars(here, shape, target):
    np.save("x.npy", np.full(shape, 4.5))
    cornerturn.rechunk("x.npy", target)
    assert load(target).shape == shape and (load(target) == 4.5).all() and names() == ["x.npy", target]


def test_datasets_without_chunks_and_groups(here):
    with h5py.File("x.h5", "w") as file:
        file["a/one"] = X
        file.create_dataset("two", data=X, chunks=(10, 10, 10))
        file.create_dataset("three", X.shape, "f4", chunks=(10, 10, 10), fillvalue=3)
    for name, want in (("a/one", X), ("two", X), ("three", np.full_like(X, 3))):
        cornerturn.rechunk(f"x.h5::{name}", "y.npy", overwrite=True)
        np.testing.assert_array_equal(load("y.npy"), want)
    group = zarr.create_group("g.zarr")
    group.create_array("values", shape=X.shape, chunks=(10, 10, 10), dtype="f4")[:] = X
    cornerturn.rechunk("g.zarr", "y.npy", overwrite=True)
    np.testing.assert_array_equal(load("y.npy"), X)
    group.create_array("more", shape=(2,), dtype="f4")
    for source in ("g.zarr", "x.h5"):
        with pytest.raises(ValueError, match="name one of its .*values|name one of its .*a/one"):
            cornerturn.rechunk(source, "z.npy")


def interrupted(target, at, **options):
    """A run that ends when `at` of the bytes are moved."""

    def stop(done, total):
        if done >= at * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cornerturn.rechunk("x.zarr", target, progress=stop, threads=1, **options)


@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
@pytest.mark.parametrize("at", [0.0, 0.3, 0.8])
def test_an_interrupted_run_resumes(here, two_stages, monkeypatch, target, at):
    stored("zarr", chunks=(1, 40, 30))
    options = dict(axes=(1, 2, 0), chunks=None if target == "y.npy" else (8, 9, 50))
    from cornerturn._chunks import job
    monkeypatch.setattr("time.monotonic", iter(range(10**9)).__next__)
    interrupted(target, at, **options)
    assert names() == ["x.zarr", f"{target}.partial"]  # the target is not there
    with pytest.raises(FileExistsError, match="interrupted run .*resume=True"):
        cornerturn.rechunk("x.zarr", target, **options)
    for other in (dict(options, axes=(2, 1, 0)), dict(options, dtype="i4")):
        with pytest.raises(ValueError, match="differs from that of the interrupted run"):
            cornerturn.rechunk("x.zarr", target, resume=True, **other)
    with open(f"{target}.partial/done", "a") as file:
        file.write("1 9")  # a line that was cut off
    ran = []
    run = tasks.Job.run
    monkeypatch.setattr(tasks.Job, "run", lambda job, *which: (ran.append(which), run(job, *which)))
    told = []
    plan = cornerturn.rechunk("x.zarr", target, resume=True, progress=lambda *numbers: told.append(numbers), **options)
    np.testing.assert_array_equal(load(target), X.transpose(1, 2, 0))
    assert told[-1][0] == told[-1][1]  # with what the interrupted run has moved
    assert 0 < len(ran) < plan.tasks and names() == ["x.zarr", target]
    assert len(ran) >= (1 - at) * plan.tasks * 0.5


def test_targets_are_replaced_when_asked_and_when_whole(here, monkeypatch):
    np.save("x.npy", X)
    zarr.create_array("y.zarr", shape=(3,), dtype="f4")[:] = 1
    with pytest.raises(FileExistsError, match="overwrite=True"):
        cornerturn.rechunk("x.npy", "y.zarr")
    assert names() == ["x.npy", "y.zarr"]
    write = targets.ZarrTarget.write
    monkeypatch.setattr(targets.ZarrTarget, "write", failing(errno.ENOSPC, 1))
    with pytest.raises(OSError, match="No space left"):
        cornerturn.rechunk("x.npy", "y.zarr", overwrite=True)
    assert (load("y.zarr") == [1, 1, 1]).all()
    monkeypatch.setattr(targets.ZarrTarget, "write", write)
    cornerturn.rechunk("x.npy", "y.zarr", resume=True)  # what the interrupted run was allowed, it is still
    np.testing.assert_array_equal(load("y.zarr"), X)
    assert names() == ["x.npy", "y.zarr"]


def failing(number, every):
    """A write that fails at first, or now and then."""
    write, calls = targets.ZarrTarget.write, []

    def fail(self, *arguments):
        calls.append(arguments)
        if len(calls) % every == 0:
            raise OSError(number, os.strerror(number))
        write(self, *arguments)

    fail.calls = calls
    return fail


def test_a_store_that_fails_now_and_then(here, monkeypatch):
    np.save("x.npy", X)
    fail = failing(errno.EIO, 3)
    monkeypatch.setattr(targets.ZarrTarget, "write", fail)
    monkeypatch.setattr(tasks.time, "sleep", lambda seconds: None)
    cornerturn.rechunk("x.npy", "y.zarr", chunks=(10, 10, 10))
    np.testing.assert_array_equal(load("y.zarr"), X)
    assert len(fail.calls) > 60
    monkeypatch.setattr(targets.ZarrTarget, "write", failing(errno.EIO, 1))
    with pytest.raises(OSError):
        cornerturn.rechunk("x.npy", "z.zarr", chunks=(10, 10, 10))
    assert "z.zarr" not in names()


def test_a_full_disk(here):
    """A file that may not grow: the run ends, the target is not there, and room lets it go on."""
    np.save("x.npy", np.ones((256, 1024, 64), "f4"))
    code = "import resource, signal, cornerturn; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    code += "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
    code += "cornerturn.rechunk('x.npy', {!r}, **{!r})"
    for target, options in (("y.npy", {}), ("y.zarr", dict(chunks=(256, 64, 64), codec="none"))):
        done = subprocess.run([sys.executable, "-c", code.format(target, options)], capture_output=True, text=True)
        assert done.returncode == 1 and "File too large" in done.stderr
        assert target not in names()
        cornerturn.rechunk("x.npy", target, resume=True, **options)
        assert load(target).shape == (256, 1024, 64)


def test_the_memory_is_kept(here):
    shape = (48, 512, 1024)
    array = zarr.create_array("x.zarr", shape=shape, chunks=(1, 512, 1024), dtype="f4", compressors=None)
    for i in range(48):
        array[i] = i
    code = "import cornerturn, resource, zarr; cornerturn.transpose([[1.0]])\n"
    code += "peak = lambda: int(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1]) << 10\n"
    code += "zarr.open_array('x.zarr')[0]; before = peak()\n"
    code += "plan = cornerturn.rechunk('x.zarr', 'y.zarr', chunks=(48, 64, 128), memory='48M', codec='none')\n"
    code += "print(peak() - before, len(plan.stages))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    grown, stages = map(int, done.stdout.split())
    assert grown < 48 << 20 and stages == 1
    assert (load("y.zarr")[:, 3, 5] == np.arange(48)).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(chunks=(10, 10)), ValueError, r"chunks = \(10, 10\) has 2 entries, the array has rank 3"),
        (dict(chunks=(10, 0, 3)), ValueError, r"chunks\[1\] = 0 is neither positive nor -1"),
        (dict(chunks="abc"), TypeError, "chunks = 'abc' is not a sequence of integers"),
        (dict(axes=(0, 1, 3)), ValueError, r"axes\[2\] = 3 is out of range for rank 3"),
        (dict(dtype="object"), TypeError, "dtype = 'object' is no dtype that values are converted to"),
        (dict(memory="12Q"), ValueError, "memory = '12Q' is no number of bytes"),
        (dict(memory=1000), ValueError, "the least is 32 MiB"),
        (dict(codec="lzw"), ValueError, "codec = 'lzw' is none of none, gzip, zstd"),
        (dict(target="y.npy", codec="zstd"), ValueError, r"codec = 'zstd': a target of .npy has no codecs"),
        (dict(target="y.h5", codec="zstd"), ValueError, "a target of HDF5 takes none and gzip"),
        (dict(target="y.npy", chunks=(1, 1, 1)), ValueError, "a target of .npy has none"),
        (dict(shards=(10, 40, 30), chunks=(20, 40, 30)), ValueError, r"shards\[0\] = 10 is no multiple of chunks"),
        (dict(shards=(20, 0, 30), chunks=(20, 40, 30)), ValueError, r"shards\[1\] = 0 is no multiple of chunks"),
        (dict(shards=(-20, 40, 30), chunks=(20, 40, 30)), ValueError, r"shards\[0\] = -20 is no multiple of chunks"),
        (dict(target="nowhere/y.zarr"), FileNotFoundError, "the folder .* does not exist"),
        (dict(target="s3://bucket/y.zarr"), ValueError, "is an address: a target is a path"),
        (dict(target="x.npy"), ValueError, "is the same file as source"),
        (dict(target=5), TypeError, "target = 5 is not a path"),
        (dict(source="none.npy"), FileNotFoundError, "'none.npy' does not exist"),
        (dict(source=7), TypeError, "source = 7 is none of: a path"),
        (dict(source="text"), ValueError, "is neither a zarr array nor a file of HDF5, netCDF or .npy"),
        (dict(source="folder"), ValueError, "is no zarr array that can be read"),
        (dict(source=np.array([{}])), TypeError, "holds object: its elements are references"),
        (dict(source="objects.npy"), TypeError, "objects"),
        (dict(source=np.array([1j]), dtype="f4"), TypeError, "lose their imaginary parts"),
        (dict(source=np.array(["a"]), dtype="f4"), TypeError, "is not converted to f"),
        (dict(client=5), TypeError, "client = 5 is no client of dask.distributed"),
        (dict(threads=0), ValueError, "threads = 0 is not positive"),
        (dict(threads="2"), TypeError, "threads = '2' is not an integer"),
    ],
)
def test_bad_input_is_said_in_one_line_and_nothing_is_written(here, options, error, message):
    np.save("x.npy", X)
    np.save("objects.npy", np.array([{}]), allow_pickle=True)
    Path("text").write_text("no array")
    Path("folder").mkdir()
    before = names()
    with pytest.raises(error, match=message) as found:
        cornerturn.rechunk(**{"source": "x.npy", "target": "y.zarr", **options})
    assert "\n" not in str(found.value) and names() == before


def test_chunks_that_do_not_fit(here):
    x = np.lib.format.open_memmap("x.npy", "w+", "f4", (4096, 4096))
    del x
    with pytest.raises(ValueError, match=r"chunks = \(4096, 4096\) need memory = .* would fit") as found:
        cornerturn.rechunk("x.npy", "y.zarr", chunks=(-1, -1), memory="32M")
    fitting = str(found.value).split("chunks of (")[1].split(")")[0]
    cornerturn.rechunk("x.npy", "y.zarr", chunks=tuple(map(int, fitting.split(", "))), memory="32M", dry_run=True)
    assert names() == ["x.npy"]


def test_codecs_that_are_not_here(here):
    stored("zarr")
    path = Path("x.zarr/zarr.json")
    path.write_text(path.read_text().replace('"zstd"', '"mystery"'))
    with pytest.raises(ValueError, match="is no zarr array that can be read: .*mystery"):
        cornerturn.rechunk("x.zarr", "y.zarr")
    assert names() == ["x.zarr"]


def test_the_plan_is_shown_before_anything_is_written(here):
    stored("zarr")
    seen = []
    plan = cornerturn.rechunk("x.zarr", "y.zarr", chunks=(50, 40, 10), plan=lambda p: seen.append((p, names())))
    assert seen == [(plan, ["x.zarr"])]
    text = str(plan)
    assert "(50, 40, 30) float32, axes (0, 1, 2), chunks (7, 40, 11) -> (50, 40, 10)" in text
    assert "1 stage, 1 task" in text and "read 234 KiB in 24, write 234 KiB in 3" in text


def test_the_record_says_what_is_missing(here):
    stored("npy")
    Path("y.zarr.partial").mkdir()
    Path("y.zarr.partial/done").write_text("0 0")
    with pytest.raises(ValueError, match="has no record of an interrupted run"):
        cornerturn.rechunk("x.npy", "y.zarr", resume=True)


@pytest.mark.parametrize("seed", range(12))
def test_parts_of_chunks_that_are_plain_files(here, monkeypatch, seed):
    from zarr.codecs import BytesCodec, TransposeCodec

    from cornerturn._chunks import chunk_files
    from cornerturn._chunks.boxes import Box

    random = np.random.default_rng(seed)
    monkeypatch.setattr(chunk_files, "_RUN", int(random.choice([1, 64, 1 << 14])))
    monkeypatch.setattr(chunk_files, "_PIECE", int(random.choice([16, 300, 8 << 20])))
    monkeypatch.setattr(chunk_files, "_LINES", int(random.choice([8, 64])))
    monkeypatch.setattr(chunk_files, "_UNIT", int(random.choice([1, 40, 1 << 16])))
    rank = int(random.integers(1, 5))
    shape = tuple(random.integers(1, 14, rank).tolist())
    chunks = tuple(random.integers(1, 9, rank).tolist())
    order = tuple(random.permutation(rank).tolist())
    array = zarr.create_array(
        "a.zarr", shape=shape, chunks=chunks, dtype=["u2", "f4", ">i8"][seed % 3], filters=[TransposeCodec(order=order)],
        serializer=BytesCodec(endian=["little", "big"][seed % 2]), compressors=None,
    )
    x = random.integers(1, 30000, shape).astype("f4")
    array[...] = x
    files = chunk_files.chunk_files(array)
    assert files is not None
    for fastest in range(rank):
        start = [int(random.integers(0, n)) for n in shape]
        stop = [int(random.integers(a + 1, n + 1)) for a, n in zip(start, shape, strict=True)]
        box = Box(tuple(start), tuple(stop))
        found = np.zeros(shape, int)
        for piece in files.pieces(box, fastest):
            values = files.read(piece, fastest)
            assert values.shape == piece.shape and (values == x[piece.slices]).all()
            found[piece.slices] += 1
        assert (found[box.slices] == 1).all() and found.sum() == found[box.slices].size


def test_chunks_of_nothing_but_the_fill_value_are_not_stored(here):
    x = np.zeros((64, 64), "f4")
    x[:16, 16:32] = 1
    x[40, 40] = 2  # its chunk begins with the fill value
    cornerturn.rechunk(x, "y.zarr", chunks=(16, 16), codec="none")
    assert sorted(str(path.relative_to("y.zarr/c")) for path in Path("y.zarr/c").rglob("*") if path.is_file()) == ["0/1", "2/2"]
    np.testing.assert_array_equal(load("y.zarr"), x)


@pytest.mark.parametrize("more", [-4, 4])
def test_a_chunk_of_another_size_is_refused(here, more):
    zarr.create_array("x.zarr", shape=(64, 64), chunks=(16, 64), dtype="f4", compressors=None)[...] = 1
    os.truncate("x.zarr/c/1/0", 16 * 64 * 4 + more)
    with pytest.raises(ValueError, match=f"x.zarr/c/1/0' has {16 * 64 * 4 + more} bytes and not 4096"):
        cornerturn.rechunk("x.zarr", "y.npy")
    assert "y.npy" not in names()


def test_filters_without_a_compressor_are_followed(here):
    delta = pytest.importorskip("numcodecs").Delta("i4")
    x = np.arange(64 * 64, dtype="i4").reshape(64, 64) ** 2
    zarr.create_array("x.zarr", shape=x.shape, chunks=(16, 64), dtype=x.dtype, zarr_format=2, compressors=None, filters=[delta])[...] = x
    cornerturn.rechunk("x.zarr", "y.npy")
    np.testing.assert_array_equal(load("y.npy"), x)


@pytest.mark.parametrize("step", ["write", "rename"])
def test_a_chunk_that_cannot_be_written_leaves_nothing(here, monkeypatch, step):
    from cornerturn._chunks import chunk_files, direct
    from cornerturn._chunks.boxes import Box

    x = np.arange(16, dtype="f4").reshape(4, 4)
    array = zarr.create_array("x.zarr", shape=(4, 4), chunks=(4, 4), dtype="f4", compressors=None)
    array[...] = x
    write = direct.write

    def fail(path, *arguments):
        if step == "write":
            write(path, *arguments)
        raise OSError(errno.EIO, "planted")

    monkeypatch.setattr(chunk_files.direct if step == "write" else chunk_files.os, "write" if step == "write" else "replace", fail)
    with pytest.raises(OSError, match="planted"):
        chunk_files.chunk_files(array).write(Box((0, 0), (4, 4)), x + 1)
    assert [path.name for path in Path("x.zarr/c").rglob("*") if path.is_file()] == ["0"]
    np.testing.assert_array_equal(load("x.zarr"), x)


def test_an_intermediate_file_that_cannot_be_written_leaves_nothing(here, two_stages, monkeypatch):
    write, tried = tasks.direct.write, []

    def fail(path, *arguments):
        write(path, *arguments)
        tried.append(path)
        raise OSError(errno.EIO, "planted")

    monkeypatch.setattr(tasks.direct, "write", fail)
    monkeypatch.setattr(tasks.time, "sleep", lambda seconds: None)
    source = stored("dask", chunks=(1, 40, 30))
    with pytest.raises(OSError, match="planted"):
        cornerturn.rechunk(source, "y.zarr", axes=(1, 2, 0), chunks=(8, 9, 50), threads=1)
    assert len(tried) == tasks._TRIES and all(".raw" in path for path in tried)
    assert not [path for path in Path("y.zarr.partial/pieces").rglob("*") if path.is_file()]


def test_a_run_of_large_tasks_does_not_resume_in_less_memory(here, two_stages):
    stored("zarr", chunks=(1, 40, 30))
    options = dict(axes=(1, 2, 0), chunks=(8, 9, 50))
    interrupted("y.zarr", 0.3, memory=64_000, **options)
    with pytest.raises(ValueError, match="memory = .* is less than a task of the interrupted run needs"):
        cornerturn.rechunk("x.zarr", "y.zarr", resume=True, memory=32_000, threads=1, **options)
    cornerturn.rechunk("x.zarr", "y.zarr", resume=True, memory=64_000, threads=1, **options)
    np.testing.assert_array_equal(load("y.zarr"), X.transpose(1, 2, 0))


@pytest.mark.parametrize("number", [errno.EIO, *sorted(tasks._FINAL), errno.ENOENT])
def test_what_will_not_mend_is_not_tried_again(monkeypatch, number):
    tried = []
    monkeypatch.setattr(tasks.time, "sleep", lambda seconds: None)

    def fail():
        tried.append(number)
        raise OSError(number, "planted")

    with pytest.raises(OSError, match="planted"):
        tasks._again(fail)
    assert len(tried) == (tasks._TRIES if number == errno.EIO else 1)
