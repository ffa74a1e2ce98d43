"""What `rechunk` and `transpose_file` take for sources, chunks and targets, in the words of dask, zarr, h5py and NumPy."""

import errno

import numpy as np
import pytest

import cornerturn

X = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)


CHUNKS = [
    (5, None),
    (-1, None),
    ((5, 3, 2), None),
    ((5, -1, 2), None),
    ((5, None, 2), None),
    ({0: 5}, None),
    ({-1: 3, 0: -1}, None),
    ({0: None}, None),
    (((5, 5, 2), (4, 4, 2), (8,)), None),
    (((5, 2, 5), 4, 8), "chunks in a file have one extent"),
    ("auto", "chunks = 'auto'"),
    ("1 MiB", "chunks = '1 MiB'"),
    ((5, "auto", 8), "'auto'"),
    ((5, 4), "has 2 entries"),
    (True, "is not of integers"),
    ((5, True, 8), "is not of integers"),
    ({0: True}, "is not of integers"),
    ({7: 3}, "axis 7 is out of range"),
]


@pytest.mark.parametrize("chunks, refused", CHUNKS)
def test_chunks_as_dask_takes_them(chunks, refused, tmp_path):
    da = pytest.importorskip("dask.array")
    pytest.importorskip("zarr")
    x = da.zeros((12, 10, 8), chunks=(5, 4, 8))
    if refused is not None:
        with pytest.raises((TypeError, ValueError)) as raised:
            cornerturn.rechunk(x, tmp_path / "x.zarr", chunks=chunks, dry_run=True)
        assert refused in str(raised.value)
        return
    plan = cornerturn.rechunk(x, tmp_path / "x.zarr", chunks=chunks, dry_run=True)
    assert plan.chunks == tuple(sizes[0] for sizes in x.rechunk(chunks).chunks)


SOURCES = {
    "zarr, a path": lambda z, h, p: str(p / "z.zarr"),
    "zarr, a Path": lambda z, h, p: p / "z.zarr",
    "zarr, an address": lambda z, h, p: (p / "z.zarr").as_uri(),
    "zarr, an array": lambda z, h, p: z.open_array(p / "z.zarr", mode="r"),
    "zarr, an array of a group": lambda z, h, p: z.open_group(p / "g.zarr", mode="r")["a"],
    "zarr, an array in memory": lambda z, h, p: z.create_array({}, data=X, chunks=(1, 3, 2)),
    "h5py, a dataset": lambda z, h, p: h.File(p / "h.h5")["g/a"],
    "h5py, a path": lambda z, h, p: f"{p / 'h.h5'}::g/a",
    "h5py, a path of a file of one": lambda z, h, p: p / "h.h5",
    "numpy, a path": lambda z, h, p: p / "n.npy",
    "numpy, mapped": lambda z, h, p: np.load(p / "n.npy", mmap_mode="r"),
    "numpy": lambda z, h, p: X,
}
NO_SOURCES = {
    "a file that is no array": (lambda z, h, p: p / "text.npy", "text.npy"),
    "what is not there": (lambda z, h, p: p / "none.zarr", "does not exist"),
    "HDF5's empty dataset": (lambda z, h, p: f"{p / 'e.h5'}::e", "is empty: HDF5 has a dtype for it"),
    "a number": (lambda z, h, p: 5, "source = 5 is none of"),
    "an open file": (lambda z, h, p: open(p / "n.npy", "rb"), "is none of: a path"),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    zarr, h5py = pytest.importorskip("zarr"), pytest.importorskip("h5py")
    path = tmp_path_factory.mktemp("stores")
    zarr.create_array(path / "z.zarr", data=X, chunks=(1, 3, 2))
    zarr.create_group(path / "g.zarr").create_array("a", data=X, chunks=(1, 3, 2))
    with h5py.File(path / "h.h5", "w") as file:
        file["g/a"] = X
    with h5py.File(path / "e.h5", "w") as file:
        file["e"] = h5py.Empty("f4")
    np.save(path / "n.npy", X)
    (path / "text.npy").write_text("nothing")
    return zarr, h5py, path


@pytest.mark.parametrize("name", SOURCES)
def test_ways_to_open(name, stores, tmp_path):
    cornerturn.rechunk(SOURCES[name](*stores), tmp_path / "out.npy", axes=(2, 0, 1))
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), X.transpose(2, 0, 1))


@pytest.mark.parametrize("name", NO_SOURCES)
def test_what_is_not_opened_is_named(name, stores, tmp_path):
    make, said = NO_SOURCES[name]
    with pytest.raises((TypeError, ValueError, OSError)) as raised:
        cornerturn.rechunk(make(*stores), tmp_path / "out.npy")
    assert said in str(raised.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, said", [("out.tiff", "'.tiff'"), ("a.npz", "'.npz'"), ("b.TIF", "'.TIF'"), ("c.zip", "'.zip'"), ("d.csv", "'.csv'"), ("e.n5", "'.n5'")])
def test_a_target_with_the_suffix_of_another_format(name, said, tmp_path):
    with pytest.raises(ValueError, match=f"no format that is written has the suffix {said}"):
        cornerturn.rechunk(X, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out", "out.zarr", "out.ZARR", "run.2024", "v1.5", "store.zarr::temp.mean"])
def test_names_of_stores(name, tmp_path):
    pytest.importorskip("zarr")
    cornerturn.rechunk(X, f"{tmp_path}/{name}")
    cornerturn.rechunk(X, f"{tmp_path}/{name}", overwrite=True)


def test_a_store_that_is_there_has_any_name(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "x.store", data=X)
    cornerturn.rechunk(X.T.copy(), tmp_path / "x.store", overwrite=True)
    assert zarr.open_array(tmp_path / "x.store").shape == X.T.shape


def test_errors_and_progress_of_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", X)
    for src, dst in [("none.npy", "out.npy"), ("in.npy", "none/out.npy")]:
        with pytest.raises(FileNotFoundError) as raised:
            cornerturn.transpose_file(src, dst)
        assert raised.value.errno == errno.ENOENT and raised.value.filename in (src, dst)
    with open("in.npy", "rb") as file, pytest.raises(TypeError, match="src = .* is not a path"):
        cornerturn.transpose_file(file, "out.npy")
    with pytest.raises(TypeError, match="dst = None is not a path"):
        cornerturn.transpose_file("in.npy", None)
    cornerturn.transpose_file(b"in.npy", b"bytes.npy")
    cornerturn.transpose_file("in.npy", "out.npy", progress=True)
    pytest.importorskip("zarr")
    cornerturn.rechunk("in.npy", "out.zarr", chunks=1, progress=True, threads=1)
    for progress in (5, "yes"):
        with pytest.raises(TypeError, match=f"progress = {progress!r} is neither a function nor True"):
            cornerturn.transpose_file("in.npy", "never.npy", progress=progress)
    assert not (tmp_path / "never.npy").exists()

    def no_room(*_):
        raise MemoryError("dst = 'out.npy' has no room for 96 bytes: No space left on device")

    monkeypatch.setattr("cornerturn._files._core.transpose_file", no_room)
    with pytest.raises(OSError) as raised:
        cornerturn.transpose_file("in.npy", "out.npy")
    assert raised.value.errno == errno.ENOSPC
