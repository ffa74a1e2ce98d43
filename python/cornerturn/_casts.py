"""Blocks that are already there, transposed as they are stored; scales in another layout; blocks of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from cornerturn._arrays import order_of, shown
from cornerturn._blocks import FORMATS, LAYOUTS, checked, order_of_scales, stored_shape
from cornerturn._frameworks import has_to_be_seen
from cornerturn._quantise import Format, ScaleLayout, _tensor_scale_of, amax
from cornerturn._stored import convert_stored, quantise_in_groups, transpose_stored


def transpose_blocks(values: Any, scales: Any, format: Format, *, stream: Any = None) -> tuple[Any, Any]:
    """Transposes a matrix of blocks as it is stored: nothing is rounded, every value stays what it is.

    Args:
        values, scales: as `quantise` made them along the last axis, in any strides.
        format: a format with an array of scales. Square blocks, "fp8_128x128" or "mxfp8_32x32", move. Where each
            line has scales of its own, a square of blocks takes the largest of its scales, and codes change. Equal
            scales always allow that, and powers of two where no value becomes too small for its type.
        stream: for a GPU, as in `transpose`. It takes square blocks alone.

    Returns:
        The values and the scales of the transpose, both packed.

    Raises:
        ValueError: the format has no array of scales, or the shapes are not those of a matrix of whole blocks.
        RuntimeError: a value cannot stay what it is.
    """
    if format not in FORMATS:
        raise ValueError(f"format = {shown(format)} is none of {', '.join(FORMATS)}")
    if stream is None and has_to_be_seen(values):
        from cornerturn import _torch_values

        return _torch_values.transpose_blocks(values, scales, format)
    return transpose_stored(values, scales, format, stream)


def convert_scales(
    scales: Any,
    to: ScaleLayout,
    *,
    layout: ScaleLayout = "packed",
    shape: tuple[int, int] | None = None,
    stream: Any = None,
) -> Any:
    """Brings scales of a matrix to another layout, as `quantise` would have made them in it.

    Args:
        scales: an array as `quantise` made it.
        to: the new layout, one of those of `quantise`.
        layout: the layout that the scales are in. "packed" stands for any strides.
        shape: how many lines there are, and how many scales a line has. It has to be given for "packed_4" and
            "tiles_128x4", in which it cannot be seen.
        stream: for a GPU, as in `transpose`.

    Raises:
        ValueError: a name is unknown, the shape is missing or does not fit, or the scales are not bytes where the
            layout is for bytes.
    """
    for name, given in (("to", to), ("layout", layout)):
        if given not in LAYOUTS:
            raise ValueError(f"{name} = {shown(given)} is none of {', '.join(map(repr, LAYOUTS))}")
    if shape is None:
        if order_of_scales(layout):
            raise ValueError(f"shape = None: scales in {layout!r} do not tell how many there are")
        if len(scales.shape) != 2:
            raise ValueError(f"scales.shape = {tuple(scales.shape)} has to be that of a matrix")
        shape = tuple(scales.shape)
    lines, count = map(int, shape)
    expected = stored_shape((lines, count), layout)
    if tuple(scales.shape) != expected:
        raise ValueError(f"scales.shape = {tuple(scales.shape)} has to be {expected}")
    if order_of_scales(to) and not order_of_scales(layout) and scales.itemsize != 1:
        raise ValueError(f"to = {to!r}: scales of {scales.itemsize} bytes each, not bytes")
    if stream is None and has_to_be_seen(scales):
        from cornerturn import _torch_values

        return _torch_values.convert_scales(scales, to, layout, lines, count)
    return convert_stored(scales, to, layout, lines, count, stream)


def quantise_groups(
    x: Any,
    sizes: Sequence[int],
    format: Format = "mxfp8_e4m3",
    axes: Sequence[int] | None = None,
    *,
    pad: bool = False,
    scale: Literal["floor", "ceil", "even", "exact"] | None = None,
    scale_layout: ScaleLayout | None = None,
    tensor_scale: float | None = None,
    seed: int | None = None,
    stream: Any = None,
) -> Any:
    """Quantises a matrix whose rows are groups (those of experts), one after the other. Every group becomes what
    `quantise` makes of it alone, so that no block reaches from a group into the next.

    Args:
        x: a matrix of real numbers, of any dtype and any strides.
        sizes: how many rows each group has.
        format: a format of blocks, as in `quantise`.
        axes: None, or (1, 0) for the transpose, where blocks run along the rows of x.
        pad: pads each group to whole blocks.
        scale, tensor_scale, seed, stream: as in `quantise`. nvfp4 has one scale for all groups.
        scale_layout: as in `quantise`. In "tiles_128x4" and, of the transpose, in "packed_4", the scales of each group
            are filled up by themselves.

    Returns:
        As `quantise`: the groups follow each other in the values and in the scales.

    Raises:
        TypeError, ValueError, RuntimeError: as in `quantise`; or the sizes are not those of all rows.
    """
    how = checked(format, pad, scale, scale_layout, tensor_scale, seed)
    order = (0, 1) if axes is None else order_of(axes, 2)
    if len(x.shape) != 2:
        raise ValueError(f"x.shape = {tuple(x.shape)} has to be that of a matrix")
    if format == "nvfp4" and tensor_scale is None:
        how = how._replace(tensor_scale=_tensor_scale_of(amax(x, stream=stream)))
    how = how.of_shape(2, 1)
    rows = [int(size) for size in sizes]
    if stream is None and has_to_be_seen(x):
        from cornerturn import _torch_values

        found = _torch_values.quantise_groups(x, how, rows, order)
    else:
        found = quantise_in_groups(x, how, rows, order, stream)
    if format == "nvfp4":
        return (*found, how.tensor_scale)
    return found[0] if len(found) == 1 else tuple(found)
