"""The command `cornerturn`, which `python -m cornerturn` runs as well."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "_bin" / "cornerturn"
WITHOUT = (
    "this package was built without the command. It needs the headers of CLI11, toml++ "
    "and Boost.Context, on Debian and Ubuntu:\n"
    "  apt-get install libcli11-dev libtomlplusplus-dev libboost-context-dev"
)


def main() -> int:
    if sys.argv[1:2] == ["rechunk"]:  # by way of zarr, h5py and dask, which are Python's
        from cornerturn._chunks.command import main as rechunk

        return rechunk(sys.argv[2:])
    if sys.argv[1:3] == ["help", "rechunk"]:
        sys.argv[1:] = ["rechunk", "--help"]
        return main()
    if not PROGRAM.exists():
        print(f"cornerturn: {WITHOUT}", file=sys.stderr)
        return 1
    os.execv(PROGRAM, ["cornerturn", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
