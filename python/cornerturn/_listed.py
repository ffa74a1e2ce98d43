"""Copies in which the places along one axis come from a table."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from cornerturn import _core
from cornerturn._arrays import HOST, Array, dtype_name, execute, gpu_side, overlap, place, reach, shown, with_names
from cornerturn._frameworks import Framework, framework_of
from cornerturn._frameworks.framework import numpy_if_installed
from cornerturn._values import Values, convert, operand


class Table(NamedTuple):
    """An entry for each index of an axis: an index of an array, or an address."""

    address: int
    places: str  # "i32", "i64" or "pointers"
    length: int
    device: int
    owner: Any  # keeps the memory alive

    def along(self, axis: int, count: int = 0, zeros: bool = True, alignment: int = 0) -> _core.TableOf:
        return _core.TableOf(self.address, self.places, axis, count, zeros, alignment)


def host_table(numbers: Iterable[int], places: str) -> Table:
    """A new table in host memory, of 64-bit numbers."""
    entries = array("q", numbers)
    return Table(entries.buffer_info()[0], places, len(entries), HOST, entries)


def on_device(table: Table, framework: Framework, like: Array, stream: int) -> Table:
    """The table where the arrays lie that it is for."""
    if like.device == HOST:
        return table
    entries = framework.empty_at(like.device, framework.dtype("int64"), (table.length,), None, False)
    there = framework.read(entries, "the table")
    execute(there, Array(table.address, 8, (table.length,), (8,), HOST, there.dtype, True, table.owner), stream)
    return table._replace(address=there.address, device=like.device, owner=entries)


class Words(NamedTuple):
    """What errors call the two sides, and the entries of the tables."""

    dst: str
    src: str
    dst_entry: Callable[[int], str]
    src_entry: Callable[[int], str]


def copy_listed(
    dst: Array,
    dst_list: _core.TableOf | None,
    src: Array,
    src_list: _core.TableOf | None,
    stream: int,
    checked: bool | None,
    words: Words,
) -> None:
    """dst[i] = src[i], both of one shape. Values are converted where the dtypes differ."""
    if 0 in src.shape:
        return
    if dtype_name(dst.dtype) == dtype_name(src.dtype):
        kind = f"b{src.itemsize}"
        sides = [_core.Operand(side.address, kind, side.shape, side.strides) for side in (dst, src)]
    else:
        sides = [operand(dst, f"{words.dst}.dtype"), operand(src, f"{words.src}.dtype")]
    try:
        _core.copy_listed(
            sides[0], dst_list, sides[1], src_list, _core.Epilogue(), gpu_side(dst, src).device, stream, checked
        )
    except RuntimeError as error:
        if str(error).startswith("dst.type"):
            raise TypeError(str(error)) from None
        raise
    except ValueError as error:
        raise ValueError(in_words(str(error), words)) from None


_ENTRY = re.compile(r"(dst|src)\.list: (index|pointer|entries) (\d+)(?: and (\d+))?")


def in_words(message: str, words: Words) -> str:
    """What the core says of entries of tables, and of both sides, in the words of the caller."""
    found = _ENTRY.match(message)
    if found is None:
        return with_names(message, (words.dst, words.src))
    entry = words.dst_entry if found[1] == "dst" else words.src_entry
    named = entry(int(found[3])) + (f" and {entry(int(found[4]))}" if found[4] else "")
    return named + message[found.end() :]


def index_table(
    indices: Any, extent: int, axis: int, missing: bool, framework: Framework, beside: Array, stream: int
) -> Table:
    """The table that `indices` of an axis are. Those that lie in host memory are checked.

    Negative ones count from the end, unless -1 stands for what is `missing`.
    """
    if beside.device != HOST and getattr(indices, "__dlpack_device__", None) is not None:
        found = framework_of(indices).read(indices, "indices")
        if found.device != HOST:
            return _device_table(indices, found, extent, missing, beside)
    return on_device(_host_indices(indices, extent, axis, missing), framework, beside, stream)


def _device_table(indices: Any, found: Array, extent: int, missing: bool, beside: Array) -> Table:
    if found.device != beside.device:
        raise ValueError(f"indices are in {place(found)}, the array in {place(beside)}: both have to be in one")
    _check_kind(found.rank, dtype_name(found.dtype), indices)
    if not missing:
        indices = indices + extent * (indices < 0)
        found = framework_of(indices).read(indices, "indices")
    return table_of(found, "indices")


def table_of(entries: Array, name: str) -> Table:
    """The table that an array is."""
    kinds = {"int32": "i32", "int64": "i64"}
    if entries.rank != 1 or dtype_name(entries.dtype) not in kinds:
        raise TypeError(
            f"{name} has the shape {entries.shape} and the dtype {dtype_name(entries.dtype)}: it has to have one "
            "axis, of int32 or int64"
        )
    if not entries.is_packed():
        raise ValueError(f"{name} is not packed: pass a contiguous one")
    kind = kinds[dtype_name(entries.dtype)]
    return Table(entries.address, kind, entries.shape[0], entries.device, entries.owner)


def _check_kind(rank: int, dtype: str, indices: Any) -> None:
    if rank != 1:
        raise ValueError(f"indices = {shown(indices)} has {rank} axes: it has to have one")
    if re.fullmatch(r"u?int\d+", dtype) is None:
        raise TypeError(f"indices = {shown(indices)} is of dtype {dtype}: it has to be of integers")


def _host_indices(indices: Any, extent: int, axis: int, missing: bool) -> Table:
    numpy = numpy_if_installed()
    if numpy is None:
        raise RuntimeError("indices are read by NumPy, which is not installed")
    if getattr(indices, "is_cuda", False) or hasattr(indices, "__cuda_array_interface__"):
        raise ValueError("indices are on a GPU, the array is in host memory: both have to be in one")
    detach = getattr(indices, "detach", None)
    entries = numpy.asarray(indices if detach is None else detach())
    if entries.size == 0 and not hasattr(indices, "dtype"):
        entries = entries.astype(numpy.int64)
    _check_kind(entries.ndim, str(entries.dtype.newbyteorder("=")), indices)
    least = -1 if missing else -extent
    # Truth values of all entries would take a tenth of the time of moving rows of 64 bytes, or more.
    low, high = (int(entries.min()), int(entries.max())) if entries.size else (0, -1)
    if high >= extent or low < least:
        k = int(((entries >= extent) | (entries < least)).argmax())
        raise ValueError(
            f"indices[{k}] = {entries[k]} is out of range: axis {axis} has the extent {extent}, so that an index is "
            f"{least} to {extent - 1}"
        )
    dtype = numpy.int32 if entries.dtype == numpy.int32 else numpy.int64
    entries = numpy.ascontiguousarray(entries, dtype)
    if not missing and low < 0:
        entries = entries + dtype(extent) * (entries < 0)
    return Table(entries.ctypes.data, "i32" if dtype is numpy.int32 else "i64", entries.size, HOST, entries)


def copy_each(whole: Array, parts: Sequence[Array], reads: bool, framework: Framework, stream: int, names: tuple[str, str]) -> None:
    """Reads whole[k] from parts[k], or writes it there. Parts with equal strides
    and dtypes move in one call.

    `names` are what errors call the whole and the parts.
    """
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for k, part in enumerate(parts):
        steps = tuple([s if n > 1 else 0 for n, s in zip(part.shape, part.strides, strict=True)])
        groups.setdefault((dtype_name(part.dtype), steps), []).append(k)
    for members in groups.values():
        _copy_group(whole, parts, members, reads, framework, stream, names)


def _copy_group(
    whole: Array, parts: Sequence[Array], members: list[int], reads: bool, framework: Framework, stream: int, names: tuple[str, str]
) -> None:
    first, step = members[0], members[1] - members[0] if len(members) > 1 else 1
    address = whole.address + first * whole.strides[0]
    if len(members) == 1:
        one = whole._replace(address=address, shape=whole.shape[1:], strides=whole.strides[1:])
        return _copy_pair(one, parts[first], reads, stream)
    own: _core.TableOf | None = None
    if members == list(range(first, members[-1] + 1, step)):
        strides = (step * whole.strides[0], *whole.strides[1:])
        whole = whole._replace(address=address, shape=(len(members), *whole.shape[1:]), strides=strides)
    else:
        table = on_device(host_table(members, "i64"), framework, whole, stream)
        own = table.along(0, whole.shape[0])
        whole = whole._replace(shape=(len(members), *whole.shape[1:]))
    addresses = [parts[k].address for k in members]
    apart = addresses[1] - addresses[0]
    part = parts[first]._replace(shape=(len(members), *parts[first].shape), strides=(apart, *parts[first].strides))
    low, high = reach(parts[first])
    if own is None and abs(apart) <= high - low and all(b - a == apart for a, b in zip(addresses, addresses[1:])):
        return _copy_pair(whole, part, reads, stream)  # they lie side by side, as one array
    pointers = on_device(host_table(addresses, "pointers"), framework, whole, stream)
    theirs = pointers.along(0, alignment=_alignment(addresses))
    whole_name, part_name = names

    def entry(k: int) -> str:
        return f"{part_name}[{members[k]}]"

    # The caller has checked what is checked of tables, before anything was written.
    if reads:
        copy_listed(whole, own, part, theirs, stream, False, Words(whole_name, part_name, entry, entry))
    else:
        copy_listed(part, theirs, whole, own, stream, False, Words(part_name, whole_name, entry, entry))


def _alignment(addresses: list[int]) -> int:
    """The largest power of two, 16 at most, that divides all of them."""
    low = 16
    for address in addresses:
        low |= address
    return low & -low


def _copy_pair(whole: Array, part: Array, reads: bool, stream: int) -> None:
    dst, src = (whole, part) if reads else (part, whole)
    if dtype_name(dst.dtype) == dtype_name(src.dtype):
        execute(dst, src, stream)
    else:
        convert(dst, src, Values(dtype=dst.dtype), stream)


def check_alike(parts: Sequence[Array], name: str) -> None:
    """Raises unless the arrays of a list have one shape, one dtype and one device."""
    first = parts[0]
    for k, part in enumerate(parts):
        if part.shape != first.shape:
            raise ValueError(f"{name}[{k}].shape = {part.shape} differs from {name}[0].shape = {first.shape}")
        if dtype_name(part.dtype) != dtype_name(first.dtype):
            raise TypeError(
                f"{name}[{k}].dtype = {dtype_name(part.dtype)} differs from {name}[0].dtype = {dtype_name(first.dtype)}"
            )
        if part.device != first.device:
            raise ValueError(f"{name}[{k}] is in {place(part)}, {name}[0] in {place(first)}: both have to be in one")


def check_apart(whole: Array, part: Array, whole_name: str, part_name: str) -> None:
    """Raises where their bounds overlap: what lies between the elements of the one is not looked at."""
    if overlap(whole, part):
        raise ValueError(f"{whole_name} overlaps {part_name} in memory: pass a copy")


def unread(array: Array, shape: tuple[int, ...]) -> Array:
    """An array of this shape in which only the dtype and the device of `array` are of meaning."""
    return array._replace(address=0, shape=shape, strides=tuple([0 for _ in shape]))

