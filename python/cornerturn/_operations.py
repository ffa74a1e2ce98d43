"""transpose, contiguous and copy."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cornerturn import _core
from cornerturn._arrays import (
    HOST,
    Array,
    check_pair,
    dtype_name,
    execute,
    order_of,
    packed_strides,
    shown,
)
from cornerturn._frameworks import Framework, framework_of, permute_tensor, stream_number
from cornerturn._values import Values, changes, numpy_dtype, only_dtype, transpose_values

_quick_transpose = _core.quick_transpose
_quick_convert = _core.quick_convert
_IN_ORDER = tuple([tuple(range(rank)) for rank in range(65)])


def transpose(
    x: Any,
    axes: Sequence[int] | None = None,
    *,
    out: Any = None,
    stream: Any = None,
    dtype: Any = None,
    alpha: float = 1.0,
    scale: Any = None,
    bias: Any = None,
    beta: float = 0.0,
    conjugate: bool = False,
    saturate: bool = False,
    rounding: str = "nearest",
    seed: int = 0,
) -> Any:
    """`x` with its axes in the order `axes`, packed: `numpy.transpose` made contiguous.

    Args:
        x: an array of any shape, strides and dtype (see the module's documentation), rank up to 64.
        axes: names each axis once; negative numbers count from the end. None: reversed.
        out: an array of the result's shape and of x's dtype, on x's device, with any strides, that
            does not overlap `x`; it is written to and returned. None: a new packed array.
        stream: for a GPU, the stream to work on: a cudaStream_t as an integer, or a stream of
            PyTorch, CuPy or Numba. None: the current stream of x's framework.
        dtype: the result's elements, as a dtype or its name ("bfloat16", "float8_e4m3fn"); values
            are converted on the way, rounded once. None: x's dtype.
        alpha, scale, bias, beta: result = alpha * scale * x + bias + beta * out. scale and bias are
            a number, or a float32 array on x's device that broadcasts against the result along one
            axis; with a beta other than 0, `out` is read as well.
        conjugate: of complex values, first of all.
        saturate: what lies beyond the dtype's range becomes its largest finite value, instead of
            wrapping or becoming infinite.
        rounding: "nearest" (ties to even; to integers towards zero) or "stochastic", with random
            bits that depend on `seed` and on an element's place alone.

    Returns:
        The result, with `result.shape[i] = x.shape[axes[i]]`. PyTorch tensors keep their gradient.

    Raises:
        TypeError: `x` or `out` is no array, holds references, or their dtypes differ.
        ValueError: `axes` is no permutation; `out` has another shape or device, is read-only or
            overlaps `x`; `out` is given for a tensor that requires grad; `stream` for host memory.

    Example:
        >>> cornerturn.transpose(numpy.arange(6).reshape(2, 3))
        array([[0, 3],
               [1, 4],
               [2, 5]])
    """
    values = Values(dtype, alpha, scale, bias, beta, conjugate, saturate, rounding, seed)
    if stream is None and only_dtype(values):
        known = numpy_dtype(dtype)
        result = None if known is None else _quick_convert(x, axes, out, known)
        if result is not None:
            return result
    if changes(values):
        return transpose_values(x, axes, out, stream, values)
    if stream is None:
        if out is None and _is_traced(x):
            return permute_tensor(x, order_of(axes, x.dim()))
        result = _quick_transpose(x, axes, out)
        if result is not None:
            return result
    framework = framework_of(x)
    if out is None and stream is None and framework.permute is not None:
        return framework.permute(x, order_of(axes, x.ndim))
    source = framework.read(x, "x")
    source = source.permuted(order_of(axes, source.rank))
    if out is None:
        return new_array(framework, x, source, source.shape, stream, "x")
    return fill(out, framework, x, source, stream)


def contiguous(view: Any, *, stream: Any = None, dtype: Any = None) -> Any:
    """`view` packed, last axis fastest: itself if it is so already, else a new array.

    As `numpy.ascontiguousarray` and `torch.Tensor.contiguous`.

    Args:
        view: an array as in `transpose`.
        stream: as in `transpose`.
        dtype: as in `transpose`; a new array is made even where it is the dtype of `view`.

    Raises:
        TypeError, ValueError: as in `transpose`.
    """
    framework = framework_of(view)
    if dtype is not None:
        rank = framework.read(view, "view").rank
        return transpose_values(view, range(rank), None, stream, Values(dtype))
    if stream is None and framework.splits_to_views(view):
        return view if framework.is_packed(view) else transpose(view, tuple(range(view.ndim)))
    source = framework.read(view, "view")
    if source.is_packed() and source.owner is view:
        return view
    return new_array(framework, view, source, source.shape, stream, "view")


def copy(
    dst: Any,
    src: Any,
    *,
    stream: Any = None,
    convert: bool = False,
    alpha: float = 1.0,
    scale: Any = None,
    bias: Any = None,
    beta: float = 0.0,
    conjugate: bool = False,
    saturate: bool = False,
    rounding: str = "nearest",
    seed: int = 0,
) -> None:
    """dst[i] = src[i] for every index i, whatever the strides of the two are.

    Args:
        dst: an array that can be written to, with strides that write no element twice.
        src: an array of the same shape and dtype on the same device, of any framework, that does not
            overlap `dst`.
        stream: as in `transpose`; None: the current stream of dst's framework.
        convert: dtypes may differ; values are converted.
        alpha, scale, bias, beta, conjugate, saturate, rounding, seed: as in `transpose`, with dst
            for out.

    Raises:
        TypeError, ValueError: as in `transpose`.
    """
    values = Values(None, alpha, scale, bias, beta, conjugate, saturate, rounding, seed)
    if convert or changes(values):
        target, source = framework_of(dst).read(dst, "dst"), framework_of(src).read(src, "src")
        wanted = dtype_name(target.dtype) if convert else None
        transpose_values(src, range(source.rank), dst, stream, values._replace(dtype=wanted))
        return
    rank = getattr(src, "ndim", None)
    if stream is None and isinstance(rank, int) and rank < len(_IN_ORDER) and dst is not None:
        if _quick_transpose(src, _IN_ORDER[rank], dst) is not None:
            return
    to, of = framework_of(dst), framework_of(src)
    to.will_write(dst, "dst")
    target, source = to.read(dst, "dst"), of.read(src, "src")
    of.will_lose_gradient(src, "src")
    check_pair(target, source, "dst", "src", "the shape of src")
    number = stream_for(to, target.device, stream, "dst")
    execute(target, source, number)
    if stream is not None:
        to.used_on(dst, target.device, number)
        of.used_on(src, source.device, number)


def new_array(
    framework: Framework, x: Any, source: Array, shape: tuple[int, ...], stream: Any, name: str
) -> Any:
    """`source`, of the array `x`, in a new array; its axes may be merged in `shape`."""
    number = stream_for(framework, source.device, stream, name)
    result = framework.empty(x, source, shape, None if stream is None else number)
    address = framework_of(result).read(result, "the result").address
    strides = packed_strides(source.shape, source.itemsize)
    execute(source._replace(address=address, strides=strides), source, number)
    if stream is not None:
        framework.used_on(x, source.device, number)
    return result


def fill(out: Any, framework: Framework, x: Any, source: Array, stream: Any) -> Any:
    """`source`, of the array `x`, in `out`."""
    number = stream_for(framework, source.device, stream, "x")
    framework.will_lose_gradient(x, "x")
    writer = framework_of(out)
    writer.will_write(out, "out")
    target = writer.read(out, "out")
    check_pair(target, source, "out", "x", "the shape of the result")
    execute(target, source, number, "out")
    if stream is not None:
        framework.used_on(x, source.device, number)
        writer.used_on(out, source.device, number)
    return out


def stream_for(framework: Framework, device: int, stream: Any, name: str) -> int:
    """The stream to work on, as a number; 0 for the CPU."""
    if stream is None:
        return 0 if device == HOST else framework.current_stream(device)
    if device == HOST:
        raise ValueError(
            f"stream = {shown(stream)}, but {name} is in host memory: the CPU has no streams"
        )
    return stream_number(stream)


def _is_traced(x: Any) -> bool:
    """Is torch.compile (or torch.export) looking at what happens to the tensor `x`?"""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling() and isinstance(x, torch.Tensor)
