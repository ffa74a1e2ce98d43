"""What the tests of the command line share: running it, and files to run it on."""

import io
import os
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CORNERTURN", ROOT / "build" / "release" / "bin" / "cornerturn"))


def command(*words, **options):
    """Runs the command line; text in and out unless told otherwise."""
    options.setdefault("text", True)
    return subprocess.run(
        [PROGRAM, *map(str, words)], capture_output=True, timeout=300, check=False, **options
    )


def done(*words, **options):
    """Runs the command line, which must succeed and say nothing on standard error."""
    result = command(*words, **options)
    assert result.returncode == 0, result.stderr
    assert not result.stderr, result.stderr
    return result.stdout


def refused(*words, part=None, **options):
    """Runs the command line, which must refuse with exit code 2 and one line."""
    result = command(*words, **options)
    stderr = result.stderr if isinstance(result.stderr, str) else result.stderr.decode()
    assert result.returncode == 2, (result.returncode, stderr)
    assert stderr.startswith("cornerturn: ") and stderr.count("\n") == 1, stderr
    if part:
        assert part in stderr, stderr
    return stderr


def random_array(shape, dtype, seed=0):
    """Random bytes as an array: any bit pattern may turn up."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    data = np.random.default_rng(seed).bytes(count * dtype.itemsize)
    return np.frombuffer(data, dtype=np.dtype(f"V{dtype.itemsize}")).reshape(shape).view(dtype)


def saved(array):
    """The bytes that NumPy writes for an array, in C order."""
    file = io.BytesIO()
    # np.ascontiguousarray makes an array of no axes one of one.
    np.save(file, array.copy(order="C"))
    return file.getvalue()
