"""What is asked for is done or refused, whatever the dtype of the file: one table for all options."""

import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import command, done, refused, saved

ml_dtypes = pytest.importorskip("ml_dtypes")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import every_dtype  # noqa: E402
from every_dtype import WITH_VALUES, WITHOUT_VALUES, array_of, becomes, dtype_of, may_become  # noqa: E402

# One at least of each size that sources have.
NAMES = {"f8_e4m3": "float8_e4m3fn", "bf16": "bfloat16", "i16": "i2", "f32": "f4", "f64": "f8", "c128": "c16",
         ">f4": ">f4", ">i8": ">i8"}  # fmt: skip
SOURCES = [*WITH_VALUES, *WITHOUT_VALUES]


def stored_as(source):
    """What NumPy's header says of it, as a name of the table."""
    dtype = dtype_of(source)
    return f"V{dtype.itemsize}" if dtype.kind == "V" and source in WITH_VALUES else source


def is_of_complex(result):
    return "would lose its imaginary part" in result.stderr or "has no real values" in result.stderr


def loaded(path, wanted):
    found = np.load(path)
    return found.view(dtype_of(wanted)) if found.dtype.kind == "V" else found


@pytest.fixture(params=SOURCES, ids=str)
def source(request, folder):
    x = array_of(request.param)
    np.save("in.npy", x)
    return stored_as(request.param), x


def test_values_are_converted_or_refused(folder, source):
    name, x = source
    for to, wanted in NAMES.items():
        options, factor = (["--scale", "2"], 2) if to == "f32" else ([], 1)
        words = ["transpose", "in.npy", "out.npy", "--to", to, *options, "--no-sync", "--verify"]
        result = command(*words)
        case = f"{name} {words}: {result.stdout} {result.stderr}"
        if to in ("f32", "f64"):
            planned = command("plan", "in.npy", "--to", to, *options)
            assert planned.returncode == result.returncode, case
            assert result.returncode != 0 or f" to {to}" in planned.stdout or name == f"<{wanted}"
        if result.returncode == 0:
            assert may_become(name, wanted), case
            assert every_dtype.same(loaded("out.npy", wanted), becomes(x.T, wanted, factor)), case
            (folder / "out.npy").unlink()
            continue
        assert result.returncode == 2 and result.stderr.count("\n") == 1, case
        assert not may_become(name, wanted), case
        assert f"--to = '{to}'" in result.stderr or is_of_complex(result), case
        assert not (folder / "out.npy").exists(), case


def test_every_option_needs_values(folder, source):
    name, x = source
    options = {
        "--scale = '2'": ["--scale", "2"],
        "--bias = '1'": ["--bias", "1"],
        "--saturate": ["--saturate"],
        "--stochastic = '7'": ["--stochastic", "7"],
        "--scale = '1'": ["--scale", "1"],
        "--to = 'q8_0'": ["--to", "q8_0", "--pad"],
    }
    for said, words in options.items():
        result = command("transpose", "in.npy", "out.npy", *words, "--memory", "32MiB", "--no-sync")
        case = f"{name} {words}: {result.stderr}"
        if result.returncode == 0:
            assert name in WITH_VALUES, case
            (folder / "out.npy").unlink()
        else:
            assert result.returncode == 2 and result.stderr.count("\n") == 1, case
            assert name not in WITH_VALUES or x.dtype.kind == "c", case
            assert said in result.stderr or is_of_complex(result), case
            assert not (folder / "out.npy").exists(), case


def test_what_the_elements_are_can_be_said(folder):
    for source in WITH_VALUES:
        x = array_of(source)
        if not x.dtype.isnative:
            continue
        name = {"i1": "i8", "u1": "u8", "?": "bool", "bfloat16": "bf16", "float8_e4m3fn": "f8_e4m3",
                "float8_e5m2": "f8_e5m2"}.get(source) or x.dtype.kind + str(8 * x.itemsize)  # fmt: skip
        np.save("in.npy", x.view(f"V{x.itemsize}"))
        for to, wanted in (("f32", "f4"), ("c64", "c8"), (name, source)):
            result = command("transpose", "in.npy", "out.npy", "--from", name, "--to", to, "--no-sync")
            if may_become(source, wanted):
                assert result.returncode == 0, result.stderr
                assert every_dtype.same(loaded("out.npy", wanted), becomes(x.T, wanted)), (source, to)
            else:
                assert result.returncode == 2 and "imaginary part" in result.stderr


