"""cornerturn.zarr: zarr-python stores and returns the same with it, by Cornerturn's way."""

import asyncio
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")

import cornerturn.zarr  # noqa: E402
from zarr import codecs  # noqa: E402
from zarr.core.buffer import cpu  # noqa: E402
from zarr.registry import get_ndbuffer_class, get_pipeline_class  # noqa: E402

X = np.arange(40 * 50 * 60, dtype="f4").reshape(40, 50, 60)
COMPRESSORS = {
    "none": None,
    "gzip": codecs.GzipCodec(level=1),
    "zstd": codecs.ZstdCodec(level=1),
    "blosc": codecs.BloscCodec(cname="lz4"),
    "crc32c": codecs.Crc32cCodec(),
}


@pytest.fixture
def on():
    with cornerturn.zarr.enable():
        yield
    assert get_ndbuffer_class() is cpu.NDBuffer


@pytest.fixture
def moves(monkeypatch):
    """The moves that Cornerturn has made, as (shape, whether the order of the axes changed)."""
    seen = []
    real = cornerturn.zarr._move

    def move(target, source):
        done = real(target, source)
        if done:
            seen.append(target.strides != source.strides)
        return done

    monkeypatch.setattr(cornerturn.zarr, "_move", move)
    return seen


def files(store):
    return {key: bytes(value.to_bytes()) for key, value in store._store_dict.items()}


def written(x, enabled, **options):
    """What lies in a store where `x` was written, whole and then in parts."""
    store = zarr.storage.MemoryStore()
    if enabled:
        cornerturn.zarr.enable()
    try:
        array = zarr.create_array(store, shape=x.shape, dtype=x.dtype, **options)
        array[:] = x
        array[3:17, ::2] = x[3:17, ::2]
        array[:20, :16, :20] = x[:20, :16, :20]
        return files(store), array[:], array[5:33, 7:, 1::3]
    finally:
        cornerturn.zarr.disable()


V3 = [dict(zarr_format=3, chunks=(20, 16, 20), compressors=each) for each in COMPRESSORS.values()]
CASES = [
    *[dict(each, filters=[codecs.TransposeCodec(order=(2, 1, 0))]) for each in V3],
    dict(V3[0], filters=[codecs.TransposeCodec(order=(1, 2, 0))]),
    dict(V3[0], filters=[codecs.TransposeCodec(order=(1, 2, 0))], serializer=codecs.BytesCodec(endian="big")),
    dict(V3[2], filters=[codecs.TransposeCodec(order=(1, 2, 0))], shards=(40, 32, 60)),
    dict(V3[0], config={"order": "F"}),
    dict(V3[0], fill_value=7),
    dict(zarr_format=2, chunks=(20, 16, 20), order="F", compressors=None),
    dict(zarr_format=2, chunks=(20, 16, 20), order="F"),
    dict(zarr_format=2, chunks=(40, 50, 60), order="F", compressors=None),
]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.filterwarnings("ignore:.*sharding_indexed.*")
def test_what_is_stored_and_returned_is_the_same(case, moves, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1e9)  # gzip stores when it was called
    want = written(X, False, **CASES[case])
    assert not moves
    got = written(X, True, **CASES[case])
    assert any(moves) or case in (8, 9)  # these change no order
    assert moves and got[0] == want[0]
    for mine, theirs in zip(got[1:], want[1:], strict=True):
        assert mine.flags.f_contiguous == theirs.flags.f_contiguous and mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(got[1], X)


@pytest.mark.parametrize("dtype", ["i1", "bool", ">i2", ">f8", "c16", "M8[s]", "V6", "S5", "U3"])
def test_dtypes(dtype):
    x = (X % 2 if dtype == "bool" else X % 100).astype("i8").astype("S6" if dtype == "V6" else dtype)
    x = x.view(dtype) if dtype == "V6" else x
    want = written(x, False, zarr_format=2, chunks=(20, 16, 20), order="F", compressors=None)
    got = written(x, True, zarr_format=2, chunks=(20, 16, 20), order="F", compressors=None)
    assert got[0] == want[0] and (got[1] == want[1]).all() and (got[1] == x).all()


