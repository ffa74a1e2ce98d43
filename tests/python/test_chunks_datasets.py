"""cornerturn.rechunk of whole datasets: xarray reads of the target what it reads of the source."""

import os
import shutil
import warnings

import numpy as np
import pytest

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr", minversion="3")
h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
pytest.importorskip("h5netcdf")

import cornerturn  # noqa: E402
from cornerturn._chunks import command, datasets, job, planning, sources, targets  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::xarray.SerializationWarning")
KINDS = ["zarr2", "zarr3", "netcdf4", "h5netcdf", "classic"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def example():
    raw = np.arange(6 * 3 * 4).reshape(6, 3, 4).astype("i2")
    raw[0, 0, :2] = -1
    return xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), raw, dict(scale_factor=0.1, add_offset=3.0, _FillValue=np.int16(-1),
                                                      coordinates="station height", grid_mapping="crs", units="K")),
            "mask": (("lat", "lon"), np.ones((3, 4), "f4")),
            "crs": ((), np.int32(0), {"grid_mapping_name": "latitude_longitude"}),
            "time_bnds": (("time", "nv"), np.arange(12.0).reshape(6, 2)),
            "swapped": (("lon", "time"), np.arange(24.0).reshape(4, 6), {"_FillValue": 3.0}),
        },
        coords={
            "time": ("time", np.arange(6), {"units": "days since 2000-01-01", "bounds": "time_bnds"}),
            "lat": ("lat", [1.0, 2.0, 3.0], {"units": "degrees_north"}),
            "lon": ("lon", np.arange(4.0)),
            "station": ("lat", np.array(["a", "bb", "\u00b0"], object)),
            "height": (("lat", "lon"), np.arange(12.0).reshape(3, 4)),
        },
        attrs={"title": "an example", "number": 3, "list": [1.5, 2.5]},
    )


