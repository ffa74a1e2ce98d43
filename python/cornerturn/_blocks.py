"""quantise and dequantise: blocks of values that share a scale, in every format of the library's table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from cornerturn import _core
from cornerturn._arrays import HOST, Array, axis_of, dtype_name, order_of, packed_strides, shown
from cornerturn._frameworks import Framework, stream_for
from cornerturn._listed import Table, Words, in_words, index_table
from cornerturn._values import operand
from cornerturn._work import Work, read, result


class Format(NamedTuple):
    """A row of the table."""

    name: str
    dtype: str  # of the values; blocks whose scale is inside are bytes
    along: int  # values of a block along its axis
    across: int  # lines of a block
    of_unit: int  # values that an element of the values holds
    unit_bytes: int
    scales: str  # the dtype of the scales, "" where they are inside the blocks

    @property
    def packed(self) -> bool:
        return not self.scales


FORMATS = {row[0]: Format(*row) for row in _core.block_formats()}
SCALES = ("floor", "ceil", "even", "exact")
LAYOUTS = ("packed", "padded", "mn_major", "mn_major_padded", "packed_4", "tiles_128x4")


def order_of_scales(layout: str) -> str:
    """What the core has to know beside strides."""
    return layout if layout in ("packed_4", "tiles_128x4") else ""


class How(NamedTuple):
    """What is asked for, beside the axes."""

    format: str
    pad: bool = False
    scale: str = ""  # "": as the format has it
    layout: str = ""  # of the scales; "": what suits the format
    tensor_scale: float = 1.0
    seed: int | None = None  # None: rounded to the nearest value

    @property
    def row(self) -> Format:
        return FORMATS[self.format]

    def of_shape(self, rank: int, axis: int) -> How:
        """With the layout that torch._scaled_mm takes, where none is asked for and blocks run along rows."""
        if self.layout:
            return self
        rows = rank > 1 and axis % rank == rank - 1
        suits = rows and self.row.scales == "float32" and self.row.across == 1
        return self._replace(layout="mn_major" if suits else "packed")

    def core(self) -> _core.BlockHow:
        order = order_of_scales(self.layout)
        return _core.BlockHow(self.format, self.pad, self.scale, order, self.tensor_scale, self.seed)


def checked(
    format: str,
    pad: bool,
    scale: str | None,
    layout: str | None,
    tensor_scale: float | None,
    seed: int | None,
    others: Iterable[str] = (),
) -> How:
    """What is asked for by the arguments of the public functions."""
    if format not in FORMATS:
        raise ValueError(f"format = {shown(format)} is none of {', '.join((*FORMATS, *others))}")
    if scale is not None and scale not in SCALES:
        raise ValueError(f"scale = {shown(scale)} is none of {', '.join(map(repr, SCALES))}")
    row = FORMATS[format]
    if layout is not None and layout not in LAYOUTS:
        raise ValueError(f"scale_layout = {shown(layout)} is none of {', '.join(map(repr, LAYOUTS))}")
    if layout not in (None, "packed") and row.packed:
        raise ValueError(f"scale_layout = {layout!r}: the scales of {format} are inside its blocks")
    if layout in ("packed_4", "tiles_128x4") and row.scales != "uint8":
        raise ValueError(f"scale_layout = {layout!r}: scales of {format} are float32, not bytes")
    if tensor_scale is not None and format != "nvfp4":
        raise ValueError(f"tensor_scale = {shown(tensor_scale)}: only nvfp4 has one")
    if tensor_scale is not None and tensor_scale <= 0:
        raise ValueError(f"tensor_scale = {shown(tensor_scale)} has to be positive")
    if seed is not None and row.packed:
        raise ValueError(f"seed = {shown(seed)}: {format} is rounded to the nearest value")
    if row.packed and scale not in (None, "floor"):
        raise ValueError(f"scale = {scale!r}: the scales inside the blocks of {format} follow one rule")
    if row.packed:
        scale = None
    return How(format, bool(pad), scale or "", layout or "", 1.0 if tensor_scale is None else float(tensor_scale), seed)


class Rows(NamedTuple):
    """Entries along axis 0 of an array."""

    indices: Any
    missing: bool  # -1 stands for an entry of zeros
    checked: bool | None = None  # also where they lie on a GPU


class Shapes(NamedTuple):
    """Shapes of the values as they are made, of the blocks, and of the values as the core counts them."""

    values: tuple[int, ...]
    blocks: tuple[int, ...]
    units: tuple[int, ...]


def quantised_shapes(shape: tuple[int, ...], how: How, axis: int) -> Shapes:
    row, place = how.row, axis_of(axis, len(shape))
    how = how.of_shape(len(shape), axis)
    if how.layout != "packed" and place != len(shape) - 1:
        raise ValueError(f"scale_layout = {how.layout!r}: blocks have to run along the last axis of the result")
    across = None
    if row.across > 1 or how.layout not in ("packed", "padded"):
        if len(shape) < 2:
            raise ValueError(f"x.shape = {shape}: {row.name} with these scales is made of matrices")
        across = len(shape) - 2 if place == len(shape) - 1 else len(shape) - 1
    blocks = _counted(shape, place, row.along, how.pad)
    units = _with(blocks, place, blocks[place] * (row.along // row.of_unit))
    if row.across > 1:
        blocks = _counted(blocks, across, row.across, how.pad)
        units = _with(units, across, blocks[across] * row.across)
    values = units
    if row.packed:
        last = place == len(shape) - 1
        values = _with(units, place, units[place] * row.unit_bytes) if last else (*units, row.unit_bytes)
    return Shapes(values, blocks, units)


def make_scales(empty: Callable[[tuple[int, ...], str], Any], blocks: tuple[int, ...], how: How) -> Any:
    """New scales of so many blocks, in their layout."""
    return scales_in(empty, blocks, how.layout, how.row.scales)


def scales_in(empty: Callable[[tuple[int, ...], str], Any], blocks: tuple[int, ...], layout: str, dtype: Any) -> Any:
    """An array for scales of this shape, in a layout."""
    *others, lines, count = (1, *blocks) if len(blocks) == 1 else blocks
    if layout == "padded":
        return empty((*blocks[:-1], _up(count, 4)), dtype)[..., :count]
    if layout == "tiles_128x4":
        return empty((*others, _up(lines, 128) * _up(count, 4)), dtype)
    if layout == "packed_4":
        return empty((*others, _up(count, 4) // 4, _up(lines, 4)), "int32")[..., :lines].swapaxes(-1, -2)
    if layout.startswith("mn_major"):
        pitch = _up(lines, 4) if layout.endswith("padded") else lines
        return empty((*others, count, pitch), dtype)[..., :lines].swapaxes(-1, -2)
    return empty(blocks, dtype)


def quantise_blocks(
    x: Any, how: How, axes: Sequence[int] | None, axis: int, stream: Any = None, rows: Rows | None = None
) -> list[Any]:
    """`quantise` in blocks, of an array that is nothing but memory: the values, and the scales unless they
    are inside the blocks."""
    framework, source = read(x, "x")
    order = order_of(range(source.rank) if axes is None else axes, source.rank)
    source, listed = _rows_of(source, rows, framework, order, stream)
    source = source.permuted(order)
    place = axis_of(axis, source.rank)
    how = how.of_shape(source.rank, place)
    shapes = quantised_shapes(source.shape, how, place)
    work = Work(framework, x, source, stream, "x")
    values = work.empty(shapes.values, how.row.dtype)
    made = [values] if how.row.packed else [values, make_scales(work.empty, shapes.blocks, how)]
    _run(
        work,
        listed,
        _core.quantise,
        how.core(),
        _units(result(values), how, shapes.units),
        None if how.row.packed else _scales(result(made[1]), how, shapes.blocks),
        operand(source),
        place,
    )
    return made


def quantise_blocks_both(x: Any, how: How, stream: Any = None, rows: Rows | None = None) -> list[Any]:
    """`quantise_both` of a matrix that is nothing but memory."""
    framework, source = read(x, "x")
    source, listed = _rows_of(source, rows, framework, range(source.rank), stream)
    check_both(how, source.shape)
    how = how.of_shape(2, 1)
    work = Work(framework, x, source, stream, "x")
    made: list[Any] = []
    counted: list[Shapes] = []
    for shape in (source.shape, source.shape[::-1]):
        shapes = quantised_shapes(shape, how, 1)
        made += [work.empty(shapes.values, how.row.dtype), make_scales(work.empty, shapes.blocks, how)]
        counted.append(shapes)
    of_rows, columns = counted
    _run(
        work,
        listed,
        _core.quantise_both,
        how.core(),
        _units(result(made[0]), how, of_rows.units),
        _scales(result(made[1]), how, of_rows.blocks),
        _units(result(made[2]), how, columns.units),
        _scales(result(made[3]), how, columns.blocks),
        operand(source),
    )
    return made


class Listed(NamedTuple):
    """The table of rows, and how the core reads it."""

    table: Table
    entries: _core.TableOf
    checked: bool | None


def _rows_of(
    source: Array, rows: Rows | None, framework: Framework, order: Sequence[int], stream: Any
) -> tuple[Array, Listed | None]:
    """The array that `rows` make of one, and how their table is read with the axes in the order `order`."""
    if rows is None:
        return source, None
    if source.rank == 0:
        raise ValueError("x has no axis that indices could be of")
    if stream is not None and not rows.missing and hasattr(rows.indices, "__dlpack_device__") and source.device != HOST:
        raise ValueError(
            f"stream = {shown(stream)}: indices that count from the end are made ready on the current stream; "
            "missing = 'zeros' takes them as they are"
        )
    extent = source.shape[0]
    number = stream_for(framework, source.device, stream, "x")
    table = index_table(rows.indices, extent, 0, rows.missing, framework, source, number)
    chosen = source._replace(shape=(table.length, *source.shape[1:]))
    return chosen, Listed(table, table.along(list(order).index(0), extent), rows.checked)


def _run(work: Work, listed: Listed | None, call: Any, *arguments: Any) -> None:
    options = {} if listed is None else {"src_list": listed.entries, "checked": listed.checked}
    try:
        work.run(call, *arguments, **options)
    except ValueError as error:
        if listed is None:
            raise
        raise ValueError(in_words(str(error), _WORDS)) from None
    finally:
        del arguments, options  # who keeps an error keeps this frame
    if listed is not None and listed.table.device != HOST:
        work.uses(listed.table.owner)


def _index_word(k: int) -> str:
    return f"indices[{k}]"


_WORDS = Words("the result", "x", _index_word, _index_word)


def check_both(how: How, shape: Sequence[int]) -> None:
    if how.row.packed or len(shape) != 2:
        raise ValueError(
            f"format = {how.format!r}, x.shape = {tuple(shape)}: both copies are made of a matrix, in a format "
            "with an array of scales"
        )


def dequantise_blocks(
    blocks: Any, how: How, axes: Sequence[int] | None, scales: Any, dtype: Any, stream: Any = None
) -> Any:
    """`dequantise` of blocks that are nothing but memory."""
    framework, source = read(blocks, "blocks")
    row = how.row
    if dtype_name(source.dtype) != row.dtype:
        raise TypeError(f"blocks.dtype = {dtype_name(source.dtype)}: {how.format} is {row.dtype}")
    if source.rank == 0 or not source.is_packed():
        raise ValueError("blocks has to be contiguous, with one axis or more")
    shape = dequantised_shape(source.shape, how)
    # All lines of square blocks are there, those that were filled up as well.
    how = how.of_shape(len(shape), -1)._replace(pad=True)
    shapes = quantised_shapes(shape, how, -1)
    if shapes.values != source.shape:
        raise ValueError(f"blocks.shape = {source.shape} has to be {shapes.values}: whole blocks of {how.format}")
    code = None
    if scales is not None:
        _, code = read(scales, "scales")
        code = _checked_scales(code, how, shapes.blocks)
        if code.device != source.device:
            raise ValueError("scales and blocks have to be on one device")
    order = order_of(range(len(shape)) if axes is None else axes, len(shape))
    work = Work(framework, blocks, source, stream, "blocks")
    numbers = work.empty(tuple(shape[i] for i in order), dtype)
    target = result(numbers)
    packed = packed_strides(target.shape, target.itemsize)
    strides = [0] * len(shape)
    for axis, stride in zip(order, packed, strict=True):
        strides[axis] = stride
    work.run(
        _core.dequantise,
        how.core(),
        operand(target._replace(shape=shape, strides=tuple(strides))),
        _units(source, how, shapes.units),
        None if code is None else _scales(code, how, shapes.blocks),
        len(shape) - 1,
    )
    if scales is not None:
        work.uses(scales)
    return numbers


def dequantised_shape(shape: tuple[int, ...], how: How) -> tuple[int, ...]:
    """The shape of the values of packed blocks, before they are permuted."""
    row = how.row
    of_block = row.unit_bytes if row.packed else row.along // row.of_unit
    if shape[-1] % of_block:
        raise ValueError(f"blocks.shape[-1] = {shape[-1]} is no multiple of {of_block}, a block")
    return (*shape[:-1], shape[-1] // of_block * row.along)


def _checked_scales(scales: Array, how: How, blocks: tuple[int, ...]) -> Array:
    """Scales as they are given: in any strides where these say all, else as they are made."""
    expected = stored_shape(blocks, how.layout)
    dtype = "int32" if how.layout == "packed_4" else how.row.scales
    if dtype_name(scales.dtype) != dtype:
        raise TypeError(f"scales.dtype = {dtype_name(scales.dtype)}: it has to be {dtype}")
    if scales.shape != expected:
        raise ValueError(f"scales.shape = {scales.shape} has to be {expected}")
    if how.layout == "tiles_128x4" and not scales.is_packed():
        raise ValueError("scales in tiles have to be contiguous")
    return scales


def stored_shape(blocks: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """The shape of scales as they are stored."""
    *others, lines, count = (1, *blocks) if len(blocks) == 1 else blocks
    if layout == "tiles_128x4":
        return (*others, _up(lines, 128) * _up(count, 4))
    return (*others, lines, _up(count, 4) // 4) if layout == "packed_4" else blocks


def _scales(array: Array, how: How, blocks: tuple[int, ...]) -> _core.Operand:
    return scales_operand(array, how.layout, blocks)


def scales_operand(array: Array, layout: str, blocks: tuple[int, ...]) -> _core.Operand:
    """Scales as the core counts them: tiles have axes of their own."""
    if layout != "tiles_128x4":
        return operand(array)
    *others, lines, count = blocks
    tiles = (*others, -(-lines // 128), -(-count // 4), 512)
    return operand(array._replace(shape=tiles, strides=packed_strides(tiles, 1)))


def _units(array: Array, how: How, units: tuple[int, ...]) -> _core.Operand:
    return operand(units_of(array, how, units))


def units_of(array: Array, how: How, units: tuple[int, ...]) -> Array:
    """The bytes of packed blocks as elements of a whole block each."""
    if not how.row.packed:
        return array
    size = how.row.unit_bytes
    return array._replace(dtype=f"b{size}", shape=units, strides=packed_strides(units, size))


def _counted(shape: tuple[int, ...], axis: int, of_block: int, pad: bool) -> tuple[int, ...]:
    if not pad and shape[axis] % of_block != 0:
        raise ValueError(
            f"blocks would run along an axis of {shape[axis]} values, which is no multiple of {of_block}: "
            "pad=True adds zeros"
        )
    return _with(shape, axis, -(-shape[axis] // of_block))


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _with(shape: Sequence[int], axis: int, extent: int) -> tuple[int, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])