def test_other_byte_orders_are_swapped(moves):
    target = np.zeros((30, 40, 50), ">f8")
    source = np.random.default_rng(1).random((50, 30, 40)).transpose(1, 2, 0)
    cornerturn.zarr.NDBuffer(target)[:, :] = cornerturn.zarr.NDBuffer(source)
    assert moves == [True] and (target == source).all()
    window = np.zeros((60, 40, 50), ">c16")[::2]
    cornerturn.zarr.NDBuffer(window)[...] = (source + 1j).astype("<c16")
    assert moves == [True, True] and (window == source + 1j).all()


def test_fill_values_and_empty_chunks(on):
    for fill, values in ((0.0, -0.0), (np.nan, np.nan), (3, 3)):
        store = zarr.storage.MemoryStore()
        codec = codecs.TransposeCodec(order=(1, 0))
        array = zarr.create_array(store, shape=(100, 90), chunks=(50, 45), dtype="f8", fill_value=fill,
                                  filters=[codec], compressors=None)
        array[:] = np.full((100, 90), values)
        # -0.0 is not 0.0: it has to be stored
        assert len(files(store)) == (5 if np.signbit(values) else 1)
        array[60, 50] = 1.5
        assert array[60, 50] == 1.5 and np.isclose(array[:50], values, equal_nan=True).all()
        x = array[:]
        x[0, 0] = 9
        array[:50, :45] = x[:50, :45]  # only the first element says that the chunk is not empty
        assert array[0, 0] == 9


def test_zero_sizes_and_scalars(on):
    empty = zarr.create_array({}, shape=(0, 5), chunks=(1, 5), dtype="f4")
    assert empty[:].shape == (0, 5)
    scalar = zarr.create_array({}, shape=(), chunks=(), dtype="f4")
    scalar[()] = 4
    assert scalar[()] == 4


def test_fancy_indices_and_strings_are_numpys(on, moves):
    array = zarr.create_array({}, shape=X.shape, chunks=(20, 16, 20), dtype="f4")
    array[:] = X
    mask = X % 3 == 0
    assert (array.oindex[[1, 5, 39], :, [0, 3]] == X[[1, 5, 39]][:, :, [0, 3]]).all()
    assert (array.vindex[mask] == X[mask]).all() and (array[3] == X[3]).all() and (array[..., 2] == X[..., 2]).all()
    array.oindex[[1, 5], :, :] = X[[5, 1]]
    assert (array[1] == X[5]).all()
    texts = zarr.create_array({}, shape=(2000,), chunks=(1000,), dtype=str)
    texts[:] = np.array(["a", "bc"] * 1000, dtype=object)
    assert texts[1999] == "bc"


def test_a_truth_value_as_an_index_is_numpys(moves):
    target = np.zeros_like(X)
    cornerturn.zarr.NDBuffer(target)[True] = X[None] + 1  # NumPy reads a copy there, and writes to the array
    assert not moves and (target == X + 1).all()


def test_what_is_read_only_stays(moves):
    whole = np.zeros_like(X)
    target = whole[:]
    target.flags.writeable = False  # of this view alone
    for source in (X, X.astype(">f4"), X.T.copy().T):
        with pytest.raises(ValueError, match="read-only"):
            cornerturn.zarr.NDBuffer(target)[...] = source
    assert not moves and not whole.any() and not target.flags.writeable


def test_the_copy_in_a_transposed_buffer_is_packed(on):
    buffer = cornerturn.zarr.NDBuffer(X).transpose((2, 0, 1))
    packed = buffer.as_ndarray_like()
    assert packed.flags.c_contiguous and (packed == X.transpose(2, 0, 1)).all()
    assert type(buffer[1:3]) is type(buffer)


