"""Layout and Swizzle: where the elements of a tile lie, as CuTe writes it."""

from __future__ import annotations

import json
from operator import index
from typing import Any, Union

from cornerturn import _lab
from cornerturn._plan import itemsize_of

IntTuple = Union[int, tuple["IntTuple", ...]]


class Swizzle:
    """CuTe's `Swizzle<B, M, S>`: `bits` bits of an offset are xor-ed into as many others.

    Bits from `base + shift` on are xor-ed into those from `base` on; with a negative shift it is the
    other way round. Offsets count elements. A value: equal when the three numbers are.

    Example:
        >>> cornerturn.Swizzle(3, 2, 6) @ cornerturn.Layout((64, 64), (64, 1))
        Layout('Swizzle<3,2,6> o (64,64):(64,1)')
    """

    __slots__ = ("_numbers", "_text")

    def __init__(self, bits: int, base: int, shift: int) -> None:
        self._numbers = (index(bits), index(base), index(shift))
        self._text = _lab.swizzle(self._numbers)

    @property
    def bits(self) -> int:
        """B: how many bits are xor-ed."""
        return self._numbers[0]

    @property
    def base(self) -> int:
        """M: how many of the lowest bits stay as they are."""
        return self._numbers[1]

    @property
    def shift(self) -> int:
        """S: how far the bits that are read lie above those that change."""
        return self._numbers[2]

    def __call__(self, offset: int) -> int:
        """Where the swizzle puts an offset."""
        offset = index(offset)
        if offset < 0:
            raise ValueError(f"offset = {offset}: offsets are not negative")
        return _lab.swizzled(self._numbers, offset)

    def of(self, layout: Layout | str) -> Layout:
        """The layout under this swizzle: `swizzle @ layout`."""
        return Layout._of(as_layout(layout)._layout.swizzled(self._numbers))

    def __matmul__(self, other: object) -> Layout:
        return self.of(other) if isinstance(other, Layout) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Swizzle) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Swizzle{self._numbers}"


class Layout:
    """A layout of CuTe's, which leads from the coordinates of a tile to the offsets of its elements.

    It is made of a text, `Layout("Swizzle<3,2,6> o (64,64):(64,1)")`, or of shape and stride as nested
    tuples; a shape alone has the strides of column-major order. The first mode counts the rows of a
    tile, the second its columns. Two layouts are equal when they are written equally. In a notebook a
    layout shows itself as the tile over the 32 banks of shared memory, as 4-byte elements.

    Example:
        >>> tile = cornerturn.Layout("(64,64):(65,1)")
        >>> tile(1, 2), tile.shape, tile.size, tile.cosize
        (67, (64, 64), 4096, 4159)
    """

    __slots__ = ("_layout",)

    _layout: _lab.Layout

    def __init__(
        self, text: str | IntTuple | list[Any] | Layout, stride: IntTuple | list[Any] | None = None
    ) -> None:
        if isinstance(text, Layout):
            text = str(text)
        elif not isinstance(text, str):
            text = _notation(text, "shape")
            if stride is not None:
                text = f"{text}:{_notation(stride, 'stride')}"
                stride = None
        if stride is not None:
            raise TypeError(f"stride = {stride!r}, but {text!r} is text, which has its own")
        self._layout = _lab.Layout(text)

    @classmethod
    def _of(cls, layout: _lab.Layout) -> Layout:
        made = cls.__new__(cls)
        made._layout = layout
        return made

    def __reduce__(self) -> tuple[type[Layout], tuple[str]]:
        return Layout, (str(self),)

    @property
    def shape(self) -> IntTuple:
        """The extents, nested as they are written."""
        return self._layout.shape

    @property
    def stride(self) -> IntTuple:
        """The strides in elements, nested like the shape."""
        return self._layout.stride

    @property
    def rank(self) -> int:
        """How many modes there are."""
        return self._layout.rank

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return self._layout.size

    @property
    def cosize(self) -> int:
        """The number of elements that need room, from the lowest offset to the highest. Under a
        swizzle, and without negative strides, all offsets are below it."""
        return self._layout.cosize

    @property
    def swizzle(self) -> Swizzle | None:
        """The swizzle that is applied to offsets at the end, or None."""
        numbers = self._layout.swizzle
        return Swizzle(*numbers) if numbers[0] > 0 else None

    @property
    def offset(self) -> int:
        """The number that is added to offsets before the swizzle; 0 unless it was written."""
        return self._layout.offset

    def __call__(self, *coordinates: IntTuple) -> int:
        """The offset of a coordinate: one (nested) number a mode, or one number for all modes."""
        if not coordinates:
            raise TypeError(f"{self} takes a coordinate")
        return self._layout.at(coordinates)

    def offsets(self) -> list[list[int]]:
        """The offsets of all elements, row by row. A layout of one mode is one row."""
        if self.rank > 2:
            raise ValueError(f"{self} has {self.rank} modes: rows and columns are two")
        rows, columns = self._rows_and_columns()
        at = self._layout.at
        if self.rank == 1:
            return [[at((column,)) for column in range(columns)]]
        return [[at((row, column)) for column in range(columns)] for row in range(rows)]

    def _rows_and_columns(self) -> tuple[int, int]:
        shape = self.shape
        if self.rank == 1:
            return 1, self.size
        assert isinstance(shape, tuple)
        return _product(shape[0]), _product(shape[1])

    def __matmul__(self, other: object) -> Layout:
        """The composition `a @ b` takes coordinates of `b` and gives offsets of `a`: (a @ b)(i) is
        a(b(i)). Raises ValueError where `b` leads beyond `a`, and where no layout does this."""
        if not isinstance(other, Layout):
            return NotImplemented
        return Layout._of(self._layout.composed(other._layout))

    def svg(self, dtype: Any = "float32", unit: int = 1, offsets: bool = False) -> str:
        """The tile over the banks of shared memory as SVG, without and with the swizzle. `unit`
        neighbours are one cell where they lie together; labels are banks, or offsets."""
        return self._layout.svg(element_size(dtype), _unit(unit), offsets)

    def draw(
        self, dtype: Any = "float32", unit: int = 1, offsets: bool = False, width: int = 100
    ) -> str:
        """The drawing as text of at most `width` characters a line."""
        return self._layout.draw(element_size(dtype), _unit(unit), offsets, width)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._layout == other._layout

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return str(self._layout)

    def __repr__(self) -> str:
        return f"Layout({str(self)!r})"

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg(unit=1 if self.size <= 1024 else 4)
        except ValueError:  # no tile: negative offsets
            return None


