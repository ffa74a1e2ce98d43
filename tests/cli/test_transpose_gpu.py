"""cornerturn transpose --device gpu: the bytes are those that the CPU writes. Needs a GPU."""

import json
import subprocess

import numpy as np
import pytest

from command_line import PROGRAM, done, saved

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def gpu():
    devices = json.loads(done("devices", "--json"))
    why_not = next((d["why_not"] for d in devices if "why_not" in d), None)
    if why_not:
        pytest.skip(f"no GPU: {why_not}")


CHANGES = [
    [],
    ["--to", "bf16"],
    ["--to", "f64"],
    ["--to", "i8", "--scale", "12.7", "--saturate"],
    ["--scale", "0.3", "--bias", "2"],
    ["--to", "f8_e4m3", "--stochastic", "5", "--bias", "1"],
]


@pytest.mark.parametrize("perm", ["1,2,0", "2,1,0", "0,2,1"])
@pytest.mark.parametrize("change", CHANGES, ids=" ".join)
def test_files_are_those_of_the_cpu(folder, perm, change):
    x = np.random.default_rng(3).standard_normal((700, 50, 300)).astype("f4") * 100
    np.save("in.npy", x)
    words = ["--perm", perm, *change]
    done("transpose", "in.npy", "cpu.npy", *words)
    expected = (folder / "cpu.npy").read_bytes()
    text = done("transpose", "in.npy", "gpu.npy", *words, "--device", "gpu", "--verify")
    assert " on " in text
    assert (folder / "gpu.npy").read_bytes() == expected
    done("transpose", "in.npy", "gpu.npy", *words, "--device", "gpu", "--memory", "32MiB")
    assert (folder / "gpu.npy").read_bytes() == expected
    pipe = subprocess.run([PROGRAM, "transpose", "-", "-", *words, "--device", "gpu"],
                          input=saved(x), capture_output=True, check=True)  # fmt: skip
    assert pipe.stdout == expected


def test_measured_kernels_write_the_same(folder):
    np.save("in.npy", np.random.default_rng(4).standard_normal((900, 1100)).astype("f4"))
    done("transpose", "in.npy", "cpu.npy", "--to", "f16")
    done("transpose", "in.npy", "gpu.npy", "--to", "f16", "--device", "gpu", "--effort", "measure")
    assert (folder / "gpu.npy").read_bytes() == (folder / "cpu.npy").read_bytes()
