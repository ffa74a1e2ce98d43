"""quantise and dequantise: blocks of 32 values, or whole tensors, that share a scale; and amax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from cornerturn import _blocks, _tensor
from cornerturn._arrays import order_of, shown
from cornerturn._blocks import check_format
from cornerturn._frameworks import framework_of, has_to_be_seen
from cornerturn._options import Dtype
from cornerturn._threads import with_threads

Format = Literal["q8_0", "mxfp8_e4m3", "mxfp8_e5m2", "tensor_e4m3", "tensor_e5m2", "tensor_i8"]


class Both(NamedTuple):
    """The two copies of a matrix that training needs, each with its scales."""

    rows: Any
    row_scales: Any
    columns: Any
    column_scales: Any


def quantise(
    x: Any,
    format: Format = "q8_0",
    axes: Sequence[int] | None = None,
    *,
    axis: int = -1,
    pad: bool = False,
    scale: Literal["floor", "ceil"] = "floor",
    stream: Any = None,
    threads: int | None = None,
) -> Any:
    """Quantises `x`, its axes in the order `axes`, in one pass: in blocks of 32 values that share a
    scale, or with one scale for all values.

    Args:
        x: an array of real numbers of any dtype and any strides, in host memory or on a GPU.
        format: "q8_0", ggml's blocks of a float16 scale and 32 int8, which take 34 bytes; "mxfp8_e4m3"
            or "mxfp8_e5m2", OCP's blocks of a power of two and 32 8-bit floats; "tensor_e4m3",
            "tensor_e5m2" or "tensor_i8", with one scale that follows from the largest magnitude.
        axes: as in `transpose`. None leaves the axes as they are.
        axis: blocks run along this axis of the result.
        pad: pads an extent that is no multiple of 32 with zeros, instead of refusing it.
        scale: of MXFP8, "floor" as in OCP's specification, where the largest value may saturate, or
            "ceil", the least scale with which no value saturates.
        stream: for a GPU, as in `transpose`. With one scale for all values the call waits until the
            GPU has found it, and the stream may not be captured in a graph.
        threads: as in `transpose`.

    Returns:
        q8_0 gives uint8, as `gguf.quantize` does, where the last axis holds 34 bytes for each block.
        (With another `axis`, that axis counts blocks, and a last axis of 34 is added.) MXFP8 gives the
        values, and the scales as E8M0 codes in uint8, which stand for 2**(code - 127), or NaN if the
        code is 255. One scale gives the values, and the scale as a float; x is about values * scale.

    Raises:
        TypeError: `x` is no array of real numbers.
        ValueError: a name is unknown, an axis is out of range, or the extent is no multiple of 32.
        RuntimeError: the stream is being captured, and would have to be waited for.
    """
    if threads is not None:
        options = dict(axis=axis, pad=pad, scale=scale, stream=stream)
        return with_threads(threads, quantise, x, format, axes, **options)
    if format in _tensor.FORMATS and (axis != -1 or pad or scale != "floor"):
        raise ValueError(f"axis, pad and scale belong to blocks: format = {format!r} has none")
    ceil = format not in _tensor.FORMATS and check_format(format, scale, _tensor.FORMATS)
    if stream is None and has_to_be_seen(x):
        from cornerturn import _torch_values

        order = order_of(range(x.dim()) if axes is None else axes, x.dim())
        return _torch_values.quantise(x, format, order, axis, pad, scale)
    if format in _tensor.FORMATS:
        return _tensor.quantise_tensor(x, format, axes, stream)
    return _blocks.quantise_blocks(x, format, axes, axis, pad, ceil, stream)


def dequantise(
    blocks: Any,
    format: Format = "q8_0",
    axes: Sequence[int] | None = None,
    *,
    scales: Any = None,
    dtype: Dtype = "float32",
    stream: Any = None,
    threads: int | None = None,
) -> Any:
    """Computes the numbers of blocks that `quantise` made along the last axis, and permutes them, in
    one pass.

    Args:
        blocks: uint8 in q8_0, or the values of another format.
        format: as in `quantise`.
        axes: the order of the result's axes, as in `transpose`. None leaves the axes as they are.
        scales: the scales of MXFP8, or the one scale of a tensor.
        dtype: the dtype of the result.
        stream: for a GPU, as in `transpose`.
        threads: as in `transpose`.

    Raises:
        TypeError, ValueError: as in `quantise`.
    """
    if threads is not None:
        options = dict(scales=scales, dtype=dtype, stream=stream)
        return with_threads(threads, dequantise, blocks, format, axes, **options)
    if format in _tensor.FORMATS:
        if stream is None and has_to_be_seen(blocks):
            from cornerturn import _torch_values

            scaled = _tensor.dequantised(blocks.dtype, format, scales, dtype)
            order = order_of(range(blocks.dim()) if axes is None else axes, blocks.dim())
            return _torch_values.permute_values(blocks, order, scaled)
        return _tensor.dequantise_tensor(blocks, format, axes, scales, dtype, stream)
    check_format(format, "floor", _tensor.FORMATS)
    if (scales is None) != (format == "q8_0"):
        raise ValueError(f"scales = {shown(scales)}: mxfp8 has them, q8_0 holds its own")
    if stream is None and has_to_be_seen(blocks):
        from cornerturn import _torch_values

        order = order_of(range(blocks.dim()) if axes is None else axes, blocks.dim())
        kind = framework_of(blocks).dtype(dtype)
        return _torch_values.dequantise(blocks, format, order, scales, kind)
    return _blocks.dequantise_blocks(blocks, format, axes, scales, dtype, stream)


def quantise_both(
    x: Any,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2"] = "mxfp8_e4m3",
    *,
    pad: bool = False,
    scale: Literal["floor", "ceil"] = "floor",
    stream: Any = None,
    threads: int | None = None,
) -> Both:
    """Makes MXFP8 of the matrix `x` twice, in one read: with blocks along its rows, and of its
    transpose, with blocks along x's columns. The two products of training with 8-bit types need them.

    Args:
        x: a matrix, as in `quantise`.
        format: "mxfp8_e4m3" or "mxfp8_e5m2".
        pad, scale, stream, threads: as in `quantise`.

    Returns:
        rows, row_scales, columns, column_scales.

    Raises:
        TypeError, ValueError: as in `quantise`.
    """
    if threads is not None:
        options = dict(pad=pad, scale=scale, stream=stream)
        return with_threads(threads, quantise_both, x, format, **options)
    ceil = check_format(format, scale)
    if stream is None and has_to_be_seen(x):
        from cornerturn import _torch_values

        if format == "q8_0" or x.dim() != 2:
            raise ValueError(f"format = {format!r}, x.shape = {tuple(x.shape)}: MXFP8 of a matrix is made")
        return Both(*_torch_values.quantise_both(x, format, pad, scale))
    return Both(*_blocks.quantise_blocks_both(x, format, pad, ceil, stream))


def amax(x: Any, *, stream: Any = None, threads: int | None = None) -> float:
    """Returns the largest magnitude in `x`: NaN where any value is NaN, 0 where there are none.

    Args:
        x: an array of real numbers of any dtype and any strides, in host memory or on a GPU.
        stream: for a GPU, as in `transpose`. The call waits for it, because a number comes back, so
            it may not be captured in a graph.
        threads: as in `transpose`.

    Raises:
        TypeError: `x` is no array of real numbers.
        RuntimeError: the stream is being captured.
    """
    if threads is not None:
        return with_threads(threads, amax, x, stream=stream)
    if stream is None and has_to_be_seen(x):
        from cornerturn import _torch_values

        return _torch_values.amax(x)
    return _tensor.amax(x, stream)
