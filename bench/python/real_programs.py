#!/usr/bin/env python3
"""How many times as fast the programs of docs/real-programs.md are after as before.

Both run in turns on the same data, and each ratio is that of their fastest rounds.
usage: bench/python/real_programs.py [--page] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import programs
from tabled import commit, processor

sys.path.append(str(Path(__file__).resolve().parents[1]))
from marked_page import put  # noqa: E402

SIZES = {
    "A vision transformer's patches": 64,
    "An attention layer": 32,
    "A weight loader": 32,
    "Columns to a matrix": 40,
    "A rechunked climate file": 20,
}


def seconds_of(code: object, names: dict) -> float:
    start = time.perf_counter()
    exec(code, dict(names))
    return time.perf_counter() - start


def measure(program: programs.Program, size: int, rounds: int) -> tuple[float, float]:
    """The seconds of both, each the best of its rounds."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        names = programs.names_for(program.title, Path(folder), size)
        codes = [compile(text, program.title, "exec") for text in (program.before, program.after)]
        times = [[seconds_of(code, names) for code in codes] for _ in range(rounds)]
        os.chdir("/")
    before, after = (min(column) for column in zip(*times, strict=True))
    return before, after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    lines = ["| program | before, ms | after, ms | times as fast |", "| --- | ---: | ---: | ---: |"]
    for program in programs.programs():
        if program.title in SIZES:
            before, after = measure(program, SIZES[program.title], options.rounds)
            lines.append(f"| {program.title} | {before * 1e3:.3g} | {after * 1e3:.3g} | {before / after:.1f} |")
            print(lines[-1], flush=True)
    machine = f"{processor()}, {len(os.sched_getaffinity(0))} processors, load {load:.1f} when it began"
    how = f"Both of a line ran in turns in one process; the fastest of {options.rounds} rounds"
    lines += ["", f"{how}. {machine}; {date.today()}, commit {commit()}."]
    if options.page:
        put(programs.PAGE, "real-programs", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
