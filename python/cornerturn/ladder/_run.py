"""The whole ladder, verified and, on a GPU, measured: CUDA, CuTe, Triton and PyTorch."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ._report import MADE_BY, Report
from ._rung import NO_LADDER, Rung, _ladder, all_rungs
from ._torch import TORCH_SUBJECTS

EXTENTS = (256, 512, 1024, 2048, 4096, 8192)
LARGEST = (32768, 32768)
# Without a GPU: whole tiles and ragged ones, small enough for the emulator.
EMULATED = ((64, 96), (33, 70))

Size = tuple[int, int]


def run(
    sizes: Iterable[int | Size] | None = None,
    rungs: Iterable[str] | None = None,
    *,
    dtype: str = "float32",
    budget: float = 100.0,
    json: str | os.PathLike[str] | None = None,
    plot: str | os.PathLike[str] | None = None,
    commit: str | None = None,
    progress: bool | None = None,
) -> Report:
    """Climbs the ladder: every rung on every matrix, verified bit by bit and then timed.

    Without a GPU the rungs are verified in the emulator and in Triton's interpreter instead; for that
    TRITON_INTERPRET=1 is set, if Triton has not been imported yet.

    Args:
        sizes: matrices, each (rows, cols), or one number for a square. None: on a GPU all rows and cols
            of 256, 512, ..., 8192, and 32768 x 32768.
        rungs: names of `rungs()`, `pytorch_eager` and `pytorch_compiled`; None: all of them. What is
            compared with (`memcpy`, `copy`, `naive_read`, `pytorch_eager`) is always there.
        dtype: a type of PyTorch with elements of 1, 2, 4 or 8 bytes.
        budget: seconds, divided among the matrices. What no time is left for is left out, and said to be.
        json: a file for all figures and where they are from. It is written whole or not at all, by an
            interrupted run not at all.
        plot: a file for a picture, .svg, .png or .pdf; written in the same way. Needs matplotlib.
        commit: what is measured, for the provenance.
        progress: lines on stderr. None: where that is a terminal.

    Returns:
        A report. `print` shows it as a table, `report.matrices` has the figures, `report.save_json(path)`
        and `report.save_plot(path)` write it, `Report.load(path)` reads what was written.

    Raises:
        ValueError: an argument breaks a rule.
        RuntimeError: a GPU is here without PyTorch, or `plot` is given without matplotlib.
    """
    chosen = subjects(rungs)
    shapes = None if sizes is None else [size_of(size) for size in sizes]
    if shapes == []:
        raise ValueError("sizes is empty")
    if not budget > 0:
        raise ValueError(f"budget = {budget}: it must be more than 0 seconds")
    for name, path in (("json", json), ("plot", plot)):
        check_output(name, path)
    check_plot(plot)
    tell = Progress(sys.stderr.isatty() if progress is None else progress)

    why_no_gpu = no_gpu()
    if why_no_gpu is None:
        from ._climb import Climb

        climb = Climb(chosen, dtype, budget, tell)
        matrices = climb.run(shapes or default_sizes())
    else:
        from ._verify import verify

        tell(f"no GPU: {why_no_gpu}; verifying in the emulator and in Triton's interpreter instead")
        matrices = verify(chosen, dtype, shapes or list(EMULATED), tell)
        if plot is not None:
            tell("nothing was measured: no plot is drawn")
            plot = None
    tell.done()
    report = Report(dtype, provenance(why_no_gpu is None, commit), matrices, why_no_gpu)
    if json is not None:
        report.save_json(json)
    if plot is not None:
        report.save_plot(plot)
    return report


def default_sizes() -> list[Size]:
    """The squares and the largest first: when time runs out, the others are left out."""
    squares = [(n, n) for n in EXTENTS]
    return [*squares, LARGEST, *((m, n) for m in EXTENTS for n in EXTENTS if m != n)]


def size_of(size: Any) -> Size:
    try:
        rows, cols = (size, size) if isinstance(size, int) else size
    except (TypeError, ValueError):
        raise ValueError(f"sizes: {size!r} is neither a number nor (rows, cols)") from None
    for name, extent in (("rows", rows), ("cols", cols)):
        if not isinstance(extent, int) or extent < 1:
            raise ValueError(f"sizes: {name} = {extent!r} of {size!r}: it must be a whole number from 1 on")
    return rows, cols


def subjects(names: Iterable[str] | None) -> list[Rung]:
    """The chosen rungs and what they are compared with, in the order of the ladder."""
    everything = {"memcpy": TORCH_SUBJECTS["memcpy"], **all_rungs(), **TORCH_SUBJECTS}
    if names is None:
        return list(everything.values())
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in everything:
            hint = "" if _ladder else f" ({NO_LADDER})"
            raise ValueError(f"rungs: '{name}' is none of {', '.join(everything)}{hint}")
    wanted = {*names, "memcpy", "copy", "naive_read", "pytorch_eager"}
    return [rung for name, rung in everything.items() if name in wanted]


def no_gpu() -> str | None:
    """Why nothing can be measured here, in one line."""
    why = NO_LADDER if _ladder is None else _ladder.why_no_gpu()
    try:
        import torch
    except ModuleNotFoundError:
        if why is None:
            raise RuntimeError(
                "a GPU is here, but no PyTorch, which holds the matrices: install torch, or measure the "
                "CUDA and CuTe rungs with `cornerturn ladder`"
            ) from None
        return why
    return why if why or torch.cuda.is_available() else "PyTorch sees no GPU"


def check_output(name: str, path: str | os.PathLike[str] | None) -> None:
    """Now, rather than when all is measured."""
    if path is None:
        return
    folder = Path(path).parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"{name} = {os.fspath(path)!r}: there is no folder {folder} to write to")
    if Path(path).is_dir():
        raise ValueError(f"{name} = {os.fspath(path)!r} is a folder")


def check_plot(path: str | os.PathLike[str] | None) -> None:
    if path is None:
        return
    if Path(path).suffix not in (".svg", ".png", ".pdf"):
        raise ValueError(f"plot = {os.fspath(path)!r}: it must end in .svg, .png or .pdf")
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise RuntimeError("plot: matplotlib is not installed") from None


def provenance(on_gpu: bool, commit: str | None) -> dict[str, Any]:
    about: dict[str, Any] = {
        "made_by": MADE_BY,
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "python": platform.python_version(),
    }
    for package in ("cornerturn", "torch", "triton"):
        try:
            about[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    if on_gpu:
        import torch

        from ._climb import METHOD

        about |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda, **driver()}
        about |= {"clocks": "as found, not locked; read after the last run", "method": METHOD}
    return about


def driver() -> dict[str, str]:
    query = {"driver": "driver_version", "sm_clock": "clocks.sm", "memory_clock": "clocks.mem"}
    command = ["nvidia-smi", f"--query-gpu={','.join(query.values())}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(query, done.stdout.splitlines()[0].split(", ")))


class Progress:
    """One line on stderr that is written over; a line each where that is no terminal."""

    def __init__(self, shown: bool):
        self.shown = shown
        self.over = sys.stderr.isatty()

    def __call__(self, text: str, *, passing: bool = False) -> None:
        if not self.shown or (passing and not self.over):
            return
        if passing:
            sys.stderr.write(f"\r\033[K{text[:100]}")
        else:
            sys.stderr.write(("\r\033[K" if self.over else "") + text + "\n")
        sys.stderr.flush()

    def done(self) -> None:
        if self.shown and self.over:
            sys.stderr.write("\r\033[K")
