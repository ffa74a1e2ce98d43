"""The files that np.load reads are read, and the others refused: a table of headers, tried on both."""

import io
import os
import subprocess

import numpy as np
import pytest

from command_line import PROGRAM, command, done, refused, saved

NAMES = """bool int8 byte uint8 ubyte int16 short uint16 ushort int32 intc uint32 uintc int64 int intp longlong long
uint64 uint uintp ulonglong ulong float16 half float32 single float64 double float longdouble complex64 csingle
complex128 cdouble complex clongdouble datetime64[s] timedelta64[25us] ? b B h H i I l L q Q e f d g F D G c p P
<f >d =i |b i4 f2 a3 b1 u1 c8 m8[h] M8[D] <datetime64[s] <float32 Float32 float128x int7 f3 nonsense float_ object""".split()

if b"__asan_init" in PROGRAM.read_bytes():
    NAMES = NAMES[::8]  # it is the same code for all of them, in a process of its own for each


def file_of(descr, size=None, order=False, shape=(2, 3), more=b"", version=1):
    """A file with this header, of which NumPy itself would write another."""
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    length = 2 if version == 1 else 4
    text = header.encode() + b" " * (-(len(header) + 9 + length) % 64) + b"\n"
    data = bytes(range(1, 1 + (np.dtype(eval(descr)).itemsize if size is None else size) * int(np.prod(shape))))
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(length, "little") + text + data + more


def read(data):
    """What np.load says of it."""
    try:
        return np.load(io.BytesIO(data))
    except Exception:
        return None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_names_of_dtypes(folder, name):
    try:
        size = np.dtype(name).itemsize
    except TypeError:
        size = 4
    data = file_of(repr(name), size)
    (folder / "in.npy").write_bytes(data)
    want = read(data)
    if want is None:
        refused("transpose", "in.npy", "out.npy")
        return
    done("transpose", "in.npy", "out.npy")
    got = np.load("out.npy")
    assert got.dtype == want.dtype and got.tobytes() == want.T.tobytes()


@pytest.mark.parametrize("descr", ["'float32'", "'int'", "'h'", "'double'", "'>f'"])
def test_values_of_named_dtypes_are_converted(folder, descr):
    data = file_of(descr)
    (folder / "in.npy").write_bytes(data)
    done("transpose", "in.npy", "out.npy", "--to", "f64")
    np.testing.assert_array_equal(np.load("out.npy"), read(data).T.astype("f8"))


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_bytes_behind_the_array(folder, order, version):
    """Of two arrays in a file np.load gives the first."""
    data = file_of("'<f4'", order=order, version=version, more=saved(np.arange(4)))
    (folder / "in.npy").write_bytes(data)
    want = read(data).T
    behind = len(saved(np.arange(4)))
    text = done("transpose", "in.npy", "out.npy", "--verify")
    assert f"behind   {behind} B in IN that are left out, as NumPy does" in text
    np.testing.assert_array_equal(np.load("out.npy"), want)
    assert f"behind   {behind} B" in done("info", "in.npy") and f'"bytes_after": {behind}' in done("info", "in.npy", "--json")
    done("transpose", "-", "piped.npy", input=data, text=False)
    np.testing.assert_array_equal(np.load("piped.npy"), want)
    for words in (["--memory", "32MiB"], ["--to", "f64"]):
        done("transpose", "in.npy", "out.npy", *words)
        np.testing.assert_array_equal(np.load("out.npy"), want)
    refused("transpose", "in.npy", "--in-place", part="has bytes after the array")
    assert (folder / "in.npy").read_bytes() == data


def test_arrays_of_a_pipe_one_after_the_other(folder):
    arrays = [np.arange(6).reshape(2, 3), np.arange(20.0).reshape(4, 5)]
    script = f"'{PROGRAM}' transpose - a.npy && '{PROGRAM}' transpose - b.npy"
    subprocess.run(["bash", "-c", script], input=b"".join(map(saved, arrays)), check=True, stdout=subprocess.DEVNULL)
    for name, array in zip(["a.npy", "b.npy"], arrays, strict=True):
        np.testing.assert_array_equal(np.load(name), array.T)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 6}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': b'<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': ('<f4', (1,)), 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': [('a', 'int16'), ('', 'V2')], 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'shape': (3, 2)}",
    ],
)  # fmt: skip
def test_headers(folder, header):
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(range(24))
    (folder / "in.npy").write_bytes(data)
    want = read(data)
    result = command("transpose", "in.npy", "out.npy")
    if header.count("'shape'") > 1:  # NumPy takes the last one
        assert result.returncode == 2 and "header key 'shape' is unknown or repeated" in result.stderr
        return
    assert (result.returncode == 0) == (want is not None), (result.stderr, want)
    if want is not None:
        got = np.load("out.npy")
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want.T)
