"""Blocks that are already there: transposed without their values, and scales in another layout."""

from __future__ import annotations

from typing import Any

from cornerturn._arrays import shown
from cornerturn._blocks import FORMATS, LAYOUTS
from cornerturn._operations import transpose


def transpose_blocks(values: Any, scales: Any, format: str, *, stream: Any = None) -> tuple[Any, Any]:
    """Transposes a matrix of square blocks, "fp8_128x128" or "mxfp8_32x32", as it is stored: its values and
    its scales move, and nothing is rounded again.

    Args:
        values, scales: as `quantise` made them, in any strides.
        format: a format whose blocks are as high as they are long. All others are refused: the lines of the
            transpose would need scales of their own.
        stream: for a GPU, as in `transpose`.

    Returns:
        The values and the scales of the transpose, both packed.

    Raises:
        ValueError: the format has no square blocks, or the shapes are not those of a matrix in it.
    """
    if format not in FORMATS:
        raise ValueError(f"format = {shown(format)} is none of {', '.join(FORMATS)}")
    row = FORMATS[format]
    if row.across != row.along:
        raise ValueError(
            f"format = {format!r}: each line has scales of its own, which do not suit the transpose; dequantise, "
            "and quantise the transpose"
        )
    expected = tuple(-(-extent // row.along) for extent in values.shape)
    if len(expected) != 2 or tuple(scales.shape) != expected:
        raise ValueError(
            f"scales.shape = {tuple(scales.shape)} has to be {expected}, and values.shape = {tuple(values.shape)} "
            "that of a matrix"
        )
    return transpose(values, stream=stream), transpose(scales, stream=stream)


def convert_scales(
    scales: Any,
    to: str,
    *,
    layout: str = "packed",
    shape: tuple[int, int] | None = None,
) -> Any:
    """Brings scales of a matrix to another layout, as `quantise` would have made them in it.

    Args:
        scales: a NumPy array or a tensor of PyTorch, as `quantise` made it.
        to: the new layout, one of those of `quantise`.
        layout: the layout that the scales are in. "packed" stands for any strides.
        shape: how many lines there are, and how many scales a line has. It has to be given for "packed_4" and
            "tiles_128x4", in which it cannot be seen.

    Raises:
        ValueError: a name is unknown, the shape is missing or does not fit, or the scales are not bytes where the
            layout is for bytes.
    """
    for name, given in (("to", to), ("layout", layout)):
        if given not in LAYOUTS:
            raise ValueError(f"{name} = {shown(given)} is none of {', '.join(map(repr, LAYOUTS))}")
    if shape is None:
        if layout in ("packed_4", "tiles_128x4"):
            raise ValueError(f"shape = None: scales in {layout!r} do not tell how many there are")
        if len(scales.shape) != 2:
            raise ValueError(f"scales.shape = {tuple(scales.shape)} has to be that of a matrix")
        shape = (int(scales.shape[0]), int(scales.shape[1]))
    lines, count = shape
    whole = (_up(lines, 128), _up(count, 4))
    if layout == "tiles_128x4":
        _check(scales, "scales.shape", (whole[0] * whole[1],))
        tiles = scales.reshape(whole[0] // 128, whole[1] // 4, 32, 4, 4)
        scales = transpose(tiles, (0, 3, 2, 1, 4)).reshape(whole)[:lines, :count]
    elif layout == "packed_4":
        _check(scales, "scales.shape", (lines, whole[1] // 4))
        scales = transpose(scales, (0, 1)).view(_named(scales, "uint8"))[:, :count]
    _check(scales, "scales.shape", (lines, count))
    if to in ("tiles_128x4", "packed_4") and _itemsize(scales) != 1:
        raise ValueError(f"to = {to!r}: scales of {_itemsize(scales)} bytes each, not bytes")
    if to == "tiles_128x4":
        filled = _filled(scales, whole).reshape(whole[0] // 128, 4, 32, whole[1] // 4, 4)
        return transpose(filled, (0, 3, 2, 1, 4)).reshape(-1)
    if to == "packed_4":
        ints = _filled(scales, (_up(lines, 4), whole[1])).view(_named(scales, "int32"))
        return transpose(ints).swapaxes(0, 1)[:lines]
    if to == "padded":
        return _filled(scales, (lines, whole[1]))[:, :count]
    if to in ("mn_major", "mn_major_padded"):
        pitch = lines if to == "mn_major" else _up(lines, 4)
        return transpose(_filled(scales, (pitch, count))).swapaxes(0, 1)[:lines]
    return transpose(scales, (0, 1))


def _filled(scales: Any, shape: tuple[int, int]) -> Any:
    """The scales at the beginning of an array of zeros, or as they are where they fill it."""
    if tuple(scales.shape) == shape:
        return transpose(scales, (0, 1))
    if hasattr(scales, "new_zeros"):
        whole = scales.new_zeros(shape)
    else:
        import numpy

        whole = numpy.zeros(shape, scales.dtype)
    whole[: scales.shape[0], : scales.shape[1]] = scales
    return whole


def _check(scales: Any, name: str, expected: tuple[int, ...]) -> None:
    if tuple(scales.shape) != expected:
        raise ValueError(f"{name} = {tuple(scales.shape)} has to be {expected}")


def _named(scales: Any, dtype: str) -> Any:
    if not hasattr(scales, "new_zeros"):
        return dtype
    import torch

    return getattr(torch, dtype)


def _itemsize(scales: Any) -> int:
    return int(scales.itemsize)


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
