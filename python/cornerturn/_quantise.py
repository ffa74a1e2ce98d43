"""quantise and dequantise: blocks of values, or whole tensors, that share a scale; and amax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from cornerturn import _blocks, _core, _tensor
from cornerturn._arrays import order_of, shown
from cornerturn._blocks import checked as asked_for
from cornerturn._frameworks import framework_of, has_to_be_seen
from cornerturn._options import Dtype
from cornerturn._threads import with_threads

Format = Literal[
    "q8_0", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp8_32x32", "mxfp8_e5m2_32x32", "mxfp4", "nvfp4",
    "fp8_1x128", "fp8_e5m2_1x128", "fp8_128x128", "fp8_e5m2_128x128", "q4_0", "q4_1", "q5_0", "q5_1",
    "iq4_nl", "ggml_mxfp4", "ggml_nvfp4", "tensor_e4m3", "tensor_e5m2", "tensor_i8",
]
ScaleLayout = Literal["packed", "padded", "mn_major", "mn_major_padded", "packed_4", "tiles_128x4"]


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
    indices: Any = None,
    missing: Literal["zeros"] | None = None,
    checked: bool | None = None,
    both: bool = False,
    pad: bool = False,
    scale: Literal["floor", "ceil", "even", "exact"] | None = None,
    scale_layout: ScaleLayout | None = None,
    tensor_scale: float | None = None,
    seed: int | None = None,
    stream: Any = None,
    threads: int | None = None,
) -> Any:
    """Quantises `x`, its axes in the order `axes`, in one pass: in blocks of values that share a scale, or
    with one scale for all values.

    Args:
        x: an array of real numbers of any dtype and any strides, in host memory or on a GPU.
        format: a format of blocks: "q8_0" and ggml's others, "mxfp8_e4m3", "fp8_1x128", "fp8_128x128",
            "nvfp4" ... The page of casts lists them. Or "tensor_e4m3", "tensor_e5m2" or "tensor_i8", with
            one scale that follows from the largest magnitude.
        axes: as in `transpose`. None leaves the axes as they are.
        axis: blocks run along this axis of the result.
        indices: takes the entries of axis 0 of `x` that they name, in their order, as `take` does: rows of
            experts. On a GPU it makes 8-bit floats of matrices of float32, float16 or bfloat16.
        missing: None lets negative indices count from the end. "zeros" makes blocks of zeros for -1.
        checked: as in `take`.
        both: makes both copies of a matrix that training needs, as `quantise_both` does.
        pad: pads an extent that is no multiple of a block with zeros, instead of refusing it.
        scale: how the scale follows from the largest magnitude. Powers of two may be "floor", as in OCP's
            specification, where the largest value may saturate, "ceil", the least scale with which no value
            saturates, or "even". Scales in float32 are "exact", or with "ceil" powers of two. None is
            "floor" or "exact", as the format has it; ggml's formats take nothing else.
        scale_layout: how the scales lie: "packed", "padded" to rows of a multiple of four, "mn_major" with
            stride 1 along the lines, "mn_major_padded" to a multiple of four lines, "packed_4", where four
            powers of two are one int32, or "tiles_128x4", as cuBLAS reads them. None is "mn_major" for
            "fp8_1x128" and "fp8_e5m2_1x128" along rows, as `torch._scaled_mm` takes it, else "packed".
        tensor_scale: nvfp4 alone has it: 448 * 6 / the largest magnitude of the tensor. None finds it in one more pass.
        seed: rounds stochastically, with this seed. None rounds to the nearest value.
        stream: for a GPU, as in `transpose`. Where the largest magnitude of all has to be found, the call
            waits for the GPU, and the stream may not be captured in a graph.
        threads: as in `transpose`.

    Returns:
        Blocks whose scale is inside give uint8, as `gguf.quantize` does, where the last axis holds the bytes
        of each block. (With another `axis`, that axis counts blocks, and a last axis of a block's bytes is
        added.) All others give the values and the scales: float32, or bytes, where uint8 holds E8M0 codes,
        which stand for 2**(code - 127) or NaN if the code is 255, and of nvfp4 those of float8_e4m3fn.
        Values of 4 bits are bytes, the first one in the lower half. nvfp4 gives the scale of the tensor as
        well. One scale gives the values, and the scale as a float; x is about values * scale.

    Raises:
        TypeError: `x` is no array of real numbers.
        ValueError: a name or an index is unknown, an axis is out of range, or the extent is no multiple of a
            block.
        RuntimeError: the stream is being captured, and would have to be waited for; or a GPU has no kernel
            for the format.
    """
    if threads is not None:
        options = dict(axis=axis, both=both, pad=pad, scale=scale, scale_layout=scale_layout)
        options.update(indices=indices, missing=missing, checked=checked)
        options.update(tensor_scale=tensor_scale, seed=seed, stream=stream)
        return with_threads(threads, quantise, x, format, axes, **options)
    if both:
        if axes is not None or axis != -1:
            raise ValueError("both = True takes neither axes nor axis: both copies of the matrix are made")
        options = dict(pad=pad, scale=scale, scale_layout=scale_layout, tensor_scale=tensor_scale)
        options.update(indices=indices, missing=missing, checked=checked)
        return quantise_both(x, format, **options, seed=seed, stream=stream)
    rows = _rows(indices, missing, checked)
    if format in _tensor.FORMATS:
        asked = (scale_layout, tensor_scale, seed)
        if rows is not None:
            raise ValueError(f"indices belong to blocks: format = {format!r} has none")
        if axis != -1 or pad or scale not in (None, "floor") or asked != (None, None, None):
            raise ValueError(
                "axis, pad, scale, scale_layout, tensor_scale and seed belong to blocks: "
                f"format = {format!r} has none"
            )
        if stream is None and has_to_be_seen(x):
            from cornerturn import _torch_values

            return _torch_values.quantise_tensor(x, format, order_of(range(x.dim()) if axes is None else axes, x.dim()))
        return _tensor.quantise_tensor(x, format, axes, stream)
    how = asked_for(format, pad, scale, scale_layout, tensor_scale, seed, _tensor.FORMATS)
    if format == "nvfp4" and tensor_scale is None:
        if rows is not None:
            raise ValueError("tensor_scale = None: with indices it has to be given, nvfp4_tensor_scale() of what they name")
        how = how._replace(tensor_scale=_tensor_scale_of(amax(x, stream=stream)))
    if stream is None and has_to_be_seen(x):
        from cornerturn import _torch_values

        x = _chosen(x, rows)
        order = order_of(range(x.dim()) if axes is None else axes, x.dim())
        found = _torch_values.quantise(x, how, order, axis)
    else:
        found = _blocks.quantise_blocks(x, how, axes, axis, stream, rows)
    if format == "nvfp4":
        return (*found, how.tensor_scale)
    return found[0] if len(found) == 1 else tuple(found)


def _rows(indices: Any, missing: Any, checked: bool | None) -> _blocks.Rows | None:
    if missing not in (None, "zeros"):
        raise ValueError(f"missing = {shown(missing)} is none of None, 'zeros'")
    if indices is None and missing is not None:
        raise ValueError(f"missing = {missing!r}, but there are no indices")
    if indices is None and checked is not None:
        raise ValueError(f"checked = {shown(checked)}, but there are no indices")
    return None if indices is None else _blocks.Rows(indices, missing is not None, checked)


def _chosen(x: Any, rows: _blocks.Rows | None) -> Any:
    """Of a tensor that PyTorch has to see: its own function takes the rows."""
    return x if rows is None else framework_of(x).taken(x, rows.indices, 0, rows.missing)


def dequantise(
    blocks: Any,
    format: Format = "q8_0",
    axes: Sequence[int] | None = None,
    *,
    scales: Any = None,
    scale_layout: ScaleLayout | None = None,
    tensor_scale: float | None = None,
    dtype: Dtype = "float32",
    stream: Any = None,
    threads: int | None = None,
) -> Any:
    """Computes the numbers of blocks that `quantise` made along the last axis, and permutes them, in
    one pass.

    Args:
        blocks: uint8 where the scales are inside the blocks, or the values of another format.
        format: as in `quantise`.
        axes: the order of the result's axes, as in `transpose`. None leaves the axes as they are.
        scales: the scales of blocks, in any strides, or the one scale of a tensor.
        scale_layout: of the scales, where it is "packed_4" or "tiles_128x4".
        tensor_scale: of nvfp4, as `quantise` returned it.
        dtype: the dtype of the result.
        stream: for a GPU, as in `transpose`.
        threads: as in `transpose`.

    Raises:
        TypeError, ValueError, RuntimeError: as in `quantise`.
    """
    if threads is not None:
        options = dict(scales=scales, scale_layout=scale_layout, tensor_scale=tensor_scale, dtype=dtype)
        return with_threads(threads, dequantise, blocks, format, axes, **options, stream=stream)
    if format in _tensor.FORMATS:
        if stream is None and has_to_be_seen(blocks):
            from cornerturn import _torch_values

            scaled = _tensor.dequantised(blocks.dtype, format, scales, dtype)
            order = order_of(range(blocks.dim()) if axes is None else axes, blocks.dim())
            return _torch_values.permute_values(blocks, order, scaled)
        return _tensor.dequantise_tensor(blocks, format, axes, scales, dtype, stream)
    how = asked_for(format, False, None, scale_layout, tensor_scale, None, _tensor.FORMATS)
    if (scales is None) != how.row.packed:
        rule = "the scales are inside the blocks" if how.row.packed else "they have to be given"
        raise ValueError(f"scales = {shown(scales)}: of {format} {rule}")
    if format == "nvfp4" and tensor_scale is None:
        raise ValueError("tensor_scale = None: of nvfp4 it has to be given, as quantise returned it")
    if stream is None and has_to_be_seen(blocks):
        from cornerturn import _torch_values

        order = order_of(range(blocks.dim()) if axes is None else axes, blocks.dim())
        kind = framework_of(blocks).dtype(dtype)
        return _torch_values.dequantise(blocks, how, order, scales, kind)
    return _blocks.dequantise_blocks(blocks, how, axes, scales, dtype, stream)


def quantise_both(
    x: Any,
    format: Format = "mxfp8_e4m3",
    *,
    indices: Any = None,
    missing: Literal["zeros"] | None = None,
    checked: bool | None = None,
    pad: bool = False,
    scale: Literal["floor", "ceil", "even", "exact"] | None = None,
    scale_layout: ScaleLayout | None = None,
    tensor_scale: float | None = None,
    seed: int | None = None,
    stream: Any = None,
    threads: int | None = None,
) -> Both:
    """Makes blocks of the matrix `x` twice, in one read: along its rows, and of its transpose along x's
    columns. The two products of training with types of 8 and 4 bits need them.

    Args:
        x: a matrix, as in `quantise`.
        format: a format with an array of scales.
        indices, missing, checked, pad, scale, scale_layout, seed, stream, threads: as in `quantise`.
        tensor_scale: of nvfp4, which has to be given: `nvfp4_tensor_scale(x)`.

    Returns:
        rows, row_scales, columns, column_scales.

    Raises:
        TypeError, ValueError, RuntimeError: as in `quantise`.
    """
    if threads is not None:
        options = dict(pad=pad, scale=scale, scale_layout=scale_layout, tensor_scale=tensor_scale)
        options.update(indices=indices, missing=missing, checked=checked)
        return with_threads(threads, quantise_both, x, format, **options, seed=seed, stream=stream)
    rows = _rows(indices, missing, checked)
    how = asked_for(format, pad, scale, scale_layout, tensor_scale, seed)
    if format == "nvfp4" and tensor_scale is None:
        raise ValueError("tensor_scale = None: both copies of nvfp4 share one, nvfp4_tensor_scale(x)")
    if stream is None and has_to_be_seen(x):
        from cornerturn import _torch_values

        x = _chosen(x, rows)
        _blocks.check_both(how, x.shape)
        return Both(*_torch_values.quantise_both(x, how))
    return Both(*_blocks.quantise_blocks_both(x, how, stream, rows))


def nvfp4_tensor_scale(x: Any, *, stream: Any = None, threads: int | None = None) -> float:
    """Returns 448 * 6 / the largest magnitude in `x`, in float32: the scale of the tensor in nvfp4. It is 1 for
    zeros alone and NaN where any value is NaN; an infinity counts as the largest number.

    Args:
        x, stream, threads: as in `amax`.

    Raises:
        TypeError, RuntimeError: as in `amax`.
    """
    return _tensor_scale_of(amax(x, stream=stream, threads=threads))


def _tensor_scale_of(largest: float) -> float:
    return _core.nvfp4_tensor_scale(largest)


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
