"""What the compilers say of proofs that fail, and that nvcc takes the maps as device code."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = Path(__file__).parent / "compile"
COMPILERS = ["g++", "clang++"]


def compiled(compiler, source, *options):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    command = [compiler, "-std=c++20", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", *options]
    return subprocess.run([*command, str(SOURCES / source)], capture_output=True, text=True)


def finding(text):
    """The numbers of the first BankConflict in a compiler's message."""
    text = text.replace("cornerturn::", "").replace("UL", "")
    found = re.search(r"BankConflict<Request<(\d+)>, LaneA<(\d+)>, LaneB<(\d+)>, Bank<(\d+)>, "
                      r"WordA<(\d+)>, WordB<(\d+)>\s*>", text)
    return found and tuple(map(int, found.groups()))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("form", ["concept", "function"])
def test_a_failed_proof_names_lanes_bank_and_words(compiler, form):
    options = ["-fsyntax-only"] + (["-DAS_FUNCTION"] if form == "function" else [])
    done = compiled(compiler, "conflict.cpp", *options)
    assert done.returncode != 0
    # Lanes are 8 rows of 128 bytes apart: every word of lane 1 is in the bank of lane 0's.
    assert finding(done.stderr) == (0, 0, 1, 0, 0, 256)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_an_overlapping_swizzle_says_why(compiler):
    done = compiled(compiler, "swizzle.cpp", "-fsyntax-only")
    assert done.returncode != 0
    assert "|S| is less than B" in done.stderr


@pytest.mark.skipif(os.environ.get("FULL") != "1", reason="FULL=1 only")
def test_nvcc_compiles_the_maps_for_the_device(tmp_path):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(nvcc).exists():
        pytest.skip("nvcc is not installed")
    arch = "-gencode=arch=compute_90a,code=sm_90a"
    done = compiled(nvcc, "device.cu", arch, "-Werror=all-warnings", "-c", "-o", str(tmp_path / "device.o"))
    assert done.returncode == 0, done.stderr
    done = compiled(nvcc, "conflict.cpp", arch, "-x", "cu", "-DAS_FUNCTION", "-c", "-o", str(tmp_path / "no.o"))
    assert done.returncode != 0
    assert finding(done.stderr) == (0, 0, 1, 0, 0, 256)
