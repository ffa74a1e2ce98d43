"""python -m cornerturn.ladder: verifies and measures the ladder, and shows it as a table."""

from __future__ import annotations

import argparse
import sys

from . import rungs, run
from ._report import Report


def size(text: str) -> tuple[int, int]:
    rows, _, cols = text.partition("x")
    if not rows.isdecimal() or not (cols or rows).isdecimal():
        raise ValueError(f"--sizes: '{text}' is no M or MxN")
    return int(rows), int(cols or rows)


def earlier(path: str, plot: str | None) -> Report:
    report = Report.load(path)
    if plot is not None:
        report.save_plot(plot)
    return report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m cornerturn.ladder",
        description="Verifies every rung of the ladder on every matrix and, on a GPU, measures it against "
        "PyTorch and a plain copy. Without a GPU it is verified in the emulator and in Triton's interpreter.",
    )
    parser.add_argument("--sizes", metavar="M[xN],...", help="matrices; on a GPU 256 to 8192, and 32768")
    parser.add_argument("--rungs", metavar="NAME,...", help="only these, beside what they are compared with")
    parser.add_argument("--dtype", default="float32", help="PyTorch's name of the element (float32)")
    parser.add_argument("--budget", type=float, default=100.0, metavar="SECONDS", help="for all of it (100)")
    parser.add_argument("--json", metavar="FILE", help="write all figures and where they are from")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw the ladder (.svg, .png, .pdf)")
    parser.add_argument("--commit", help="what is measured, for the provenance")
    parser.add_argument("--from", dest="earlier", metavar="FILE", help="show what --json wrote; run nothing")
    parser.add_argument("--list", action="store_true", help="list the rungs and stop")
    given = parser.parse_args(arguments)
    if given.list:
        print("\n".join(rungs()))
        return 0
    try:
        report = earlier(given.earlier, given.plot) if given.earlier else run(
            given.sizes and [size(text) for text in given.sizes.split(",")],
            given.rungs and given.rungs.split(","),
            dtype=given.dtype, budget=given.budget, json=given.json, plot=given.plot,
            commit=given.commit, progress=True,
        )  # fmt: skip
    except (ValueError, RuntimeError, OSError) as error:
        print(f"cornerturn.ladder: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ncornerturn.ladder: interrupted; nothing was written", file=sys.stderr)
        return 130
    print(report, end="")
    return 0 if report.verified else 1


if __name__ == "__main__":
    sys.exit(main())
