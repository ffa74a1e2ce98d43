"""solve: the layout of a tile in shared memory that has no bank conflicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import index
from typing import Any

from cornerturn import _lab
from cornerturn._layout import Layout, element_size


class Answer:
    """One layout of a `Solution` with the lanes that write and read it.

    `answer(row, column)` is the offset of an element, also where CuTe has no such layout.
    """

    def __init__(self, answer: _lab.Answer, facts: dict[str, Any]) -> None:
        self._answer = answer
        self._facts = facts

    def __call__(self, row: int, column: int) -> int:
        """The offset of an element."""
        return self._answer.at(index(row), index(column))

    @property
    def text(self) -> str:
        """The layout in CuTe's notation, or in words."""
        return self._answer.text

    @property
    def kind(self) -> str:
        """`plain`, `swizzle`, `TMA boxes`, `chunk xor`, `rotation` or `padding`."""
        return self._facts["kind"]

    @property
    def layout(self) -> Layout | None:
        """As CuTe's layout, or None where it is none."""
        layout = self._answer.layout
        return None if layout is None else Layout._of(layout)

    @property
    def clean(self) -> bool:
        """Are both sides free of bank conflicts?"""
        return self._facts["conflict_free"]

    @property
    def write(self) -> dict[str, Any]:
        """How it is written: lanes, bytes a lane, requests, wavefronts and their floor."""
        return self._facts["write"]

    @property
    def read(self) -> dict[str, Any]:
        """How it is read."""
        return self._facts["read"]

    @property
    def wavefronts(self) -> int:
        """The wavefronts of both sides, over the whole tile."""
        return self._facts["wavefronts"]

    @property
    def floor(self) -> int:
        """The number of wavefronts without bank conflicts."""
        return sum(side.get("floor", 0) for side in (self.write, self.read))

    @property
    def shared_bytes(self) -> int:
        """The bytes of shared memory that the tile takes."""
        return self._facts["shared_bytes"]

    @property
    def address_instructions(self) -> int:
        """An estimate of the integer instructions that a thread needs more than for plain rows."""
        return self._facts["address_instructions"]

    @property
    def tma(self) -> bool:
        """Can TMA fill the tile?"""
        return self._facts["tma"]

    @property
    def code(self) -> dict[str, str]:
        """Code to paste: `cute_cpp`, `cute_python`, `gluon` and `cuda`, where these can say it."""
        return dict(self._answer.code)

    def to_dict(self) -> dict[str, Any]:
        """All of it but the code, for programs."""
        return dict(self._facts)

    def svg(self) -> str:
        """The tile with the lanes of the costliest request, and the wavefronts, as SVG."""
        return self._answer.svg()

    def draw(self, width: int = 100) -> str:
        """The drawing as text of at most `width` characters a line."""
        return self._answer.draw(width)

    def __repr__(self) -> str:
        return f"<Answer {self.text}: {_cost(self)}>"

    def _repr_svg_(self) -> str:
        return self.svg()


class Solution:
    """Holds what `solve` found: the best layout, its proof, and the best of each other kind.

    `print` shows all of it with the code to paste, a notebook the picture of the best.
    """

    def __init__(self, solution: _lab.Solution) -> None:
        self._solution = solution
        self._facts: dict[str, Any] = json.loads(solution.json())
        self.answers: tuple[Answer, ...] = tuple(
            Answer(answer, facts)
            for answer, facts in zip(_lab.answers(solution), self._facts["answers"], strict=True)
        )

    @property
    def best(self) -> Answer:
        """The best answer. `answers` holds the best of each kind, in order."""
        return self.answers[0]

    @property
    def layout(self) -> Layout | None:
        """The best answer as CuTe's layout, or None where CuTe has none."""
        return self.best.layout

    @property
    def clean(self) -> bool:
        """Is the best answer free of bank conflicts?"""
        return self.best.clean

    @property
    def wavefronts(self) -> int:
        """The wavefronts of both sides of the best answer, over the whole tile."""
        return self.best.wavefronts

    @property
    def floor(self) -> int:
        """The number of wavefronts without bank conflicts."""
        return self.best.floor

    @property
    def code(self) -> dict[str, str]:
        """The code of the best answer: `cute_cpp`, `cute_python`, `gluon` and `cuda`."""
        return self.best.code

    @property
    def verdict(self) -> str:
        """One sentence on the best answer."""
        return _cost(self.best)

    @property
    def proof(self) -> str:
        """How it is known that the best answer costs so much."""
        return self._facts["proof"].rstrip("\n")

    @property
    def textbook(self) -> dict[str, Any]:
        """What the textbook rule gives, whether that is right here, and why not."""
        return self._facts["textbook"]

    @property
    def searched(self) -> int:
        """How many layouts were searched."""
        return self._facts["searched"]

    @property
    def text(self) -> str:
        """All that there is to say."""
        return self._solution.text()

    def to_dict(self) -> dict[str, Any]:
        """All of it, for programs."""
        return json.loads(self._solution.json())

    def svg(self) -> str:
        """The picture of the best answer as SVG."""
        return self.best.svg()

    def draw(self, width: int = 100) -> str:
        """The drawing as text of at most `width` characters a line."""
        return self.best.draw(width)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Solution {self.best.text}: {self.verdict}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def solve(
    tile: Sequence[int],
    dtype: Any = "float32",
    *,
    write: str = "rows",
    read: str = "columns",
    vector: int = 0,
    tma: bool = False,
    pad: bool = False,
    device: str = "h200",
) -> Solution:
    """Finds the layout by which a tile is written one way and read another without bank conflicts.

    Args:
        tile: the numbers of rows and columns.
        dtype: the type of an element, of 1, 2, 4, 8 or 16 bytes.
        write: how the tile is written, which is by `"rows"`, `"columns"`, `"blocks"`, `"diagonal"`,
            `"ldmatrix"` or `"tma"`.
        read: how the tile is read, which is in the same ways but for `"tma"`.
        vector: the bytes a lane; with 0 all widths are tried.
        tma: tries only tiles that TMA can fill.
        pad: tries only rows that lie further apart.
        device: the GPU whose shared memory is meant, as in `explain`.

    Raises:
        ValueError: a side or a width is unknown; or the tile is larger than the shared memory, or no
            whole number of such accesses.

    Example:
        >>> cornerturn.solve((64, 64), "float32", vector=16)
        <Solution Swizzle<3,2,6> o (64,64):(64,1): free of bank conflicts>
    """
    sides = tuple(tile) if isinstance(tile, (tuple, list)) else ()
    if len(sides) != 2 or not all(hasattr(side, "__index__") for side in sides):
        raise ValueError(f"tile = {tile!r} is not (rows, columns)")
    rows, columns = map(index, sides)
    return Solution(
        _lab.solve(rows, columns, element_size(dtype), write, read, index(vector), tma, pad, device)
    )


def _cost(answer: Answer) -> str:
    if answer.clean:
        return "free of bank conflicts"
    return f"{answer.wavefronts} wavefronts, {answer.floor} at the floor"
