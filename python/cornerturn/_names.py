"""The names that NumPy and the array API standard have for permutations, made contiguous."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar, overload

from cornerturn._arrays import axis_error, is_integer, shown
from cornerturn._frameworks import framework_of
from cornerturn._labelled import is_labelled, is_lazy
from cornerturn._operations import Axes, contiguous, transpose

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cornerturn._options import AllOptions, Dtype, Options

ArrayT = TypeVar("ArrayT")


@overload
def permute_dims(x: list[Any] | tuple[Any, ...], axes: Axes = None, **options: Unpack[AllOptions]) -> Any: ...


@overload
def permute_dims(x: ArrayT, axes: Axes = None, *, out: None = None, dtype: None = None, **options: Unpack[Options]) -> ArrayT: ...


@overload
def permute_dims(x: Any, axes: Axes = None, **options: Unpack[AllOptions]) -> Any: ...


def permute_dims(x: Any, axes: Axes = None, **options: Any) -> Any:
    """Returns `transpose(x, axes)`, under the name of the array API standard.

    Args:
        x, axes: as in `transpose`.
        options: those of `transpose`.

    Raises:
        TypeError, ValueError: as in `transpose`.
    """
    return transpose(x, axes, **options)


@overload
def moveaxis(x: list[Any] | tuple[Any, ...], source: int | Sequence[int], destination: int | Sequence[int], **options: Unpack[AllOptions]) -> Any: ...


@overload
def moveaxis(x: ArrayT, source: int | Sequence[int], destination: int | Sequence[int], *, out: None = None, dtype: None = None, **options: Unpack[Options]) -> ArrayT: ...


@overload
def moveaxis(x: Any, source: int | Sequence[int], destination: int | Sequence[int], **options: Unpack[AllOptions]) -> Any: ...


def moveaxis(x: Any, source: int | Sequence[int], destination: int | Sequence[int], **options: Any) -> Any:
    """Returns `x` with the axes `source` moved to the places `destination`, packed.

    Args:
        x: as in `transpose`.
        source: an axis or several, each once.
        destination: where each of them is in the result. The other axes keep their order.
        options: those of `transpose`.

    Raises:
        TypeError, ValueError: as in `transpose`; or `source` and `destination` differ in length.

    Example:
        >>> cornerturn.moveaxis(numpy.zeros((8, 224, 224, 3)), -1, 1).shape
        (8, 3, 224, 224)
    """
    rank = _rank(x)
    if type(source) is int and type(destination) is int:
        return transpose(x, _moved(rank, source, destination), **options)
    return transpose(x, _order_moved(rank, source, destination), **options)


def _order_moved(rank: int, source: Any, destination: Any) -> tuple[int, ...]:
    moved = _axes(source, rank, "source")
    places = _axes(destination, rank, "destination")
    if len(moved) != len(places):
        raise ValueError(
            f"source = {shown(source)} and destination = {shown(destination)} differ in length"
        )
    order = [axis for axis in range(rank) if axis not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return tuple(order)


_moved = lru_cache(maxsize=1024)(_order_moved)


@overload
def swapaxes(x: list[Any] | tuple[Any, ...], axis1: int, axis2: int, **options: Unpack[AllOptions]) -> Any: ...


@overload
def swapaxes(x: ArrayT, axis1: int, axis2: int, *, out: None = None, dtype: None = None, **options: Unpack[Options]) -> ArrayT: ...


@overload
def swapaxes(x: Any, axis1: int, axis2: int, **options: Unpack[AllOptions]) -> Any: ...


def swapaxes(x: Any, axis1: int, axis2: int, **options: Any) -> Any:
    """Returns `x` with two axes exchanged, packed.

    Args:
        x: as in `transpose`.
        axis1, axis2: the axes.
        options: those of `transpose`.

    Raises:
        TypeError, ValueError: as in `transpose`.
    """
    try:
        first, second = index(axis1), index(axis2)
    except TypeError:
        name, axis = ("axis2", axis2) if is_integer(axis1) else ("axis1", axis1)
        raise TypeError(f"{name} = {shown(axis)} is not an integer") from None
    return transpose(x, _swapped(_rank(x), first, second), **options)


@lru_cache(maxsize=1024)
def _swapped(rank: int, axis1: int, axis2: int) -> tuple[int, ...]:
    (first,), (second,) = _axes(axis1, rank, "axis1"), _axes(axis2, rank, "axis2")
    order = list(range(rank))
    order[first], order[second] = second, first
    return tuple(order)


@overload
def ascontiguousarray(
    x: list[Any] | tuple[Any, ...], dtype: Dtype | None = None, *, threads: int | None = None
) -> Any: ...


@overload
def ascontiguousarray(x: ArrayT, dtype: None = None, *, threads: int | None = None) -> ArrayT: ...


@overload
def ascontiguousarray(x: Any, dtype: Dtype | None = None, *, threads: int | None = None) -> Any: ...


def ascontiguousarray(x: Any, dtype: Dtype | None = None, *, threads: int | None = None) -> Any:
    """Returns `contiguous(x, dtype=dtype)` with one axis at least, as `numpy.ascontiguousarray` does.

    Args:
        x, dtype: as in `contiguous`. An array that is packed and of this dtype is returned as it is.
        threads: as in `transpose`.

    Raises:
        TypeError, ValueError: as in `transpose`.
    """
    if type(x).__module__ == "numpy" and dtype is threads is None and x.ndim:
        return contiguous(x)
    if is_labelled(x) or is_lazy(x):
        return contiguous(x, dtype=dtype, threads=threads)
    framework = framework_of(x)
    own = getattr(x, "dtype", None)  # lists have none, and NumPy takes None for float64
    if None not in (own, dtype) and framework.dtype(dtype) == own:
        dtype = None
    result: Any = contiguous(x, dtype=dtype, threads=threads)
    return result.reshape(1) if framework.rank(x, "x") == 0 else result


def _rank(x: Any) -> int:
    if type(x).__module__ == "numpy":  # the quick way for small arrays
        return int(x.ndim)
    return int(x.ndim) if is_labelled(x) or is_lazy(x) else framework_of(x).rank(x, "x")


def _axes(axes: int | Sequence[int], rank: int, name: str) -> list[int]:
    try:
        numbers = [index(axis) for axis in ((axes,) if is_integer(axes) else axes)]  # type: ignore[union-attr]
    except TypeError:
        raise TypeError(f"{name} = {shown(axes)} is neither an integer nor several") from None
    for axis in numbers:
        if not -rank <= axis < rank:
            raise axis_error(f"{name} = {shown(axes)}: {axis} is out of range for rank {rank}")
    found = [axis % rank for axis in numbers]
    if len(set(found)) != len(found):
        raise ValueError(f"{name} = {shown(axes)} names an axis twice")
    return found
