"""transpose_in_place: the axes of an array change places within its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Union

from cornerturn import _core
from cornerturn._arrays import Array, order_of, packed_strides
from cornerturn._frameworks import Framework, framework_of, stream_for
from cornerturn._threads import with_threads

ArrayT = TypeVar("ArrayT")
_LARGEST_ELEMENT = 256


def transpose_in_place(
    x: ArrayT, axes: Union[Sequence[int], None] = None, *, threads: int | None = None
) -> ArrayT:
    """Puts the axes of `x` into the order `axes` within its memory, for arrays of which memory holds
    no copy.

    Axes of equal extent change places without any workspace; everything else takes at most 1 MiB or
    one per cent of the array, whichever is more.

    Args:
        x: an array of NumPy or a tensor of PyTorch, in host memory or on a GPU, of any dtype and
            rank. A GPU works on the current stream, and takes a workspace from its pool. The
            elements fill their memory without gaps, in any order of its axes. In an array with gaps,
            such as a part of a larger one, only pairs of equal axes can change places.
        axes: names each axis once; negative numbers count from the end. None reverses the axes.
        threads: the CPU uses at most so many. None is as everywhere.

    Returns:
        The result, an array over the memory of `x`. It has x's memory alone, packed; `x` itself keeps
        its shape and then shows the same memory in another order.

    Raises:
        TypeError: `x` is no array of NumPy or PyTorch, or its memory is not its own.
        ValueError: `x` is read-only, repeats or overlaps elements, requires grad, or has gaps that
            the result does not fit. Nothing has been written.
    """
    framework = framework_of(x)
    over = _OVER_MEMORY.get(framework.module)
    if over is None:
        raise TypeError(f"x is a {type(x).__name__}: arrays of NumPy and tensors of PyTorch are taken")
    array = _writable(framework, x)
    order = order_of(axes, array.rank)
    shape = tuple([array.shape[axis] for axis in order])
    strides = packed_strides(shape, array.itemsize)
    if array.itemsize > 0 and 0 not in shape:
        stream = stream_for(framework, array.device, None, "x")
        with framework.recorded("cornerturn::transpose_in_place"):
            if threads is None:
                strides = _permute(array, order, stream)
            else:
                strides = with_threads(threads, _permute, array, order, stream)
        framework.was_written(x)
    return over(x, shape, strides)


def _writable(framework: Framework, x: Any) -> Array:
    framework.will_write(x, "x")
    framework.will_lose_gradient(x, "x")
    if not framework.is_memory(x):
        raise TypeError(f"x is a {type(x).__name__} that is traced, or has no memory of its own")
    array = framework.read(x, "x")
    if array.readonly:
        raise ValueError("x is read-only")
    return array


def _permute(array: Array, order: tuple[int, ...], stream: int) -> tuple[int, ...]:
    """Returns the strides of the result, in bytes."""
    # Elements that are longer than the library's get a last axis of shorter ones.
    part = next(n for n in range(min(array.itemsize, _LARGEST_ELEMENT), 0, -1) if array.itemsize % n == 0)
    more = part != array.itemsize
    shape = [*array.shape, array.itemsize // part] if more else list(array.shape)
    strides = [*array.strides, part] if more else list(array.strides)
    axes = [*order, array.rank] if more else list(order)
    try:
        # The operand is in no variable: who keeps an error keeps this frame.
        now = _core.permute_in_place(
            _core.Operand(array.address, f"b{part}", shape, strides), axes, array.device, stream
        )
        return tuple(now[: array.rank])
    except ValueError as error:
        message = str(error)
        if not message.startswith("array"):
            raise
        raise ValueError("x" + message.removeprefix("array")) from None


def _over_numpy(x: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    import numpy

    return numpy.lib.stride_tricks.as_strided(x, shape, strides)


def _over_torch(x: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    size = x.element_size()
    return x.detach().as_strided(shape, [stride // size for stride in strides], x.storage_offset())


_OVER_MEMORY: dict[str, Callable[..., Any]] = {"numpy": _over_numpy, "torch": _over_torch}