class Conversion:
    """One swizzle in the words of CuTe, of bytes, of Triton and of TMA, for one size of element."""

    def __init__(self, swizzle: str, itemsize: int, row: int, as_itemsize: int) -> None:
        self._asked = (swizzle, itemsize, row)
        self._text, facts = _lab.convert(swizzle, itemsize, row, as_itemsize)
        self._facts: dict[str, Any] = json.loads(facts)

    @property
    def itemsize(self) -> int:
        """Bytes of the elements that it is said for."""
        return self._facts["element_bytes"]

    @property
    def cute(self) -> Swizzle | None:
        """CuTe's, in elements; None where it would tear elements apart."""
        text = self._facts["cute"]
        return None if text is None else _parsed(text)

    @property
    def bytes(self) -> Swizzle:
        """This swizzle, counted in bytes."""
        return _parsed(self._facts["bytes"])

    @property
    def triton(self) -> dict[str, int] | None:
        """`vec`, `per_phase` and `max_phase`, or None where these three cannot say it."""
        return self._facts["triton"]

    @property
    def triton_why_not(self) -> str | None:
        """Why Triton's three cannot say it, or None."""
        return self._facts.get("triton_why_not")

    @property
    def tma(self) -> str | None:
        """TMA's mode, `none`, `32B`, `64B` or `128B`; None where it has no such mode."""
        return self._facts["tma"]

    def recast(self, dtype: Any) -> Conversion:
        """This swizzle of the same bytes, counted in other elements."""
        return Conversion(*self._asked, element_size(dtype))

    def to_dict(self) -> dict[str, Any]:
        """All of it, for programs."""
        return dict(self._facts)

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        return f"<Conversion {self}>"


def convert_swizzle(swizzle: Swizzle | str, dtype: Any = "float32", row: int = 0) -> Conversion:
    """Says one swizzle in all words: in CuTe's elements, in bytes, in Triton's and in TMA's.

    Args:
        swizzle: a `Swizzle` or its text, which count elements; or `"bytes:Swizzle<3,4,3>"`,
            `"triton:4,1,8"` (vec, per_phase, max_phase) or `"tma:128B"`.
        dtype: the type of an element, of 1, 2, 4, 8 or 16 bytes.
        row: the elements of a row, which Triton's numbers depend on; 0 where they are unknown.

    Raises:
        ValueError: there is no such swizzle, mode or numbers; or Triton's numbers lack `row`.

    Example:
        >>> cornerturn.convert_swizzle("tma:128B", "float16", row=64).cute
        Swizzle(3, 3, 3)
    """
    itemsize = element_size(dtype)
    return Conversion(str(swizzle), itemsize, index(row), itemsize)


def element_size(dtype: Any) -> int:
    """Bytes of an element that shared memory has accesses for."""
    itemsize = itemsize_of(dtype)
    if itemsize not in (1, 2, 4, 8, 16):
        raise ValueError(f"dtype = {dtype!r}: elements of {itemsize} B: they have 1, 2, 4, 8 or 16")
    return itemsize


def as_layout(layout: Layout | str) -> Layout:
    """What a user gave as a layout."""
    return layout if isinstance(layout, Layout) else Layout(layout)


def _parsed(text: str) -> Swizzle:
    bits, base, shift = text.removeprefix("Swizzle<").removesuffix(">").split(",")
    return Swizzle(int(bits), int(base), int(shift))


def _notation(value: Any, name: str) -> str:
    if isinstance(value, (tuple, list)):
        return f"({','.join(_notation(part, name) for part in value)})"
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} = {value!r} is no number and no tuple of numbers")
    return str(index(value))


def _product(extents: IntTuple) -> int:
    if isinstance(extents, int):
        return extents
    product = 1
    for extent in extents:
        product *= _product(extent)
    return product


def _unit(unit: int) -> int:
    if index(unit) < 1:
        raise ValueError(f"unit = {unit}: a cell is at least one element")
    return index(unit)
