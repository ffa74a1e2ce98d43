"""Blocks as they are stored, their scales, and blocks of groups, of arrays that are nothing but memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cornerturn import _core
from cornerturn._arrays import dtype_name
from cornerturn._blocks import (
    FORMATS,
    How,
    Shapes,
    order_of_scales,
    quantised_shapes,
    scales_in,
    scales_operand,
    stored_shape,
    units_of,
)
from cornerturn._values import operand
from cornerturn._work import Work, read, result

Empty = Callable[[tuple[int, ...], str], Any]


def transposed_blocks(empty: Empty, shape: Sequence[int], format: str) -> tuple[Any, Any]:
    """Arrays for the transpose of values of this shape."""
    row = FORMATS[format]
    if len(shape) != 2:
        raise ValueError(f"values.shape = {tuple(shape)} has to be that of a matrix")
    lines, count = shape[0], shape[1] * row.of_unit
    scales = (count // row.across, lines // row.along)
    return empty((count, lines // row.of_unit), row.dtype), empty(scales, row.scales or "uint8")


def transpose_stored(values: Any, scales: Any, format: str, stream: Any = None) -> tuple[Any, Any]:
    framework, source = read(values, "values")
    _, codes = read(scales, "scales")
    work = Work(framework, values, source, stream, "values")
    made = transposed_blocks(work.empty, source.shape, format)
    parts = (operand(array) for array in (result(made[0]), result(made[1]), source, codes))
    work.run(_core.transpose_blocks, format, *parts)
    if stream is not None:
        work.uses(scales)
    return made


def converted_scales(empty: Empty, dtype: str, to: str, layout: str, lines: int, count: int) -> Any:
    """An array for the scales in their new layout; `dtype` is that in the old one."""
    return scales_in(empty, (lines, count), to, "uint8" if layout == "packed_4" else dtype)


def convert_stored(scales: Any, to: str, layout: str, lines: int, count: int, stream: Any = None) -> Any:
    framework, source = read(scales, "scales")
    if layout == "tiles_128x4" and not source.is_packed():
        raise ValueError("scales in tiles have to be contiguous")
    work = Work(framework, scales, source, stream, "scales")
    made = converted_scales(work.empty, dtype_name(source.dtype), to, layout, lines, count)
    dst = scales_operand(result(made), to, (lines, count))
    src = scales_operand(source, layout, (lines, count))
    work.run(_core.convert_scales, dst, order_of_scales(to), src, order_of_scales(layout), [lines, count])
    return made


def grouped_arrays(
    empty: Empty, shape: Sequence[int], how: How, sizes: Sequence[int], order: Sequence[int]
) -> tuple[list[Any], Shapes]:
    """Arrays for all groups of a matrix of this shape: the values, and the scales unless they are inside."""
    turned = tuple(order) == (1, 0)
    at = int(turned)  # the axis of the result along which groups follow each other

    def of_group(rows: int) -> Shapes:
        matrix = (shape[1], max(rows, 0)) if turned else (max(rows, 0), shape[1])
        return quantised_shapes(matrix, how._replace(pad=True), 1)

    parts = [of_group(rows) for rows in sizes]
    whole = [list(extents) for extents in of_group(0)]
    tiles = fours = 0
    for part in parts:
        for extents, added in zip(whole, part, strict=True):
            extents[at] += added[at]
        tiles += stored_shape(part.blocks, "tiles_128x4")[0]
        fours += stored_shape(part.blocks, "packed_4")[1]
    shapes = Shapes(*map(tuple, whole))
    values = empty(shapes.values, how.row.dtype)
    if how.row.packed:
        return [values], shapes
    if how.layout == "tiles_128x4":
        return [values, empty((tiles,), how.row.scales)], shapes
    blocks = (shapes.blocks[0], 4 * fours) if how.layout == "packed_4" and turned else shapes.blocks
    return [values, scales_in(empty, blocks, how.layout, how.row.scales)], shapes


def quantise_in_groups(
    x: Any, how: How, sizes: Sequence[int], order: Sequence[int], stream: Any = None
) -> list[Any]:
    framework, source = read(x, "x")
    work = Work(framework, x, source, stream, "x")
    made, shapes = grouped_arrays(work.empty, source.shape, how, sizes, order)
    values = units_of(result(made[0]), how, shapes.units).permuted(order)
    scales = None
    if len(made) > 1:
        stored = result(made[1])
        if how.layout == "tiles_128x4":
            scales = operand(stored._replace(shape=(stored.shape[0] // 512, 512), strides=(512, 1)))
        else:
            scales = operand(stored.permuted(order))
    work.run(
        _core.quantise_groups, how.core(), operand(values), scales, operand(source), list(sizes), 1 - order[0]
    )
    return made
