"""What numbers mean, as HDF5 and netCDF say it: attributes with types, and scales along dimensions."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy

from cornerturn._chunks.boxes import Box, Extents
from cornerturn._chunks.metadata import Meaning, Unfit, plain, text_of

_RESERVED = ("DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict")
_NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable."
PREFIX = "_nc4_non_coord_"  # netCDF's, of variables that have the name of a dimension and do not lie along it


def of_hdf5(dataset: Any) -> Meaning:
    import h5py

    attributes, lost = attributes_of_hdf5(dataset)
    plist = dataset.id.get_create_plist()
    defined = plist.fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
    labels = tuple([dimension.label for dimension in dataset.dims])
    enumeration = dict(h5py.check_enum_dtype(dataset.dtype) or {})
    named = _name_of_type(dataset) if enumeration else ""
    return Meaning(
        names_of_hdf5(dataset), attributes, dataset.fillvalue if defined else None, dataset.maxshape or (),
        labels if any(labels) else (), enumeration, named, lost=tuple(lost),
    )


def _name_of_type(dataset: Any) -> str:
    """The name of a type in the groups above that is the one of the dataset: netCDF writes both."""
    import h5py

    stored, group = dataset.id.get_type(), dataset.parent
    while True:
        for name, item in group.items():
            if isinstance(item, h5py.Datatype) and item.id.equal(stored):
                return name
        if group.name == "/":
            return ""
        group = group.parent


def attributes_of_hdf5(item: Any) -> tuple[dict[str, Any], list[str]]:
    """Those of a dataset or a group as arrays of the very types that they have."""
    import h5py

    found: dict[str, Any] = {}
    lost = []
    hidden = {*_RESERVED, "_NCProperties"}
    if is_scale(item):
        hidden |= {"CLASS", "NAME"}
    for name in item.attrs:
        if name in hidden:
            continue
        try:
            stored = item.attrs.get_id(name)
            if _refers(stored.dtype):
                lost.append(f"{name} (refers to objects of the file)")
            elif stored.get_space().get_simple_extent_type() == h5py.h5s.NULL or stored.dtype.subdtype:
                found[name] = item.attrs[name]
            else:
                found[name] = numpy.empty(stored.shape, stored.dtype)
                if found[name].size:
                    stored.read(found[name], mtype=h5py.h5t.py_create(stored.dtype))
        except (OSError, TypeError, ValueError) as error:
            lost.append(f"{name} (cannot be read: {error})")
    return found, lost


def _refers(dtype: numpy.dtype) -> bool:
    import h5py

    inner = h5py.check_vlen_dtype(dtype)
    if isinstance(inner, numpy.dtype) and _refers(inner):
        return True
    if dtype.subdtype:
        return _refers(dtype.subdtype[0])
    return h5py.check_ref_dtype(dtype) is not None or any(_refers(dtype[name]) for name in dtype.names or ())


def is_scale(item: Any) -> bool:
    return text_of(item.attrs.get("CLASS", "")) == "DIMENSION_SCALE" if "CLASS" in item.attrs else False


def is_bare_dimension(dataset: Any) -> bool:
    """Is it one of netCDF's dimensions without values?"""
    name = dataset.attrs.get("NAME", b"") if is_scale(dataset) else b""
    return (name if isinstance(name, bytes) else str(name).encode()).startswith(_NO_VARIABLE)


