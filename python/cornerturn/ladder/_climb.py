"""The climb on a GPU: every subject verified bit by bit on every matrix, then all timed in turns.

What a launch costs the host is kept out: the launches of a subject are recorded in a CUDA graph, where
they are short. Long ones are made as a program makes them: at 32768 squared cudaMemcpyAsync was measured
to be slower in a graph than in a stream. What the L2 cache still holds is kept out as well: the launches go over as many pairs of
matrices, one after the other, as do not fit into it.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from ._report import Matrix, Row
from ._rung import Rung

METHOD = (
    "mean of all launches; those of a CUDA graph follow each other over pairs of matrices that do not "
    "fit the L2 cache together, launches of more than a millisecond stand alone, and all subjects take "
    "turns; 100 % is the faster of cudaMemcpyAsync and the rung copy"
)
MOST_ROUNDS = 20
LEAST_ROUNDS = 10
LONG = 0.1  # seconds of a launch that is not repeated for LEAST_ROUNDS
MOST_LAUNCHES = 256  # of a graph
ENOUGH = 500e-6  # seconds of a graph, that its start does not count
WITHOUT_GRAPH = 1e-3  # seconds of a launch whose start does not count
FASTEST = 4e12  # bytes a second: for a first guess of how many launches that takes


class Climb:
    def __init__(self, subjects: list[Rung], dtype: str, budget: float, tell: Callable[..., None]):
        self.subjects = subjects
        self.dtype = getattr(torch, dtype, None)
        if not isinstance(self.dtype, torch.dtype) or self.dtype.itemsize not in INTEGER:
            raise ValueError(f"dtype = '{dtype}' is no type of PyTorch with elements of 1, 2, 4 or 8 bytes")
        self.tell = tell
        self.budget = budget
        self.deadline = time.monotonic() + budget
        self.stream = torch.cuda.Stream()
        self.rate: dict[str, float] = {}  # seconds an element, at the last matrix

    @property
    def left(self) -> float:
        return self.deadline - time.monotonic()

    def run(self, sizes: list[tuple[int, int]]) -> list[Matrix]:
        matrices = []
        for i, (rows, cols) in enumerate(sizes):
            self.place = f"{i + 1}/{len(sizes)}  {rows} x {cols}"
            with torch.cuda.stream(self.stream):
                matrices.append(self.climb(rows, cols, slot=self.left / (len(sizes) - i)))
            done = sum(row.seconds is not None for row in matrices[-1].results)
            note = matrices[-1].why_not or f"{done} measured"
            self.tell(f"{self.place}: {note}, {self.left:.0f} s of {self.budget:.0f} s left")
        return sorted(matrices, key=lambda m: (m.rows, m.cols))

    def climb(self, rows: int, cols: int, slot: float) -> Matrix:
        torch.cuda.empty_cache()
        matrix = Matrix(rows, cols, self.dtype.itemsize)
        matrix.why_not = self.no_time(slot) or no_memory(rows, cols, self.dtype.itemsize)
        if matrix.why_not:
            return matrix
        end = time.monotonic() + slot
        pairs = Pairs(rows, cols, self.dtype)
        ready = []
        for subject in self.subjects:
            self.tell(f"{self.place}  {subject.name}  {self.left:.0f} s left", passing=True)
            row = Row(subject.name, subject.family)
            matrix.results.append(row)
            row.why_not = self.too_slow(subject, rows * cols, slot)
            if not row.why_not:
                self.verify(subject, row, pairs)
            if row.verified:
                ready.append((subject, row))
        self.time(ready, pairs, max(end - time.monotonic(), 0.2 * slot))
        return matrix

    def no_time(self, slot: float) -> str | None:
        return f"the time budget of {self.budget:g} s is spent" if slot <= 0 else None

    def too_slow(self, subject: Rung, elements: int, slot: float) -> str | None:
        """By what the matrix before took: it is launched twice at least."""
        expected = self.rate.get(subject.name, 0.0) * elements
        if 2 * expected <= max(slot, 0.1 * self.left):
            return None
        return f"left out: one launch would take about {expected:.1f} s, {self.left:.0f} s are left"

    def verify(self, subject: Rung, row: Row, pairs: Pairs) -> None:
        try:
            row.why_not = subject.why_not(pairs.rows, pairs.cols, pairs.itemsize)
            if row.why_not:
                return
            row.wrong = pairs.wrong(subject)
        except Exception as error:  # also of compilers and of CUDA: said, and the climb goes on
            prefix = f"{subject.name} does not apply: "
            if isinstance(error, ValueError) and str(error).startswith(prefix):
                row.why_not = str(error).removeprefix(prefix)
            else:
                row.wrong = first_line(error)
        row.verified = not row.why_not and not row.wrong

    def time(self, ready: list[tuple[Rung, Row]], pairs: Pairs, seconds: float) -> None:
        """Mean times of all, in turns: what disturbs the GPU for a while disturbs all of them."""
        share = seconds / max(len(ready), 1)
        racers = []
        for subject, row in ready:
            self.tell(f"{self.place}  recording {subject.name}", passing=True)
            try:
                racers.append(Racer(row, subject, pairs, share))
            except Exception as error:
                row.wrong, row.verified = first_line(error), False
        for turn in range(max((racer.rounds for racer in racers), default=0)):
            self.tell(f"{self.place}  round {turn + 1}  {self.left:.0f} s left", passing=True)
            playing = [racer for racer in racers if turn < racer.rounds]
            watches = [played(racer.play) for racer in playing]
            for racer, watch in zip(playing, watches):
                racer.times.append(elapsed(watch) / racer.launches)
        for racer in racers:
            racer.finish()
            self.rate[racer.row.name] = racer.row.seconds / (pairs.rows * pairs.cols)


class Racer:
    """A subject's launches, ready to be played so often that it takes its share of the time."""

    def __init__(self, row: Row, subject: Rung, pairs: Pairs, share: float):
        self.row = row
        self.times: list[float] = []
        self.rounds = 0
        once = pairs.seconds(subject)
        self.launches = min(pairs.launches(), max(1, int(share / once)))
        if once > max(share, LONG):  # so slow that starting it does not count
            self.times.append(once)
            return
        if once > WITHOUT_GRAPH:
            self.play: Callable[[], object] = lambda: pairs.calls(subject, self.launches)
        else:
            self.play = pairs.graph(subject, self.launches).replay
        first = elapsed(played(self.play))  # this one also brings it to the GPU
        least = LEAST_ROUNDS if once < LONG else 1
        self.rounds = min(MOST_ROUNDS, max(least, int(share / first)))

    def finish(self) -> None:
        row = self.row
        row.seconds = statistics.fmean(self.times)
        row.spread = statistics.stdev(self.times) / row.seconds if len(self.times) > 1 else 0.0
        row.launches = self.launches * len(self.times)