def store(kind, dataset=None):
    dataset = example() if dataset is None else dataset
    if kind.startswith("zarr"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset.to_zarr(f"{kind}.zarr", zarr_format=int(kind[-1]), mode="w")
        return f"{kind}.zarr"
    if kind == "classic":
        dataset.drop_vars("station", errors="ignore").to_netcdf("classic.nc", format="NETCDF3_64BIT")
    else:
        dataset.to_netcdf(f"{kind}.nc", engine=kind, unlimited_dims=["time"] if "time" in dataset.dims else [])
    return f"{kind}.nc"


def opened(path, engine=None, **options):
    if path.endswith(".zarr"):
        found = xr.open_zarr(path, chunks=None, **options)
    else:
        found = xr.open_dataset(path, engine=engine or ("h5netcdf" if path.endswith("h5") else "netcdf4"), **options)
    with found:
        return found.load()


def dtypes(dataset):
    return {name: "text" if var.dtype.kind in "TUO" else var.dtype for name, var in dataset.variables.items()}


def turned(dataset, dims):
    """Those of `dims` that a variable has change places among themselves."""

    def order(own):
        moved = iter([dim for dim in dims if dim in own])
        return [next(moved) if dim in dims else dim for dim in own]

    made = {name: var.transpose(*order(var.dims)) for name, var in dataset.variables.items()}
    return xr.Dataset(made, attrs=dataset.attrs).set_coords([name for name in dataset.coords])


@pytest.mark.parametrize("target", ["o.zarr", "o.nc", "o.h5"])
@pytest.mark.parametrize("kind", KINDS)
def test_xarray_reads_the_same(kind, target):
    source = store(kind)
    axes = ("lat", "lon", "time")
    plan = cornerturn.rechunk(source, target, chunks={"time": 2, "lat": -1}, axes=axes)
    for options in ({}, dict(mask_and_scale=False, decode_times=False, decode_coords=False)):
        want = turned(opened(source, **options), axes)
        for engine in ("netcdf4", "h5netcdf") if target == "o.nc" else (None,):
            got = opened(target, engine, **options)
            xr.testing.assert_identical(got, want)
            assert dtypes(got) == dtypes(want)
    assert plan.plans["t2m"].chunks == (3, 4, 2) and plan.plans["time_bnds"].axes == (0, 1)
    assert plan.plans["swapped"].chunks == (4, 2) and plan.plans["time"].chunks == (6,)
    assert sorted(os.listdir()) == sorted([source, target])
    if target == "o.zarr":
        assert zarr.open_group(target, mode="r").metadata.consolidated_metadata is not None
    else:
        with netCDF4.Dataset(target) as file:
            assert file["t2m"].dimensions == axes and "station" not in file.variables or kind != "classic"
            assert set(file.dimensions) == {"time", "lat", "lon", "nv"}
            assert file.dimensions["time"].isunlimited() == (kind in ("netcdf4", "h5netcdf"))
    back = {"zarr": "back.nc", "nc": "back.zarr", "h5": "back.zarr"}[target.partition(".")[2]]
    cornerturn.rechunk(target, back, axes=("time", "lat", "lon"))
    ordered = opened(back)
    xr.testing.assert_identical(ordered.transpose("time", "lat", "lon", ...), opened(source).transpose("time", "lat", "lon", ...))


def test_axes_with_an_ellipsis():
    cornerturn.rechunk(store("zarr3"), "o.zarr", axes=(..., "time"))
    got = opened("o.zarr")
    assert got["t2m"].dims == ("lat", "lon", "time") and got["time_bnds"].dims == ("nv", "time")


def test_single_arrays_have_names_too():
    source = store("zarr3")
    plan = cornerturn.rechunk(f"{source}::t2m", "o.zarr", chunks={"time": 2, "lon": -1}, axes=("lon", ..., "time"),
                              shards={"time": 6})
    assert plan.axes == (2, 1, 0) and plan.chunks == (4, 3, 2)
    assert zarr.open_array("o.zarr").shards == (4, 3, 6)
    for options, message in ((dict(chunks={"t": 2}), "no dimension 't', but time, lat, lon"),
                             (dict(axes=("time", "lat")), "leaves 'lon' out"), (dict(axes=("time", "x", "lat")), "no dimension 'x'"),
                             (dict(axes=("time", "time", "lat")), "twice"), (dict(chunks={"time": 0}), r"chunks\[0\] = 0")):
        with pytest.raises(ValueError, match=message):
            cornerturn.rechunk(f"{source}::t2m", "p.zarr", **options)
    with pytest.raises(ValueError, match="none that has a name"):
        cornerturn.rechunk(np.zeros((2, 3)), "p.zarr", chunks={"x": 1})


@pytest.mark.parametrize("kind", ["zarr3", "netcdf4"])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(chunks=(1, 2, 3)), TypeError, "PATH::NAME, of .*t2m"), (dict(axes=(0, 1)), TypeError, "PATH::NAME, of .*t2m"),
        (dict(chunks={"day": 2}), ValueError, "no variable has a dimension 'day', but lat, lon, nv, time"),
        (dict(axes=("day",)), ValueError, "no variable has a dimension 'day'"),
        (dict(chunks={"time": 0}), ValueError, "0 is neither positive nor -1"), (dict(shards=(1,)), TypeError, "shards"),
        (dict(dtype="u1"), ValueError, "has _FillValue = .*which uint8 cannot hold"), (dict(memory="3"), ValueError, "memory"),
    ],
)
def test_bad_input(kind, options, error, message):
    source = store(kind)
    for target in ("o.zarr", "o.nc"):
        if "shards" in options and target == "o.nc":
            continue
        with pytest.raises(error, match=message):
            cornerturn.rechunk(source, target, **options)
    with pytest.raises(ValueError, match="name one of its"):
        cornerturn.rechunk(source, "o.npy")
    with pytest.raises(ValueError, match="names a dataset in a file"):
        cornerturn.rechunk(source, "o.nc::x")
    assert os.listdir() == [source]


@pytest.mark.parametrize("target", ["o.zarr", "o.nc"])
def test_nothing_is_replaced(target):
    source = store("netcdf4")
    cornerturn.rechunk(source, target)
    before = opened(target)
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="replaces nothing"):
            cornerturn.rechunk(source, target, overwrite=overwrite)
    xr.testing.assert_identical(opened(target), before)
    os.makedirs("folder.zarr")
    with pytest.raises(FileExistsError):
        cornerturn.rechunk(source, "folder.zarr", overwrite=True)
    assert os.listdir("folder.zarr") == []
    with pytest.raises(ValueError, match="source"):
        cornerturn.rechunk(source, source)


@pytest.mark.parametrize("target", ["o.zarr", "o.nc"])
def test_what_appears_meanwhile_stays(target):
    source = store("netcdf4")

    def appear(moved, total):
        with open(target, "w") as file:
            file.write("mine")

    with pytest.raises(FileExistsError, match="replaces nothing"):
        cornerturn.rechunk(source, target, progress=appear)
    with open(target) as file:
        assert file.read() == "mine"
    os.unlink(target)
    cornerturn.rechunk(source, target, resume=True)
    xr.testing.assert_identical(opened(target), opened(source))
    assert sorted(os.listdir()) == sorted([source, target])


def test_links_that_lead_nowhere_are_left_out():
    source = store("h5netcdf")
    with h5py.File(source, "a") as file:
        file["gone"], file["away"] = h5py.SoftLink("/nowhere"), h5py.ExternalLink("none.h5", "/x")
    cornerturn.rechunk(source, "o.zarr")
    assert set(opened("o.zarr").variables) == set(example().variables)
    cornerturn.rechunk(f"{source}::t2m", "o.nc::t2m")


