"""What the numbers of an array mean: names of dimensions, attributes, fill values. Each format has its own way to
say it. It is read into one `Meaning`, which is written in the way of the target.

What xarray reads before and after is the same. What a format has no place for is named in `lost`.
"""

from __future__ import annotations

import base64
import json
import struct
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from cornerturn._arrays import shown
from cornerturn._chunks.boxes import Box, Extents

_DIMENSIONS = "_ARRAY_DIMENSIONS"  # the attribute by which version 2 of zarr names dimensions
_FILLS = ("_FillValue", "missing_value")  # attributes that are elements of the array


class Unfit(Exception):
    """A format has no place for a value. The text says what becomes of it."""


@dataclass(frozen=True)
class Meaning:
    """What is known of an array beside its elements, its axes in the array's order."""

    names: tuple[str | None, ...] = ()  # of the dimensions; empty where none has one
    attributes: dict[str, Any] = field(default_factory=dict)  # of Python or NumPy; _FillValue is one of them
    fill: Any = None  # the value of elements that were never written, if the source says so
    limits: tuple[int | None, ...] = ()  # the extents up to which the array may grow; None has no end
    labels: tuple[str, ...] = ()  # those of HDF5's dimensions, beside their names
    enumeration: dict[str, int] = field(default_factory=dict)
    enumeration_name: str = ""  # netCDF's enumerations have one
    scales: dict[str, Any] = field(default_factory=dict)  # sources of the coordinates along named dimensions
    lost: tuple[str, ...] = ()  # what could not be read

    def permuted(self, axes: Extents) -> Meaning:
        def moved(each: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple([each[axis] for axis in axes]) if each else ()

        return replace(self, names=moved(self.names), limits=moved(self.limits), labels=moved(self.labels))

    def converted(self, old: numpy.dtype, new: numpy.dtype, name: str) -> Meaning:
        """That of the same array with elements of another dtype. Those attributes that are elements follow."""
        attributes = dict(self.attributes)
        unsigned = str(text_of(attributes.get("_Unsigned", ""))) in ("true", "True")
        if old != new and unsigned and (old.itemsize, old.kind) != (new.itemsize, new.kind) and old.kind in "iu":
            raise ValueError(
                f"dtype = {new}: source = {name} holds {old} with the attribute _Unsigned, whose values would not be "
                "the same in another size"
            )
        lost = list(self.lost)
        for key in _FILLS:
            values = _numbers(attributes.get(key), old) if key in attributes else None
            if values is None or new.kind not in "biufc":
                continue
            if unsigned and values.dtype.kind in "iu" and values.dtype.itemsize == old.itemsize:
                values = values.view(values.dtype.newbyteorder("=").str.replace("u", "i")) if old.kind == "i" else values
            made = exactly(values, new)
            if made is None and old != new:
                raise ValueError(
                    f"dtype = {new}: source = {name} has {key} = {shown(values.tolist())}, which {new} cannot hold, so "
                    "missing elements would not be known any more"
                )
            if made is None:
                lost.append(f"{key} = {shown(values.tolist())} (which no {new} is)")
                del attributes[key]
            else:
                attributes[key] = made
        fill = self.fill
        if old != new and fill is not None:
            values = _numbers(fill, old)
            made = None if values is None or new.kind not in "biufc" else exactly(values, new)
            fill = None if made is None else made.reshape(())[()]
        enumeration = self.enumeration if old == new else {}
        return replace(self, attributes=attributes, fill=fill, enumeration=enumeration, lost=tuple(lost))

    @property
    def empty(self) -> Any:
        """What elements that were never written are: the fill value, or that of netCDF."""
        given = self.attributes.get("_FillValue")
        if isinstance(given, numpy.ndarray) and given.size == 1 and (self.fill is None or not self.fill):
            return given.reshape(())[()]
        return self.fill


def _numbers(value: Any, dtype: numpy.dtype) -> numpy.ndarray | None:
    """The value of an attribute as an array of numbers; None where it is no such thing."""
    if isinstance(value, str) and dtype.kind in "fc" and value in ("NaN", "Infinity", "-Infinity"):
        value = float(value)
    try:
        values = numpy.asarray(value)
    except ValueError:
        return None
    return values if values.dtype.kind in "biufc" and dtype.kind in "biufc" and values.size else None


def exactly(values: numpy.ndarray, dtype: numpy.dtype) -> numpy.ndarray | None:
    """`values` in another dtype, None where it cannot hold one of them. Numbers with a fraction are rounded
    to others, as elements are."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = values.astype(dtype)
    if values.dtype.kind in "fc" and made.dtype.kind in "fc":
        same = numpy.array_equal(numpy.isnan(values), numpy.isnan(made))
        same = same and numpy.array_equal(numpy.isinf(values), numpy.isinf(made))
        same = same and (made.dtype.kind == "c" or not numpy.any(numpy.imag(values)))
    else:
        same = all(a == b for a, b in zip(values.reshape(-1).tolist(), made.reshape(-1).tolist(), strict=True))
    return made if same else None


def text_of(value: Any) -> Any:
    """Strings of HDF5 as strings of Python, arrays of one element as that element."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, numpy.ndarray) and value.size == 1:
        value = value.reshape(())[()]
        return text_of(value) if isinstance(value, (bytes, numpy.ndarray)) else value
    if isinstance(value, numpy.ndarray) and value.dtype.kind in "SO":
        return [text_of(each) for each in value.reshape(-1).tolist()]
    return value


# --- zarr -----------------------------------------------------------------------------------------------------------


def of_zarr(array: Any) -> Meaning:
    attributes = {name: value for name, value in dict(array.attrs).items() if not name.lower().startswith("_nczarr")}
    names = tuple(getattr(array.metadata, "dimension_names", None) or ())
    named = attributes.get(_DIMENSIONS)
    if isinstance(named, list) and len(named) == array.ndim and all(isinstance(name, str) for name in named):
        del attributes[_DIMENSIONS]
        names = names or tuple(named)
    dtype, fill = numpy.dtype(array.dtype), array.fill_value
    if array.metadata.zarr_format == 2:
        # xarray takes the fill value of version 2 for the mark of missing elements, and nothing else.
        attributes.pop("_FillValue", None) if names else None
        if names and fill is not None and dtype.kind not in "mM":
            attributes["_FillValue"] = fill
    elif "_FillValue" in attributes:
        attributes["_FillValue"] = _decoded(attributes["_FillValue"], dtype)
    return Meaning(names, attributes, fill)


def _decoded(value: Any, dtype: numpy.dtype) -> Any:
    """_FillValue as xarray writes it in version 3: floats and bytes are in base64."""
    try:
        if dtype.kind == "f" and isinstance(value, str):
            return struct.unpack("<d", base64.b64decode(value, validate=True))[0]
        if dtype.kind == "c" and isinstance(value, list):
            return complex(*[struct.unpack("<d", base64.b64decode(part, validate=True))[0] for part in value])
        if dtype.kind == "S":
            return base64.b64decode(value, validate=True)
    except (ValueError, TypeError, struct.error):
        pass
    return value


def _encoded(value: Any, dtype: numpy.dtype) -> Any:
    value = text_of(value) if dtype.kind != "S" else numpy.asarray(value).reshape(-1)[0]

    def double(number: Any) -> str:
        return base64.b64encode(struct.pack("<d", float(number))).decode()

    if dtype.kind == "S":
        return base64.b64encode(value if isinstance(value, bytes) else str(value).encode()).decode()
    if dtype.kind in "biufc" and (isinstance(value, str) or numpy.ndim(value)):
        raise Unfit("is no element of the array")
    if dtype.kind == "f":
        return double(value)
    if dtype.kind == "c":
        return [double(value.real), double(value.imag)]
    return plain(value)


def plain(value: Any) -> Any:
    """The value of an attribute as JSON has it."""
    if type(value).__name__ == "Empty":  # h5py's
        return "" if value.dtype.kind in "SO" else []
    value = text_of(value)
    if isinstance(value, numpy.void) or isinstance(value, numpy.ndarray) and value.dtype.names:
        raise Unfit("is a record")
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise Unfit(f"is of {type(value).__name__}")
    return value


def for_zarr(meaning: Meaning, dtype: numpy.dtype) -> tuple[dict[str, Any], list[str]]:
    """The options of `zarr.create_array`, and what is lost."""
    attributes, lost = {}, list(meaning.lost)
    for name, value in meaning.attributes.items():
        try:
            attributes[name] = _encoded(value, dtype) if name == "_FillValue" else plain(value)
        except Unfit as error:
            lost.append(f"{name} ({error})")
            continue
        if name in ("scale_factor", "add_offset") and getattr(value, "dtype", None) == numpy.dtype("f4"):
            lost.append(f"the float32 of {name} (JSON has float64 only, so the decoded values are of float64)")
        if "\ufffd" in str(attributes[name]) and not isinstance(value, str):
            lost.append(f"{name} (is no UTF-8)")
    options: dict[str, Any] = dict(attributes=attributes)
    if any(meaning.names):
        options["dimension_names"] = list(meaning.names)
    if meaning.enumeration:
        lost.append("the enumeration " + ", ".join(f"{name} = {value}" for name, value in meaning.enumeration.items()))
    fill = meaning.empty
    if fill is not None:
        options["fill_value"] = fill
    return options, lost


# --- HDF5 and netCDF ------------------------------------------------------------------------------------------------

_RESERVED = ("DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict")
_NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable."
_PREFIX = "_nc4_non_coord_"  # netCDF's, of variables that have the name of a dimension and do not lie along it


def of_hdf5(dataset: Any) -> Meaning:
    import h5py

    attributes, lost = attributes_of_hdf5(dataset)
    plist = dataset.id.get_create_plist()
    defined = plist.fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
    labels = tuple([dimension.label for dimension in dataset.dims])
    stored = dataset.id.get_type()
    named = h5py.h5i.get_name(stored).decode() if stored.committed() else ""
    return Meaning(
        names_of_hdf5(dataset), attributes, dataset.fillvalue if defined else None, dataset.maxshape or (),
        labels if any(labels) else (), dict(h5py.check_enum_dtype(dataset.dtype) or {}), _last(named), lost=tuple(lost),
    )


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
            if "_Netcdf4Dimid" in item.attrs and is_scale(item):
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
    """The dimensions get their scales. Where one cannot have one, all have labels: netCDF wants all or none."""
    group, own = dataset.parent, _last(dataset.name)
    for axis, label in enumerate(meaning.labels):
        dataset.dims[axis].label = label
    if meaning.names == (own,):
        _make_scale(dataset, own)
        return
    found = [group.get(name) if name is not None else None for name in meaning.names]
    fits = all(scale is None or scale.shape == (n,) for scale, n in zip(found, dataset.shape, strict=bool(meaning.names)))
    if not scalable(own, meaning.names) or not fits:
        for axis, name in enumerate(meaning.names):
            dataset.dims[axis].label = name or ""
        return
    for axis, name in enumerate(meaning.names):
        scale = group.get(name)
        if scale is None:
            unlimited = axis < len(meaning.limits) and meaning.limits[axis] is None
            scale = _new_scale(group, name, dataset.shape[axis], unlimited, meaning.scales.get(name))
        if not is_scale(scale):
            _make_scale(scale, name)
        dataset.dims[axis].attach_scale(scale)


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


def npy_losses(meaning: Meaning) -> list[str]:
    lost = list(meaning.lost)
    if meaning.attributes:
        lost.append("the attributes " + ", ".join(meaning.attributes))
    if any(meaning.names):
        lost.append("the names of the dimensions, " + ", ".join(map(str, meaning.names)))
    return lost


def warn(lost: Iterable[str], source: str, target: str) -> None:
    said = list(dict.fromkeys(lost))
    if said:
        warnings.warn(f"{source} -> {target}: changed or left out: " + "; ".join(said), UserWarning, stacklevel=3)
