"""cornerturn.rechunk does not go on with a source that has changed since it was interrupted."""

import os
import shutil

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
h5py = pytest.importorskip("h5py")

import cornerturn  # noqa: E402
from chunk_runs import X, ended, here, interrupted, many_tasks, quick, run, what_is_there  # noqa: E402, F401
from cornerturn._chunks.record import Record  # noqa: E402


def zarr_source(values=X):
    shutil.rmtree("x.zarr", ignore_errors=True)
    zarr.create_array("x.zarr", shape=X.shape, chunks=(3, 5), dtype="f4", compressors=None)[...] = values


def changed_chunk():
    zarr.open_array("x.zarr", mode="r+")[0, 0] = 5


def changed_chunk_file():
    path = "x.zarr/c/1/1"
    found = os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"abcd")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1))


CHANGES = {
    "a value": changed_chunk,
    "a chunk file": changed_chunk_file,
    "a chunk less": lambda: os.unlink("x.zarr/c/2/1"),
    "a chunk renamed": lambda: os.rename("x.zarr/c/2/1", "x.zarr/c/2/7"),
    "the array": lambda: zarr_source(X + 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_zarr_source_that_has_changed_is_read_again(here, many_tasks, change):
    """All of it: no part of the result is of the older chunks."""
    zarr_source()
    interrupted("y.npy", source="x.zarr")
    CHANGES[change]()
    want = zarr.open_array("x.zarr", mode="r")[...]
    with pytest.raises(ValueError, match="axes = .* differs from that of the interrupted run"):
        run("y.npy", source="x.zarr", resume=True, axes=(0, 1))
    run("y.npy", source="x.zarr", resume=True)
    np.testing.assert_array_equal(np.load("y.npy"), want.T)
    assert sorted(os.listdir(".")) == ["x.npy", "x.zarr", "y.npy"]


def test_another_zarr_source_is_refused(here, many_tasks):
    zarr_source()
    interrupted("y.npy", source="x.zarr")
    shutil.copytree("x.zarr", "w.zarr")
    with pytest.raises(ValueError, match="source = 'file:..w.zarr' is another one"):
        run("y.npy", source="w.zarr", resume=True)
    run("y.npy", source="x.zarr", resume=True)
    assert what_is_there("y.npy") == "new"


def test_an_array_that_was_whole_before_the_source_changed_gets_its_name(here, monkeypatch):
    zarr_source()
    with monkeypatch.context() as patched:
        patched.setattr(Record, "_remove_pieces", ended)  # the array has its name by then
        with pytest.raises(KeyboardInterrupt):
            run("y.npy", source="x.zarr")
    changed_chunk()
    run("y.npy", source="x.zarr", resume=True)
    assert what_is_there("y.npy") == "new" and sorted(os.listdir(".")) == ["x.npy", "x.zarr", "y.npy"]


@pytest.mark.parametrize("change", [lambda x: x + 1, lambda x: x[::-1], lambda x: np.roll(x, 1), np.negative,
                                    lambda x: x.T.reshape(x.shape)])
def test_another_array_in_memory_is_noticed(here, many_tasks, change):
    for array in (X, X.T.copy().T):
        interrupted("y.npy", source=array)
        with pytest.raises(ValueError, match="source = 'an array in memory' is another one"):
            run("y.npy", source=np.ascontiguousarray(change(array)), resume=True)
        run("y.npy", source=array.copy(order="K"), resume=True)
        assert what_is_there("y.npy") == "new"
        os.unlink("y.npy")


@pytest.mark.parametrize("kind", ["npy", "h5"])
def test_another_file_is_noticed(here, many_tasks, kind):
    source = f"s.{kind}"

    def write(values):
        if kind == "npy":
            np.save(source, values)
        else:
            with h5py.File(source, "w") as file:
                file.create_dataset("data", data=values, chunks=(3, 5))

    write(X)
    interrupted("y.zarr", source=source)
    write(X + 1)
    os.utime(source)
    with pytest.raises(ValueError, match="is another one than the interrupted run has read"):
        run("y.zarr", source=source, resume=True)
    np.save("z.npy", X)
    with pytest.raises(ValueError, match="source = 'z.npy' is another one"):
        run("y.zarr", source="z.npy", resume=True)


@pytest.mark.filterwarnings("ignore")
def test_a_dataset_whose_chunks_have_changed_is_read_again(here):
    xarray = pytest.importorskip("xarray")
    names = ["a", "b", "c"]
    xarray.Dataset({name: (("t", "x"), X.copy()) for name in names}).to_zarr("s.zarr")

    def stop(*_):
        raise KeyboardInterrupt

    options = dict(chunks={"t": 3, "x": 10}, threads=1)
    with pytest.raises(KeyboardInterrupt):
        cornerturn.rechunk("s.zarr", "o.zarr", progress=stop, **options)
    for name in names:
        zarr.open_group("s.zarr", use_consolidated=False)[name][...] = 7
    cornerturn.rechunk("s.zarr", "o.zarr", resume=True, **options)
    made = zarr.open_group("o.zarr", mode="r")
    assert all((made[name][...] == 7).all() for name in names)
