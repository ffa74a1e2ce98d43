"""What the numbers of an array mean: names of dimensions, attributes, fill values. Each format has its own way to
say it. It is read into one `Meaning`, which is written in the way of the target.

What xarray reads before and after is the same. What a format has no place for is named in `lost`.
"""

from __future__ import annotations

import base64
import struct
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from cornerturn._arrays import shown
from cornerturn._chunks.boxes import Extents

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
                    f"dtype = {new}: source = {name} has {key} = {_short(values)}, which {new} cannot hold, so "
                    "missing elements would not be known any more"
                )
            if made is None:
                lost.append(f"{key} = {_short(values)} (which no {new} is)")
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


def _short(values: numpy.ndarray) -> str:
    return shown(values.reshape(-1).tolist() if values.size > 1 else values.reshape(-1)[0].item())


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


def plain_attributes(given: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Those of a group as JSON has them, and what is lost."""
    found, lost = {}, []
    for name, value in given.items():
        try:
            found[name] = plain(value)
        except Unfit as error:
            lost.append(f"{name} ({error})")
    return found, lost


# --- names of dimensions --------------------------------------------------------------------------------------------


def named(meaning: Meaning, leaf: str, rank: int) -> Meaning:
    """Dimensions without a name have one made of `leaf`, unless that is empty."""
    if not leaf:
        return meaning
    names = meaning.names or (None,) * rank
    return replace(meaning, names=tuple([name or f"{leaf}_dim_{axis}" for axis, name in enumerate(names)]))


def axes_of(names: tuple[str | None, ...], axes: Any, some: bool) -> Any:
    """Axes that are given by their names, as numbers; an ellipsis stands for those that are not named.

    With `some` those that the array does not have are passed over. Without an ellipsis axes that are not named stay
    where they are, and the others change places among themselves.
    """
    if axes is None:
        return tuple(range(len(names)))
    axes = list(axes) if isinstance(axes, Iterable) and not isinstance(axes, str) else axes
    if not isinstance(axes, list) or not any(isinstance(axis, str) or axis is ... for axis in axes):
        return axes
    unknown = [axis for axis in axes if axis is not ... and axis not in names]
    if unknown and not some:
        raise ValueError(f"axes = {shown(tuple(axes))}: there is no dimension {unknown[0]!r}, but {_list(names)}")
    if len(set(axes)) < len(axes):
        raise ValueError(f"axes = {shown(tuple(axes))} names one twice")
    rest = [axis for axis, name in enumerate(names) if name not in axes]
    if rest and not some and ... not in axes:
        raise ValueError(f"axes = {shown(tuple(axes))} leaves {names[rest[0]]!r} out: name it, or write ...")
    order: list[int] = []
    for name in axes:
        order += rest if name is ... else [axis for axis, own in enumerate(names) if own == name]
    if ... in axes:
        return tuple(order)
    moved = iter(order)
    return tuple([axis if axis in rest else next(moved) for axis in range(len(names))])


def extents_of(option: str, names: tuple[str | None, ...], given: Any, own: Extents) -> Extents:
    """Extents that are given by the names of dimensions; the others keep their own."""
    for name in given:
        if name not in names and not isinstance(given, Optional):
            raise ValueError(f"{option} = {shown(dict(given))}: there is no dimension {name!r}, but {_list(names)}")
    return tuple([given.get(name, n) for name, n in zip(names, own, strict=True)]) if names else own


def _list(names: tuple[str | None, ...]) -> str:
    return ", ".join(map(str, names)) or "none that has a name"


class Optional(dict[str, int]):
    """Extents along dimensions that an array need not have."""


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
