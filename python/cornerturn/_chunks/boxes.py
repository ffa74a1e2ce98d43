"""Boxes of an array, and how large those of a task should be. All of it is arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

Extents = tuple[int, ...]


class Box(NamedTuple):
    """The indices start[k] <= i < stop[k] of each axis k."""

    start: Extents
    stop: Extents

    @property
    def shape(self) -> Extents:
        return tuple([stop - start for start, stop in zip(self.start, self.stop, strict=True)])

    @property
    def slices(self) -> tuple[slice, ...]:
        return tuple([slice(start, stop) for start, stop in zip(self.start, self.stop, strict=True)])

    def common(self, other: Box) -> Box:
        return Box(tuple(map(max, self.start, other.start)), tuple(map(min, self.stop, other.stop)))

    def within(self, outer: Box) -> tuple[slice, ...]:
        """Its indices counted from the first one of `outer`."""
        return tuple([slice(a - o, b - o) for a, b, o in zip(self.start, self.stop, outer.start, strict=True)])

    def permuted(self, order: Sequence[int]) -> Box:
        return Box(tuple([self.start[k] for k in order]), tuple([self.stop[k] for k in order]))


class Grid(NamedTuple):
    """An array of this shape, cut into boxes of `step`. Those at the far ends may be smaller."""

    shape: Extents
    step: Extents

    @property
    def counts(self) -> Extents:
        return tuple([-(-extent // step) for extent, step in zip(self.shape, self.step, strict=True)])

    def __len__(self) -> int:
        return math.prod(self.counts)

    def box(self, index: Sequence[int]) -> Box:
        start = [i * step for i, step in zip(index, self.step, strict=True)]
        stop = [min(a + step, n) for a, step, n in zip(start, self.step, self.shape, strict=True)]
        return Box(tuple(start), tuple(stop))

    def numbered(self, number: int) -> Box:
        """The box with this number, the last axis counting fastest."""
        index = []
        for count in reversed(self.counts):
            number, i = divmod(number, count)
            index.append(i)
        return self.box(index[::-1])

    def number(self, index: Sequence[int]) -> int:
        number = 0
        for i, count in zip(index, self.counts, strict=True):
            number = number * count + i
        return number

    def meeting(self, box: Box) -> Iterator[Extents]:
        """The indices of the boxes that have elements in common with `box`."""
        spans = zip(box.start, box.stop, self.step, strict=True)
        return product(*[range(start // step, -(-stop // step)) for start, stop, step in spans])


def together(step: Extents, shape: Extents, most: int) -> Extents:
    """So many boxes of `step` side by side, the last axes first, that they have `most` elements or fewer, or one box."""
    found = list(step)
    for axis in reversed(range(len(step))):
        number = max(1, most // max(math.prod(found), 1))
        found[axis] *= min(number, -(-shape[axis] // step[axis]) or 1)
    return tuple(found)


def meetings(extent: int, a: int, b: int) -> int:
    """How many pairs of a box of `a` and one of `b` have elements in common, along one axis."""
    if extent == 0:
        return 0
    return -(-extent // a) + -(-extent // b) - -(-extent // math.lcm(a, b))


@lru_cache(4096)  # a plan is made for several numbers of threads
def covered(extent: int, box: int, chunk: int) -> int:
    """The elements in the chunks that are read for all boxes, one after the other, along one axis."""
    shared = 0  # a chunk that lies in several boxes is read again for each of them
    period = math.lcm(box, chunk)
    cuts = [cut for cut in range(box, min(period, extent), box) if cut % chunk]
    for cut in cuts:
        again = -(-(extent - cut) // period)
        last = cut + (again - 1) * period
        sizes = min(chunk, extent - last // chunk * chunk)
        shared += (again - 1) * chunk + sizes
    return extent + shared


def _sizes(extent: int, unit: int, other: int) -> list[int]:
    """Extents that a box may have: some multiples of `unit`, and of what both divide."""
    found = {extent}
    for base in {unit, math.lcm(unit, other)}:
        for factor in (1, 3, 5):
            size = base * factor
            while size < extent:
                found.add(size)
                size *= 2
    return sorted(found)


def largest_box(
    shape: Extents, unit: Extents, other: Extents, most: int, cost: Callable[[int, int], float], wanted: int
) -> Extents | None:
    """The box of at most `most` elements, in multiples of `unit`, whose product of costs is least.

    `cost(axis, extent)` says what an extent costs along an axis. Of boxes that cost the same within 1 %
    the one is taken that has just `wanted` elements or more. None where a single unit is too large.
    """
    front: list[tuple[int, float, Extents]] = [(1, 1.0, ())]
    for axis, extent in enumerate(shape):
        offered = _sizes(extent, min(unit[axis], extent), min(other[axis], extent))
        priced = [(size, cost(axis, size)) for size in offered if size <= most]
        found = [
            (volume * size, price * times, (*sizes, size))
            for volume, price, sizes in front
            for size, times in priced
            if volume * size <= most
        ]
        front = []
        for entry in sorted(found):
            # More elements are kept for a lower price, and up to `wanted` for the same.
            if not front or entry[1] < front[-1][1] or (entry[0] <= wanted and entry[1] <= front[-1][1]):
                if not front or entry[0] > front[-1][0] or entry[1] < front[-1][1]:
                    front.append(entry)
    if not front:
        return None
    least = min(price for _, price, _ in front)
    good = [entry for entry in front if entry[1] <= 1.01 * least]
    enough = [entry for entry in good if entry[0] >= wanted]
    return (enough[0] if enough else good[-1])[2]