def test_dtype_leaves_coordinates_and_times():
    dataset = example().assign(when=("lat", np.arange(3), {"units": "days since 2000-01-01"}))
    cornerturn.rechunk(store("netcdf4", dataset), "o.nc", dtype="f4")
    got, want = opened("o.nc", decode_cf=False), opened("netcdf4.nc", decode_cf=False)
    assert got["t2m"].dtype == "f4" and got["swapped"].dtype == "f4" and got["t2m"].attrs["_FillValue"] == -1
    for name in ("time", "lat", "lon", "height", "time_bnds", "crs", "when"):
        assert got[name].dtype == want[name].dtype


@pytest.fixture
def two_stages(monkeypatch):
    """Plans of two stages with many tasks, for arrays that are small."""
    monkeypatch.setattr(planning, "_LEAST", 0)
    monkeypatch.setattr(planning, "_TASK", 0)
    monkeypatch.setattr(job, "_memory", lambda memory, client: memory or 5000)
    for name in ("ZarrSource", "Hdf5Source"):
        monkeypatch.setattr(getattr(sources, name), "overhead", property(lambda self: 0))
    monkeypatch.setattr(targets.Target, "overhead", property(lambda self: 0))
    monkeypatch.setattr("time.monotonic", iter(range(10**9)).__next__)


@pytest.mark.parametrize("target", ["o.zarr", "o.nc"])
def test_an_interrupted_run_resumes_wherever_it_is(two_stages, target):
    values = np.arange(20 * 12 * 10.0).reshape(20, 12, 10)
    dataset = xr.Dataset({name: (("t", "y", "x"), values + k) for k, name in enumerate("ab")}, coords={"t": np.arange(20)})
    dataset["a"].encoding = dataset["b"].encoding = dict(chunksizes=(1, 12, 10))
    dataset.to_netcdf("a.nc", engine="h5netcdf")
    options = dict(chunks={"t": 20, "y": 3, "x": 5}, axes=("y", "x", "t"), threads=1)
    plan = cornerturn.rechunk("a.nc", target, dry_run=True, **options)
    assert os.listdir() == ["a.nc"] and len(plan.plans["a"].stages) == 2
    told = []
    stops = [0.0, 0.2, 0.4, 0.6, 0.9]
    for at in stops:

        def stop(moved, total, at=at):
            told.append((moved, total))
            if moved >= at * total:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cornerturn.rechunk("a.nc", target, progress=stop, resume=True, **options)
        assert sorted(os.listdir()) == ["a.nc", f"{target}.partial"]
    with pytest.raises(FileExistsError, match="resume=True"):
        cornerturn.rechunk("a.nc", target, **options)
    with pytest.raises(ValueError, match="differs|other variables"):
        cornerturn.rechunk("a.nc", target, resume=True, **dict(options, chunks={"t": 10, "y": 3, "x": 5}))
    with pytest.raises(ValueError, match="source|other"):
        cornerturn.rechunk("a.nc::a", target, resume=True)
    tasks = []
    run = job.Job.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job.Job, "run", lambda self, *args: (tasks.append(args), run(self, *args))[1])
        cornerturn.rechunk("a.nc", target, progress=lambda *each: told.append(each), resume=True, **options)
    assert 0 < len(tasks) < plan.tasks / 2
    moved = [each for each, _ in told]
    assert moved == sorted(moved) and told[-1][0] == told[-1][1] and len({total for _, total in told}) == 1
    xr.testing.assert_identical(opened(target).transpose("t", "y", "x"), opened("a.nc"))
    assert sorted(os.listdir()) == sorted(["a.nc", target])


@pytest.mark.parametrize("target", ["o.zarr", "o.nc"])
def test_a_run_that_was_killed_is_begun_anew(target, monkeypatch):
    source = store("netcdf4")

    def fail(self, *_):
        raise OSError(28, "no room")

    with monkeypatch.context() as patch:
        patch.setattr(job.Job, "run", fail)
        with pytest.raises(OSError, match="no room"):
            cornerturn.rechunk(source, target)
    assert sorted(os.listdir()) == sorted([source, f"{target}.partial"])
    if target == "o.zarr":  # what others have put there is not removed
        for foreign in ("array.zarr/notes.txt", "array.zarr/t2m/notes.txt"):
            path = f"{target}.partial/{foreign}"
            with open(path, "w"):
                pass
            for options in (dict(overwrite=True), dict(resume=True)):
                with pytest.raises(ValueError, match="does not hold the dataset alone"):
                    cornerturn.rechunk(source, target, **options)
                assert os.path.exists(path) and os.path.exists(f"{target}.partial/array.zarr/t2m/zarr.json")
            os.unlink(path)
    cornerturn.rechunk(source, target, overwrite=True, chunks={"time": 3})
    xr.testing.assert_identical(opened(target), opened(source))
    with monkeypatch.context() as patch:
        patch.setattr(datasets._TextCopy, "write", fail)
        with pytest.raises(OSError, match="no room"):
            cornerturn.rechunk(source, "p" + target)
    assert sorted(os.listdir()) == sorted([source, target])


