"""to: an array in another memory, its axes in another order."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsIndex, TypeVar, Union, overload

from cornerturn import _core
from cornerturn._arrays import HOST, Array, dtype_name, is_integer, order_of, place, shown
from cornerturn._frameworks import Framework, framework_named, framework_of, stream_number
from cornerturn._labelled import is_lazy, is_special
from cornerturn._operations import transpose
from cornerturn._options import Dtype, IsDevice, IsTensor, Numbers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cornerturn._options import ValueOptions

ArrayT = TypeVar("ArrayT")
TensorT = TypeVar("TensorT", bound=IsTensor)
_ONE, _ZERO = 1.0, 0.0
_NAMES = re.compile(r"(?P<kind>cpu|cuda|gpu)(:(?P<number>\d{1,4}))?")


@overload
def to(
    x: Any,
    device: Any,
    axes: Sequence[int] | None = None,
    *,
    out: ArrayT,
    dtype: Dtype | None = None,
    non_blocking: bool = False,
    stream: Any = None,
    threads: int | None = None,
    blocks: SupportsIndex | None = None,
    **options: Unpack[ValueOptions],
) -> ArrayT: ...


@overload
def to(
    x: TensorT,
    device: Union[str, int, IsDevice],
    axes: Sequence[int] | None = None,
    *,
    out: None = None,
    dtype: Dtype | None = None,
    non_blocking: bool = False,
    stream: Any = None,
    threads: int | None = None,
    blocks: SupportsIndex | None = None,
    **options: Unpack[ValueOptions],
) -> TensorT: ...


@overload
def to(
    x: Any,
    device: Any,
    axes: Sequence[int] | None = None,
    *,
    out: None = None,
    dtype: Dtype | None = None,
    non_blocking: bool = False,
    stream: Any = None,
    threads: int | None = None,
    blocks: SupportsIndex | None = None,
    **options: Unpack[ValueOptions],
) -> Any: ...


def to(
    x: Any,
    device: Any,
    axes: Sequence[int] | None = None,
    *,
    dtype: Dtype | None = None,
    out: Any = None,
    non_blocking: bool = False,
    stream: Any = None,
    alpha: float = _ONE,
    scale: Numbers | None = None,
    bias: Numbers | None = None,
    beta: float = _ZERO,
    conjugate: bool = False,
    saturate: bool = False,
    rounding: Literal["nearest", "towards_zero", "stochastic"] | None = None,
    seed: SupportsIndex = 0,
    threads: int | None = None,
    blocks: SupportsIndex | None = None,
) -> Any:
    """Returns `x` in the memory of `device`, packed, with its axes in the order `axes`: in one pass.

    Between host memory and a GPU, elements are put in order and converted on their way. What comes back
    is of x's framework: a tensor for a tensor, a CuPy or a JAX array for one on a GPU. NumPy has no
    arrays on GPUs, so an array of NumPy, a mapped file or a buffer becomes a tensor where PyTorch is
    imported, and a CuPy array where only CuPy is. An array of CuPy becomes one of NumPy in host memory.
    A `device` that is an object of PyTorch's, CuPy's or JAX's gives an array of that framework.

    Args:
        x: an array as in `transpose`.
        device: "cpu", "cuda", "cuda:1", the number of a GPU, or a device of PyTorch, CuPy or JAX. "cuda" is
            the GPU on which `x` lies, and the current one for host memory.
        axes: as in `transpose`, but None keeps their order.
        dtype: as in `transpose`. Big-endian values become the machine's own where PyTorch or CuPy holds them.
        out: as in `transpose`; it lies on `device`.
        non_blocking: False waits for the copy: when the call returns, `x` may be changed, and all
            streams and threads may use the result. True returns as early as memory allows. With
            pinned host memory that is at once where the GPU does the work, in the stream's order; until it
            is done the host's memory must be left alone. With other host memory, or where the CPU takes part, it is
            when that memory has been read or completely written. A new tensor in host memory is pinned
            then, as PyTorch does it.
        stream: as in `transpose`. None is the current stream of the framework whose array is on the GPU.
        alpha, scale, bias, beta, conjugate, saturate, rounding, seed, threads, blocks: as in `transpose`. scale
            and bias may lie on either side.

    Returns:
        `out`, or a new array; `x` itself where nothing is to be done.

    Raises:
        TypeError, ValueError: as in `transpose`; or `device` is no device, `x` lies on another GPU, or no
            framework is there for a result on a GPU.
        RuntimeError: there is no GPU; or the call would wait for a stream that is being captured.

    Example:
        >>> cornerturn.to(x, "cpu", axes=(1, 0)).shape  # "cuda:0" puts the result on a GPU
        (4, 3)
    """
    if is_lazy(x):
        raise TypeError("x is an array of dask, which is taken when it is computed: pass x.compute()")
    if is_special(x):
        raise TypeError(f"x is a {type(x).__name__}, which stays in host memory: pass x.data, computed")
    to_where = _place_of(device)
    reader = framework_of(x)
    source = reader.read(x, "x")
    number = _number_of(device, to_where, source)
    if HOST not in (source.device, number) and source.device != number:
        raise ValueError(f"device = {shown(device)}, but x is in {place(source)}: one of both has to be host memory")
    order = tuple(range(source.rank)) if axes is None else order_of(axes, source.rank)
    values: dict[str, Any] = dict(
        alpha=alpha, scale=scale, bias=bias, beta=beta, conjugate=conjugate, saturate=saturate, rounding=rounding
    )
    values |= dict(seed=seed, stream=stream, threads=threads, blocks=blocks)
    if out is not None:
        target = framework_of(out).read(out, "out")
        if target.device != number:
            raise ValueError(f"out is in {place(target)}, but device = {shown(device)}")
        return transpose(x, order, out=out, dtype=dtype, non_blocking=non_blocking, **values)
    if isinstance(beta, Real) and beta != 0:
        raise ValueError(f"beta = {shown(beta)}, but there is no out to be multiplied by it")
    holder = _holder(to_where.framework, reader, number)
    if holder is reader and number == source.device:
        if dtype is not None and holder.dtype(dtype) == source.dtype:
            dtype = None
        as_it_is = dtype is None and order == tuple(range(source.rank)) and _are_defaults(values)
        return x if as_it_is and reader.is_packed(x, "x") else transpose(x, order, dtype=dtype, **values)
    if holder.module == "jax":
        return _to_jax(x, device, to_where, number, order, dict(values, dtype=dtype))
    return _filled(x, source, holder, number, order, dtype, values, non_blocking)


class _Place(NamedTuple):
    """What a caller calls a device."""

    on_gpu: bool
    number: int | None = None  # of the GPU; None: the current one
    framework: str | None = None  # whose object names it


def _place_of(device: Any) -> _Place:
    if isinstance(device, str):
        found = _NAMES.fullmatch(device)
        if found is not None and (found["kind"] != "cpu" or found["number"] in (None, "0")):
            return _Place(found["kind"] != "cpu", None if found["number"] is None else int(found["number"]))
    elif is_integer(device) and not isinstance(device, bool) and device.__index__() >= 0:
        return _Place(True, device.__index__())
    else:
        module = type(device).__module__.partition(".")[0]
        kind = getattr(device, "type", getattr(device, "platform", None))
        if module == "torch" and kind in ("cpu", "cuda"):
            return _Place(kind == "cuda", device.index if kind == "cuda" else None, "torch")
        if module == "cupy" and hasattr(device, "id"):
            return _Place(True, int(device.id), "cupy")
        if module in ("jax", "jaxlib") and kind in ("cpu", "gpu", "cuda"):
            return _Place(kind != "cpu", None if kind == "cpu" else int(device.local_hardware_id), "jax")
    raise (TypeError if not isinstance(device, (str, int)) else ValueError)(
        f"device = {shown(device)} is no device: it has to be 'cpu', 'cuda', 'cuda:0', the number of a GPU, or "
        "a device of PyTorch, CuPy or JAX"
    )


def _number_of(device: Any, to_where: _Place, source: Array) -> int:
    """The number of the GPU that is here, or HOST."""
    if not to_where.on_gpu:
        return HOST
    try:
        count = _core.gpu_count()
        if to_where.number is None:
            return _core.current_gpu() if source.device == HOST else source.device
    except RuntimeError as error:
        raise RuntimeError(f"device = {shown(device)}: {error}") from None
    if to_where.number >= count:
        raise ValueError(f"device = {shown(device)}: the GPUs here have the numbers 0 to {count - 1}")
    return to_where.number


def _holder(named: str | None, reader: Framework, number: int) -> Framework:
    """The framework of a new array."""
    if named is not None:
        return framework_named(named)
    if number == HOST:
        return reader if reader.module in ("torch", "jax", "numpy") else framework_named("numpy")
    if reader.module in ("torch", "jax", "cupy"):
        return reader
    found = _of_gpus()
    if found is None:
        raise TypeError(
            "x is of no framework that has arrays on GPUs, and neither PyTorch nor CuPy is imported to hold the "
            "result: import one of them, or pass out="
        )
    return found


def _of_gpus() -> Framework | None:
    """The framework whose arrays hold on a GPU what no framework there holds."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.version.cuda is not None:
        return framework_named("torch")
    return framework_named("cupy") if "cupy" in sys.modules else None


