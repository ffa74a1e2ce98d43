"""What a climb found: every rung on every matrix, as a table, as JSON and as a picture."""

from __future__ import annotations

import json
import os
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

MADE_BY = "cornerturn.ladder.run"
BASELINE = "naive_read"
PYTORCH = "pytorch_eager"


@dataclass
class Row:
    """One rung on one matrix."""

    name: str
    family: str
    why_not: str | None = None  # it does not apply, or was left out: nothing below is set
    wrong: str | None = None  # what went wrong
    verified: bool = False  # every element, bit by bit
    seconds: float | None = None  # the mean of all launches
    spread: float = 0.0  # standard deviation of the rounds' means, as a share
    launches: int = 0

    @property
    def verdict(self) -> str:
        return "-" if self.why_not else "yes" if self.verified else "WRONG"


@dataclass
class Matrix:
    """One size, and what all rungs made of it."""

    rows: int
    cols: int
    itemsize: int
    why_not: str | None = None  # it was left out
    results: list[Row] = field(default_factory=list)

    @property
    def moved(self) -> int:
        """Bytes that a transposition reads and writes."""
        return 2 * self.rows * self.cols * self.itemsize

    def seconds(self, name: str) -> float | None:
        return next((row.seconds for row in self.results if row.name == name), None)

    @property
    def copy_seconds(self) -> float | None:
        """The time of the fastest plain copy of the same bytes in the same run."""
        times = [t for t in (self.seconds("memcpy"), self.seconds("copy")) if t]
        return min(times, default=None)

    def times(self, row: Row, name: str) -> float | None:
        """How many times as fast as another rung."""
        other = self.seconds(name)
        return other / row.seconds if other and row.seconds else None

    def share(self, row: Row) -> float | None:
        """The share of the plain copy's speed."""
        return self.copy_seconds / row.seconds if self.copy_seconds and row.seconds else None

    def __str__(self) -> str:
        return f"{self.rows} x {self.cols}"


@dataclass
class Report:
    dtype: str
    provenance: dict[str, Any]
    matrices: list[Matrix]
    why_no_gpu: str | None = None

    def complaints(self) -> list[str]:
        """One line for each wrong result."""
        return [
            f"{row.name}, {matrix}: {row.wrong or 'not verified'}"
            for matrix in self.matrices
            for row in matrix.results
            if row.why_not is None and not row.verified
        ]

    @property
    def verified(self) -> bool:
        """Every rung that applies gave the right result, and there was one."""
        ran = any(row.verified for matrix in self.matrices for row in matrix.results)
        return ran and not self.complaints()

    def measured(self) -> list[Matrix]:
        return [m for m in self.matrices if any(row.seconds for row in m.results)]

    def largest(self) -> Matrix | None:
        return max(self.measured(), key=lambda m: m.moved, default=None)

    def squares(self) -> list[Matrix]:
        return [m for m in self.measured() if m.rows == m.cols]

    # Text ----------------------------------------------------------------------------------------

    def __str__(self) -> str:
        parts = [self.verified_table() if self.why_no_gpu else self.measured_tables()]
        reasons = self.reasons()
        if reasons:
            lines = [textwrap.fill(line, 100, initial_indent="  ", subsequent_indent="    ") for line in reasons]
            parts.append("\n".join(["Does not apply, or was left out:", *lines]))
        parts += self.complaints()
        return "\n\n".join(parts) + "\n"

    def verified_table(self) -> str:
        head = ["rung", "family", *(str(m) for m in self.matrices)]
        rows = [
            [row.name, row.family, *(m.results[i].verdict for m in self.matrices)]
            for i, row in enumerate(self.matrices[0].results)
        ]
        ran = {row.family for m in self.matrices for row in m.results if not row.why_not}
        where = " and ".join(["in the emulator"] + ["in Triton's interpreter"] * ("triton" in ran))
        return "\n".join([
            f"{self.dtype}; verified, every element, {where}",
            f"no GPU: {self.why_no_gpu}", "", aligned([head, *rows], left=2),
        ])  # fmt: skip

    def measured_tables(self) -> str:
        shown = self.largest()
        if shown is None:
            return "nothing was measured"
        head = ["rung", "family", "verified", "mean time", "GB/s", "% of copy", "x naive_read", "x PyTorch"]
        rows = [[row.name, row.family, row.verdict, *figures(shown, row)] for row in shown.results]
        text = (
            f"{shown} of {self.dtype} on {self.provenance.get('gpu')}, cold L2 cache, verified bit by bit\n\n"
            + aligned([head, *rows], left=2)
        )
        grid = self.squares() or self.measured()
        if len(self.measured()) == 1:
            return text
        head = ["% of the plain copy", *(f"{m.rows}²" if m.rows == m.cols else str(m) for m in grid)]
        names = {row.name: None for m in grid for row in m.results}
        rows = [[name, *(percent(m, name) for m in grid)] for name in names]
        return text + "\n\n" + aligned([head, *rows], left=1)

    def reasons(self) -> list[str]:
        """Why something has no figure: one line for all that have one reason on the same matrices."""
        sizes: dict[tuple[str, str], list[str]] = {}
        for matrix in self.matrices:
            if matrix.why_not:
                sizes.setdefault(("all", matrix.why_not), []).append(str(matrix))
            for row in matrix.results:
                if row.why_not:
                    sizes.setdefault((row.name, row.why_not), []).append(str(matrix))
        names: dict[tuple[str, str], list[str]] = {}
        for (name, why), matrices in sizes.items():
            everywhere = len(matrices) == len(self.matrices)
            names.setdefault((why, "" if everywhere else f" on {', '.join(matrices)}"), []).append(name)
        return [f"{', '.join(who)}{where}: {why}" for (why, where), who in names.items()]

    # Files ---------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """With the keys of `cornerturn ladder --json`, as far as they mean the same."""
        runs = []
        for matrix in self.matrices:
            run: dict[str, Any] = {"shape": [matrix.rows, matrix.cols], "dtype": self.dtype}
            run["bytes"] = matrix.moved // 2
            if self.why_no_gpu:
                run["why_no_gpu"] = self.why_no_gpu
            else:
                run["gpu"] = {"name": self.provenance.get("gpu")}
            if matrix.why_not:
                run["why_not"] = matrix.why_not
            run["rungs"] = [as_dict(matrix, row) for row in matrix.results]
            runs.append(run)
        return {"provenance": self.provenance, "verified": self.verified, "runs": runs}

    def to_json(self) -> str:
        """A line a rung, so that two results can be compared line by line."""
        result = self.as_dict()
        runs = []
        for run in result["runs"]:
            rungs = ",\n".join("  " + json.dumps(rung) for rung in run.pop("rungs"))
            runs.append(json.dumps(run)[:-1] + ', "rungs": [\n' + rungs + "\n]}")
        head = json.dumps({"provenance": result["provenance"], "verified": result["verified"]}, indent=1)
        return head.removesuffix("\n}") + ',\n "runs": [\n' + ",\n".join(runs) + "\n]}\n"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """What `save_json` wrote, to show or to draw it where it was not measured."""
        result = json.loads(Path(path).read_text())
        if result.get("provenance", {}).get("made_by") != MADE_BY:
            raise ValueError(f"{os.fspath(path)!r} is not from {MADE_BY}")
        runs = result["runs"]
        why_no_gpu = next((run["why_no_gpu"] for run in runs if "why_no_gpu" in run), None)
        matrices = [matrix_of(run) for run in runs]
        return cls(runs[0]["dtype"], result["provenance"], matrices, why_no_gpu)

    def save_json(self, path: str | os.PathLike[str]) -> None:
        """Whole or not at all."""
        write_whole(path, lambda file: file.write(self.to_json().encode()))

    def save_plot(self, path: str | os.PathLike[str]) -> None:
        """Whole or not at all; the name's ending says in which format. Needs matplotlib."""
        from ._plot import draw

        write_whole(path, lambda file: draw(self, file, Path(path).suffix.removeprefix(".")))


