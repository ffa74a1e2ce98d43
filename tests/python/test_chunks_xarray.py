"""cornerturn.rechunk of Datasets and DataArrays of xarray: what is stored is what xarray itself would store."""

import numpy as np
import pytest

pytest.importorskip("zarr", minversion="3")
pytest.importorskip("h5netcdf")
xr = pytest.importorskip("xarray")

import cornerturn  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::xarray.SerializationWarning", "ignore::UserWarning")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def cube():
    t2m = np.random.default_rng(0).random((12, 4, 6), "f4")
    t2m[3, 1] = np.nan
    return xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), t2m, {"units": "K"}),
            "day": ("time", np.arange(12) % 2 == 0),
            "names": ("lat", np.array(["a", "bb", "", "dddd"], object)),
            "packed": (("lat", "lon"), np.arange(24.0).reshape(4, 6) / 8, {}, {"dtype": "i2", "scale_factor": 0.125, "_FillValue": -9}),
            "level": ((), 850),
        },
        coords={
            "time": np.datetime64("2026-01-01", "ns") + np.arange(12) * np.timedelta64(6, "h"),
            "lat": np.linspace(-90, 90, 4),
            "area": (("lat", "lon"), np.ones((4, 6), "f4")),
        },
        attrs={"title": "a cube"},
    )


def opened(target):
    return xr.open_zarr(target) if target.endswith("zarr") else xr.open_dataset(target, engine="h5netcdf")


def written(dataset, target):
    """By xarray itself."""
    dataset.to_zarr(target) if target.endswith("zarr") else dataset.to_netcdf(target, engine="h5netcdf")


def from_a_file(dataset):
    written(dataset, "source.nc")
    return opened("source.nc")


KINDS = {
    "in memory": lambda dataset: dataset,
    "by dask": lambda dataset: pytest.importorskip("dask.array") and dataset.chunk({"time": 5}),
    "of a file": from_a_file,
    "packed": lambda dataset: dataset[["packed"]],
    "one variable": lambda dataset: dataset[["t2m"]],
    "array": lambda dataset: dataset["t2m"],
    "array without a name": lambda dataset: dataset["t2m"].rename(None),
    "coordinate": lambda dataset: dataset["lat"],
}


@pytest.mark.parametrize("target", ["y.zarr", "y.nc"])
@pytest.mark.parametrize("kind", KINDS)
def test_xarray_reads_what_it_would_have_written(kind, target):
    source = KINDS[kind](cube())
    plan = cornerturn.rechunk(source, target, chunks={} if kind in ("packed", "coordinate") else {"time": 4})
    if isinstance(source, xr.DataArray):
        name = source.name or "data"
        source = source.coords.to_dataset() if name in source.coords else source.to_dataset(name=name)
    written(source, f"by_xarray.{target[2:]}")
    xr.testing.assert_identical(opened(target).load(), opened(f"by_xarray.{target[2:]}").load())
    assert all(opened(target)[name].dtype == opened(f"by_xarray.{target[2:]}")[name].dtype for name in source.variables)
    if "t2m" in source:
        assert plan.plans["t2m"].chunks[0] == 4


def test_axes_and_dtype():
    cornerturn.rechunk(cube(), "y.zarr", axes=("lat", "lon", "time"), chunks={"time": 12, "lat": 2}, dtype="f8")
    found = opened("y.zarr")
    assert found["t2m"].dims == ("lat", "lon", "time") and found["t2m"].dtype == "f8"
    xr.testing.assert_allclose(found["t2m"].transpose("time", "lat", "lon"), cube()["t2m"])


@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
def test_one_array_alone(target):
    array = cube()["t2m"]
    plan = cornerturn.rechunk(array, target, axes=(1, 2, 0), chunks=None if target == "y.npy" else (2, 3, 12))
    assert plan.shape == (4, 6, 12)
    cornerturn.rechunk(f"{target}::data" if target == "y.h5" else target, "z.npy")
    assert np.array_equal(np.load("z.npy"), array.values.transpose(1, 2, 0), equal_nan=True)


def test_names_stay_beside_an_array_alone():
    import h5py
    import zarr

    cornerturn.rechunk(cube()["t2m"], "y.zarr", axes=(1, 2, 0))
    assert zarr.open_array("y.zarr").metadata.dimension_names == ("lat", "lon", "time")
    cornerturn.rechunk(cube()["t2m"], "y.h5::t2m", chunks=(3, 4, 6))
    with h5py.File("y.h5") as file:
        assert np.array_equal(file["t2m"].dims[1][0], cube()["lat"])
        assert file["t2m"].attrs["units"] == "K"


def test_an_interrupted_run_of_the_same_resumes(monkeypatch):
    done = []

    def stop(*_):
        done.append(1)
        raise KeyboardInterrupt

    for source in (cube(), cube()):
        with pytest.raises(KeyboardInterrupt):
            cornerturn.rechunk(source, "y.zarr", progress=stop, resume=bool(done))
        if len(done) == 2:
            break
    with pytest.raises(ValueError, match="another one than the interrupted run"):
        cornerturn.rechunk(cube().assign(t2m=cube()["t2m"] + 1), "y.zarr", resume=True)
    cornerturn.rechunk(cube(), "y.zarr", resume=True)
    xr.testing.assert_identical(opened("y.zarr").load().drop_encoding(), cube().drop_encoding())


def test_what_is_refused():
    dataset = cube()
    with pytest.raises(ValueError, match="several variables"):
        cornerturn.rechunk(dataset, "y.npy")
    with pytest.raises(TypeError, match="names of dimensions"):
        cornerturn.rechunk(dataset, "y.zarr", chunks=(1, 2, 3))
    with pytest.raises(ValueError, match="no variable has a dimension 'nope'"):
        cornerturn.rechunk(dataset, "y.zarr", chunks={"nope": 3})
    with pytest.raises(TypeError, match="references"):
        cornerturn.rechunk(dataset["names"], "y.npy")
    source = from_a_file(dataset)
    with pytest.raises(ValueError, match="the same file as source"):
        cornerturn.rechunk(source, "source.nc", overwrite=True)
