"""The plan of `cornerturn.rechunk`: how many stages, which boxes, and what they cost."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from cornerturn._chunks.boxes import Extents, Grid, covered, largest_box, meetings

_TASK = 32 << 20  # bytes that a task should at least have: to start one takes about a millisecond
_LEAST = 1 << 20  # bytes beside its arrays that a task is granted


@dataclass(frozen=True)
class Side:
    """What the plan has to know of a source or a target, its axes in the order of the target."""

    chunks: Extents  # what is read or written at a time: those of the array, or parts of them
    itemsize: int
    overhead: int  # bytes of memory for a chunk on its way, beside the array that is filled
    whole: bool = False  # chunks of it may be read once only, since they are computed then


@dataclass(frozen=True)
class Stage:
    """One pass over all elements, in tasks that are independent of each other."""

    box: Extents  # what a task reads or writes
    tasks: int
    pieces_read: int
    pieces_written: int
    bytes_read: int
    bytes_written: int
    memory: int  # bytes a task


@dataclass(frozen=True)
class RechunkPlan:
    """What `cornerturn.rechunk` does. `print` shows it as a text."""

    source: str
    target: str
    shape: Extents  # of the target, as all extents below
    axes: Extents
    dtype: str
    source_chunks: Extents
    chunks: Extents
    threads: int
    memory: int
    stages: tuple[Stage, ...]

    @property
    def tasks(self) -> int:
        return sum(stage.tasks for stage in self.stages)

    @property
    def bytes_moved(self) -> int:
        """All bytes that are read and written, without compression."""
        return sum(stage.bytes_read + stage.bytes_written for stage in self.stages)

    def seconds(self, workers: int, rate: float = 1e9) -> float:
        """How long it takes by this plan, on workers that each read and write `rate` bytes a second."""
        return sum(
            -(-stage.tasks // workers) / max(stage.tasks, 1) * (stage.bytes_read + stage.bytes_written) / rate
            for stage in self.stages
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"{self.source} -> {self.target}",
            f"  {shown(self.shape)} {self.dtype}, axes {self.axes}, chunks {shown(self.source_chunks)} -> "
            f"{shown(self.chunks)}",
            f"  {len(self.stages)} stage{'s' * (len(self.stages) > 1)}, {self.tasks:,} task{'s' * (self.tasks != 1)}, "
            f"{size(self.bytes_moved)} to move, {self.threads} at a time within {size(self.memory)}",
        ]
        names = ["read and write"] if len(self.stages) == 1 else ["to intermediate files", "from them"]
        for name, stage in zip(names, self.stages, strict=True):
            lines.append(
                f"  {name}: {stage.tasks:,} tasks of {shown(stage.box)}, {size(stage.memory)} each; read "
                f"{size(stage.bytes_read)} in {stage.pieces_read:,}, write {size(stage.bytes_written)} in "
                f"{stage.pieces_written:,}"
            )
        return "\n".join(lines)


def shown(extents: Extents) -> str:
    return "(" + ", ".join(map(str, extents)) + ")"


def size(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.3g} {unit}"


def stages_of(
    shape: Extents, source: Side, target: Side, memory: int, cores: int = 1
) -> tuple[Stage, ...] | None:
    """The stages for tasks of at most `memory` bytes each, some for each core; None where not one chunk fits."""
    if 0 in shape:
        return ()
    overhead = max(source.overhead, target.overhead, _LEAST)
    most = (memory - overhead) // target.itemsize
    wanted = min(_TASK, _share(shape, target, cores)) // target.itemsize

    def again(axis: int, extent: int) -> float:
        chunk = min(source.chunks[axis], shape[axis])
        return covered(shape[axis], extent, chunk) / shape[axis]

    box = largest_box(shape, target.chunks, source.chunks, most, again, wanted)
    if box is None:
        return None
    one = _one_stage(shape, source, target, box, overhead)
    repeated = one[0].bytes_read > math.prod(shape) * source.itemsize
    if not repeated:
        return one

    def cuts(axis: int, extent: int) -> float:
        return meetings(shape[axis], extent, box[axis])

    first = largest_box(shape, source.chunks, target.chunks, most, cuts, most)
    if first is None:
        return None if source.whole else one
    two = _two_stages(shape, source, target, first, box, overhead)
    return two if source.whole or _moved(two) < _moved(one) else one


def _share(shape: Extents, target: Side, cores: int) -> int:
    """The bytes of a task where each core has four; a MiB is worth one in any case."""
    return max(math.prod(shape) * target.itemsize // (4 * cores), min(_TASK, 1 << 20))


def _moved(stages: tuple[Stage, ...]) -> int:
    return sum(stage.bytes_read + stage.bytes_written for stage in stages)


def _read(shape: Extents, source: Side, box: Extents) -> tuple[int, int]:
    """The chunks and the bytes that are read for all boxes."""
    axes = [(n, b, min(chunk, n)) for n, b, chunk in zip(shape, box, source.chunks, strict=True)]
    number = math.prod([meetings(n, b, chunk) for n, b, chunk in axes])
    return number, math.prod([covered(n, b, chunk) for n, b, chunk in axes]) * source.itemsize


def _one_stage(shape: Extents, source: Side, target: Side, box: Extents, overhead: int) -> tuple[Stage, ...]:
    number, read = _read(shape, source, box)
    total = math.prod(shape) * target.itemsize
    memory = math.prod(box) * target.itemsize + overhead
    return (Stage(box, len(Grid(shape, box)), number, len(Grid(shape, target.chunks)), read, total, memory),)


def _two_stages(
    shape: Extents, source: Side, target: Side, first: Extents, box: Extents, overhead: int
) -> tuple[Stage, ...]:
    number, read = _read(shape, source, first)
    total = math.prod(shape) * target.itemsize
    pieces = math.prod([meetings(n, a, b) for n, a, b in zip(shape, first, box, strict=True)])
    memory = [math.prod(each) * target.itemsize + overhead for each in (first, box)]
    chunks = len(Grid(shape, target.chunks))
    return (
        Stage(first, len(Grid(shape, first)), number, pieces, read, total, memory[0]),
        Stage(box, len(Grid(shape, box)), pieces, chunks, total, total, memory[1]),
    )


def choose(
    shape: Extents, source: Side, target: Side, memory: int, threads: int, cores: int = 0
) -> tuple[int, tuple[Stage, ...]]:
    """How many tasks at a time, of at most `threads`, and their stages: fewest bytes first, then most at a
    time. `cores` are those of all workers."""
    best: tuple[int, tuple[Stage, ...]] | None = None
    least = math.prod(shape) * (source.itemsize + target.itemsize)
    for number in range(threads, 0, -1):
        # Tasks are small enough that all threads have some, as long as a chunk allows it.
        limit = memory // number
        at_once = max(number, cores)
        stages = stages_of(shape, source, target, limit, at_once)
        overhead = max(source.overhead, target.overhead, _LEAST)
        smaller = stages_of(shape, source, target, min(limit, _share(shape, target, at_once) + overhead), at_once)
        if smaller is not None and stages is not None and _moved(smaller) <= _moved(stages):
            stages = smaller
        if stages is not None and (best is None or _moved(stages) < _moved(best[1])):
            best = number, stages
        if best is not None and _moved(best[1]) <= least:
            break
    if best is None:
        raise ValueError(too_little(shape, source, target, memory))
    return best


def too_little(shape: Extents, source: Side, target: Side, memory: int) -> str:
    def need(chunks: Extents) -> int:
        share = math.prod(chunks) / max(math.prod(target.chunks), 1)
        over = max(source.overhead, int(target.overhead * share), _LEAST)
        return over + max(math.prod(chunks) * target.itemsize, math.prod(source.chunks) * target.itemsize * source.whole)

    chunks = tuple(map(min, target.chunks, shape))
    wanted = need(chunks)
    smaller = list(chunks)
    while need(tuple(smaller)) > memory and max(smaller) > 1:
        axis = smaller.index(max(smaller))
        smaller[axis] = -(-smaller[axis] // 2)
    said = f"chunks = {shown(chunks)} need memory = {size(wanted)}, memory is {size(memory)}"
    if need(tuple(smaller)) <= memory:
        return said + f": chunks of {shown(tuple(smaller))} would fit"
    return said + f": the source's own chunks, {shown(source.chunks)}, need {size(need(tuple(smaller)))}"