def test_groups():
    group = zarr.open_group(store("zarr3"), use_consolidated=False)
    inner = group.create_group("inner")
    for name in ("u", "v"):
        inner.create_array(name, data=np.arange(3.0), dimension_names=["x"])
    zarr.consolidate_metadata("zarr3.zarr")
    with pytest.warns(UserWarning, match="the group inner"):
        cornerturn.rechunk("zarr3.zarr", "o.zarr")
    assert "inner" not in zarr.open_group("o.zarr")
    for number, source in enumerate(("zarr3.zarr::inner", inner)):
        cornerturn.rechunk(source, f"i{number}.zarr")
        assert sorted(opened(f"i{number}.zarr")) == ["u", "v"]
    cornerturn.rechunk("zarr3.zarr::inner", "o.zarr::deep/er")
    assert sorted(xr.open_zarr("o.zarr", group="deep/er", chunks=None)) == ["u", "v"]
    with h5py.File("g.h5", "w") as file:
        file["g/u"], file["g/v"], file["g/v"].attrs["units"] = np.arange(3.0), np.arange(4.0), "m"
    cornerturn.rechunk("g.h5::g", "h.zarr")
    got = opened("h.zarr")
    assert got["u"].dims == ("u_dim_0",) and got["v"].attrs == {"units": "m"}
    with h5py.File("g.h5") as file:
        cornerturn.rechunk(file["g"], "h.nc")
    assert sorted(opened("h.nc")) == ["u", "v"]


def test_a_file_of_one_variable():
    one = example()[["mask"]].drop_vars(["lat", "lon", "station", "height"])
    for kind in KINDS:
        source = store(kind, one)
        cornerturn.rechunk(source, "o.zarr", chunks={"lat": 1})
        xr.testing.assert_identical(opened("o.zarr"), opened(source))
        cornerturn.rechunk(source, "a.zarr", chunks=(1, 2))
        assert zarr.open_array("a.zarr").chunks == (1, 2)
        for name in ("o.zarr", "a.zarr"):
            shutil.rmtree(name)
    np.save("x.npy", np.zeros((3, 4)))
    cornerturn.rechunk("x.npy", "x.h5")
    cornerturn.rechunk("x.h5", "x.zarr")
    assert zarr.open_array("x.zarr").shape == (3, 4)


def test_variables_with_the_names_of_dimensions():
    """y(y, x) is no scale: netCDF puts it aside."""
    dataset = xr.Dataset({"a": (("y", "x"), np.arange(6.0).reshape(2, 3))})
    dataset.to_zarr("a.zarr", consolidated=False)
    group = zarr.open_group("a.zarr")
    group.create_array("y", data=np.arange(6.0).reshape(2, 3) + 1, dimension_names=["y", "x"])
    for target in ("o.nc", "o.h5"):
        cornerturn.rechunk("a.zarr", target)
        with netCDF4.Dataset(target) as file:
            assert file["y"].dimensions == ("y", "x") and (file["y"][:] == group["y"][:]).all()
            assert file["a"].dimensions == ("y", "x")
    cornerturn.rechunk("o.nc", "b.zarr", axes=("x", "y"))
    assert (zarr.open_group("b.zarr")["y"][:] == group["y"][:].T).all()


def test_what_cannot_be_moved_is_named():
    with h5py.File("a.h5", "w") as file:
        file["good"] = np.arange(3.0)
        file.create_dataset("bad", (2,), h5py.ref_dtype)
    with pytest.raises(TypeError, match="a.h5::/bad holds"):
        cornerturn.rechunk("a.h5", "o.zarr")
    assert os.listdir() == ["a.h5"]


def test_the_command(capsys):
    source = store("netcdf4")
    assert command.main([source, "o.zarr", "--chunks", "time=2,lat=-1", "--axes", "lat,lon,time", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    got = opened("o.zarr")
    assert got["t2m"].dims == ("lat", "lon", "time") and got["t2m"].encoding["chunks"] == (3, 4, 2)
    assert command.main([source, "p.nc", "--plan"]) == 0
    said = capsys.readouterr().out
    assert "10 variables" in said and "t2m:\n" in said and "station: strings, copied" in said
    assert command.main([source, "o.zarr", "--overwrite"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("cornerturn: target = 'o.zarr' exists")
    assert command.main([source, "p.nc", "--chunks", "day=2"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
