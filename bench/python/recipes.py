#!/usr/bin/env python3
"""The recipes of docs/python-cookbook.md at everyday sizes: the line that each replaces, and Cornerturn's.

Each makes a new array, of host memory or into a file. In turns, in one process; the results are compared
first. Times are medians.

usage: recipes.py [--json FILE] [--page PAGE.md]
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import tabled
from cpu import seconds_of
from tabled import installed

import cornerturn

# What it is, NumPy's or the framework's line, and two functions that return the same.
Recipe = tuple[str, str, Callable[[], object], Callable[[], object]]


def of_numpy() -> Iterator[Recipe]:
    images = np.random.default_rng(1).integers(0, 256, (32, 224, 224, 3), np.uint8)
    axes = (0, 3, 1, 2)
    yield (
        "32 photographs to planes", "np.ascontiguousarray(x.transpose(0, 3, 1, 2))",
        lambda: np.ascontiguousarray(images.transpose(axes)), lambda: cornerturn.transpose(images, axes),
    )  # fmt: skip
    yield (
        "the same to floats from 0 to 1", "np.ascontiguousarray(...).astype(np.float32) / 255",
        lambda: np.ascontiguousarray(images.transpose(axes)).astype(np.float32) / 255,
        lambda: cornerturn.transpose(images, axes, dtype="float32", scale=1 / 255),
    )  # fmt: skip
    planes = list(np.ascontiguousarray(images[0].transpose(2, 0, 1)).repeat(9, axis=1).repeat(9, axis=2))
    yield (
        "three planes to pixels", "np.stack(planes, axis=-1)",
        lambda: np.stack(planes, axis=-1), lambda: cornerturn.rearrange(planes, "c h w -> h w c"),
    )  # fmt: skip
    columns = list(np.random.default_rng(2).random((12, 1_000_000)))
    yield (
        "12 columns to rows", "np.stack(columns, axis=1)",
        lambda: np.stack(columns, axis=1), lambda: cornerturn.rearrange(columns, "c r -> r c"),
    )  # fmt: skip
    rows = np.stack(columns, axis=1)
    yield (
        "rows to 12 columns", "np.asfortranarray(table)",
        lambda: np.asfortranarray(rows), lambda: cornerturn.contiguous(rows, order="F"),
    )  # fmt: skip
    cube = np.random.default_rng(3).random((365, 181, 360), np.float32)
    yield (
        "time, latitude, longitude to series", "np.ascontiguousarray(cube.transpose(1, 2, 0))",
        lambda: np.ascontiguousarray(cube.transpose(1, 2, 0)), lambda: cornerturn.transpose(cube, (1, 2, 0)),
    )  # fmt: skip


def of_files(folder: Path) -> Iterator[Recipe]:
    source, target = folder / "in.npy", folder / "out.npy"
    np.save(source, np.random.default_rng(4).random((4096, 8192)))

    def by_numpy() -> np.ndarray:
        x = np.load(source, mmap_mode="r")
        out = np.lib.format.open_memmap(target, "w+", x.dtype, x.shape[::-1])
        out[:] = x.T
        return out

    def by_file() -> np.ndarray:
        cornerturn.transpose_file(source, target)
        return np.load(target, mmap_mode="r")

    yield "a file of 256 MB", "out[:] = x.T, between memory maps", by_numpy, by_file


def of_torch() -> Iterator[Recipe]:
    if installed("torch") is None:
        return
    import torch

    x = torch.randn(4, 512, 16 * 64).half()
    yield (
        "attention heads", "x.reshape(...).permute(0, 2, 1, 3).contiguous()",
        lambda: x.reshape(4, 512, 16, 64).permute(0, 2, 1, 3).contiguous(),
        lambda: cornerturn.rearrange(x, "b s (h d) -> b h s d", h=16),
    )  # fmt: skip
    batch = torch.randn(16, 64, 56, 56)
    last = torch.channels_last
    yield (
        "channels_last", "x.contiguous(memory_format=torch.channels_last)",
        lambda: batch.contiguous(memory_format=last),
        lambda: cornerturn.contiguous(batch, memory_format=last),
    )  # fmt: skip


def measure(recipe: Recipe, rounds: int) -> dict[str, object]:
    title, line, before, after = recipe
    if not np.allclose(np.asarray(before()), np.asarray(after()), rtol=1e-6):
        raise SystemExit(f"{title}: the results differ")
    times: tuple[list[float], list[float]] = [], []
    for _ in range(rounds):
        for call, list_of in zip((before, after), times, strict=True):
            list_of.append(seconds_of(call, 1))
    return {
        "title": title, "line": line, "before": statistics.median(times[0]), "after": statistics.median(times[1])
    }  # fmt: skip


def markdown(report: dict) -> str:
    origin = report["provenance"]
    lines = "| | the line that it replaces | ms | with Cornerturn | times as fast |\n| --- | --- | ---: | ---: | ---: |\n"
    for case in report["cases"]:
        before, after = case["before"] * 1e3, case["after"] * 1e3
        lines += f"| {case['title']} | `{case['line']}` | {before:.2f} | {after:.2f} | {before / after:.1f} |\n"
    return (
        f"{lines}\n{origin['processor']}, {origin['processors']} processors, Python {origin['python']}; NumPy "
        f"{origin['numpy']}, PyTorch {origin['torch']}; {origin['date'][:10]}, commit {origin['commit']}; by "
        "`make bench-python`.\n"
    )


def measure_all(rounds: int) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        return [measure(recipe, rounds) for recipe in [*of_numpy(), *of_torch(), *of_files(Path(folder))]]


if __name__ == "__main__":
    tabled.run(__doc__, 21, measure_all, markdown, "python-recipes")
