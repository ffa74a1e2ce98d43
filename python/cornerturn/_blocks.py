"""quantise and dequantise: blocks of 32 values, or whole tensors, that share a scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cornerturn import _core
from cornerturn._arrays import Array, axis_error, dtype_name, order_of, packed_strides, shown
from cornerturn._values import operand
from cornerturn._work import Work, read, result

FORMATS = {"q8_0": "uint8", "mxfp8_e4m3": "float8_e4m3fn", "mxfp8_e5m2": "float8_e5m2"}
BLOCK = 32
Q8_BYTES = 34


def quantise_blocks(
    x: Any,
    format: str,
    axes: Sequence[int] | None,
    axis: int,
    pad: bool,
    ceil: bool,
    stream: Any = None,
) -> Any:
    """`quantise` in blocks, of an array that is nothing but memory."""
    framework, source = read(x, "x")
    source = source.permuted(order_of(range(source.rank) if axes is None else axes, source.rank))
    place = _axis(axis, source.rank)
    shape, counted = quantised_shapes(source.shape, format, place, pad)
    work = Work(framework, x, source, stream, "x")
    values = work.empty(shape, FORMATS[format])
    scales = None if format == "q8_0" else work.empty(counted, "uint8")
    made = result(values)
    work.run(
        _core.quantise,
        _q8_blocks(made, counted) if scales is None else operand(made),
        None if scales is None else operand(result(scales)),
        operand(source),
        place,
        pad=pad,
        ceil=ceil,
    )
    return values if scales is None else (values, scales)


def dequantise_blocks(
    blocks: Any, format: str, axes: Sequence[int] | None, scales: Any, dtype: Any, stream: Any = None
) -> Any:
    """`dequantise` of blocks that are nothing but memory."""
    framework, source = read(blocks, "blocks")
    expected = FORMATS[format]
    if dtype_name(source.dtype) != expected:
        raise TypeError(f"blocks.dtype = {dtype_name(source.dtype)}: {format} is {expected}")
    if source.rank == 0 or not source.is_packed():
        raise ValueError("blocks has to be contiguous, with one axis or more")
    shape = dequantised_shape(source.shape, format)
    count = shape[-1] // BLOCK
    code = None
    if scales is not None:
        _, code = read(scales, "scales")
        if code.shape != (*source.shape[:-1], count) or not code.is_packed():
            raise ValueError(f"scales.shape = {code.shape} has to be {(*source.shape[:-1], count)}")
        if dtype_name(code.dtype) != "uint8":
            raise TypeError(f"scales.dtype = {dtype_name(code.dtype)}: it has to be uint8")
        if code.device != source.device:
            raise ValueError("scales and blocks have to be on one device")
    order = order_of(range(len(shape)) if axes is None else axes, len(shape))
    work = Work(framework, blocks, source, stream, "blocks")
    numbers = work.empty(tuple(shape[i] for i in order), dtype)
    target = result(numbers)
    packed = packed_strides(target.shape, target.itemsize)
    strides = [0] * len(shape)
    for axis, stride in zip(order, packed, strict=True):
        strides[axis] = stride
    work.run(
        _core.dequantise,
        operand(target._replace(shape=shape, strides=tuple(strides))),
        _q8_blocks(source, (*source.shape[:-1], count)) if code is None else operand(source),
        None if code is None else operand(code),
        len(shape) - 1,
    )
    if scales is not None:
        work.uses(scales)
    return numbers


def quantise_blocks_both(x: Any, format: str, pad: bool, ceil: bool, stream: Any = None) -> list[Any]:
    """`quantise_both` of a matrix that is nothing but memory."""
    framework, source = read(x, "x")
    if format == "q8_0" or source.rank != 2:
        raise ValueError(f"format = {format!r}, x.shape = {source.shape}: MXFP8 of a matrix is made")
    rows, columns = source.shape
    across, down = -(-columns // BLOCK), -(-rows // BLOCK)
    element = FORMATS[format]
    work = Work(framework, x, source, stream, "x")
    both = [
        work.empty((rows, across * BLOCK), element),
        work.empty((rows, across), "uint8"),
        work.empty((columns, down * BLOCK), element),
        work.empty((columns, down), "uint8"),
    ]
    work.run(
        _core.quantise_both, *(operand(result(each)) for each in both), operand(source), pad=pad, ceil=ceil
    )
    return both


def quantised_shapes(
    shape: tuple[int, ...], format: str, axis: int, pad: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of what comes out for values of this shape, and of their blocks, which is that of the scales."""
    place = _axis(axis, len(shape))
    blocks = -(-shape[place] // BLOCK)
    if not pad and shape[place] % BLOCK != 0:
        raise ValueError(
            f"blocks would run along an axis of {shape[place]} values, which is no multiple of {BLOCK}: "
            "pad=True adds zeros"
        )
    counted = _with(shape, place, blocks)
    if format != "q8_0":
        return _with(shape, place, blocks * BLOCK), counted
    last = place == len(shape) - 1
    return (_with(counted, place, blocks * Q8_BYTES) if last else (*counted, Q8_BYTES)), counted


def dequantised_shape(shape: tuple[int, ...], format: str) -> tuple[int, ...]:
    """The shape of the values of packed blocks, before they are permuted."""
    bytes_a_block = Q8_BYTES if format == "q8_0" else BLOCK
    if shape[-1] % bytes_a_block:
        raise ValueError(
            f"blocks.shape[-1] = {shape[-1]} is no multiple of {bytes_a_block}, a block"
        )
    return (*shape[:-1], shape[-1] // bytes_a_block * BLOCK)


def _q8_blocks(array: Array, counted: tuple[int, ...]) -> _core.Operand:
    """The bytes of packed blocks as `counted` elements of a whole block each."""
    blocks = array._replace(dtype=f"b{Q8_BYTES}", shape=counted)
    return operand(blocks._replace(strides=packed_strides(counted, Q8_BYTES)))


def check_format(format: str, scale: str, others: Iterable[str] = ()) -> bool:
    if format not in FORMATS:
        raise ValueError(f"format = {shown(format)} is none of {', '.join((*FORMATS, *others))}")
    if scale not in ("floor", "ceil"):
        raise ValueError(f"scale = {shown(scale)} is neither 'floor' nor 'ceil'")
    return scale == "ceil"


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise axis_error(f"axis = {axis} is out of range for rank {rank}")
    return axis % rank


def _with(shape: Sequence[int], axis: int, extent: int) -> tuple[int, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])