def test_off_leaves_nothing_behind():
    before = dict(zarr.config.config)
    assert get_pipeline_class().__name__ == "BatchedCodecPipeline"
    with cornerturn.zarr.enable():
        inner = cornerturn.zarr.enable()
        assert get_ndbuffer_class() is cornerturn.zarr.NDBuffer
        with inner:
            pass
        assert get_ndbuffer_class() is cornerturn.zarr.NDBuffer
        kept = zarr.create_array({}, shape=X.shape, chunks=(20, 16, 20), dtype="f4", zarr_format=2, order="F")
    assert dict(zarr.config.config) == before
    kept[:] = X  # an array that was opened before works on
    assert (kept[:] == X).all()
    cornerturn.zarr.disable()
    cornerturn.zarr.enable()
    with zarr.config.set({"ndbuffer": "zarr.core.buffer.cpu.NDBuffer"}):
        cornerturn.zarr.disable()
        assert zarr.config.get("ndbuffer") == "zarr.core.buffer.cpu.NDBuffer"  # the program's choice stays
    zarr.config.reset()


def test_buffers_on_a_gpu_are_refused():
    with zarr.config.set({"ndbuffer": "zarr.buffer.gpu.NDBuffer"}):
        with pytest.raises(RuntimeError, match="zarr.buffer.gpu.NDBuffer"):
            cornerturn.zarr.enable()
    assert get_pipeline_class().__name__ == "BatchedCodecPipeline"


def test_it_says_whether_it_is_on(on):
    assert repr(cornerturn.zarr.enable()) == "<cornerturn.zarr.enable: on>"
    one = cornerturn.zarr.enable()
    cornerturn.zarr.disable()
    assert repr(one) == "<cornerturn.zarr.enable: off>"


def test_enable_can_be_sent_to_a_worker(on):
    assert pickle.loads(pickle.dumps(cornerturn.zarr.enable)) is cornerturn.zarr.enable
    assert isinstance(pickle.loads(pickle.dumps(cornerturn.zarr.enable())), cornerturn.zarr.enable)
    cornerturn.zarr.disable()
    cornerturn.zarr.enable()


def test_zarr_is_imported_when_asked_for():
    code = "import cornerturn, sys; assert 'zarr' not in sys.modules; cornerturn.zarr.enable(); import zarr"
    code += "; print(zarr.config.get('ndbuffer'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "cornerturn.zarr.NDBuffer", done.stderr


def test_shards_within_shards_are_read(on):
    inner = codecs.ShardingCodec(chunk_shape=(8, 8, 8), codecs=[codecs.TransposeCodec(order=(2, 1, 0)), codecs.BytesCodec()])
    outer = codecs.ShardingCodec(chunk_shape=(16, 16, 16), codecs=[inner])
    array = zarr.create_array({}, shape=X.shape, dtype=X.dtype, chunks=(32, 32, 32), serializer=outer, compressors=None)
    array[:] = X
    np.testing.assert_array_equal(array[1:39, 2:49, 3:57], X[1:39, 2:49, 3:57])
    np.testing.assert_array_equal(array[:], X)


def test_off_leaves_the_index_of_shards_as_it_was():
    from zarr.codecs import sharding

    before = dict(vars(sharding))
    with cornerturn.zarr.enable():
        pass
    assert vars(sharding) == before


def test_files_of_chunks_are_read_as_a_whole_or_missing(tmp_path, monkeypatch):
    read, contents = [], cornerturn.zarr._contents
    monkeypatch.setattr(cornerturn.zarr, "_contents", lambda path: read.append(path.name) or contents(path))
    made = zarr.create_array(tmp_path / "a", shape=(64, 96), chunks=(32, 96), dtype="f4", fill_value=7, compressors=None)
    made[...] = np.arange(64 * 96, dtype="f4").reshape(64, 96)
    (tmp_path / "a/c/1/0").unlink()
    with cornerturn.zarr.enable():
        got = zarr.open_array(tmp_path / "a", mode="r")[...]
    assert np.array_equal(got[:32], np.arange(32 * 96, dtype="f4").reshape(32, 96))
    assert (got[32:] == 7).all()
    assert read == ["0", "0"]  # of both chunks, one of which is not there
    (tmp_path / "a/c/0/0").write_bytes(b"too short")
    with cornerturn.zarr.enable(), pytest.raises(ValueError):
        zarr.open_array(tmp_path / "a", mode="r")[...]


