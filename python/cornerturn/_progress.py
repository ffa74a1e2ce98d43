"""What `progress=` takes: a function, or True for a line on the terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Union

from cornerturn._arrays import shown
from cornerturn._chunks.planning import size

Progress = Union[Callable[[int, int], Any], bool, None]


@contextlib.contextmanager
def told(progress: Any) -> Iterator[Callable[[int, int], Any] | None]:
    """The function that `progress` asks for."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        bar = Bar()
        try:
            yield bar
        finally:
            bar.end()
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress = {shown(progress)} is neither a function nor True")


class Bar:
    """One line on the terminal: the share that is done, the rate, and the time that is left."""

    def __init__(self) -> None:
        self.started: tuple[float, int] | None = None
        self.shown = False

    def __call__(self, moved: int, total: int) -> None:
        now = time.monotonic()
        if self.started is None:
            self.started = now, moved
            return
        seconds, since = now - self.started[0], moved - self.started[1]
        rate = since / seconds if seconds > 0 else 0.0
        left = (total - moved) / rate if rate > 0 else 0.0
        text = f"{100 * moved / max(total, 1):3.0f} %  {size(moved)} of {size(total)}  {size(rate)}/s  {_clock(left)} left"
        print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)
        self.shown = True

    def end(self) -> None:
        if self.shown:
            print(file=sys.stderr)
            self.shown = False


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
