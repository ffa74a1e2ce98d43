"""cornerturn.rechunk: what the numbers mean travels with them, from every format to every other one.

xarray is the judge: what it reads of the target is what it reads of the source.
"""

import itertools
import os
import warnings

import numpy as np
import pytest

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr", minversion="3")
h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
pytest.importorskip("h5netcdf")

import cornerturn  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore::xarray.SerializationWarning"),
              pytest.mark.filterwarnings("ignore::FutureWarning")]
T, Y, X = 5, 3, 4
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
DIMS = ("time", "lat", "lon")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield tmp_path


def counted(dtype):
    return np.arange(T * Y * X).reshape(T, Y, X).astype(dtype)


def holed(dtype, *holes):
    values = counted(dtype)
    values.flat[3 : 3 + len(holes)] = holes
    return values


def variable(values, dims=DIMS, **attrs):
    return xr.Variable(dims, values, attrs)


# Elements as they are stored, with the attributes that say what they are.
CASES = {
    "bare": variable(counted("f4")),
    "text": variable(counted("f8"), units="K", long_name="Temperatur in \u00b0C", note="", coordinates="lat2d lon2d"),
    "numbers": variable(counted("i4"), level=3, ratio=0.25, valid_range=np.array([0, 90], "i4"), grid=[0.5, 1.5, 2.5]),
    "not a number": variable(counted("f4"), limit=np.nan, limits=[np.inf, 1.0]),
    "packed": variable(holed("i2", -32768, -32767, 7), scale_factor=0.01, add_offset=280.0, units="K",
                       _FillValue=np.int16(-32768), missing_value=np.int16(-32767)),
    "packed, unsigned": variable(holed("i1", -1, -2, -100), _Unsigned="true", scale_factor=0.5, _FillValue=np.int8(-1)),
    "scaled only": variable(counted("i2"), scale_factor=2.0),
    "fill": variable(holed("f4", 1e20, 5), _FillValue=np.float32(1e20)),
    "fill of NaN": variable(holed("f8", np.nan, 5), _FillValue=np.nan, missing_value=np.nan),
    "fill of integers": variable(holed("i4", 9, -5), _FillValue=np.int32(9)),
    "missing only": variable(holed("f4", -999, 5), missing_value=np.float32(-999)),
    "two missing": variable(holed("f4", -999, -998, 5), missing_value=np.array([-999, -998], "f4")),
    "days": variable(holed("i4", -1, 400), units="days since 2000-01-01", calendar="standard", _FillValue=np.int32(-1)),
    "days without leaps": variable(counted("i4"), units="days since 2000-01-01", calendar="noleap"),
    "hours": variable(counted("f8"), units="hours since 1970-01-01 12:00", calendar="proleptic_gregorian"),
    "truth": variable(counted("i1") % 2, dtype="bool"),
    "letters": variable(np.array([[b"abc", b"de"], [b"f", b""]], "S3").view("S1").reshape(2, 2, 3), ("time", "lat", "string3"),
                        _Encoding="utf-8", units="1"),
    "flags": variable(counted("i1") % 3, flag_values=np.array([0, 1, 2], "i1"), flag_meanings="clear cloud snow"),
    "scalar": variable(np.float32(7), (), units="m", grid_mapping_name="latitude_longitude"),
    "empty": variable(np.zeros((0, Y, X), "f4"), units="K", _FillValue=np.float32(-1)),
    "along itself": variable(np.arange(5.0), ("v",), units="m"),
    "nameless among others": variable(counted("u1")),
}
KINDS = ["zarr2", "zarr3", "h5netcdf", "netcdf4", "classic", "plain"]


def coordinates(var):
    found = {}
    for name, extent in dict(zip(var.dims, var.shape, strict=True)).items():
        if name in ("time", "lat", "lon") and len(set(var.dims)) == var.ndim:
            attrs = dict(units="days since 1999-12-31", calendar="standard") if name == "time" else dict(units="degrees")
            found[name] = xr.Variable((name,), 10.0 + np.arange(extent), attrs)
    return found


