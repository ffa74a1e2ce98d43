"""The programs of docs/real-programs.md: their code, and what they start from."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import cornerturn

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "real-programs.md"


class Program(NamedTuple):
    title: str
    before: str
    after: str


def programs() -> list[Program]:
    """One a section: its first code is what stands today, its second one what takes its place."""
    found = []
    for section in PAGE.read_text().split("\n## ")[1:]:
        before, after = re.findall(r"^```python\n(.*?)^```", section, re.S | re.M)
        found.append(Program(section.splitlines()[0], before, after))
    return found


class Start(NamedTuple):
    needs: str  # a package
    result: str  # the name of what both programs make
    make: Any  # (folder, size) -> names; a larger size for figures than for tests


def _images(folder: Path, size: int) -> dict[str, Any]:
    return {"images": np.random.default_rng(0).integers(0, 256, (size, 224, 224, 3), np.uint8)}


def _tokens(folder: Path, size: int) -> dict[str, Any]:
    import torch

    import cornerturn.torch

    return {"torch": torch, "tokens": torch.arange(size * 197 * 768, dtype=torch.float32).view(size, 197, 768)}


def _weights(folder: Path, size: int) -> dict[str, Any]:
    np.save(folder / "weights.npy", np.random.default_rng(0).random((size * 128, 512), np.float32))
    return {}


def _table(folder: Path, size: int) -> dict[str, Any]:
    return {"table": {name: np.random.default_rng(0).random(size * 100_000) for name in "xyz"}}


def _maps(folder: Path, size: int) -> dict[str, Any]:
    import zarr

    maps = zarr.create_array(folder / "maps.zarr", shape=(size * 20, 80, 120), chunks=(1, 80, 120), dtype="f4")
    maps[:] = np.random.default_rng(0).random(maps.shape, np.float32)
    return {"zarr": zarr}


def _source(folder: Path, size: int) -> dict[str, Any]:
    shutil.copy(ROOT / "examples" / "transpose_with_faults.cu", folder / "transpose.cu")
    return {}


STARTS = {
    "A vision transformer's patches": Start("numpy", "patches", _images),
    "An attention layer": Start("torch", "keys", _tokens),
    "A weight loader": Start("numpy", "weights", _weights),
    "Columns to a matrix": Start("numpy", "matrix", _table),
    "A rechunked climate file": Start("zarr", "series", _maps),
    "A CUDA file, checked in CI": Start("numpy", "report", _source),
}


def names_for(title: str, folder: Path, size: int) -> dict[str, Any]:
    """What the code of a program finds when it begins in `folder`."""
    return {"np": np, "cornerturn": cornerturn, **STARTS[title].make(folder, size)}
