"""The command `cornerturn rechunk`."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from cornerturn._progress import Bar

_BAD_INPUT, _INTERRUPTED = 2, 130
_EXAMPLES = """Examples:
  cornerturn rechunk maps.zarr series.zarr --axes y,x,t --chunks t=96,y=20,x=20
  cornerturn rechunk volume.h5::raw volume.zarr --chunks 64,64,64 --codec zstd
  cornerturn rechunk big.npy big.zarr --chunks -1,256 --memory 2GiB --plan"""


class _Help(argparse.HelpFormatter):
    """Lines of examples stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text == _EXAMPLES else super()._fill_text(text, width, indent)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "cornerturn rechunk",
        description="Writes an array of zarr, HDF5, netCDF or .npy to another one with other chunks, its axes in another "
        "order. Attributes and names of dimensions travel along. Ctrl-C leaves OUT.partial, from which --resume goes on.",
        epilog=_EXAMPLES,
        formatter_class=_Help,
    )
    add = parser.add_argument
    add("source", metavar="IN", help="a zarr store, a file of HDF5, netCDF or .npy; IN::NAME names one of several arrays, "
        "and without NAME all of them are written")
    add("target", metavar="OUT", help="a file named .npy, .h5 or .nc, or a zarr store; OUT::NAME names a dataset, or an array in a group")
    add("--chunks", help="their extents: 8760,72,144 in the order in which --pattern names the axes first, or "
        "t=8760,y=72,x=144 by the names of --pattern, or by those that IN has, some of them; -1 takes all of an axis")
    orders = parser.add_mutually_exclusive_group()
    orders.add_argument("--pattern", help='the axes before and after: "t y x -> y x t"')
    orders.add_argument("--axes", metavar="NAMES", help="the order of the dimensions by the names that IN has for them: "
        "lat,lon,time; ... stands for all others")
    orders.add_argument("--perm", help="axis i of OUT is axis PERM[i] of IN: 1,2,0")
    add("--dtype", help="converts the values, as they are stored: float32, int16, ...")
    add("--memory", help="the most bytes for the arrays of all tasks, of each worker: 1GiB (default: half of what is free)")
    add("--cluster", metavar="ADDRESS", help="the address of a dask scheduler, whose workers do the tasks")
    add("--threads", type=int, help="how many tasks run at a time here")
    add("--codec", help="how chunks are stored: none, gzip, zstd, lz4, blosc or crc32c")
    add("--shards", help="the extents of the shards of a zarr store, as --chunks")
    add("--resume", action="store_true", help="goes on with an interrupted run")
    add("--overwrite", action="store_true", help="replaces OUT once the new array is whole")
    add("--plan", action="store_true", help="shows the plan, and writes nothing")
    add("--quiet", action="store_true", help="shows neither the plan nor the progress")
    return parser


def order_and_names(pattern: str | None, perm: str | None) -> tuple[list[int] | None, list[str]]:
    """The axes in the order of the target, and their names in that of the source."""
    if perm is not None:
        return _numbers("--perm", perm), []
    if pattern is None:
        return None, []
    sides = [side.split() for side in pattern.split("->")]
    if len(sides) != 2 or not all(re.fullmatch(r"[^\W\d]\w*", name) for side in sides for name in side):
        raise ValueError(f"--pattern = {pattern!r}: write the names of the axes before and after, as 't y x -> y x t'")
    left, right = sides
    if sorted(left) != sorted(right) or len(set(left)) != len(left):
        raise ValueError(f"--pattern = {pattern!r}: each axis has to stand once on both sides")
    return [left.index(name) for name in right], left


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"{option} = {text!r} is no list of whole numbers, such as 100,-1,25") from None


def _names(text: str) -> list[Any]:
    return [... if name == "..." else name for name in text.split(",")]


def extents(option: str, text: str | None, axes: Sequence[int] | None, names: list[str]) -> Any:
    """Extents in the order of the target, or by the names of dimensions."""
    if text is None:
        return None
    if "=" in text:
        pairs = dict(word.split("=", 1) for word in text.split(",") if "=" in word)
        if len(pairs) != len(text.split(",")):
            raise ValueError(f"{option} = {text!r} has to give each name one extent, as in t=100,y=-1")
        if not names:  # they are those that the source has
            return dict(zip(pairs, _numbers(option, ",".join(pairs.values())), strict=True))
        if sorted(pairs) != sorted(names):
            raise ValueError(f"{option} = {text!r} has to name each of {', '.join(names)} once")
        numbers = _numbers(option, ",".join(pairs[name] for name in names))
    else:
        numbers = _numbers(option, text)
    if not names or axes is None or len(numbers) != len(names):
        return numbers
    return [numbers[axis] for axis in axes]


@contextlib.contextmanager
def _client(address: str | None) -> Any:
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--cluster needs dask.distributed: pip install 'cornerturn[distributed]'") from None
    with Client(address, timeout=20) as client:
        yield client


def _run(given: argparse.Namespace) -> None:
    from cornerturn._rechunk import rechunk

    def show(plan: Any) -> None:
        if given.plan or not given.quiet:
            print(plan, file=sys.stdout if given.plan else sys.stderr, flush=True)

    axes, names = order_and_names(given.pattern, given.perm)
    progress = Bar()
    with _client(given.cluster) as client:
        try:
            rechunk(
                given.source,
                given.target,
                axes=axes if given.axes is None else _names(given.axes),
                chunks=extents("--chunks", given.chunks, axes, names),
                shards=extents("--shards", given.shards, axes, names),
                dtype=given.dtype,
                memory=given.memory,
                client=client,
                threads=given.threads,
                codec=given.codec,
                resume=given.resume,
                overwrite=given.overwrite,
                dry_run=given.plan,
                plan=show,
                progress=progress if sys.stderr.isatty() and not given.quiet else None,
            )
        finally:
            progress.end()


def _with_extents(words: Sequence[str]) -> list[str]:
    """`--chunks -1,72` as `--chunks=-1,72`: argparse takes what begins with a hyphen for an option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in ("--chunks", "--shards") and re.match(r"-\d", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _say(message: Any, *_: Any, **__: Any) -> None:
    print(f"cornerturn: warning: {' '.join(str(message).split())}", file=sys.stderr)


def main(words: Sequence[str]) -> int:
    given = _parser().parse_args(_with_extents(words))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _say
            _run(given)
    except KeyboardInterrupt:
        print("cornerturn: interrupted: the same command with --resume goes on", file=sys.stderr)
        return _INTERRUPTED
    except ModuleNotFoundError as error:
        said = f"{error.name} is not installed: pip install 'cornerturn[chunks]'"
    except (OSError, TypeError, ValueError, RuntimeError, MemoryError) as error:
        said = " ".join(str(error).split()).replace("overwrite=True", "--overwrite").replace("resume=True", "--resume")
    else:
        return 0
    print(f"cornerturn: {said}", file=sys.stderr)
    return _BAD_INPUT