def test_a_part_of_a_chunk_and_a_file_that_was_cut_short_are_read_as_they_are(tmp_path, monkeypatch):
    from zarr.abc.store import RangeByteRequest
    from zarr.core.buffer import default_buffer_prototype

    (tmp_path / "0").write_bytes(bytes(range(100)))
    path = zarr.storage.StorePath(zarr.storage.LocalStore(tmp_path), "0")
    path.store._is_open = True
    for part, want in ((None, range(100)), (RangeByteRequest(10, 90), range(10, 90))):
        got = asyncio.run(cornerturn.zarr.ChunkFile(path).get(default_buffer_prototype(), part))
        assert got.to_bytes() == bytes(want)
    # Another process cuts the file after its size was asked for.
    monkeypatch.setattr(cornerturn.zarr, "os", SimpleNamespace(fstat=lambda _: SimpleNamespace(st_size=120)))
    assert bytes(cornerturn.zarr._contents(tmp_path / "0")) == bytes(range(100))


# A program that knows zarr alone, and shards within shards, whose index zarr reads by buffers of its own.
OF_ZARR_ALONE = """
import sys
import numpy as np, zarr
from zarr import codecs
{line}
x = np.arange(40 * 50 * 60, dtype="f4").reshape(40, 50, 60)
inner = codecs.ShardingCodec(chunk_shape=(16, 16, 16), codecs=[codecs.TransposeCodec(order=(2, 1, 0)), codecs.BytesCodec()])
outer = codecs.ShardingCodec(chunk_shape=(32, 32, 32), codecs=[inner])
array = zarr.create_array({{}}, shape=x.shape, dtype=x.dtype, chunks=(32, 64, 64), serializer=outer, compressors=None)
array[:] = x
assert (array[:] == x).all() and (array[1:39, 2:49, 3:57] == x[1:39, 2:49, 3:57]).all()
print(zarr.registry.get_ndbuffer_class().__module__, type(array.async_array.codec_pipeline).__module__)
"""
SETTINGS = {"ndbuffer": "cornerturn.zarr.NDBuffer", "codec_pipeline.path": "cornerturn.zarr.Pipeline"}
VARIABLES = {"ZARR_NDBUFFER": SETTINGS["ndbuffer"], "ZARR_CODEC_PIPELINE__PATH": SETTINGS["codec_pipeline.path"]}


def alone(line="", environment=()):
    done = subprocess.run([sys.executable, "-c", OF_ZARR_ALONE.format(line=line)], capture_output=True, text=True,
                          env={**os.environ, **dict(environment)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


@pytest.mark.parametrize(("line", "environment"), [(f"zarr.config.set({SETTINGS})", {}), ("", VARIABLES)], ids=["line", "variables"])
def test_zarrs_configuration_switches_it_on(line, environment):
    assert alone(line, environment)[0] == ["cornerturn.zarr", "cornerturn.zarr"]
    page = (Path(__file__).parents[2] / "docs/chunks.md").read_text()
    assert line.replace("'", '"') in page and all(f"{name}={value}" in page for name, value in environment.items())


def test_enable_and_disable_leave_what_zarrs_configuration_names():
    line = "import cornerturn.zarr; cornerturn.zarr.enable(); cornerturn.zarr.disable()"
    assert alone(line, VARIABLES)[0] == ["cornerturn.zarr", "cornerturn.zarr"]


def test_without_a_word_zarr_stays_as_it_is():
    said, warned = alone()
    assert said == ["zarr.core.buffer.cpu", "zarr.core.codec_pipeline"] and "Cornerturn" not in warned


def test_a_package_that_cannot_be_imported_is_a_warning():
    said, warned = alone("sys.modules['cornerturn.zarr'] = None")
    assert said == ["zarr.core.buffer.cpu", "zarr.core.codec_pipeline"]
    assert "RuntimeWarning: import of cornerturn.zarr halted" in warned and "zarr moves its chunks by itself" in warned