def _last(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def names_of_hdf5(dataset: Any) -> tuple[str | None, ...]:
    if is_scale(dataset):
        if "_Netcdf4Coordinates" in dataset.attrs:
            known = _dimensions_of(dataset.parent)
            return tuple([known.get(int(number)) for number in dataset.attrs["_Netcdf4Coordinates"]])
        return (_last(dataset.name), *[None] * (dataset.ndim - 1)) if dataset.ndim else ()
    names = []
    for dimension in dataset.dims:
        scale = dimension[0] if len(dimension) else None
        names.append(_last(scale.name) if scale is not None and scale.name else dimension.label or None)
    return tuple(names) if any(names) else ()


def _dimensions_of(group: Any) -> dict[int, str]:
    """netCDF's numbers of the dimensions that are seen from a group."""
    found: dict[int, str] = {}
    while True:
        for name, item in group.items():
            if item is not None and "_Netcdf4Dimid" in item.attrs and is_scale(item):
                found.setdefault(int(numpy.ravel(item.attrs["_Netcdf4Dimid"])[0]), name)
        if group.name == "/":
            return found
        group = group.parent


def typed(value: Any, netcdf: bool) -> Any:
    """The value of an attribute as HDF5 has it, and netCDF, which has fewer types."""
    if type(value).__name__ == "Empty":
        return value
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        if netcdf and value.dtype.kind == "b" and not value.dtype.metadata:
            return value.astype("i1")
        if netcdf and value.dtype == numpy.dtype("f2"):
            return value.astype("f4")
        if netcdf and numpy.ndim(value) > 1 and value.dtype.kind in "iufSO":
            raise Unfit("as a text of JSON")
        return value
    if isinstance(value, str):
        if "\0" in value:
            raise Unfit("as a text of JSON")
        value.encode()
        return value
    if isinstance(value, (bool, int, float, complex)):
        return _number(value)
    if isinstance(value, (list, tuple)):
        import h5py

        if not value:
            return h5py.Empty("f8")
        if all(isinstance(each, str) for each in value):
            return numpy.array([typed(each, netcdf) for each in value], h5py.string_dtype())
        if all(isinstance(each, (bool, int, float)) for each in value):
            return numpy.array([_number(each) for each in value])
    raise Unfit("as a text of JSON")


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        return numpy.int8(value)
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise Unfit("as a text of JSON")
        return numpy.int64(value) if value < 1 << 63 else numpy.uint64(value)
    return numpy.complex128(value) if isinstance(value, complex) else numpy.float64(value)


def for_hdf5(attributes: dict[str, Any], netcdf: bool) -> tuple[dict[str, Any], list[str]]:
    """The attributes of a dataset or a group, and what is lost of them."""
    found: dict[str, Any] = {}
    lost = []
    for name, value in attributes.items():
        if name in _RESERVED or "\0" in name:
            lost.append(f"{name} (HDF5 has other uses for this name)")
            continue
        try:
            found[name] = typed(value, netcdf)
        except (Unfit, UnicodeEncodeError):
            found[name] = json.dumps(plain(value), default=str)
            lost.append(f"{name} (now a text of JSON)")
            continue
        if isinstance(value, list) and len(value) == 1:
            lost.append(f"{name} (a list of one entry, which netCDF reads as the entry)")
        if netcdf and not _in_netcdf(found[name]):
            lost.append(f"{name} (in HDF5 it is, but netCDF's library does not see it)")
    return found, lost


def _in_netcdf(value: Any) -> bool:
    import h5py

    dtype = getattr(value, "dtype", numpy.dtype("U"))
    return dtype.kind in "iufSU" or dtype.kind == "O" and h5py.check_string_dtype(dtype) is not None


def write_attributes(item: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        dtype = None if type(value).__name__ == "Empty" else getattr(value, "dtype", None)
        item.attrs.create(name, value, dtype=dtype)


def create_dataset(group: Any, name: str, shape: Extents, dtype: Any, meaning: Meaning, **options: Any) -> Any:
    """A new dataset, and the scales along its dimensions. The attributes are those of `for_hdf5`."""
    if meaning.enumeration:
        dtype = _enumeration(group, name, dtype, meaning)
    fill = meaning.empty
    if fill is not None and numpy.dtype(dtype if isinstance(dtype, numpy.dtype) else "V1").names is None:
        options["fillvalue"] = fill
    limits = tuple([limit if limit is None else max(limit, n) for limit, n in zip(meaning.limits, shape, strict=False)])
    if limits and limits != tuple(shape):
        options["maxshape"] = limits
    dataset = group.create_dataset(name, shape, dtype, **options)
    write_attributes(dataset, meaning.attributes)
    _attach(dataset, meaning)
    return dataset


def _enumeration(group: Any, name: str, dtype: Any, meaning: Meaning) -> Any:
    """A type of its own, which netCDF asks for."""
    import h5py

    kind = h5py.enum_dtype(dict(meaning.enumeration), basetype=dtype)
    named = meaning.enumeration_name
    if not named:
        return kind
    found = group.file.get(named)
    if found is None:
        group.file[named] = kind
    return group.file[named] if found is None or found.dtype == kind else kind


def scalable(name: str, names: tuple[str | None, ...]) -> bool:
    """Can all dimensions of a dataset with this name have scales, which are datasets beside it?"""
    return None not in names and (name not in names or names == (name,)) and not any("/" in str(each) for each in names)


def _attach(dataset: Any, meaning: Meaning) -> None:
    """The dimensions get their scales. Where one cannot have one, all have labels: netCDF wants all or none.

    Scales that are there already, of other datasets of the file, have to be the same.
    """
    group, own = dataset.parent, _last(dataset.name)
    for axis, label in enumerate(meaning.labels):
        dataset.dims[axis].label = label
    if meaning.names == (own,):
        _make_scale(dataset, own)
        return
    if not scalable(own, meaning.names):
        for axis, name in enumerate(meaning.names):
            dataset.dims[axis].label = name or ""
        return
    for axis, name in enumerate(meaning.names):
        scale, source = group.get(name), meaning.scales.get(name)
        if scale is None:
            unlimited = axis < len(meaning.limits) and meaning.limits[axis] is None
            scale = _new_scale(group, name, dataset.shape[axis], unlimited, source)
        _check_scale(scale, dataset, axis, source)
        if not is_scale(scale):
            _make_scale(scale, name)
        dataset.dims[axis].attach_scale(scale)


def _check_scale(scale: Any, dataset: Any, axis: int, source: Any) -> None:
    """Raises ValueError where something else than the coordinates of the source is in their place."""
    file, name, extent = dataset.file.filename, scale.name, dataset.shape[axis]
    if getattr(scale, "shape", None) != (extent,):
        what = f"of the extents {scale.shape}" if hasattr(scale, "shape") else "a group"
        raise ValueError(f"target: {name!r} in {file!r} is {what}, and the array has {extent} along it: name another group")
    if source is None or source.shape != (extent,) or is_bare_dimension(scale) or not extent:
        return
    dtype = scale.dtype
    for piece in source.pieces(Box((0,), (extent,))):
        if not same_elements(scale[piece.slices], as_elements(source.read(piece), dtype)):
            raise ValueError(f"target: {name!r} in {file!r} has other coordinates than the source: name another group")


def same_elements(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    nan = a.dtype.kind in "fc" and b.dtype.kind in "fc"
    return bool(numpy.array_equal(a, b, equal_nan=nan))


def _new_scale(group: Any, name: str, extent: int, unlimited: bool, source: Any) -> Any:
    limits: tuple[int | None, ...] = (None,) if unlimited else ()
    options = dict(chunks=(min(max(extent, 1), 1 << 16),)) if unlimited else {}
    if source is None:
        scale = group.create_dataset(name, (extent,), ">f4", maxshape=limits or None, **options)
        _make_scale(scale, f"{_NO_VARIABLE.decode()}{extent:10}")
        return scale
    meaning = replace(source.meaning(), limits=limits, scales={}, names=())
    dtype = hdf5_dtype(source.dtype.newbyteorder("="), True)
    meaning, _ = hdf5_meaning(meaning, name, source.dtype, True)
    scale = create_dataset(group, name, (extent,), dtype, meaning, **options)
    for piece in source.pieces(Box((0,), (extent,))) if extent else ():
        scale[piece.slices] = as_elements(source.read(piece), dtype)
    return scale


def as_elements(values: numpy.ndarray, dtype: numpy.dtype) -> numpy.ndarray:
    """Values as the target has them: in this machine's byte order, times and truths as the numbers that they are."""
    if not values.dtype.isnative and values.dtype != dtype:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.dtype.kind in "mMb" and dtype.kind == "i" and values.dtype.itemsize == dtype.itemsize:
        values = values.view(dtype)
    return values


def _make_scale(dataset: Any, name: str) -> None:
    numbers = [-1]

    def visit(_: str, item: Any) -> None:
        if "_Netcdf4Dimid" in item.attrs:
            numbers.append(int(numpy.ravel(item.attrs["_Netcdf4Dimid"])[0]))

    dataset.file.visititems(visit)
    dataset.make_scale(name)
    dataset.attrs["_Netcdf4Dimid"] = numpy.int32(max(numbers) + 1)


def hdf5_meaning(meaning: Meaning, name: str, dtype: numpy.dtype, netcdf: bool) -> tuple[Meaning, list[str]]:
    """The meaning as HDF5 has it, and what is lost."""
    given = dict(meaning.attributes)
    if dtype.kind in "mM":
        given = {**_times(dtype), **given}
        meaning = replace(meaning, fill=numpy.iinfo("i8").min)
    elif netcdf and dtype.kind == "b":
        given.setdefault("dtype", "bool")  # as xarray says it
    attributes, lost = for_hdf5(given, netcdf)
    lost = [*meaning.lost, *lost]
    if any(meaning.names) and not scalable(_last(name), meaning.names):
        lost.append(f"the dimensions {', '.join(map(str, meaning.names))} (now labels, since not all can have scales)")
    if netcdf and (dtype.kind in "cV" or dtype.kind == "S" and dtype.itemsize > 1 or dtype == numpy.dtype("f2")):
        lost.append(f"{dtype} (which netCDF does not have: its library cannot read the dataset, h5py can)")
    return replace(meaning, attributes=attributes, lost=()), lost


_UNITS = dict(D="days", h="hours", m="minutes", s="seconds", ms="milliseconds", us="microseconds", ns="nanoseconds")


def _times(dtype: numpy.dtype) -> dict[str, Any]:
    """The attributes by which 64 bits of NumPy's times are times of netCDF."""
    name = _UNITS[numpy.datetime_data(dtype)[0]]
    attributes: dict[str, Any] = dict(_FillValue=numpy.int64(numpy.iinfo("i8").min))
    if dtype.kind == "m":
        return dict(**attributes, units=name)
    return dict(**attributes, units=f"{name} since 1970-01-01", calendar="proleptic_gregorian")


def hdf5_dtype(dtype: numpy.dtype, netcdf: bool) -> numpy.dtype:
    """What HDF5 has for elements of NumPy."""
    if dtype.kind in "mM":
        unit, number = numpy.datetime_data(dtype)
        if unit not in _UNITS or number != 1:
            raise TypeError(f"target: HDF5 has no {dtype}: times in {', '.join(_UNITS)} become numbers with units")
        return numpy.dtype("i8")
    if dtype.kind == "U":
        raise TypeError(f"target: HDF5 has no {dtype}: strings of bytes, S, are what it has")
    return numpy.dtype("i1") if netcdf and dtype.kind == "b" else dtype