def test_either_order_of_bytes_can_be_said(folder):
    x = np.arange(6, dtype=">i4").reshape(2, 3)
    np.save("in.npy", x.view("<i4"))
    done("transpose", "in.npy", "out.npy", "--from", ">i4", "--to", ">f8", "--scale", "0.5", "--verify")
    assert (folder / "out.npy").read_bytes() == saved((x.T * 0.5).astype(">f8"))
    y = x.astype(ml_dtypes.bfloat16)
    np.save("in.npy", y.view("u2").byteswap())
    done("transpose", "in.npy", "out.npy", "--from", ">bf16", "--to", "<f4", "--verify")
    assert (folder / "out.npy").read_bytes() == saved(x.T.astype("<f4"))


def test_blocks_of_swapped_values(folder):
    x = np.arange(128, dtype="f4").reshape(2, 64) / 7
    np.save("in.npy", x)
    np.save("swapped.npy", x.astype(">f4"))
    for to, options in (("q8_0", []), ("mxfp8_e4m3", ["--scales", "scales.npy"])):
        done("transpose", "in.npy", "out.npy", "--perm", "0,1", "--to", to, *options, "--verify")
        done("transpose", "swapped.npy", "again.npy", "--perm", "0,1", "--to", to, *options, "--verify")
        assert (folder / "out.npy").read_bytes() == (folder / "again.npy").read_bytes()
        done("transpose", "out.npy", "back.npy", "--from", to, *options, "--to", "f64")
        done("transpose", "out.npy", "swapped_back.npy", "--from", to, *options, "--to", ">f8", "--verify")
        assert (folder / "swapped_back.npy").read_bytes() == saved(np.load("back.npy").astype(">f8"))


@pytest.mark.parametrize("memory", [[], ["--memory", "32MiB"]], ids=str)
def test_large_files_are_swapped_on_the_way(folder, memory):
    x = np.arange(2100 * 2200, dtype=">f8").reshape(2100, 2200)
    np.save("in.npy", x)
    for to in ("f64", ">f4", ">i8"):
        done("transpose", "in.npy", "out.npy", "--to", to, "--verify", *memory)
        assert (folder / "out.npy").read_bytes() == saved(x.T.astype(to if to[0] == ">" else "f8"))


@pytest.mark.parametrize("options", [["--from", "b4"], ["--to", "b4"], ["--from", "f32", "--to", "b4"]], ids=str)
def test_bytes_have_no_values(folder, options):
    np.save("in.npy", np.arange(6, dtype="f4").reshape(2, 3))
    refused("transpose", "in.npy", "out.npy", *options, part="'b4': plain bytes have no values")
    assert not (folder / "out.npy").exists()
    refused("plan", "--shape", "2,3", *options, part="'b4': plain bytes have no values")
    refused("plan", "--shape", "2,3", "--dtype", "b4", "--to", "f32", part="--dtype = 'b4': plain bytes have")


def test_what_is_said_decides_the_type_of_the_result(folder):
    np.save("in.npy", np.arange(6, dtype="f4").reshape(2, 3).view("i4"))
    for options in (["--from", "f32"], ["--from", "f32", "--to", "f32"]):
        done("transpose", "in.npy", "out.npy", *options)
        np.testing.assert_array_equal(np.load("out.npy"), np.arange(6, dtype="f4").reshape(2, 3).T)
        assert np.load("out.npy").dtype == np.float32


def test_raw_files(folder):
    for source in SOURCES:
        x = array_of(source)
        if x.dtype.hasobject or x.dtype.names or x.dtype.str[1] in "W":
            continue
        (folder / "in.raw").write_bytes(x.tobytes())
        dtype = x.dtype.str if x.dtype.kind != "V" else f"|V{x.itemsize}"
        result = command("transpose", "in.raw", "out.raw", "--raw", "--shape", "2,3", "--dtype", dtype, "--to", "f32")
        case = f"{source}: {result.stderr}"
        if result.returncode == 0:
            assert may_become(stored_as(source), "f4"), case
            assert (folder / "out.raw").read_bytes() == becomes(x.T, "f4").tobytes(), case
            (folder / "out.raw").unlink()
        else:
            assert not may_become(stored_as(source), "f4"), case
            assert not (folder / "out.raw").exists(), case
