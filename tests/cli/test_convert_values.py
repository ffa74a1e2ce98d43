"""cornerturn transpose --to: files whose values change, byte for byte against NumPy and ml_dtypes."""

import subprocess

import numpy as np
import pytest

from command_line import PROGRAM, done, refused, saved

ml_dtypes = pytest.importorskip("ml_dtypes")
TYPES = {
    "bf16": ml_dtypes.bfloat16,
    "f8_e4m3": ml_dtypes.float8_e4m3fn,
    "f8_e5m2": ml_dtypes.float8_e5m2,
    "f16": np.float16,
    "f64": np.float64,
    "i16": np.int16,
    "bool": np.bool_,
}


def ordinary(shape, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 100).astype(np.float32)


@pytest.mark.parametrize("to", TYPES)
def test_types(folder, to):
    x = ordinary((300, 177))
    np.save("in.npy", x)
    done("transpose", "in.npy", "out.npy", "--to", to, "--verify")
    result = np.load("out.npy").view(TYPES[to])
    expected = x.T.astype(TYPES[to])
    np.testing.assert_array_equal(result.view("u1"), np.ascontiguousarray(expected).view("u1"))


def test_numpy_reads_what_it_knows(folder):
    x = ordinary((30, 20))
    np.save("in.npy", x)
    done("transpose", "in.npy", "out.npy", "--to", "i16")
    assert (folder / "out.npy").read_bytes() == saved(x.T.astype(np.int16))


def test_scale_bias_and_saturation(folder):
    x = ordinary((100, 70))
    np.save("in.npy", x)
    done("transpose", "in.npy", "out.npy", "--to", "i8", "--scale", "0.5", "--bias", "3",
         "--saturate", "--verify")  # fmt: skip
    expected = np.clip(np.float32(0.5) * x.T + np.float32(3), -128, 127).astype(np.int8)
    np.testing.assert_array_equal(np.load("out.npy"), expected)


def test_there_and_back(folder):
    x = ordinary((40, 30)).astype(ml_dtypes.bfloat16)
    np.save("in.npy", x)
    refused("transpose", "in.npy", "out.npy", "--to", "f32", part="the elements of IN, '<V2', have no values")
    done("transpose", "in.npy", "out.npy", "--from", "bf16", "--to", "f32", "--verify")
    assert (folder / "out.npy").read_bytes() == saved(x.T.astype(np.float32))


@pytest.mark.parametrize("to", ["f16", "f64", "f8_e4m3"])
def test_little_memory_gives_the_same(folder, to):
    x = np.asfortranarray(ordinary((1500, 20, 200)))
    np.save("in.npy", x)
    options = ("--perm", "1,2,0", "--to", to, "--stochastic", "5", "--scale", "0.1")
    done("transpose", "in.npy", "whole.npy", *options)
    done("transpose", "in.npy", "parts.npy", *options, "--memory", "32MiB", "--verify")
    whole = (folder / "whole.npy").read_bytes()
    assert (folder / "parts.npy").read_bytes() == whole
    pipe = subprocess.run([PROGRAM, "transpose", "-", "-", *options, "--memory", "32MiB"],
                          input=(folder / "in.npy").read_bytes(), capture_output=True, check=True)  # fmt: skip
    assert pipe.stdout == whole


def test_plan_says_what_converts(folder):
    text = done("plan", "--shape", "3000,2000", "--dtype", "f32", "--to", "bf16", "--scale", "2")
    assert text.startswith("convert: f32 to bf16")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--to", "q7"], "--to = 'q7': element type 'q7' is unknown"),
        (["--scale", "x"], "--scale = 'x' is no number"),
        (["--stochastic", "-1"], "--stochastic = '-1' is no number from 0"),
        (["--from", "f16"], "--from = 'f16' has 2 bytes, the elements of IN have 4"),
    ],
)
def test_what_is_wrong_is_named(folder, options, part):
    np.save("in.npy", ordinary((3, 4)))
    refused("transpose", "in.npy", "out.npy", *options, part=part)
    assert not (folder / "out.npy").exists()


def test_complex_values_stay_complex(folder):
    np.save("in.npy", ordinary((3, 4)).astype(np.complex64))
    refused("transpose", "in.npy", "out.npy", "--to", "f32", part="would lose its imaginary part")
