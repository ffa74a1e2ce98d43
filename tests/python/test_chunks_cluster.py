"""cornerturn.rechunk on a cluster of processes, and a worker that is killed in the middle."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
h5py = pytest.importorskip("h5py")

import cornerturn  # noqa: E402


@pytest.fixture(scope="module")
def client():
    options = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(1).random((60, 90, 100), "f4")
    zarr.create_array("x.zarr", shape=x.shape, chunks=(10, 90, 100), dtype="f4")[:] = x
    return x


@pytest.fixture
def small(monkeypatch):
    """Plans of many tasks, in two stages."""
    from cornerturn._chunks import job, planning, sources, targets

    monkeypatch.setattr(planning, "_LEAST", 0)
    monkeypatch.setattr(planning, "_TASK", 0)
    monkeypatch.setattr(job, "_memory", lambda memory, client: 1_000_000)
    for each in (sources.ZarrSource, sources.DaskSource, targets.Target):
        monkeypatch.setattr(each, "overhead", property(lambda self: 0))


@pytest.mark.parametrize("target", ["y.zarr", "y.nc"])
def test_a_whole_dataset(stored, client, small, target):
    group = zarr.create_group("g.zarr", attributes={"title": "t"})
    for name, factor in (("a", 1), ("b", 2)):
        group.create_array(name, data=stored * factor, chunks=(10, 90, 100), dimension_names=["t", "y", "x"])
    cornerturn.rechunk("g.zarr", target, chunks={"t": 60, "y": 20, "x": 15}, axes=("y", "x", "t"), client=client)
    for name, factor in (("a", 1), ("b", 2)):
        if target == "y.zarr":
            got = zarr.open_group(target)[name][:]
        else:
            with h5py.File(target) as file:
                got = file[name][:]
        np.testing.assert_array_equal(got, stored.transpose(1, 2, 0) * factor)
    assert sorted(os.listdir()) == sorted(["g.zarr", "x.zarr", target])


def test_a_killed_worker_costs_its_tasks_and_nothing_else(stored, client, small):
    workers = client.run(os.getpid)
    killed = []

    def kill(done, total):
        if not killed and done < total:
            killed.append(next(iter(workers.values())))
            os.kill(killed[0], signal.SIGKILL)

    options = dict(axes=(1, 2, 0), chunks=(15, 20, 60), dtype="f8")
    plan = cornerturn.rechunk("x.zarr", "y.zarr", client=client, progress=kill, **options)
    assert len(plan.stages) == 2 and killed
    want = da.from_zarr("x.zarr").transpose(1, 2, 0).rechunk((15, 20, 60)).astype("f8").compute()
    np.testing.assert_array_equal(zarr.open_array("y.zarr")[:], want)
    np.testing.assert_array_equal(want, stored.transpose(1, 2, 0))
    assert sorted(os.listdir()) == ["x.zarr", "y.zarr"]
    client.wait_for_workers(2, timeout=60)
    assert set(client.run(os.getpid).values()) != set(workers.values())


def test_a_dask_array_to_hdf5(stored, client, small):
    calls = da.from_zarr("x.zarr") * 2
    cornerturn.rechunk(calls, "y.h5", client=client, axes=(2, 0, 1), chunks=(25, 30, 30))
    with h5py.File("y.h5") as file:
        np.testing.assert_array_equal(file["data"][:], stored.transpose(2, 0, 1) * 2)


def test_errors_of_workers_reach_the_caller_and_the_run_resumes(stored, client, small):
    chunk = Path("x.zarr/c/3/0/0")
    whole, times = chunk.read_bytes(), chunk.stat()

    def put(content):
        """As a disk changes it: neither the size nor the time says so."""
        chunk.write_bytes(content)
        os.utime(chunk, ns=(times.st_atime_ns, times.st_mtime_ns))

    put(b"damaged".ljust(len(whole)))
    options = dict(chunks=(60, 15, 20), client=client)
    with pytest.raises(RuntimeError, match="Zstd"):
        cornerturn.rechunk("x.zarr", "y.zarr", **options)
    assert sorted(os.listdir()) == ["x.zarr", "y.zarr.partial"]
    put(whole)
    cornerturn.rechunk("x.zarr", "y.zarr", resume=True, **options)
    np.testing.assert_array_equal(zarr.open_array("y.zarr")[:], stored)


def test_what_workers_cannot_read_is_refused(client, tmp_path):
    with pytest.raises(ValueError, match="is in the memory of this process"):
        cornerturn.rechunk(np.ones(5), tmp_path / "y.zarr", client=client)
    array = zarr.create_array({}, shape=(5,), dtype="f4")
    with pytest.raises(ValueError, match="is in the memory of this process"):
        cornerturn.rechunk(array, tmp_path / "y.zarr", client=client)
    assert not list(tmp_path.iterdir())