INTEGER = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Pairs:
    """Matrices and room for their transposes, so many that the L2 cache does not hold them."""

    def __init__(self, rows: int, cols: int, dtype: torch.dtype):
        self.rows, self.cols, self.itemsize = rows, cols, dtype.itemsize
        self.dtype = dtype
        a = contents(rows, cols, dtype)
        self.pairs = [(a, self.room())]
        while len(self.pairs) < pair_count(2 * a.nbytes):
            self.pairs.append((a.clone(), self.room()))
        self.turned = self.bits(a).t().contiguous()

    def room(self) -> torch.Tensor:
        return torch.empty(self.cols, self.rows, dtype=self.dtype, device="cuda")

    def bits(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.view(INTEGER[self.itemsize])

    def call(self, subject: Rung, pair: int = 0) -> None:
        a, b = self.pairs[pair % len(self.pairs)]
        subject(a, b if subject.transposes else b.view(a.shape))

    def wrong(self, subject: Rung) -> str | None:
        """What is wrong with the result, if anything."""
        a, b = self.pairs[0]
        expected = self.turned if subject.transposes else self.bits(a)
        result = self.bits(b).view(expected.shape)
        torch.bitwise_not(expected, out=result)
        self.call(subject)
        if torch.equal(result, expected):
            return None
        first = int(torch.argmax((result != expected).to(torch.uint8).view(-1)))
        row, col = divmod(first, expected.shape[1])
        return f"element ({row}, {col}) of b is not what it should be"

    def seconds(self, subject: Rung) -> float:
        """The time of one launch, roughly."""
        start = torch.cuda.Event(enable_timing=True)
        stop = torch.cuda.Event(enable_timing=True)
        start.record()
        self.call(subject, 1)
        stop.record()
        return max(elapsed((start, stop)), 1e-6)

    def launches(self) -> int:
        moved = 2 * self.rows * self.cols * self.itemsize
        enough = math.ceil(ENOUGH / max(moved / FASTEST, 2e-6))
        return min(MOST_LAUNCHES, max(len(self.pairs), enough))

    def calls(self, subject: Rung, launches: int) -> None:
        for pair in range(launches):
            self.call(subject, pair)

    def graph(self, subject: Rung, launches: int) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.current_stream().synchronize()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            self.calls(subject, launches)
        finally:
            graph.capture_end()
        return graph


def first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"


def pair_count(pair_bytes: int) -> int:
    cache = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    if pair_bytes > 8 * cache:
        return 1
    return min(MOST_LAUNCHES, math.ceil(4 * cache / pair_bytes) + 1)


def contents(rows: int, cols: int, dtype: torch.dtype) -> torch.Tensor:
    """Random bits. Where they are floating-point numbers, finite ones: all may copy them by value."""
    size = rows * cols * dtype.itemsize
    words = torch.empty(-(-size // 4), dtype=torch.int32, device="cuda").random_(-(2**31), 2**31)
    bits = words.view(torch.uint8)[:size].view(INTEGER[dtype.itemsize])
    if dtype.is_floating_point:
        exponent = 1 << (8 * dtype.itemsize - 2)  # its first bit
        bits &= 0xFF ^ exponent if dtype.itemsize == 1 else ~exponent
    elif dtype == torch.bool:
        bits &= 1
    return bits.view(dtype).view(rows, cols)


def no_memory(rows: int, cols: int, itemsize: int) -> str | None:
    size = rows * cols * itemsize
    free, _ = torch.cuda.mem_get_info()
    free += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    # Beside the pairs: what is expected, and what comparing takes.
    needed = 2 * size * pair_count(2 * size) + 2 * size + rows * cols
    if needed <= free:
        return None
    return f"it needs {needed / 2**30:.1f} GiB of GPU memory, {free / 2**30:.1f} GiB are free"


def played(play: Callable[[], object]) -> tuple[torch.cuda.Event, torch.cuda.Event]:
    start = torch.cuda.Event(enable_timing=True)
    stop = torch.cuda.Event(enable_timing=True)
    start.record()
    play()
    stop.record()
    return start, stop


def elapsed(watch: tuple[torch.cuda.Event, torch.cuda.Event]) -> float:
    start, stop = watch
    stop.synchronize()
    return start.elapsed_time(stop) * 1e-3
