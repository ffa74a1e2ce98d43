"""The accesses in the device code of every rung are as wide as the emulator recorded them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("CORNERTURN", ROOT / "build" / "release" / "bin" / "cornerturn"))
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
pytestmark = [
    pytest.mark.skipif(os.environ.get("FULL") != "1", reason="FULL=1 only"),
    pytest.mark.skipif(not Path(NVCC).exists(), reason="nvcc is not installed"),
]

TYPES = {"h": ("u8", 1), "t": ("u16", 2), "j": ("u32", 4), "m": ("u64", 8)}
ACCESS = re.compile(r"\b(ld|st)\.(global|shared)((?:\.\w+)*?)(\.v[24])?\.[busf](8|16|32|64)\b")


def accesses(text):
    """(ld or st, space, bytes a lane) of each access in the PTX of one kernel."""
    return [
        (kind, space, int(bits) // 8 * int((vector or ".v1")[2:]))
        for kind, space, _, vector, bits in ACCESS.findall(text)
    ]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The accesses of each kernel in widths.cu, by its mangled name."""
    ptx = tmp_path_factory.mktemp("ptx") / "widths.ptx"
    command = [NVCC, "-std=c++20", "-arch=sm_90a", "--ptx", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
    subprocess.run([*command, "-o", ptx, Path(__file__).parent / "widths.cu"], check=True)
    parts = re.split(r"\.entry (\w+)", ptx.read_text())
    return dict(zip(parts[1::2], map(accesses, parts[2::2])))


@pytest.mark.parametrize("code, width", [("h", 1), ("t", 2), ("j", 4), ("m", 8), ("N10cornerturn3VecIjLi4EEE", 16)])
def test_each_width_is_one_access(kernels, code, width):
    name = next(name for name in kernels if name.startswith(f"_Z6accessI{code}E"))
    assert sorted(kernels[name]) == sorted(
        (kind, space, width) for kind in ("ld", "st") for space in ("global", "shared")
    )


def recorded(name, dtype, shape):
    words = [PROGRAM, "analyse", name, "--dtype", dtype, "--shape", shape, "--json"]
    legs = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)["legs"]
    kinds = {"load": "ld", "store": "st"}
    return {(kinds[leg["leg"].split()[1]], leg["leg"].split()[0], leg["bytes_a_lane"]) for leg in legs}


def test_rungs_are_as_wide_as_the_emulator_says(kernels):
    words = [PROGRAM, "ladder", "--no-gpu", "--shape", "1,1", "--json"]
    report = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
    names = [rung["name"] for rung in report["rungs"] if rung["family"] == "cuda"]
    checked = 0
    for mangled, found in kernels.items():
        entry = re.match(r"_Z5entryILi(\d+)E([htjm])E", mangled)
        if not entry:
            continue
        name, dtype = names[int(entry[1])], TYPES[entry[2]][0]
        # Rows that begin at multiples of 16 bytes, and rows that do not.
        expected = recorded(name, dtype, "256,512") | recorded(name, dtype, "255,511")
        assert set(found) == expected, (name, dtype)
        checked += 1
    assert checked >= len(names)
