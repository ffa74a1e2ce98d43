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


def stored_and_decoded(path, engine=None):
    stored = opened(path, engine, mask_and_scale=False, decode_times=False, decode_coords=False)
    return stored["v"], xr.decode_cf(stored)["v"].load()


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
    number = KINDS.index(kind) + list(CASES).index(case)
    target = ("zarr", "nc", "zarr", "h5")[number % 4]  # every case goes to all of them, from one kind or another
    axes = turned(var) if number // 2 % 2 else tuple(range(var.ndim))
    path, whole = target_of(target)
    cornerturn.rechunk(source, path, axes=axes)
    engine = ("netcdf4", "h5netcdf")[KINDS.index(kind) % 2] if target == "nc" else None
    for got, want in zip(stored_and_decoded(whole, engine), stored_and_decoded(source), strict=True):
        want = want.transpose(*[want.dims[axis] for axis in axes if axis < want.ndim])
        same(got.variable, want.variable)
        if target != "zarr":
            same(got, want.drop_vars([name for name in want.coords if name not in want.dims]))


def rechunk_and_hear(*args, **options):
    """What the one warning says, "" where there is none."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        cornerturn.rechunk(*args, **options)
    said = [str(each.message) for each in heard if each.category is UserWarning]
    assert len(said) <= 1 and all(each.filename == __file__ for each in heard if each.category is UserWarning)
    return said[0] if said else ""


PACKED = CASES["packed"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_format_says_it_in_its_own_way(kind):
    source = store(kind, PACKED)
    for suffix in ("h5", "nc"):
        cornerturn.rechunk(source, f"a.{suffix}::v", axes=(2, 0, 1), chunks=(4, 2, 3))
        with h5py.File(f"a.{suffix}") as file:
            v = file["v"]
            assert v.fillvalue == -32768 and np.ravel(v.attrs["_FillValue"]).dtype == "i2"
            assert np.ravel(v.attrs["missing_value"]).tolist() == [-32767]
            assert [len(dim) for dim in v.dims] == [1, 1, 1]
            assert [dim[0].name for dim in v.dims] == ["/lon", "/time", "/lat"]
            assert sorted(file[name].attrs["_Netcdf4Dimid"] for name in ("time", "lat", "lon")) == [0, 1, 2]
            assert file["time"].attrs["units"] == "days since 1999-12-31" or kind in ("netcdf4", "classic")
            grows = (4, None, 3) if kind in ("netcdf4", "h5netcdf", "classic") else (4, 5, 3)
            assert v.maxshape == grows
        with netCDF4.Dataset(f"a.{suffix}") as file:
            v = file["v"]
            assert v.dimensions == ("lon", "time", "lat") and v._FillValue == -32768 and v.units == "K"
            assert file.dimensions["time"].isunlimited() == (grows[1] is None)
            assert file["time"].dimensions == ("time",) and file["time"][:].tolist() == [10, 11, 12, 13, 14]
            assert v[:].mask.sum() == 2
    cornerturn.rechunk(source, "a.zarr", axes=(2, 0, 1), chunks=(4, 2, 3))
    array = zarr.open_array("a.zarr", mode="r")
    assert array.metadata.dimension_names == ("lon", "time", "lat") and array.fill_value == -32768
    attrs = dict(array.attrs)
    assert attrs == dict(scale_factor=0.01, add_offset=280.0, units="K", _FillValue=-32768, missing_value=-32767)


def attribute_of(path, name):
    """As xarray reads it."""
    return opened(path, mask_and_scale=False, decode_times=False, decode_coords=False)["v"].attrs[name]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["zarr", "nc", "h5"])
def test_marks_of_missing_elements_are_converted_with_them(kind, target):
    source = store(kind, PACKED)
    for dtype in ("i4", "f4"):
        path, whole = target_of(target)
        cornerturn.rechunk(source, path, dtype=dtype, overwrite=True)
        got, want = opened(whole)["v"], opened(source)["v"]
        np.testing.assert_allclose(got, want)
        assert int(got.isnull().sum()) == 2
        for name in ("_FillValue", "missing_value"):
            assert attribute_of(whole, name) == attribute_of(source, name)
            assert target == "zarr" or np.asarray(attribute_of(whole, name)).dtype == dtype  # as netCDF wants it
    path, whole = target_of(target)
    for dtype in ("i1", "u4"):
        os.makedirs(dtype)
        with pytest.raises(ValueError, match=f"has _FillValue = -32768, which {np.dtype(dtype)} cannot hold"):
            cornerturn.rechunk(source, f"{dtype}/x.{target}", dtype=dtype)
        assert os.listdir(dtype) == []


@pytest.mark.parametrize(
    ("case", "dtype", "works"),
    [
        ("fill", "f8", True), ("fill", "f2", False), ("fill", "i4", False), ("fill of NaN", "f4", True),
        ("fill of NaN", "i4", False), ("missing only", "i2", True), ("missing only", "u2", False),
        ("fill of integers", "i2", True), ("packed, unsigned", "i2", False), ("two missing", "i1", False),
        ("two missing", "f8", True), ("days", "i8", True), ("numbers", "f4", True),
    ],
)
@pytest.mark.parametrize("kind", ["zarr3", "netcdf4"])
def test_conversions(case, dtype, works, kind):
    source = store(kind, CASES[case])
    if works:
        for target in ("zarr", "nc"):
            path, whole = target_of(target)
            cornerturn.rechunk(source, path, dtype=dtype)
            got, want = opened(whole)["v"], opened(source)["v"]
            np.testing.assert_array_equal(got.isnull(), want.isnull())
            assert (got.values[~got.isnull().values] == want.values[~want.isnull().values]).all()
    else:
        with pytest.raises(ValueError, match="dtype = "):
            cornerturn.rechunk(source, "y.zarr", dtype=dtype)


def hdf5(attributes, name="x.h5"):
    with h5py.File(name, "w") as file:
        v = file.create_dataset("v", data=counted("f4"))
        for key, value in attributes.items():
            v.attrs[key] = v.ref if value is h5py.ref_dtype else value
    return f"{name}::v"


# What an attribute of HDF5 becomes: in zarr, in HDF5, in netCDF; None: it is left out. "!" before it: it is named.
OF_HDF5 = {
    "text": (np.bytes_(b"K"), "K", b"K", b"K"),
    "not text": (np.bytes_(b"\xe9t\xe9"), ("!", "\ufffdt\ufffd"), b"\xe9t\xe9", b"\xe9t\xe9"),
    "texts": (np.array(["a", "b"], h5py.string_dtype()), ["a", "b"], ["a", "b"], ["a", "b"]),
    "big-endian": (np.array([1, 2], ">i4"), [1, 2], [1, 2], [1, 2]),
    "one": (np.array([3.5]), 3.5, [3.5], [3.5]),
    "nothing": (h5py.Empty("S1"), "", h5py.Empty("S1"), h5py.Empty("S1")),
    "true": (np.bool_(True), True, True, 1),
    "half": (np.float16(0.5), 0.5, 0.5, 0.5),
    "table": (np.eye(2), [[1, 0], [0, 1]], np.eye(2).tolist(), ("!", "[[1.0, 0.0], [0.0, 1.0]]")),
    "complex": (1 + 2j, ("!", None), 1 + 2j, ("!", 1 + 2j)),
    "record": (np.array((1, 2.0), [("a", "i4"), ("b", "f8")]), ("!", None), (1, 2.0), ("!", (1, 2.0))),
    "opaque": (np.void(b"abc"), ("!", None), np.void(b"abc"), ("!", np.void(b"abc"))),
    "reference": (h5py.ref_dtype, ("!", None), ("!", None), ("!", None)),
    "CLASS": ("IMAGE", "IMAGE", "IMAGE", "IMAGE"),
    "large": ("x" * 70_000, "x" * 70_000, "x" * 70_000, "x" * 70_000),
}


@pytest.mark.parametrize("name", OF_HDF5)
def test_attributes_of_hdf5(name):
    given, *wanted = OF_HDF5[name]
    source = hdf5({name: given})
    for target, want in zip(("y.zarr", "y.h5", "y.nc"), wanted, strict=True):
        said = rechunk_and_hear(source, target)
        named = isinstance(want, tuple) and want[0] == "!"
        assert (name in said) == named, said
        want = want[1] if named else want
        if target == "y.zarr":
            found = dict(zarr.open_array(target).attrs)
        else:
            with h5py.File(target) as file:
                found = dict(file["data"].attrs)
        if want is None:
            assert name not in found
        elif isinstance(want, h5py.Empty):
            assert found[name] == want
        else:
            value = found[name]
            assert (value.tolist() if isinstance(value, (np.ndarray, np.generic)) and name != "opaque" else value) == want


# What an attribute of zarr becomes in HDF5.
OF_ZARR = {
    "text": ("K", "K"), "texts": (["a", "b"], ["a", "b"]), "whole": (5, 5), "large": (2**63, 2**63), "real": (0.5, 0.5),
    "mixed": ([1, 0.5], [1.0, 0.5]), "true": (True, 1), "trues": ([True, False], [1, 0]),
    "too large": (2**64, ("!", "18446744073709551616")), "none": (None, ("!", "null")),
    "dict": ({"a": 1}, ("!", '{"a": 1}')), "nested": ([[1, 2], [3, 4]], ("!", "[[1, 2], [3, 4]]")),
    "one": ([5], ("!", [5])), "zero": ("a\0b", ("!", '"a\\u0000b"')), "REFERENCE_LIST": ("x", ("!", None)),
    "of several": ([1, "a"], ("!", '[1, "a"]')),
}


@pytest.mark.parametrize("name", OF_ZARR)
def test_attributes_of_zarr(name):
    given, want = OF_ZARR[name]
    zarr.create_array("x.zarr", shape=(3,), dtype="f4", attributes={name: given})
    named = isinstance(want, tuple)
    want = want[1] if named else want
    for target in ("y.h5", "y.nc"):
        said = rechunk_and_hear("x.zarr", target)
        assert (name in said) == named, said
        with h5py.File(target) as file:
            found = file["data"].attrs.get(name)
            assert (found.tolist() if isinstance(found, np.ndarray) else found) == want


def test_npy_has_no_place_for_any():
    said = rechunk_and_hear(store("zarr3", PACKED), "y.npy")
    assert all(name in said for name in (*PACKED.attrs, *DIMS)) and said.startswith(os.getcwd()) or "zarr3.zarr" in said
    assert rechunk_and_hear(hdf5({}), "z.npy") == ""


def test_a_scale_of_float32_is_named():
    source = store("netcdf4", variable(counted("i2"), scale_factor=np.float32(0.1)))
    assert "float32 of scale_factor" in rechunk_and_hear(source, "y.zarr")
    assert rechunk_and_hear(source, "y.nc") == ""


def test_nothing_is_written_where_warnings_are_errors():
    with pytest.raises(UserWarning, match="opaque"):
        cornerturn.rechunk(hdf5({"opaque": np.void(b"abc")}), "y.zarr")
    assert os.listdir() == ["x.h5"]


def test_truth_and_times_in_netcdf():
    for name, values in dict(
        b=np.array([True, False]), s=np.array(["2000-01-01", "NaT"], "M8[s]"), d=np.array(["1960-05-01", "NaT"], "M8[D]"),
        ns=np.array([1, 2], "M8[ns]"), ms=np.array([1, "NaT"], "m8[ms]"), big=np.array(["2000-01-01"], ">M8[s]"),
    ).items():
        zarr.create_array(f"{name}.zarr", data=values.astype(values.dtype.newbyteorder("=")), dimension_names=["x"])
        for source in (values, f"{name}.zarr"):
            cornerturn.rechunk(source, f"{name}.nc", overwrite=True)
            got = opened(f"{name}.nc", decode_timedelta=True)["data"]
            assert got.dtype.kind == values.dtype.kind
            np.testing.assert_array_equal(got.values, values)
    with h5py.File("b.nc") as file:
        assert file["data"].dtype == "i1"  # netCDF has no truths
    with h5py.File("s.nc") as file:
        assert file["data"].attrs["_FillValue"] == file["data"].fillvalue == np.iinfo("i8").min  # NaT
    cornerturn.rechunk("b.zarr", "b.h5")
    with h5py.File("b.h5") as file:
        assert file["data"].dtype == "?"
    for dtype in ("M8[M]", "M8[10s]", "U3"):
        with pytest.raises(TypeError, match="target: HDF5 has no"):
            cornerturn.rechunk(np.zeros(3, dtype), "z.h5")
        assert not os.path.exists("z.h5")


@pytest.mark.parametrize("dtype", ["c16", "S4", "f2", "V4"])
def test_what_netcdf_cannot_read_is_said(dtype):
    assert str(np.dtype(dtype)) in rechunk_and_hear(np.zeros(3, dtype), "y.nc")
    assert rechunk_and_hear(np.zeros(3, dtype), "y.h5") == ""


def test_enumerations():
    with netCDF4.Dataset("x.nc", "w") as file:
        file.createDimension("x", 3)
        file.createVariable("v", file.createEnumType("u1", "sky", {"clear": 0, "cloud": 1}), ("x",))[:] = [0, 1, 0]
    for target in ("y.nc", "y.h5"):
        assert rechunk_and_hear("x.nc::v", f"{target}::v") == ""
        with netCDF4.Dataset(target) as file:
            assert list(file.enumtypes) == ["sky"]
            assert file["v"].datatype.enum_dict == {"clear": 0, "cloud": 1}
            assert file["v"][:].tolist() == [0, 1, 0]
    assert "clear = 0, cloud = 1" in rechunk_and_hear("x.nc::v", "y.zarr")
    with h5py.File("z.h5", "w") as file:
        file.create_dataset("v", data=[0, 1], dtype=h5py.enum_dtype({"a": 0, "b": 1}, basetype="i2"))
    cornerturn.rechunk("z.h5", "z2.h5::v")
    with h5py.File("z2.h5") as file:
        assert h5py.check_enum_dtype(file["v"].dtype) == {"a": 0, "b": 1}


def test_dimensions_that_cannot_have_scales_have_labels():
    for names, key, said in ((["a", None], "v", "a, None"), (["v", "a"], "v", "v, a"), (["v", "v"], "w", "")):
        zarr.create_array("x.zarr", shape=(3, 3), dtype="f4", dimension_names=names, overwrite=True)
        heard = rechunk_and_hear("x.zarr", f"{key}{said != ''}.nc::{key}", overwrite=True)
        assert (said in heard) if said else heard == ""
        with netCDF4.Dataset(f"{key}{said != ''}.nc") as file:
            assert file[key].dimensions == (("v", "v") if not said else file[key].dimensions) and file[key].shape == (3, 3)
        cornerturn.rechunk(f"{key}{said != ''}.nc::{key}", "back.zarr", overwrite=True)
        assert list(zarr.open_array("back.zarr").metadata.dimension_names) == names


def test_labels_of_hdf5():
    with h5py.File("x.h5", "w") as file:
        v = file.create_dataset("v", data=counted("f4"))
        v.dims[0].label, v.dims[2].label = "a", "c"
    cornerturn.rechunk("x.h5", "y.zarr", axes=(2, 1, 0))
    assert zarr.open_array("y.zarr").metadata.dimension_names == ("c", None, "a")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cornerturn.rechunk("x.h5", "y.h5", axes=(2, 1, 0))
    with h5py.File("y.h5") as file:
        assert [dim.label for dim in file["data"].dims] == ["c", "", "a"]
    with h5py.File("x.h5", "a") as file:
        for axis, name in enumerate("pqr"):
            file[name] = np.arange(file["v"].shape[axis])
            file[name].make_scale(name)
            file["v"].dims[axis].attach_scale(file[name])
    cornerturn.rechunk("x.h5::v", "z.h5", axes=(2, 1, 0))
    with h5py.File("z.h5") as file:
        assert [dim.label for dim in file["data"].dims] == ["c", "", "a"]
        assert [dim[0].name for dim in file["data"].dims] == ["/r", "/q", "/p"]


def test_scales_that_are_there_have_to_be_the_same():
    source = store("netcdf4", PACKED)
    cornerturn.rechunk(source, "y.nc::v", chunks=(1, 3, 4))
    cornerturn.rechunk(source, "y.nc::v", chunks=(5, 1, 1), overwrite=True)
    cornerturn.rechunk(source, "y.nc::w")
    got = opened("y.nc")
    same(got["v"].variable, opened(source)["v"].variable)
    same(got["w"].variable, got["v"].variable)
    before = open("y.nc", "rb").read()
    for other, why in ((PACKED[:3], "3 along it"), (PACKED, "other coordinates")):
        coords = coordinates(other)
        coords["time"] = xr.Variable(("time",), 99.0 + np.arange(other.shape[0]), coords["time"].attrs)
        with pytest.raises(ValueError, match=why):
            cornerturn.rechunk(store("h5netcdf", other, coords), "y.nc::z")
        assert open("y.nc", "rb").read() == before and sorted(os.listdir()) == ["h5netcdf.nc", "netcdf4.nc", "y.nc"]
    cornerturn.rechunk(source, "y.nc::group/z")
    with netCDF4.Dataset("y.nc") as file:
        assert file["group/z"].dimensions == DIMS and file["group/time"][:].tolist() == [10, 11, 12, 13, 14]


def test_what_is_added_along_an_unlimited_dimension_is_missing():
    cornerturn.rechunk(store("netcdf4", PACKED), "y.nc::v", chunks=(4, 2, 3))
    with netCDF4.Dataset("y.nc", "a") as file:
        file["time"][7] = 17
    with h5py.File("y.nc", "a") as file:
        file["v"].resize(8, axis=0)
        assert (file["v"][5:] == -32768).all()


def test_there_and_back():
    """A packed file, to zarr and to netCDF again."""
    source = store("netcdf4", PACKED)
    path, whole = target_of("zarr")
    cornerturn.rechunk(source, path, axes=(2, 0, 1))
    cornerturn.rechunk(whole + "::v", "back.nc::v", axes=(1, 2, 0))
    for options in ({}, dict(mask_and_scale=False)):
        same(opened("back.nc", **options)["v"].variable, opened(source, **options)["v"].variable)


def test_the_command_says_it_in_one_line(capsys):
    from cornerturn._chunks import command

    source = hdf5({"opaque": np.void(b"abc"), "units": "K", "reference": h5py.ref_dtype})
    assert command.main([source, "y.zarr", "--quiet"]) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("cornerturn: warning: ") and "opaque" in said and "reference" in said
    assert command.main([source, "z.zarr", "--plan"]) == 0 and capsys.readouterr().err == ""
