"""Tasks on threads here, or on the workers of dask.distributed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from cornerturn import _core
from cornerturn._arrays import shown
from cornerturn._chunks.tasks import LITTLE, Hands, Job, Rooms

_MOST_HANDS = 4  # threads of a task, each with some MiB of what it has read

Finished = Callable[[int, int], None]


def processors() -> int:
    limit = os.environ.get("CORNERTURN_THREADS", "")
    return int(limit) if limit.isdigit() and int(limit) else len(os.sched_getaffinity(0))


def on_threads(job: Job, stage: int, numbers: list[int], threads: int, cores: int, finished: Finished) -> None:
    """`threads` tasks at a time, for so many processors."""
    own = threading.local()
    each = min(max(2 * cores // threads, 1), _MOST_HANDS)  # half of them wait for the disk

    def run(number: int) -> int:
        if not hasattr(own, "rooms"):
            own.rooms, own.hands = Rooms(), Hands(each)
        # One thread for each task: tasks run beside each other.
        before = _core.limit_threads(1 if threads > 1 else 0)
        try:
            job.run(stage, number, own.rooms, own.hands)
        finally:
            _core.limit_threads(before)
        return number

    if len(numbers) == 1 and job.weight(stage) <= LITTLE:
        finished(stage, run(numbers[0]))
        return
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    left = iter(numbers)
    with ThreadPoolExecutor(threads, "cornerturn-rechunk") as pool:
        running = {pool.submit(run, number) for _, number in zip(range(threads), left, strict=False)}
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    finished(stage, future.result())
                    running |= {pool.submit(run, number) for _, number in zip(range(1), left, strict=False)}
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def run_task(job: Job, stage: int, number: int, array: Any = None) -> int:
    """A task on a worker. `array` is what a dask array's box was computed to be."""
    if array is not None:
        job.source = Computed(job, stage, number, array)
    before = _core.limit_threads(1)
    try:
        job.run(stage, number)
    finally:
        _core.limit_threads(before)
    return number


def Computed(job: Job, stage: int, number: int, array: Any) -> Any:
    """A source that holds one box of an array."""
    from cornerturn._chunks.boxes import Box
    from cornerturn._chunks.sources import Source

    outer = _box(job, stage, number)

    class OneBox(Source):
        def pieces(self, box: Box) -> Any:
            return iter([box])

        def read(self, box: Box) -> Any:
            return array[box.within(outer)]

    return OneBox("a box", array.shape, array.dtype, array.shape)


def _box(job: Job, stage: int, number: int) -> Any:
    back = tuple(sorted(range(len(job.axes)), key=job.axes.__getitem__))
    return job.grid(stage).numbered(number).permuted(back)


def threads_of(client: Any) -> int:
    """The most tasks that a worker of the cluster does at a time."""
    if not hasattr(client, "submit") or not hasattr(client, "nthreads"):
        raise TypeError(f"client = {shown(client)} is no client of dask.distributed")
    client.wait_for_workers(1, timeout=60)
    return max(client.nthreads().values())


def on_cluster(job: Job, stage: int, numbers: list[int], client: Any, finished: Finished) -> None:
    """The scheduler hands tasks out, and again where a worker is lost."""
    from distributed import as_completed

    def submit(number: int) -> Any:
        if stage == 0 and job.source.whole:
            box = job.source.array[_box(job, stage, number).slices]
            bare = Job(None, job.target, job.axes, job.stages, job.folder)  # type: ignore[arg-type]
            return client.submit(run_task, bare, stage, number, client.compute(box), pure=False, retries=2)
        return client.submit(run_task, job, stage, number, pure=False, retries=2)

    left = iter(numbers)
    at_once = 3 * max(sum(client.nthreads().values()), 1)
    running = as_completed([submit(number) for _, number in zip(range(at_once), left, strict=False)])
    try:
        for future in running:
            finished(stage, future.result())
            for number in left:
                running.add(submit(number))
                break
    except BaseException:
        client.cancel(list(running.futures), force=True)
        raise