def as_dict(matrix: Matrix, row: Row) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": row.name, "family": row.family}
    if row.why_not:
        return {**entry, "why_not": row.why_not}
    entry["verified"] = row.verified
    if row.wrong:
        entry["wrong"] = row.wrong
    if row.seconds:
        optional = {
            "share_of_copy": matrix.share(row),
            "speed_up_over_naive_read": matrix.times(row, BASELINE),
            "speed_up_over_pytorch": matrix.times(row, PYTORCH),
        }
        entry["measured"] = {
            "cold": {
                "seconds": row.seconds,
                "spread": row.spread,
                "launches": row.launches,
                "bytes_per_second": matrix.moved / row.seconds,
            },
            **{key: value for key, value in optional.items() if value is not None},
        }
    return entry


def matrix_of(run: dict[str, Any]) -> Matrix:
    rows, cols = run["shape"]
    matrix = Matrix(rows, cols, run["bytes"] // (rows * cols), run.get("why_not"))
    for entry in run["rungs"]:
        row = Row(entry["name"], entry["family"], entry.get("why_not"), entry.get("wrong"))
        row.verified = entry.get("verified", False)
        cold = entry.get("measured", {}).get("cold")
        if cold:
            row.seconds, row.spread, row.launches = cold["seconds"], cold["spread"], cold["launches"]
        matrix.results.append(row)
    return matrix


def figures(matrix: Matrix, row: Row) -> list[str]:
    if not row.seconds:
        return ["-"] * 5
    time = f"{row.seconds * 1e6:.1f} us" if row.seconds < 1e-3 else f"{row.seconds * 1e3:.3f} ms"

    def ratio(value: float | None, form: str) -> str:
        return "-" if value is None else f"{value:{form}}"

    share = matrix.share(row)
    return [
        time,
        f"{matrix.moved / row.seconds / 1e9:.0f}",
        ratio(None if share is None else 100 * share, ".1f"),
        ratio(matrix.times(row, BASELINE), ".2f"),
        ratio(matrix.times(row, PYTORCH), ".2f"),
    ]


def percent(matrix: Matrix, name: str) -> str:
    row = next((row for row in matrix.results if row.name == name), None)
    share = row and matrix.share(row)
    return f"{100 * share:.0f}" if share else "-"


def aligned(rows: list[list[str]], left: int) -> str:
    """Columns as wide as their longest cell, the first `left` of them to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], Any]) -> None:
    """Under another name first: what is at `path` is the old file or the whole new one. Links are followed."""
    path = Path(os.path.realpath(path))
    if os.path.lexists(path) and not path.is_file():  # a link that leads to itself is still one here
        raise FileExistsError(f"path = {os.fspath(path)!r} is no regular file: it is not replaced")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fchmod(file.fileno(), 0o666 & ~current_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def current_umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
