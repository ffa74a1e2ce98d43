"""stack, unstack, take and put: axes whose places come from a list of arrays or of indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar, overload

from cornerturn._arrays import HOST, Array, axis_of, check_pair, dtype_name, order_of, overlap, packed_strides, shown
from cornerturn._frameworks import Framework, framework_of, stream_for
from cornerturn._labelled import is_labelled, is_lazy
from cornerturn._listed import Words, check_alike, check_apart, copy_each, copy_listed, index_table, unread
from cornerturn._operations import transpose
from cornerturn._options import Dtype
from cornerturn._order import inverse_of
from cornerturn._small_lists import stacked_small, taken_small
from cornerturn._threads import with_threads

ArrayT = TypeVar("ArrayT")


@overload
def stack(arrays: Iterable[ArrayT], axes: Sequence[int] | None = None, *, out: None = None, dtype: None = None, threads: int | None = None) -> ArrayT: ...


@overload
def stack(arrays: Iterable[Any], axes: Sequence[int] | None = None, *, out: ArrayT, dtype: Dtype | None = None, threads: int | None = None) -> ArrayT: ...


@overload
def stack(arrays: Iterable[Any], axes: Sequence[int] | None = None, *, out: Any = None, dtype: Dtype | None = None, threads: int | None = None) -> Any: ...


def stack(
    arrays: Iterable[Any],
    axes: Sequence[int] | None = None,
    *,
    out: Any = None,
    dtype: Dtype | None = None,
    threads: int | None = None,
) -> Any:
    """Returns `numpy.stack(arrays)` with its axes in the order `axes`, packed, in one pass.

    Args:
        arrays: arrays of one shape, dtype and device, as in `transpose`, in any number from 1 on. Their
            strides may differ; those with the same strides are moved together.
        axes: names each axis of the stack once. Axis 0 is that of the list. None leaves them in order.
        out: an array of the result's shape and dtype, which overlaps none of `arrays`. It is written to
            and returned.
        dtype: the dtype of the result, as in `transpose`. None is that of the arrays.
        threads: as in `transpose`.

    Returns:
        The result. PyTorch tensors keep their gradient.

    Raises:
        TypeError, ValueError: as in `transpose`; or the list is empty, or its arrays differ in shape,
            dtype or device.

    Example:
        >>> cornerturn.stack([numpy.zeros((3, 4)) for _ in range(64)], (1, 2, 0)).shape
        (3, 4, 64)
    """
    if threads is not None:
        return with_threads(threads, stack, arrays, axes, out=out, dtype=dtype)
    if out is dtype is None and type(arrays) in (list, tuple) and (small := stacked_small(arrays, axes)) is not None:
        return small
    parts = _list_of(arrays, "arrays")
    framework = framework_of(parts[0])
    if framework.stacks(parts):
        _check_seen(parts)
        stacked = framework.stack(parts)
        return transpose(stacked, _order(axes, framework.rank(stacked, "arrays")), out=out, dtype=dtype)
    for k, part in enumerate(parts):
        framework_of(part).will_lose_gradient(part, f"arrays[{k}]")
    sources = [framework_of(part).read(part, f"arrays[{k}]") for k, part in enumerate(parts)]
    check_alike(sources, "arrays")
    first = sources[0]
    shape = (len(sources), *first.shape)
    order = _order(axes, len(shape))
    result, target = _result_for(framework, parts[0], first, tuple([shape[i] for i in order]), out, dtype)
    for k, source in enumerate(sources):
        if out is not None:
            check_apart(target, source, "out", f"arrays[{k}]")
    stream = stream_for(framework, first.device, None, "arrays")
    copy_each(target.permuted(inverse_of(order)), sources, True, framework, stream, ("out", "arrays"))
    if out is not None:
        framework_of(out).was_written(out)
    return result


@overload
def unstack(x: ArrayT, axis: int = 0, *, out: None = None, dtype: None = None, threads: int | None = None) -> list[ArrayT]: ...


@overload
def unstack(x: Any, axis: int = 0, *, out: Iterable[ArrayT], dtype: Dtype | None = None, threads: int | None = None) -> list[ArrayT]: ...


@overload
def unstack(x: Any, axis: int = 0, *, out: Iterable[Any] | None = None, dtype: Dtype | None = None, threads: int | None = None) -> list[Any]: ...


def unstack(
    x: Any,
    axis: int = 0,
    *,
    out: Iterable[Any] | None = None,
    dtype: Dtype | None = None,
    threads: int | None = None,
) -> list[Any]:
    """Returns the arrays that `x` consists of along an axis, each packed, in one pass.

    Args:
        x: as in `transpose`.
        axis: the axis that the list counts. Array k is `numpy.moveaxis(x, axis, 0)[k]`, packed.
        out: arrays of that shape, as many as the axis is long, with any strides, that overlap neither
            `x` nor each other. They are written to.
        dtype: the dtype of the arrays, as in `transpose`. None is x's.
        threads: as in `transpose`.

    Returns:
        A list of the arrays. Those of a PyTorch tensor whose gradient is kept share their memory.

    Raises:
        TypeError, ValueError: as in `transpose`; or `out` has another number of arrays.

    Example:
        >>> [part.shape for part in cornerturn.unstack(numpy.zeros((3, 4, 2)), axis=2)]
        [(3, 4), (3, 4)]
    """
    if threads is not None:
        return with_threads(threads, unstack, x, axis, out=out, dtype=dtype)
    _check_plain(x, "x")
    framework = framework_of(x)
    rank = framework.rank(x, "x")
    order = _front(axis_of(axis, rank), rank)
    if out is None and framework.has_operator and not framework.is_plain(x) or framework.module == "jax":
        return list(transpose(x, order, dtype=dtype))
    framework.will_lose_gradient(x, "x")
    source = framework.read(x, "x").permuted(order)
    shape = source.shape[1:]
    if out is None:
        like = source if dtype is None else source._replace(dtype=framework.dtype(dtype))
        parts = [framework.empty(x, like, shape, None) for _ in range(source.shape[0])]
    else:
        parts = _list_of(out, "out", empty=source.shape[0] == 0)
        if len(parts) != source.shape[0]:
            raise ValueError(f"out has {len(parts)} arrays, but axis {axis} of x has the extent {source.shape[0]}")
    targets = [framework_of(part).read(part, f"out[{k}]") for k, part in enumerate(parts)]
    if out is not None:
        _check_parts(parts, targets, source, dtype, framework)
    if not targets:
        return []
    stream = stream_for(framework, source.device, None, "x")
    copy_each(source, targets, False, framework, stream, ("x", "out"))
    if out is not None:
        for part in parts:
            framework_of(part).was_written(part)
    return parts


def _check_parts(
    parts: Sequence[Any], targets: Sequence[Array], source: Array, dtype: Any, framework: Framework
) -> None:
    one = unread(source, source.shape[1:])
    wanted = None if dtype is None else framework.dtype(dtype)
    for k, (part, target) in enumerate(zip(parts, targets, strict=True)):
        framework_of(part).will_write(part, f"out[{k}]")
        check_pair(target, one, f"out[{k}]", "x", "the shape of x without its axis", wanted)
        check_apart(target, source, f"out[{k}]", "x")
    where = sorted(range(len(targets)), key=lambda k: targets[k].address)
    for a, b in zip(where, where[1:]):
        if overlap(targets[a], targets[b]):
            raise ValueError(f"out[{min(a, b)}] overlaps out[{max(a, b)}] in memory: each is written apart")


@overload
def take(x: ArrayT, indices: Any, axis: int = 0, axes: Sequence[int] | None = None, *, out: None = None, dtype: None = None, missing: Literal["zeros"] | None = None, checked: bool | None = None, threads: int | None = None) -> ArrayT: ...


@overload
def take(x: Any, indices: Any, axis: int = 0, axes: Sequence[int] | None = None, *, out: ArrayT, dtype: Dtype | None = None, missing: Literal["zeros", "left"] | None = None, checked: bool | None = None, threads: int | None = None) -> ArrayT: ...


@overload
def take(x: Any, indices: Any, axis: int = 0, axes: Sequence[int] | None = None, *, out: Any = None, dtype: Dtype | None = None, missing: Literal["zeros", "left"] | None = None, checked: bool | None = None, threads: int | None = None) -> Any: ...


def take(
    x: Any,
    indices: Any,
    axis: int = 0,
    axes: Sequence[int] | None = None,
    *,
    out: Any = None,
    dtype: Dtype | None = None,
    missing: Literal["zeros", "left"] | None = None,
    checked: bool | None = None,
    threads: int | None = None,
) -> Any:
    """Returns `numpy.take(x, indices, axis)` with its axes in the order `axes`, packed, in one pass.

    Args:
        x: as in `transpose`.
        indices: integers along one axis, in any order and any number of times: a sequence, or an array,
            on x's device or in host memory.
        axis: the axis of `x` that they are of.
        axes: names each axis of the result once. None leaves them in order.
        out: an array of the result's shape and dtype, as in `transpose`.
        dtype: the dtype of the result, as in `transpose`. None is x's.
        missing: None lets negative indices count from the end. Otherwise -1 says that there is nothing:
            "zeros" writes zeros there, and "left" leaves these places of `out` as they are.
        checked: indices in host memory are checked always. Those in the memory of a GPU are checked
            where it is True, and the call waits for that; otherwise the caller has to know that they are in
            range.
        threads: as in `transpose`.

    Returns:
        The result. PyTorch tensors keep their gradient.

    Raises:
        TypeError, ValueError: as in `transpose`; or `indices` are no integers or have not one axis; or
            one is out of range.

    Example:
        >>> cornerturn.take(numpy.arange(6).reshape(3, 2), [2, -1, 0], missing="zeros")
        array([[4, 5],
               [0, 0],
               [0, 1]])
    """
    if threads is not None:
        options: dict[str, Any] = dict(out=out, dtype=dtype, missing=missing, checked=checked)
        return with_threads(threads, take, x, indices, axis, axes, **options)
    if out is dtype is missing is checked is None and (small := taken_small(x, indices, axis, axes)) is not None:
        return small
    _check_missing(missing, ("zeros", "left"))
    if missing == "left" and out is None:
        raise ValueError('missing = "left", but there is no out whose places are left as they are')
    _check_plain(x, "x")
    framework = framework_of(x)
    rank = framework.rank(x, "x")
    axis, order = axis_of(axis, rank), _order(axes, rank)
    if (framework.has_operator and not framework.is_plain(x)) or framework.module == "jax":
        if missing == "left":
            raise ValueError('missing = "left" is for arrays that are nothing but memory: detach x')
        return transpose(framework.taken(x, indices, axis, missing is not None), order, out=out, dtype=dtype)
    source = framework.read(x, "x")
    stream = stream_for(framework, source.device, None, "x")
    extent = source.shape[axis]
    table = index_table(indices, extent, axis, missing is not None, framework, source, stream)
    taken = source._replace(shape=(*source.shape[:axis], table.length, *source.shape[axis + 1 :]))
    shape = tuple([taken.shape[i] for i in order])
    framework.will_lose_gradient(x, "x")
    result, target = _result_for(framework, x, source, shape, out, dtype)
    if out is not None:
        check_apart(target, source, "out", "x")
    words = Words("out", "x", _index_word, _index_word)
    entries = table.along(axis, extent, missing != "left")
    if source.device == HOST:
        checked = False  # they have been
    copy_listed(target.permuted(inverse_of(order)), None, taken, entries, stream, checked, words)
    if out is not None:
        framework_of(out).was_written(out)
    return result


def put(
    out: Any,
    indices: Any,
    x: Any,
    axis: int = 0,
    axes: Sequence[int] | None = None,
    *,
    missing: Literal["skip"] | None = None,
    convert: bool = False,
    checked: bool | None = None,
    threads: int | None = None,
) -> None:
    """Sets `out[..., indices, ...] = x.transpose(axes)`, where the indices stand at an axis, in one pass.

    Args:
        out: an array that can be written to, with any strides.
        indices: as in `take`, each at most once.
        x: an array of out's dtype and device that does not overlap it. Its shape, with its axes in the
            order `axes`, is out's, but for `axis`, along which there is one place for each index.
        axis: the axis of `out` that the indices are of.
        axes: names each axis of `x` once. None leaves them in order.
        missing: None lets negative indices count from the end. "skip" leaves out what has the index -1.
        convert: lets the dtypes differ, and converts the values.
        checked, threads: as in `take`.

    Raises:
        TypeError, ValueError: as in `take`; or two indices are equal.

    Example:
        >>> y = numpy.zeros(4, int)
        >>> cornerturn.put(y, [3, 0], numpy.array([7, 8]))
        >>> y
        array([8, 0, 0, 7])
    """
    if threads is not None:
        options: dict[str, Any] = dict(missing=missing, convert=convert, checked=checked)
        return with_threads(threads, put, out, indices, x, axis, axes, **options)
    _check_missing(missing, ("skip",))
    _check_plain(x, "x")
    _check_plain(out, "out")
    reader, writer = framework_of(x), framework_of(out)
    axis, order = axis_of(axis, writer.rank(out, "out")), _order(axes, reader.rank(x, "x"))
    if reader is writer and writer.puts(out, x):
        return writer.put(out, indices, transpose(x, order), axis, missing is not None, convert)
    reader.will_lose_gradient(x, "x")
    writer.will_write(out, "out")
    source, target = reader.read(x, "x").permuted(order), writer.read(out, "out")
    stream = stream_for(writer, target.device, None, "out")
    table = index_table(indices, target.shape[axis], axis, missing is not None, writer, target, stream)
    shape = (*target.shape[:axis], table.length, *target.shape[axis + 1 :])
    if source.shape != shape:
        raise ValueError(f"x has the shape {source.shape} with its axes in order, but what the indices name has {shape}")
    places = target._replace(shape=shape)
    check_pair(places, unread(source, shape), "out", "x", "the shape of x", target.dtype if convert else None)
    check_apart(target, source, "out", "x")
    words = Words("out", "x", _index_word, _index_word)
    copy_listed(places, table.along(axis, target.shape[axis]), source, None, stream, checked, words)
    writer.was_written(out)


def _index_word(k: int) -> str:
    return f"indices[{k}]"


def _check_missing(missing: Any, known: Sequence[str]) -> None:
    if missing is not None and missing not in known:
        raise ValueError(f"missing = {shown(missing)} is none of None, {', '.join(map(repr, known))}")


def _list_of(arrays: Any, name: str, empty: bool = False) -> list[Any]:
    if isinstance(arrays, (str, bytes, dict)) or not hasattr(arrays, "__iter__"):
        raise TypeError(f"{name} is a {type(arrays).__name__}: it has to be a list of arrays")
    parts = list(arrays)
    if not parts and not empty:
        raise ValueError(f"{name} is empty: it has to have one array at least")
    for k, part in enumerate(parts):
        _check_plain(part, f"{name}[{k}]")
    return parts


def _check_plain(x: Any, name: str) -> None:
    if is_lazy(x):
        raise TypeError(f"{name} is an array of dask, which is taken when it is computed: pass {name}.compute()")
    if is_labelled(x):
        raise TypeError(f"{name} is a {type(x).__module__}.{type(x).__name__}: pass the array that it holds")


def _check_seen(parts: Sequence[Any]) -> None:
    """The rules of a list whose arrays are stacked by their framework."""
    first = parts[0]
    for k, part in enumerate(parts):
        for field, error in (("shape", ValueError), ("dtype", TypeError)):
            value, expected = getattr(part, field), getattr(first, field)
            if value != expected:
                shape = tuple if field == "shape" else dtype_name
                raise error(f"arrays[{k}].{field} = {shape(value)} differs from arrays[0].{field} = {shape(expected)}")


def _order(axes: Any, rank: int) -> tuple[int, ...]:
    return tuple(range(rank)) if axes is None else order_of(axes, rank)


def _front(axis: int, rank: int) -> tuple[int, ...]:
    return (axis, *[i for i in range(rank) if i != axis])


def _result_for(
    framework: Framework, x: Any, source: Array, shape: tuple[int, ...], out: Any, dtype: Any
) -> tuple[Any, Array]:
    """The result, which is `out` where there is one, and its memory."""
    wanted = None if dtype is None else framework.dtype(dtype)
    if dtype is not None:
        framework.will_change_values("x")
    if out is None:
        like = source if wanted is None else source._replace(dtype=wanted)
        result = framework.empty(x, like, shape, None)
        target = framework_of(result).read(result, "the result")
        return result, target._replace(shape=shape, strides=packed_strides(shape, target.itemsize))
    writer = framework_of(out)
    writer.will_write(out, "out")
    target = writer.read(out, "out")
    check_pair(target, unread(source, shape), "out", "x", "the shape of the result", wanted)
    return out, target
