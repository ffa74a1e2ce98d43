"""explain: what accesses to a tile in shared memory cost, and why; and the page that shows it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

from cornerturn import _lab
from cornerturn._layout import Layout, as_layout, element_size
from cornerturn._options import Dtype


@dataclass(frozen=True)
class AccessCost:
    """Says what one access of an `Explanation` costs over the whole tile.

    - `name`, `op` (`load`, `store`, `ldmatrix` or `stmatrix`), `bytes_a_lane`
    - `requests` of a warp each, their `wavefronts`, and the `floor`: those without bank conflicts
    - `verdict`: one sentence; `why`: who meets whom, empty without bank conflicts
    """

    name: str
    op: str
    bytes_a_lane: int
    requests: int
    wavefronts: int
    floor: int
    verdict: str
    why: str

    @property
    def clean(self) -> bool:
        """Is it free of bank conflicts?"""
        return self.wavefronts == self.floor


class Explanation:
    """Says what accesses to a layout cost, and why.

    `print` shows all of it, a notebook the picture.
    """

    def __init__(self, explained: _lab.Explanation, asked: tuple[list[str], bool, int] = ([], False, 0)) -> None:
        self._explained = explained
        self._asked = asked  # accesses, store, vector

    @property
    def layout(self) -> Layout:
        """What was explained."""
        return Layout._of(self._explained.layout)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return json.loads(self._explained.json())

    @cached_property
    def accesses(self) -> tuple[AccessCost, ...]:
        """What each access costs, in the order of the question; a rung's legs follow each other."""
        return tuple(
            AccessCost(
                each["access"],
                each["op"],
                each["bytes_a_lane"],
                each["requests"],
                each["wavefronts"],
                each["floor"],
                each["verdict"],
                each.get("why", ""),
            )
            for each in self._facts["accesses"]
        )

    @property
    def wavefronts(self) -> int:
        """The wavefronts of all accesses to the whole tile."""
        return sum(access.wavefronts for access in self.accesses)

    @property
    def floor(self) -> int:
        """The number of wavefronts without bank conflicts."""
        return sum(access.floor for access in self.accesses)

    @property
    def clean(self) -> bool:
        """Are there no bank conflicts, and no two elements at one place?"""
        return self._facts["clean"]

    @property
    def same_place(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Two coordinates that lie at one place, or None."""
        found = self._facts.get("not_injective")
        return None if found is None else (tuple(found["a"]), tuple(found["b"]))

    @property
    def verdict(self) -> str:
        """A sentence for each access."""
        parts = [f"{access.name}: {access.verdict}" for access in self.accesses]
        if self.same_place is not None:
            first, second = self.same_place
            parts.insert(0, f"not injective: {first} and {second} lie at one place")
        return "; ".join(parts)

    @property
    def remedy(self) -> Layout | None:
        """A swizzle, or padding, under which no access has conflicts; None where none is needed or
        known."""
        layout = self._explained.remedy
        return None if layout is None else Layout._of(layout)

    @property
    def shared_bytes(self) -> int:
        """The bytes of shared memory that the tile takes."""
        return self._facts["shared_bytes"]

    @property
    def slowdown(self) -> float:
        """How many times as long as a plain copy a transposition takes that only this tile and the memory bound."""
        return self._facts["time"]["slowdown"] if "time" in self._facts else 1.0

    @property
    def text(self) -> str:
        """All that there is to say."""
        return self._explained.text()

    def to_dict(self) -> dict[str, Any]:
        """All of it, for programs."""
        return json.loads(self._explained.json())

    def svg(self) -> str:
        """The tile with the lanes of the costliest request, and the wavefronts, as SVG."""
        return self._explained.svg()

    def draw(self, width: int = 100) -> str:
        """The drawing as text of at most `width` characters a line."""
        return self._explained.draw(width)

    def html(self) -> str:
        """The page of the lab, which opens with this question: one file that needs no network. A package that was
        built without emscripten has none, and raises a RuntimeError."""
        return _lab.page(_lab.link_to_tile(self._explained.layout, self._facts["bytes"], *self._asked))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        if not self.accesses:
            found = "injective" if self.same_place is None else self.verdict
        else:
            found = f"{self.wavefronts} wavefronts, {self.floor} at the floor"
        return f"<Explanation {self._facts['layout']}: {found}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def explain(
    layout: Layout | str,
    access: str | Iterable[str] = (),
    *,
    dtype: Dtype | None = None,
    vector: int = 0,
    store: bool = False,
    device: str = "h200",
) -> Explanation:
    """Says what warps' accesses to a tile in shared memory cost, and why.

    Args:
        layout: the tile, which is a `Layout` or its text, of one mode (a row) or two.
        access: one or several of `"rows"`, `"columns"`, `"blocks"`, `"diagonal"`, `"ldmatrix"`,
            `"stmatrix"`, `"tv:LAYOUT"`, `"table:LANES"` and `"rung:NAME"`, each with `:load` or
            `:store` and the bytes a lane where they differ from what follows: `"columns:store:16"`.
        dtype: the type of an element, of 1, 2, 4, 8 or 16 bytes. None is what the pointer in a layout
            that CuTe has printed says, and float32 without one.
        vector: the bytes a lane of accesses that do not say; 0 means one element.
        store: treats accesses that do not say as stores instead of loads.
        device: the GPU whose time and shared memory are meant: "h200", "b200", ..., or the path of
            a JSON file that describes one.

    Raises:
        ValueError: the notation has a mistake, whose place is named; an access is unknown, misaligned
            or of elements that are no neighbours; or the tile is larger than the shared memory.

    Example:
        >>> cornerturn.explain("(32,32):(32,1)", access="columns")
        <Explanation (32,32):(32,1): 1024 wavefronts, 32 at the floor>
    """
    accesses = [access] if isinstance(access, str) else list(access)
    for i, text in enumerate(accesses):
        if not isinstance(text, str):
            raise TypeError(f"access[{i}] = {text!r} is no text")
    said = _lab.element_bytes(layout) if isinstance(layout, str) else 0
    size = element_size("float32" if dtype is None else dtype)
    if dtype is not None and said not in (0, size):
        raise ValueError(f"dtype = {dtype!r} has {size} bytes, but the layout's pointer has elements of {said}")
    size = size if dtype is not None else said or size
    explained = _lab.explain(as_layout(layout)._layout, size, accesses, store, index(vector), device)
    return Explanation(explained, (accesses, store, index(vector)))


def lab_page(link: str = "") -> str:
    """Returns the page of the swizzle lab: one HTML file that needs no network.

    It shows bank conflicts, sectors, the rungs of the ladder and a moving tile, and is changed in a browser.

    Args:
        link: what the page opens with, as its address has it behind the `#`: `"view=rung&rung=smem"`.

    Raises:
        RuntimeError: the package was built without emscripten.
    """
    return _lab.page(link)