def _are_defaults(values: dict[str, Any]) -> bool:
    usual = dict(alpha=1.0, beta=0.0, conjugate=False, saturate=False, seed=0)
    return all(value is None if name not in usual else value == usual[name] for name, value in values.items())


def _filled(
    x: Any,
    source: Array,
    holder: Framework,
    number: int,
    order: tuple[int, ...],
    dtype: Any,
    values: dict[str, Any],
    non_blocking: bool,
) -> Any:
    """A new array of `holder` with what `x` holds."""
    try:
        framework_of(x).will_lose_gradient(x, "x")
    except ValueError:
        raise ValueError(
            "x requires grad or has a tangent, which does not follow it to another memory: detach it, or work "
            "under torch.no_grad()"
        ) from None
    if dtype is None and getattr(source.dtype, "isnative", True) is False and holder.module != "numpy":
        dtype = source.dtype.newbyteorder("=")
    shape = tuple([source.shape[i] for i in order])
    on = None if values["stream"] is None else stream_number(values["stream"])
    pinned = non_blocking and number == HOST and source.device != HOST
    try:
        of_result = holder.dtype(source.dtype if dtype is None else dtype)
        result = holder.empty_at(number, of_result, shape, on, pinned)
    except (TypeError, ValueError):
        name = f"x.dtype = {dtype_name(source.dtype)}" if dtype is None else f"dtype = {shown(dtype)}"
        raise TypeError(f"{name} is none that {_LONG_NAMES[holder.module]} has: pass out=") from None
    return transpose(x, order, out=result, dtype=dtype, non_blocking=non_blocking, **values)


_LONG_NAMES = {"numpy": "NumPy", "torch": "PyTorch", "cupy": "CuPy"}


def _to_jax(
    x: Any, device: Any, to_where: _Place, number: int, order: tuple[int, ...], options: dict[str, Any]
) -> Any:
    """An array of JAX, which is made of another framework's: nobody else may write to JAX's own."""
    import jax

    if number == HOST:
        on = device if to_where.framework == "jax" else jax.devices("cpu")[0]
        return jax.device_put(_to_framework(x, "numpy", number, order, options), on)
    found = _of_gpus()
    if found is None:
        raise TypeError(
            "the result is a JAX array on a GPU, and neither PyTorch nor CuPy is imported to make its memory: "
            "import one of them"
        )
    return jax.dlpack.from_dlpack(_to_framework(x, found.module, number, order, options))


def _to_framework(
    x: Any, module: str, number: int, order: tuple[int, ...], options: dict[str, Any]
) -> Any:
    values = dict(options)
    dtype = values.pop("dtype")
    source = framework_of(x).read(x, "x")
    return _filled(x, source, framework_named(module), number, order, dtype, values, False)
