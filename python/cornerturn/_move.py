"""The general path: what an array holds goes to a new array, or into one that is there."""

from __future__ import annotations

from typing import Any

from cornerturn._arrays import HOST, Array, Crossing, check_pair, execute, is_across, overlap, packed_strides, shown
from cornerturn._frameworks import Framework, framework_of, stream_for
from cornerturn._values import UNCHANGED, Values, changes, convert, differ_in_order


def new_copy(
    framework: Framework,
    x: Any,
    source: Array,
    stream: Any = None,
    values: Values = UNCHANGED,
    shape: tuple[int, ...] | None = None,
) -> Any:
    """`source`, which is the memory of `x`, in a new packed array of x's framework.

    `shape` is that of the result where axes of `source` are merged in it. A `stream` is one that the
    caller has named: derivatives do not follow there.
    """
    if stream is not None:
        framework.will_lose_gradient(x, "x")
    changing = _changes(framework, values, "x")
    if values.beta != 0:
        raise ValueError(f"beta = {shown(values.beta)}, but there is no out to be multiplied by it")
    number = stream_for(framework, source.device, stream, "x")
    dtype = source.dtype if values.dtype is None else framework.dtype(values.dtype)
    result = framework.empty(
        x,
        source._replace(dtype=dtype),
        source.shape if shape is None else shape,
        None if stream is None else number,
    )
    target = framework_of(result).read(result, "the result")
    strides = packed_strides(source.shape, target.itemsize)
    target = target._replace(shape=source.shape, strides=strides)
    if changing:
        convert(target, source, values, number)
    else:
        execute(target, source, number)
    if stream is not None:
        framework.used_on(x, source.device, number)
    return result


def fill(
    out: Any,
    x: Any,
    source: Array,
    stream: Any,
    values: Values,
    names: tuple[str, str, str],
    crossing: Crossing = Crossing(),
    follows_out: bool = False,
) -> None:
    """`source`, which is the memory of `x`, into `out`.

    `stream` is what the caller gave. None is the current one of x's framework, or of out's where the
    call `follows_out`, or x lies in host memory. `names` are what errors call `out`, `x` and the
    shape of `source`.
    """
    name, x_name, _ = names
    reader, writer = framework_of(x), framework_of(out)
    reader.will_lose_gradient(x, x_name)
    writer.will_write(out, name)
    target, number = fill_memory(out, x, source, stream, values, names, crossing, follows_out)
    writer.was_written(out)
    if stream is not None:
        reader.used_on(x, source.device, number)
        writer.used_on(out, target.device, number)


def fill_memory(
    out: Any,
    x: Any,
    source: Array,
    stream: Any,
    values: Values,
    names: tuple[str, str, str],
    crossing: Crossing = Crossing(),
    follows_out: bool = False,
) -> tuple[Array, int]:
    """Asks about the memory alone, whatever the frameworks know of the two beside it.

    Returns the memory of `out`, and the stream that was worked on.
    """
    name, x_name, shape_name = names
    reader, writer = framework_of(x), framework_of(out)
    changing = _changes(reader, values, x_name)
    target = writer.read(out, name)
    across = is_across(target, source)
    dtype = None if values.dtype is None else (writer if across else reader).dtype(values.dtype)
    if dtype is None and differ_in_order(target.dtype, source.dtype):
        dtype, changing = target.dtype, True
    check_pair(target, source, name, x_name, shape_name, dtype, may_cross=True)
    crossing.check_is_across(across, name, x_name)
    if source.device == HOST if across else follows_out:
        number = stream_for(writer, target.device, stream, name)
    else:
        number = stream_for(reader, source.device, stream, x_name)
    if overlap(target, source):  # by their bounds only: their elements interleave
        between = reader.empty(x, source, source.shape, None)
        packed = reader.read(between, "between")
        execute(packed, source, number)
        source = packed
    if changing:
        convert(target, source, values, number, (name, x_name), crossing)
    else:
        execute(target, source, number, (name, x_name), crossing)
    return target, number


def _changes(framework: Framework, values: Values, name: str) -> bool:
    changing = changes(values)
    if changing:
        framework.will_change_values(name)
    return changing
