"""What the tests of runs of `cornerturn.rechunk` that are ended share: small runs, and what they leave."""

import os
from pathlib import Path

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
h5py = pytest.importorskip("h5py")

import cornerturn  # noqa: E402
from cornerturn._chunks import record, targets  # noqa: E402
from cornerturn._chunks.place import place_of  # noqa: E402

X = np.arange(12 * 10, dtype="f4").reshape(12, 10)
OLD = np.arange(8.0)
TARGETS = ["y.npy", "y.h5", "y.h5::g/t", "y.zarr", "y.zarr::g/t"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A kill is not the end of the machine: nothing has to wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setattr(record, "sync_all", lambda path: None)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    return tmp_path


def options(target):
    return dict(axes=(1, 0), threads=1, memory="32M") | ({} if target.endswith("npy") else dict(chunks=(5, 6)))


def run(target, source="x.npy", **more):
    cornerturn.rechunk(source, target, **{**options(target), **more})


def load(target):
    path, _, key = target.partition("::")
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".h5"):
        with h5py.File(path) as file:
            return file[key or "data"][...]
    return zarr.open_array(path, path=key or None, mode="r")[...]


def make_old(target):
    path, _, key = target.partition("::")
    if path.endswith(".npy"):
        np.save(path, OLD)
    elif path.endswith(".h5"):
        with h5py.File(path, "w") as file:
            file[key or "data"] = OLD
            file["other"] = OLD
    elif key:
        group = zarr.create_group(path)
        for name in (key, "other"):
            group.create_array(name, shape=OLD.shape, chunks=(3,), dtype="f8")[...] = OLD
    else:
        zarr.create_array(path, shape=OLD.shape, chunks=(3,), dtype="f8")[...] = OLD


def what_is_there(target):
    """"old", "new", or None where no array has the name."""
    path = place_of(target).path
    if not os.path.lexists(path):
        return None
    found = load(target)
    if "::" in target and os.path.exists(path):
        others = target.replace("g/t", "other")
        if found.shape == OLD.shape or os.path.exists("had_others"):
            assert (load(others) == OLD).all()
    if found.shape == OLD.shape:
        assert (found == OLD).all()
        return "old"
    np.testing.assert_array_equal(found, X.T)
    return "new"


def interrupted(target, at=1, **more):
    """A run that is ended when it has done so many tasks."""
    done = []

    def stop(*_):
        done.append(1)
        if len(done) == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(target, progress=stop, **more)


@pytest.fixture
def many_tasks(monkeypatch):
    from cornerturn._chunks import job, planning

    monkeypatch.setattr(planning, "_LEAST", 0)
    monkeypatch.setattr(planning, "_TASK", 0)
    monkeypatch.setattr(job, "_memory", lambda memory, client: 700)
    monkeypatch.setattr(job, "_RESERVE", 0)
    for name in ("ZarrSource", "FileSource"):
        monkeypatch.setattr(f"cornerturn._chunks.sources.{name}.overhead", property(lambda self: 0))
    monkeypatch.setattr(targets.Target, "overhead", property(lambda self: 0))
    monkeypatch.setattr("time.monotonic", iter(range(10**9)).__next__)


def ended(*_):
    raise KeyboardInterrupt
