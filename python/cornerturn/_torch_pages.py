"""PyTorch: relayout_pages, from one pool of pages to another, each page's axes in another order."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from cornerturn._arrays import Array, check_pair, gpu_side, is_across, packed_strides, place, shown
from cornerturn._frameworks import framework_of, stream_for
from cornerturn._listed import Table, Words, check_apart, copy_listed, table_of, unread
from cornerturn._pattern import PatternError, extent_of, measure, sides_of
from cornerturn._threads import with_threads

_PAGES = "n"


def relayout_pages(
    src: Tensor,
    src_table: Tensor | None,
    dst: Tensor,
    dst_table: Tensor | None,
    pattern: str,
    *,
    missing: Literal["zeros", "left"] = "zeros",
    convert: bool = False,
    checked: bool | None = None,
    threads: int | None = None,
    **axes_lengths: int,
) -> None:
    """Copies pages of one pool to pages of another one, and puts the axes in another order, in one pass.

    Page src_table[i] of `src` goes to page dst_table[i] of `dst`.

    Args:
        src: a tensor of any strides, of which one axis counts pages.
        src_table: page numbers in a tensor of int32 or int64 on the same device, in any order and any number of
            times. -1 says that there is no page. None stands for all pages in order.
        dst: a tensor on the same device, which is written to. It does not overlap `src`. Or one of the two lies
            in pinned host memory, and everything else on a GPU: the call waits for the copy then.
        dst_table: page numbers like src_table, of equal length, each at most once. What has the number -1 is left
            out.
        pattern: the axes of `src` and of `dst` in einops' notation, as in `"n p h d -> n h p d"`. The axis called
            n counts pages on both sides. Groups in parentheses split an axis of the tensor on that side.
        missing: what becomes of the page of `dst` whose source is -1: "zeros" fills it with zeros, and "left"
            leaves it as it is.
        convert: lets the dtypes differ, and converts the values.
        checked: None checks page numbers on a CPU, before anything is written. On a GPU they are checked where it
            is True: the call waits for that then, and cannot be captured in a graph. Where they are not checked
            the caller has to know that they are in range and, in dst_table, differ.
        threads: as in `transpose`.
        axes_lengths: the extents of names that do not follow from the two shapes.

    Raises:
        TypeError: an argument is no tensor, or a table is not of int32 or int64, or the dtypes differ.
        ValueError: the pattern does not fit the shapes; a number is out of range, or appears twice in
            dst_table; the tables differ in length, or lie on another device; `dst` overlaps `src`; or one of
            the two requires grad.
    """
    if threads is not None:
        options: dict[str, Any] = dict(missing=missing, convert=convert, checked=checked, **axes_lengths)
        return with_threads(threads, relayout_pages, src, src_table, dst, dst_table, pattern, **options)
    if missing not in ("zeros", "left"):
        raise ValueError(f"missing = {shown(missing)} is neither 'zeros' nor 'left'")
    for name, tensor in (("src", src), ("dst", dst)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} is a {type(tensor).__qualname__}: not a torch.Tensor")
    framework = framework_of(src)
    framework.will_lose_gradient(src, "src")
    framework.will_write(dst, "dst")
    source, target = framework.read(src, "src"), framework.read(dst, "dst")
    source, target, axis = _taken_apart(source, target, pattern, axes_lengths)
    across = is_across(target, source)
    if across:
        _check_pinned(src, dst)
    there = gpu_side(target, source)
    tables = [_table(table, name, there) for table, name in ((src_table, "src_table"), (dst_table, "dst_table"))]
    pages = _common_length(source, target, axis, tables)
    sides = [_pages(side, axis, pages) for side in (source, target)]
    check_pair(
        sides[1], unread(source, sides[1].shape), "dst", "src", "the shape of src", target.dtype if convert else None, True
    )
    check_apart(target, source, "dst", "src")
    lists = [
        None if table is None else table.along(axis, side.shape[axis], missing == "zeros")
        for table, side in zip(tables, (source, target))
    ]
    words = Words("dst", "src", lambda k: f"dst_table[{k}]", lambda k: f"src_table[{k}]")
    stream = stream_for(framework, there.device, None, "src")
    copy_listed(sides[1], lists[1], sides[0], lists[0], stream, checked, words)
    framework.was_written(dst)
    if across and not torch.cuda.is_current_stream_capturing():
        torch.cuda.current_stream(there.device).synchronize()


def _check_pinned(src: Tensor, dst: Tensor) -> None:
    name, host = ("dst", dst) if src.is_cuda else ("src", src)
    if not host.is_pinned():
        raise ValueError(f"{name} is in pageable memory: pages cross to or from a GPU in pinned memory, as pin_memory() makes it")


def _pages(side: Array, axis: int, pages: int) -> Array:
    return side._replace(shape=(*side.shape[:axis], pages, *side.shape[axis + 1 :]))


def _table(table: Any, name: str, beside: Array) -> Table | None:
    if table is None:
        return None
    if not isinstance(table, Tensor):
        raise TypeError(f"{name} is a {type(table).__qualname__}: it has to be a torch.Tensor, or None")
    found = framework_of(table).read(table, name)
    if found.device != beside.device:
        raise ValueError(f"{name} is in {place(found)}, the pages in {place(beside)}: both have to be in one")
    return table_of(found, name)


def _common_length(source: Array, target: Array, axis: int, tables: list[Table | None]) -> int:
    sides = (("src", source), ("dst", target))
    lengths = [side.shape[axis] if table is None else table.length for (_, side), table in zip(sides, tables)]
    if lengths[0] != lengths[1]:
        said = [
            f"{name} has {length} pages" if table is None else f"{name}_table has {length} entries"
            for (name, _), table, length in zip(sides, tables, lengths)
        ]
        raise ValueError(f"{said[0]}, but {said[1]}: each page has one to go to")
    return lengths[0]


def _taken_apart(source: Array, target: Array, pattern: str, axes_lengths: dict[str, int]) -> tuple[Array, Array, int]:
    """Both sides with the axes that the pattern names, in the order of the source, and which of them counts
    pages."""
    if not isinstance(pattern, str):
        raise TypeError(f"pattern = {shown(pattern)} is a {type(pattern).__name__}: it has to be a str")
    known = {name: extent_of(name, value) for name, value in axes_lengths.items()}
    try:
        if _PAGES in known:
            raise PatternError(f"The extent of {_PAGES} follows from the tables")
        left, right = sides_of(pattern, source.rank, tuple(known), False)
        if (_PAGES,) not in left or (_PAGES,) not in right:
            raise PatternError(f"The axis {_PAGES}, which counts pages, has to stand on both sides, in no group")
        if len(right) != target.rank:
            raise PatternError(f"Wrong shape: expected {len(right)} dims of dst. Received {target.rank}-dim tensor.")
        _measure_all([*zip(source.shape, left), *zip(target.shape, right)], known)
    except PatternError as error:
        raise ValueError(
            f'pattern = "{pattern}" does not fit src.shape = {source.shape} and dst.shape = {target.shape}: {error}'
        ) from None
    names = [name for group in left for name in group]
    read, written = _places(source, left, known), _places(target, right, known)
    sides = [
        side._replace(shape=tuple([at[name][0] for name in names]), strides=tuple([at[name][1] for name in names]))
        for side, at in ((source, read), (target, written))
    ]
    return sides[0], sides[1], names.index(_PAGES)


def _measure_all(axes: list[tuple[int, tuple[str, ...]]], known: dict[str, int]) -> None:
    """Finds all extents but that of the pages. A group may tell those of another one."""
    left = [(extent, group) for extent, group in axes if group != (_PAGES,)]
    while left:
        ready = [axis for axis in left if sum(name not in known for name in axis[1]) <= 1]
        for extent, group in ready or left:
            measure(extent, group, known)
        left = [axis for axis in left if axis not in ready]


def _places(
    side: Array, groups: tuple[tuple[str, ...], ...], known: dict[str, int]
) -> dict[str, tuple[int, int]]:
    """The extent and the stride of each axis by its name."""
    found = {}
    for extent, stride, group in zip(side.shape, side.strides, groups, strict=True):
        extents = [extent] if group == (_PAGES,) else [known[name] for name in group]
        found.update(zip(group, zip(extents, packed_strides(extents, stride)), strict=True))
    return found
