"""quantise and dequantise: blocks of 32 values, or whole tensors, that share a scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from cornerturn import _core, _tensor
from cornerturn._arrays import dtype_name, order_of, packed_strides, shown
from cornerturn._frameworks import framework_of
from cornerturn._work import Work, address_of, read

FORMATS = {"q8_0": "uint8", "mxfp8_e4m3": "float8_e4m3fn", "mxfp8_e5m2": "float8_e5m2"}
BLOCK = 32
Q8_BYTES = 34


class Both(NamedTuple):
    """The two copies of a matrix that training needs, each with its scales."""

    rows: Any
    row_scales: Any
    columns: Any
    column_scales: Any


def quantise(
    x: Any,
    format: str = "q8_0",
    axes: Sequence[int] | None = None,
    *,
    axis: int = -1,
    pad: bool = False,
    scale: str = "floor",
    stream: Any = None,
) -> Any:
    """`x`, its axes in the order `axes`, in blocks of 32 values that share a scale, in one pass; or
    all of it with one scale.

    Args:
        x: an array of real numbers of any dtype and any strides, in host memory or on a GPU.
        format: "q8_0" (ggml's: a float16 scale and 32 int8, 34 bytes), "mxfp8_e4m3" or "mxfp8_e5m2"
            (OCP's: a power of two and 32 8-bit floats). With one scale for all values, which
            follows from the largest magnitude: "tensor_e4m3", "tensor_e5m2" or "tensor_i8".
        axes: as in `transpose`; None: as they are.
        axis: blocks run along this axis of the result.
        pad: an extent that is no multiple of 32 is padded with zeros, instead of refused.
        scale: of MXFP8: "floor" as OCP has it, where the largest value may saturate, or "ceil", the
            least with which none does.
        stream: for a GPU, as in `transpose`. With one scale for all values the call waits until the
            GPU has found it; then the stream may not be captured in a graph.

    Returns:
        Of q8_0: uint8, as `gguf.quantize` has it: the last axis holds 34 bytes for each block. (With
        another `axis`, that one counts blocks, and a last axis of 34 is added.)
        Of MXFP8: the values, and the scales as E8M0 codes in uint8: 2**(code - 127), 255 is NaN.
        With one scale: the values, and the scale as a float: x is about values * scale.

    Raises:
        TypeError: `x` is no array of real numbers.
        ValueError: a name is unknown, an axis is out of range, or the extent is no multiple of 32.
        RuntimeError: the stream is being captured, and would have to be waited for.
    """
    if format in _tensor.FORMATS:
        if axis != -1 or pad or scale != "floor":
            raise ValueError(f"axis, pad and scale belong to blocks: format = {format!r} has none")
        return _tensor.quantise_tensor(x, format, axes, stream)
    framework, source = read(x, "x")
    ceil = _check(format, scale, _tensor.FORMATS)
    source = source.permuted(order_of(range(source.rank) if axes is None else axes, source.rank))
    place = _axis(axis, source.rank)
    blocks = -(-source.shape[place] // BLOCK)
    counted = _with(source.shape, place, blocks)
    shape = _with(source.shape, place, blocks * BLOCK)
    if format == "q8_0":
        last = place == source.rank - 1
        shape = _with(counted, place, blocks * Q8_BYTES) if last else (*counted, Q8_BYTES)
    work = Work(framework, x, source, stream, "x")
    values = work.empty(shape, FORMATS[format])
    scales = None if format == "q8_0" else work.empty(counted, "uint8")
    work.run(
        _core.quantise,
        source.address,
        dtype_name(source.dtype),
        source.shape,
        source.strides,
        place,
        format,
        pad,
        ceil,
        source.device,
        work.number,
        address_of(values),
        0 if scales is None else address_of(scales),
    )
    return values if scales is None else (values, scales)


def dequantise(
    blocks: Any,
    format: str = "q8_0",
    axes: Sequence[int] | None = None,
    *,
    scales: Any = None,
    dtype: Any = "float32",
    stream: Any = None,
) -> Any:
    """What `quantise` made with blocks along the last axis, as numbers; then permuted, in one pass.

    Args:
        blocks: uint8 in q8_0, or the values of another format.
        format: as in `quantise`.
        axes: the order of the result's axes, as in `transpose`; None: as they are.
        scales: those of MXFP8, or the one of a tensor.
        dtype: of the result.
        stream: for a GPU, as in `transpose`.

    Raises:
        TypeError, ValueError: as in `quantise`.
    """
    if format in _tensor.FORMATS:
        return _tensor.dequantise_tensor(blocks, format, axes, scales, dtype, stream)
    framework, source = read(blocks, "blocks")
    _check(format, "floor", _tensor.FORMATS)
    if (scales is None) != (format == "q8_0"):
        raise ValueError(f"scales = {shown(scales)}: mxfp8 has them, q8_0 holds its own")
    expected = FORMATS[format]
    if dtype_name(source.dtype) != expected:
        raise TypeError(f"blocks.dtype = {dtype_name(source.dtype)}: {format} is {expected}")
    if source.rank == 0 or not source.is_packed():
        raise ValueError("blocks has to be contiguous, with one axis or more")
    bytes_a_block = Q8_BYTES if format == "q8_0" else BLOCK
    if source.shape[-1] % bytes_a_block:
        raise ValueError(
            f"blocks.shape[-1] = {source.shape[-1]} is no multiple of {bytes_a_block}, a block"
        )
    count = source.shape[-1] // bytes_a_block
    code = None
    if scales is not None:
        _, code = read(scales, "scales")
        if code.shape != (*source.shape[:-1], count) or not code.is_packed():
            raise ValueError(f"scales.shape = {code.shape} has to be {(*source.shape[:-1], count)}")
        if dtype_name(code.dtype) != "uint8":
            raise TypeError(f"scales.dtype = {dtype_name(code.dtype)}: it has to be uint8")
        if code.device != source.device:
            raise ValueError("scales and blocks have to be on one device")
    shape = (*source.shape[:-1], count * BLOCK)
    order = order_of(range(len(shape)) if axes is None else axes, len(shape))
    work = Work(framework, blocks, source, stream, "blocks")
    result = work.empty(tuple(shape[i] for i in order), dtype)
    target = framework_of(result).read(result, "the result")
    packed = packed_strides(target.shape, target.itemsize)
    strides = [0] * len(shape)
    for axis, stride in zip(order, packed, strict=True):
        strides[axis] = stride
    work.run(
        _core.dequantise,
        target.address,
        dtype_name(target.dtype),
        shape,
        strides,
        len(shape) - 1,
        format,
        source.device,
        work.number,
        source.address,
        0 if code is None else code.address,
    )
    if scales is not None:
        work.uses(scales)
    return result


def quantise_both(
    x: Any,
    format: str = "mxfp8_e4m3",
    *,
    pad: bool = False,
    scale: str = "floor",
    stream: Any = None,
) -> Both:
    """The matrix `x` in MXFP8 twice, in one read: with blocks along its rows, and its transpose, with
    blocks along x's columns, as the two products of training with 8-bit types need them.

    Args:
        x: a matrix, as in `quantise`.
        format: "mxfp8_e4m3" or "mxfp8_e5m2".
        pad, scale, stream: as in `quantise`.

    Returns:
        rows, row_scales, columns, column_scales.

    Raises:
        TypeError, ValueError: as in `quantise`.
    """
    framework, source = read(x, "x")
    ceil = _check(format, scale)
    if format == "q8_0" or source.rank != 2:
        raise ValueError(f"format = {format!r}, x.shape = {source.shape}: MXFP8 of a matrix is made")
    rows, columns = source.shape
    across, down = -(-columns // BLOCK), -(-rows // BLOCK)
    element = FORMATS[format]
    work = Work(framework, x, source, stream, "x")
    both = Both(
        work.empty((rows, across * BLOCK), element),
        work.empty((rows, across), "uint8"),
        work.empty((columns, down * BLOCK), element),
        work.empty((columns, down), "uint8"),
    )
    work.run(
        _core.quantise_both,
        source.address,
        dtype_name(source.dtype),
        source.shape,
        source.strides,
        format,
        pad,
        ceil,
        source.device,
        work.number,
        *map(address_of, both),
    )
    return both


def _check(format: str, scale: str, others: Iterable[str] = ()) -> bool:
    if format not in FORMATS:
        raise ValueError(f"format = {shown(format)} is none of {', '.join((*FORMATS, *others))}")
    if scale not in ("floor", "ceil"):
        raise ValueError(f"scale = {shown(scale)} is neither 'floor' nor 'ceil'")
    return scale == "ceil"


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis = {axis} is out of range for rank {rank}")
    return axis % rank


def _with(shape: Sequence[int], axis: int, extent: int) -> tuple[int, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])