def store(kind, var, coords=None, name="v"):
    """A source of this kind, and the path that names the variable in it."""
    if var.dtype == "S1" and kind in ("h5netcdf", "netcdf4", "classic"):  # xarray takes them apart
        var = xr.Variable(var.dims[:-1], var.values.view(f"S{var.shape[-1]}")[..., 0], var.attrs)
    dataset = xr.Dataset({name: var, **(coordinates(var) if coords is None else coords)}, attrs={"title": "a test"})
    dataset = dataset.drop_encoding()
    for each in dataset.variables.values():
        each.encoding = {} if "_FillValue" in each.attrs else {"_FillValue": None}
    if kind.startswith("zarr"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset.to_zarr(f"{kind}.zarr", zarr_format=int(kind[-1]), mode="w")
        return f"{kind}.zarr::{name}"
    if kind == "plain":
        with h5py.File("plain.h5", "w") as file:
            written(file, name, var, dataset)
        return f"plain.h5::{name}"
    engine = {"h5netcdf": "h5netcdf"}.get(kind, "netcdf4")
    dataset.to_netcdf(f"{kind}.nc", engine=engine, format="NETCDF3_64BIT" if kind == "classic" else "NETCDF4",
                      unlimited_dims=["time"] if "time" in var.dims else [])
    return f"{kind}.nc::{name}"


def written(file, name, var, dataset):
    """As h5py's users write it."""
    fill = var.attrs.get("_FillValue")
    item = file.create_dataset(name, data=var.values, fillvalue=fill)
    item.attrs.update(var.attrs)
    for axis, dim in enumerate(var.dims):
        if dim == name:
            item.make_scale(dim)
            return
        if dim not in file:
            coordinate = dataset.variables.get(dim)
            file[dim] = np.zeros(var.shape[axis]) if coordinate is None else coordinate.values
            file[dim].attrs.update({} if coordinate is None else coordinate.attrs)
            file[dim].make_scale(NO_VARIABLE if coordinate is None else dim)
        item.dims[axis].attach_scale(file[dim])


def opened(path, engine=None, **options):
    """All of a file or a group, as xarray reads it."""
    folder = path.partition("::")[0]
    if folder.endswith(".zarr"):
        found = xr.open_zarr(folder, consolidated=False, chunks=None, **options)
    else:
        found = xr.open_dataset(folder, engine=engine or ("h5netcdf" if folder.endswith(".h5") else "netcdf4"), **options)
    with found:
        return found.load()


def same(got, want):
    xr.testing.assert_identical(got, want)
    assert got.dtype == want.dtype, (got.dtype, want.dtype)


def target_of(kind):
    if kind == "zarr":
        zarr.create_group("out.zarr", overwrite=True)
        return "out.zarr/v", "out.zarr"
    return f"out.{kind}::v", f"out.{kind}"


def turned(var):
    """Axes in another order; the letters of strings stay the last."""
    axes = tuple(range(var.ndim))[::-1]
    return (1, 0, 2) if var.dtype.kind == "S" else axes


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_xarray_reads_the_same(case, kind):
    var = CASES[case]
    source = store(kind, var)
    raw = dict(mask_and_scale=False, decode_times=False, decode_coords=False)
    before = [opened(source, **options)["v"] for options in ({}, raw)]
    flip = (KINDS.index(kind) + list(CASES).index(case)) % 2
    for at, target in enumerate(("zarr", "nc", "h5")):
        axes = turned(var) if (at + flip) % 2 else tuple(range(var.ndim))
        path, whole = target_of(target)
        cornerturn.rechunk(source, path, axes=axes)
        engine = ("netcdf4", "h5netcdf")[(at + flip) // 2 % 2] if target == "nc" else None
        for options, want in zip(({}, raw), before, strict=True):
            want = want.transpose(*[want.dims[axis] for axis in axes if axis < want.ndim])
            got = opened(whole, engine, **options)["v"]
            same(got.variable, want.variable)
            if target != "zarr":
                same(got, want.drop_vars([name for name in want.coords if name not in want.dims]))
