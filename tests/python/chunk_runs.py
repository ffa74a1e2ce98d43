"""What the tests of runs of `cornerturn.rechunk` that are ended share: small runs, and what they leave."""

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("zarr", minversion="3")
pytest.importorskip("h5py")

import chunk_arrays  # noqa: E402
import cornerturn  # noqa: E402
from chunk_arrays import OLD, TARGETS, make_old  # noqa: E402, F401
from cornerturn._chunks import record, targets, unnamed  # noqa: E402

X = np.arange(12 * 10, dtype="f4").reshape(12, 10)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A kill is not the end of the machine: nothing has to wait for the disk. All runs have a record, small ones too."""
    monkeypatch.setattr(unnamed, "MOST", dict.fromkeys(unnamed.MOST, -1))
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


def what_is_there(target):
    return chunk_arrays.what_is_there(target, X.T, others=os.path.exists("had_others"))


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
