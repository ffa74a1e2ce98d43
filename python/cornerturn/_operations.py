"""transpose, contiguous and copy."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeVar, Union, cast, overload

from cornerturn import _core
from cornerturn._arrays import Crossing, crossing_of, dtype_name, order_of, shown
from cornerturn._frameworks import Framework, framework_of
from cornerturn._move import fill, new_copy
from cornerturn._labelled import is_labelled, is_lazy, is_special, transpose_special
from cornerturn._options import Dtype, Numbers
from cornerturn._order import inverse_of, memory_order, with_strides_of_new
from cornerturn._order import view as in_order
from cornerturn._threads import with_threads
from cornerturn._values import Values, changes, numpy_dtype, seed_of

if TYPE_CHECKING:
    from types import EllipsisType

    from typing_extensions import Unpack

    from cornerturn._options import MemoryOptions, Options

_quick_transpose, _quick_convert = _core.quick_transpose, _core.quick_convert
_FACTORS = (int, float)
_modules = sys.modules
_ndarray: type | None = None  # NumPy's, once an array has been seen
_tensor: type | None = None  # PyTorch's, once a tensor has been seen
ArrayT = TypeVar("ArrayT")
CallT = TypeVar("CallT", bound=Callable[..., Any])
_ONE, _ZERO = 1.0, 0.0
_IN_ORDER = tuple([tuple(range(rank)) for rank in range(65)])
Axes = Union[Sequence[int], Sequence[Union[str, int, "EllipsisType"]], int, str, None]


def _quick_transpose_first(general: CallT) -> CallT:
    """`general`, called where the engine does not take the arrays as they are.

    Plain arrays of NumPy and tensors of PyTorch that are only permuted go there at once. A function
    with all the options of `general` would take longer to be called than a small array to be moved. From
    Python 3.12 on the extension does this, without a call of Python's; torch.compile looks at `general`.
    """
    if _core.quick_transpose_first(general):
        return general

    @functools.wraps(general)
    def quick(x: Any, axes: Any = None, *more: Any, out: Any = None, **options: Any) -> Any:
        if more:
            axes = (axes, *more)
        if not options:
            kind = type(x)
            if kind is _ndarray or not (_in_graph() if kind is _tensor else _is_traced(x)):
                result = _quick_transpose(x, axes, out)
                if result is not None:
                    return result
        return general(x, axes, out=out, **options)

    return cast(CallT, quick)


def _quick_copy_first(general: CallT) -> CallT:
    """The quick way for `copy`."""
    if _core.quick_copy_first(general):
        return general

    @functools.wraps(general)
    def quick(dst: Any, src: Any, **options: Any) -> None:
        if not options and dst is not None:
            kind = type(dst)
            if kind is _ndarray or not (_in_graph() if kind is _tensor else _is_traced(dst)):
                rank = getattr(src, "ndim", None)
                axes = _IN_ORDER[rank] if isinstance(rank, int) and 0 <= rank <= 64 else None
                if axes is not None and _quick_transpose(src, axes, dst) is not None:
                    return
        general(dst, src, **options)

    return cast(CallT, quick)


def _not_in_graph() -> bool:
    return False


# Says True where torch.compile traces it: PyTorch's own function, once a tensor has been seen.
_in_graph: Callable[[], bool] = _not_in_graph


def _is_traced(x: Any) -> bool:
    """Is torch.compile (or torch.export) looking at what happens to the tensor `x`?

    Remembers the types of NumPy and PyTorch: of a plain tensor `_in_graph` says the same in less time.
    """
    global _ndarray, _tensor, _in_graph
    torch = _modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        if torch.compiler.is_compiling():
            return True
        if type(x) is torch.Tensor:
            _in_graph = torch.compiler.is_dynamo_compiling
            _tensor = torch.Tensor
        return False
    if type(x).__name__ == "ndarray" and type(x).__module__ == "numpy":
        _ndarray = type(x)
    return False


@overload
def transpose(
    x: list[Any] | tuple[Any, ...],
    axes: Axes = None,
    *more: int | str | EllipsisType,
    out: None = None,
    dtype: Dtype | None = None,
    **options: Unpack[Options],
) -> Any: ...


@overload
def transpose(
    x: ArrayT,
    axes: Axes = None,
    *more: int | str | EllipsisType,
    out: None = None,
    dtype: None = None,
    **options: Unpack[Options],
) -> ArrayT: ...


@overload
def transpose(
    x: Any,
    axes: Axes = None,
    *more: int | str | EllipsisType,
    out: ArrayT,
    dtype: Dtype | None = None,
    **options: Unpack[Options],
) -> ArrayT: ...


@overload
def transpose(
    x: Any,
    axes: Axes = None,
    *more: int | str | EllipsisType,
    out: Any = None,
    dtype: Dtype | None = None,
    **options: Unpack[Options],
) -> Any: ...


@_quick_transpose_first
def transpose(
    x: Any,
    axes: Axes = None,
    *more: int | str | EllipsisType,
    out: Any = None,
    stream: Any = None,
    dtype: Dtype | None = None,
    alpha: float = _ONE,
    scale: Numbers | None = None,
    bias: Numbers | None = None,
    beta: float = _ZERO,
    conjugate: bool = False,
    saturate: bool = False,
    rounding: Literal["nearest", "towards_zero", "stochastic"] | None = None,
    seed: SupportsIndex = 0,
    order: Literal["C", "F"] | None = None,
    memory_format: Any = None,
    threads: int | None = None,
    non_blocking: bool = False,
    blocks: SupportsIndex | None = None,
) -> Any:
    """Returns `x` with its axes in the order `axes`, packed: `numpy.transpose` made contiguous.

    Args:
        x: an array of any shape, strides and dtype (see the module's documentation), of rank 64 at
            most; or nested lists of numbers. A DataArray of xarray keeps its dims and coordinates, a
            Dataset those of each variable, and an array of dask is computed when dask computes it.
        axes, more: name each axis once, in a sequence or one after the other; negative numbers count
            from the end. None reverses the axes. Axes of a DataArray may be named, and `...` stands for
            those that are not.
        out: an array of the result's shape and of x's dtype (in either order of bytes), on x's device,
            with any strides, that does not overlap `x`. It is written to and returned. One of the two may
            lie in host memory and the other one on a GPU. None makes a new packed array.
        stream: the stream that a GPU works on, which is a cudaStream_t as an integer, or a stream of
            PyTorch, CuPy or Numba. None is the current stream of x's framework.
        dtype: the dtype of the result, or its name ("bfloat16", "float8_e4m3fn", ">f4"). Values are
            converted on the way, and rounded once; their bytes may stand in either order on both sides.
            None is x's dtype.
        alpha, scale, bias, beta: make the result alpha * scale * x + bias + beta * out. scale and bias
            are real numbers, lists of them, or arrays on x's or out's device that broadcast against the
            result along one axis; float32 arrays are read as they are. With a beta other than 0, `out` is read as well.
        conjugate: conjugates complex values, before anything else.
        saturate: makes values beyond the dtype's range its largest finite value. They wrap or become
            infinite otherwise.
        rounding: None rounds as astype does, which is towards zero to integers, and to the nearest
            float with ties to even. "towards_zero" says the same of integers, "nearest" of floats;
            "stochastic" chooses one of the two neighbours at random.
        seed: decides, with an element's place, the random bits of stochastic rounding.
        order: "F" makes the first axis of the result the fastest in memory, "C" and None the last.
        memory_format: torch.channels_last, torch.channels_last_3d or torch.contiguous_format, for a
            tensor.
        threads: the CPU works on at most so many threads; `with threads(n)` says it for many calls.
        non_blocking: lets a call between host memory and a GPU return before the copy is done, as `to`
            says it. It is of no meaning where both arrays lie in one memory.
        blocks: between host memory and a GPU, at most so many blocks of kernels that reach over the link run at
            a time, so that other work keeps its multiprocessors; 16 are enough for nearly all of the link. None
            and 0 set no limit. It is refused where both arrays lie in one memory.

    Returns:
        The result, with `result.shape[i] = x.shape[axes[i]]`. PyTorch tensors keep their gradient.

    Raises:
        TypeError: `x` or `out` is no array or holds references, or their dtypes differ.
        ValueError: `axes` is no permutation; `out` has another shape or is on another GPU, is read-only
            or overlaps `x`; `out` is given for a tensor that requires grad, or `stream` for host memory.

    Example:
        >>> cornerturn.transpose(numpy.arange(6).reshape(2, 3))
        array([[0, 3],
               [1, 4],
               [2, 5]])
    """
    if more:
        axes = (axes, *more)  # type: ignore[assignment]
    # Plain arrays. Defaults are known by identity: asking costs as much as a small copy.
    if (
        stream is bias is rounding is memory_format is blocks is None
        and conjugate is saturate is non_blocking is False
        and beta is _ZERO
        and seed == 0
        and (type(x) is _ndarray or not _is_traced(x))
        and (result := _quickly(x, axes, out, dtype, alpha, scale, order, threads)) is not None
    ):
        return result
    # The general path: all arrays, and all that can be asked for.
    if threads is not None or order is not None or memory_format is not None or is_special(x):
        options: dict[str, Any] = dict(dtype=dtype, alpha=alpha, scale=scale, bias=bias, beta=beta, seed=seed)
        options |= dict(stream=stream, conjugate=conjugate, saturate=saturate, rounding=rounding)
        options |= dict(non_blocking=non_blocking, blocks=blocks)
        if threads is None and not is_special(x):
            return _in_memory_order(x, axes, out, order, memory_format, options)
        options |= dict(out=out, order=order, memory_format=memory_format)
        if is_special(x):
            return transpose_special(transpose, x, axes, _given(dict(options, threads=threads)))
        return with_threads(threads, transpose, x, axes, **_given(options))
    values = Values(dtype, alpha, scale, bias, beta, conjugate, saturate, rounding, seed_of(seed))
    return _transpose(x, axes, out, stream, values, crossing_of(non_blocking, blocks))


def _quickly(
    x: Any, axes: Any, out: Any, dtype: Any, alpha: Any, scale: Any, order: Any, threads: Any
) -> Any:
    """The quick way where numbers change values, or `order` and `threads` are given; None where it cannot be gone."""
    known = None
    if dtype is not None and (known := numpy_dtype(dtype)) is None:
        return None
    if scale is not None or alpha is not _ONE:
        if type(alpha) not in _FACTORS or scale is not None and type(scale) not in _FACTORS:
            return None
        alpha = float(alpha) if scale is None else float(alpha) * float(scale)
    first_fastest = False
    if order is not None:
        if type(x) is not _ndarray or out is not None or order not in ("C", "F"):
            return None
        first_fastest = order == "F"
        if first_fastest and axes is not None and type(axes) is not tuple:
            return None
    if first_fastest:
        axes = _IN_ORDER[x.ndim] if axes is None else axes[::-1]
    if threads is None:
        result = _quick_convert(x, axes, out, known, alpha)
    elif type(threads) is int and 0 <= threads <= 1024:
        before = _core.limit_threads(threads)
        try:
            result = _quick_convert(x, axes, out, known, alpha)
        finally:
            _core.limit_threads(before)
    else:
        return None
    return result.transpose() if first_fastest and result is not None else result


def _transpose(x: Any, axes: Axes, out: Any, stream: Any, values: Values, crossing: Crossing) -> Any:
    """The result for one array without names of axes, in the order of memory that `out` or C has."""
    framework = framework_of(x)
    crossing.check_is_across(out is not None, "the result", "x")
    if out is None and stream is None and framework.has_operator:
        return _by_operator(framework, x, order_of(axes, framework.rank(x, "x")), values)
    if stream is None and crossing == Crossing() and _needs_operator(framework, x, out):
        _into_by_operator(out, x, order_of(axes, framework.rank(x, "x")), values)
        return out
    source = framework.read(x, "x")
    source = source.permuted(order_of(axes, source.rank))
    if out is None:
        return new_copy(framework, x, source, stream, values)
    fill(out, x, source, stream, values, ("out", "x", "the shape of the result"), crossing)
    return out


@overload
def contiguous(
    view: list[Any] | tuple[Any, ...], *, dtype: Dtype | None = None, **options: Unpack[MemoryOptions]
) -> Any: ...


@overload
def contiguous(view: ArrayT, *, dtype: None = None, **options: Unpack[MemoryOptions]) -> ArrayT: ...


@overload
def contiguous(view: Any, *, dtype: Dtype | None = None, **options: Unpack[MemoryOptions]) -> Any: ...


def contiguous(
    view: Any,
    *,
    stream: Any = None,
    dtype: Dtype | None = None,
    order: Literal["C", "F"] | None = None,
    memory_format: Any = None,
    threads: int | None = None,
) -> Any:
    """Returns `view` if it is packed, last axis fastest, and a packed copy of it otherwise.

    `torch.Tensor.contiguous` does the same. An array without axes stays one, as with
    `numpy.asarray(view, order="C")`; `numpy.ascontiguousarray` makes it one of a single axis.

    Args:
        view: an array as in `transpose`.
        stream: as in `transpose`.
        dtype: as in `transpose`. A new array is made even where it is the dtype of `view`.
        order, memory_format, threads: as in `transpose`; `view` is returned where it is in that order.
            Where a tensor's strides along axes of extent 0 and 1 are not those of a new one, a view of it is returned.

    Raises:
        TypeError, ValueError: as in `transpose`.
    """
    plain = stream is dtype is order is memory_format is threads is None
    if plain and type(view).__module__ == "numpy" and not view.flags.c_contiguous:  # the quick way for small arrays
        return transpose(view, tuple(range(view.ndim)))
    if is_labelled(view):
        options: dict[str, Any] = dict(stream=stream, dtype=dtype, order=order, memory_format=memory_format)
        return view.copy(data=contiguous(view.data, threads=threads, **options))
    if is_lazy(view):
        options = dict(stream=stream, dtype=dtype, order=order, memory_format=memory_format, threads=threads)
        return transpose(view, tuple(range(view.ndim)), **_given(options))
    framework = framework_of(view)
    rank = framework.rank(view, "view")
    if order is not None or memory_format is not None:
        places = memory_order(view, rank, order, memory_format)
        if places is not None:
            sorted_view = in_order(view, places)
            result = contiguous(sorted_view, stream=stream, dtype=dtype, threads=threads)
            result = view if result is sorted_view else in_order(result, inverse_of(places))
            return result if memory_format is None else with_strides_of_new(result, memory_format)
    if dtype is None and framework.is_packed(view, "view"):
        return with_strides_of_new(view)
    axes = tuple(range(rank))
    if stream is dtype is threads is None:
        return transpose(view, axes)
    return transpose(view, axes, stream=stream, dtype=dtype, threads=threads)


@_quick_copy_first
def copy(
    dst: Any,
    src: Any,
    *,
    stream: Any = None,
    convert: bool = False,
    alpha: float = _ONE,
    scale: Numbers | None = None,
    bias: Numbers | None = None,
    beta: float = _ZERO,
    conjugate: bool = False,
    saturate: bool = False,
    rounding: Literal["nearest", "towards_zero", "stochastic"] | None = None,
    seed: SupportsIndex = 0,
    threads: int | None = None,
    non_blocking: bool = False,
    blocks: SupportsIndex | None = None,
) -> None:
    """Sets dst[i] = src[i] for every index i, whatever the strides of the two are.

    One of the two may lie in host memory and the other one on a GPU.

    Args:
        dst: an array that can be written to, with strides that write no element twice.
        src: an array of the same shape and dtype (in either order of bytes) on the same device or in
            host memory, of any framework, that does not overlap `dst`.
        stream: as in `transpose`. None is the current stream of dst's framework, or of src's where `dst`
            lies in host memory.
        convert: lets the dtypes differ, and converts the values.
        alpha, scale, bias, beta, conjugate, saturate, rounding, seed, threads, non_blocking, blocks: as in
            `transpose`, with dst for out.

    Raises:
        TypeError, ValueError: as in `transpose`.
    """
    if threads is not None:
        options = dict(alpha=alpha, scale=scale, bias=bias, beta=beta, conjugate=conjugate)
        options |= dict(stream=stream, convert=convert, saturate=saturate, rounding=rounding, seed=seed)
        options |= dict(non_blocking=non_blocking, blocks=blocks)
        return with_threads(threads, copy, dst, src, **_given(options))
    values = Values(None, alpha, scale, bias, beta, conjugate, saturate, rounding, seed_of(seed))
    crossing = crossing_of(non_blocking, blocks)
    writer = framework_of(dst)
    if stream is None and crossing == Crossing() and _needs_operator(writer, src, dst):
        if convert:
            values = values._replace(dtype=dst.dtype)
        return _into_by_operator(dst, src, tuple(range(src.dim())), values)
    if convert:
        values = values._replace(dtype=dtype_name(writer.read(dst, "dst").dtype))
    source = framework_of(src).read(src, "src")
    fill(dst, src, source, stream, values, ("dst", "src", "the shape of src"), crossing, follows_out=True)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Those that are not the defaults, which are known by identity."""
    defaults = (None, False, _ONE, _ZERO)
    return {
        name: value
        for name, value in options.items()
        if not any(value is default for default in defaults) and not (name == "seed" and value == 0)
    }


def _in_memory_order(
    x: Any, axes: Any, out: Any, order: str | None, memory_format: Any, options: dict[str, Any]
) -> Any:
    """`transpose` for order= and memory_format=."""
    if out is not None:
        raise ValueError("order and memory_format are for a new array: out has its own strides")
    if isinstance(x, (list, tuple)):
        x = framework_of(x).read(x, "x").owner
    axes = order_of(axes, framework_of(x).rank(x, "x"))
    places = memory_order(x, len(axes), order, memory_format)
    if places is None:
        return transpose(x, axes, **options)
    moved = transpose(x, tuple([axes[i] for i in places]), **_turned(options, places))
    result = in_order(moved, inverse_of(places))
    return result if memory_format is None else with_strides_of_new(result, memory_format)


def _turned(options: dict[str, Any], places: tuple[int, ...]) -> dict[str, Any]:
    """The options for a result whose axes are then put in another order."""
    for name in ("scale", "bias"):
        value = options[name]
        shape = getattr(value, "shape", (len(value),) if isinstance(value, (list, tuple)) else ())
        if len(shape) > 0 and not isinstance(value, (list, tuple)):
            value = value.reshape((1,) * (len(places) - len(shape)) + tuple(shape))
            options = {**options, name: in_order(value, places)}
        elif len(shape) > 0:
            raise TypeError(f"{name} is a list, whose axis order= would move: pass an array")
    return options


def _by_operator(framework: Framework, x: Any, order: tuple[int, ...], values: Values) -> Any:
    """A permuted copy by the framework's own operator, which keeps gradients and traces."""
    changing = changes(values)
    if changing:
        framework.will_change_values("x")
    if framework.module == "jax":
        import cornerturn.jax

        return cornerturn.jax.transpose(x, order)
    if values.beta != 0:
        raise ValueError(f"beta = {shown(values.beta)}, but there is no out to be multiplied by it")
    if not changing:
        import cornerturn.torch

        return cornerturn.torch.permute(x, order)
    if framework.is_plain(x):
        return new_copy(framework, x, framework.read(x, "x").permuted(order), values=values)
    from cornerturn import _torch_values

    return _torch_values.permute_values(x, order, values)


def _needs_operator(framework: Framework, x: Any, out: Any) -> bool:
    """Are both tensors of PyTorch, and more than memory?"""
    return (
        framework.module == "torch"
        and framework.owns(x)
        and framework.owns(out)
        and not (framework.is_plain(x) and framework.is_plain(out))
    )


def _into_by_operator(out: Any, x: Any, order: tuple[int, ...], values: Values) -> None:
    changes(values)  # raises for wrong values
    from cornerturn import _torch_values

    _torch_values.permute_into(out, x, order, values)
