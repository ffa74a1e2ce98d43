"""Transposes a .npy file band by band, so that only a band has to fit into memory.

usage: out_of_core.py IN.npy OUT.npy [MEGABYTES]       (without arguments: a small file of its own)

`cornerturn transpose IN.npy OUT.npy` does the same faster, and for any permutation."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import cornerturn


def transpose_file(source: Path, target: Path, band_bytes: int) -> int:
    """Returns the number of bands."""
    x = np.load(source, mmap_mode="r")
    rows, columns = x.shape
    y = np.lib.format.open_memmap(target, mode="w+", dtype=x.dtype, shape=(columns, rows))
    band = max(1, band_bytes // max(1, rows * x.itemsize))
    bands = range(0, columns, band)
    for start in bands:
        # A band of the result's rows is one contiguous piece of the file.
        cornerturn.transpose(x[:, start : start + band], out=y[start : start + band])
    y.flush()
    return len(bands)


with tempfile.TemporaryDirectory() as folder:
    arguments = sys.argv[1:]
    if not arguments:
        arguments = [f"{folder}/in.npy", f"{folder}/out.npy", "1"]
        np.save(arguments[0], np.arange(1500 * 2000, dtype=np.float32).reshape(1500, 2000))
    source, target = map(Path, arguments[:2])
    megabytes = float(arguments[2]) if len(arguments) > 2 else 256
    count = transpose_file(source, target, int(megabytes * 1e6))
    print(f"{source.stat().st_size / 1e6:.1f} MB in {count} bands")
    assert np.array_equal(np.load(target, mmap_mode="r"), np.load(source, mmap_mode="r").T)
