"""The ladder as a picture: all rungs on the largest matrix, and the best of each family by size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from ._report import Matrix, Report, Row

# Okabe and Ito's palette, distinguishable with any colour vision; hatches, markers and dashes for
# paper without colour.
FAMILIES: dict[str, tuple[str, str, str, str, Any]] = {
    "cuda": ("CUDA", "#0072B2", "", "o", "-"),
    "cute": ("CuTe", "#E69F00", "///", "s", (0, (5, 1))),
    "triton": ("Triton", "#009E73", "...", "^", "-."),
    "pytorch": ("PyTorch", "#D55E00", "xxx", "D", (0, (1, 1))),
}


def draw(report: Report, file: BinaryIO, kind: str) -> None:
    """Writes a picture in the format `kind`: svg, png, pdf."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    largest = report.largest()
    if largest is None:
        raise ValueError("plot: nothing was measured")
    rows = [row for row in largest.results if row.seconds]
    squares = report.squares()
    lines = len(squares) > 1
    figure = Figure(figsize=(13 if lines else 8, max(4.0, 1.6 + 0.235 * len(rows))), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2 if lines else 1, squeeze=False)[0]
    draw_bars(panels[0], largest, rows)
    if lines:
        draw_lines(panels[1], squares, rows)
    gpu, date = report.provenance.get("gpu"), report.provenance.get("date")
    figure.suptitle(f"The ladder on {gpu}, {report.dtype}, cold L2 cache ({date})", x=0.01, ha="left")
    figure.savefig(file, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else None)


def draw_bars(axes: Any, matrix: Matrix, rows: list[Row]) -> None:
    for y, row in enumerate(rows):
        _, colour, hatch, _, _ = FAMILIES[row.family]
        rate = matrix.moved / (row.seconds or 1) / 1e9
        axes.barh(y, rate, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
        share = matrix.share(row)
        text = f" {rate:.0f}" + (f"  ({100 * share:.0f} %)" if share else "")
        axes.text(rate, y, text, va="center", fontsize=8, bbox={"color": "white", "pad": 0.6})
    copy = matrix.copy_seconds
    if copy:
        axes.axvline(matrix.moved / copy / 1e9, color="0.3", linewidth=1, linestyle="--", zorder=0)
    axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.18 * max(matrix.moved / (row.seconds or 1) / 1e9 for row in rows))
    axes.set_xlabel("GB/s, read and written (share of the plain copy, dashed)")
    axes.set_title(f"{matrix}", loc="left", fontsize=11)
    axes.legend(handles=handles(rows), fontsize=9, ncols=4, frameon=False, **below(axes))
    plain(axes)


def handles(rows: list[Row]) -> list[Any]:
    from matplotlib.patches import Patch

    shown = {row.family for row in rows}
    return [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=title)
        for family, (title, colour, hatch, _, _) in FAMILIES.items()
        if family in shown
    ]


def draw_lines(axes: Any, squares: list[Matrix], rows: list[Row]) -> None:
    squares = sorted(squares, key=lambda matrix: matrix.rows)
    for name, family, first in chosen(rows):
        _, colour, _, marker, dashes = FAMILIES[family]
        points = [(m.rows, 100 * share) for m in squares for row in m.results
                  if row.name == name and (share := m.share(row))]  # fmt: skip
        if points:
            axes.plot(*zip(*points), color=colour, linestyle=dashes if first else (0, (2, 2)), marker=marker,
                      markersize=7, markerfacecolor=colour if first else "white", linewidth=1.8, label=name)  # fmt: skip
    drawn = bool(axes.get_lines())
    axes.axhline(100, color="0.3", linewidth=1, linestyle="--", zorder=0)
    axes.set_xscale("log", base=2)
    ticks = [m.rows for m, after in zip(squares, [*squares[1:], None]) if not after or after.rows > 1.1 * m.rows]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, None)
    axes.set_xlabel("rows and columns of the matrix")
    axes.set_ylabel("% of the plain copy")
    axes.set_title("the first and the fastest of each family", loc="left", fontsize=11)
    if drawn:
        axes.legend(fontsize=9, ncols=2, frameon=False, **below(axes))
    plain(axes)


def chosen(rows: list[Row]) -> list[tuple[str, str, bool]]:
    """For each family that transposes: (name, family, True) of the fastest, and the first."""
    picked = []
    for family in FAMILIES:
        members = [row for row in rows if row.family == family and "copy" not in row.name.split("_")
                   and row.name != "memcpy"]  # fmt: skip
        if members:
            fastest = min(members, key=lambda row: row.seconds or 0)
            picked.append((fastest.name, family, True))
            if members[0] is not fastest:
                picked.append((members[0].name, family, False))
    return picked


def below(axes: Any) -> dict[str, Any]:
    """Where a legend covers no figure."""
    inches = axes.figure.get_figheight()
    return {"loc": "upper left", "bbox_to_anchor": (0, -0.55 / inches), "borderaxespad": 0}


def plain(axes: Any) -> None:
    axes.grid(axis="x", color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
