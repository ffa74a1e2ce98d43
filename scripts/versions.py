#!/usr/bin/env python3
"""Writes the versions that the Python package is tested with into docs/python.md, from the pins of the tests'
environment (scripts/requirements-*.txt), or with --check says whether they stand there.

usage: scripts/versions.py [--check]
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "python.md"
BEGIN, END = "<!-- versions:begin -->\n", "<!-- versions:end -->"
PACKAGES = {
    "NumPy": "numpy",
    "PyTorch": "torch",
    "JAX": "jax",
    "Triton": "triton",
    "zarr": "zarr",
    "h5py": "h5py",
    "netCDF4": "netCDF4",
    "dask": "dask",
    "xarray": "xarray",
    "einops": "einops",
    "ml_dtypes": "ml_dtypes",
    "gguf": "gguf",
}


def pins() -> dict[str, str]:
    """The version of each package that the tests install."""
    found: dict[str, str] = {}
    for file in sorted((ROOT / "scripts").glob("requirements-*.txt")):
        for name, version in re.findall(r"^([\w.-]+)==(\S+)$", file.read_text(), re.M):
            if found.setdefault(name, version) != version:
                sys.exit(f"versions.py: {file.name} has {name} {version}, another file {found[name]}")
    return found


def table() -> str:
    pinned = pins()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    least = project["project"]["requires-python"].removeprefix(">=")
    extras = " ".join(sum(project["project"]["optional-dependencies"].values(), []))
    lines = ["| | tested | taken |", "| --- | --- | --- |"]
    stable = project["tool"]["scikit-build"]["wheel"]["py-api"].removeprefix("cp3")
    lines.append(f"| Python | 3.11 (Debian 12) | {least} and later; one wheel serves 3.{stable} and later |")
    for title, name in PACKAGES.items():
        wanted = re.search(rf"(?<![\w-]){name}(?:\[[\w,]+\])?(>=[\w.,<]+)", extras)
        lines.append(f"| {title} | {pinned[name]} | {wanted[1].replace(',', ', ') if wanted else ''} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    text = PAGE.read_text()
    before, mark, rest = text.partition(BEGIN)
    if not mark or END not in rest:
        sys.exit(f"versions.py: {PAGE} has no marks {BEGIN.strip()} and {END}")
    wanted = before + BEGIN + table() + END + rest.partition(END)[2]
    if "--check" not in sys.argv:
        PAGE.write_text(wanted)
    elif wanted != text:
        sys.exit("versions.py: docs/python.md has other versions than the pins: run scripts/versions.py")


if __name__ == "__main__":
    main()
